//! The frame of every page: head, style, landmarks, contents; and the small parts that all sections
//! are made of.
//!
//! A page needs nothing but itself: no font, no request, and one script that it can do without
//! (`script.js`). Its content security policy says so, and a browser holds it to that. Whatever
//! comes from outside (names, texts, messages) enters through the templates, which escape it, and
//! stands in `bdi`, so that right-to-left text cannot reorder what is around it.

use maud::{DOCTYPE, Markup, PreEscaped, html};

/// One section of a page.
pub(crate) struct Section {
    id: String,
    title: String,
    /// What it is called in the contents, below the section that it is a part of; `None` for one
    /// that stands by itself.
    part: Option<String>,
    body: Markup,
}

impl Section {
    /// `id` is unique on the page.
    pub(crate) fn new(id: impl Into<String>, title: impl Into<String>, body: Markup) -> Section {
        Section { id: id.into(), title: title.into(), part: None, body }
    }

    /// As a part of the last section before it that stands by itself; `name` is what the contents
    /// call it.
    #[must_use]
    pub(crate) fn part(self, name: impl Into<String>) -> Section {
        Section { part: Some(name.into()), ..self }
    }
}

/// What stands above the sections.
pub(crate) struct Header<'a> {
    pub(crate) title: &'a str,
    /// What the study asks; may be empty.
    pub(crate) question: &'a str,
    /// What was run, where and when.
    pub(crate) facts: Markup,
    pub(crate) version: &'a str,
}

/// Nothing may be loaded, and no script may run but the page's own; styles and pictures stand in
/// the page itself.
fn policy() -> String {
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
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="generator" content={ "iolab " (header.version) };
                title { (header.title) }
                // The style sheet is this crate's own text: nothing from outside is in it.
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
                // The script is this crate's own text, too.
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    markup.into_string()
}

/// Links to all sections: in a row, or where some are parts of others, a line for each whole with
/// its parts below.
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

/// A text from outside, kept apart from what is around it.
pub(crate) fn name(text: &str) -> Markup {
    html! { bdi { (text) } }
}

/// A number with its unit, which is read from left to right wherever it stands.
pub(crate) fn number(text: &str) -> Markup {
    html! { bdi.n dir="ltr" { (text) } }
}

/// A table that scrolls by itself where it is too wide, and that keyboards can reach.
pub(crate) fn table(caption: &Markup, label: &str, head: &[&str], rows: &[Vec<Cell>]) -> Markup {
    // A heading stands above its numbers.
    let counts =
        |place: usize| rows.first().and_then(|row| row.get(place)).is_some_and(|cell| matches!(cell, Cell::Number(_)));
    html! {
        div.scroll role="region" aria-label=(label) tabindex="0" {
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
    /// What the row is about.
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

/// Something long, behind its heading.
pub(crate) fn details(summary: &str, body: &Markup) -> Markup {
    html! { details { summary { (summary) } (body) } }
}

/// `1 trial`, `2 trials`.
pub(crate) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// The text between the tags, byte by byte.
const SCRIPT: &str = include_str!("script.js");

/// SHA-256 of [`SCRIPT`] as policies have it (base64). A test computes it again.
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
