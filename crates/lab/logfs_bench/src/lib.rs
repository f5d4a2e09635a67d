//! The same load on logfs and on any other file system: only what is below the files differs.
//!
//! ```text
//!  load (seed) ─▶ Store ┬─ logfs in an image, by its library
//!                       └─ files in a folder, by io_uring and O_DIRECT
//! ```
//!
//! The seed of a load determines everything, independently of any answer: the same load makes the
//! same operations in the same order on every store. It is divided into domains, which by default
//! share nothing: each has a thread that runs load and store, and its own files. logfs gives it a
//! domain of the disk, other file systems a folder. The measurement begins on all threads at once.
//! Buffers hold random bytes, so that no device can compress them, and in both stores they are
//! transferred without a copy. Nothing here prints.

mod error;
mod forwarding;
mod gate;
mod measured;
mod qualify;
mod random;
mod reading;
mod store;
mod tester;
mod volume_load;

pub use error::BenchError;
pub use forwarding::{ForwardingCost, measure_forwarding};
pub use measured::{Class, MeasuredLoad};
pub use qualify::{QualifyCase, QualifyCounts, QualifyOptions, QualifyResult, SubmissionWay, qualify};
pub use reading::{ReadingCase, ReadingOptions, ReadingResult, ReadingWay, read_clusters};
pub use store::{BenchTarget, ImageStore};
pub use tester::{
    ArrivalPacing, ConfError, Job, JobKind, JobResult, Shards, TesterConf, TesterOptions, TesterResult, run_tester,
};
pub use volume_load::{VolumeLoad, VolumePart, VolumeResult, run_volume_load};
