//! Options of a store as text: `name=value` with semicolons between, values in braces kept whole.

use crate::{ErrorKind, StoreError};

/// The names and values of such a text, in order; spaces around them are dropped.
pub fn options_of(text: &str) -> Result<Vec<(&str, &str)>, StoreError> {
    let mut options = Vec::new();
    for part in parts(text).map(str::trim).filter(|part| !part.is_empty()) {
        let Some((name, value)) = part.split_once('=') else {
            let message = format!("`{part}` is not an option: write name=value, separated by semicolons");
            return Err(StoreError::new(ErrorKind::Option, message));
        };
        options.push((name.trim(), value.trim()));
    }
    Ok(options)
}

/// Splits at semicolons outside of braces.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_usize;
    text.split(move |letter| {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ';' && depth == 0
    })
}

/// The error for an unknown option, with the known ones.
pub fn unknown_option(store: &str, name: &str, known: &[&str]) -> StoreError {
    let message = format!("{store} has no option `{name}`; its options are {}", known.join(", "));
    StoreError::new(ErrorKind::Option, message)
}

/// Parses the number that an option needs.
pub fn number(name: &str, value: &str) -> Result<u64, StoreError> {
    let message = || format!("`{name}={value}`: expected a whole number");
    value.parse().map_err(|_| StoreError::new(ErrorKind::Option, message()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_hold_together() {
        let text = " a=1; table={x=1;y={z=2;}};; b = c";
        assert_eq!(options_of(text), Ok(vec![("a", "1"), ("table", "{x=1;y={z=2;}}"), ("b", "c")]));
        assert_eq!(options_of(""), Ok(vec![]));
        assert_eq!(options_of("fast").unwrap_err().kind, ErrorKind::Option);
        assert_eq!(number("a", "many").unwrap_err().kind, ErrorKind::Option);
        assert_eq!(number("a", "12"), Ok(12));
    }
}
