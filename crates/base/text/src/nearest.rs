//! Spelling suggestions: the known word that is nearest to a given one.

/// The nearest of `known`, if it is near enough to be the intended word. `-` and `_` count as the
/// same letter.
pub fn closest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // Longer texts are not misspelt words; comparing them would only take time.
    if written.is_empty() || written.len() > 64 {
        return None;
    }
    let written = written.to_ascii_lowercase().replace('-', "_");
    let letters = written.chars().count();
    let distance = |word: &str| strsim::damerau_levenshtein(&written, &word.replace('-', "_"));
    let allowed = (written.len() / 3).clamp(1, 3);
    known
        // Each letter more or less is a difference: most words need no comparison.
        .filter(|word| word.chars().count().abs_diff(letters) <= allowed)
        .map(|word| (distance(word), word))
        .filter(|(distance, word)| *distance <= allowed && *distance < word.len())
        .min_by_key(|(distance, word)| (*distance, word.len().abs_diff(written.len())))
        .map(|(_, word)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let known = ["iodepth", "ioengine", "randseed", "rw"];
        let cases = [("iodpeth", Some("iodepth")), ("IODEPTH", Some("iodepth")), ("colour", None), ("x", None)];
        for (written, expected) in cases {
            assert_eq!(closest(written, known.into_iter()), expected, "{written}");
        }
        assert_eq!(closest("my_disks", ["other", "my-disk"].into_iter()), Some("my-disk"));
        assert_eq!(closest(&"a".repeat(100_000), known.into_iter()), None);
        let lengths = ["iodept", "iodeptht", "iod", "iodepththt"];
        let found = lengths.map(|written| closest(written, known.into_iter()));
        assert_eq!(found, [Some("iodepth"), Some("iodepth"), None, Some("iodepth")]);
    }
}
