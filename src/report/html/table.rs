//! Tables. Each scrolls in a place of its own where the page is narrower, with the keyboard too.

use maud::{Markup, html};

/// Letters that stay on one line: on any page, and on wide ones.
const SHORT: usize = 16;
const MIDDLE: usize = 40;

/// A table whose first `words` columns are text and the others figures. Line breaks in titles stay.
pub(super) fn table(
    caption: &str,
    columns: &[String],
    rows: &[Vec<String>],
    words: usize,
) -> Markup {
    let class = |column: usize| (column >= words).then_some("figure");
    let head = html! {
        tr {
            @for (index, column) in columns.iter().enumerate() {
                th scope="col" class=[class(index)] { (lines(column)) }
            }
        }
    };
    let body = html! {
        @for row in rows {
            tr {
                @for (index, cell) in row.iter().enumerate() {
                    @if index == 0 && words > 0 {
                        (row_title(cell))
                    } @else if index == 0 {
                        th.figure scope="row" { (cell) }
                    } @else {
                        td class=(class(index).unwrap_or(length(cell))) { (marked(cell)) }
                    }
                }
            }
        }
    };
    let table = html! {
        table aria-label=(caption) { thead { (head) } tbody { (body) } }
    };
    html! {
        p.caption { (caption) }
        (scroll(caption, table))
    }
}

/// The first cell of a row, in words.
pub(super) fn row_title(text: &str) -> Markup {
    html! {
        th scope="row" class=(length(text)) { (text) }
    }
}

/// The class of a text by how much room it needs.
fn length(text: &str) -> &'static str {
    match text.chars().count() {
        letters if letters <= SHORT => "short",
        letters if letters <= MIDDLE => "middle",
        _ => "long",
    }
}

/// A place that scrolls on its own.
pub(super) fn scroll(name: &str, body: Markup) -> Markup {
    html! {
        div.scroll role="region" aria-label=(name) tabindex="0" { (body) }
    }
}

fn lines(text: &str) -> Markup {
    html! {
        @for (index, line) in text.split('\n').enumerate() {
            @if index > 0 { br; }
            span class=(length(line)) { (line) }
        }
    }
}

/// A figure of wrong data stands out.
fn marked(cell: &str) -> Markup {
    html! {
        @match cell.strip_suffix("WRONG") {
            Some(rest) => { (rest) strong.wrong { "WRONG" } }
            None => (cell)
        }
    }
}
