//! Logs of other programs, as results of commbench's own: what nccl-tests printed, as text of any of
//! its versions or as its JSON.
//!
//! Pure: text comes in, a [`Log`] comes out, and [`imported`] makes the result of it. A log holds one
//! figure a size, a mean without an interval, and everything that shows it says so.

mod columns;
mod header;
mod infer;
mod json;
mod lines;
mod result;
#[cfg(test)]
mod tests;
mod text;

pub use result::{Wanted, imported};

/// What a log of nccl-tests says.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Log {
    /// "nccl-tests text" or "nccl-tests JSON 3".
    pub format: String,
    /// Name of the program, without its folder: "all_reduce_perf".
    pub program: Option<String>,
    pub tests_version: Option<String>,
    pub nccl_version: Option<String>,
    pub started_at: Option<String>,
    /// Calls behind a time (`-n`).
    pub iterations: Option<u64>,
    pub warmup: Option<u64>,
    /// Calls in one group (`-m` of old versions, `-A`).
    pub aggregated: Option<u64>,
    /// Launches of a captured graph; 0 for none.
    pub graph: Option<u64>,
    /// Largest buffer, in bytes: nccl-tests walks through it.
    pub most_bytes: Option<u64>,
    /// Whether it waited after each call, so that times hold the wait.
    pub blocking: bool,
    pub devices: Vec<Device>,
    pub rows: Vec<Row>,
    /// What the figures are, where the log says something else than nccl-tests' mean.
    pub figure: Option<String>,
    /// Written by commbench on host memory, by ranks that shared a GPU.
    pub host_memory: bool,
    pub shared_gpu: bool,
    /// What a reader of the figures should know of how the log was read.
    pub notes: Vec<String>,
}

/// The GPU of a rank.
#[derive(Debug, Clone, PartialEq)]
pub struct Device {
    pub rank: u32,
    pub host: String,
    pub device: u32,
    /// "0000:18:00", or "0x18" in old versions.
    pub bus: String,
    pub name: String,
}

/// One size.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Line of the file, or number of the result, from 1.
    pub line: usize,
    pub bytes: u64,
    pub count: u64,
    /// nccl-tests' name: "bfloat16".
    pub dtype: String,
    /// `None` where the table has no such column.
    pub redop: Option<String>,
    pub root: Option<i64>,
    pub out_of_place: Option<Figures>,
    pub in_place: Option<Figures>,
}

/// What was measured of a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figures {
    pub us: f64,
    /// In 10⁹ B/s, rounded as printed.
    pub algbw: f64,
    pub busbw: f64,
    /// Wrong elements; `None` where nobody looked.
    pub wrong: Option<u64>,
}

/// More rows than any sweep has.
const MAX_ROWS: usize = 4096;

/// Reads a log. `table` chooses one of several, from 1.
///
/// # Errors
/// A sentence that names the line, and what to type next where that helps.
pub fn read_log(text: &str, table: Option<usize>) -> Result<Log, Refused> {
    let log = match text.trim_start().starts_with('{') {
        true => json::read(text)?,
        false => text::read(text, table)?,
    };
    if log.rows.is_empty() {
        return Err(Refused::new(
            "holds no row of an nccl-tests table (size, count, type, time, algbw, busbw)",
        )
        .try_this("the whole output of all_reduce_perf, or the file of its --output_file"));
    }
    if log.rows.len() > MAX_ROWS {
        return Err(Refused::new(format!(
            "holds {} rows, and at most {MAX_ROWS} are read",
            log.rows.len()
        )));
    }
    Ok(log)
}

/// Why a log was not taken: a clause with the file as its subject.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub what: String,
    pub remedy: Option<String>,
}

impl Refused {
    fn new(what: impl Into<String>) -> Refused {
        Refused {
            what: what.into(),
            remedy: None,
        }
    }

    fn at(line: usize, what: impl std::fmt::Display) -> Refused {
        Refused::new(format!("says in line {line}: {what}"))
    }

    fn try_this(mut self, remedy: impl Into<String>) -> Refused {
        self.remedy = Some(remedy.into());
        self
    }
}
