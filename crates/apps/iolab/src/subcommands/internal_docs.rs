//! Writes the reference pages that are generated from the tables: `docs/reference/`.

use std::path::Path;

use iolab_options::SupportStatus;
use iolab_outputs::{OutputKind, make_folder};
use iolab_resolve::{ABSENT_ENGINES, AbsentEngines};

use crate::exit::ExitFailure;
use crate::outputs;

pub(crate) fn main(folder: &Path) -> Result<u8, ExitFailure> {
    make_folder(folder)?;
    // The pages are in version control, so an existing page is replaced.
    let mut outputs = outputs::beside(true, []);
    let pages = [
        ("options.md", iolab_jobfile::help::reference_page()),
        ("fio.md", fio_page()),
        ("columns.md", iolab_report::columns::reference_page()),
        ("block-columns.md", iolab_iostat::reference_page()),
        ("engines.md", engines_page()),
        ("findings.md", iolab_findings::reference_page()),
        ("settings.md", iolab_configuration::reference_page()),
        ("schemas.md", iolab_schemas::reference_page()),
        ("ssd-presets.md", iolab_ssd_timing::help::reference_page()),
    ];
    for (name, text) in pages {
        outputs.place(&folder.join(name), OutputKind::Report, "a page")?.write(text.as_bytes())?;
    }
    Ok(0)
}

/// The page about fio's features: which of them work here.
fn fio_page() -> String {
    let mut page = String::from(
        "# What of fio works\n\nGenerated from the tables of options; do not edit. Differences in what is measured are in \
         [beside fio](../beside-fio.md).\n\nNothing is left out in silence: an option that would change what is written, verified, \
         measured or timed works, or the job is refused with the reason. What is *accepted, nothing to do* changes none of these.\n\n\
         ## The command line\n\n| word | | why |\n| --- | --- | --- |\n",
    );
    page += &crate::run_options::compatibility_rows();
    page += "\n## Job options\n\n";
    page += &iolab_jobfile::help::compatibility_table();
    page += "\n## Engines\n\n| engine | |\n| --- | --- |\n";
    for engine in iolab_engine_catalogue::descriptions() {
        page += &format!("| `{}` | {} |\n", engine.name, engine.summary);
    }
    for AbsentEngines { names, why } in ABSENT_ENGINES {
        page += &format!("| `{}` | absent: {why} |\n", names.join("`, `"));
    }
    page
}

fn engines_page() -> String {
    let mut page = String::from("# I/O engines\n\nGenerated from the engines' own descriptions; do not edit.\n");
    for engine in iolab_engine_catalogue::descriptions() {
        page += &format!("\n## {}\n\n{}.\n\n{}\n", engine.name, engine.summary, engine.details);
        if !engine.options.is_empty() {
            page += "\n| option | default | meaning |\n| --- | --- | --- |\n";
        }
        for option in engine.options {
            let state = match option.status {
                SupportStatus::Supported => String::new(),
                SupportStatus::NoEffect(reason) => format!(" (nothing to do: {reason})"),
                SupportStatus::Refused(reason) => format!(" (refused: {reason})"),
            };
            page += &format!("| `{}` | {} | {}{state} |\n", option.name, option.default, option.summary);
        }
    }
    page
}
