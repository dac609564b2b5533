//! Where the launcher's outputs end.

use std::fs::File;

use rustix::termios::tcgetwinsize;

/// Whether standard output and standard error of the launcher end on a terminal, and how wide
/// that is: "out=120,err=120", one of them or neither.
pub(super) const TERMINALS_VARIABLE: &str = "COMMBENCH_TERMINALS";

/// Which of the launcher's outputs end on a terminal, with its width in columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terminals {
    pub out: Option<u16>,
    pub err: Option<u16>,
}

impl Terminals {
    pub(super) fn from_text(text: &str) -> Terminals {
        let columns = |wanted: &str| {
            text.split(',').find_map(|part| {
                let (name, columns) = part.split_once('=')?;
                (name == wanted).then(|| columns.parse().ok())?
            })
        };
        Terminals {
            out: columns("out"),
            err: columns("err"),
        }
    }
}

/// Which outputs end on a terminal, at the launcher's end. The descriptors of this process tell
/// nothing: Open MPI gives every rank a pseudo-terminal as standard output, and a pipe as
/// standard error.
pub(super) fn launcher_terminals() -> String {
    let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
    let columns = |fd: i32| {
        let target = std::fs::read_link(format!("/proc/{parent}/fd/{fd}")).ok()?;
        if !target.starts_with("/dev/pts/") && !target.starts_with("/dev/tty") {
            return None;
        }
        // A terminal that does not tell its size is as wide as terminals were.
        let size = File::open(&target)
            .ok()
            .and_then(|terminal| tcgetwinsize(&terminal).ok());
        Some(size.map_or(80, |size| size.ws_col.max(40)))
    };
    [(1, "out"), (2, "err")]
        .iter()
        .filter_map(|(fd, name)| Some(format!("{name}={}", columns(*fd)?)))
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_read_back() {
        let of = |text: &str| {
            let terminals = Terminals::from_text(text);
            (terminals.out, terminals.err)
        };
        assert_eq!(of("out=120,err=80"), (Some(120), Some(80)));
        assert_eq!(of("err=99"), (None, Some(99)));
        assert_eq!(of(""), (None, None));
        assert_eq!(of("out,err=x"), (None, None));
    }
}
