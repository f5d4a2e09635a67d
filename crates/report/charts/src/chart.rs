//! One file for each kind of chart.

pub(crate) mod block_sizes;
pub(crate) mod deciles;
pub(crate) mod forest;
pub(crate) mod groups;
pub(crate) mod heat_map;
pub(crate) mod latency_load;
pub(crate) mod matrix;
pub(crate) mod offset_map;
pub(crate) mod spectrum;
pub(crate) mod stacked;
pub(crate) mod steady_rounds;
pub(crate) mod sweep;
pub(crate) mod timeline;

/// Most series drawn; the table has all of them.
const MOST_SERIES: usize = 12;

/// The text of an empty chart.
const NO_DATA: &str = "no data: too few samples";

/// Notes how many series were left out.
fn note_left_out(sheet: &mut crate::sheet::Sheet<'_>, count: usize, most: usize) {
    if count > most {
        sheet.note(format!("The first {most} of {count} are drawn; the table has all."));
        sheet.line_of_words(&format!("first {most} of {count} shown; the table has all"));
    }
}

/// `1 level`, `2 levels`.
fn counted(count: usize, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

/// Smallest and largest value as text: `from 1 to 2`.
fn ranging(values: impl Iterator<Item = f64>, unit: crate::AxisUnit) -> String {
    let sound: Vec<f64> = values.filter_map(crate::data::sound).collect();
    let (low, high) =
        sound.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), one| (low.min(*one), high.max(*one)));
    match (sound.len(), low == high) {
        (0, _) => "without a value".to_owned(),
        (_, true) => unit.format(low),
        _ => format!("from {} to {}", unit.format(low), unit.format(high)),
    }
}
