//! Reports as one self-contained HTML file: of a study, of a single recording, or of two sets of
//! runs compared with each other. `web` has the pages of a server.
//!
//! Values in, text out: the program reads and writes the files. A page is self-contained: it loads
//! nothing, works without its one script, and is readable in light and dark, on paper, on a
//! telephone and by a screen reader. Every chart has its data as a table next to it. `frame.rs`
//! describes escaping and the isolation of text directions; the table in `charts/choice.rs`
//! determines which figures a study gets.

mod card_page;
mod charts;
mod comparison_page;
mod cost;
mod digest;
mod environment;
mod findings;
mod frame;
mod number;
mod overview;
mod recording_page;
mod results;
mod standing;
mod steady;
mod study_page;
mod summary;
mod trace_page;
mod verdicts;
pub mod web;

pub use card_page::{CardGroup, CardLine, CardReport, CardTable, card_page};
pub use comparison_page::{ComparisonReport, comparison_page};
pub use digest::{DeviceDigest, Digest, DirectionDigest};
pub use findings::warning_lines;
pub use frame::report_policy;
pub use recording_page::recording_page;
pub use study_page::{StudyReport, collection_page, exemplars, study_page};
pub use trace_page::{TraceReport, trace_page};

/// A page, and its figures for callers that want them as files.
#[derive(Debug, Clone)]
pub struct Page {
    /// The document.
    pub html: String,
    /// Its figures, in order.
    pub figures: Vec<iolab_charts::DrawnChart>,
}
