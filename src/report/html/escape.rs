//! Words that others wrote, where HTML's own escapes do not reach.

use serde::Serialize;

/// The page without characters that reorder or hide what stands around them, or that HTML does not
/// allow: controls and bidirectional formatting become `\u{FFFD}`.
pub(super) fn visible(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' => '\n',
            c if is_hidden(c) => char::REPLACEMENT_CHARACTER,
            c => c,
        })
        .collect()
}

/// Whether a reader would not see the character, but what it does to others.
pub(super) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Marks, embeddings, overrides and isolates of text direction.
            '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}'
            // Line and paragraph separators, which end a line of script.
            | '\u{2028}' | '\u{2029}')
}

/// JSON for a script element: nothing in it ends the element, begins a comment, or ends a line of
/// script.
pub(super) fn json_for_script<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_string());
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hides_or_reorders() {
        let text = "a\tb\u{202e}c\u{2066}d\u{0}e\u{85}f\ng\u{2028}ä";
        let shown = visible(text);
        assert_eq!(shown.matches(char::REPLACEMENT_CHARACTER).count(), 6);
        assert!(shown.contains("f\ng") && shown.ends_with('ä'));
    }

    #[test]
    fn no_text_ends_the_script_and_all_of_it_reads_back() {
        let texts = [
            "</script><script>alert(1)</script>",
            "<!--&\u{2028}\u{2029}\"",
        ];
        let json = json_for_script(&texts);
        for c in ['<', '>', '&', '\u{2028}', '\u{2029}'] {
            assert!(!json.contains(c), "{json}");
        }
        assert_eq!(serde_json::from_str::<Vec<String>>(&json).unwrap(), texts);
    }
}
