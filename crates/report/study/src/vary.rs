//! Parses axes from the command line: `iodepth=1,4,16`, `bs=1k..1M:x2`.

use crate::axis::expand;
use crate::{Axis, JobSetting, Point, StudyError};

/// The axis of `OPTION=VALUE,VALUE,…`. A value may be a range as in study files, with a colon
/// before its step; a comma within a value is written `\,`.
///
/// # Errors
/// A missing part, an invalid range, or a duplicate value.
pub fn axis_of_words(words: &str) -> Result<Axis, StudyError> {
    let refused =
        |reason: &str| StudyError::meaning(format!("'{words}': {reason}, as in 'iodepth=1,4,16' or 'bs=4k..1M:x2'"));
    let (option, values) = words.split_once('=').ok_or_else(|| refused("an option, '=' and its values"))?;
    let option = option.trim().trim_start_matches('-');
    if option.is_empty() {
        return Err(refused("the option is missing"));
    }
    let mut points: Vec<Point> = Vec::new();
    for text in split(values) {
        for value in expand(&text)? {
            if value.is_empty() {
                return Err(refused("a value is empty"));
            }
            if points.iter().any(|point| point.name == value) {
                return Err(refused(&format!("'{value}' appears twice")));
            }
            let setting = JobSetting { option: option.to_owned(), value: value.clone() };
            points.push(Point {
                name: value,
                settings: vec![setting],
                about: String::new(),
                needs: String::new(),
                later: false,
            });
        }
    }
    Ok(Axis { name: option.to_owned(), points, given: false })
}

/// Splits at commas without a backslash.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&',') => {
                letters.next();
                parts.last_mut().into_iter().for_each(|part| part.push(','));
            }
            ',' => parts.push(String::new()),
            other => parts.last_mut().into_iter().for_each(|part| part.push(other)),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_axes() {
        for (words, name, points) in [
            ("iodepth=1,4,16", "iodepth", &["1", "4", "16"][..]),
            ("ioengine=psync,io_uring", "ioengine", &["psync", "io_uring"]),
            ("bs=1k..8k:x2", "bs", &["1k", "2k", "4k", "8k"]),
            ("bs=1k..2k:x2,64k", "bs", &["1k", "2k", "64k"]),
            ("bs=4k\\,8k,16k", "bs", &["4k,8k", "16k"]),
            ("--numjobs=2", "numjobs", &["2"]),
        ] {
            let axis = axis_of_words(words).expect(words);
            let names: Vec<&str> = axis.points.iter().map(|point| point.name.as_str()).collect();
            assert_eq!((axis.name.as_str(), names.as_slice()), (name, points), "{words}");
            assert!(axis.points.iter().all(|point| point.settings[0].option == name));
        }
        for (words, said) in [
            ("iodepth", "an option, '=' and its values"),
            ("=4", "the option is missing"),
            ("bs=", "a value is empty"),
            ("bs=4k,,8k", "a value is empty"),
            ("bs=4k,4k", "'4k' appears twice"),
            ("bs=4k..8k", "needs a step"),
            ("bs=8k..4k:x2", "goes down"),
        ] {
            let error = axis_of_words(words).expect_err(words).to_string();
            assert!(error.contains(said), "{words}: {error}");
        }
    }
}
