//! `rw=`: the access pattern and its `:N` suffix.

use iolab_options::{Choice, Value};
use iolab_units::parse_count;

use super::words::unknown_word;
use super::{NumberRules, Piece, ValueError};

/// The words of `rw=`.
pub(crate) const PATTERNS: &[Choice] = &[
    Choice { name: "read", aliases: &[], summary: "sequential reads" },
    Choice { name: "write", aliases: &[], summary: "sequential writes" },
    Choice { name: "trim", aliases: &[], summary: "sequential discards" },
    Choice { name: "randread", aliases: &[], summary: "random reads" },
    Choice { name: "randwrite", aliases: &[], summary: "random writes" },
    Choice { name: "randtrim", aliases: &[], summary: "random discards" },
    Choice { name: "rw", aliases: &["readwrite"], summary: "sequential reads and writes" },
    Choice { name: "randrw", aliases: &[], summary: "random reads and writes" },
    Choice { name: "trimwrite", aliases: &[], summary: "each block discarded, then written, in sequence" },
    Choice { name: "randtrimwrite", aliases: &[], summary: "each block discarded, then written, at random" },
];

/// A word with an optional suffix: for random patterns the number of operations that share one
/// random offset, for sequential ones the bytes (possibly negative) added to each next offset.
pub(super) fn pattern(whole: Piece<'_>, rules: NumberRules) -> Result<Value, ValueError> {
    let (word, suffix) = match whole.split_once(':') {
        Some((word, suffix)) => (word, Some(suffix)),
        None => (whole, None),
    };
    let found = PATTERNS.iter().find(|choice| choice.name == word.text || choice.aliases.contains(&word.text));
    let Some(choice) = found else {
        return Err(unknown_word(word, PATTERNS.iter().map(|choice| choice.name)));
    };
    let (mut every, mut skip_bytes) = (None, 0);
    if let Some(suffix) = suffix {
        if choice.name.starts_with("rand") {
            let refuse = || suffix.refuse("a random pattern takes a number of operations here, 1 or more");
            every = Some(suffix.text.parse::<u32>().ok().filter(|count| *count > 0).ok_or_else(refuse)?);
        } else {
            skip_bytes = parse_count(suffix.text, rules.kb_base).map_err(|error| suffix.refuse(error.to_string()))?;
        }
    }
    Ok(Value::Pattern { word: choice.name.to_owned(), every, skip_bytes })
}
