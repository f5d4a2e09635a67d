//! Derives the JSON Schemas (draft 2020-12) that `iolab-schemas` contains, from the types that are
//! written, with the documentation of their fields.
//!
//! A crate of its own, because deriving compiles a second description of some 190 types: a build of
//! the program alone does without it. `cargo xtask docs --write` writes the schemas, and both
//! `cargo xtask docs` and a test here find those that are out of date.

use iolab_recording::{Event, Recording};
use iolab_report::IntervalLine;
use iolab_schemas::Document;
use iolab_store::DatabaseEntry;
use iolab_study::{Analysis, FigureLine};
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// The schema of a kind of document, as it is kept, or `None` if no type is known for it.
pub fn derived(document: &Document) -> Option<Value> {
    let schema = match document.name {
        "recording" => schema_of::<Recording>(),
        "analysis" => schema_of::<Analysis>(),
        "event" => schema_of::<Event<'_>>(),
        "interval" => schema_of::<IntervalLine<'_>>(),
        "figure" => schema_of::<FigureLine>(),
        "entry" => schema_of::<DatabaseEntry>(),
        _ => return None,
    };
    let mut schema = schema.to_value();
    plain_descriptions(&mut schema);
    let mut whole = Map::new();
    let draft = schema.get("$schema").cloned().unwrap_or_default();
    whole.insert("$schema".to_owned(), draft);
    whole.insert("$id".to_owned(), json!(format!("urn:iolab:{}:{}", document.name, document.version)));
    if let Value::Object(fields) = schema {
        whole.extend(fields.into_iter().filter(|(name, _)| name != "$schema"));
    }
    Some(Value::Object(whole))
}

/// A schema as text, as it is kept.
pub fn text_of(schema: &Value) -> String {
    format!("{schema:#}\n")
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

#[cfg(test)]
mod tests {
    use iolab_schemas::DOCUMENTS;

    use super::*;

    #[test]
    fn the_program_contains_what_the_types_say() {
        for document in DOCUMENTS {
            let derived = derived(document).expect("a type for each document");
            assert!(derived["properties"].is_object() || derived["oneOf"].is_array(), "{}", document.name);
            assert_eq!(document.schema(), derived, "{}: run `cargo xtask docs --write`", document.name);
        }
    }
}
