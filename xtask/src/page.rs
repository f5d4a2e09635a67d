//! Puts generated tables between two marks of a hand-written page; the text around them stays.

use crate::repository::Repository;

/// The mark that ends every block.
const END: &str = "<!-- end of tables -->";

/// Replaces what stands between the line `begin` and the next end mark of `page`.
pub(crate) fn put(repository: &Repository, page: &str, begin: &str, tables: &str) -> Result<(), String> {
    let path = repository.root.join(page);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{page}: {error}"))?;
    let text = replaced(&text, begin, tables).ok_or_else(|| format!("{page} lacks {begin} or {END}"))?;
    std::fs::write(&path, text).map_err(|error| format!("{page}: {error}"))
}

fn replaced(text: &str, begin: &str, tables: &str) -> Option<String> {
    let (head, rest) = text.split_once(begin)?;
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{begin}\n\n{}\n\n{END}{tail}", tables.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_block_that_is_named_changes() {
        let page = "a\n<!-- one -->\nold\n<!-- end of tables -->\nb\n<!-- two -->\nstays\n<!-- end of tables -->\n";
        let changed = replaced(page, "<!-- one -->", "new\n").unwrap();
        assert_eq!(
            changed,
            "a\n<!-- one -->\n\nnew\n\n<!-- end of tables -->\nb\n<!-- two -->\nstays\n<!-- end of tables -->\n"
        );
        assert_eq!(replaced(page, "<!-- three -->", "new"), None);
    }
}
