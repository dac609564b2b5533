//! What happened, what to do about it, and with which code the process ends.

use serde::{Deserialize, Serialize};

use crate::units::printable;

/// Exit codes of the process. Other programs read them: never renumber.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// Anything that has no code of its own.
    Other = 1,
    /// The request makes no sense as it was typed.
    Usage = 2,
    /// This machine lacks something that the request needs.
    Environment = 3,
    /// A collective delivered wrong data.
    WrongData = 4,
    /// A rank stopped making progress.
    Hung = 5,
    /// A rank's process ended before its work did.
    RankDied = 6,
    /// A gate that the user set was not met.
    Gate = 7,
}

impl Exit {
    /// The process exit code.
    pub fn code(self) -> i32 {
        self as i32
    }

    /// The inverse of [`Exit::code`]; unknown codes become [`Exit::Other`].
    pub fn from_code(code: i32) -> Self {
        match code {
            2 => Exit::Usage,
            3 => Exit::Environment,
            4 => Exit::WrongData,
            5 => Exit::Hung,
            6 => Exit::RankDied,
            7 => Exit::Gate,
            _ => Exit::Other,
        }
    }
}

/// An error as the user reads it: one sentence with the value at fault, and what to type next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}")]
pub struct Error {
    /// How the process ends.
    pub exit: Exit,
    /// What happened, with the value that caused it.
    pub what: String,
    /// What the user can type or install to get further.
    pub remedy: Option<String>,
}

/// The crate's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// Writes a line for the user to standard error. Unlike `eprintln!` it does not panic where
/// nobody reads any more: a launcher that was killed must not keep results from being saved.
pub fn tell(line: &str) {
    use std::io::Write;
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

impl Error {
    /// An error without a remedy.
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Error {
            exit,
            what: what.into(),
            remedy: None,
        }
    }

    /// A request that makes no sense (exit code 2).
    pub fn usage(what: impl Into<String>) -> Self {
        Error::new(Exit::Usage, what)
    }

    /// Something missing on this machine (exit code 3).
    pub fn environment(what: impl Into<String>) -> Self {
        Error::new(Exit::Environment, what)
    }

    /// Anything else (exit code 1).
    pub fn other(what: impl Into<String>) -> Self {
        Error::new(Exit::Other, what)
    }

    /// Adds what the user can do next.
    pub fn try_this(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The text for a terminal: the sentence, then the remedy on a line of its own.
    pub fn to_terminal(&self) -> String {
        printable(&match &self.remedy {
            Some(remedy) => format!("commbench: error: {}\n  try: {remedy}", self.what),
            None => format!("commbench: error: {}", self.what),
        })
    }
}
