//! JSON Schemas (draft 2020-12) of the JSON that iolab writes for other programs.
//!
//! Each schema is derived from the type that is written, with its fields' documentation, so it
//! cannot be out of date. A schema allows fields that it does not know, because later versions add
//! fields without a new format number; [`Document::closed_schema`] refuses them.
//!
//! Deliberately not here: fio's report format, which is fio's to define.

use iolab_recording::{Event, FORMAT_OF_SEVERAL_HOSTS, Recording};
use iolab_report::IntervalLine;
use iolab_store::DatabaseEntry;
use iolab_study::{ANALYSIS_FORMAT, Analysis, FigureLine};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

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
    derive: fn() -> Schema,
}

/// All kinds.
pub static DOCUMENTS: &[Document] = &[
    Document {
        name: "recording",
        summary: "a recording: everything that a run measured",
        written_by: "iolab run --record=FILE",
        version: FORMAT_OF_SEVERAL_HOSTS,
        derive: schema_of::<Recording>,
    },
    Document {
        name: "analysis",
        summary: "the analysis of a study",
        written_by: "iolab study show FOLDER --json",
        version: ANALYSIS_FORMAT,
        derive: schema_of::<Analysis>,
    },
    Document {
        name: "event",
        summary: "a line of the events of a run",
        written_by: "iolab run --events=FILE",
        version: FORMAT_OF_SEVERAL_HOSTS,
        derive: schema_of::<Event<'_>>,
    },
    Document {
        name: "interval",
        summary: "a line of the intervals of a run",
        written_by: "iolab report --intervals FILE",
        version: 1,
        derive: schema_of::<IntervalLine<'_>>,
    },
    Document {
        name: "figure",
        summary: "a line of the exported figures of studies",
        written_by: "iolab db export --format=figures-jsonl",
        version: 1,
        derive: schema_of::<FigureLine>,
    },
    Document {
        name: "entry",
        summary: "a line of exported entries of the database",
        written_by: "iolab db export --format=jsonl",
        version: 1,
        derive: schema_of::<DatabaseEntry>,
    },
];

/// The kind with this name.
pub fn document(name: &str) -> Option<&'static Document> {
    DOCUMENTS.iter().find(|document| document.name == name)
}

impl Document {
    /// Its schema.
    pub fn schema(&self) -> Value {
        let mut schema = (self.derive)().to_value();
        plain_descriptions(&mut schema);
        let mut whole = Map::new();
        let draft = schema.get("$schema").cloned().unwrap_or_default();
        whole.insert("$schema".to_owned(), draft);
        whole.insert("$id".to_owned(), json!(format!("urn:iolab:{}:{}", self.name, self.version)));
        if let Value::Object(fields) = schema {
            whole.extend(fields.into_iter().filter(|(name, _)| name != "$schema"));
        }
        Value::Object(whole)
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

fn schema_of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}

/// Removes the links of Rust's documentation from descriptions.
fn plain_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::String(text) if name == "description" => *text = text.replace("[`", "`").replace("`]", "`"),
                    other => plain_descriptions(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain_descriptions),
        _ => {}
    }
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
