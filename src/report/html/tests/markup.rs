//! What a browser would make of a page: its elements, attributes and texts. Reads what maud writes
//! and panics at anything else.

/// An element's start.
#[derive(Debug, Clone, PartialEq)]
pub struct Tag {
    pub name: String,
    /// Name and value, still escaped.
    pub attributes: Vec<(String, String)>,
}

impl Tag {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The element and its attributes without their values.
    pub fn shape(&self) -> String {
        let names: Vec<&str> = self
            .attributes
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        format!("{} {}", self.name, names.join(" "))
    }
}

/// A piece of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    Start(Tag),
    End(String),
    /// Unescaped; the inside of a script or style as it is.
    Text(String),
}

/// The pieces of a whole page.
pub fn pieces(page: &str) -> Vec<Piece> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a doctype");
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let Some(markup) = rest.strip_prefix('<') else {
            let (text, after) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
            pieces.push(Piece::Text(unescaped(text)));
            rest = after;
            continue;
        };
        let inside = &markup[..end_of_tag(markup)];
        rest = &markup[inside.len() + 1..];
        if let Some(name) = inside.strip_prefix('/') {
            pieces.push(Piece::End(name.to_string()));
            continue;
        }
        let tag = tag(inside);
        if ["script", "style"].contains(&tag.name.as_str()) {
            // Nothing but its own end ends a raw text.
            let end = rest
                .to_ascii_lowercase()
                .find(&format!("</{}", tag.name))
                .expect("an end");
            pieces.push(Piece::Start(tag));
            pieces.push(Piece::Text(rest[..end].to_string()));
            rest = &rest[end..];
        } else {
            pieces.push(Piece::Start(tag));
        }
    }
    pieces
}

/// Where the tag's `>` is, which may stand in a quoted value before.
fn end_of_tag(markup: &str) -> usize {
    let mut quoted = false;
    for (at, c) in markup.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return at,
            _ => {}
        }
    }
    panic!("a tag without an end: {markup:.80}");
}

fn tag(inside: &str) -> Tag {
    let (name, mut rest) = inside.split_once(' ').unwrap_or((inside, ""));
    assert!(name.chars().all(|c| c.is_ascii_alphanumeric()), "{inside}");
    let mut attributes: Vec<(String, String)> = Vec::new();
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let name = rest[..end].to_string();
        let is_name = name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c == '-' || c == 'B');
        assert!(is_name, "{inside}");
        assert!(
            attributes.iter().all(|(known, _)| *known != name),
            "twice {name}: {inside}"
        );
        rest = &rest[end..];
        let mut value = String::new();
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let end = quoted.find('"').expect("an end of the value");
            value = quoted[..end].to_string();
            rest = &quoted[end + 1..];
        }
        attributes.push((name, value));
        rest = rest.strip_prefix(' ').unwrap_or(rest);
    }
    Tag {
        name: name.to_string(),
        attributes,
    }
}

pub fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&amp;", "&")
}

/// The elements of a page, in order.
pub fn tags(page: &str) -> Vec<Tag> {
    let start = |piece| match piece {
        Piece::Start(tag) => Some(tag),
        _ => None,
    };
    pieces(page).into_iter().filter_map(start).collect()
}

/// The text of every element of this name.
pub fn texts(page: &str, name: &str) -> Vec<String> {
    let mut texts = Vec::new();
    let mut open: Option<String> = None;
    for piece in pieces(page) {
        match piece {
            Piece::Start(tag) if tag.name == name => open = Some(String::new()),
            Piece::Start(tag) if tag.name == "br" => {
                if let Some(text) = &mut open {
                    text.push('\n');
                }
            }
            Piece::End(end) if end == name => texts.extend(open.take()),
            Piece::Text(more) => {
                if let Some(text) = &mut open {
                    text.push_str(&more);
                }
            }
            _ => {}
        }
    }
    texts
}
