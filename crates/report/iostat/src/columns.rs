//! A column: value, width and explanation.

use crate::DeviceActivity;

/// The unit of amounts of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DataUnit {
    /// 1024 bytes (`-k`).
    #[default]
    Kilobytes,
    /// 1024 × 1024 bytes (`-m`).
    Megabytes,
}

impl DataUnit {
    /// Sectors of 512 bytes in this unit.
    pub(crate) fn of_sectors(self, sectors: f64) -> f64 {
        sectors / self.sectors() as f64
    }

    pub(crate) fn sectors(self) -> u64 {
        match self {
            DataUnit::Kilobytes => 2,
            DataUnit::Megabytes => 2048,
        }
    }
}

/// The kind of a column's figure; sizes and shares have a special form for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    /// A rate, a time, a queue length.
    Number,
    /// An amount of data.
    Amount,
    /// Percent.
    Share,
}

/// One column.
pub struct DeviceColumn {
    /// Its name, in kilobytes if there is a choice.
    pub name: &'static str,
    /// Its name in megabytes; empty if there is no choice.
    pub mega: &'static str,
    /// Its key in iostat's JSON; if empty, the name.
    pub key: &'static str,
    /// Other spellings.
    pub aliases: &'static [&'static str],
    /// Minimum width of its values, characters.
    pub width: usize,
    /// What kind of figure it is.
    pub figure: FigureKind,
    /// Computes the figure.
    pub value: fn(&DeviceActivity, DataUnit) -> f64,
    /// What it is, with its unit.
    pub meaning: &'static str,
    /// How it is computed from counters.
    pub formula: &'static str,
    /// The fields of `/sys/block/*/stat` that it is computed from.
    pub source: &'static str,
    /// What it does not show.
    pub misleads: &'static str,
}

impl DeviceColumn {
    /// Its name in this unit.
    pub fn name_in(&self, unit: DataUnit) -> &'static str {
        if unit == DataUnit::Megabytes && !self.mega.is_empty() { self.mega } else { self.name }
    }

    /// Its key in JSON in this unit.
    pub(crate) fn key_in(&self, unit: DataUnit) -> &'static str {
        if self.key.is_empty() { self.name_in(unit) } else { self.key }
    }
}
