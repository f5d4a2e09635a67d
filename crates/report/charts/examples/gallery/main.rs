//! Writes a page with every kind of chart, and each figure as a file, into the directory given as
//! its argument.
//!
//! The data are made up by formulas that resemble storage; nothing here was measured.

mod load;
mod settings;
mod time;
mod words;

use std::fs;
use std::path::Path;

use iolab_charts::{DrawnChart, STYLE};

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    let figures: Vec<DrawnChart> = [load::figures(), time::figures(), settings::figures(), words::figures()].concat();
    for figure in &figures {
        fs::write(folder.join(format!("{}.svg", figure.id)), figure.standalone())?;
    }
    fs::write(folder.join("gallery.html"), page(&figures))
}

fn page(figures: &[DrawnChart]) -> String {
    let mut page = format!(
        "<!DOCTYPE html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Figures</title>\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}{PAGE}</style></head><body><h1>Figures</h1>"
    );
    for figure in figures {
        page.push_str(&format!(
            "<figure>{}<figcaption>{}</figcaption></figure>",
            figure.svg,
            escaped(if figure.caption.is_empty() { &figure.description } else { &figure.caption })
        ));
        page.push_str("<details><summary>numbers</summary><table><tr>");
        figure.table.columns.iter().for_each(|cell| page.push_str(&format!("<th>{}</th>", escaped(cell))));
        for row in figure.table.rows.iter().take(40) {
            page.push_str("</tr><tr>");
            row.iter().for_each(|cell| page.push_str(&format!("<td>{}</td>", escaped(&cell.shown()))));
        }
        page.push_str("</tr></table></details>");
    }
    page + "</body></html>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const PAGE: &str = "body{margin:0 auto;max-width:760px;padding:12px;font:15px system-ui,sans-serif;color:var(--fig-ink);background:var(--fig-ground)}\
figure{margin:0 0 8px}figcaption{color:var(--fig-soft);font-size:13px}details{margin-bottom:28px;font-size:13px;overflow-x:auto}\
@media print{details{display:none}}";
