//! The figures of a page: which there are, and how they stand in it.
//!
//! | file | what |
//! | --- | --- |
//! | `choice` | the table of rules: which figures a study gets |
//! | `axes` | what an axis varies, and how configurations fall into lines along it |
//! | `values` | estimates of any figure of any configuration, reads and writes apart |
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
mod sweeps;
mod values;

pub(crate) use choice::study_charts;
pub(crate) use devices::device_galleries;
pub(crate) use forests::{forest, forest_of_rows};
pub(crate) use over_time::run_charts;
pub(crate) use rounds::{round_figures, window as judged_window};
pub(crate) use values::Material;

use iolab_charts::Figure;
use maud::{Markup, PreEscaped, html};

use crate::frame::{Cell, counted, details, table};

/// The figures of one study or run, in groups with headings.
#[derive(Debug, Default)]
pub(crate) struct Gallery {
    prefix: String,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    title: String,
    /// How to read what follows; may be empty.
    note: String,
    figures: Vec<Figure>,
}

impl Gallery {
    /// `prefix` makes ids unique on a page with several studies.
    pub(crate) fn new(prefix: &str) -> Gallery {
        Gallery { prefix: prefix.to_owned(), groups: Vec::new() }
    }

    /// Begins a group; one that stays empty is not shown. Without a title it has no heading of its
    /// own.
    pub(crate) fn group(&mut self, title: &str, note: &str) {
        self.groups.push(Group { title: title.to_owned(), note: note.to_owned(), figures: Vec::new() });
    }

    /// An id that no other figure has. It does not change when other kinds of figures come or go.
    pub(crate) fn id(&self, kind: &str) -> String {
        let id = format!("{}{}", self.prefix, xml_name(kind));
        let is_taken = |id: &str| self.groups.iter().flat_map(|group| &group.figures).any(|figure| figure.id == id);
        match is_taken(&id) {
            false => id,
            true => (2..).map(|number| format!("{id}-{number}")).find(|id| !is_taken(id)).unwrap_or(id),
        }
    }

    pub(crate) fn add(&mut self, figure: Figure) {
        if let Some(group) = self.groups.last_mut() {
            group.figures.push(figure);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.figures.is_empty())
    }

    /// All figures, in order.
    pub(crate) fn into_figures(self) -> Vec<Figure> {
        self.groups.into_iter().flat_map(|group| group.figures).collect()
    }

    /// All groups.
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

/// More figures of a kind than these are folded away.
const MOST_AT_ONCE: usize = 6;

/// A name that can stand in ids and file names.
fn xml_name(text: &str) -> String {
    text.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect()
}

/// A figure with its caption and the numbers in it.
pub(crate) fn placed(figure: &Figure) -> Markup {
    let head: Vec<&str> = figure.table.columns.iter().map(String::as_str).collect();
    let row = |cells: &Vec<String>| {
        let cells = cells.iter().enumerate();
        cells
            .map(|(place, cell)| if place == 0 { Cell::Head(cell.clone()) } else { Cell::text_or_number(cell) })
            .collect()
    };
    let rows: Vec<Vec<Cell>> = figure.table.rows.iter().map(row).collect();
    let caption = html! { bdi { (figure.title) } };
    let label = format!("Numbers of: {}", figure.title);
    let below = html! {
        // The picture has its title in it, and says this itself to those who hear it.
        figcaption aria-hidden="true" { bdi { (figure.description) } }
        (details("The numbers of this figure", &table(&caption, &label, &head, &rows)))
    };
    with_table(figure, &below)
}

/// A figure above a table that somebody else made, which says all that a caption could.
pub(crate) fn with_table(figure: &Figure, numbers: &Markup) -> Markup {
    html! {
        figure id={ "figure-" (figure.id) } {
            // Drawn by the figures crate, which escapes what comes from outside. It holds a
            // description for those who hear it.
            (PreEscaped(&figure.svg))
            (numbers)
        }
    }
}

/// The numbers of a figure as comma-separated values (RFC 4180).
pub fn csv(table: &iolab_charts::Table) -> String {
    let field = |text: &String| match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.clone(),
    };
    let line = |cells: &Vec<String>| cells.iter().map(field).collect::<Vec<_>>().join(",") + "\r\n";
    std::iter::once(&table.columns).chain(&table.rows).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_and_quotes_are_quoted() {
        let columns = ["a", "b, c"].map(str::to_owned).to_vec();
        let table = iolab_charts::Table { columns, rows: vec![vec!["say \"x\"".to_owned(), "1".to_owned()]] };
        assert_eq!(csv(&table), "a,\"b, c\"\r\n\"say \"\"x\"\"\",1\r\n");
    }
}
