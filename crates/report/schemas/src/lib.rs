//! JSON Schemas (draft 2020-12) of the JSON that iolab writes for other programs.
//!
//! Each schema is derived from the type that is written, with its fields' documentation, by
//! `iolab-schema-derivation`, and kept in `docs/reference/schemas`. The program contains what is
//! kept, compressed, because deriving takes many times the space and seconds of compile time. A
//! schema allows fields that it does not know, because later versions add fields without a new
//! format number; [`Document::closed_schema`] refuses them.
//!
//! Deliberately not here: fio's report format, which is fio's to define.

use std::io::Read;

use flate2::read::DeflateDecoder;
use iolab_recording::FORMAT_OF_SEVERAL_HOSTS;
use iolab_study::ANALYSIS_FORMAT;
use serde_json::{Map, Value};

/// A kind of JSON document or JSON line.
#[derive(Debug)]
pub struct Document {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, as a noun phrase.
    pub summary: &'static str,
    /// The command that writes it.
    pub written_by: &'static str,
    /// The newest format number.
    pub version: u32,
    /// Its schema as JSON without white space, compressed by the build script (DEFLATE, RFC 1951).
    compressed: &'static [u8],
}

macro_rules! compressed {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".json.deflate"))
    };
}

/// All kinds.
pub static DOCUMENTS: &[Document] = &[
    Document {
        name: "recording",
        summary: "a recording: everything that a run measured",
        written_by: "iolab run --record=FILE",
        version: FORMAT_OF_SEVERAL_HOSTS,
        compressed: compressed!("recording"),
    },
    Document {
        name: "analysis",
        summary: "the analysis of a study",
        written_by: "iolab study show FOLDER --json",
        version: ANALYSIS_FORMAT,
        compressed: compressed!("analysis"),
    },
    Document {
        name: "event",
        summary: "a line of the events of a run",
        written_by: "iolab run --events=FILE",
        version: FORMAT_OF_SEVERAL_HOSTS,
        compressed: compressed!("event"),
    },
    Document {
        name: "interval",
        summary: "a line of the intervals of a run",
        written_by: "iolab report --intervals FILE",
        version: 1,
        compressed: compressed!("interval"),
    },
    Document {
        name: "figure",
        summary: "a line of the exported figures of studies",
        written_by: "iolab db export --format=figures-jsonl",
        version: 1,
        compressed: compressed!("figure"),
    },
    Document {
        name: "entry",
        summary: "a line of exported entries of the database",
        written_by: "iolab db export --format=jsonl",
        version: 1,
        compressed: compressed!("entry"),
    },
];

/// The kind with this name.
pub fn document(name: &str) -> Option<&'static Document> {
    DOCUMENTS.iter().find(|document| document.name == name)
}

impl Document {
    /// Its schema, or null if this program's copy of it is damaged.
    pub fn schema(&self) -> Value {
        let mut text = Vec::new();
        let read = DeflateDecoder::new(self.compressed).read_to_end(&mut text);
        read.ok().and_then(|_| iolab_deserialize::json(&text).ok()).unwrap_or_default()
    }

    /// Its schema, which refuses fields that this version does not know.
    pub fn closed_schema(&self) -> Value {
        let mut schema = self.schema();
        let definitions = schema.get("$defs").and_then(Value::as_object).cloned().unwrap_or_default();
        close(&mut schema, &definitions);
        schema
    }
}

/// The page that lists all schemas.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# JSON Schemas\n\nGenerated from the types that are written; do not edit. `iolab schema NAME` prints them. \
         Unknown fields are allowed, because later versions may add fields; `--closed` refuses them.\n\n\
         | schema | what it describes | written by | format |\n| --- | --- | --- | --- |\n",
    );
    for Document { name, summary, written_by, version, .. } in DOCUMENTS {
        page += &format!("| [{name}](schemas/{name}.json) | {summary} | `{written_by}` | {version} |\n");
    }
    page
}

/// Refuses unknown fields in every object whose fields are listed. A variant that adds a field to
/// those of a definition gets a copy of them, because the definition alone would refuse that field.
fn close(schema: &mut Value, definitions: &Map<String, Value>) {
    match schema {
        Value::Object(fields) => {
            if fields.contains_key("properties") {
                absorb(fields, definitions);
            }
            fields.values_mut().for_each(|field| close(field, definitions));
            if fields.get("properties").is_some_and(Value::is_object) {
                fields.entry("additionalProperties").or_insert(Value::Bool(false));
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| close(item, definitions)),
        _ => {}
    }
}

/// Replaces the reference of a schema by what it refers to.
fn absorb(fields: &mut Map<String, Value>, definitions: &Map<String, Value>) {
    let name = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
    let Some(Value::Object(referred)) = name.and_then(|name| definitions.get(name)).cloned() else { return };
    fields.remove("$ref");
    for (word, value) in referred {
        match (fields.get_mut(&word), value) {
            (Some(Value::Object(own)), Value::Object(more)) => own.extend(more),
            (Some(Value::Array(own)), Value::Array(more)) => own.extend(more),
            (Some(_), _) => {}
            (None, value) => {
                fields.insert(word, value);
            }
        }
    }
}
