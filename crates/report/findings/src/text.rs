//! Findings and limits as text for a terminal.

use iolab_recording::{Finding, Severity};
use iolab_text::paragraph;

use crate::Bottleneck;

/// Findings as printed before a report, in lines of at most `columns`; empty when there are none.
pub fn findings_text(findings: &[Finding], columns: usize) -> String {
    let mut text = String::new();
    for finding in findings {
        let word = match finding.severity {
            Severity::Invalid => "INVALID",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        text += &paragraph(&format!("{word} [{}]: ", finding.rule), &finding.evidence, columns);
        text += &paragraph("    ", &finding.consequence, columns);
        text += &paragraph("    > ", &finding.advice, columns);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// What limited a run, as text in lines of at most `columns`.
pub fn limits_text(limits: &[Bottleneck], columns: usize) -> String {
    let mut text = String::new();
    for limit in limits {
        let name = limit.job.as_str();
        text += &paragraph(&format!("{name}: "), &limit.answer, columns);
        for evidence in &limit.evidence {
            text += &paragraph("    - ", evidence, columns);
        }
        text += &paragraph("    to confirm: ", &limit.experiment, columns);
    }
    text
}
