//! What is asked of the curves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

use super::{Curve, Rules};

/// Where the step times come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FiguresKind {
    /// On GPUs of their own.
    Measured,
    /// MPI on host memory.
    HostMemory,
    /// Several ranks shared a GPU.
    SharedGpu,
    /// Computed, not measured.
    Predicted,
}

/// What is asked of the curves.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    pub kind: FiguresKind,
    /// Ranks, N.
    pub ranks: u32,
    /// Name of the plan that the others are compared with: TP. `None` where none are.
    pub reference: Option<&'a str>,
    pub curves: &'a [Curve],
    /// Curves that are read but not compared: parts of plans.
    pub alone: &'a [Curve],
    /// Plans that have no curve, each with its reason.
    pub absent: &'a [Absent],
    /// Time of a whole decode step, in ms, to take shares of. Of the same batch at every t.
    pub tpot_ms: Option<f64>,
    pub rules: Rules,
}

/// A plan without a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Absent {
    pub plan: String,
    /// A clause: "12 experts do not spread evenly over 8 ranks".
    pub why: String,
}

/// Whether a TPOT in ms is a time.
///
/// # Errors
/// Exit code 2, with the value.
pub fn check_tpot(tpot_ms: Option<f64>) -> Result<()> {
    match tpot_ms {
        Some(tpot) if !(tpot.is_finite() && tpot > 0.0) => {
            Err(Error::usage(format!("a TPOT of {tpot} ms is no time"))
                .try_this("--tpot-ms 12.5, the time of one decode step"))
        }
        _ => Ok(()),
    }
}

impl Request<'_> {
    /// # Errors
    /// As [`super::verdict`] has them.
    pub(super) fn check(&self) -> Result<()> {
        check_tpot(self.tpot_ms)?;
        self.rules.check()?;
        if self.ranks == 0 {
            return Err(Error::other("a verdict over 0 ranks"));
        }
        let all = self.curves.iter().chain(self.alone);
        let mut names: Vec<&str> = all.map(Curve::plan).collect();
        names.sort_unstable();
        match names.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => Err(Error::other(format!("two curves of {}", pair[0]))),
            None => Ok(()),
        }
    }

    /// Why there is nothing to compare with.
    pub(super) fn no_reference(&self) -> String {
        let reference = self.reference.unwrap_or("a plan to compare with");
        match self.absent.iter().find(|one| one.plan == reference) {
            Some(absent) => format!("there is no curve of {reference}: {}", absent.why),
            None => format!("there is no curve of {reference}"),
        }
    }
}
