//! A study: one job under several settings, measured in blocks, so that differences can be
//! distinguished from noise.
//!
//! ```text
//! study file ─ read ─▶ Study ─ design ─▶ Design ─ (trials, run by the program) ─▶ recordings ─ analyse ─▶ Analysis ─▶ text, JSON
//!                                        configurations, order                        figures of a trial
//! ```
//!
//! A **configuration** is one point of every axis, a **trial** is one run of it, a **block** is one
//! trial of every configuration, in random order. The order follows from the study's seed, and the
//! next step from what has been done ([`next()`]), so that an interrupted study continues where it
//! stopped. A **collection** is several studies of one subject.
//!
//! Everything here turns values into values: the program reads files, runs trials and prints.

mod analysis;
mod answer;
mod axis;
mod collection;
mod comparisons;
mod conditions;
mod design;
mod device;
mod device_figure;
mod error;
mod figure;
mod figure_lines;
mod file;
mod job_text;
mod ladder;
mod ladder_result;
mod needs;
mod on_device;
mod on_hosts;
mod pace;
mod precondition;
mod profile;
mod quick;
mod reach;
mod reported;
mod rows;
mod same_storage;
mod statements;
mod steps;
mod study_hosts;
mod text;
mod trial;
mod trial_figures;
mod vary;
mod warm_up;
mod words;

pub use analysis::{ANALYSIS_FORMAT, Analysis, TrialWarmUp, analyse};
pub use answer::{StudyAnswer, answer};
pub use axis::{Axis, JobSetting, Point, expand};
pub use collection::{Collection, part_name, read_collection};
pub use comparisons::{AxisEffect, Contrast, FarValue, Interaction, PointEffect, Standing};
pub use conditions::GivenCondition;
pub use design::{Configuration, Design, design};
pub use device::{DeviceForm, ServedDevice};
pub use device_figure::DeviceFigure;
pub use error::{StudyError, TextPlace};
pub use figure::{Figure, FigureDirection, Measure, OperationFigures, known_percentile};
pub use figure_lines::{FIGURE_COLUMNS, FigureLine, LineKind, figure_lines};
pub use file::{AutoBlocks, Quick, Study, place_of, read};
pub use job_text::{JobSource, with_settings};
pub use ladder::{Ladder, Slo};
pub use ladder_result::{Knee, KneeRule, LadderResult, LevelPercentile, LevelResult, SloCapacity};
pub use pace::TrialTimes;
pub use precondition::{Before, PreconditionFrequency, PreconditionKind, Preconditioned, Preconditioning, Purge};
pub use profile::{PROFILES, StudyProfile, profile};
pub use reported::{Printed, Reported, with_values};
pub use rows::FigureValues;
pub use steps::{Step, StepResult, TrialResults, blocks_to_run, missing, next, preconditionings};
pub use study_hosts::StudyHosts;
pub use text::{describe_design, describe_results};
pub use trial::{Behind, Trial, TrialId};
pub use vary::axis_of_words;
pub use warm_up::{WarmUp, WarmUpMethod, without_warm_up};
pub use words::{
    ratio_with_limits, ratio_words, shown, size_word, verdict_meaning, word, would_decide, would_decide_all,
};
