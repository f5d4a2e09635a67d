//! Checks file content: reads every block that a file holds and compares it with its checksum.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

use crate::disk::Transfer;
use crate::extents::Place;
use crate::record::{InodeId, InodeKind};
use crate::recovery::{Loaded, OnLoss, load, read_map};
use crate::{Disk, Error};

/// Most reads in flight.
const AHEAD: usize = 8;
/// Most bytes of a read.
const MOST_BYTES: u64 = 1 << 20;

/// A part of a file that does not match its checksum, or cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadContent {
    /// The file.
    pub inode: InodeId,
    /// One of its names with its full path; empty when it has none.
    pub path: Vec<u8>,
    /// The first byte concerned, as an offset in the file.
    pub offset: u64,
    /// The device error, if there was one.
    pub error: Option<Error>,
}

/// The result of checking content.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContentReport {
    /// Bytes of content that match their checksums.
    pub good_bytes: u64,
    /// Bytes without a known checksum: written by version 1 of the format, and never moved since.
    pub unproven_bytes: u64,
    /// Bad parts: one for each stretch that was read, in no particular order.
    pub bad: Vec<BadContent>,
}

/// A stretch of a file in whole blocks.
struct Part {
    inode: InodeId,
    offset: u64,
    place: u64,
    length: u64,
}

/// Reads the content of all files of a file system that is not open. Changes nothing.
///
/// # Errors
/// [`Error::Unusable`] and [`Error::Corrupt`] when the file system cannot be read at all.
pub async fn check_content(disk: &Disk) -> Result<ContentReport, Error> {
    check_content_told(disk, &mut |_| {}).await
}

/// As [`check_content`]; also calls `told` with the number of bytes checked so far.
///
/// # Errors
/// [`Error::Unusable`] and [`Error::Corrupt`] when the file system cannot be read at all.
pub async fn check_content_told(disk: &Disk, told: &mut dyn FnMut(u64)) -> Result<ContentReport, Error> {
    let (layout, owners) = read_map(disk).await?;
    let mut report = ContentReport::default();
    for domain in 0..layout.domains {
        let loaded = load(disk, layout, owners.clone(), domain, OnLoss::Accept).await?;
        let first = report.bad.len();
        check_domain(disk, &loaded, &mut report, told).await;
        if report.bad.len() > first {
            let paths = paths(&loaded);
            for bad in &mut report.bad[first..] {
                bad.path = paths.get(&bad.inode).cloned().unwrap_or_default();
            }
        }
    }
    Ok(report)
}

async fn check_domain(disk: &Disk, loaded: &Loaded, report: &mut ContentReport, told: &mut dyn FnMut(u64)) {
    let mut under_way: VecDeque<(Part, Transfer)> = VecDeque::new();
    for part in parts(loaded) {
        if !loaded.layout.holds(part.place, part.length) {
            report.bad.push(BadContent { inode: part.inode, path: Vec::new(), offset: part.offset, error: None });
            continue;
        }
        let read = disk.read(part.place, part.length as usize);
        under_way.push_back((part, read));
        if under_way.len() >= AHEAD
            && let Some((part, read)) = under_way.pop_front()
        {
            judge(loaded, part, read, report).await;
            told(report.good_bytes + report.unproven_bytes);
        }
    }
    for (part, read) in under_way {
        judge(loaded, part, read, report).await;
    }
}

/// The stretches of all files, split into pieces that are each one read.
fn parts(loaded: &Loaded) -> impl Iterator<Item = Part> {
    let block = u64::from(loaded.layout.block_bytes);
    let of_file = move |(inode, node): (InodeId, &crate::tree::Inode)| {
        let mut parts = Vec::new();
        for (offset, extent) in node.file().into_iter().flat_map(|file| file.iter()) {
            let Place::Disk(place) = extent.place else { continue };
            let start = place - place % block;
            let Some(end) = place.checked_add(extent.length).and_then(|end| end.checked_next_multiple_of(block)) else {
                continue;
            };
            // Do not split a stretch longer than the disk: one read that fails reports it.
            let step = if loaded.layout.holds(start, end - start) { MOST_BYTES } else { end - start };
            let mut at = start;
            while at < end {
                let length = step.min(end - at);
                parts.push(Part { inode, offset: (offset + at).saturating_sub(place), place: at, length });
                at += length;
            }
        }
        parts
    };
    loaded.tree.iter().flat_map(of_file)
}

async fn judge(loaded: &Loaded, part: Part, read: Transfer, report: &mut ContentReport) {
    let block = u64::from(loaded.layout.block_bytes);
    let (is_bad, error) = match read.await {
        Ok(bytes) => (loaded.sums.mismatch(part.place, &bytes), None),
        Err(error) => (Some(part.place), Some(Error::Device(error))),
    };
    match is_bad {
        Some(place) => {
            let offset = part.offset + (place - part.place);
            report.bad.push(BadContent { inode: part.inode, path: Vec::new(), offset, error });
        }
        None => {
            let known = (part.place..).step_by(block as usize).take((part.length / block) as usize);
            let known = known.filter(|place| loaded.sums.is_known(*place)).count() as u64 * block;
            report.good_bytes += known;
            report.unproven_bytes += part.length - known;
        }
    }
}

/// A path for every inode that has one.
fn paths(loaded: &Loaded) -> HashMap<InodeId, Vec<u8>> {
    let mut paths = HashMap::from([(InodeId::ROOT, Vec::new())]);
    let mut open = vec![InodeId::ROOT];
    while let Some(directory) = open.pop() {
        let names = loaded.tree.get(directory).and_then(|node| node.names());
        for (name, inode, kind) in names.into_iter().flat_map(|names| names.iter()) {
            let path = [&paths[&directory][..], b"/", name].concat();
            if let Entry::Vacant(vacant) = paths.entry(inode) {
                vacant.insert(path);
                open.extend((kind == InodeKind::Directory).then_some(inode));
            }
        }
    }
    paths
}
