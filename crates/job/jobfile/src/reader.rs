//! Reads job files: splits lines into sections. It handles comments, headers, `include` and places,
//! but no options.
//!
//! As in fio, a line is a comment when `;` or `#` is its first visible character, and `;` or `#`
//! ends the text of any other line. Unlike in fio, a broken header, a missing include or a line
//! outside any section is an error. A comment that begins with [`OWN_LINE`] is an option: so a file
//! can use options that fio lacks, and still run in fio.

use crate::collect::MOST_ERRORS;
use crate::raw::{Assignment, Document, Scope, Section};
use crate::{Diagnostic, DiagnosticSeverity, Surroundings};

/// The prefix of a line that is a comment in fio and an option here.
pub const OWN_LINE: &str = "#iolab:";

/// Longest section name, bytes, as in fio.
const LONGEST_NAME: usize = 255;
/// Deepest nesting of includes.
const MAX_INCLUDES: usize = 16;
/// Largest number of files that one job file may include, so that a doubling chain of includes
/// cannot fill memory.
const MOST_SOURCES: usize = 1_000;
/// Largest total size of all files, bytes: each of many included files may be large.
const MOST_BYTES: usize = 64 << 20;

/// Reads job files one after another into a growing list of sources.
pub(crate) struct Reader<'a> {
    pub(crate) sources: &'a mut Vec<(String, String)>,
    pub(crate) diagnostics: &'a mut Vec<Diagnostic>,
    pub(crate) surroundings: &'a dyn Surroundings,
}

/// The reader's state within one job file and its includes.
#[derive(Default)]
struct State {
    document: Document,
    depth: usize,
    /// Whether a stray line was reported: only the first is.
    stray: bool,
}

impl Reader<'_> {
    /// Reads one file, adding it to the sources.
    pub(crate) fn read(&mut self, name: &str, bytes: &[u8]) -> Document {
        let source = self.sources.len();
        let mut state = State::default();
        match text_of(bytes) {
            Ok(text) => {
                self.sources.push((name.to_owned(), text));
                self.lines(source, &mut state);
            }
            Err((reason, text, at)) => {
                self.sources.push((name.to_owned(), text));
                self.refuse(source, at, reason, None);
            }
        }
        state.document
    }

    fn refuse(&mut self, source: usize, span: (usize, usize), reason: impl Into<String>, suggestion: Option<String>) {
        let reason = reason.into();
        // Warnings stop at MOST_ERRORS, so there is always room for an error.
        if self.diagnostics.len() >= 2 * MOST_ERRORS {
            return;
        }
        self.diagnostics.push(Diagnostic { severity: DiagnosticSeverity::Error, source, span, reason, suggestion });
    }

    /// Warns about a cut value: fio cuts values at `;` and `#` silently, which has surprised many
    /// users.
    fn warn_of_comment(&mut self, source: usize, span: (usize, usize)) {
        if self.diagnostics.len() >= MOST_ERRORS {
            return;
        }
        let reason = "from here on the line is read as a comment".to_owned();
        let suggestion = Some("put a space before it if you mean that".to_owned());
        self.diagnostics.push(Diagnostic { severity: DiagnosticSeverity::Warning, source, span, reason, suggestion });
    }

    fn lines(&mut self, source: usize, state: &mut State) {
        let text = self.sources[source].1.clone();
        let mut at = 0;
        for line in text.split('\n') {
            let visible = line.trim_start();
            let begin = at + line.len() - visible.len();
            at += line.len() + 1;
            if let Some(rest) = visible.strip_prefix(OWN_LINE) {
                self.own_line(source, rest, begin + OWN_LINE.len(), state);
                continue;
            }
            if visible.is_empty() || visible.starts_with([';', '#']) {
                continue;
            }
            let content = visible.find([';', '#']).map_or(visible, |end| &visible[..end]);
            if content.len() < visible.len() && !content.ends_with([' ', '\t']) && content.contains('=') {
                self.warn_of_comment(source, (begin + content.len(), begin + visible.trim_end().len()));
            }
            let visible = content.trim_end();
            self.line(source, visible, begin, state);
        }
    }

    /// Handles the text after [`OWN_LINE`]: an option of the section, possibly with a comment.
    fn own_line(&mut self, source: usize, rest: &str, begin: usize, state: &mut State) {
        let option = rest.trim_start();
        let begin = begin + rest.len() - option.len();
        let option = option.find([';', '#']).map_or(option, |end| &option[..end]).trim_end();
        match state.document.sections.last_mut() {
            _ if option.is_empty() => {}
            Some(section) => section.assignments.push(assignment(source, option, begin)),
            None => self.line(source, option, begin, state),
        }
    }

    fn line(&mut self, source: usize, line: &str, begin: usize, state: &mut State) {
        if line.starts_with('[') {
            self.header(source, line, begin, state);
        } else if let Some(name) = include_name(line) {
            let offset = begin + line.len() - name.len();
            self.include(source, name, (offset, offset + name.len()), state);
        } else if let Some(section) = state.document.sections.last_mut() {
            section.assignments.push(assignment(source, line, begin));
        } else if !state.stray {
            state.stray = true;
            let advice = "put a `[global]` or `[name]` line above it".to_owned();
            self.refuse(source, (begin, begin + line.len()), "this option stands outside any section", Some(advice));
        }
    }

    fn header(&mut self, source: usize, line: &str, begin: usize, state: &mut State) {
        let span = (begin, begin + line.len());
        let close = line.find(']');
        let name = &line[1..close.unwrap_or(line.len())];
        if close.is_none() {
            self.refuse(source, span, "the closing `]` of this section is missing", Some(format!("write `[{name}]`")));
        } else if close != Some(line.len() - 1) {
            let rest = close.map_or(span, |close| (begin + close + 1, span.1));
            self.refuse(source, rest, "unexpected text after the `]` of a section", None);
        } else if name.is_empty() {
            self.refuse(source, span, "this section has no name", None);
        } else if name.len() > LONGEST_NAME {
            self.refuse(source, span, format!("this section's name is longer than {LONGEST_NAME} bytes"), None);
        } else if state.depth > 0 {
            let advice = "define sections in job files, and only options in included files".to_owned();
            self.refuse(source, span, "an included file must not begin a section", Some(advice));
        }
        // Even a refused header begins a section, so that its options are checked and not
        // attributed to the preceding one.
        let scope = if name.starts_with("global") { Scope::Global } else { Scope::Job };
        state.document.sections.push(Section { scope, name: name.to_owned(), source, span, assignments: Vec::new() });
    }

    fn include(&mut self, source: usize, name: &str, span: (usize, usize), state: &mut State) {
        if state.depth >= MAX_INCLUDES || self.sources.len() >= MOST_SOURCES {
            return self.refuse(
                source,
                span,
                "includes are nested too deeply; perhaps two files include each other",
                None,
            );
        }
        if self.sources.iter().map(|(_, text)| text.len()).sum::<usize>() > MOST_BYTES {
            let reason = format!("the files included so far have more than {} MiB together", MOST_BYTES >> 20);
            return self.refuse(source, span, reason, None);
        }
        let from = self.sources[source].0.clone();
        match self.surroundings.include(name, &from) {
            Ok(text) => match text_of(text.as_bytes()) {
                Ok(text) => {
                    let included = self.sources.len();
                    self.sources.push((name.to_owned(), text));
                    state.depth += 1;
                    self.lines(included, state);
                    state.depth -= 1;
                }
                Err((reason, ..)) => self.refuse(source, span, format!("`{name}` is not a job file: {reason}"), None),
            },
            Err(reason) => self.refuse(source, span, format!("`{name}` cannot be included: {reason}"), None),
        }
    }
}

/// Why a file is not text: the reason, the text before the place, the place.
type NotText = (String, String, (usize, usize));

/// The file's text without a byte order mark. Bytes that are not UTF-8 are accepted in comments.
fn text_of(bytes: &[u8]) -> Result<String, NotText> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let control = |byte: &u8| byte.is_ascii_control() && !b"\t\n\r\x0c\x0b".contains(byte);
    if let Some(at) = bytes.iter().position(control) {
        return Err(not_text(bytes, at, "does not belong in a job file; this seems to be a binary file"));
    }
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        at += chunk.valid().len();
        let line = bytes[..at].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        if !chunk.invalid().is_empty() && !line.iter().any(|byte| b";#".contains(byte)) {
            return Err(not_text(bytes, at, "is not UTF-8"));
        }
        at += chunk.invalid().len();
    }
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

fn not_text(bytes: &[u8], at: usize, what: &str) -> NotText {
    let line = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
    let reason = format!("byte 0x{:02x} in line {line} {what}", bytes[at]);
    let before: String = String::from_utf8_lossy(&bytes[..at])
        .chars()
        .map(|letter| if letter.is_control() && letter != '\n' { ' ' } else { letter })
        .collect();
    let end = before.len();
    (reason, before, (end, end))
}

/// The file named by an `include` line.
fn include_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    let name = rest.trim_start();
    (name.len() < rest.len() && !name.starts_with('=')).then_some(name)
}

fn assignment(source: usize, line: &str, begin: usize) -> Assignment {
    let end = begin + line.len();
    let (name, value, value_span) = match line.split_once('=') {
        None => (line, None, (end, end)),
        Some((name, value)) => {
            let value = value.trim_start();
            (name.trim_end(), Some(value.to_owned()), (end - value.len(), end))
        }
    };
    Assignment { name: name.to_owned(), value, source, name_span: (begin, begin + name.len()), value_span }
}
