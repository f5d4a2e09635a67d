//! Writes the reference pages that are generated from the tables: `docs/reference/`.

use std::path::Path;

use iolab_outputs::{OutputKind, make_folder};

use crate::exit::ExitFailure;
use crate::{engine_registry, outputs};

pub(crate) fn main(folder: &Path) -> Result<u8, ExitFailure> {
    make_folder(folder)?;
    // The pages are in version control, so an existing page is replaced.
    let mut outputs = outputs::beside(true, []);
    let pages = [
        ("options.md", iolab_jobfile::help::reference_page()),
        ("columns.md", iolab_report::columns::reference_page()),
        ("block-columns.md", iolab_iostat::reference_page()),
        ("engines.md", engines_page()),
        ("findings.md", iolab_findings::reference_page()),
        ("ssd-presets.md", iolab_ssd_timing::help::reference_page()),
    ];
    for (name, text) in pages {
        outputs.place(&folder.join(name), OutputKind::Report, "a page")?.write(text.as_bytes())?;
    }
    Ok(0)
}

fn engines_page() -> String {
    let mut page = String::from("# I/O engines\n\nGenerated from the engines' own descriptions; do not edit.\n");
    for engine in engine_registry::descriptions() {
        page += &format!("\n## {}\n\n{}.\n\n{}\n", engine.name, engine.summary, engine.details);
        if !engine.options.is_empty() {
            page += "\n| option | default | meaning |\n| --- | --- | --- |\n";
        }
        for option in engine.options {
            page += &format!("| `{}` | {} | {} |\n", option.name, option.default, option.summary);
        }
    }
    page
}
