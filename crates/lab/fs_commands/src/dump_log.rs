//! Every frame and record of the metadata log, even of damaged images.

use std::fmt::Write as _;
use std::path::Path;

use iolab_image::{Image, ImageAccess, ImageError};
use iolab_logfs::{DumpLine, DumpValue};
use serde_json::{Map, Value};

use crate::FsError;
use crate::facts::{hex, shown};

/// Passes every frame and record of a domain's log to `sink`.
///
/// # Errors
/// The image cannot be read; everything read before has been passed on.
pub fn dump_log(image: &Path, domain: u32, mut sink: impl FnMut(DumpLine)) -> Result<(), FsError> {
    let ended = Image::open(image, ImageAccess::Read)?
        .run(async |disk, _| iolab_logfs::dump_log(&disk, domain, &mut sink).await)?;
    Ok(ended.map_err(|source| ImageError::FileSystem { path: image.to_owned(), source })?)
}

/// A line for people.
pub fn dump_line_text(line: &DumpLine) -> String {
    let mut fields = line.fields.iter();
    let mut text = match line.kind {
        // The type of a record is shown as its title.
        "record" => fields.next().map_or_else(String::new, |(_, value)| format!("    {}", value_text(value))),
        "damage" => "    DAMAGE".to_owned(),
        kind => kind.to_owned(),
    };
    for (name, value) in fields {
        let _ = write!(text, "  {name}={}", value_text(value));
    }
    text
}

fn value_text(value: &DumpValue) -> String {
    match value {
        DumpValue::Number(number) => number.to_string(),
        DumpValue::Bits(bits) => format!("{bits:08x}"),
        DumpValue::Name(name) => format!("\"{}\"", shown(name)),
        DumpValue::Bytes(length) => format!("<{length} bytes>"),
        DumpValue::Word(word) => word.clone(),
        DumpValue::List(items) => {
            let item = |item: &Vec<(&str, DumpValue)>| {
                let fields: Vec<String> =
                    item.iter().map(|(name, value)| format!("{name}={}", value_text(value))).collect();
                fields.join(" ")
            };
            format!("[{}]", items.iter().map(item).collect::<Vec<_>>().join(", "))
        }
    }
}

/// A line as JSON.
pub fn dump_line_json(line: &DumpLine) -> Value {
    let mut object = Map::new();
    object.insert("line".to_owned(), Value::from(line.kind));
    fill(&mut object, &line.fields);
    Value::Object(object)
}

fn fill(object: &mut Map<String, Value>, fields: &[(&'static str, DumpValue)]) {
    for (name, value) in fields {
        let shown = match value {
            DumpValue::Number(number) | DumpValue::Bits(number) => Value::from(*number),
            DumpValue::Name(bytes) => {
                if std::str::from_utf8(bytes).is_err() {
                    object.insert(format!("{name}_hex"), Value::from(hex(bytes)));
                }
                Value::from(String::from_utf8_lossy(bytes))
            }
            DumpValue::Bytes(length) => {
                object.insert(format!("{name}_bytes"), Value::from(*length));
                continue;
            }
            DumpValue::Word(word) => Value::from(word.clone()),
            DumpValue::List(items) => items
                .iter()
                .map(|item| {
                    let mut object = Map::new();
                    fill(&mut object, item);
                    Value::Object(object)
                })
                .collect(),
        };
        object.insert((*name).to_owned(), shown);
    }
}
