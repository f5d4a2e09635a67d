//! The columns of `iostat -x` for two samples of a block device, with the names, formulas, rounding
//! and widths of sysstat.
//!
//! ```text
//! two DeviceSamples ─▶ Activity (counters gained, time between) ─▶ Column::value ─▶ header(), row(), json_object()
//! ```
//! Each column has its formula, the place where the kernel counts its inputs, and how it can
//! mislead: `iolab explain` and the reference page come from the same table. The kernel's counters
//! are described in Documentation/block/stat.rst and Documentation/admin-guide/iostats.rst, the
//! columns in iostat(1). Nothing here reads a counter.

mod activity;
mod cells;
mod columns;
mod cpu;
mod json;
mod layout;
mod reference;
mod short;
mod table;

pub use activity::DeviceActivity;
pub use columns::{DataUnit, DeviceColumn, FigureKind};
pub use cpu::{CPU, CpuColumn, CpuTimes};
pub use json::{cpu_json, json_object};
pub use layout::{ReportLayout, cpu_header};
pub use reference::{find, reference_page, text};
pub use short::SHORT;
pub use table::{EXTENDED, PLAIN};
