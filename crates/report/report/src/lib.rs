//! Reports: pure functions from a [`iolab_recording::Recording`] to text.
//!
//! One file or folder per format: [`mod@normal`], [`mod@json`], [`mod@terse`], [`logs`],
//! [`intervals`], [`observed`], [`hdr`], [`mod@openmetrics`], [`status`], [`mod@summary`] and
//! [`mod@perf`]. All take their figures from [`iolab_aggregate`], so that formats cannot diverge.
//! fio's formats are reproduced in layout, keys, order and units. Where fio's own figures are known
//! to mislead (extremes of groups, percentiles above the maximum, shares that add up to more than
//! 100 %), the layout stays and the figure is corrected. Nothing here does I/O or reads a clock,
//! the locale or the environment: what depends on them is passed in.

mod calendar;
pub mod columns;
pub mod hdr;
pub mod intervals;
pub mod json;
pub mod log_lines;
pub mod logs;
pub mod normal;
mod number;
pub mod observed;
pub mod openmetrics;
pub mod perf;
pub mod status;
pub mod summary;
pub mod terse;

pub use calendar::iso_text;
pub use hdr::{HdrFile, hdr_files};
pub use intervals::{IntervalLine, intervals_json_lines, intervals_table};
pub use json::{JsonStyle, json};
pub use log_lines::{LogText, OperationLines};
pub use logs::{
    aggregate_bandwidth_log, aggregate_bandwidth_log_name, histogram_log_line, log_file_names, log_line, write_log_line,
};
pub use normal::{Style, calibration_report, normal, normal_body, normal_header};
pub use observed::{observed_json_lines, observed_table};
pub use openmetrics::{OPENMETRICS_TYPE, openmetrics, openmetrics_of_devices, openmetrics_of_runs};
pub use perf::{PerfDetail, perf};
pub use status::{Snapshot, status_line};
pub use summary::summary;
pub use terse::{TerseVersion, terse};

/// The fio version whose formats these are; printed by reports that name one.
pub const FIO_VERSION: &str = "fio-3.42";
