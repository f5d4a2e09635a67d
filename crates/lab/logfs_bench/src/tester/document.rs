//! A YAML document as a tree whose nodes know their lines.
//!
//! Scalars stay text: their key determines their meaning. Aliases, tags, several documents and deep
//! nesting are refused, because no description of jobs needs them and each can make a small file
//! large.

use saphyr_parser::{Event, Parser};

use super::ConfError;

/// Deeper than any description of jobs, and shallow enough to be dropped by recursion.
const DEEPEST: usize = 8;

/// Something of a document, and where it begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    List(Vec<Node>),
    /// In the order of the document, double keys too.
    Map(Vec<(Node, Node)>),
}

impl Value {
    /// For messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Text(_) => "a plain value",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

/// An incomplete node.
struct Open {
    line: usize,
    items: Vec<Node>,
    is_map: bool,
}

/// Reads the one document of a text; nothing when there is none.
pub(super) fn read(text: &str) -> Result<Option<Node>, ConfError> {
    let (mut open, mut root): (Vec<Open>, Option<Node>) = (Vec::new(), None);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| ConfError::new(error.marker().line(), error.info()))?;
        let line = span.start.line();
        let refuse = |what| Err(ConfError::new(line, format!("{what} are not supported")));
        let ended = match event {
            Event::Scalar(_, _, _, Some(_)) | Event::SequenceStart(_, Some(_)) | Event::MappingStart(_, Some(_)) => {
                return refuse("tags");
            }
            Event::Alias(_) => return refuse("aliases"),
            Event::DocumentStart(_) if root.is_some() => return refuse("several documents"),
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == DEEPEST => {
                return refuse("values nested this deeply");
            }
            Event::SequenceStart(..) => {
                open.push(Open { line, items: Vec::new(), is_map: false });
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open { line, items: Vec::new(), is_map: true });
                continue;
            }
            Event::Scalar(text, ..) => Node { line, value: Value::Text(text.into_owned()) },
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(ended) => close(ended),
                None => continue,
            },
            _ => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.items.push(ended),
            None => root = Some(ended),
        }
    }
    Ok(root)
}

fn close(Open { line, items, is_map }: Open) -> Node {
    if !is_map {
        return Node { line, value: Value::List(items) };
    }
    let mut items = items.into_iter();
    let mut pairs = Vec::new();
    while let (Some(key), Some(value)) = (items.next(), items.next()) {
        pairs.push((key, value));
    }
    Node { line, value: Value::Map(pairs) }
}
