//! Checking a file system that is not open, and repairing what can be repaired.
//!
//! Every fault is told with what a repair does about it. Repairs never lose silently: what a repair gives up is a fault in the report.
//! A file system whose bootstrap records or anchors are all gone cannot be read, and is not guessed at.

mod invariants;

use iolab_block::Buffer;
use iolab_clock::Clock;
use iolab_executor::Spawner;

use crate::recovery::{OnLoss, Recovery, load, read_anchor, read_layout, read_map};
use crate::{Disk, Error, OpenOptions, checkpoint, open};

/// Whether to change the disk.
#[derive(Debug, Clone, PartialEq)]
pub enum Repair {
    /// Only look.
    No,
    /// Repair what can be repaired.
    Yes,
}

/// What kind of thing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// One of the two bootstrap records cannot be read; it is written anew from the other.
    Bootstrap,
    /// Something durable is missing at the end of the log; a repair goes on with what is there.
    LostTail,
    /// The root directory is missing, or is something else; an empty one takes its place, and what was in it goes to `lost+found`.
    Root,
    /// A name leads to an inode that does not exist, or of another kind, or to a directory that has a name already; it is removed.
    BadName,
    /// An inode that no name leads to; it is put into `lost+found`.
    NoName,
    /// A link count that is not the number of names; it is set.
    LinkCount,
    /// A directory that does not know the directory it is in; it is told.
    Parent,
    /// Content behind the end of a file; it is cut off.
    BeyondEnd,
    /// Content of two files, or of a file and the log, in the same place, or outside of the disk; it is cut out of the later one.
    Overlap,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What kind of thing.
    pub kind: FaultKind,
    /// Where and how, for people.
    pub what: String,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsckReport {
    /// What is wrong, in no particular order.
    pub faults: Vec<Fault>,
    /// Whether it has been repaired.
    pub repaired: bool,
    /// What reading the log found.
    pub recovery: Recovery,
    /// Inodes looked at.
    pub inodes: u64,
    /// Bytes of content, in memory and on the disk.
    pub content_bytes: u64,
}

impl FsckReport {
    /// Whether nothing was wrong.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Checks every invariant of a file system; it must not be open.
///
/// # Errors
/// [`Error::Unusable`] and [`Error::Corrupt`] for what cannot even be read, [`Error::Device`].
pub async fn fsck(disk: &Disk, repair: Repair, (clock, spawner): (Clock, Spawner)) -> Result<FsckReport, Error> {
    let (_, records) = read_layout(disk).await?;
    let (layout, owners) = read_map(disk).await?;
    read_anchor(disk, &layout).await?;
    let mut loaded = load(disk, (layout, owners), 0, OnLoss::Accept).await?;
    let mut faults = Vec::new();
    for (place, good) in layout.bootstrap_places().into_iter().zip(records) {
        if !good {
            faults.push(Fault { kind: FaultKind::Bootstrap, what: format!("the bootstrap record at byte {place}") });
        }
    }
    faults.extend(loaded.loss.take().map(|what| Fault { kind: FaultKind::LostTail, what }));
    let sizes = loaded.tree.iter().map(|(_, node)| node.file().map_or(0, crate::extents::ExtentMap::stored_bytes));
    let (inodes, content_bytes) = (loaded.tree.len() as u64, sizes.sum());
    faults.extend(invariants::mend(&mut loaded));
    let mut report = FsckReport { faults, repaired: false, recovery: loaded.recovery.clone(), inodes, content_bytes };
    if report.is_sound() || repair == Repair::No {
        return Ok(report);
    }
    for (place, good) in layout.bootstrap_places().into_iter().zip(records) {
        if !good {
            disk.write(place, Buffer::padded(&layout.encode(), layout.block_bytes as usize)).await?;
        }
    }
    // The mended tree is in memory only: a checkpoint makes the log say the same.
    let (fs, _) = open::start(disk, OpenOptions::default(), (clock, spawner), loaded).await?;
    checkpoint::write(&fs.0).await?;
    fs.close().await?;
    report.repaired = true;
    Ok(report)
}
