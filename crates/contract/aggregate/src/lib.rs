//! The one reduction from a recording to figures. Reports, studies, comparisons, pages, findings
//! and the database read it, so that no two of them show different numbers for one recording.
//!
//! - A **rate** is what was done over the longest run time: [`Throughput`] has the definition and
//!   where it comes from.
//! - **Which storage** a run reached: [`targets()`].
//! - **Which workers count**, what is reported as one and why a run does not count: [`members()`],
//!   [`flaw`].
//! - **What lies below an engine** cost: [`traffic_per_byte`], [`machine_cpu_ns`].
//! - **Several hosts** are compared by [`hosts_figures`].
//! - **Reports** show [`figures()`], [`interval_figures`] and [`device_figures`]; all figures of a
//!   whole run come from [`WholeRun`].
//!
//! Nothing here makes text or follows the format of another program.

mod below;
mod devices;
mod direction;
mod figures;
mod files;
mod hosts;
mod intervals;
mod jobs;
mod members;
mod run_status;
mod series;
mod shares;
mod steady;
mod targets;
mod throughput;
mod whole;

pub use below::{machine_cpu_ns, traffic_per_byte};
pub use devices::{DeviceFigures, device_figures};
pub use direction::DirectionFigures;
pub use figures::{Figures, figures};
pub use files::{CountedFile, FileDirection, counted_files};
pub use hosts::{HostFigures, HostsFigures, SpanFigures, hosts_figures, start_skew_ns, whole_span};
pub use intervals::{IntervalFigures, interval_figures};
pub use jobs::{CpuFigures, ErrorFigures, JobFigures};
pub use members::{Member, flaw, members};
pub use run_status::{RunStatus, RunStatusLine};
pub use series::{RateSample, SeriesSummary, summed_series, windows};
pub use shares::{Bands, DepthShares, MICROSECOND_BANDS, MILLISECOND_BANDS, NANOSECOND_BANDS, shown_tenths};
pub use steady::SteadyFigures;
pub use targets::{ReachedStorage, targets};
pub use throughput::{Throughput, milliseconds, per_second};
pub use whole::{Latency, WholeRun};
