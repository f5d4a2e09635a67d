//! Numbers and findings as people read them.

use std::fmt::Write;

use iolab_recording::{Finding, Severity};
pub(crate) use iolab_text::{grouped as count, rounded_bytes as bytes};

use crate::Limit;

/// Columns of a line of a report.
const WIDTH: usize = 100;

/// A share as percent.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = usize::from(percent < 9.95);
    format!("{percent:.decimals$} %")
}

/// Findings as they stand before a report; empty when there are none.
pub fn findings_text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let word = match finding.severity {
            Severity::Invalid => "INVALID",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        paragraph(&mut text, &format!("{word} [{}]: ", finding.rule), &finding.evidence);
        paragraph(&mut text, "    ", &finding.consequence);
        paragraph(&mut text, "    > ", &finding.advice);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// What limited a run, as text.
pub fn limits_text(limits: &[Limit]) -> String {
    let mut text = String::new();
    for limit in limits {
        let name = limit.job.as_str();
        paragraph(&mut text, &format!("{name}: "), &limit.answer);
        for evidence in &limit.evidence {
            paragraph(&mut text, "    - ", evidence);
        }
        paragraph(&mut text, "    to confirm: ", &limit.experiment);
    }
    text
}

/// Adds `head` and `body`, broken between words, later lines indented.
fn paragraph(text: &mut String, head: &str, body: &str) {
    let mut line = head.to_owned();
    for (at, word) in body.split_whitespace().enumerate() {
        if at > 0 && line.chars().count() + 1 + word.chars().count() > WIDTH {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{line}");
            line = format!("      {word}");
        } else {
            if at > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    let _ = writeln!(text, "{line}");
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

    #[test]
    fn long_lines_are_broken_between_words() {
        let mut text = String::new();
        paragraph(&mut text, "head: ", &"word ".repeat(40));
        assert!(text.lines().count() > 1 && text.lines().all(|line| line.len() <= WIDTH), "{text}");
        assert!(text.lines().skip(1).all(|line| line.starts_with("      word")), "{text}");
    }
}
