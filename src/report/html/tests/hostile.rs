//! Texts of a result that would be markup, script or orders to the reader's eye.

use serde_json::Value;

use super::fixture::curves_run;
use super::markup::{Piece, pieces, tags};
use crate::report::html::{SCRIPT, STYLE, html};
use crate::report::tests::run;
use crate::result::RunResult;

const PAYLOADS: [&str; 7] = [
    "</script><script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "<!--<script>",
    "]]></style><style>*{display:none}</style>",
    "javascript:alert(1)//&lt;b&gt;&#60;",
    "\u{1b}[2J\u{0}\u{7}\t\r\u{85}\u{202e}\u{2066}\u{200f}\u{2028}",
];

/// Puts `text` before every text of the result that may be any text, names of variables too.
fn planted(run: &RunResult, text: &str) -> RunResult {
    let mut value = serde_json::to_value(run).unwrap();
    let mut paths = Vec::new();
    texts_of(&value, String::new(), &mut paths);
    for path in paths {
        let was = value.pointer(&path).unwrap().clone();
        let planted = format!("{text}{}", was.as_str().unwrap());
        *value.pointer_mut(&path).unwrap() = Value::String(planted);
        if RunResult::from_json(&value.to_string()).is_err() {
            // A word that the reader knows by heart: a mode, a type.
            *value.pointer_mut(&path).unwrap() = was;
        }
    }
    let environment = &mut value["command"]["environment"];
    environment[text] = Value::String("1".to_string());
    RunResult::from_json(&value.to_string()).unwrap()
}

fn texts_of(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::String(_) => paths.push(path),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                texts_of(item, format!("{path}/{index}"), paths);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                texts_of(field, format!("{path}/{name}"), paths);
            }
        }
        _ => {}
    }
}

/// As long as the payload, since long names wrap.
fn harmless(payload: &str) -> String {
    "x".repeat(payload.chars().count())
}

#[test]
fn no_text_makes_an_element_or_an_attribute() {
    for (made, series) in [curves_run(), run()] {
        for payload in PAYLOADS {
            let shapes = |text: &str| -> Vec<String> {
                let page = html(&planted(&made, text), &series);
                tags(&page).iter().map(|tag| tag.shape()).collect()
            };
            assert_eq!(shapes(payload), shapes(&harmless(payload)), "{payload}");
        }
    }
}

#[test]
fn every_text_is_shown_as_it_is_written() {
    let (made, series) = curves_run();
    for payload in &PAYLOADS[..6] {
        let page = html(&planted(&made, payload), &series);
        let shown: String = pieces(&page)
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Text(text) => Some(text),
                _ => None,
            })
            .collect();
        for text in [
            "node|1",
            "NVIDIA RTX PRO 6000",
            "580.95",
            "SHM/direct/direct (16)",
            "a larger --budget",
        ] {
            assert!(
                shown.contains(&format!("{payload}{text}")),
                "{payload}{text}"
            );
        }
    }
}

#[test]
fn nothing_hides_what_stands_around_it() {
    let (made, series) = curves_run();
    let page = html(&planted(&made, PAYLOADS[6]), &series);
    let hidden = |c: &char| *c != '\n' && super::super::escape::is_hidden(*c);
    assert_eq!(page.chars().find(hidden), None);
}

#[test]
fn scripts_and_styles_are_the_pages_own() {
    let (made, series) = curves_run();
    for payload in PAYLOADS {
        let page = html(&planted(&made, payload), &series);
        let pieces = pieces(&page);
        let inside = |name: &str| -> Vec<&str> {
            let pair =
                |pair: &'_ [Piece]| matches!(&pair[0], Piece::Start(tag) if tag.name == name);
            let texts = pieces
                .windows(2)
                .filter(|two| pair(two))
                .map(|two| match &two[1] {
                    Piece::Text(text) => text.as_str(),
                    _ => "",
                });
            texts.collect()
        };
        assert_eq!(inside("style"), [STYLE]);
        let [data, script] = inside("script")[..] else {
            panic!("two scripts");
        };
        assert_eq!(script, SCRIPT);
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["points"].as_array().unwrap().len(), made.results.len());
    }
}

#[test]
fn nothing_is_fetched_and_nothing_runs_from_an_attribute() {
    let (made, series) = run();
    for tag in tags(&html(&made, &series)) {
        for (name, value) in &tag.attributes {
            assert!(!name.starts_with("on") && name != "style", "{tag:?}");
            if ["src", "href", "action", "data"].contains(&name.as_str()) {
                assert!(
                    value.starts_with('#') || value.starts_with("data:"),
                    "{tag:?}"
                );
            }
        }
    }
}
