//! `iolab report FILE`: a saved recording in any format.

use std::io::Write;

use anyhow::Context;
use iolab_report::TerseVersion;

use crate::arguments::ReportArguments;
use crate::exit::Failure;
use crate::output::{self, Format};
use crate::recordings;

pub(crate) fn main(arguments: &ReportArguments) -> Result<u8, Failure> {
    let version = TerseVersion::from_number(u64::from(arguments.terse_version))
        .ok_or_else(|| Failure::mistake("iolab: --terse-version is 2, 3, 4 or 5"))?;
    let formats = arguments.output_format.iter().map(|word| {
        let unknown = || Failure::mistake(format!("iolab: unknown format {word}: normal, terse, json or json+"));
        Format::parse(word, version).ok_or_else(unknown)
    });
    let formats = formats.collect::<Result<Vec<_>, _>>()?;
    let recording =
        recordings::load(&arguments.recording).map_err(|error| Failure::mistake(format!("iolab: {error:#}")))?;
    let text: String = formats.into_iter().map(|format| output::render(&recording, format, true)).collect();
    match &arguments.output {
        None => output::print(&text)?,
        Some(path) => std::fs::File::create(path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| format!("writing {path}"))?,
    }
    Ok(0)
}
