//! Replacements in a value before it is parsed: `${VAR}` by the environment, then `$ncpus`,
//! `$pagesize` and `$mb_memory` by facts of the machine, `$ranks`, `$rank` and `$host` by those of
//! the rank. Any other text that begins with a dollar stays.

use crate::Surroundings;

/// A value's text after replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expanded {
    /// The text.
    pub(crate) text: String,
    /// Whether a keyword that is a number was replaced, so that arithmetic needs no parentheses.
    pub(crate) keywords: bool,
    /// Variables that were not set and were replaced by nothing.
    pub(crate) unset: Vec<String>,
    /// Variables that were set, with their values.
    pub(crate) used: Vec<(String, String)>,
}

/// Replaces variables and keywords in `raw`.
pub(crate) fn expand(raw: &str, surroundings: &dyn Surroundings) -> Expanded {
    let (mut unset, mut used) = (Vec::new(), Vec::new());
    let mut text = variables(raw, surroundings, &mut unset, &mut used);
    let mut keywords = false;
    if text.contains('$') {
        let facts = surroundings.keywords();
        let numbers = [
            ("$ncpus", facts.cpus),
            ("$pagesize", facts.page_bytes),
            ("$mb_memory", facts.memory_mib),
            // The longer word first.
            ("$ranks", u64::from(facts.rank.ranks)),
            ("$rank", u64::from(facts.rank.number)),
        ];
        for (keyword, number) in numbers {
            keywords |= text.contains(keyword);
            text = text.replace(keyword, &number.to_string());
        }
        text = text.replace("$host", &facts.rank.host);
    }
    Expanded { text, keywords, unset, used }
}

/// One pass over `${NAME}`. An unclosed brace stays. The content of a variable is not expanded
/// again.
fn variables(
    raw: &str,
    surroundings: &dyn Surroundings,
    unset: &mut Vec<String>,
    used: &mut Vec<(String, String)>,
) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(begin) = rest.find("${") {
        let Some(length) = rest[begin + 2..].find('}') else { break };
        let name = &rest[begin + 2..begin + 2 + length];
        text.push_str(&rest[..begin]);
        match surroundings.variable(name) {
            Some(value) => {
                text.push_str(&value);
                used.push((name.to_owned(), value));
            }
            None => unset.push(name.to_owned()),
        }
        rest = &rest[begin + 3 + length..];
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_surroundings::Fixed;

    #[test]
    fn variables_and_keywords_are_replaced() {
        let cases = [
            ("${SIZE}", "10g", false),
            ("${NOTHING}x", "x", false),
            ("a${SIZE}b${SIZE}", "a10gb10g", false),
            ("${SIZE", "${SIZE", false),
            ("$jobname.$jobnum", "$jobname.$jobnum", false),
            ("2*$ncpus", "2*4", true),
            ("$pagesize,$mb_memory", "4096,1000", true),
            ("$rank*100/$ranks", "2*100/3", true),
            ("/data/$host/$jobname", "/data/n7/$jobname", false),
        ];
        for (raw, text, keywords) in cases {
            let expanded = expand(raw, &Fixed);
            assert_eq!((expanded.text.as_str(), expanded.keywords), (text, keywords), "{raw}");
        }
        assert_eq!(expand("${NOTHING}", &Fixed).unset, ["NOTHING"]);
        assert_eq!(expand("a${SIZE}", &Fixed).used, [("SIZE".to_owned(), "10g".to_owned())]);
    }
}
