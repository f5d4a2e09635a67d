//! Reads JSON and TOML with less machine code.
//!
//! The code that serde derives for a struct reads it from a map, by names, and also from a
//! sequence, by positions; a format such as JSON uses both. No file of this project has a struct as
//! a sequence, so that part of the code was never useful. The deserializer here stands between a
//! type and its format, and asks for maps only. A sequence in the place of a struct is therefore
//! refused.
//!
//! JSON is always read from bytes, because reading from text would compile all types once more.

mod maps_only;

use serde::de::DeserializeOwned;

use self::maps_only::MapsOnly;

/// Reads a value from JSON.
///
/// # Errors
/// As [`serde_json::from_slice`]; also if a sequence is in the place of a struct.
pub fn json<T: DeserializeOwned>(text: &[u8]) -> Result<T, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = T::deserialize(MapsOnly(&mut reader))?;
    reader.end()?;
    Ok(value)
}

/// Reads a value from TOML.
///
/// # Errors
/// As [`toml::from_str`].
pub fn toml<T: DeserializeOwned>(text: &str) -> Result<T, toml::de::Error> {
    T::deserialize(MapsOnly(toml::Deserializer::parse(text)?)).map_err(|mut error| {
        error.set_input(Some(text));
        error
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Job {
        name: String,
        #[serde(default)]
        depth: Option<u32>,
        sizes: Vec<(u64, f64)>,
        kind: Kind,
        within: BTreeMap<String, Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    enum Kind {
        Plain,
        Sized(u64),
        Range { from: i8, to: i8 },
        Pair(bool, char),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        on: bool,
        any: Any,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(untagged)]
    enum Any {
        Number(f64),
        Text(String),
    }

    const JOB: &str = r#"{"name": "a", "depth": 3, "sizes": [[1, 0.5], [2, 1.5]], "kind": {"Range": {"from": -1, "to": 2}},
        "within": {"x": {"on": true, "any": 1.5}, "y": {"on": false, "any": "t"}}}"#;

    #[test]
    fn types_read_what_serde_json_reads() {
        let read: Job = json(JOB.as_bytes()).unwrap();
        assert_eq!(read, serde_json::from_slice(JOB.as_bytes()).unwrap());
        for kind in ["\"Plain\"", "{\"Sized\": 7}", "{\"Pair\": [true, \"c\"]}"] {
            assert_eq!(json::<Kind>(kind.as_bytes()).unwrap(), serde_json::from_slice(kind.as_bytes()).unwrap());
        }
        assert_eq!(json::<Option<u8>>(b"null").unwrap(), None);
        let value: serde_json::Value = json(JOB.as_bytes()).unwrap();
        assert_eq!(value, serde_json::from_slice::<serde_json::Value>(JOB.as_bytes()).unwrap());
    }

    #[test]
    fn toml_reads_the_same() {
        let text = "name = 'a'\ndepth = 3\nsizes = [[1, 0.5], [2, 1.5]]\nkind = { Range = { from = -1, to = 2 } }\n\
                    [within]\nx = { on = true, any = 1.5 }\ny = { on = false, any = 't' }\n";
        assert_eq!(toml::<Job>(text).unwrap(), json(JOB.as_bytes()).unwrap());
    }

    #[test]
    fn places_in_toml_are_kept() {
        #[derive(Debug, Deserialize)]
        struct Placed {
            jobs: Vec<::toml::Spanned<Inner>>,
        }
        let text = "jobs = [\n    { on = true, any = 1 },\n]\n";
        let placed = toml::<Placed>(text).unwrap();
        assert_eq!(&text[placed.jobs[0].span()], "{ on = true, any = 1 }");
    }

    /// The places and the reasons of errors are those of the formats.
    #[test]
    fn errors_are_those_of_the_formats() {
        for text in ["{\"on\": 1, \"any\": 1}", "{\"on\": true}", "7", "{\"on\": true, \"any\": 1} x", "{\n\"on\": tru"]
        {
            let expected = serde_json::from_slice::<Inner>(text.as_bytes()).unwrap_err().to_string();
            assert_eq!(json::<Inner>(text.as_bytes()).unwrap_err().to_string(), expected, "{text}");
        }
        for text in ["on = 1\nany = 1\n", "\nany = 1\n", "on = \n", "on = true\nany = []\n"] {
            let expected = ::toml::from_str::<Inner>(text).unwrap_err().to_string();
            assert_eq!(toml::<Inner>(text).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_struct_is_no_sequence() {
        assert!(serde_json::from_slice::<Inner>(b"[true, 1]").is_ok(), "the format alone accepts it");
        let error = json::<Inner>(b"[true, 1]").unwrap_err().to_string();
        assert!(error.starts_with("invalid type: sequence, expected struct Inner"), "{error}");
        assert!(json::<Kind>(b"{\"Range\": [1, 2]}").is_err());
    }
}
