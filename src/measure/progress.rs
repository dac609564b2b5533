//! What a waiting user sees. Only on a terminal: a pipe gets the result and nothing else.

use std::io::{self, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::state::SeriesState;
use super::stopping::Settings;
use crate::stats::Summary;
use crate::units::{format_us, significant};

/// Told how the run gets on.
pub trait Progress {
    /// Something else begins.
    fn say(&mut self, words: &str);
    /// A batch of samples has come in; `series` holds samples at rank 0 only.
    fn sampled(&mut self, series: &SeriesState, spent: Duration, settings: &Settings);
    /// The run is over; leaves a clean line.
    fn finish(&mut self);
}

/// Says nothing.
#[derive(Debug, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {
    fn say(&mut self, _: &str) {}
    fn sampled(&mut self, _: &SeriesState, _: Duration, _: &Settings) {}
    fn finish(&mut self) {}
}

/// One line on standard error that is written over.
#[derive(Debug)]
pub struct TerminalProgress {
    bar: ProgressBar,
}

impl TerminalProgress {
    /// A progress line on a terminal of this width, at the launcher's end of standard error.
    pub fn new(columns: u16) -> TerminalProgress {
        let terminal = Box::new(LauncherTerminal { columns });
        let target = ProgressDrawTarget::term_like_with_hz(terminal, 10);
        let bar = ProgressBar::with_draw_target(None, target);
        if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
            bar.set_style(style);
        }
        TerminalProgress { bar }
    }
}

impl Progress for TerminalProgress {
    fn say(&mut self, words: &str) {
        self.bar.set_message(words.to_string());
        self.bar.tick();
    }

    fn sampled(&mut self, series: &SeriesState, spent: Duration, settings: &Settings) {
        let Some(summary) = Summary::of(&series.to_series().burst_us()) else {
            return;
        };
        self.say(&format!(
            "sampling {}: n = {}, median {} ± {:.1} % (asked {} %), {:.1} of {:.1} s",
            series.label(),
            summary.n,
            format_us(summary.median),
            summary.relative_half_width() * 100.0,
            significant(settings.precision * 100.0),
            spent.as_secs_f64(),
            settings.budget.as_secs_f64(),
        ));
    }

    fn finish(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The terminal at the launcher's end of a pipe. Launchers hand ranks a pipe as standard error
/// and copy it to the user's terminal, where escape sequences work as usual.
#[derive(Debug)]
struct LauncherTerminal {
    columns: u16,
}

fn put(text: &str) -> io::Result<()> {
    io::stderr().write_all(text.as_bytes())
}

impl TermLike for LauncherTerminal {
    fn width(&self) -> u16 {
        self.columns
    }
    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        if n == 0 {
            Ok(())
        } else {
            put(&format!("\x1b[{n}A"))
        }
    }
    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        if n == 0 {
            Ok(())
        } else {
            put(&format!("\x1b[{n}B"))
        }
    }
    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        if n == 0 {
            Ok(())
        } else {
            put(&format!("\x1b[{n}C"))
        }
    }
    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        if n == 0 {
            Ok(())
        } else {
            put(&format!("\x1b[{n}D"))
        }
    }
    fn write_line(&self, s: &str) -> io::Result<()> {
        put(&format!("{s}\n"))
    }
    fn write_str(&self, s: &str) -> io::Result<()> {
        put(s)
    }
    fn clear_line(&self) -> io::Result<()> {
        put("\r\x1b[2K")
    }
    fn flush(&self) -> io::Result<()> {
        io::stderr().flush()
    }
}
