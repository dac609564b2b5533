//! One function a reader, with what must hold for any input. `fuzz/` feeds them what it makes up;
//! `tests/fuzz_corpus.rs` replays what was kept. No part of the library's interface.

use crate::cli::{parse_precision, parse_seconds, parse_timeout};
use crate::executor::slots::Slots;
use crate::import::{Wanted, imported, read_log};
use crate::plan::{
    BurstRequest, DataType, ModelFacts, OpKind, TokenFormats, allreduce_burst, parallel_plans,
    parse_json, parse_plan, parse_tokens, parse_toml, plan_text,
};
use crate::report::plot::BurstPlot;
use crate::report::plot::topology::topology_svg;
use crate::report::{
    html, markdown, plans_text, read_samples, terminal_report, topology_dot, topology_text,
    write_samples,
};
use crate::result::{Buffers, CommandInfo, RankSample, RunResult, Series};
use crate::topology::{
    parse_topology, parse_topology_toml, parse_xml, topology_toml, topology_xml,
};
use crate::units::{format_bytes, format_us, median_and_interval, parse_bytes, significant};
use std::collections::BTreeMap;
use std::path::Path;

/// A target's name and its function.
pub type Target = (&'static str, fn(&[u8]));

/// Every target, by the name of its folder in `fuzz/corpus`.
pub const TARGETS: [Target; 9] = [
    ("model_toml", model_toml),
    ("hf_config", hf_config),
    ("result_json", result_json),
    ("samples_csv", samples_csv),
    ("units", units),
    ("plan_facts", plan_facts),
    ("plan_file", plan_file),
    ("nccl_tests_log", nccl_tests_log),
    ("topology", topology),
];

/// The batches and ranks that every accepted model is asked about.
const EDGES: [u64; 8] = [0, 1, 2, 8, 384, 1 << 24, i64::MAX as u64, u64::MAX];

/// Readers get text: bytes that are none are refused before them.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// A model file as TOML.
pub fn model_toml(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match parse_toml(text, "model.toml") {
        Ok(model) => {
            accepted(&model);
            let again = toml::to_string(&model).expect("facts are TOML");
            assert_eq!(parse_toml(&again, "again").as_ref(), Ok(&model));
        }
        Err(error) => refused(&error),
    }
}

/// A log of nccl-tests.
pub fn nccl_tests_log(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let command = CommandInfo {
        name: "import".to_string(),
        argv: Vec::new(),
        version: String::new(),
        started_at: String::new(),
        wall_s: 0.0,
        environment: BTreeMap::new(),
    };
    let read = read_log(text, None);
    let Ok(run) = read.and_then(|log| imported(&log, &Wanted::default(), command)) else {
        return;
    };
    for one in &run.results {
        // A mean is one figure: nothing may look like more.
        assert_eq!((one.burst_us.n, one.burst_us.ci95), (1, None));
        assert!(one.verified == (one.verification.wrong == 0) || !one.verified);
    }
    let json = serde_json::to_string(&run).expect("results are JSON");
    assert_eq!(RunResult::from_json(&json).as_ref(), Ok(&run));
    printable(&terminal_report(&run, "folder", &[], false));
    printable(&markdown(&run));
    html(&run, &[]);
}

/// A Hugging Face `config.json`.
pub fn hf_config(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match parse_json(text, Path::new("some-model/config.json"), "config.json") {
        Ok(model) => accepted(&model),
        Err(error) => refused(&error),
    }
}

/// What holds for the facts of any model that was let in.
fn accepted(model: &ModelFacts) {
    assert_eq!(model.check(), Ok(()));
    for batch in EDGES {
        volumes(model, &request(batch), 8);
    }
    for ranks in EDGES {
        volumes(model, &request(1 << 10), ranks);
    }
}

fn request(batch: u64) -> BurstRequest {
    BurstRequest {
        batch,
        ..BurstRequest::default()
    }
}

/// A refusal is one printable sentence, says its remedy, and is the user's to mend.
fn refused(error: &crate::error::Error) {
    assert_eq!(error.exit, crate::error::Exit::Usage);
    assert!(error.remedy.is_some(), "{error}");
    assert!(!error.what.contains('\n'), "{error}");
    printable(&error.to_terminal());
}

/// Control characters are commands to a terminal, and no XML.
fn printable(text: &str) {
    let found = text.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(found, None, "{text:?}");
}

/// What is computed of a model is refused or a number that did not wrap.
fn volumes(model: &ModelFacts, request: &BurstRequest, ranks: u64) {
    match allreduce_burst(model, request) {
        Ok(plan) => {
            let bytes = plan.ops[0].bytes;
            let total: u128 = plan.ops.iter().map(|op| u128::from(op.bytes)).sum();
            assert_eq!(u128::from(plan.total_bytes()), total);
            for buffers in [Buffers::Warm, Buffers::Cold] {
                let slots = Slots::for_plan(&plan, 8, buffers, false, 50 << 20);
                assert!(slots.stride >= bytes && slots.count <= plan.ops.len() as u64);
                assert!(slots.slab_bytes().is_some_and(|slab| slab >= bytes));
            }
            printable(&format!("{}{}", plan.label, plan.origin));
        }
        Err(error) => refused(&error),
    }
    let plans = match parallel_plans(
        model,
        TokenFormats::or_own(model, None, None),
        request.batch,
        ranks,
    ) {
        Ok(plans) => plans,
        Err(error) => return refused(&error),
    };
    for plan in &plans.plans {
        let sent: u128 = plan
            .calls
            .iter()
            .map(|one| u128::from(one.ops_per_step) * u128::from(one.sent_bytes))
            .sum();
        assert_eq!(u128::from(plan.sent_bytes_per_step), sent);
        if let Some(routing) = &plan.routing {
            assert!((0.0..=1.0).contains(&routing.rank_hit_probability));
            let most = ranks.min(model.experts_per_token) as f64;
            let expected = routing.expected_ranks_per_token;
            assert!(expected <= most * (1.0 + 1e-9), "{expected} of {most}");
        }
    }
    printable(&plans_text(&plans));
    assert!(serde_json::to_string(&plans).is_ok());
}

/// A `result.json`, and the report and plot made of it.
pub fn result_json(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(run) = RunResult::from_json(text) else {
        return;
    };
    // As text: a wrong element may be NaN, which equals nothing.
    let json = |run: &RunResult| serde_json::to_string(run).expect("a result is JSON");
    let again = RunResult::from_json(&json(&run)).expect("what was written reads back");
    assert_eq!(json(&again), json(&run));
    printable(&terminal_report(&run, "folder", &["report.md"], false));
    printable(&markdown(&run));
    let series: Vec<Series> = run
        .results
        .iter()
        .map(|one| {
            let times = [
                &one.per_rank_us,
                &vec![one.burst_us.max; run.ranks as usize],
            ];
            let sample = |us: &f64| RankSample {
                device_us: *us,
                host_us: *us,
                issue_us: 0.0,
                arrival_ns: 0,
            };
            Series {
                plan: one.plan.name.clone(),
                mode: one.mode,
                placement: one.placement,
                samples: times.map(|times| times.iter().map(sample).collect()).into(),
            }
        })
        .collect();
    printable(&html(&run, &series));
    drawn(&run, &series);
}

/// A drawing, or a reason why there is none. Only the SVG: the PNG is the same drawing.
fn drawn(run: &RunResult, series: &[Series]) {
    match (BurstPlot { run, series }).svg() {
        Ok(svg) => printable(&svg),
        Err(error) => printable(&error.to_string().replace(char::is_control, "")),
    }
}

/// A `samples.csv`, for several numbers of ranks that result.json may state.
pub fn samples_csv(data: &[u8]) {
    let Some(text) = text(data) else { return };
    for ranks in [1, 2, 3, 1 << 20] {
        let Ok(series) = read_samples(text, ranks) else {
            continue;
        };
        let sizes = series.iter().flat_map(|one| &one.samples).map(Vec::len);
        assert!(sizes.into_iter().all(|size| size == ranks as usize));
        let written = write_samples(&series);
        let again = read_samples(&written, ranks).expect("what was written reads back");
        assert_eq!(again.len(), series.len());
        for (one, other) in again.iter().zip(&series) {
            assert_eq!(one.label(), other.label());
            assert_eq!(one.samples.len(), other.samples.len());
            let times = one.burst_us().into_iter().zip(other.burst_us());
            for (read, was) in times {
                assert!((read - was).abs() <= 0.000_501, "{read}, was {was}");
            }
        }
        if let Ok(run) = RunResult::from_json(DRAWN_WITH) {
            drawn(&run, &series);
        }
    }
}

/// The result that samples are drawn with.
const DRAWN_WITH: &str = include_str!("../fuzz/corpus/result_json/eager.json");

/// Values of arguments.
pub fn units(data: &[u8]) {
    if let Some(bytes) = data.first_chunk::<8>().copied() {
        let value = f64::from_le_bytes(bytes);
        let shown = [significant(value), format_us(value)];
        assert!(
            shown
                .iter()
                .all(|text| !text.is_empty() && text.len() < 400)
        );
        let _ = median_and_interval(value, Some([value, value * 2.0]));
        printable(&format_bytes(u64::from_le_bytes(bytes)));
    }
    let Some(text) = text(data) else { return };
    if let Ok(bytes) = parse_bytes(text) {
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        let number: u128 = digits.parse().expect("an accepted size has digits");
        let rest = text.trim().trim_start_matches(|c: char| c.is_ascii_digit());
        let power = match rest.trim().chars().next().map(|c| c.to_ascii_lowercase()) {
            None | Some('b') => 0,
            Some('k') => 1,
            Some('m') => 2,
            Some('g') => 3,
            Some('t') => 4,
            Some(other) => panic!("'{other}' is no unit"),
        };
        assert_eq!(u128::from(bytes), number * 1024u128.pow(power));
        assert!(rest.trim().len() <= 3, "{text:?}");
    }
    if let Ok(precision) = parse_precision(text) {
        assert!(precision > 0.0 && precision < 1.0, "{text:?}: {precision}");
    }
    for (parse, least) in [(parse_seconds as fn(&str) -> _, 0.01), (parse_timeout, 5.0)] {
        if let Ok(time) = parse(text) {
            let time: std::time::Duration = time;
            assert!((least..=86_400.0).contains(&time.as_secs_f64()), "{text:?}");
        }
    }
    match parse_tokens(text) {
        Ok(points) => {
            assert!((1..=64).contains(&points.len()), "{text:?}");
            assert!(points[0] >= 1 && points.is_sorted(), "{text:?}: {points:?}");
        }
        Err(why) => assert!(!why.is_empty()),
    }
    if let Ok(dtype) = text.parse::<DataType>() {
        assert_eq!(dtype.name().parse(), Ok(dtype));
    }
}

/// A plan file.
pub fn plan_file(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let plan = match parse_plan(text) {
        Ok(plan) => plan,
        Err(why) => return assert!(!why.is_empty() && !why.contains('\n'), "{why:?}"),
    };
    printable(&format!("{}{}", plan.label, plan.origin));
    assert!((1..=100_000).contains(&plan.ops.len()));
    for op in &plan.ops {
        assert!(op.gap_us >= 0.0 && op.gap_us.is_finite());
        assert!(op.traffic.is_none() || op.kind == OpKind::AllToAll);
    }
    // A rank more than any traffic was written for, too.
    for ranks in [1, 2, 3, 8, 1 << 20] {
        if plan.check(ranks).is_err() {
            continue;
        }
        for buffers in [Buffers::Warm, Buffers::Cold] {
            let slots = Slots::for_plan(&plan, ranks, buffers, false, 50 << 20);
            let largest = plan.largest_buffer_bytes(ranks);
            assert!(slots.stride >= largest && slots.count <= plan.ops.len() as u64);
        }
    }
    let again = plan_text("again", &plan, 1).expect("a plan is TOML");
    let again = parse_plan(&again).expect("what was written reads back");
    assert_eq!(again.ops, plan.ops);
    assert_eq!(again.exchange, plan.exchange);
}

/// Facts, batch and ranks without a file: every number may be anything, most are near an edge.
pub fn plan_facts(data: &[u8]) {
    let mut numbers = Numbers(data);
    let dtype = |number: u64| DataType::ALL[(number % DataType::ALL.len() as u64) as usize];
    let model = ModelFacts {
        name: "made-up".to_string(),
        source: "nowhere".to_string(),
        layers: numbers.next(),
        moe_layers: numbers.next(),
        hidden_size: numbers.next(),
        routed_experts: numbers.next(),
        experts_per_token: numbers.next(),
        expert_groups: numbers.maybe(),
        groups_per_token: numbers.maybe(),
        vocab_size: numbers.maybe(),
        activation_dtype: dtype(numbers.next()),
    };
    let request = BurstRequest {
        ops: numbers.maybe(),
        bytes: numbers.maybe(),
        dtype: Some(dtype(numbers.next())),
        batch: numbers.next(),
        full_step: numbers.maybe().map(|ranks| ranks as u32),
    };
    let ranks = numbers.next();
    volumes(&model, &request, ranks);
}

/// Numbers from bytes: one says what kind the next is of.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn take(&mut self, bytes: usize) -> u64 {
        let (now, later) = self.0.split_at(bytes.min(self.0.len()));
        self.0 = later;
        now.iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn next(&mut self) -> u64 {
        match self.take(1) % 8 {
            0 => self.take(1),
            1 => self.take(2),
            2 => self.take(3),
            3 => self.take(4),
            4 => self.take(8),
            5 => 1 << (self.take(1) % 64),
            6 => (1 << (self.take(1) % 64)) - 1,
            _ => u64::MAX - self.take(1),
        }
    }

    fn maybe(&mut self) -> Option<u64> {
        (self.take(1) % 2 == 1).then(|| self.next())
    }
}

/// A machine in any format: its routes, and everything that is written of it.
pub fn topology(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let loaded = match parse_topology(text, "fuzz") {
        Ok(loaded) => loaded,
        Err(flaw) => return printable(&flaw.to_string()),
    };
    if let Some(xml) = &loaded.xml {
        let written = xml.text();
        assert_eq!(parse_xml(&written).expect("it was XML").text(), written);
    }
    let machine = &loaded.topology;
    for from in machine.gpus().iter().take(16) {
        for to in machine.gpus().iter().take(16) {
            assert_eq!(machine.class(*from, *to), machine.class(*to, *from));
            assert_eq!(machine.route(*from, *to).is_empty(), from == to);
        }
    }
    printable(&topology_text(machine));
    printable(&topology_dot(machine));
    parse_xml(&topology_xml(machine).text()).expect("XML was written");
    let toml = topology_toml(machine).expect("a machine is TOML");
    let again = parse_topology_toml(&toml).expect("what was written is read");
    let toml = topology_toml(&again).expect("a machine is TOML");
    assert_eq!(parse_topology_toml(&toml).as_ref(), Ok(&again));
    if machine.nodes().len() <= 64 {
        topology_svg(machine).expect("a machine has a picture");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_numbers_are_refused_or_computed_without_wrapping(data in proptest::collection::vec(any::<u8>(), 0..80)) {
            plan_facts(&data);
            units(&data);
        }

        #[test]
        fn accepted_models_never_wrap(
            layers in 1u64..=1 << 24,
            hidden_size in 1u64..=1 << 24,
            ranks in 1u64..=1 << 12,
            on_rank in 1u64..=1 << 12,
            per_token in 1u64..=1 << 24,
            batch in any::<u64>(),
            shift in 0u32..64,
        ) {
            let routed_experts = ranks * on_rank;
            let model = ModelFacts {
                layers,
                moe_layers: layers,
                hidden_size,
                routed_experts,
                experts_per_token: per_token.min(routed_experts),
                expert_groups: None,
                groups_per_token: None,
                vocab_size: None,
                ..crate::plan::load_model("kimi-k2.5").unwrap()
            };
            prop_assert_eq!(model.check(), Ok(()));
            // Most batches of 64 bits are too large: all magnitudes take part.
            let batch = batch >> shift;
            volumes(&model, &request(batch), ranks);
            volumes(&model, &request(batch - batch % ranks), ranks);
        }
    }
}
