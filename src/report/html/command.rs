//! The exact command, ready to be typed again, and the variables it ran under.

use maud::{Markup, html};

use super::escape::is_hidden;
use crate::result::RunResult;

pub(super) fn command(run: &RunResult) -> Markup {
    let words: Vec<String> = run.command.argv.iter().map(|word| quoted(word)).collect();
    let environment: Vec<String> = run
        .command
        .environment
        .iter()
        .map(|(name, value)| format!("{}={}", quoted(name), quoted(value)))
        .collect();
    html! {
        (block("command-line", "Command line", &words.join(" ")))
        @if run.imported.is_some() {
            p.aside { "As typed. What the log was made with is in the log." }
        } @else {
            p.aside { "As typed, behind a launcher of " (run.ranks) " ranks." }
        }
        h3 { "Environment" }
        @if run.imported.is_some() {
            p { "Not known: a log does not hold the variables of its run." }
        } @else if environment.is_empty() {
            p { "No variable was set that changes what was measured." }
        } @else {
            p { "Variables that change what was measured:" }
            (block("environment", "Environment", &environment.join("\n")))
        }
    }
}

/// Text to copy: one click marks all of it, and the script shows the button.
fn block(id: &str, name: &str, text: &str) -> Markup {
    html! {
        div.copied {
            pre id=(id) tabindex="0" aria-label=(name) { code { (text) } }
            button type="button" hidden data-copies=(id) { "Copy" }
        }
    }
}

/// A word as a POSIX shell takes it; one with characters that nobody sees as Bash takes it, since
/// a page cannot hold them.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_string();
    }
    if !word.chars().any(is_hidden) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let escaped: String = word
        .chars()
        .map(|c| match c {
            '\\' | '\'' => format!("\\{c}"),
            c if c.is_ascii_control() => format!("\\{:03o}", u32::from(c)),
            c if is_hidden(c) => format!("\\u{:04x}", u32::from(c)),
            c => c.to_string(),
        })
        .collect();
    format!("$'{escaped}'")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_only_where_a_shell_would_read_them_otherwise() {
        for (word, shown) in [
            ("--tokens=1,2", "--tokens=1,2"),
            ("", "''"),
            ("2 %", "'2 %'"),
            ("it's", r"'it'\''s'"),
            ("$(rm -rf ~);`x`\"*", "'$(rm -rf ~);`x`\"*'"),
            ("a\n'\\\u{1b}9\u{202e}ä", r"$'a\012\'\\\0339\u202eä'"),
        ] {
            assert_eq!(quoted(word), shown);
        }
    }

    #[test]
    fn a_shell_reads_back_every_word() {
        let words = [
            "a b",
            "'",
            "\\",
            "$HOME",
            "`id`",
            "a\nb",
            "!x",
            "*",
            "~",
            "#",
            "tab\t1\u{7f}",
        ];
        let line: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let script = format!("printf '%s\\0' {}", line.join(" "));
        let output = std::process::Command::new("bash")
            .args(["-c", &script])
            .output();
        let read = String::from_utf8(output.unwrap().stdout).unwrap();
        assert_eq!(
            read.trim_end_matches('\0').split('\0').collect::<Vec<_>>(),
            words
        );
    }
}
