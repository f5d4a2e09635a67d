//! The keys of a map: known, refused for a reason, or unknown with a suggestion; and their values
//! with units.

use iolab_text::closest;
use iolab_units::{KbBase, parse_bytes, parse_ns};

use super::ConfError;
use super::document::{Node, Value};

/// A valid key of a map, or the reason why a key that `io_tester` knows is refused.
pub(super) type Known = (&'static str, Option<&'static str>);

/// A map whose keys are all known.
pub(super) struct Fields<'node> {
    pairs: Vec<(&'node str, &'node Node)>,
    /// Where the map begins.
    pub(super) line: usize,
}

impl<'node> Fields<'node> {
    /// Looks at every key. `what` is the map, for messages.
    pub(super) fn of(node: &'node Node, known: &[Known], what: &str) -> Result<Fields<'node>, ConfError> {
        let Value::Map(pairs) = &node.value else {
            let message = format!("{what} must be a map of keys and values, not {}", node.value.kind());
            return Err(ConfError::new(node.line, message));
        };
        let mut fields = Fields { pairs: Vec::new(), line: node.line };
        for (key, value) in pairs {
            let name = text(key, "a key")?;
            match known.iter().find(|(known, _)| *known == name) {
                None => return Err(ConfError::new(key.line, unknown(name, known, what))),
                Some((_, Some(reason))) => {
                    return Err(ConfError::new(key.line, format!("{name} is not supported: {reason}")));
                }
                Some((_, None)) if fields.get(name).is_some() => {
                    return Err(ConfError::new(key.line, format!("{name} is set twice")));
                }
                Some((_, None)) => fields.pairs.push((name, value)),
            }
        }
        Ok(fields)
    }

    pub(super) fn get(&self, name: &str) -> Option<&'node Node> {
        self.pairs.iter().find(|(known, _)| *known == name).map(|(_, node)| *node)
    }

    /// The value of a key that has to be there.
    pub(super) fn need(&self, name: &str) -> Result<&'node Node, ConfError> {
        self.get(name).ok_or_else(|| ConfError::new(self.line, format!("{name} is missing")))
    }

    /// Refuses a key that another one makes meaningless.
    pub(super) fn refuse(&self, name: &str, why: &str) -> Result<(), ConfError> {
        match self.get(name) {
            Some(node) => Err(ConfError::new(node.line, format!("{name} is not supported: {why}"))),
            None => Ok(()),
        }
    }

    /// A whole number from a range.
    pub(super) fn number(&self, name: &str, (least, most): (u64, u64)) -> Result<Option<u64>, ConfError> {
        self.get(name).map(|node| number(node, name, (least, most))).transpose()
    }

    /// A size: `512`, `128kB`, `1GB`, in powers of 1024 as `io_tester` takes them.
    pub(super) fn bytes(&self, name: &str) -> Result<Option<u64>, ConfError> {
        let Some(node) = self.get(name) else { return Ok(None) };
        let written = text(node, name)?;
        let wrong = |why: String| ConfError::new(node.line, format!("{name}: {why}"));
        if written.contains(['i', 'I']) {
            return Err(wrong(format!("{written}: use kB, MB or GB, which are powers of 1024")));
        }
        parse_bytes(written, KbBase::K1024).map(Some).map_err(|error| wrong(error.to_string()))
    }

    /// A time with its unit: `100us`, `5ms`, `1s`, or `0`.
    pub(super) fn duration(&self, name: &str) -> Result<Option<u64>, ConfError> {
        let Some(node) = self.get(name) else { return Ok(None) };
        let written = text(node, name)?;
        let wrong = |why: String| ConfError::new(node.line, format!("{name}: {why}"));
        if written != "0" && !written.ends_with('s') {
            return Err(wrong(format!("{written}: add a unit: ns, us, ms or s")));
        }
        parse_ns(written, 1).map(Some).map_err(|error| wrong(error.to_string()))
    }

    /// One of some words.
    pub(super) fn word<T: Copy>(&self, name: &str, words: &[(&'static str, T)]) -> Result<Option<T>, ConfError> {
        self.get(name).map(|node| word(node, name, words)).transpose()
    }
}

/// A value that is neither list nor map.
pub(super) fn text<'node>(node: &'node Node, what: &str) -> Result<&'node str, ConfError> {
    match &node.value {
        Value::Text(text) => Ok(text),
        other => Err(ConfError::new(node.line, format!("{what} must be a plain value, not {}", other.kind()))),
    }
}

pub(super) fn number(node: &Node, name: &str, (least, most): (u64, u64)) -> Result<u64, ConfError> {
    let written = text(node, name)?;
    match written.parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => {
            let message = format!("{name}: {written}: expected a whole number from {least} to {most}");
            Err(ConfError::new(node.line, message))
        }
    }
}

pub(super) fn word<T: Copy>(node: &Node, name: &str, words: &[(&'static str, T)]) -> Result<T, ConfError> {
    let written = text(node, name)?;
    if let Some((_, value)) = words.iter().find(|(word, _)| *word == written) {
        return Ok(*value);
    }
    let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    let message = format!("{name}: {written}: expected one of {}{}", known.join(", "), hint(written, &known));
    Err(ConfError::new(node.line, message))
}

fn unknown(name: &str, known: &[Known], what: &str) -> String {
    let meant: Vec<&str> = known.iter().filter(|(_, refused)| refused.is_none()).map(|(name, _)| *name).collect();
    format!("{name} is not a key of {what}; known keys are {}{}", meant.join(", "), hint(name, &meant))
}

/// `; is name meant?`
fn hint(written: &str, known: &[&str]) -> String {
    let near = closest(written, known.iter().copied());
    near.map(|known| format!("; did you mean {known}?")).unwrap_or_default()
}
