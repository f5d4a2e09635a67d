//! A study: one job under several settings, measured in blocks, so that differences can be told
//! from noise.
//!
//! ```text
//! study file ─ read ─▶ Study ─ design ─▶ Design ─ (trials, run by the program) ─▶ recordings ─ analyse ─▶ Analysis ─▶ text, JSON
//!                                        configurations, order                        figures of a trial
//! ```
//!
//! A **configuration** is one point of every axis, a **trial** is one run of it, a **block** is one
//! trial of every configuration, in random order. The order follows from the study's seed, and what
//! to do next from what was done ([`next()`]), so a study that was interrupted goes on where it
//! stopped. A **collection** is several studies of one matter.
//!
//! Everything here turns values into values: the program reads files, runs trials and prints.

mod analysis;
mod answer;
mod axis;
mod collection;
mod comparisons;
mod design;
mod device_figure;
mod error;
mod figure;
mod file;
mod job_text;
mod ladder;
mod ladder_result;
mod pace;
mod precondition;
mod profile;
mod reach;
mod reported;
mod same_storage;
mod statements;
mod steps;
mod text;
mod vary;
mod warm_up;
mod words;

pub use analysis::{Analysis, Behind, Row, Trial, TrialWarmUp, analyse};
pub use answer::{Answer, answer};
pub use axis::{Axis, Point, expand};
pub use collection::{Collection, part_name, read_collection};
pub use comparisons::{AxisEffect, Contrast, FarValue, Interaction, PointEffect, Standing};
pub use design::{Configuration, Design, Planned, Setting, design};
pub use device_figure::DeviceFigure;
pub use error::{Place, StudyError};
pub use figure::{Figure, Measure, Operations, Side, known_percentile};
pub use file::{AutoBlocks, JobSource, Quick, Study, read};
pub use job_text::with_settings;
pub use ladder::{Ladder, Slo};
pub use ladder_result::{Capacity, Knee, KneeRule, LadderResult, LevelPercentile, LevelResult};
pub use pace::Pace;
pub use precondition::{Before, Once, Precondition, PreconditionKind, Preconditioned, Purge};
pub use profile::{PROFILES, Profile, profile};
pub use reported::{Printed, Reported, with_values};
pub use steps::{Results, Step, StepResult, blocks_to_run, missing, next, preconditionings};
pub use text::{describe_design, describe_results, shown};
pub use vary::axis_of_words;
pub use warm_up::{WarmUp, WarmUpMethod, without_warm_up};
pub use words::{ratio_with_limits, ratio_words, size_word, verdict_meaning, word, would_decide, would_decide_all};
