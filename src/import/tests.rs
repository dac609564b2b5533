//! Logs as they come, and what is refused.

use std::collections::BTreeMap;

use super::*;
use crate::plan::{OpKind, SweptOp};
use crate::result::{CommandInfo, Mode, Placement, RunResult};

const NEW: &str = include_str!("../../tests/fixtures/nccl-tests/all_reduce.txt");
const NOISY: &str = include_str!("../../tests/fixtures/nccl-tests/noisy.txt");
const OLD: &str = include_str!("../../tests/fixtures/nccl-tests/all_gather_2.0.txt");
const ROWS: &str = include_str!("../../tests/fixtures/nccl-tests/rows_only.txt");

fn command() -> CommandInfo {
    CommandInfo {
        name: "import".to_string(),
        argv: Vec::new(),
        version: String::new(),
        started_at: String::new(),
        wall_s: 0.0,
        environment: BTreeMap::new(),
    }
}

fn import(text: &str, wanted: &Wanted) -> Result<RunResult, Refused> {
    imported(&read_log(text, None)?, wanted, command())
}

fn taken(text: &str) -> RunResult {
    import(text, &Wanted::default()).unwrap()
}

fn refused(text: &str) -> String {
    let refused = import(text, &Wanted::default()).unwrap_err();
    format!("{} / {}", refused.what, refused.remedy.unwrap_or_default())
}

#[test]
fn a_log_becomes_the_sweep_that_it_is() {
    let run = taken(NEW);
    assert_eq!((run.ranks, run.results.len()), (8, 16));
    let last = run.results.last().unwrap();
    assert_eq!(last.label, "allreduce 16777216 B eager in-place");
    assert_eq!(last.placement, Placement::InPlace);
    assert_eq!((last.plan.ops, last.per_op_us.n), (20, 1));
    assert_eq!(last.per_op_us.median, 776.75);
    assert!((last.burst_us.median - 20.0 * 776.75).abs() < 1e-9);
    assert_eq!(last.per_op_us.ci95, None);
    // 2 · 7/8 of 16 MiB in 776.75 µs.
    assert!((last.busbw_gb_per_s - 1.75 * 16_777_216.0 / 776.75 / 1e3).abs() < 1e-9);
    assert_eq!(run.machine.nccl_version.as_deref(), Some("2.28.9"));
    assert_eq!(run.machine.gpus[7].pci_bus_id, "0000:81:00");
    assert_eq!(run.machine.hosts[0].ranks.len(), 8);
    let source = run.imported.as_ref().unwrap();
    assert_eq!(source.tool_version.as_deref(), Some("2.17.6"));
    // What is written reads back.
    let text = serde_json::to_string(&run).unwrap();
    assert_eq!(RunResult::from_json(&text), Ok(run));
}

#[test]
fn tags_and_lines_between_change_nothing() {
    let (noisy, plain) = (taken(NOISY), taken(NEW));
    assert_eq!(noisy.results, plain.results);
    assert_eq!(noisy.machine, plain.machine);
    assert_eq!(noisy.warnings, []);
}

#[test]
fn versions_without_root_and_redop_need_a_word_where_two_ops_fit() {
    let said = refused(OLD);
    assert!(
        said.contains("fit allgather and alltoall / --op allgather"),
        "{said}"
    );
    let wanted = Wanted {
        op: Some(SweptOp::Collective(OpKind::AllGather)),
        ..Wanted::default()
    };
    let run = import(OLD, &wanted).unwrap();
    assert_eq!((run.ranks, run.results.len()), (4, 10));
    assert_eq!(run.results[0].plan.ops, 100);
    assert_eq!(run.results[0].plan.bytes, 256);
    assert!(run.results.iter().all(|one| one.verified));
    assert_eq!(run.machine.gpus[3].pci_bus_id, "0x52");
}

#[test]
fn rows_alone_tell_op_and_ranks_where_only_one_fits() {
    let run = taken(ROWS);
    assert_eq!(run.ranks, 4);
    assert_eq!(run.results[0].plan.kind, Some(OpKind::ReduceScatter));
    assert!(
        run.results
            .iter()
            .all(|one| !one.verified && one.verification.wrong == 0)
    );
    let codes: Vec<&str> = run.warnings.iter().map(|warning| &*warning.code).collect();
    assert_eq!(codes, ["iterations-unknown"]);
}

#[test]
fn graphs_and_wrong_data_are_seen() {
    let run = taken(&NEW.replace("graph: 0", "graph: 10"));
    assert!(run.results.iter().all(|one| one.mode == Mode::Graph));
    let run = taken(&NEW.replacen("36.99       0", "36.99       3", 1).replacen(
        "37.04       0",
        "37.04       3",
        1,
    ));
    assert_eq!(run.status, crate::result::Status::Failed);
    let wrong: u64 = run.results.iter().map(|one| one.verification.wrong).sum();
    assert_eq!(wrong, 3);
}

#[test]
fn what_is_no_sweep_is_refused_with_the_line() {
    let line = |of: &str| NEW.lines().position(|line| line.starts_with(of)).unwrap() + 1;
    let second = line("          64");
    for (text, hint) in [
        (String::new(), "holds no row".to_string()),
        (
            "a page of\nsomething 1 2 3 else".to_string(),
            "holds no row".to_string(),
        ),
        ("{}".to_string(), "without the results".to_string()),
        ("{".to_string(), "begins as JSON and is none".to_string()),
        (
            r#"{"version":4,"results":[]}"#.to_string(),
            "version 4".to_string(),
        ),
        (format!("{NEW}{NEW}"), "holds 2 tables".to_string()),
        (NEW.replace("   time", "cputime"), "-C 1".to_string()),
        (
            NEW.replace("all_reduce_perf", "hypercube_perf"),
            "hypercube_perf, which".to_string(),
        ),
        // A time ten times too long for its bandwidth.
        (
            NEW.replace(" 792.60", "7926.00"),
            "and 16777216 B in 7926 µs are 2.12".to_string(),
        ),
        (
            NEW.replace("   37.04", "   99.04"),
            "a count or a busbw that allreduce over 8 ranks".to_string(),
        ),
        (
            NEW.replacen("    64            16", "     8             2", 1),
            format!("line {second}: 8 B, which line {} has already", second - 1),
        ),
        (
            NEW.replace("float", "uint64"),
            format!("in line {} a count", second - 1),
        ),
        (
            NEW.replace("Rank  7", "Rank 4294967295"),
            "of 4294967295 ranks".to_string(),
        ),
    ] {
        let said = refused(&text);
        assert!(said.contains(&hint), "{hint}: {said}");
    }
}

#[test]
fn several_tables_types_and_reductions_are_chosen_from() {
    let two = format!(
        "{NEW}{}",
        NEW.replace("float", "half ")
            .replace("  2     half", "  4     half")
    );
    let log = read_log(&two, Some(1)).unwrap();
    assert_eq!(log.rows[0].dtype, "float");
    let said = read_log(&two, Some(3)).unwrap_err();
    assert!(said.what.contains("--table 3 is none"), "{}", said.what);
    let rows = |dtype: &str, redop: &str| ROWS.replace("half", dtype).replace("sum", redop);
    let types = format!("{ROWS}{}", rows("bfloat16", "sum"));
    assert!(
        refused(&types)
            .contains("several types, and a result has one: half, bfloat16 / --datatype half")
    );
    let wanted = Wanted {
        datatype: Some(crate::plan::DataType::Bf16),
        ..Wanted::default()
    };
    assert_eq!(import(&types, &wanted).unwrap().results.len(), 4);
    let redops = format!("{ROWS}{}", rows("half", "max"));
    let wanted = Wanted {
        redop: Some("max".to_string()),
        ..Wanted::default()
    };
    assert!(refused(&redops).contains("--redop sum"));
    assert_eq!(import(&redops, &wanted).unwrap().results.len(), 4);
}

#[test]
fn a_run_that_was_killed_gives_the_rows_it_has() {
    let cut = NEW.find("   125.33").unwrap();
    let run = taken(&NEW[..cut]);
    assert_eq!(run.results.len(), 12);
    assert_eq!(run.warnings[0].code, "log-cut-off");
    assert!(
        run.warnings[0].text.contains("2097152 B"),
        "{}",
        run.warnings[0].text
    );
}

/// A table as nccl-tests prints it.
fn printed(ranks: u32, rows: &[(u64, f64)], factor: f64) -> String {
    let mut text = String::from(
        "# Collective test starting: all_reduce_perf\n# size count type redop root time algbw busbw #wrong\n",
    );
    for (bytes, us) in rows {
        let algbw = *bytes as f64 / us / 1e3;
        text.push_str(&format!(
            "{bytes:>12} {:>12} float sum -1 {us:>8.2} {algbw:>7.2} {:>7.2} 0\n",
            bytes / 4,
            algbw * factor
        ));
    }
    for rank in 0..ranks {
        text.insert_str(
            0,
            &format!("#  Rank {rank} Group 0 Pid 1 on h device {rank} [0000:01:00] GPU\n"),
        );
    }
    text
}

proptest::proptest! {
    #[test]
    fn what_is_printed_is_read(ranks in 2u32..64, times in proptest::collection::vec(1.0f64..1e6, 1..20)) {
        let rows: Vec<(u64, f64)> = times
            .iter()
            .enumerate()
            .map(|(index, us)| (8 << index, (us * 100.0).round() / 100.0))
            .collect();
        let factor = OpKind::AllReduce.bus_factor(ranks);
        let run = import(&printed(ranks, &rows, factor), &Wanted::default()).unwrap();
        proptest::prop_assert_eq!(run.ranks, ranks);
        let read: Vec<f64> = run.results.iter().map(|one| one.per_op_us.median).collect();
        let wanted: Vec<f64> = rows.iter().map(|(_, us)| *us).collect();
        proptest::prop_assert_eq!(read, wanted);
    }

    #[test]
    fn no_text_is_too_strange(text in "(?s).{0,400}", at in 0usize..3000, table in proptest::option::of(0usize..5)) {
        let _ = read_log(&text, table);
        // In the middle of a good one.
        let mut within = NOISY.to_string();
        let at = (0..=at.min(within.len())).rev().find(|at| within.is_char_boundary(*at)).unwrap();
        within.insert_str(at, &text);
        if let Ok(log) = read_log(&within, table) {
            let _ = imported(&log, &Wanted::default(), command());
        }
    }
}
