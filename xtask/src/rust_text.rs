//! Minimal parsing of Rust source for the checks: which parts are code, and where functions and
//! test modules are.
//!
//! [`mask`] blanks comments and literals without moving anything, so that line numbers stay correct
//! and a word in a string is never taken for code. It is not a parser: macros that unbalance braces
//! would confuse it, and rustfmt would not accept them either.

/// One function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Line of its `fn`, from 1.
    pub(crate) line: usize,
    /// Lines of code between its braces; blank lines and comments do not count.
    pub(crate) length: usize,
}

/// The source with comments and the insides of string and character literals replaced by blanks.
pub(crate) fn mask(source: &str) -> String {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = token_end(bytes, at);
        if let Some((from, to)) = hidden_part(bytes, at, end) {
            out[from..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
        at = end;
    }
    // Only whole characters inside literals and comments were blanked, byte by byte.
    String::from_utf8_lossy(&out).into_owned()
}

/// End of the comment, literal or single byte that starts at `at`.
fn token_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    if rest.starts_with(b"//") {
        return at + rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    }
    if rest.starts_with(b"/*") {
        return block_comment_end(bytes, at);
    }
    if let Some(end) = raw_string_end(bytes, at) {
        return end;
    }
    match rest[0] {
        b'"' => quoted_end(bytes, at, b'"'),
        b'\'' if is_character_literal(rest) => quoted_end(bytes, at, b'\''),
        _ => at + 1,
    }
}

/// The part of a token that must not be read as code.
fn hidden_part(bytes: &[u8], at: usize, end: usize) -> Option<(usize, usize)> {
    if end <= at + 1 {
        return None;
    }
    Some(if bytes[at] == b'/' { (at, end) } else { (at + 1, end - 1) })
}

fn block_comment_end(bytes: &[u8], at: usize) -> usize {
    let (mut depth, mut here) = (0, at);
    while here < bytes.len() {
        if bytes[here..].starts_with(b"/*") {
            (depth, here) = (depth + 1, here + 2);
        } else if bytes[here..].starts_with(b"*/") {
            (depth, here) = (depth - 1, here + 2);
            if depth == 0 {
                return here;
            }
        } else {
            here += 1;
        }
    }
    here
}

/// `r"…"`, `r#"…"#`, `br#"…"#`.
fn raw_string_end(bytes: &[u8], at: usize) -> Option<usize> {
    if bytes[at] != b'r' || (at > 0 && is_word(bytes[at - 1]) && bytes[at - 1] != b'b' && bytes[at - 1] != b'c') {
        return None;
    }
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    if bytes.get(at + 1 + hashes) != Some(&b'"') {
        return None;
    }
    let close: Vec<u8> = std::iter::once(b'"').chain(std::iter::repeat_n(b'#', hashes)).collect();
    let body = at + hashes + 2;
    let found = bytes[body..].windows(close.len()).position(|window| window == close);
    Some(found.map_or(bytes.len(), |position| body + position + close.len()))
}

fn quoted_end(bytes: &[u8], at: usize, quote: u8) -> usize {
    let mut here = at + 1;
    while here < bytes.len() {
        match bytes[here] {
            b'\\' => here += 2,
            byte if byte == quote => return here + 1,
            _ => here += 1,
        }
    }
    bytes.len()
}

/// `'x'` and `'\n'`, as opposed to the lifetime `'x`.
fn is_character_literal(rest: &[u8]) -> bool {
    match rest.get(1) {
        Some(b'\\') => true,
        Some(first) if *first < 0x80 => rest.get(2) == Some(&b'\''),
        Some(_) => rest.iter().take(6).skip(2).any(|byte| *byte == b'\''),
        None => false,
    }
}

pub(crate) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Positions of `word` in masked text, as a word of its own.
pub(crate) fn word_positions(masked: &str, word: &str) -> Vec<usize> {
    let bytes = masked.as_bytes();
    let stands_alone = |at: &usize| {
        let before = at.checked_sub(1).map(|at| bytes[at]);
        let after = bytes.get(at + word.len()).copied();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    masked.match_indices(word).map(|(at, _)| at).filter(stands_alone).collect()
}

/// Line of a position, from 1.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// Position after the brace that closes the one at `open`.
fn matching_brace(masked: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in masked.bytes().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    masked.len()
}

/// All functions with a body.
pub(crate) fn functions(masked: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for at in word_positions(masked, "fn") {
        let signature = &masked[at + 2..];
        let name: String = signature.trim_start().bytes().take_while(|byte| is_word(*byte)).map(char::from).collect();
        let Some(open) = body_start(signature) else { continue };
        if name.is_empty() {
            continue; // the type `fn(u8)`
        }
        let (open, close) = (at + 2 + open, matching_brace(masked, at + 2 + open));
        let body = masked.get(open + 1..close.saturating_sub(1)).unwrap_or_default();
        let length = body.lines().filter(|line| !line.trim().is_empty()).count();
        found.push(Function { name, line: line_of(masked, at), length });
    }
    found
}

/// Position of the `{` that opens the body; `None` for a declaration without one.
fn body_start(signature: &str) -> Option<usize> {
    let mut depth = 0_i32;
    for (at, byte) in signature.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(at),
            b';' if depth == 0 => return None,
            _ if depth < 0 => return None,
            _ => {}
        }
    }
    None
}

/// The masked text with `#[cfg(test)] mod … { … }` blanked.
pub(crate) fn without_test_modules(masked: &str) -> String {
    let mut out = masked.to_owned();
    for (at, _) in masked.match_indices("#[cfg(test)]") {
        let rest = &masked[at..];
        let Some(open) = rest.find('{') else { continue };
        let head = &rest[..open];
        if !head.contains("mod ") || head.contains(';') {
            continue;
        }
        let end = matching_brace(masked, at + open);
        let blank: String = masked[at..end].chars().map(|char| if char == '\n' { '\n' } else { ' ' }).collect();
        if blank.len() == end - at {
            out.replace_range(at..end, &blank);
        }
    }
    out
}

/// The masked text with every item, statement or field after `#[cfg(test)]` blanked.
pub(crate) fn without_test_items(masked: &str) -> String {
    let mut out = masked.as_bytes().to_vec();
    for (at, attribute) in masked.match_indices("#[cfg(test)]") {
        let from = at + attribute.len();
        let end = from + item_length(&masked[from..]);
        out[at..end].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// The length of an item: to its semicolon, or to the end of its braces.
fn item_length(masked: &str) -> usize {
    let mut depth = 0_usize;
    for (at, byte) in masked.bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            b'{' if depth == 0 => return matching_brace(masked, at),
            b';' | b',' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    masked.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_in_place() {
        for (source, expected) in [
            ("a // todo\nb", "a        \nb"),
            ("a /* x /* y */ z */ b", "a                   b"),
            ("f(\"un\\\"safe\")", "f(\"        \")"),
            ("r#\"a\"b\"#;", "r      #;"),
            ("'{' 'a x", "' ' 'a x"),
            ("'\\'' y", "'  ' y"),
            ("b'x' r.y", "b' ' r.y"),
        ] {
            assert_eq!(mask(source), expected, "{source}");
        }
    }

    #[test]
    fn functions_and_their_lengths() {
        let source =
            "fn one() {\n    a();\n\n    // why\n    b();\n}\ntrait T { fn none(&self); fn two(f: fn(u8)) { x } }\n";
        let found: Vec<(String, usize, usize)> =
            functions(&mask(source)).into_iter().map(|f| (f.name, f.line, f.length)).collect();
        assert_eq!(found, [("one".into(), 1, 2), ("two".into(), 7, 1)]);
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(word_positions("unsafe unsafe_code (unsafe)", "unsafe"), [0, 20]);
    }

    #[test]
    fn test_items_are_left_out() {
        for (source, expected) in [
            ("#[cfg(test)]\nmod tests;\nfn g() {}", "\nfn g() {}"),
            ("#[cfg(test)] #[allow(a)] fn f(a: [u8; 2]) { x } fn g() {}", "fn g() {}"),
            ("#[cfg(test)] use a::b; use c;", "use c;"),
        ] {
            assert_eq!(without_test_items(source).trim_start_matches(' ').replace("  ", "").trim(), expected.trim());
        }
    }

    #[test]
    fn test_modules_are_left_out() {
        let source = "use a;\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\nfn f() {}\n";
        let rest = without_test_modules(&mask(source));
        assert!(!rest.contains("std::fs") && rest.contains("fn f"));
        assert_eq!(without_test_modules("#[cfg(test)]\nmod tests;\nfn g() {}"), "#[cfg(test)]\nmod tests;\nfn g() {}");
    }
}
