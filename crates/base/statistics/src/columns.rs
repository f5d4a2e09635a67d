//! Tables of numbers and the medians of their columns, fast for few rows: simulations polish
//! thousands of layouts.

/// More values than this are partitioned instead of sorted.
const FEW: usize = 16;

/// The median, or 0 without values. It reorders the values.
pub(crate) fn median_of(values: &mut [f64]) -> f64 {
    let count = values.len();
    if count == 0 {
        return 0.0;
    }
    if count <= FEW {
        sort_columns(values, 1);
        return (values[count / 2] + values[(count - 1) / 2]) / 2.0;
    }
    let (below, upper, _) = values.select_nth_unstable_by(count / 2, f64::total_cmp);
    let upper = *upper;
    if count % 2 == 1 { upper } else { (below.iter().copied().fold(f64::NEG_INFINITY, f64::max) + upper) / 2.0 }
}

/// A table of numbers, row after row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Table {
    cells: Vec<f64>,
    columns: usize,
}

impl Table {
    /// Rows of the same length.
    pub(crate) fn of(rows: &[Vec<f64>]) -> Table {
        Table { cells: rows.concat(), columns: rows.first().map_or(0, Vec::len) }
    }

    pub(crate) fn rows(&self) -> impl Iterator<Item = &[f64]> {
        self.cells.chunks_exact(self.columns.max(1))
    }

    pub(crate) fn cells_mut(&mut self) -> &mut [f64] {
        &mut self.cells
    }

    /// The table with rows and columns exchanged.
    pub(crate) fn turned(&self) -> Table {
        let rows = self.cells.len() / self.columns.max(1);
        let mut cells = Vec::with_capacity(self.cells.len());
        for column in 0..self.columns {
            cells.extend(self.cells.iter().skip(column).step_by(self.columns));
        }
        Table { cells, columns: rows }
    }

    /// The median of each column. All columns are sorted at once, which the compiler does with
    /// several values in one instruction and without a branch that depends on them.
    pub(crate) fn medians_of_columns(&self) -> Vec<f64> {
        let rows = self.cells.len() / self.columns.max(1);
        if rows == 0 || rows > FEW {
            return self.turned().cells.chunks_exact_mut(rows.max(1)).map(median_of).collect();
        }
        let mut sorted = self.cells.clone();
        sort_columns(&mut sorted, self.columns);
        let row = |number: usize| &sorted[number * self.columns..][..self.columns];
        row(rows / 2).iter().zip(row((rows - 1) / 2)).map(|(upper, lower)| (upper + lower) / 2.0).collect()
    }

    /// Subtracts from each column its own number.
    pub(crate) fn subtract_from_columns(&mut self, numbers: &[f64]) {
        for row in self.cells.chunks_exact_mut(self.columns.max(1)) {
            row.iter_mut().zip(numbers).for_each(|(value, number)| *value -= number);
        }
    }
}

/// Sorts each column of a table, given as its rows one after the other: neighbours are exchanged
/// where they are out of order, as often as there are rows (odd-even transposition, Habermann
/// 1972).
fn sort_columns(cells: &mut [f64], columns: usize) {
    let rows = cells.len() / columns;
    for round in 0..rows {
        for pair in cells[round % 2 * columns..].chunks_exact_mut(2 * columns) {
            let (upper, lower) = pair.split_at_mut(columns);
            for (one, other) in upper.iter_mut().zip(lower) {
                let is_out_of_order = *other < *one;
                (*one, *other) = if is_out_of_order { (*other, *one) } else { (*one, *other) };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Random, median};

    #[test]
    fn columns_have_the_medians_of_their_values() {
        let mut random = Random::new(1);
        for (rows, columns) in (1..=20).flat_map(|rows| [1, 2, 5, 33].map(|columns| (rows, columns))) {
            // Few different numbers, so that some are equal.
            let mut row = || (0..columns).map(|_| random.below(9) as f64 - 4.0).collect();
            let table = Table::of(&(0..rows).map(|_| row()).collect::<Vec<Vec<f64>>>());
            let turned = table.turned();
            assert_eq!(turned.turned(), table);
            let expected: Vec<f64> = turned.rows().filter_map(median).collect();
            assert_eq!(table.medians_of_columns(), expected, "{rows} x {columns}");
            let alone: Vec<f64> = turned.rows().map(|row| median_of(&mut row.to_vec())).collect();
            assert_eq!(alone, expected, "{rows} x {columns}");
        }
    }
}
