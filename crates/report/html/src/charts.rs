//! The figures of a page, and how they are embedded in it.
//!
//! | file | content |
//! | --- | --- |
//! | `choice` | the table of rules: which figures a study gets |
//! | `axes` | what an axis varies, and how configurations form lines along it |
//! | `values` | estimates of any figure of any configuration, reads and writes separately |
//! | `sweeps`, `distributions`, `rounds`, `blocks`, `forests` | figures of studies |
//! | `over_time`, `devices` | figures of one recording |

mod axes;
mod blocks;
mod choice;
mod devices;
mod distributions;
mod forests;
mod over_time;
mod rounds;
mod shape;
mod sweeps;
mod values;

pub(crate) use choice::study_charts;
pub(crate) use devices::device_galleries;
pub(crate) use distributions::{deciles_of, spectrum_of};
pub(crate) use forests::{forest, forest_of_rows};
pub(crate) use over_time::{over_time_charts, run_charts};
pub(crate) use rounds::{round_figures, window as judged_window};
pub(crate) use values::Material;

use iolab_charts::{Datum, DrawnChart};
use iolab_study::Figure as StudyFigure;
use maud::{Markup, PreEscaped, html};

use crate::frame::{Cell, counted, details, table};

/// The figures of one study or run, in groups with headings.
#[derive(Debug, Default)]
pub(crate) struct Gallery {
    prefix: String,
    groups: Vec<Group>,
    /// For each picture, the figure of the study that it shows, its id and the title of its group.
    about: Vec<(StudyFigure, String, String)>,
}

#[derive(Debug)]
struct Group {
    title: String,
    /// How to read what follows; may be empty.
    note: String,
    figures: Vec<DrawnChart>,
}

impl Gallery {
    /// `prefix` makes ids unique on a page with several studies.
    pub(crate) fn new(prefix: &str) -> Gallery {
        Gallery { prefix: prefix.to_owned(), ..Gallery::default() }
    }

    /// Begins a group; a group that stays empty is not shown. Without a title it has no heading.
    pub(crate) fn group(&mut self, title: &str, note: &str) {
        self.groups.push(Group { title: title.to_owned(), note: note.to_owned(), figures: Vec::new() });
    }

    /// A unique id. It does not change when other kinds of figures are added or removed.
    pub(crate) fn id(&self, kind: &str) -> String {
        let id = format!("{}{}", self.prefix, xml_name(kind));
        let is_taken = |id: &str| self.groups.iter().flat_map(|group| &group.figures).any(|figure| figure.id == id);
        match is_taken(&id) {
            false => id,
            true => (2..).map(|number| format!("{id}-{number}")).find(|id| !is_taken(id)).unwrap_or(id),
        }
    }

    /// Adds a figure, unless nothing could be drawn in it.
    pub(crate) fn add(&mut self, figure: DrawnChart) {
        self.add_of(None, figure);
    }

    /// Adds a figure of the study, to which its conclusion will link.
    pub(crate) fn add_of(&mut self, about: Option<&StudyFigure>, figure: DrawnChart) {
        if let Some(group) = self.groups.last_mut().filter(|_| !figure.is_empty) {
            self.about.extend(about.map(|about| (about.clone(), figure.id.clone(), group.title.clone())));
            group.figures.push(figure);
        }
    }

    /// The pictures of a figure of the study: the first of each group with its id, and the group's
    /// title.
    pub(crate) fn of(&self, about: &StudyFigure) -> Vec<(String, String)> {
        let mut found: Vec<(String, String)> = Vec::new();
        for (_, id, title) in self.about.iter().filter(|(one, ..)| one.measure == about.measure) {
            if found.iter().all(|(_, known)| known != title) {
                found.push((format!("figure-{id}"), title.clone()));
            }
        }
        found
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.figures.is_empty())
    }

    /// All figures, in order.
    pub(crate) fn into_figures(self) -> Vec<DrawnChart> {
        self.groups.into_iter().flat_map(|group| group.figures).collect()
    }

    /// The HTML of all groups.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            @for group in self.groups.iter().filter(|group| !group.figures.is_empty()) {
                @if !group.title.is_empty() { h3 { bdi { (group.title) } } }
                @if !group.note.is_empty() { p { (group.note) } }
                @let shown = group.figures.len().min(MOST_AT_ONCE);
                div.figures { @for figure in &group.figures[..shown] { (placed(figure)) } }
                @if group.figures.len() > shown {
                    (details(&counted(group.figures.len() - shown, "more figure of this kind", "more figures of this kind"), &html! {
                        div.figures { @for figure in &group.figures[shown..] { (placed(figure)) } }
                    }))
                }
            }
        }
    }
}

/// With more figures of a kind, the rest are folded.
const MOST_AT_ONCE: usize = 6;

/// A name for ids and file names.
fn xml_name(text: &str) -> String {
    text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

/// A figure with its caption, and a table of its numbers.
pub(crate) fn placed(figure: &DrawnChart) -> Markup {
    let (numbers, step) = figure.table.thinned(MOST_ROWS);
    let head: Vec<&str> = numbers.columns.iter().map(String::as_str).collect();
    let cell = |(place, datum): (usize, &Datum)| match datum {
        other if place == 0 => Cell::Head(other.shown()),
        Datum::Text(text) => Cell::Text(text.clone()),
        other => Cell::Number(other.shown()),
    };
    let rows: Vec<Vec<Cell>> = numbers.rows.iter().map(|row| row.iter().enumerate().map(cell).collect()).collect();
    let caption = html! { bdi { (figure.title) } @if step > 1 { " (one row of " (step) "; the file has more)" } };
    let label = format!("Numbers of: {}", figure.title);
    html! {
        figure id={ "figure-" (figure.id) } {
            (picture(figure))
            figcaption {
                (seen(figure))
                (details("The numbers of this figure", &table(&caption, &label, &head, &rows)))
                (download(figure))
            }
        }
    }
}

/// Most rows of a table on a page.
const MOST_ROWS: usize = 400;
/// Most bytes of numbers that a page embeds as a file. Larger tables are reduced to every n-th row.
const MOST_BYTES: usize = 64 << 10;

/// The picture comes from the `charts` crate, which escapes text from outside and adds a
/// description for screen readers. In a window narrower than the picture, it scrolls.
fn picture(figure: &DrawnChart) -> Markup {
    html! {
        div.drawn {
            p.hint aria-hidden="true" { "Scroll sideways to see all of it \u{2192}" }
            // What scrolls can be reached by keyboard.
            div.picture role="group" aria-label={ "Picture: " (figure.title) } tabindex="0" { (PreEscaped(&figure.svg)) }
        }
    }
}

fn seen(figure: &DrawnChart) -> Markup {
    html! { p.seen { bdi { @if figure.caption.is_empty() { (figure.title) "." } @else { (figure.caption) } } } }
}

/// The numbers as a file embedded in the page.
fn download(figure: &DrawnChart) -> Markup {
    let all = figure.table.csv();
    let most = figure.table.rows.len() * MOST_BYTES / all.len().max(1);
    let (csv, is_all) =
        if all.len() <= MOST_BYTES { (all, true) } else { (figure.table.thinned(most.max(1)).0.csv(), false) };
    html! {
        p.take {
            a download={ (figure.id) ".csv" } href={ "data:text/csv;charset=utf-8," (percent_encoded(&csv)) } {
                "Save the numbers" @if !is_all { ", thinned," } " as CSV"
            }
        }
    }
}

/// Bytes encoded for a URL (RFC 3986, section 2.1).
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() + text.len() / 4);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b',' => encoded.push(byte.into()),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// A figure above a table that the caller made.
pub(crate) fn with_table(figure: &DrawnChart, numbers: &Markup) -> Markup {
    html! {
        figure id={ "figure-" (figure.id) } {
            (picture(figure))
            div.numbers { (numbers) }
            figcaption { (seen(figure)) (download(figure)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_hold_any_text() {
        assert_eq!(percent_encoded("a_b,1\r\n\"é\""), "a_b,1%0D%0A%22%C3%A9%22");
    }
}
