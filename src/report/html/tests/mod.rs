mod fixture;
mod hostile;
mod markup;

use fixture::curves_run;
use markup::{tags, texts};

use super::{SCRIPT, STYLE, badges, escape, html, policy};
use crate::report::curves::{curve_columns, curve_rows};
use crate::report::table::{COLUMNS, conditions, rows, verdict_words};
use crate::report::tests::run;
use crate::result::{Backend, Failure, RunResult, Status};

/// A page without what has files and tests of its own, an element a line.
fn skeleton(page: &str) -> String {
    page.replace(STYLE, "(page.css)")
        .replace(SCRIPT, "(page.js)")
        .replace(&policy::policy(), "(policy)")
        .replace("><", ">\n<")
}

#[test]
fn a_picture_of_curves() {
    let (mut run, series) = curves_run();
    run.results.retain(|one| one.tokens_per_gpu >= Some(8));
    let page = html(&run, &series);
    let (_, from) = page.split_once("<figure>").unwrap();
    let (figure, _) = from.split_once("</figure>").unwrap();
    insta::assert_snapshot!(skeleton(figure));
}

#[test]
fn a_page_without_curves() {
    let (run, series) = run();
    let page = html(&run, &series);
    let image = tags(&page)
        .into_iter()
        .find(|tag| tag.name == "img")
        .unwrap();
    let source = image.attribute("src").unwrap();
    assert!(source.starts_with("data:image/svg+xml;base64,"));
    insta::assert_snapshot!(skeleton(&page.replace(source, "(burst.svg)")));
}

#[test]
fn figures_are_those_of_the_tables() {
    let shown = |page: &str, wanted: &[Vec<String>]| {
        let cells: Vec<String> = [texts(page, "td"), texts(page, "th")].concat();
        for cell in wanted.iter().flatten() {
            assert!(cells.contains(cell), "{cell}");
        }
    };
    let (made, series) = run();
    let page = html(&made, &series);
    shown(&page, &[COLUMNS.map(str::to_string).to_vec()]);
    shown(&page, &rows(&made));
    let (made, series) = curves_run();
    let page = html(&made, &series);
    shown(&page, &rows(&made));
    shown(&page, &[curve_columns(&made)]);
    shown(&page, &curve_rows(&made));
    for line in conditions(&made) {
        assert!(texts(&page, "li").contains(&line), "{line}");
    }
}

#[test]
fn what_hovering_shows_is_in_the_table() {
    let (made, series) = curves_run();
    let page = html(&made, &series);
    let data: serde_json::Value = serde_json::from_str(&texts(&page, "script")[0]).unwrap();
    let points = data["points"].as_array().unwrap();
    assert_eq!(points.len(), made.results.len());
    for point in points {
        let cell = point["value"].as_str().unwrap().replace(" ms a step", "");
        assert!(texts(&page, "td").contains(&cell), "{cell}");
        assert_eq!(point["basis"], "95 % interval of the median, n = 30");
    }
    for chart in data["charts"].as_array().unwrap() {
        assert_eq!(chart["places"].as_array().unwrap().len(), points.len());
    }
}

#[test]
fn the_verdict_comes_first_and_whole() {
    let (made, series) = curves_run();
    let page = html(&made, &series);
    let paragraphs = [texts(&page, "p"), texts(&page, "li")].concat();
    for sentence in verdict_words(&made) {
        assert!(paragraphs.contains(&sentence), "{sentence}");
    }
    assert!(
        page.contains("cost the same at about t = "),
        "the crossover is named"
    );
    assert!(page.contains("<path class=\"crossing\""), "and drawn");
    let ids: Vec<String> = tags(&page)
        .into_iter()
        .filter(|tag| tag.name == "section")
        .map(|tag| tag.attribute("id").unwrap().to_string())
        .collect();
    let order = "answer curves table plans ranks conditions machine warnings command";
    assert_eq!(ids.join(" "), order);
}

#[test]
fn labels_stand_before_everything() {
    let labels = |change: fn(&mut RunResult)| {
        let (mut made, series) = run();
        change(&mut made);
        let page = html(&made, &series);
        let labels = badges::labels(&made);
        for label in &labels {
            let place = page.find(&format!("<li>{label}</li>")).unwrap();
            assert!(place < page.find("<h2").unwrap());
        }
        labels.join(", ")
    };
    assert_eq!(labels(|_| {}), "");
    assert_eq!(labels(|run| run.backend = Backend::MpiHost), "HOST MEMORY");
    assert_eq!(labels(|run| run.backend = Backend::Predicted), "PREDICTED");
    assert_eq!(labels(|run| run.status = Status::Partial), "PARTIAL");
    assert_eq!(labels(|run| run.status = Status::Failed), "WRONG DATA");
    assert_eq!(
        labels(|run| run.results[1].conditions.shared_gpu = true),
        "SHARED GPU"
    );
    assert_eq!(
        labels(|run| run.results[1].verified = false),
        "NOT VERIFIED"
    );
    assert_eq!(
        labels(|run| {
            run.status = Status::Failed;
            run.results[1].verified = false;
            run.results[1].verification.wrong = 3;
        }),
        "WRONG DATA"
    );
}

#[test]
fn a_run_that_measured_nothing_says_why() {
    let (mut made, _) = run();
    made.results.clear();
    made.status = Status::Partial;
    made.failure = Some(Failure {
        exit_code: 6,
        text: "rank 1 was killed (signal 9)".to_string(),
        rank: Some(1),
        op: None,
        phase: None,
    });
    let page = html(&made, &[]);
    for words in [
        "INCOMPLETE: rank 1 was killed",
        "PARTIAL",
        "Nothing was measured",
        "Machine",
        "Command",
    ] {
        assert!(page.contains(words), "{words}");
    }
}

#[test]
fn times_that_no_axis_can_hold_are_left_out_and_counted() {
    let (mut made, series) = curves_run();
    for (one, us) in made.results.iter_mut().zip([0.0, 1e300, f64::INFINITY]) {
        one.step.as_mut().unwrap().step_us.median = us;
    }
    let page = html(&made, &series);
    assert!(page.contains("3 points cannot be drawn."));
    for broken in ["NaN", "inf,", "inf "] {
        assert!(!texts(&page, "script")[0].contains(broken), "{broken}");
    }
    for one in &mut made.results {
        one.step.as_mut().unwrap().step_us.median = -1.0;
    }
    assert!(html(&made, &series).contains("No curve: no time of this run can be drawn."));
}

#[test]
fn the_policy_lets_in_the_pages_own_parts_alone() {
    let (made, series) = run();
    let page = html(&made, &series);
    let tags = tags(&page);
    let policy = tags
        .iter()
        .find(|tag| tag.attribute("http-equiv").is_some())
        .unwrap();
    let content = markup::unescaped(policy.attribute("content").unwrap());
    assert!(
        content.starts_with("default-src 'none'; style-src 'sha256-"),
        "{content}"
    );
    assert!(!content.contains("unsafe"), "{content}");
    // Before anything that it is to judge.
    let head: Vec<&str> = tags.iter().map(|tag| tag.name.as_str()).take(4).collect();
    assert_eq!(head, ["html", "head", "meta", "meta"]);
    // The page is cleaned after the hashes were taken.
    assert_eq!(escape::visible(STYLE), STYLE);
    assert_eq!(escape::visible(SCRIPT), SCRIPT);
    for text in [STYLE, SCRIPT] {
        assert!(!text.contains("</") && !text.contains("<!--") && !text.contains("http"));
    }
}
