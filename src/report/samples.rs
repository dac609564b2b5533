//! samples.csv: every sample of every rank.

use crate::result::{Mode, Placement, RankSample, Series};

const HEADER: &str = "plan,mode,placement,sample,rank,device_us,host_us,issue_us,arrival_us";

const PLACEMENTS: [Placement; 2] = [Placement::OutOfPlace, Placement::InPlace];

/// The file's text. Arrivals are told from the first rank's: the clock's zero means nothing.
pub(crate) fn write_samples(series: &[Series]) -> String {
    let mut text = format!("{HEADER}\n");
    for one in series {
        for (index, sample) in one.samples.iter().enumerate() {
            let first = sample.iter().map(|rank| rank.arrival_ns).min().unwrap_or(0);
            for (rank, s) in sample.iter().enumerate() {
                text.push_str(&format!(
                    "{},{},{},{index},{rank},{:.3},{:.3},{:.3},{:.3}\n",
                    one.plan,
                    one.mode.name(),
                    one.placement.name(),
                    s.device_us,
                    s.host_us,
                    s.issue_us,
                    (s.arrival_ns - first) as f64 / 1e3,
                ));
            }
        }
    }
    text
}

/// Reads the file's text back, for `ranks` ranks.
///
/// # Errors
/// A sentence that names the line.
pub fn read_samples(text: &str, ranks: u32) -> Result<Vec<Series>, String> {
    let mut lines = text.lines().enumerate();
    if lines.next().is_none_or(|(_, header)| header != HEADER) {
        return Err(format!("samples.csv does not begin with '{HEADER}'"));
    }
    let mut all: Vec<Series> = Vec::new();
    for (number, line) in lines {
        let wrong = |what: &str| format!("samples.csv, line {}: {what}", number + 1);
        let fields: Vec<&str> = line.split(',').collect();
        let [
            plan,
            mode,
            placement,
            sample,
            rank,
            device,
            host,
            issue,
            arrival,
        ] = fields[..]
        else {
            return Err(wrong("9 fields are wanted"));
        };
        let mode = Mode::ALL.into_iter().find(|known| known.name() == mode);
        let placement = PLACEMENTS
            .into_iter()
            .find(|known| known.name() == placement);
        let (Some(mode), Some(placement)) = (mode, placement) else {
            return Err(wrong("unknown mode or placement"));
        };
        let time = |text: &str| match text.parse::<f64>() {
            Ok(us) if us.is_finite() && us >= 0.0 => Ok(us),
            _ => Err(wrong(&format!("'{text}' is no time"))),
        };
        let entry = RankSample {
            device_us: time(device)?,
            host_us: time(host)?,
            issue_us: time(issue)?,
            arrival_ns: (time(arrival)? * 1e3).round() as u64,
        };
        let same =
            |one: &Series| one.plan == plan && one.mode == mode && one.placement == placement;
        if !all.last().is_some_and(same) {
            all.push(Series {
                plan: plan.to_string(),
                mode,
                placement,
                samples: Vec::new(),
            });
        }
        let Some(series) = all.last_mut() else {
            return Err(wrong("no series"));
        };
        if rank == "0" {
            series.samples.push(Vec::new());
        }
        let at = series.samples.len().wrapping_sub(1).to_string();
        match series.samples.last_mut() {
            Some(ranks) if sample == at && rank == ranks.len().to_string() => ranks.push(entry),
            _ => return Err(wrong("samples and ranks must follow each other")),
        }
    }
    let short = |one: &Series| {
        one.samples
            .iter()
            .any(|sample| sample.len() != ranks as usize)
    };
    if all.iter().any(short) {
        return Err(format!("samples.csv lacks some of the {ranks} ranks"));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::assemble::tests::series;

    #[test]
    fn what_was_written_reads_back() {
        let mut graph = series(&[vec![3.25, 4.5], vec![5.0, 6.5]]);
        graph.mode = Mode::Graph;
        let mut all = vec![series(&[vec![1.0, 2.0]]), graph];
        let text = write_samples(&all);
        for sample in all.iter_mut().flat_map(|one| &mut one.samples) {
            let first = sample[0].arrival_ns;
            sample.iter_mut().for_each(|rank| rank.arrival_ns -= first);
        }
        assert_eq!(read_samples(&text, 2), Ok(all));
    }

    #[test]
    fn broken_files_name_the_line() {
        let good = write_samples(&[series(&[vec![1.0, 2.0], vec![3.0, 4.0]])]);
        let cases = [
            (good.replace("eager", "egger"), "line 2"),
            (good.replace(",3.000,", ",x,"), "line 4"),
            (good.replace(",3.000,", ",NaN,"), "line 4"),
            (good.replace(",0,1,2.000", ",0,5,2.000"), "line 3"),
            (
                good.lines().take(4).collect::<Vec<_>>().join("\n"),
                "lacks some",
            ),
            ("rubbish".to_string(), "does not begin"),
            (String::new(), "does not begin"),
        ];
        for (text, hint) in cases {
            let error = read_samples(&text, 2).unwrap_err();
            assert!(error.contains(hint), "{hint}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,300}") {
            let _ = read_samples(&text, 2);
            let _ = read_samples(&format!("{HEADER}\n{text}"), 2);
        }
    }
}
