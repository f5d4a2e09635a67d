//! Running and past runs.

use maud::{Markup, html};

use super::page::Site;
use crate::environment;
use crate::frame::{counted, name, number};
use crate::number::{bytes_per_second, rate, time};

/// A run that goes on.
#[derive(Debug, Clone)]
pub struct RunningRun {
    /// The name of its file, which its page has.
    pub name: String,
    /// The names of its jobs.
    pub title: String,
    /// When it began, ns since the Unix epoch; `None` if it has not begun.
    pub begun_unix_ns: Option<u64>,
}

/// An entry of the database.
#[derive(Debug, Clone)]
pub struct ListedEntry {
    /// Its number.
    pub id: i64,
    /// `run`, `study` or `fio`.
    pub kind: &'static str,
    /// The names of its jobs, or the title of the study.
    pub title: String,
    /// When it began, ns since the Unix epoch.
    pub started_unix_ns: Option<u64>,
    /// How long it took, ns.
    pub elapsed_ns: Option<u64>,
    /// The engine.
    pub engine: String,
    /// Operations a second.
    pub iops: Option<f64>,
    /// Bytes a second.
    pub bandwidth: Option<f64>,
    /// 99th percentile, ns.
    pub p99_ns: Option<f64>,
    /// How many findings it has.
    pub findings: usize,
    /// Its tags.
    pub tags: Vec<String>,
    /// The user's note.
    pub note: String,
}

/// The page.
#[derive(Debug)]
pub struct ListingPage<'a> {
    /// What all pages share.
    pub site: Site<'a>,
    /// Runs that go on.
    pub running: &'a [RunningRun],
    /// Past runs and studies, the latest first.
    pub entries: &'a [ListedEntry],
    /// What was searched for.
    pub search: &'a str,
    /// How many entries are shown at most.
    pub most: usize,
    /// The entry that is already chosen as the candidate of a comparison.
    pub candidate: Option<i64>,
    /// Why there are none, if the database cannot be read.
    pub trouble: Option<&'a str>,
}

impl ListingPage<'_> {
    /// The document.
    pub fn html(&self) -> String {
        let body = html! {
            section aria-labelledby="running" {
                h2 #running { "Running" }
                (self.running_list())
            }
            section aria-labelledby="past" {
                h2 #past { "Past runs" }
                (self.search())
                @if let Some(trouble) = self.trouble { p { strong.severity { (trouble) } } }
                @if self.entries.is_empty() { p.weak { @if self.search.is_empty() { "No run is kept yet." } @else { "Nothing is found." } } }
                @else { (self.past_list()) }
            }
        };
        self.site.document("Runs", &html! {}, &body, false)
    }

    fn running_list(&self) -> Markup {
        html! {
            @if self.running.is_empty() { p.weak { "No run is going on. A run that begins now is here when the page is loaded again." } }
            @else {
                ul.running {
                    @for run in self.running {
                        li {
                            a href={ "/live/" (segment(&run.name)) } { (name(&run.title)) }
                            @if let Some(begun) = run.begun_unix_ns { ", begun " (environment::date(begun)) }
                            @else { ", about to begin" }
                        }
                    }
                }
            }
        }
    }

    fn search(&self) -> Markup {
        html! {
            form.line method="get" action="/" role="search" {
                label for="search" { "Title, job, note, path, or tag:NAME" }
                input #search type="search" name="q" value=(self.search);
                button type="submit" { "Search" }
                @if !self.search.is_empty() { a href="/" { "Show all" } }
            }
        }
    }

    fn past_list(&self) -> Markup {
        html! {
            form method="get" action="/compare" {
                div.scroll role="region" aria-label="Table: past runs" tabindex="0" {
                    table {
                        caption { (counted(self.entries.len(), "entry", "entries"))
                            @if self.entries.len() >= self.most { ", the latest; search for older ones" } }
                        thead { tr {
                            th scope="col" { abbr title="baseline" { "A" } }
                            th scope="col" { abbr title="candidate" { "B" } }
                            th scope="col" { "what" } th.n scope="col" { "rate" } th.n scope="col" { "p99" }
                            th.n scope="col" { "bandwidth" } th scope="col" { "engine" } th.n scope="col" { "took" }
                            th.n scope="col" { "findings" } th scope="col" { "tags" } th scope="col" { "begun" }
                            th.n scope="col" { "number" }
                        } }
                        tbody { @for entry in self.entries { (row(entry, self.candidate)) } }
                    }
                }
                p.line { button type="submit" { "Compare B with A" } }
            }
        }
    }
}

fn row(entry: &ListedEntry, candidate: Option<i64>) -> Markup {
    let choice = |side: &str, what: &str| {
        let is_chosen = side == "b" && candidate == Some(entry.id);
        html! {
            td { input type="radio" name=(side) value=(entry.id) checked[is_chosen]
                aria-label={ "entry " (entry.id) " as the " (what) } required; }
        }
    };
    html! {
        tr {
            (choice("a", "baseline")) (choice("b", "candidate"))
            th scope="row" {
                a href={ "/entries/" (entry.id) } { (name(if entry.title.is_empty() { "without a name" } else { &entry.title })) }
                @if entry.kind != "run" { " (" (entry.kind) ")" }
                @if !entry.note.is_empty() { br; span.weak { (name(&entry.note)) } }
            }
            td.n { @if let Some(value) = entry.iops { (number(&rate(value))) } }
            td.n { @if let Some(value) = entry.p99_ns { (number(&time(value))) } }
            td.n { @if let Some(value) = entry.bandwidth { (number(&bytes_per_second(value))) } }
            td { (name(&entry.engine)) }
            td.n { @if let Some(ns) = entry.elapsed_ns { (number(&time(ns as f64))) } }
            td.n { (entry.findings) }
            td { @for tag in &entry.tags { a.tag href={ "/?q=tag:" (segment(tag)) } { (name(tag)) } " " } }
            td { @if let Some(at) = entry.started_unix_ns { (environment::date(at)) } }
            td.n { (entry.id) }
        }
    }
}

/// A text as one segment of a path, or a value of a query (RFC 3986, section 2.1).
pub(super) fn segment(text: &str) -> String {
    crate::charts::percent_encoded(text).replace(',', "%2C")
}
