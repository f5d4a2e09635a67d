//! One entry of the database.

use iolab_study::Figure;
use maud::html;

use super::page::Site;
use crate::environment;
use crate::frame::{Cell, details, name, table};
use crate::number::shown;

/// A figure of an entry.
#[derive(Debug, Clone)]
pub struct EntryRow {
    /// The job; empty for all together.
    pub job: String,
    /// The figure.
    pub figure: String,
    /// Its unit; empty for a count.
    pub unit: String,
    /// Its value.
    pub value: f64,
}

fn value(row: &EntryRow) -> String {
    match Figure::from_name(&row.figure) {
        Ok(figure) => shown(&figure, row.value),
        Err(_) => format!("{} {}", row.value, row.unit).trim_end().to_owned(),
    }
}

/// The page.
#[derive(Debug)]
pub struct EntryPage<'a> {
    /// What all pages share.
    pub site: Site<'a>,
    /// Its number.
    pub id: i64,
    /// Its title.
    pub title: &'a str,
    /// `run`, `study` or `fio`.
    pub kind: &'a str,
    /// Where its file is.
    pub path: &'a str,
    /// When it began, ns since the Unix epoch.
    pub started_unix_ns: Option<u64>,
    /// Host, kernel, program: what is known of where it ran.
    pub facts: &'a [(&'static str, String)],
    /// Whether a report can be made: its file is there, and is of iolab.
    pub has_report: bool,
    /// Its figures.
    pub figures: &'a [EntryRow],
    /// Rule and consequence of each finding.
    pub findings: &'a [(String, String)],
    /// Its tags.
    pub tags: &'a [String],
    /// The user's note.
    pub note: &'a str,
    /// The job files and the command line.
    pub job_text: &'a str,
    /// The trials of a study: number and title.
    pub trials: &'a [(i64, String)],
}

impl EntryPage<'_> {
    /// The document.
    pub fn html(&self) -> String {
        let title = if self.title.is_empty() { format!("Entry {}", self.id) } else { self.title.to_owned() };
        let facts = html! {
            p { "Entry " (self.id) ", a " (match self.kind { "fio" => "report of fio", kind => kind })
                @if let Some(at) = self.started_unix_ns { ", begun " (environment::date(at)) } "." }
            p { (name(self.path)) }
        };
        let rows: Vec<Vec<Cell>> = self
            .figures
            .iter()
            .map(|row| {
                let job = if row.job.is_empty() { "all jobs" } else { &row.job };
                vec![Cell::Head(job.to_owned()), Cell::Text(row.figure.clone()), Cell::Number(value(row))]
            })
            .collect();
        let body = html! {
            p.line {
                @if self.has_report { a.button href={ "/entries/" (self.id) "/report" } { "Open the report" } }
                @else { span.weak { "There is no report: the file is gone, or is not a recording of iolab." } }
                a href={ "/?b=" (self.id) "#past" } { "Compare with another\u{2026}" }
            }
            section aria-labelledby="figures" {
                h2 #figures { "Figures" }
                @if rows.is_empty() { p.weak { "None are kept." } }
                @else { (table(&html! { "Figures of this entry" }, "Figures of this entry", &["job", "figure", "value"], &rows)) }
            }
            @if !self.findings.is_empty() {
                section aria-labelledby="findings" {
                    h2 #findings { "Findings" }
                    ul.findings { @for (rule, consequence) in self.findings { li { p { strong { (name(rule)) } ": " (name(consequence)) } } } }
                }
            }
            @if !self.trials.is_empty() {
                section aria-labelledby="trials" {
                    h2 #trials { "Trials" }
                    ul { @for (id, title) in self.trials { li { a href={ "/entries/" (id) } { (name(title)) } } } }
                }
            }
            section aria-labelledby="words" {
                h2 #words { "Tags and note" }
                (self.words())
            }
            @if !self.facts.is_empty() {
                section aria-labelledby="where" {
                    h2 #where { "Where" }
                    dl.facts { @for (what, text) in self.facts { div { dt { (what) } dd { (name(text)) } } } }
                }
            }
            @if !self.job_text.is_empty() { (details("The job", &environment::code(self.job_text))) }
        };
        self.site.document(&title, &facts, &body, false)
    }

    fn words(&self) -> maud::Markup {
        let site = &self.site;
        html! {
            @if self.tags.is_empty() { p.weak { "No tags." } }
            @else { p { @for tag in self.tags { span.tag { (name(tag)) } " " } } }
            @if site.token.is_none() {
                @if !self.note.is_empty() { p { (name(self.note)) } }
            } @else {
                form.line method="post" action={ "/entries/" (self.id) "/tags" } {
                    (site.token_field())
                    label for="tags" { "Tags, with spaces between" }
                    input #tags name="tags" value=(self.tags.join(" "));
                    button type="submit" { "Set the tags" }
                }
                form.line method="post" action={ "/entries/" (self.id) "/note" } {
                    (site.token_field())
                    label for="note" { "Note" }
                    textarea #note name="note" rows="3" cols="60" { (self.note) }
                    button type="submit" { "Set the note" }
                }
            }
        }
    }
}
