//! Checking a file system that is not open, and repairing what can be repaired.
//!
//! Every fault is told with what a repair does about it. Repairs never lose silently: what a repair
//! gives up is a fault in the report. The content of files is looked at only by [`check_content`],
//! which has to read all of it: what is wrong there nobody can mend. Where both anchors of a domain
//! are gone, the newest checkpoint that is whole is looked for. A file system whose bootstrap
//! records are all gone cannot be read, and is not guessed at.

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
    /// Only look.
    No,
    /// Repair what can be repaired.
    Yes,
}

/// What kind of thing is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum InconsistencyKind {
    /// One of the two bootstrap records cannot be read; it is written anew from the other.
    Bootstrap,
    /// One of the two owner maps cannot be read; it is written anew from the other.
    OwnerMap,
    /// One of the two anchors cannot be read; it is written anew from the other. Where both cannot,
    /// the log is looked for on the whole disk.
    Anchor,
    /// The newest checkpoint cannot be read, and nothing is lost by that; new ones are written.
    Checkpoint,
    /// The checkpoint before the newest, or the log since, cannot be read; new ones are written.
    OlderCheckpoint,
    /// Something durable is missing from the log; a repair goes on with what is there.
    LostTail,
    /// The root directory is missing, or is something else; an empty one takes its place, and what
    /// was in it goes to `lost+found`.
    Root,
    /// A name that is empty, `.` or `..`, or has a slash or zero in it; its bytes that cannot be
    /// become underscores.
    ImpossibleName,
    /// A name leads to an inode that does not exist, or of another kind, or to a directory that has
    /// a name already; it is removed.
    BadName,
    /// An inode whose number belongs to another domain than its log; it gets a number of its own.
    ForeignNumber,
    /// A name that two domains have at top level; one of them gets another.
    DoubleName,
    /// An inode that no name leads to; it is put into `lost+found`.
    NoName,
    /// A link count that is not the number of names; it is set.
    LinkCount,
    /// A directory that does not know the directory it is in; it is told.
    Parent,
    /// Content behind the end of a file; it is cut off.
    BeyondEnd,
    /// Content of two files, or of a file and the log, in the same place, or outside of the disk;
    /// it is cut out of the later one.
    Overlap,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inconsistency {
    /// What kind of thing.
    pub kind: InconsistencyKind,
    /// Where and how, for people.
    pub what: String,
}

/// What a check found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FsckReport {
    /// What is wrong, in no particular order.
    pub faults: Vec<Inconsistency>,
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

/// What was read of a file system, and what is wrong with what leads there.
struct Read {
    layout: Layout,
    owners: Rc<Owners>,
    /// Which of the two bootstrap records and owner maps are good.
    records: [bool; 2],
    maps: [bool; 2],
    /// Which copies of each domain's anchor are good.
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
            // Version 1 wrote one at a time.
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

/// Checks every invariant of a file system, in all of its domains and across them; it must not be
/// open.
///
/// # Errors
/// [`Error::Unusable`] and [`Error::Corrupt`] for what cannot even be read, [`Error::Device`].
pub async fn fsck(disk: &Disk, repair: Repair, runtime: Runtime) -> Result<FsckReport, Error> {
    let mut read = Read::from(disk).await?;
    let mut recovery = Recovery { closed: true, ..Recovery::default() };
    let (mut inodes, mut content_bytes) = (0, 0);
    for loaded in &read.domains {
        let sizes = loaded.tree.iter().map(|(_, node)| node.file().map_or(0, crate::extents::ExtentMap::stored_bytes));
        content_bytes += sizes.sum::<u64>();
        // The root directory is in every domain that has not lost its part of it.
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
        // The mended tree is in memory only: a checkpoint makes the log say the same.
        let (fs, _) = open::start(disk, OpenOptions::default(), runtime.clone(), loaded).await?;
        // Two, so that there is one before the newest which says the same.
        checkpoint::write(&fs.0).await?;
        checkpoint::write(&fs.0).await?;
        fs.close().await?;
    }
    report.repaired = true;
    Ok(report)
}
