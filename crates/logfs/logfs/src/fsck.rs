//! Checks a file system that is not open, and repairs what can be repaired.
//!
//! Every fault is reported with what a repair does about it. A repair never loses anything
//! silently: what it gives up is a fault in the report. The content of files is checked only by
//! [`check_content`], which has to read all of it; bad content cannot be repaired. If both anchors
//! of a domain are gone, the newest whole checkpoint is searched for. A file system whose bootstrap
//! records are all gone cannot be read, and no guess is made.

mod across;
mod content;
mod invariants;

use std::rc::Rc;

pub use content::{BadContent, ContentReport, check_content, check_content_told};

use iolab_disk::Buffer;

use crate::anchor::Anchor;
use crate::domains::{Owners, read_owners, write_owners};
use crate::recovery::{Loaded, OnLoss, Recovery, load, look_at_older, read_anchor, read_layout};
use crate::{Disk, Error, Layout, OpenOptions, Runtime, checkpoint, open};

/// Whether to change the disk.
#[derive(Debug, Clone, PartialEq)]
pub enum Repair {
    /// Only check.
    No,
    /// Repair what can be repaired.
    Yes,
}

/// The kind of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InconsistencyKind {
    /// One of the two bootstrap records cannot be read; it is rewritten from the other.
    Bootstrap,
    /// One of the two owner maps cannot be read; it is rewritten from the other.
    OwnerMap,
    /// One of the two anchors cannot be read; it is rewritten from the other. If both cannot be
    /// read, the whole disk is searched for the log.
    Anchor,
    /// The newest checkpoint cannot be read, but nothing is lost; new ones are written.
    Checkpoint,
    /// The checkpoint before the newest, or the log since then, cannot be read; new ones are
    /// written.
    OlderCheckpoint,
    /// Something durable is missing from the log; a repair continues with what is there.
    LostTail,
    /// The root directory is missing, or is not a directory; an empty one replaces it, and what was
    /// in it goes to `lost+found`.
    Root,
    /// A name that is empty, `.` or `..`, or contains a slash or a zero byte; the invalid bytes
    /// become underscores.
    ImpossibleName,
    /// A name that leads to a missing inode, to one of another kind, or to a directory that already
    /// has a name; it is removed.
    BadName,
    /// An inode whose number belongs to a domain other than that of its log; it gets a new number.
    ForeignNumber,
    /// A top-level name that two domains have; one of them gets another name.
    DoubleName,
    /// An inode that no name leads to; it is moved to `lost+found`.
    NoName,
    /// A link count that differs from the number of names; it is corrected.
    LinkCount,
    /// A directory with a wrong parent; the parent is corrected.
    Parent,
    /// Content beyond the end of a file; it is cut off.
    BeyondEnd,
    /// Content of two files, or of a file and the log, in the same place, or content outside of the
    /// disk; it is removed from the later file.
    Overlap,
}

/// A fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inconsistency {
    /// Its kind.
    pub kind: InconsistencyKind,
    /// A description of where and how, for people.
    pub what: String,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsckReport {
    /// The faults, in no particular order.
    pub faults: Vec<Inconsistency>,
    /// Whether they have been repaired.
    pub repaired: bool,
    /// What opening found when it read the log.
    pub recovery: Recovery,
    /// Inodes checked.
    pub inodes: u64,
    /// Bytes of content, in memory and on the disk.
    pub content_bytes: u64,
}

impl FsckReport {
    /// Whether there are no faults.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }
}

/// A file system that was read, and which copies of its records are valid.
struct Read {
    layout: Layout,
    owners: Rc<Owners>,
    /// Which of the two bootstrap records and owner maps are valid.
    records: [bool; 2],
    maps: [bool; 2],
    /// Which copies of each domain's anchor are valid.
    anchors: Vec<[bool; 2]>,
    domains: Vec<Loaded>,
}

impl Read {
    async fn from(disk: &Disk) -> Result<Read, Error> {
        let (layout, records) = read_layout(disk).await?;
        let (owners, maps) = read_owners(disk, &layout).await?;
        let (owners, mut domains, mut anchors) = (Rc::new(owners), Vec::new(), Vec::new());
        for domain in 0..layout.domains {
            let mut loaded = load(disk, layout, Rc::clone(&owners), domain, OnLoss::Accept).await?;
            loaded.older_is_bad = look_at_older(disk, &loaded.layout, &loaded.anchor).await;
            anchors.push(read_anchor(disk, &loaded.layout).await.map_or([false; 2], |(_, good)| good));
            domains.push(loaded);
        }
        Ok(Read { layout, owners, records, maps, anchors, domains })
    }

    fn faults(&mut self) -> Vec<Inconsistency> {
        let mut faults = Vec::new();
        for (place, good) in self.layout.bootstrap_places().into_iter().zip(self.records) {
            let what = format!("the bootstrap record at byte {place}");
            faults.extend((!good).then_some(Inconsistency { kind: InconsistencyKind::Bootstrap, what }));
        }
        for ((place, _), good) in self.layout.map_places().into_iter().zip(self.maps) {
            let what = format!("the owner map at byte {place}");
            faults.extend((!good).then_some(Inconsistency { kind: InconsistencyKind::OwnerMap, what }));
        }
        for (loaded, good) in self.domains.iter_mut().zip(&self.anchors) {
            // Version 1 did not write both.
            let is_bad = |(_, is_good): &(u64, bool)| !is_good && (self.layout.version > 1 || *good == [false; 2]);
            let bad = Anchor::places(&loaded.layout).into_iter().zip(*good).filter(is_bad);
            faults.extend(bad.map(|(place, _)| {
                let what = format!("the anchor at byte {place}");
                Inconsistency { kind: InconsistencyKind::Anchor, what }
            }));
            let lost = std::mem::take(&mut loaded.loss).into_iter();
            faults.extend(lost.map(|what| Inconsistency { kind: InconsistencyKind::LostTail, what }));
            if loaded.recovery.by_older_checkpoint {
                let what =
                    "a checkpoint cannot be read; the previous checkpoint and the log after it are used".to_owned();
                faults.push(Inconsistency { kind: InconsistencyKind::Checkpoint, what });
            }
            faults.extend(
                loaded.older_is_bad.take().map(|what| Inconsistency { kind: InconsistencyKind::OlderCheckpoint, what }),
            );
            faults.extend(across::foreign_numbers(loaded));
            faults.extend(invariants::mend(loaded));
        }
        faults.extend(across::double_names(&mut self.domains));
        faults
    }

    async fn write_anew(&self, disk: &Disk) -> Result<(), Error> {
        let record = self.layout.encode();
        for (place, good) in self.layout.bootstrap_places().into_iter().zip(self.records) {
            if !good {
                disk.write(place, Buffer::padded(&record, self.layout.block_bytes as usize)).await?;
            }
        }
        if self.maps != [true; 2] {
            write_owners(disk, &self.layout, &self.owners).await?;
        }
        Ok(())
    }
}

/// Checks every invariant of a file system, in each of its domains and across them; it must not be
/// open.
///
/// # Errors
/// [`Error::Unusable`] and [`Error::Corrupt`] when the file system cannot be read at all,
/// [`Error::Device`].
pub async fn fsck(disk: &Disk, repair: Repair, runtime: Runtime) -> Result<FsckReport, Error> {
    let mut read = Read::from(disk).await?;
    let mut recovery = Recovery { closed: true, ..Recovery::default() };
    let (mut inodes, mut content_bytes) = (0, 0);
    for loaded in &read.domains {
        let sizes = loaded.tree.iter().map(|(_, node)| node.file().map_or(0, crate::extents::ExtentMap::stored_bytes));
        content_bytes += sizes.sum::<u64>();
        // Every domain that has not lost its part of the root directory counts the root.
        let is_counted = loaded.layout.domain > 0 && loaded.tree.get(crate::InodeId::ROOT).is_some();
        inodes += loaded.tree.len() as u64 - u64::from(is_counted);
        recovery.add(&loaded.recovery);
    }
    let mut report = FsckReport { faults: read.faults(), repaired: false, recovery, inodes, content_bytes };
    if report.is_sound() || repair == Repair::No {
        return Ok(report);
    }
    read.write_anew(disk).await?;
    for loaded in read.domains {
        // The repaired tree is in memory only: a checkpoint makes the log agree with it.
        let (fs, _) = open::start(disk, OpenOptions::default(), runtime.clone(), loaded).await?;
        // Write two, so that the checkpoint before the newest agrees as well.
        checkpoint::write(&fs.0).await?;
        checkpoint::write(&fs.0).await?;
        fs.close().await?;
    }
    report.repaired = true;
    Ok(report)
}
