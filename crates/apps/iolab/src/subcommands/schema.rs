//! `iolab schema`: the JSON Schemas of what iolab writes for other programs.

use iolab_schemas::{DOCUMENTS, document};

use crate::exit::ExitFailure;
use crate::output;

/// Which schema.
#[derive(Debug, clap::Args)]
pub(crate) struct SchemaArguments {
    /// What the schema describes; without it, all are listed
    pub(crate) name: Option<String>,
    /// Refuse fields that this version does not know
    #[arg(long, requires = "name")]
    pub(crate) closed: bool,
}

pub(crate) fn main(arguments: &SchemaArguments) -> Result<u8, ExitFailure> {
    let Some(name) = &arguments.name else {
        let width = DOCUMENTS.iter().map(|document| document.name.len()).max().unwrap_or(0);
        let line =
            |one: &iolab_schemas::Document| format!("{:width$}  {} ({})\n", one.name, one.summary, one.written_by);
        output::print(&DOCUMENTS.iter().map(line).collect::<String>())?;
        return Ok(0);
    };
    let document = document(name).ok_or_else(|| {
        let names: Vec<&str> = DOCUMENTS.iter().map(|document| document.name).collect();
        ExitFailure::mistake(format!("iolab: no schema is called `{name}`: there are {}", names.join(", ")))
    })?;
    let schema = if arguments.closed { document.closed_schema() } else { document.schema() };
    output::print(&format!("{schema:#}\n"))?;
    Ok(0)
}
