//! Everything of the repository that a schema describes is valid, and what is not as it says is
//! refused.

mod checker;

use std::path::{Path, PathBuf};

use checker::faults;
use iolab_schemas::{DOCUMENTS, Document, document};
use serde_json::{Value, json};

fn known(name: &str) -> &'static Document {
    document(name).expect("a document")
}

/// The recordings of the repository: those of every form, and those that findings are tested with.
fn recordings() -> Vec<(PathBuf, Value)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = Vec::new();
    for folder in ["contract/recording/tests/corpus", "report/findings/tests/recordings"] {
        for entry in std::fs::read_dir(crates.join(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|ending| ending == "json") {
                let text = std::fs::read_to_string(&path).expect("a file");
                all.push((path, text.parse().expect("JSON")));
            }
        }
    }
    assert!(all.len() > 50, "{}", all.len());
    all
}

/// Fields that older versions wrote and this one does not read.
const RETIRED: [&str; 1] = ["/generated: nothing is allowed here"];

#[test]
fn every_recording_is_valid_and_has_no_unknown_field() {
    let [open, closed] = [known("recording").schema(), known("recording").closed_schema()];
    for (path, recording) in recordings() {
        assert_eq!(faults(&open, &recording), Vec::<String>::new(), "{}", path.display());
        let mut unknown = faults(&closed, &recording);
        unknown.retain(|fault| !RETIRED.iter().any(|field| fault.contains(field)));
        assert_eq!(unknown, Vec::<String>::new(), "{}", path.display());
    }
}

/// Each object of a recording gets a field more, each field of it another type, one after the
/// other.
#[test]
fn what_no_schema_says_is_refused() {
    let closed = known("recording").closed_schema();
    let newest =
        recordings().into_iter().filter(|(path, _)| path.parent().is_some_and(|folder| folder.ends_with("corpus")));
    let (_, recording) = newest.max_by_key(|(path, _)| path.clone()).expect("a recording");
    let mut paths = Vec::new();
    objects(&recording, String::new(), &mut paths);
    assert!(paths.len() > 60, "{}", paths.len());
    let mut free = Vec::new();
    for path in paths {
        let mut changed = recording.clone();
        let object = changed.pointer_mut(&path).and_then(Value::as_object_mut).expect("an object");
        object.insert("nobody_knows_this".to_owned(), json!(true));
        if faults(&closed, &changed).is_empty() {
            free.push(path);
        }
    }
    // Maps have names of the user's choice; their values are not of this type.
    assert_eq!(free, Vec::<String>::new());
    for (path, wrong) in [
        ("/iolab_recording", json!(3)),
        ("/elapsed_ns", json!(-1)),
        ("/elapsed_ns", json!("1")),
        ("/workers/0/outcome", json!("dreaming")),
        ("/workers/0/directions/0/lat/buckets/0", json!([1, 2, 3])),
        ("/workers/0/directions", json!([])),
        ("/plan/workers/0/workload/read_percent", json!(101)),
    ] {
        let mut changed = recording.clone();
        *changed.pointer_mut(path).unwrap_or_else(|| panic!("{path} is there")) = wrong;
        assert_eq!(faults(&closed, &changed).len(), 1, "{path}");
    }
    let mut changed = recording.clone();
    changed.as_object_mut().expect("an object").remove("workers");
    assert_eq!(faults(&closed, &changed), [": \"workers\" is missing"]);
}

/// The paths of all objects.
fn objects(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                objects(field, format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
            found.push(path);
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, item)| objects(item, format!("{path}/{index}"), found));
        }
        _ => {}
    }
}

#[test]
fn every_schema_has_a_name_of_its_own_and_says_what_fields_mean() {
    let mut ids: Vec<Value> = DOCUMENTS.iter().map(|one| one.schema()["$id"].clone()).collect();
    ids.dedup();
    assert_eq!(ids.len(), DOCUMENTS.len());
    for one in DOCUMENTS {
        let mut silent = Vec::new();
        undocumented(&one.schema(), String::new(), false, &mut silent);
        assert_eq!(silent, Vec::<String>::new(), "{}", one.name);
        assert!(!one.schema().to_string().contains("[`"), "a link of Rust's documentation in {}", one.name);
    }
}

/// Fields without a description, their own or that of their type. The name of a variant is
/// described beside it.
fn undocumented(schema: &Value, path: String, is_variant: bool, silent: &mut Vec<String>) {
    match schema {
        Value::Object(words) => {
            let named = is_variant && words.contains_key("description");
            for (name, field) in words.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let is_described = ["description", "const", "$ref"].iter().any(|word| field.get(word).is_some());
                if !is_described && !named {
                    silent.push(format!("{path}/{name}"));
                }
            }
            for (name, value) in words {
                undocumented(value, format!("{path}/{name}"), name == "oneOf", silent);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| undocumented(item, path.clone(), is_variant, silent)),
        _ => {}
    }
}
