//! Records: the changes that the metadata log consists of, and their encoding
//! (docs/logfs/format.md).

mod decoding;
mod encoding;

use smallvec::SmallVec;

pub(crate) use crate::attributes::{Attributes, InodeId, InodeKind};
use crate::bytes::Take;
pub(crate) use decoding::{split_head, take_entry, take_inode, take_stretch};
pub(crate) use encoding::{SUMS, put_entry, put_stretch, put_sums, with_head};

/// An inode without content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) inode: InodeId,
    pub(crate) attributes: Attributes,
    /// The parent of a directory; 0 for other inodes.
    pub(crate) parent: InodeId,
    /// Target of a symbolic link; for special files the device number, 4 bytes.
    pub(crate) target: Vec<u8>,
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) directory: InodeId,
    pub(crate) name: Vec<u8>,
}

/// A stretch of a file, and its place on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) offset: u64,
    pub(crate) length: u64,
    pub(crate) place: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rename {
    pub(crate) from: Spot,
    pub(crate) to: Spot,
    pub(crate) inode: InodeId,
    pub(crate) kind: InodeKind,
    /// The inode that had the new name; 0 when it was free.
    pub(crate) replaced: InodeId,
    pub(crate) time: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Relocate {
    pub(crate) inode: InodeId,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// [`INLINE`] for content that was in the log.
    pub(crate) from: u64,
    pub(crate) to: u64,
    pub(crate) checksum: u32,
}

/// Checksums, one for each block; usually one.
pub(crate) type SumList = SmallVec<[u32; 2]>;

/// What identifies the content of an extent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Proof {
    /// One checksum of the whole content, as in version 1 of the format.
    Whole(u32),
    /// The checksum of each block that contains it.
    Blocks(SumList),
}

/// The place of content that is in the log and in memory.
pub(crate) const INLINE: u64 = u64::MAX;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Record {
    CheckpointBegin {
        serial: u64,
    },
    CheckpointEnd {
        inodes: u64,
    },
    /// Clusters of the log between the previous checkpoint and this one.
    LogBefore {
        clusters: Vec<u32>,
    },
    Node(Node),
    Entries {
        directory: InodeId,
        entries: Vec<(InodeId, InodeKind, Vec<u8>)>,
    },
    Extents {
        inode: InodeId,
        stretches: Vec<Stretch>,
    },
    Inline {
        inode: InodeId,
        offset: u64,
        content: Vec<u8>,
    },
    Extended {
        inode: InodeId,
        name: Vec<u8>,
        value: Vec<u8>,
    },
    Create {
        spot: Spot,
        node: Node,
    },
    Link {
        spot: Spot,
        inode: InodeId,
        kind: InodeKind,
        time: u64,
    },
    Unlink {
        spot: Spot,
        inode: InodeId,
        kind: InodeKind,
        time: u64,
    },
    Rename(Box<Rename>),
    Delete {
        inode: InodeId,
    },
    WriteInline {
        inode: InodeId,
        offset: u64,
        time: u64,
        content: Vec<u8>,
    },
    WriteExtent {
        inode: InodeId,
        stretch: Stretch,
        proof: Proof,
        time: u64,
    },
    Truncate {
        inode: InodeId,
        size: u64,
        time: u64,
    },
    Punch {
        inode: InodeId,
        offset: u64,
        length: u64,
        time: u64,
    },
    Attributes {
        inode: InodeId,
        attributes: Attributes,
    },
    Relocate(Relocate),
    Sums {
        place: u64,
        sums: SumList,
    },
    SetExtended {
        inode: InodeId,
        name: Vec<u8>,
        time: u64,
        value: Vec<u8>,
    },
    RemoveExtended {
        inode: InodeId,
        name: Vec<u8>,
        time: u64,
    },
}

impl Record {
    /// The inodes whose syncs have to wait for this record.
    pub(crate) fn touches(&self) -> [Option<InodeId>; 4] {
        match self {
            Record::Create { spot, node } => [Some(spot.directory), Some(node.inode), None, None],
            Record::Link { spot, inode, .. } | Record::Unlink { spot, inode, .. } => {
                [Some(spot.directory), Some(*inode), None, None]
            }
            Record::Rename(rename) => {
                let Rename { from, to, inode, replaced, .. } = &**rename;
                [Some(from.directory), Some(to.directory), Some(*inode), Some(*replaced)]
            }
            Record::WriteInline { inode, .. }
            | Record::WriteExtent { inode, .. }
            | Record::Truncate { inode, .. }
            | Record::Punch { inode, .. }
            | Record::SetExtended { inode, .. }
            | Record::RemoveExtended { inode, .. }
            | Record::Attributes { inode, .. } => [Some(*inode), None, None, None],
            _ => [None; 4],
        }
    }

    /// Whether it leaves content and size unchanged.
    pub(crate) fn is_attributes(&self) -> bool {
        matches!(self, Record::Attributes { .. } | Record::SetExtended { .. } | Record::RemoveExtended { .. })
    }

    /// The code of the record that ends a checkpoint.
    pub(crate) const CHECKPOINT_END: u8 = 0x02;

    /// Whether records of this code are part of a checkpoint.
    pub(crate) fn is_checkpoint(code: u8) -> bool {
        code < 0x10
    }

    fn code(&self) -> u8 {
        match self {
            Record::CheckpointBegin { .. } => 0x01,
            Record::CheckpointEnd { .. } => 0x02,
            Record::LogBefore { .. } => 0x09,
            Record::Node(_) => 0x03,
            Record::Entries { .. } => 0x04,
            Record::Extents { .. } => 0x05,
            Record::Inline { .. } => 0x06,
            Record::Extended { .. } => 0x07,
            Record::Create { .. } => 0x10,
            Record::Link { .. } => 0x11,
            Record::Unlink { .. } => 0x12,
            Record::Rename(_) => 0x13,
            Record::Delete { .. } => 0x14,
            Record::WriteInline { .. } => 0x20,
            Record::WriteExtent { proof: Proof::Whole(_), .. } => 0x21,
            Record::WriteExtent { proof: Proof::Blocks(_), .. } => 0x26,
            Record::Truncate { .. } => 0x22,
            Record::Punch { .. } => 0x23,
            Record::Attributes { .. } => 0x24,
            Record::Relocate(_) => 0x25,
            Record::Sums { .. } => 0x27,
            Record::SetExtended { .. } => 0x30,
            Record::RemoveExtended { .. } => 0x31,
        }
    }

    /// Appends the record with its header.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        with_head(out, self.code(), |out| self.encode_body(out));
    }

    /// Takes one record off `take`; `None` when there is no valid one.
    pub(crate) fn decode(take: &mut Take<'_>) -> Option<Record> {
        let (code, body) = split_head(take)?;
        Record::of(code, body)
    }

    /// The record of this code and body.
    pub(crate) fn of(code: u8, body: &[u8]) -> Option<Record> {
        let mut body = Take(body);
        let record = decoding::body(code, &mut body)?;
        body.0.is_empty().then_some(record)
    }
}
