//! The entries' own tests: every example of every option is tried.

use std::collections::BTreeSet;

use iolab_options::{DefaultValue, SupportStatus, ValueKind};

use super::*;
use crate::values::{NumberRules, canonical, parse_value};

#[test]
fn every_entry_accepts_and_rejects_its_examples() {
    for entry in OPTIONS {
        for (text, expected) in entry.accepts {
            let value = parse_value(&entry.kind, Some(text), NumberRules::default());
            let value = value.unwrap_or_else(|error| panic!("{}={text}: {}", entry.name, error.reason));
            assert_eq!(canonical(&value), *expected, "{}={text}", entry.name);
            // A mask prints as the list of its CPUs, which is more readable but a different
            // notation.
            if entry.kind == ValueKind::CpuMask {
                continue;
            }
            let again = parse_value(&entry.kind, Some(expected), NumberRules::default());
            assert_eq!(again, Ok(value), "{}={expected} must mean the same", entry.name);
        }
        for text in entry.rejects {
            let value = parse_value(&entry.kind, Some(text), NumberRules::default());
            assert!(value.is_err(), "{}={text} must be refused, but is {value:?}", entry.name);
        }
    }
}

#[test]
fn every_entry_is_complete() {
    for entry in OPTIONS {
        assert!(!entry.summary.is_empty() && !entry.summary.ends_with('.'), "{}: summary", entry.name);
        assert!(entry.details.is_empty() || entry.details.ends_with('.'), "{}: details", entry.name);
        assert!(!entry.accepts.is_empty(), "{}: an accepted example is missing", entry.name);
        assert!(
            !entry.rejects.is_empty() || matches!(entry.kind, ValueKind::Text | ValueKind::OptionalText),
            "{}: a refused example is missing",
            entry.name
        );
        assert_default_fits(entry);
        if let SupportStatus::NoEffect(reason) = entry.status {
            assert!(!reason.is_empty(), "{}: why has it no effect?", entry.name);
        }
    }
}

/// The default must be readable, of the option's kind, and absent only if there is nothing to say.
fn assert_default_fits(entry: &OptionEntry) {
    let name = entry.name;
    match entry.default {
        DefaultValue::Text(text) => {
            let value = parse_value(&entry.kind, Some(text), NumberRules::default());
            assert!(value.is_ok(), "{name}: default {text:?}: {value:?}");
        }
        DefaultValue::SameAs(other) => {
            let other = find_option(other).unwrap_or_else(|| panic!("{name}: there is no option {other}"));
            assert!(other.name != name && matches!(other.default, DefaultValue::Text(_)), "{name}: as {}", other.name);
            assert_eq!(std::mem::discriminant(&entry.kind), std::mem::discriminant(&other.kind), "{name}");
        }
        DefaultValue::Derived(words) => assert!(!words.is_empty() && !words.ends_with('.'), "{name}: default"),
        DefaultValue::Automatic => panic!("{name}: job options are resolved before an engine is opened"),
        // A number, a switch or a choice always has a value; a name or a list may be absent.
        DefaultValue::Absent => {
            let says_something = matches!(
                entry.kind,
                ValueKind::Switch
                    | ValueKind::Bool
                    | ValueKind::Integer { .. }
                    | ValueKind::Integers { .. }
                    | ValueKind::Size
                    | ValueKind::Sizes
                    | ValueKind::Time { .. }
                    | ValueKind::Times { .. }
                    | ValueKind::Choice(_)
                    | ValueKind::Pattern
            );
            assert!(
                !says_something || entry.status != SupportStatus::Supported,
                "{name}: what holds when it is left out?"
            );
        }
    }
}

#[test]
fn no_name_is_given_twice() {
    let mut seen = BTreeSet::new();
    for entry in OPTIONS {
        for name in std::iter::once(&entry.name).chain(entry.aliases) {
            assert!(seen.insert(*name), "{name} stands for two options");
        }
    }
}

#[test]
fn a_choice_word_stands_for_one_choice() {
    for entry in OPTIONS {
        let ValueKind::Choice(choices) = entry.kind else { continue };
        let mut seen = BTreeSet::new();
        for word in choices.iter().flat_map(|choice| std::iter::once(&choice.name).chain(choice.aliases)) {
            assert!(seen.insert(*word), "{}: {word} stands twice", entry.name);
        }
    }
}

#[test]
fn names_and_aliases_are_found_and_misspellings_corrected() {
    for (name, canonical) in [("blocksize", "bs"), ("readwrite", "rw"), ("threads", "thread"), ("io_limit", "io_size")]
    {
        assert_eq!(find_option(name).map(|entry| entry.name), Some(canonical));
    }
    assert_eq!(find_option("BS").map(|entry| entry.name), None);
    assert_eq!(suggest("iodeph"), Some("iodepth"));
    assert_eq!(suggest("blocksze"), Some("blocksize"));
    assert_eq!(suggest("zzzzzz"), None);
}
