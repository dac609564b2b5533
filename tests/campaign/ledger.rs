//! What came of the trials, as a table.

use std::collections::BTreeMap;

use crate::fault::Fault;

/// What came of a trial: when the fault struck and how the job ended, or which promises it broke.
pub type Outcome = Result<Kept, String>;

#[derive(Debug, Clone)]
pub struct Kept {
    /// What the victim was doing.
    pub moment: String,
    pub ending: String,
}

#[derive(Default)]
pub struct Ledger {
    /// By fault and moment: trials and endings.
    rows: BTreeMap<(String, String), BTreeMap<String, u64>>,
    broken: Vec<String>,
}

impl Ledger {
    pub fn enter(&mut self, fault: &Fault, outcome: Outcome) {
        match outcome {
            Ok(kept) => {
                let row = self.rows.entry((fault.what(), kept.moment)).or_default();
                *row.entry(kept.ending).or_insert(0) += 1;
            }
            Err(promises) => self.broken.push(format!("{fault:?}: {promises}")),
        }
    }

    pub fn broken(&self) -> &[String] {
        &self.broken
    }

    /// Fault × moment × outcome, in Markdown.
    pub fn table(&self) -> String {
        let mut text =
            String::from("| fault | moment | trials | outcome |\n| --- | --- | --- | --- |\n");
        let mut all = 0;
        for ((fault, moment), endings) in &self.rows {
            let trials: u64 = endings.values().sum();
            all += trials;
            let endings: Vec<String> = match endings.len() {
                1 => endings.keys().cloned().collect(),
                _ => endings
                    .iter()
                    .map(|(ending, trials)| format!("{trials} × {ending}"))
                    .collect(),
            };
            text += &format!(
                "| {fault} | {moment} | {trials} | {} |\n",
                endings.join("; ")
            );
        }
        text + &format!(
            "\n{all} trials kept every promise, {} did not.\n",
            self.broken.len()
        )
    }
}
