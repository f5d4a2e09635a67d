//! Tables of aligned cells.

/// How the cells of a column are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Left: for words.
    Left,
    /// Right: for numbers.
    Right,
}

/// Formats lines as columns. Each column is as wide as its widest cell, and columns are two blanks
/// apart, without blanks at the end. A line may have fewer cells than others.
pub fn aligned<L: AsRef<[String]>>(lines: &[L], side: impl Fn(usize) -> Alignment) -> String {
    let columns = lines.iter().map(|line| line.as_ref().len()).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line| line.as_ref().get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for line in lines {
        let cells = line.as_ref().iter().zip(&widths).enumerate().map(|(column, (cell, &width))| match side(column) {
            Alignment::Left => format!("{cell:<width$}"),
            Alignment::Right => format!("{cell:>width$}"),
        });
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let lines = [vec!["job", "µs", "note"], vec!["a long one", "1234", ""], vec!["b"]];
        let lines = lines.map(|line| line.into_iter().map(str::to_owned).collect::<Vec<_>>());
        let numbers_right = |column| if column == 1 { Alignment::Right } else { Alignment::Left };
        assert_eq!(aligned(&lines, numbers_right), "job           µs  note\na long one  1234\nb\n");
        assert_eq!(aligned::<Vec<String>>(&[], numbers_right), "");
    }
}
