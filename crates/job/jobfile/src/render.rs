//! Diagnostics as readable text: the line, a caret under the offending part, the reason, and what
//! to write instead.

use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use iolab_options::without_passwords;

use crate::{Diagnostic, DiagnosticSeverity};

/// Longest line shown whole, bytes; of longer ones only the part around the finding is shown.
const LONGEST_LINE: usize = 400;

/// All diagnostics, one block each, ending in a newline; empty for none.
///
/// `color` adds terminal colours. Control characters of the source are not passed on to the
/// terminal. Passwords of addresses in reasons are hidden; the parser has hidden the secrets of the
/// sources.
pub fn render(diagnostics: &[Diagnostic], sources: &[(String, String)], color: bool) -> String {
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&one(diagnostic, sources, &renderer));
        text.push('\n');
    }
    text
}

fn one(diagnostic: &Diagnostic, sources: &[(String, String)], renderer: &Renderer) -> String {
    let level = match diagnostic.severity {
        DiagnosticSeverity::Error | DiagnosticSeverity::Refusal => Level::ERROR,
        DiagnosticSeverity::Warning => Level::WARNING,
        DiagnosticSeverity::Note => Level::NOTE,
    };
    let shown = |text: &str| printable(&without_passwords(text));
    let reason = shown(&diagnostic.reason);
    let advice = diagnostic.suggestion.as_deref().map(shown);
    let place =
        sources.get(diagnostic.source).map(|(name, text)| (printable(name), Excerpt::of(text, diagnostic.span)));
    let mut group = level.primary_title(reason.as_str()).elements(None::<annotate_snippets::Message<'_>>);
    if let Some((name, excerpt)) = place.as_ref().filter(|(_, excerpt)| !excerpt.line.trim().is_empty()) {
        let marked = AnnotationKind::Primary.span(excerpt.begin..excerpt.end);
        let snippet = Snippet::source(excerpt.line.as_str()).line_start(excerpt.number).path(name.as_str());
        group = group.element(snippet.annotation(marked));
    }
    if let Some(advice) = &advice {
        group = group.element(Level::HELP.message(advice.as_str()));
    }
    renderer.render(&[group])
}

/// The line of a finding.
struct Excerpt {
    line: String,
    number: usize,
    begin: usize,
    end: usize,
}

impl Excerpt {
    /// The line in which `span` begins. Spans outside the text or within a character are moved to
    /// the nearest valid place.
    fn of(text: &str, span: (usize, usize)) -> Excerpt {
        let begin = text.floor_char_boundary(span.0.min(text.len()));
        let line_begin = text[..begin].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[begin..].find('\n').map_or(text.len(), |newline| begin + newline);
        let end = text.ceil_char_boundary(span.1.clamp(begin, line_end));
        let number = 1 + text[..begin].bytes().filter(|byte| *byte == b'\n').count();
        let from = text.ceil_char_boundary(line_begin.max(begin.saturating_sub(LONGEST_LINE / 2)));
        let to = text.floor_char_boundary(line_end.min(begin + LONGEST_LINE));
        let end = end.min(to).max(begin);
        let before = printable(&text[from.min(begin)..begin]);
        let marked = printable(&text[begin..end]);
        let after = printable(&text[end..to.max(end)]);
        let (begin, end) = (before.len(), before.len() + marked.len());
        Excerpt { line: format!("{before}{marked}{after}"), number, begin, end }
    }
}

/// Removes control characters, so that a job file cannot manipulate the terminal.
fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
