//! From a run over tokens per GPU to the picture of its curves.

use super::curves::{Of, RunCurve, curves, times_of};
use super::plot::about::{badges, footer, subtitle};
use super::plot::curve::{
    Crossover, CurveLine, CurvePicture, CurvePoint, Knee, MOST_LINES, Reference, Region,
};
use super::table::title;
use crate::result::{Measurement, RunResult};
use crate::verdict::{self, Pair, Verdict, answers};

/// The picture of a run's curves; `None` where its plans are no points of any.
pub(super) fn picture(run: &RunResult) -> Option<CurvePicture> {
    let all = curves(run);
    let of = times_of(run);
    // Parts of plans are in the tables: here they would hide what is compared.
    let compared = |curve: &&RunCurve<'_>| match &run.verdict {
        Some(verdict) if verdict.reference.is_some() => is_compared(verdict, &curve.name),
        _ => true,
    };
    let shown: Vec<&RunCurve<'_>> = all.iter().filter(compared).collect();
    let left_out: Vec<String> = shown
        .iter()
        .skip(MOST_LINES)
        .map(|curve| format!("{} (no room)", curve.name))
        .collect();
    let shown = &shown[..shown.len().min(MOST_LINES)];
    let lines: Vec<CurveLine> = shown.iter().map(|curve| line(curve, of)).collect();
    if lines.is_empty() {
        return None;
    }
    let measured: Vec<&Measurement> = run.results.iter().collect();
    let mut picture = CurvePicture {
        title: title(run)?,
        subtitle: subtitle(run, &measured),
        badges: badges(run, &measured),
        footer: footer(run, &left_out),
        y_name: match of {
            Of::Op => "one all-to-all".to_string(),
            Of::Step => "communication of one decode step".to_string(),
        },
        lines,
        ..CurvePicture::default()
    };
    picture.references = references(run, of);
    if let Some(verdict) = &run.verdict {
        picture.answer = answers(verdict)
            .into_iter()
            .take(verdict.pairs.len())
            .collect();
        mark(&mut picture, verdict, shown, of);
    }
    Some(picture)
}

fn is_compared(verdict: &Verdict, curve: &str) -> bool {
    verdict.reference.as_deref() == Some(curve)
        || verdict.pairs.iter().any(|pair| pair.plan == curve)
}

/// A median and its interval in µs.
fn us(one: &Measurement, of: Of) -> (f64, Option<[f64; 2]>) {
    let summary = match (of, &one.step) {
        (Of::Step, Some(step)) => &step.step_us,
        _ => &one.per_op_us,
    };
    (summary.median, summary.ci95)
}

fn line(curve: &RunCurve<'_>, of: Of) -> CurveLine {
    let point = |one: &&Measurement| {
        let (us, ci95_us) = us(one, of);
        Some(CurvePoint {
            x: one.tokens_per_gpu?,
            us,
            ci95_us,
        })
    };
    CurveLine {
        name: curve.name.clone(),
        points: curve.points.iter().filter_map(point).collect(),
    }
}

/// What is no point of a curve: the burst of one token.
fn references(run: &RunResult, of: Of) -> Vec<Reference> {
    let burst = |one: &&Measurement| of == Of::Step && one.step.is_none();
    let measured = run.results.iter().filter(burst);
    measured
        .map(|one| Reference {
            name: one.plan.name.clone(),
            tokens: Some(1.0 / f64::from(run.ranks.max(1))),
            us: one.burst_us.median,
        })
        .collect()
}

/// Marks what the verdict found.
fn mark(picture: &mut CurvePicture, verdict: &Verdict, shown: &[&RunCurve<'_>], of: Of) {
    for (line, curve) in shown.iter().enumerate() {
        let found = verdict.plans.iter().find(|plan| plan.plan == curve.name);
        let Some(verdict::Knee::At { tokens, .. }) = found.map(|plan| &plan.knee) else {
            continue;
        };
        let at = |one: &&&Measurement| one.tokens_per_gpu == Some(*tokens);
        if let Some(one) = curve.points.iter().find(at) {
            picture.knees.push(Knee {
                line,
                tokens: *tokens,
                us: us(one, of).0,
            });
        }
    }
    for pair in &verdict.pairs {
        let Some(line) = shown.iter().position(|curve| curve.name == pair.plan) else {
            continue;
        };
        let crossing = match &pair.crossover {
            verdict::Crossover::At { tokens, ci95, .. } => Some((*tokens, *ci95)),
            _ => None,
        };
        if let Some((tokens, ci95)) = crossing
            && let Some(us) = interpolated(&picture.lines[line], tokens)
        {
            picture.crossovers.push(Crossover {
                line,
                tokens,
                ci95,
                us,
            });
        }
        picture
            .regions
            .extend(regions(pair, line, crossing.map(|(tokens, _)| tokens)));
    }
}

/// Where a plan is shown to cost less: runs of measured t, as far as the crossover where there is
/// one.
fn regions(pair: &Pair, line: usize, crossover: Option<f64>) -> Vec<Region> {
    let mut found: Vec<Region> = Vec::new();
    let mut open = false;
    for point in &pair.points {
        let cheaper = point.cheaper.as_deref() == Some(pair.plan.as_str());
        let tokens = point.tokens as f64;
        match found.last_mut() {
            Some(last) if cheaper && open => last.to = tokens,
            _ if cheaper => found.push(Region {
                from: tokens,
                to: tokens,
                name: format!("{} costs less", pair.plan),
                line: Some(line),
            }),
            _ => {}
        }
        open = cheaper;
    }
    if let Some(crossing) = crossover {
        for region in &mut found {
            if region.from >= crossing {
                region.from = crossing;
            } else if region.to <= crossing {
                region.to = crossing;
            }
        }
    }
    found.retain(|region| region.to > region.from);
    found
}

/// A line's time at `tokens`, straight between points in log-log.
fn interpolated(line: &CurveLine, tokens: f64) -> Option<f64> {
    line.points.windows(2).find_map(|pair| {
        let [from, to] = [pair[0], pair[1]];
        let (left, right) = (from.x as f64, to.x as f64);
        if !(left..=right).contains(&tokens) {
            return None;
        }
        let share = (tokens / left).ln() / (right / left).ln();
        Some((from.us.ln() * (1.0 - share) + to.us.ln() * share).exp())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Comparison;

    fn pair(cheaper: &[(u64, bool)]) -> Pair {
        let point = |(tokens, is_cheaper): &(u64, bool)| Comparison {
            tokens: *tokens,
            ratio: 1.0,
            joint_ci95: [0.9, 1.1],
            cheaper: is_cheaper.then(|| "EP".to_string()),
            n: [10, 10],
        };
        Pair {
            plan: "EP".to_string(),
            crossover: verdict::Crossover::NoDifferenceShown { why: String::new() },
            points: cheaper.iter().map(point).collect(),
            left_out: Vec::new(),
        }
    }

    fn ends(pair: &Pair, crossover: Option<f64>) -> Vec<(f64, f64)> {
        let found = regions(pair, 1, crossover);
        found
            .iter()
            .map(|region| (region.from, region.to))
            .collect()
    }

    #[test]
    fn shading_covers_what_is_shown_and_no_more() {
        let late = pair(&[(1, false), (2, false), (4, true), (8, true)]);
        assert_eq!(ends(&late, None), [(4.0, 8.0)]);
        assert_eq!(ends(&late, Some(2.5)), [(2.5, 8.0)]);
        let early = pair(&[(1, true), (2, true), (4, false)]);
        assert_eq!(ends(&early, Some(3.0)), [(1.0, 3.0)]);
        let twice = pair(&[(1, true), (2, true), (4, false), (8, true), (16, true)]);
        assert_eq!(ends(&twice, None), [(1.0, 2.0), (8.0, 16.0)]);
        assert_eq!(ends(&pair(&[(1, false), (2, true), (4, false)]), None), []);
    }

    #[test]
    fn a_crossover_lies_on_the_line() {
        let point = |tokens, us| CurvePoint {
            x: tokens,
            us,
            ci95_us: None,
        };
        let line = CurveLine {
            name: String::new(),
            points: vec![point(1, 10.0), point(4, 40.0), point(16, 40.0)],
        };
        assert!((interpolated(&line, 2.0).unwrap() - 20.0).abs() < 1e-9);
        assert!((interpolated(&line, 8.0).unwrap() - 40.0).abs() < 1e-9);
        assert_eq!(interpolated(&line, 17.0), None);
    }
}
