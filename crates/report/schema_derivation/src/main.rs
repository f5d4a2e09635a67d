//! `derive-schemas FOLDER`: writes the JSON Schemas of all documents into a folder, for
//! `cargo xtask docs`.

use std::error::Error;
use std::path::PathBuf;

use iolab_schema_derivation::{derived, text_of};
use iolab_schemas::DOCUMENTS;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: derive-schemas FOLDER")?);
    std::fs::create_dir_all(&folder)?;
    for document in DOCUMENTS {
        let schema = derived(document).ok_or_else(|| format!("no type is known for {}", document.name))?;
        std::fs::write(folder.join(format!("{}.json", document.name)), text_of(&schema))?;
    }
    Ok(())
}
