//! The parameters of one method call, read by name; an unread one is a mistake.

use crate::json::{Json, Value, Wrong};

/// The `params` of a call.
#[derive(Debug)]
pub(crate) struct Parameters<'a> {
    method: &'a str,
    /// Line of the call.
    pub(crate) line: u32,
    left: Vec<(&'a str, &'a Json)>,
}

impl<'a> Parameters<'a> {
    pub(crate) fn of(method: &'a str, line: u32, parameters: Option<&'a Json>) -> Result<Parameters<'a>, Wrong> {
        let left = match parameters {
            None => Vec::new(),
            Some(Json { value: Value::Null, .. }) => Vec::new(),
            Some(Json { value: Value::Object(pairs), .. }) => {
                pairs.iter().map(|(name, value)| (name.as_str(), value)).collect()
            }
            Some(other) => {
                return Err(Wrong::at(other.line, format!("params of {method} is {}, not an object", other.kind())));
            }
        };
        Ok(Parameters { method, line, left })
    }

    fn take(&mut self, name: &str) -> Option<&'a Json> {
        let at = self.left.iter().position(|(have, _)| *have == name)?;
        Some(self.left.remove(at).1)
    }

    fn unfit(&self, name: &str, found: &Json, wanted: &str) -> Wrong {
        Wrong::at(found.line, format!("{name} of {} is {}, not {wanted}", self.method, found.kind()))
    }

    fn missing(&self, name: &str) -> Wrong {
        Wrong::at(self.line, format!("{} needs the parameter {name}", self.method))
    }

    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Wrong> {
        match self.take(name) {
            None => Ok(None),
            Some(Json { value: Value::Text(text), .. }) => Ok(Some(text.clone())),
            Some(other) => Err(self.unfit(name, other, "a string")),
        }
    }

    pub(crate) fn needed_text(&mut self, name: &str) -> Result<String, Wrong> {
        let text = self.text(name)?;
        text.ok_or_else(|| self.missing(name))
    }

    /// A whole number; SPDK writes some ports and sizes as text.
    pub(crate) fn number(&mut self, name: &str) -> Result<Option<u64>, Wrong> {
        let Some(found) = self.take(name) else { return Ok(None) };
        let number = match &found.value {
            Value::Number(text) | Value::Text(text) => text.parse().ok(),
            _ => None,
        };
        number.map(Some).ok_or_else(|| self.unfit(name, found, "a whole number"))
    }

    pub(crate) fn needed_number(&mut self, name: &str) -> Result<u64, Wrong> {
        let number = self.number(name)?;
        number.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Wrong> {
        match self.take(name) {
            None => Ok(false),
            Some(Json { value: Value::Flag(on), .. }) => Ok(*on),
            Some(other) => Err(self.unfit(name, other, "a boolean")),
        }
    }

    pub(crate) fn needed_texts(&mut self, name: &str) -> Result<Vec<String>, Wrong> {
        let Some(found) = self.take(name) else { return Err(self.missing(name)) };
        let Value::List(items) = &found.value else { return Err(self.unfit(name, found, "an array of strings")) };
        let text = |item: &Json| match &item.value {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(self.unfit(name, item, "a string")),
        };
        items.iter().map(text).collect()
    }

    /// Ignores parameters without effect here.
    pub(crate) fn ignore(&mut self, names: &[&str]) {
        self.left.retain(|(name, _)| !names.contains(name));
    }

    /// Ignores a number that must be 0, because its feature does not exist here.
    pub(crate) fn nothing(&mut self, name: &str, what: &str) -> Result<(), Wrong> {
        let line = self.left.iter().find(|(have, _)| *have == name).map_or(self.line, |(_, found)| found.line);
        match self.number(name)? {
            None | Some(0) => Ok(()),
            Some(_) => Err(Wrong::at(line, format!("{name} of {}: {what} cannot be had here", self.method))),
        }
    }

    /// Checks that all parameters were read.
    pub(crate) fn end(self) -> Result<(), Wrong> {
        match self.left.first() {
            None => Ok(()),
            Some((name, found)) => {
                Err(Wrong::at(found.line, format!("{} has no parameter {name} that is known here", self.method)))
            }
        }
    }
}
