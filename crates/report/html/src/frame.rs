//! The frame of every page: head, style, landmarks, contents; and the small components of all
//! sections.
//!
//! A page is self-contained: no font, no request, and one optional script (`script.js`). Its
//! content security policy enforces this in the browser. All text from outside (names, texts,
//! messages) passes through the templates, which escape it, and is put in `bdi`, so that
//! right-to-left text cannot reorder what is around it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// One section of a page.
pub(crate) struct Section {
    id: String,
    title: String,
    /// Its name in the contents, below the section that it is a part of; `None` for a top-level
    /// section.
    part: Option<String>,
    body: Markup,
}

impl Section {
    /// `id` is unique on the page.
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>, body: Markup) -> Section {
        Section { id: id.into(), title: title.into(), part: None, body }
    }

    /// Makes it a part of the last top-level section before it; `name` is its entry in the
    /// contents.
    #[must_use]
    pub(crate) fn part(self, name: impl Into<String>) -> Section {
        Section { part: Some(name.into()), ..self }
    }
}

/// The part of a page above the sections.
pub(crate) struct Header<'a> {
    pub(crate) title: &'a str,
    /// The question of the study; may be empty.
    pub(crate) question: &'a str,
    /// What was run, where and when.
    pub(crate) facts: Markup,
    pub(crate) version: &'a str,
}

/// The content security policy of a report: it forbids all loading and all scripts except the
/// page's own; styles and pictures are inline.
pub fn report_policy() -> String {
    format!(
        "default-src 'none'; script-src 'sha256-{HASH}'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// The whole document.
pub(crate) fn document(header: &Header<'_>, sections: &[Section]) -> String {
    let style = format!("{}\n{}", iolab_charts::STYLE, include_str!("style.css"));
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(report_policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "iolab " (header.version) };
                title { (header.title) }
                // The style sheet is this crate's own text, with nothing from outside.
                style { (PreEscaped(style)) }
            }
            body {
                a.skip href="#content" { "Skip to the content" }
                header {
                    h1 { bdi { (header.title) } }
                    @if !header.question.trim().is_empty() { p.question { bdi { (header.question.trim()) } } }
                    div.facts { (header.facts) }
                }
                nav aria-label="Contents" {
                    (contents(sections))
                }
                main #content tabindex="-1" {
                    @for section in sections {
                        section id=(section.id) aria-labelledby={ (section.id) "-title" } {
                            h2 id={ (section.id) "-title" } { bdi { (section.title) } }
                            (section.body)
                        }
                    }
                }
                footer {
                    p { "Made by iolab " (header.version) ". This file is self-contained and loads nothing. Its only \
                        script sorts tables, shows values "
                        "under the pointer and hides series; the page is complete without it." }
                }
                // The script is also this crate's own text.
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}

/// Links to all sections: in a row, or, if some are parts of others, a line for each top-level
/// section with its parts below.
fn contents(sections: &[Section]) -> Markup {
    let link = |section: &Section, name: &str| html! { a href={ "#" (section.id) } { bdi { (name) } } };
    let has_parts = sections.iter().any(|section| section.part.is_some());
    html! {
        ul class=[has_parts.then_some("wholes")] {
            @for group in sections.chunk_by(|_, next| next.part.is_some()) {
                @if let [whole, parts @ ..] = group {
                    li {
                        (link(whole, &whole.title))
                        @if !parts.is_empty() {
                            ul { @for part in parts { li { (link(part, part.part.as_deref().unwrap_or_default())) } } }
                        }
                    }
                }
            }
        }
    }
}

/// A text from outside, isolated from what is around it.
pub(crate) fn name(text: &str) -> Markup {
    html! { bdi { (text) } }
}

/// A number with its unit, always read from left to right.
pub(crate) fn number(text: &str) -> Markup {
    html! { bdi.n dir="ltr" { (text) } }
}

/// A table that scrolls when it is too wide, and that is reachable by keyboard.
pub(crate) fn table(caption: &Markup, label: &str, head: &[&str], rows: &[Vec<Cell>]) -> Markup {
    // Headings of numeric columns are aligned like their numbers.
    let counts =
        |place: usize| rows.first().and_then(|row| row.get(place)).is_some_and(|cell| matches!(cell, Cell::Number(_)));
    html! {
        div.scroll role="region" aria-label={ "Table: " (label) } tabindex="0" {
            table {
                caption { (caption) }
                thead { tr { @for (place, column) in head.iter().enumerate() { th class=[counts(place).then_some("n")] scope="col" { bdi { (column) } } } } }
                tbody { @for row in rows { tr { @for cell in row { (cell.markup()) } } } }
            }
        }
    }
}

/// One cell of a table.
pub(crate) enum Cell {
    /// The name of the row.
    Head(String),
    /// A text from outside.
    Text(String),
    /// A number.
    Number(String),
    /// Anything else.
    Rich(Markup),
}

impl Cell {
    fn markup(&self) -> Markup {
        html! {
            @match self {
                Cell::Head(text) => th scope="row" { bdi { (text) } },
                Cell::Text(text) => td { bdi { (text) } },
                Cell::Number(text) => td.n dir="ltr" { (text) },
                Cell::Rich(markup) => td { (markup) },
            }
        }
    }
}

/// Long content, folded behind its heading.
pub(crate) fn details(summary: &str, body: &Markup) -> Markup {
    html! { details { summary { (summary) } (body) } }
}

/// `1 trial`, `2 trials`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The exact text between the tags.
const SCRIPT: &str = include_str!("script.js");

/// SHA-256 of [`SCRIPT`] for the content security policy (base64). A test recomputes it.
const HASH: &str = "chtYs+hOJP1awgxiw+fg2rc5qpfIztsb/QahoNmcm+0=";

#[cfg(test)]
mod tests {
    use sha2::{Digest, Sha256};

    use super::*;

    fn base64(bytes: &[u8]) -> String {
        const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let group = |bytes: &[u8]| {
            let bits = bytes.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - bytes.len()));
            let letter = |place: usize| match place <= bytes.len() {
                true => char::from(LETTERS[(bits >> (18 - 6 * place)) as usize & 63]),
                false => '=',
            };
            (0..4).map(letter).collect::<String>()
        };
        bytes.chunks(3).map(group).collect()
    }

    #[test]
    fn the_policy_lets_this_script_run() {
        assert_eq!([base64(b"M"), base64(b"Ma"), base64(b"Man")], ["TQ==", "TWE=", "TWFu"]);
        assert_eq!(HASH, base64(&Sha256::digest(SCRIPT)), "script.js has changed: this is its hash now");
        assert!(!SCRIPT.contains("</"), "it would end too early");
    }
}
