//! Anonymous paths: each part of a path becomes a number, equal parts the same number.
//!
//! `/var/lib/a/x.db` becomes `/1/2/3/4`. Which files share a folder remains visible, nothing else.

use std::collections::HashMap;

/// The parts seen so far.
#[derive(Debug, Default)]
pub(crate) struct Anonymous {
    numbers: HashMap<String, usize>,
}

impl Anonymous {
    /// What stands for a path.
    pub(crate) fn path(&mut self, path: &str) -> String {
        let parts: Vec<String> = path.split('/').map(|part| self.part(part)).collect();
        parts.join("/")
    }

    fn part(&mut self, part: &str) -> String {
        if part.is_empty() {
            return String::new();
        }
        let next = self.numbers.len() + 1;
        self.numbers.entry(part.to_owned()).or_insert(next).to_string()
    }
}
