//! The frame of the pages of a server.

use maud::{DOCTYPE, Markup, html};

/// What all pages of a server share.
#[derive(Debug, Clone, Copy)]
pub struct Site<'a> {
    /// The version of the program.
    pub version: &'a str,
    /// What forms that change something contain; `None` for readers who may change nothing.
    pub token: Option<&'a str>,
    /// Whether jobs can be started here.
    pub starts_jobs: bool,
}

impl Site<'_> {
    /// The hidden field of a form that changes something.
    pub(crate) fn token_field(&self) -> Markup {
        html! { @if let Some(token) = self.token { input type="hidden" name="token" value=(token); } }
    }

    /// The whole document. `script` is for live pages.
    pub(crate) fn document(&self, title: &str, facts: &Markup, body: &Markup, script: bool) -> String {
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (title) " \u{2013} iolab" }
                    link rel="stylesheet" href="/style.css";
                    link rel="icon" href="data:,";
                    @if script { script src="/live.js" defer {} }
                }
                body.web {
                    a.skip href="#content" { "Skip to the content" }
                    header {
                        nav aria-label="Pages" {
                            ul {
                                li { a href="/" { "Runs" } }
                                @if self.starts_jobs && self.token.is_some() { li { a href="/new" { "New job" } } }
                                li { a href="/metrics" { "Metrics" } }
                            }
                        }
                        h1 { bdi { (title) } }
                        div.facts { (facts) }
                    }
                    main #content tabindex="-1" { (body) }
                    footer {
                        p { "iolab " (self.version) "." @if self.token.is_none() {
                            " You are reading only: to change something, open the address with the token that iolab printed." } }
                    }
                }
            }
        };
        markup.into_string()
    }
}

/// A page that says one thing: what went wrong, and what to do.
pub fn message_page(site: &Site<'_>, title: &str, text: &str) -> String {
    let body = html! { pre { (text) } p { a href="/" { "All runs" } } };
    site.document(title, &html! {}, &body, false)
}
