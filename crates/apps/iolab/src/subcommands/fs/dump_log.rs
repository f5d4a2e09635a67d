//! `iolab fs dump-log`: every frame and record of the metadata log, of damaged images, too.

use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use iolab_image::{Access, Image, ImageError};
use iolab_logfs::{DumpLine, DumpValue, dump_log};
use serde_json::{Map, Value};

use super::facts::{hex, shown};
use crate::exit::Failure;

/// What to show.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Regular file or block device
    image: PathBuf,
    /// Whose log, in an image of several domains
    #[arg(long, default_value_t = 0)]
    domain: u32,
    /// Frames without their records
    #[arg(long)]
    frames: bool,
    /// A JSON object on each line
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    let mut image = Image::open(&arguments.image, Access::Read)?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut written = Ok(());
    let mut sink = |line: DumpLine| {
        if arguments.frames && line.kind == "record" {
            return;
        }
        let text = if arguments.json { as_json(&line).to_string() } else { as_text(&line) };
        // Once it has failed, nothing more is written; the log ends soon enough.
        if written.is_ok() {
            written = writeln!(out, "{}", crate::printing::shown(&text));
        }
    };
    let ended = image.run(async |disk, _| dump_log(&disk, arguments.domain, &mut sink).await)?;
    match written.and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            return Err(Failure::failed(format!("iolab: writing to standard output: {error}")));
        }
        _ => {}
    }
    ended.map_err(|source| ImageError::FileSystem { path: arguments.image.clone(), source })?;
    Ok(0)
}

fn as_text(line: &DumpLine) -> String {
    let mut fields = line.fields.iter();
    let mut text = match line.kind {
        // The type of a record is its title.
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

fn as_json(line: &DumpLine) -> Value {
    let mut object = Map::from_iter([("line".to_owned(), Value::from(line.kind))]);
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
