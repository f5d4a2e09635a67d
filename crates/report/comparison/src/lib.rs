//! Two sets of runs compared with each other, and the verdict.
//!
//! ```text
//! Recording ─ RunSummary::of_recording ─┐
//!                                       ├─▶ Side, Side ─ hold_against ─▶ ComparisonResult ─▶ describe (text), markdown, JSON, figures
//! fio's JSON ─ read_fio_json ───────────┘                                rows, differences, conditions
//! ```
//!
//! The unit is the run. A row has an interval and a verdict only if there are several runs on each
//! side, paired within blocks if both sides were measured side by side. With one run on each side,
//! the row gets an interval within these runs if their time intervals were recorded, and never a
//! verdict. Percentiles come from merged histograms, are never averaged, and are not shown with
//! fewer samples than they need.
//!
//! [`ComparisonResult`] is plain data. For a forest plot use `ratio` of each [`ComparisonRow`] (log
//! axis, 1 in the middle, the zone of `rules` shaded), its `comparison` for the verdict, and
//! `baseline` and `candidate` for the points.
//!
//! Everything here turns values into values: the program finds and reads files, prints, and decides
//! on exit codes.

mod cells;
mod compare;
mod condition;
mod differences;
mod fio_json;
mod from_recording;
mod markdown;
mod overview;
mod pairing;
mod row;
mod same_storage;
mod side;
mod summary;
mod text;
mod value;

pub use compare::{ComparisonRequest, ComparisonResult, IntervalsFrom, SideFacts, hold_against};
pub use condition::{Above, Condition, ConditionError, JudgedCondition, Judgement, RowJudgement};
pub use differences::Difference;
pub use fio_json::{FioJsonError, read_fio_json};
pub use markdown::markdown;
pub use overview::{RunFigure, overview};
pub use pairing::PairingChoice;
pub use row::{Basis, ComparisonRow};
pub use side::{ComparedRun, Side};
pub use summary::{
    DirectionSummary, IntervalSummary, JobSummary, Latencies, OperationType, RunSummary, SummaryInterval,
};
pub use text::{describe, method};
pub use value::LatencyKind;

use condition::judge as judge_condition;
