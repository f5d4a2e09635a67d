//! A column: value, width and explanation.

use crate::DeviceActivity;

/// In what amounts of data are shown.
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

/// What kind of figure a column shows; sizes and shares are written differently for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FigureKind {
    /// A rate, a time, a length of a queue.
    Number,
    /// An amount of data.
    Amount,
    /// Percent.
    Share,
}

/// One column.
pub struct DeviceColumn {
    /// Its name, in kilobytes where there is a choice.
    pub name: &'static str,
    /// Its name in megabytes; empty where there is no choice.
    pub mega: &'static str,
    /// Its key in iostat's JSON; empty: the name.
    pub key: &'static str,
    /// Other spellings.
    pub aliases: &'static [&'static str],
    /// Least characters of its values.
    pub width: usize,
    /// What kind of figure it is.
    pub figure: FigureKind,
    /// The figure.
    pub value: fn(&DeviceActivity, DataUnit) -> f64,
    /// What it is, with its unit.
    pub meaning: &'static str,
    /// From counters to figure.
    pub formula: &'static str,
    /// Which fields of `/sys/block/*/stat` it comes from.
    pub source: &'static str,
    /// What it does not say.
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
