//! Compares figures of the gallery with golden files in `tests/golden`: pictures with one element
//! on a line, tables as text.
//!
//! After an intended change, run with `IOLAB_BLESS=1` to rewrite them, and look at the gallery.

#[path = "../examples/gallery/load.rs"]
mod load;
#[path = "../examples/gallery/settings.rs"]
mod settings;
#[path = "../examples/gallery/time.rs"]
mod time;
#[path = "../examples/gallery/words.rs"]
mod words;

use std::collections::HashSet;

use iolab_charts::DrawnChart;
use iolab_testkit::golden::check_golden;

fn gallery() -> Vec<DrawnChart> {
    [load::figures(), time::figures(), settings::figures(), words::figures()].concat()
}

fn check(name: &str, actual: &str) {
    check_golden(env!("CARGO_MANIFEST_DIR"), name, actual);
}

#[test]
fn pictures() {
    const KEPT: [&str; 7] = ["forest", "steady-rounds", "jobs", "merges", "single", "nothing", "matrix"];
    let figures = gallery();
    for id in KEPT {
        let figure = figures.iter().find(|figure| figure.id == id).expect("the gallery has it");
        check(&format!("{id}.svg"), &(figure.svg.replace("><", ">\n<") + "\n"));
    }
}

#[test]
fn tables_and_descriptions() {
    let mut text = String::new();
    for figure in gallery() {
        let columns = figure.table.columns.join(" | ");
        text.push_str(&format!("{}: {}\nto see: {}\n{columns}\n", figure.id, figure.description, figure.caption));
        for row in figure.table.rows.iter().take(4) {
            let cells: Vec<String> = row.iter().map(iolab_charts::Datum::shown).collect();
            text.push_str(&format!("{}\n", cells.join(" | ")));
        }
        text.push('\n');
    }
    check("tables.txt", &text);
}

#[test]
fn twice_the_same_and_not_large() {
    let (once, again) = (gallery(), gallery());
    assert_eq!(once, again);
    for figure in &once {
        assert!(figure.svg.len() < 40_000, "{}: {} bytes", figure.id, figure.svg.len());
    }
    let ids: HashSet<&str> = once.iter().map(|figure| figure.id.as_str()).collect();
    assert_eq!(ids.len(), once.len());
}
