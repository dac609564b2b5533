//! What the figures of a run are to answer, and how they become the verdict's curves.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::result::{Backend, RunResult, Series};
use crate::verdict::{Absent, Curve, CurvePoint, FiguresKind, Request, Rules, Verdict, verdict};

/// What is asked of a run's curves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Question {
    /// The curve that others are compared with.
    pub reference: Option<String>,
    /// Curves that are compared with it. All others are only read.
    pub compared: Vec<String>,
    /// Curves that could not be measured.
    pub absent: Vec<Absent>,
    /// Time of a whole decode step in ms, to take shares of.
    pub tpot_ms: Option<f64>,
}

impl Question {
    /// The verdict over all curves of `run`; `series` goes with its results one to one.
    ///
    /// # Errors
    /// Exit code 2 for a TPOT that is no time.
    pub fn answer(&self, run: &RunResult, series: &[Series]) -> Result<Verdict> {
        let mut drawn: Vec<(String, Vec<CurvePoint>)> = Vec::new();
        for (measured, samples) in run.results.iter().zip(series) {
            let Some(step) = &measured.step else { continue };
            let Some(name) = run.curve_name(measured) else {
                continue;
            };
            let point = CurvePoint {
                tokens: step.place.tokens_per_gpu,
                step_us: samples
                    .burst_us()
                    .iter()
                    .map(|us| us * step.scale)
                    .collect(),
            };
            match drawn.iter_mut().find(|(known, _)| *known == name) {
                Some((_, points)) => points.push(point),
                None => drawn.push((name, vec![point])),
            }
        }
        let (mut curves, mut alone) = (Vec::new(), Vec::new());
        for (name, points) in drawn {
            let is_compared =
                self.reference.as_deref() == Some(name.as_str()) || self.compared.contains(&name);
            let curve = Curve::new(name, points)?;
            if is_compared {
                curves.push(curve);
            } else {
                alone.push(curve);
            }
        }
        verdict(&Request {
            kind: figures_kind(run),
            ranks: run.ranks,
            reference: self.reference.as_deref(),
            curves: &curves,
            alone: &alone,
            absent: &self.absent,
            tpot_ms: self.tpot_ms,
            rules: Rules::default(),
        })
    }
}

fn figures_kind(run: &RunResult) -> FiguresKind {
    match run.backend {
        Backend::MpiHost => FiguresKind::HostMemory,
        Backend::Predicted => FiguresKind::Predicted,
        Backend::Nccl if run.results.iter().any(|one| one.conditions.shared_gpu) => {
            FiguresKind::SharedGpu
        }
        Backend::Nccl => FiguresKind::Measured,
    }
}
