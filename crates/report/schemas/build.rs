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
        let schema = without_layout(&std::fs::read_to_string(&path)?);
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(schema.as_bytes())?;
        std::fs::write(Path::new(&folder).join(format!("{name}.json.deflate")), encoder.finish()?)?;
    }
    Ok(())
}

/// JSON without the white space around its words. (A library for JSON would be compiled a second
/// time, for this program.)
fn without_layout(json: &str) -> String {
    let (mut in_text, mut escaped) = (false, false);
    json.chars()
        .filter(|&character| {
            let kept = in_text || !character.is_ascii_whitespace();
            in_text ^= character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            kept
        })
        .collect()
}
