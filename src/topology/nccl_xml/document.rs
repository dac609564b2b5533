//! An XML file as a tree that loses nothing: unknown elements and attributes, comments, line breaks,
//! and the order of all.

use std::fmt::Write;

use quick_xml::Reader;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};

use crate::topology::builder::{Flaw, MAX_DEPTH};

/// Elements of one file. The largest boxes have some hundreds.
const MAX_ELEMENTS: usize = 20_000;

/// A whole file: an element, and what stands before and after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlFile {
    pub nodes: Vec<XmlNode>,
}

/// A piece of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum XmlNode {
    Element(XmlElement),
    /// Text, with what XML has signs of its own for written plainly.
    Text(String),
    /// What does not matter to readers, as it stands: comments and instructions.
    Verbatim(String),
}

/// An element.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XmlElement {
    pub name: String,
    /// In their order. Values are as they were meant, not as XML writes them.
    pub attributes: Vec<(String, String)>,
    pub children: Vec<XmlNode>,
    /// Line of the file, from 1; 0 where it comes from none.
    pub line: usize,
}

impl XmlElement {
    pub fn new(name: &str) -> XmlElement {
        XmlElement {
            name: name.to_string(),
            attributes: Vec::new(),
            children: Vec::new(),
            line: 0,
        }
    }

    /// Adds an attribute.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> XmlElement {
        self.attributes.push((name.to_string(), value.into()));
        self
    }

    /// An attribute's value.
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut found = self.attributes.iter().filter(|(key, _)| key == name);
        found.next().map(|(_, value)| value.as_str())
    }

    /// The elements in it.
    pub fn elements(&self) -> impl Iterator<Item = &XmlElement> {
        self.children.iter().filter_map(|child| match child {
            XmlNode::Element(element) => Some(element),
            XmlNode::Text(_) | XmlNode::Verbatim(_) => None,
        })
    }
}

impl XmlFile {
    /// The element that all others are in.
    pub fn root(&self) -> Option<&XmlElement> {
        self.nodes.iter().find_map(|node| match node {
            XmlNode::Element(element) => Some(element),
            XmlNode::Text(_) | XmlNode::Verbatim(_) => None,
        })
    }

    /// The text of the file.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for node in &self.nodes {
            write_node(node, &mut out);
        }
        out
    }
}

/// Depth is bounded by [`parse_xml`].
fn write_node(node: &XmlNode, out: &mut String) {
    match node {
        XmlNode::Verbatim(text) => out.push_str(text),
        XmlNode::Text(text) => out.push_str(&escape(text, false)),
        XmlNode::Element(element) => {
            let _ = write!(out, "<{}", element.name);
            for (name, value) in &element.attributes {
                let _ = write!(out, " {name}=\"{}\"", escape(value, true));
            }
            if element.children.is_empty() {
                out.push_str("/>");
                return;
            }
            out.push('>');
            for child in &element.children {
                write_node(child, out);
            }
            let _ = write!(out, "</{}>", element.name);
        }
    }
}

/// As XML writes a text. Line breaks and tabs in values would be read as spaces.
fn escape(text: &str, is_value: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if is_value => out.push_str("&quot;"),
            '\n' if is_value => out.push_str("&#10;"),
            '\t' if is_value => out.push_str("&#9;"),
            '\r' => out.push_str("&#13;"),
            c => out.push(c),
        }
    }
    out
}

/// Reads any XML file that declares no entities of its own.
///
/// # Errors
/// The line, and a clause: for what is no XML, is nested too deeply or has too many elements.
pub fn parse_xml(text: &str) -> Result<XmlFile, Flaw> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut place = Lines::new(text);
    // Open elements, the file itself at the bottom.
    let mut open: Vec<XmlElement> = vec![XmlElement::new("")];
    let mut count = 0usize;
    loop {
        let line = place.line_at(reader.buffer_position() as usize);
        let flaw = |what: String| Flaw::at(Some(line), what);
        let event = reader.read_event().map_err(|error| {
            let line = place.line_at(reader.error_position() as usize);
            Flaw::at(Some(line), format!("no XML: {error}"))
        })?;
        let is_empty = matches!(event, Event::Empty(_));
        let child = match event {
            Event::Start(tag) | Event::Empty(tag) => {
                count += 1;
                if count > MAX_ELEMENTS {
                    return Err(flaw(format!("more than {MAX_ELEMENTS} elements")));
                }
                if open.len() == 1 && open[0].elements().next().is_some() {
                    return Err(flaw("a second outermost element".to_string()));
                }
                let element = element_of(&tag, line).map_err(flaw)?;
                if !is_empty {
                    if open.len() > MAX_DEPTH + 8 {
                        return Err(flaw(format!(
                            "elements within elements, more than {} deep",
                            MAX_DEPTH + 8
                        )));
                    }
                    open.push(element);
                    continue;
                }
                XmlNode::Element(element)
            }
            Event::End(_) => match open.pop() {
                // The reader has matched the tags.
                Some(element) if !open.is_empty() => XmlNode::Element(element),
                _ => return Err(flaw("an end without a beginning".to_string())),
            },
            Event::Text(text) => XmlNode::Text(text.to_string()),
            Event::GeneralRef(name) => XmlNode::Text(reference(&name).map_err(flaw)?),
            Event::Eof => break,
            Event::DocType(_) => {
                return Err(flaw(
                    "it declares a document type, which is not read".to_string(),
                ));
            }
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::CData(_) => {
                let end = reader.buffer_position() as usize;
                let start = place.offset;
                XmlNode::Verbatim(text.get(start..end).unwrap_or_default().to_string())
            }
        };
        let parent = open
            .last_mut()
            .ok_or_else(|| flaw("an end without a beginning".to_string()))?;
        push(&mut parent.children, child);
    }
    let file = match (open.pop(), open.last()) {
        (Some(file), None) => XmlFile {
            nodes: file.children,
        },
        (Some(element), Some(_)) => {
            let what = format!("<{}> does not end", shown(&element.name));
            return Err(Flaw::at(Some(element.line), what));
        }
        (None, _) => return Err(Flaw::at(None, "there is no element")),
    };
    match file.root() {
        Some(_) => Ok(file),
        None => Err(Flaw::at(None, "there is no element")),
    }
}

/// Text comes in pieces where it holds references.
fn push(children: &mut Vec<XmlNode>, child: XmlNode) {
    match (children.last_mut(), child) {
        (Some(XmlNode::Text(before)), XmlNode::Text(more)) => before.push_str(&more),
        (_, child) => children.push(child),
    }
}

fn element_of(tag: &BytesStart<'_>, line: usize) -> Result<XmlElement, String> {
    let name = tag.name().as_ref().to_string();
    let mut element = XmlElement::new(&name);
    element.line = line;
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|error| format!("<{}>: {error}", shown(&name)))?;
        let key = attribute.key.as_ref().to_string();
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|error| format!("attribute {}: {error}", shown(&key)))?;
        element.attributes.push((key, value.into_owned()));
    }
    Ok(element)
}

fn reference(name: &quick_xml::events::BytesRef<'_>) -> Result<String, String> {
    if let Some(c) = name.resolve_char_ref().map_err(|error| error.to_string())? {
        return Ok(c.to_string());
    }
    let name: &str = name;
    match quick_xml::escape::resolve_predefined_entity(name) {
        Some(text) => Ok(text.to_string()),
        None => Err(format!("unknown entity '{}'", shown(name))),
    }
}

/// Names from a file within a message.
fn shown(name: &str) -> String {
    let short: String = name.chars().take(60).collect();
    short.escape_debug().to_string()
}

/// Counts lines along the way.
struct Lines<'a> {
    text: &'a [u8],
    offset: usize,
    line: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Lines<'a> {
        Lines {
            text: text.as_bytes(),
            offset: 0,
            line: 1,
        }
    }

    /// Line of a place that is not before the last that was asked for.
    fn line_at(&mut self, offset: usize) -> usize {
        let end = offset.min(self.text.len());
        if end > self.offset {
            let passed = &self.text[self.offset..end];
            self.line += passed.iter().filter(|byte| **byte == b'\n').count();
            self.offset = end;
        }
        self.line
    }
}
