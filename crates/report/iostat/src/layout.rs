//! The layout of iostat's text: the columns, the tables, and on which side the name of the device
//! is.

use crate::{CPU, CpuTimes, DataUnit, DeviceActivity, DeviceColumn, EXTENDED, PLAIN, find};

const NAME_WIDTH: usize = 13;
const AMOUNT_WIDTH: usize = 10;
const CPU_WIDTH: usize = 7;

/// The columns of `iostat -s` and of `iostat -x -s`.
const SHORT_PLAIN: [&str; 3] = ["tps", "kB_read/s", "kB_w+d/s"];
const SHORT_EXTENDED: [&str; 7] = ["tps", "kB/s", "rqm/s", "await", "areq-sz", "aqu-sz", "%util"];
/// Columns of each table when the extended ones are split: those of reads, of writes, of discards,
/// and the rest.
const BROKEN: usize = 6;

/// How tables look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportLayout {
    /// The columns of `-x`.
    pub extended: bool,
    /// The few columns of `-s`.
    pub short: bool,
    /// The unit of amounts.
    pub unit: DataUnit,
    /// Digits after the point, 0 to 2 (`--dec`).
    pub decimals: usize,
    /// Sizes with letters, shares with a sign (`--human`).
    pub human: bool,
    /// The name of the device on the right, where it can be long (`--pretty`).
    pub name_last: bool,
    /// The extended columns in several tables, one below the other (`--pretty` without
    /// `--compact`).
    pub broken: bool,
}

impl Default for ReportLayout {
    fn default() -> Self {
        let (extended, short, human, name_last, broken) = (false, false, false, false, false);
        ReportLayout { extended, short, unit: DataUnit::Kilobytes, decimals: 2, human, name_last, broken }
    }
}

impl ReportLayout {
    /// The columns shown; in the plain tables, amounts since the last report follow them as
    /// integers.
    pub fn columns(&self) -> Vec<&'static DeviceColumn> {
        let named = |names: &[&str]| names.iter().filter_map(|name| find(name)).collect();
        match (self.extended, self.short) {
            (true, true) => named(&SHORT_EXTENDED),
            (true, false) => EXTENDED.iter().collect(),
            (false, true) => named(&SHORT_PLAIN),
            (false, false) => PLAIN.iter().collect(),
        }
    }

    /// The tables, each with its header and followed by an empty line. Each table has a line for
    /// each device.
    pub fn tables(&self, devices: &[(String, DeviceActivity)]) -> String {
        let columns = self.columns();
        let at_once = if self.broken && self.extended && !self.short { BROKEN } else { columns.len() };
        let table = |columns: &[&'static DeviceColumn]| {
            let rows = devices.iter().map(|(name, activity)| self.row(columns, name, activity));
            std::iter::once(self.header(columns)).chain(rows).map(|line| line + "\n").collect::<String>() + "\n"
        };
        columns.chunks(at_once).map(table).collect()
    }

    /// The CPUs' line for the time between two samples.
    pub fn cpu_row(&self, before: &CpuTimes, after: &CpuTimes) -> String {
        let shares = CPU.iter().map(|column| self.share(column.percent(before, after), CPU_WIDTH));
        shares.fold(" ".repeat(7), |line, share| line + " " + &share)
    }

    fn header(&self, columns: &[&'static DeviceColumn]) -> String {
        let names = columns.iter().map(|column| format!("{:>width$}", column.name_in(self.unit), width = column.width));
        let amounts = amounts(self, &DeviceActivity::of_group(&[], 0)).into_iter();
        self.line("Device", names.chain(amounts.map(|(name, _)| format!("{name:>AMOUNT_WIDTH$}"))))
    }

    fn row(&self, columns: &[&'static DeviceColumn], name: &str, activity: &DeviceActivity) -> String {
        let figures = columns.iter().map(|column| self.cell(column, activity));
        let amounts = amounts(self, activity).into_iter();
        self.line(name, figures.chain(amounts.map(|(_, sectors)| self.amount(sectors, AMOUNT_WIDTH))))
    }

    fn line(&self, name: &str, cells: impl Iterator<Item = String>) -> String {
        let cells: String = cells.flat_map(|cell| [" ".to_owned(), cell]).collect();
        if self.name_last { format!("{cells} {name}") } else { format!("{name:<NAME_WIDTH$}{cells}") }
    }
}

/// The header of the CPUs' line.
pub fn cpu_header() -> String {
    CPU.iter().fold("avg-cpu:".to_owned(), |line, column| {
        line + &format!("{:>width$}", column.name, width = column.header_width)
    })
}

/// The additional fields of plain tables: amounts with their names, in sectors.
pub(crate) fn amounts(layout: &ReportLayout, activity: &DeviceActivity) -> Vec<(&'static str, u64)> {
    let gained = &activity.gained;
    let (read, written, discarded) = (gained.read_sectors, gained.write_sectors, gained.discard_sectors);
    match (layout.extended, layout.short, layout.unit) {
        (true, ..) => Vec::new(),
        (_, true, DataUnit::Kilobytes) => vec![("kB_read", read), ("kB_w+d", written + discarded)],
        (_, true, DataUnit::Megabytes) => vec![("MB_read", read), ("MB_w+d", written + discarded)],
        (_, false, DataUnit::Kilobytes) => vec![("kB_read", read), ("kB_wrtn", written), ("kB_dscd", discarded)],
        (_, false, DataUnit::Megabytes) => vec![("MB_read", read), ("MB_wrtn", written), ("MB_dscd", discarded)],
    }
}

#[cfg(test)]
mod tests;
