//! Collects findings during resolving, so that one run reports all errors.

use std::cell::RefCell;

use iolab_jobfile::{Diagnostic, DiagnosticSeverity};

/// The findings so far. The same finding from several clones or sections is kept once.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    list: RefCell<Vec<Diagnostic>>,
}

/// Where a finding points: source index and byte range.
pub(crate) type Place = (usize, (usize, usize));

impl Findings {
    /// Adds a finding unless it is there already.
    pub(crate) fn add(&self, severity: DiagnosticSeverity, place: Place, reason: String, suggestion: &str) {
        let suggestion = (!suggestion.is_empty()).then(|| suggestion.to_owned());
        let finding = Diagnostic { severity, source: place.0, span: place.1, reason, suggestion };
        let mut list = self.list.borrow_mut();
        if !list.contains(&finding) {
            list.push(finding);
        }
    }

    /// All of them, in order of discovery.
    pub(crate) fn into_inner(self) -> Vec<Diagnostic> {
        self.list.into_inner()
    }
}
