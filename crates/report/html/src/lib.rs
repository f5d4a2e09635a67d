//! Reports as one self-contained HTML file: of a study, of a single recording, or of two sets of
//! runs compared with each other.
//!
//! Values in, text out: files are read and written by the program. A page needs nothing but itself:
//! it loads nothing, can do without its one script, and reads in light and dark, on paper, on a
//! telephone and aloud. Every chart has its data as a table beside it. What is escaped, and how
//! directions of text are kept apart, is in `frame.rs`; which figures a study gets is in the table
//! of `charts/choice.rs`.

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

pub use card_page::{CardGroup, CardLine, CardReport, CardTable, card_page};
pub use comparison_page::{ComparisonReport, comparison_page};
pub use digest::{DeviceDigest, Digest, DirectionDigest};
pub use findings::warning_lines;
pub use recording_page::recording_page;
pub use study_page::{StudyReport, collection_page, exemplars, study_page};
pub use trace_page::{TraceReport, trace_page};

/// A page, and the figures in it for those who want them as files.
#[derive(Debug, Clone)]
pub struct Page {
    /// The document.
    pub html: String,
    /// Its figures, in its order.
    pub figures: Vec<iolab_charts::DrawnChart>,
}
