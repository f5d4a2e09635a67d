//! Paragraphs that are broken into lines between words.

/// Columns of a line when the width of the terminal is unknown.
pub const USUAL_COLUMNS: usize = 100;

/// The indentation of all lines of a paragraph except the first.
const INDENT: &str = "      ";

/// Breaks `head` and `body` into lines of at most `columns`, each with a newline; lines after the
/// first are indented. A word that is longer than a line gets its own line.
pub fn paragraph(head: &str, body: &str, columns: usize) -> String {
    let mut text = String::new();
    let mut line = head.to_owned();
    for (at, word) in body.split_whitespace().enumerate() {
        if at > 0 && line.chars().count() + 1 + word.chars().count() > columns {
            text.push_str(&line);
            text.push('\n');
            line = format!("{INDENT}{word}");
        } else {
            if at > 0 {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    text + &line + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_wherever_the_terminal_ends() {
        for columns in [20, 40, 80, USUAL_COLUMNS, 200] {
            let text = paragraph("head: ", &"word ".repeat(60), columns);
            assert!(text.lines().count() > 1 && text.lines().all(|line| line.len() <= columns), "{columns}: {text}");
            assert!(text.lines().skip(1).all(|line| line.starts_with("      word")), "{text}");
            // The longest line has no room for another word.
            assert!(text.lines().any(|line| line.len() + " word".len() > columns), "{columns}: {text}");
        }
    }

    #[test]
    fn a_word_longer_than_the_line_is_kept_whole() {
        assert_eq!(paragraph("a: ", "one extraordinarily two", 12), "a: one\n      extraordinarily\n      two\n");
    }
}
