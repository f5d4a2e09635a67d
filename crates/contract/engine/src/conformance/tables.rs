//! The description of an engine: names, option table and capabilities that do not contradict each
//! other.

use std::collections::BTreeSet;

use iolab_options::{DefaultValue, OptionEntry, ValueKind};

use super::ConformanceSetup;
use crate::{Engine, FileUse, Lane};

/// Names are words and unique, every option has a summary and a default its own kind accepts, and
/// the capabilities agree with the lane.
pub fn description_is_well_formed<E: Engine>(_setup: &ConformanceSetup) {
    let description = E::DESCRIPTION;
    let name = description.name;
    let mut names = BTreeSet::new();
    for word in std::iter::once(&name).chain(description.aliases) {
        assert_word(word);
        assert!(names.insert(*word), "{name} answers to {word} twice");
    }
    assert_line(name, description.summary);
    assert!(!description.details.trim().is_empty(), "{name} says nothing of which system calls it makes");

    let mut options = BTreeSet::new();
    for entry in description.options {
        for word in std::iter::once(&entry.name).chain(entry.aliases) {
            assert_word(word);
            assert!(options.insert(*word), "{name}: option {word} appears twice");
        }
        assert_line(entry.name, entry.summary);
        assert_default_fits(entry);
    }

    let capabilities = description.capabilities;
    assert_eq!(capabilities.synchronous, E::Lane::SYNCHRONOUS, "{name}: description and lane disagree");
    let nothing_to_sync = capabilities.files == FileUse::Paths && capabilities.syncs;
    assert!(!nothing_to_sync, "{name} has no descriptors to sync");
}

fn assert_word(word: &str) {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    assert!(!word.is_empty() && word.bytes().all(fits), "{word:?} is not a lower-case word");
}

fn assert_line(name: &str, line: &str) {
    let line_fits = !line.is_empty() && !line.contains('\n') && !line.ends_with('.');
    assert!(line_fits, "{name}: the summary is one line without a full stop, not {line:?}");
}

/// Checks the default where its text can be judged without the job language's parser.
fn assert_default_fits(entry: &OptionEntry) {
    let name = entry.name;
    let DefaultValue::Text(default) = entry.default else {
        assert!(!matches!(entry.default, DefaultValue::SameAs(_)), "{name}: defaults of engines stand for themselves");
        return;
    };
    match entry.kind {
        ValueKind::Switch | ValueKind::Bool => assert!(matches!(default, "0" | "1"), "{name}: default {default:?}"),
        ValueKind::Integer { min, max } => {
            let number: i64 = default.parse().unwrap_or_else(|_| panic!("{name}: default {default:?} is no number"));
            assert!((min..=max).contains(&number), "{name}: default {number} is outside {min}..={max}");
        }
        ValueKind::Choice(choices) => {
            assert!(choices.iter().any(|choice| choice.name == default), "{name}: default {default:?} is no choice");
        }
        _ => {}
    }
}
