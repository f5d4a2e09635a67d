//! logfs: an asynchronous log-structured file system in user space, with one instance for each
//! core.
//!
//! ```text
//!  LogFs ── operations: locks, space, content to the device ── commit ─▶ Tree (all metadata, in memory)
//!                                                                 └──▶ Log ─ flusher ─▶ frames on the device
//!  background: flusher · checkpoint (compacts the log) · cleaner (reclaims clusters) · graveyard (frees deleted content)
//!              · demoter (moves small content out of memory) · discarder (discards free clusters on the device)
//! ```
//!
//! Every change is a group of records that is applied to memory and appended to the log in one
//! step; a crash leaves a prefix of those groups. The guarantees are in `docs/logfs/durability.md`,
//! the disk format is in `docs/logfs/format.md`. [`mkfs()`] creates a file system, [`open()`] opens
//! it on any [`iolab_disk::BlockDevice`], [`fsck()`] checks and repairs one. Everything runs on an
//! [`iolab_executor::Executor`] with [`Disk`] as its driver. Time comes from the clock given to
//! `open`, and nothing else is random: the same load on a simulated device gives the same bytes.
//!
//! Several domains share a disk, each with an instance on a core of its own. [`core_setups`] opens
//! them all on any number of cores and gives each core a [`Volume`]. [`open_volume`] opens them on
//! one core, where a [`LocalVolume`] answers from memory without waiting. [`open_domain`] opens one
//! alone; [`resize_cores`] changes their number.
//!
//! `docs/logfs/tutorial.md` shows how programs use it. What does not exist: space set aside by
//! `allocate`. Cutting off very many extents at once, by one `truncate`, is one step and makes
//! others wait.

mod activity;
mod allocation;
mod anchor;
mod attributes;
mod bytes;
mod census;
mod checkpoint;
mod cleaner;
mod cleaning;
mod clusters;
mod content;
mod defragment;
mod demoter;
mod discarder;
mod disk;
mod domains;
mod dump;
mod error;
mod extended;
mod extents;
mod file_system;
mod flusher;
mod frame;
mod fsck;
mod holes;
pub mod hostile;
mod instance;
mod layout;
mod locks;
mod log;
mod mkfs;
mod name_rules;
mod names;
mod open;
mod open_options;
mod pace;
mod paths;
mod record;
mod recovery;
mod space;
mod sums;
mod tree;
mod turns;

pub use activity::Activity;
pub use attributes::{Attributes, InodeId, InodeKind};
pub use census::Census;
pub use cleaning::{
    Budget, CleaningDefaults, ClusterUse, Policy, ReadingCost, UnknownPolicy, reading_plan, threshold_reached,
};
pub use content::Span;
pub use defragment::{DefragmentProgress, Defragmentation};
pub use disk::Disk;
pub use domains::{
    Answered, CoreDriver, CoreSender, CoreSetup, LocalVolume, Placement, Resized, Volume, core_setups, open_volume,
    resize_cores,
};
pub use dump::{DumpLine, DumpValue, dump_log};
pub use error::Error;
pub use extended::SetCondition;
pub use file_system::{AttributeChange, LogFs, Space};
pub use fsck::{
    BadContent, ContentReport, FsckReport, Inconsistency, InconsistencyKind, Repair, check_content, check_content_told,
    fsck,
};
pub use layout::Layout;
pub use mkfs::{MkfsOptions, mkfs, set_cleaning};
pub use names::{DirectoryEntry, Occupied, Owner};
pub use open::{count_domains, open, open_domain};
pub use open_options::{CleaningSettings, OpenOptions, Runtime, VerifyReads};
pub use recovery::Recovery;

/// The blocks of the tutorial are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../../docs/logfs/tutorial.md")]
pub struct Tutorial;
