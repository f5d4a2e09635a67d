//! Defragmentation: makes the content of a file contiguous, one cluster's worth at a time, while
//! the file stays in use.
//!
//! Each step copies one stretch of the file and then records its new place, as cleaning does. A
//! piece that has changed meanwhile keeps its old place, and after a crash each piece is in its old
//! or its new place. It takes no locks. The caller runs the steps and sets their pace
//! ([`DefragmentProgress::pause_ns`]).

pub(crate) mod automatic;

use crate::allocation::Stream;
use crate::cleaner::{Moving, record_sums, relocate, write_slots};
use crate::clusters::Piece;
use crate::disk::Urgency;
use crate::extents::{ExtentMap, Place};
use crate::instance::{State, step_aside};
use crate::record::InodeId;
use crate::space::Need;
use crate::{Error, LogFs};

/// Pieces relocated before other tasks get a turn.
const AT_ONCE: usize = 64;
/// Most pieces that one step moves; each needs a record.
const MOST_PARTS: usize = 1_024;

/// Progress of defragmenting a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DefragmentProgress {
    /// Bytes of the file examined.
    pub done_bytes: u64,
    /// Bytes moved by all steps.
    pub moved_bytes: u64,
    /// Bytes moved by the last step.
    pub step_bytes: u64,
    /// Whether the whole file has been examined.
    pub is_done: bool,
}

impl DefragmentProgress {
    /// How long to wait after the last step to stay below this number of bytes per second, in ns.
    pub fn pause_ns(&self, bytes_per_second: u64) -> u64 {
        let pause = u128::from(self.step_bytes) * 1_000_000_000 / u128::from(bytes_per_second.max(1));
        u64::try_from(pause).unwrap_or(u64::MAX)
    }
}

/// A defragmentation in progress.
#[derive(Debug)]
pub struct Defragmentation {
    fs: LogFs,
    inode: InodeId,
    progress: DefragmentProgress,
}

/// The number of stretches that are not adjacent on the disk.
fn runs(file: &ExtentMap) -> u64 {
    let mut expected = None;
    let mut count = 0;
    for (_, extent) in file.iter() {
        let Place::Disk(place) = extent.place else { continue };
        count += u64::from(expected != Some(place));
        expected = Some(place + extent.length);
    }
    count
}

impl LogFs {
    /// The number of pieces of a file's content that are not adjacent on the disk. Content in
    /// memory is not counted.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn fragments(&self, inode: InodeId) -> Result<u64, Error> {
        let state = self.0.state.borrow();
        Ok(state.tree.get(inode).ok_or(Error::NotFound)?.file().map_or(0, runs))
    }

    /// Starts to defragment a file; [`Defragmentation::step`] does the work.
    pub fn defragment(&self, inode: InodeId) -> Defragmentation {
        Defragmentation { fs: self.clone(), inode, progress: DefragmentProgress::default() }
    }
}

impl Defragmentation {
    /// Continues from the progress of earlier steps.
    #[must_use]
    pub(crate) fn behind(self, progress: DefragmentProgress) -> Defragmentation {
        Defragmentation { progress, ..self }
    }

    /// Defragments the next part of the file, at most a cluster.
    ///
    /// # Errors
    /// [`Error::NotFound`] when the file is gone, [`Error::NoSpace`], [`Error::Device`],
    /// [`Error::Content`]; the file is unchanged.
    pub async fn step(&mut self) -> Result<DefragmentProgress, Error> {
        let instance = &self.fs.0;
        self.progress.step_bytes = 0;
        let cluster_bytes = u64::from(instance.layout.cluster_bytes);
        let (parts, end) = {
            let state = instance.state.borrow();
            let node = state.tree.get(self.inode).ok_or(Error::NotFound)?;
            node.file()
                .map_or((Vec::new(), None), |file| part(self.inode, file, self.progress.done_bytes, cluster_bytes))
        };
        let length: u64 = parts.iter().map(|part| part.piece.length).sum();
        if pieces(&parts) > length.div_ceil(cluster_bytes) {
            self.copy(&parts, length).await?;
            self.progress.step_bytes = length;
            self.progress.moved_bytes += length;
        }
        self.progress.is_done = end.is_none();
        self.progress.done_bytes = end.unwrap_or(self.progress.done_bytes);
        Ok(self.progress)
    }

    async fn copy(&self, parts: &[Moving], length: u64) -> Result<(), Error> {
        let instance = &self.fs.0;
        let clusters = |state: &State| state.heads.clusters_for(Stream::Moved, length, &instance.layout);
        instance.admit(|state| Need::Clusters(clusters(state))).await?;
        let slots = {
            let mut state = instance.state.borrow_mut();
            let state = &mut *state;
            let node = state.tree.get(self.inode).ok_or(Error::NotFound)?;
            // During the wait, the pieces may have moved and other content may have taken their
            // place.
            if !parts.iter().all(|part| lies_there(node.file(), part)) {
                return Ok(());
            }
            let slots = state
                .heads
                .take(Stream::Moved, length, &mut state.clusters, &instance.layout, state.log.last_ticket)
                .ok_or(Error::NoSpace)?;
            parts.iter().for_each(|part| state.clusters.pin(part.from, part.piece.length));
            slots
        };
        let mut content = Vec::with_capacity(length as usize);
        let mut result = self.read(parts, &mut content).await;
        if result.is_ok() {
            result = write_slots(instance, &instance.disk.at(Urgency::Background), &slots, &content)
                .await
                .map_err(Error::from);
            result = result.and_then(|()| record_sums(instance, &slots, &content));
        }
        for some in parts.chunks(AT_ONCE) {
            result = result.and_then(|()| relocate(instance, &slots, some, &content));
            step_aside().await;
        }
        let mut state = instance.state.borrow_mut();
        let ticket = state.log.last_ticket;
        parts.iter().for_each(|part| state.clusters.unpin(part.from, part.piece.length, ticket));
        slots.iter().for_each(|(place, length)| state.clusters.unpin(*place, *length, ticket));
        result
    }

    async fn read(&self, parts: &[Moving], content: &mut Vec<u8>) -> Result<(), Error> {
        let instance = &self.fs.0;
        let (block, disk) = (u64::from(instance.layout.block_bytes), instance.disk.at(Urgency::Background));
        let reads: Vec<_> = parts
            .iter()
            .map(|part| {
                let start = part.from - part.from % block;
                let end = instance.layout.blocks(part.from + part.piece.length);
                (part, disk.read(start, (end - start) as usize))
            })
            .collect();
        let mut result = Ok(());
        for (part, read) in reads {
            match read.await {
                Ok(bytes) => {
                    let skipped = (part.from % block) as usize;
                    result = result.and(instance.verify(part.from - skipped as u64, &bytes));
                    content.extend_from_slice(&bytes[skipped..skipped + part.piece.length as usize]);
                }
                Err(error) => result = Err(Error::Device(error)),
            }
        }
        result
    }
}

/// The stretch of a file from `from` on with at most `most_bytes` on the disk, and where the file
/// continues after it.
fn part(inode: InodeId, file: &ExtentMap, from: u64, most_bytes: u64) -> (Vec<Moving>, Option<u64>) {
    let (mut parts, mut held) = (Vec::new(), 0);
    for (offset, extent) in file.touching(from, u64::MAX) {
        let Place::Disk(place) = extent.place else { continue };
        let skipped = from.saturating_sub(offset);
        let length = (extent.length - skipped).min(most_bytes - held);
        if length == 0 || parts.len() == MOST_PARTS {
            return (parts, Some(offset + skipped));
        }
        let piece = Piece { inode, offset: offset + skipped, length };
        parts.push(Moving { piece, from: place + skipped, at: held as usize });
        held += length;
        if length < extent.length - skipped {
            return (parts, Some(offset + skipped + length));
        }
    }
    (parts, None)
}

/// The number of pieces of a stretch that are not adjacent on the disk.
fn pieces(parts: &[Moving]) -> u64 {
    let apart = parts.windows(2).filter(|pair| pair[0].from + pair[0].piece.length != pair[1].from);
    apart.count() as u64 + u64::from(!parts.is_empty())
}

fn lies_there(file: Option<&ExtentMap>, part: &Moving) -> bool {
    let Piece { offset, length, .. } = part.piece;
    file.is_some_and(|file| {
        file.touching(offset, offset + length).next().is_some_and(|(start, extent)| {
            let is_there = extent.place == Place::Disk(part.from.wrapping_sub(offset.wrapping_sub(start)));
            start <= offset && is_there && start + extent.length >= offset + length
        })
    })
}
