//! Numbers and findings as people read them.

use iolab_recording::{Finding, Severity};
use iolab_text::paragraph;
pub(crate) use iolab_text::{grouped as count, rounded_bytes as bytes};

use crate::Limit;

/// A share as percent.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = usize::from(percent < 9.95);
    format!("{percent:.decimals$} %")
}

/// Findings as they stand before a report, in lines of at most `columns`; empty when there are none.
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
pub fn limits_text(limits: &[Limit], columns: usize) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([bytes(0.0), bytes(1023.0), bytes(1024.0)], ["0 B", "1023 B", "1.0 KiB"]);
        assert_eq!([bytes(150.0 * 1048576.0), bytes(1.5e13)], ["150 MiB", "13.6 TiB"]);
        assert_eq!([percent(0.004), percent(0.5), percent(1.0)], ["0.4 %", "50 %", "100 %"]);
        assert_eq!([count(7), count(1000), count(1234567)], ["7", "1,000", "1,234,567"]);
    }
}
