//! Counted nouns: one thing is singular, several are plural.

/// A count with its noun: `1 entry`, `3 entries`, `12,000 keys`. `one` is the noun for one thing.
pub fn counted(count: u64, one: &str) -> String {
    format!("{} {}", crate::grouped(count), noun(count, one))
}

/// Only the noun, if the count is written elsewhere: `entry` for one, otherwise `entries`.
pub fn noun(count: u64, one: &str) -> String {
    if count == 1 { one.to_owned() } else { plural(one) }
}

/// The frequency in a sequence: `every operation`, `every 8 operations`.
pub fn every(count: u64, one: &str) -> String {
    if count == 1 { format!("every {one}") } else { format!("every {}", counted(count, one)) }
}

/// The regular plural of the last word. For `series`, which has no other plural, the word itself.
fn plural(one: &str) -> String {
    if one.ends_with("series") {
        return one.to_owned();
    }
    if let Some(stem) = one.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'o', 'u'])) {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| one.ends_with(end));
    format!("{one}{}", if hisses { "es" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_the_rest_plural() {
        for (count, one, expected) in [
            (0, "write", "0 writes"),
            (1, "write", "1 write"),
            (2, "write", "2 writes"),
            (1, "entry", "1 entry"),
            (2, "entry", "2 entries"),
            (2, "key", "2 keys"),
            (2, "process", "2 processes"),
            (2, "switch", "2 switches"),
            (2, "series", "2 series"),
            (2, "file descriptor", "2 file descriptors"),
            (12_000, "operation", "12,000 operations"),
        ] {
            assert_eq!(counted(count, one), expected);
        }
        assert_eq!((noun(1, "study"), noun(2, "study")), ("study".to_owned(), "studies".to_owned()));
    }

    #[test]
    fn every_one_needs_no_number() {
        for (count, expected) in [(1, "every operation"), (2, "every 2 operations"), (4096, "every 4,096 operations")] {
            assert_eq!(every(count, "operation"), expected);
        }
    }
}
