//! Rust source as tokens, for the rules that follow paths from file to file.
//!
//! Works on masked text ([`crate::rust_text::mask`]), so that comments and literals are not tokens.

use crate::rust_text::is_word;

/// A word, `::`, or any other sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) text: &'t str,
    /// Where it begins, in bytes.
    pub(super) at: usize,
}

impl Token<'_> {
    pub(super) fn is_name(&self) -> bool {
        self.text.as_bytes().first().is_some_and(|byte| is_word(*byte) && !byte.is_ascii_digit())
    }
}

/// All tokens of masked text. Lifetimes are left out, because they look like names.
pub(super) fn tokens(masked: &str) -> Vec<Token<'_>> {
    let bytes = masked.as_bytes();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let word = rest.iter().take_while(|byte| is_word(**byte)).count();
        let length = match rest[0] {
            _ if word > 0 => word,
            b'\'' => {
                at += 1 + rest[1..].iter().take_while(|byte| is_word(**byte)).count();
                continue;
            }
            b':' if rest.get(1) == Some(&b':') => 2,
            byte if byte.is_ascii_whitespace() || !byte.is_ascii() => {
                at += 1;
                continue;
            }
            _ => 1,
        };
        tokens.push(Token { text: &masked[at..at + length], at });
        at += length;
    }
    tokens
}

/// The position after the bracket that closes the one at `open`.
pub(super) fn closing(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth = depth.saturating_sub(1),
            _ => continue,
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// One name that a `use` brings in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    /// The whole path, from its first segment; without the `*` of a glob.
    pub(super) path: Vec<String>,
    /// The name it has here; `None` for a glob.
    pub(super) name: Option<String>,
    /// Whether it has a visibility: a re-export.
    pub(super) is_public: bool,
    /// Where its last segment stands, in bytes.
    pub(super) at: usize,
}

/// What the `use` at `start` imports, and the position after its semicolon.
pub(super) fn imports(tokens: &[Token<'_>], start: usize) -> (Vec<Import>, usize) {
    let is_public = start > 0 && matches!(tokens[start - 1].text, "pub" | ")");
    let length = tokens[start..].iter().position(|token| token.text == ";").unwrap_or(tokens.len() - start);
    let mut found = Vec::new();
    tree(&tokens[start + 1..start + length], &[], is_public, &mut found);
    (found, (start + length + 1).min(tokens.len()))
}

/// One tree of a `use`, below the segments of `prefix`.
fn tree(tokens: &[Token<'_>], prefix: &[String], is_public: bool, found: &mut Vec<Import>) {
    let mut path = prefix.to_vec();
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "::" => {}
            "{" => {
                let inside = &tokens[at + 1..closing(tokens, at).saturating_sub(1).max(at + 1)];
                for branch in branches(inside) {
                    tree(branch, &path, is_public, found);
                }
                return;
            }
            "*" => {
                found.push(Import { path, name: None, is_public, at: token.at });
                return;
            }
            "as" => {
                let name = tokens.get(at + 1).map(|token| token.text.to_owned());
                found.push(Import { path, name, is_public, at: token.at });
                return;
            }
            "self" if !path.is_empty() => {}
            name => path.push(name.to_owned()),
        }
    }
    let Some((last, name)) = tokens.last().zip(path.last().cloned()) else { return };
    found.push(Import { path, name: Some(name), is_public, at: last.at });
}

/// The parts between the commas that stand outside of inner braces.
fn branches<'a, 't>(tokens: &'a [Token<'t>]) -> Vec<&'a [Token<'t>]> {
    let (mut depth, mut start, mut parts) = (0_usize, 0, Vec::new());
    for (at, token) in tokens.iter().enumerate() {
        match token.text {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                parts.push(&tokens[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&tokens[start..]);
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_signs() {
        let texts: Vec<&str> = tokens("fn a<'x>(b: &'x c::D) {}").iter().map(|token| token.text).collect();
        assert_eq!(texts.join(" "), "fn a < > ( b : & c :: D ) { }");
    }

    #[test]
    fn imports_of_every_form() {
        for (text, expected) in [
            ("use a::b;", vec!["a::b = b"]),
            ("use a::{b, c::{self, D as E}, f::*};", vec!["a::b = b", "a::c = c", "a::c::D = E", "a::f = *"]),
            ("use super::{Trait as _,};", vec!["super::Trait = _"]),
        ] {
            let tokens = tokens(text);
            let (found, end) = imports(&tokens, 0);
            let name = |import: &Import| import.name.clone().unwrap_or_else(|| "*".to_owned());
            let found: Vec<String> =
                found.iter().map(|import| format!("{} = {}", import.path.join("::"), name(import))).collect();
            assert_eq!(found, expected, "{text}");
            assert_eq!(end, tokens.len());
        }
        let code = tokens("pub(crate) use a::b; use c;");
        let start = code.iter().position(|token| token.text == "use").unwrap();
        let (found, end) = imports(&code, start);
        assert!(found[0].is_public);
        assert!(!imports(&code, end).0[0].is_public);
    }
}
