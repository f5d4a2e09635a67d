//! Presets and parameters as text: for help, and for the reference page that the program generates.
//!
//! Guarantees: everything comes from the tables, so text and behaviour cannot differ. Deliberately
//! not here: printing.

use std::fmt::Write as _;

use crate::parameters::{ModelKind, Parameters, TABLE};
use crate::presets::{PRESETS, Preset};

const INTRODUCTION: &str = "# SSD timing: presets and parameters

Generated from the tables of `crates/nvme/ssd_timing`; do not edit.

A preset is a set of parameters of a model: `ideal` (no time), `simple` (units with a delay and a time), `nand` (dies,
channels, link, write buffer, page mapping, collection) or `zoned`. Any parameter can be changed by `name=value`.

Figures of a sheet are kept beside a preset to be compared with what the model does. A sheet's random writes are those
of a drive that is not full and has not been overwritten for long: a fresh model writes above the figure, a steady one
far below, as drives do. What is called assumed was published by nobody.

The models of flash keep 8 bytes for each 4 KiB that was ever written: 2 GiB for a tebibyte that is full, next to nothing
for one that is fresh.
";

/// The page `docs/reference/ssd-presets.md`.
pub fn reference_page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page += "\n## Presets\n\n| preset | what it is | parameters from |\n| --- | --- | --- |\n";
    for preset in PRESETS {
        let _ = writeln!(page, "| `{}` | {} | {} |", preset.name, preset.summary, preset.source);
    }
    page += "\n## Sheets\n\n| preset | read, MB/s | write, MB/s | random read, IOPS | random write, IOPS | from |\n\
             | --- | --- | --- | --- | --- | --- |\n";
    for preset in PRESETS {
        let Some(sheet) = preset.sheet else { continue };
        let (read, write) = (sheet.read_mb_per_second, sheet.write_mb_per_second);
        let (reads, writes, source) = (sheet.read_iops, sheet.write_iops, sheet.source);
        let _ = writeln!(page, "| `{}` | {read} | {write} | {reads} | {writes} | {source} |", preset.name);
    }
    page += "\n## Parameters\n\nDefaults are those of `970pro`. Sizes take binary prefixes (`32k`), times units (`30us`; \
             bare numbers are ns).\n\n| parameter | unit | default | models | meaning |\n| --- | --- | --- | --- | --- |\n";
    let defaults = Parameters::default();
    for entry in TABLE {
        let default = defaults.get(entry.name).unwrap_or_default();
        let (unit, models) = (entry.unit.label(), entry.models);
        let _ = writeln!(page, "| `{}` | {unit} | {default} | {models} | {} |", entry.name, entry.meaning);
    }
    for kind in [ModelKind::Nand, ModelKind::Zoned, ModelKind::Simple] {
        page += &values(kind);
    }
    page
}

/// The values of all presets of one model, one column for each.
fn values(kind: ModelKind) -> String {
    let presets: Vec<&Preset> = PRESETS.into_iter().filter(|preset| preset.parameters().model == kind).collect();
    let parameters: Vec<Parameters> = presets.iter().map(|preset| preset.parameters()).collect();
    let word = parameters.first().and_then(|one| one.get("model")).unwrap_or_default();
    let mut table = format!("\n## Values: {word}\n\n| parameter |");
    for preset in &presets {
        let _ = write!(table, " `{}` |", preset.name);
    }
    table += &format!("\n| --- |{}\n", " --- |".repeat(presets.len()));
    for entry in TABLE.iter().filter(|entry| entry.models.contains(&word)) {
        let _ = write!(table, "| `{}` |", entry.name);
        for one in &parameters {
            let _ = write!(table, " {} |", one.get(entry.name).unwrap_or_default());
        }
        table.push('\n');
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_on_the_page() {
        let page = reference_page();
        for preset in PRESETS {
            assert!(page.contains(&format!("\n| `{}` | {} |", preset.name, preset.summary)), "{}", preset.name);
        }
        for entry in TABLE {
            assert!(page.contains(&format!("\n| `{}` | {} |", entry.name, entry.unit.label())), "{}", entry.name);
        }
        assert!(page.contains("| `program` | 185us | 185us | 800us | 750us | 1ms |"), "{page}");
        assert!(!page.lines().any(|line| line.starts_with('|') && !line.ends_with('|')), "{page}");
    }
}
