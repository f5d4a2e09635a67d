//! Compresses the schemas that are kept in `docs/reference/schemas`, for the library to contain.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> Result<(), Box<dyn Error>> {
    let kept = Path::new("../../../docs/reference/schemas");
    let folder = std::env::var("OUT_DIR")?;
    println!("cargo::rerun-if-changed={}", kept.display());
    for entry in std::fs::read_dir(kept)? {
        let path = entry?.path();
        let name = path.file_stem().ok_or("a schema without a name")?.to_string_lossy().into_owned();
        let schema: serde_json::Value = serde_json::from_slice(&std::fs::read(&path)?)?;
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(schema.to_string().as_bytes())?;
        std::fs::write(Path::new(&folder).join(format!("{name}.json.deflate")), encoder.finish()?)?;
    }
    Ok(())
}
