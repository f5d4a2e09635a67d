//! Formats one figure in a given width: with fixed decimals, or for people (`--human`): sizes with
//! a unit letter, shares with a percent sign.
//!
//! In the form for people, sizes have at most one decimal and a letter for the power of 1024, from
//! `k` on; a share uses one of its characters for the sign.

use crate::{DataUnit, DeviceActivity, DeviceColumn, FigureKind, ReportLayout};

const LETTERS: [char; 5] = ['k', 'M', 'G', 'T', 'P'];
/// Printed when there are no more unit letters.
const BEYOND: char = '?';

impl ReportLayout {
    /// The column's figure, right-aligned in the column's width.
    pub(crate) fn cell(&self, column: &DeviceColumn, activity: &DeviceActivity) -> String {
        let width = column.width;
        match column.figure {
            FigureKind::Amount if self.human => {
                sized((column.value)(activity, DataUnit::Kilobytes), width, self.decimals)
            }
            FigureKind::Share => self.share((column.value)(activity, self.unit), width),
            _ => number((column.value)(activity, self.unit), width, self.decimals),
        }
    }

    /// An amount in sectors as an integer of the unit.
    pub(crate) fn amount(&self, sectors: u64, width: usize) -> String {
        if self.human {
            sized(sectors as f64 / 2.0, width, self.decimals)
        } else {
            format!("{:>width$}", sectors / self.unit.sectors())
        }
    }

    /// Percent.
    pub(crate) fn share(&self, percent: f64, width: usize) -> String {
        if self.human {
            number(percent, width - 1, self.decimals.min(1)) + "%"
        } else {
            number(percent, width, self.decimals)
        }
    }
}

fn number(value: f64, width: usize, decimals: usize) -> String {
    format!("{value:>width$.decimals$}")
}

/// Kilobytes, with the largest suitable unit letter.
fn sized(kilobytes: f64, width: usize, decimals: usize) -> String {
    let (mut value, mut letters) = (kilobytes, LETTERS.iter());
    let mut letter = letters.next().copied().unwrap_or(BEYOND);
    while value >= 1024.0 && letter != BEYOND {
        value /= 1024.0;
        letter = letters.next().copied().unwrap_or(BEYOND);
    }
    format!("{}{letter}", number(value, width - 1, decimals.min(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_letters() {
        let cases = [
            (0.0, 2, "    0.0k"),
            (1023.9, 2, " 1023.9k"),
            (1024.0, 2, "    1.0M"),
            (1536.0, 0, "      2M"),
            (3.0 * 1024.0 * 1024.0, 1, "    3.0G"),
            (1024_f64.powi(5), 2, "    1.0?"),
            (1024_f64.powi(6), 2, " 1024.0?"),
        ];
        for (kilobytes, decimals, text) in cases {
            assert_eq!(sized(kilobytes, 8, decimals), text, "{kilobytes}");
        }
    }
}
