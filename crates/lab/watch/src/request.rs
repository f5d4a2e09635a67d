//! What is to be watched, and why it cannot be.

use iolab_iostat::ReportLayout;

/// What is watched, how often, and how it is shown.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Devices, the interval in seconds and the number of reports, as iostat takes them.
    pub words: Vec<String>,
    /// Partitions of these devices (with commas), of all used ones (empty), or `ALL`.
    pub partitions: Option<String>,
    /// For each group its name and its devices.
    pub groups: Vec<Vec<String>>,
    /// The sums of groups, without their devices.
    pub only_groups: bool,
    /// Names of the device mapper instead of `dm-0`.
    pub mapper_names: bool,
    /// Persistent names: a folder of `/dev/disk`, without `by-`.
    pub persistent: Option<String>,
    /// The first report, which is of the time since boot, is left out.
    pub skip_first: bool,
    /// Whether each report is also told as metrics.
    pub metrics: bool,
    /// The whole terminal instead of text.
    pub full_screen: bool,
    /// What is printed, and how.
    pub form: WatchFormat,
}

/// Why watching cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// What was asked for cannot be shown: the message says what can.
    #[error("{0}")]
    Mistake(String),
    /// The terminal.
    #[error("{what}: {source}")]
    Terminal {
        /// What was tried.
        what: &'static str,
        /// What it answered.
        source: std::io::Error,
    },
}

impl WatchError {
    pub(crate) fn terminal(what: &'static str) -> impl FnOnce(std::io::Error) -> WatchError {
        move |source| WatchError::Terminal { what, source }
    }
}

/// What is printed, and how.
#[derive(Debug, Clone, Copy)]
pub struct WatchFormat {
    /// How iostat's tables look.
    pub layout: ReportLayout,
    /// The table of the processors.
    pub cpu: bool,
    /// The table of the devices.
    pub devices: bool,
    /// The time before each report.
    pub timestamps: bool,
    /// Devices that did nothing are left out.
    pub omit_idle: bool,
    /// iostat's JSON.
    pub document: bool,
    /// JSON lines.
    pub lines: bool,
    /// Lines of what iostat has no column for.
    pub more: bool,
}
