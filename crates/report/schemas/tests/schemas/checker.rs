//! A checker of the part of JSON Schema that the schemas use. A word that it does not know is an
//! error, so that nothing is left unchecked. The suite `schemas` checks with another program.

use serde_json::{Map, Value};

/// What is wrong with `document`, with the path to it; empty if nothing is.
pub(crate) fn faults(schema: &Value, document: &Value) -> Vec<String> {
    let mut checker = Checker { definitions: &schema["$defs"], faults: Vec::new() };
    checker.check(schema, document, "");
    checker.faults
}

struct Checker<'a> {
    definitions: &'a Value,
    faults: Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, document: &Value, path: &str) {
        let words = match schema {
            Value::Bool(true) => return,
            Value::Object(words) => words,
            _ => return self.fault(path, "nothing is allowed here"),
        };
        for (word, value) in words {
            match word.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" | "default" | "format" => {}
                "$ref" => {
                    let name = value.as_str().unwrap_or_default().trim_start_matches("#/$defs/");
                    self.check(&self.definitions[name], document, path);
                }
                "type" => self.kind(value, document, path),
                "const" if value != document => self.fault(path, &format!("{document} is not {value}")),
                "enum" if !items(value).contains(document) => {
                    self.fault(path, &format!("{document} is none of {value}"))
                }
                "const" | "enum" => {}
                "minimum" | "maximum" => self.bound(word, value, document, path),
                "minItems" if document.as_array().is_some_and(|all| (all.len() as u64) < number(value)) => {
                    self.fault(path, "too few items");
                }
                "maxItems" if document.as_array().is_some_and(|all| all.len() as u64 > number(value)) => {
                    self.fault(path, "too many items");
                }
                "minItems" | "maxItems" => {}
                "items" | "prefixItems" => self.items(word, value, document, path),
                "properties" | "required" | "additionalProperties" => self.fields(word, words, document, path),
                "oneOf" | "anyOf" => self.one_of(word, value, document, path),
                other => panic!("the checker does not know the word {other}"),
            }
        }
    }

    fn fault(&mut self, path: &str, what: &str) {
        self.faults.push(format!("{path}: {what}"));
    }

    fn kind(&mut self, kinds: &Value, document: &Value, path: &str) {
        let is = |kind: &Value| match kind.as_str().unwrap_or_default() {
            "null" => document.is_null(),
            "boolean" => document.is_boolean(),
            "integer" => document.as_f64().is_some_and(|number| number.fract() == 0.0),
            "number" => document.is_number(),
            "string" => document.is_string(),
            "array" => document.is_array(),
            "object" => document.is_object(),
            other => panic!("there is no type {other}"),
        };
        let fits = kinds.as_array().map_or_else(|| is(kinds), |all| all.iter().any(is));
        if !fits {
            self.fault(path, &format!("not of type {kinds}: {document}"));
        }
    }

    fn bound(&mut self, word: &str, bound: &Value, document: &Value, path: &str) {
        let (Some(bound), Some(number)) = (bound.as_f64(), document.as_f64()) else { return };
        let is_beyond = if word == "minimum" { number < bound } else { number > bound };
        if is_beyond {
            self.fault(path, &format!("{number} is beyond the {word} {bound}"));
        }
    }

    fn items(&mut self, word: &str, schema: &Value, document: &Value, path: &str) {
        for (index, item) in items(document).iter().enumerate() {
            let of_item = if word == "items" { Some(schema) } else { items(schema).get(index) };
            if let Some(of_item) = of_item {
                self.check(of_item, item, &format!("{path}/{index}"));
            }
        }
    }

    fn fields(&mut self, word: &str, words: &Map<String, Value>, document: &Value, path: &str) {
        let Some(fields) = document.as_object() else { return };
        let known = words.get("properties").and_then(Value::as_object);
        match word {
            "required" => {
                for name in items(&words[word]) {
                    if !fields.contains_key(name.as_str().unwrap_or_default()) {
                        self.fault(path, &format!("{name} is missing"));
                    }
                }
            }
            "properties" => {
                for (name, schema) in known.into_iter().flatten() {
                    if let Some(field) = fields.get(name) {
                        self.check(schema, field, &format!("{path}/{name}"));
                    }
                }
            }
            _ => {
                for (name, field) in
                    fields.iter().filter(|(name, _)| !known.is_some_and(|known| known.contains_key(*name)))
                {
                    self.check(&words[word], field, &format!("{path}/{name}"));
                }
            }
        }
    }

    fn one_of(&mut self, word: &str, variants: &Value, document: &Value, path: &str) {
        let mut all = Vec::new();
        for variant in items(variants) {
            let mut inner = Checker { definitions: self.definitions, faults: Vec::new() };
            inner.check(variant, document, path);
            all.push(inner.faults);
        }
        let fitting = all.iter().filter(|faults| faults.is_empty()).count();
        if fitting == 0 {
            // The variant that comes closest says most.
            let closest = all.into_iter().min_by_key(Vec::len).unwrap_or_default();
            self.faults.push(format!("{path}: none of {} variants: {}", items(variants).len(), closest.join("; ")));
        } else if fitting > 1 && word == "oneOf" {
            self.fault(path, &format!("{fitting} variants fit, not one"));
        }
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}
