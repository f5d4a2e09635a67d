//! Records: the changes that the metadata log consists of, and their encoding (docs/logfs/format.md).

mod decoding;

pub(crate) use crate::attributes::{Attributes, InodeId, Kind};
use smallvec::SmallVec;

use crate::bytes::{Put, Take};
use crate::sums::put_sums;

/// An inode without content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) inode: InodeId,
    pub(crate) attributes: Attributes,
    /// The directory that a directory is in; 0 for others.
    pub(crate) parent: InodeId,
    /// Of a symbolic link; for special files the device's number, 4 bytes.
    pub(crate) target: Vec<u8>,
}

/// A name in a directory, as a record names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spot {
    pub(crate) directory: InodeId,
    pub(crate) name: Vec<u8>,
}

/// A stretch of a file and where it lies.
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
    pub(crate) kind: Kind,
    /// 0 when the new name was free.
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

/// Checksums, one for each block: mostly one.
pub(crate) type SumList = SmallVec<[u32; 2]>;

/// By what the content of an extent can be told from other content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The checksum of all of it: what version 1 of the format had.
    Whole(u32),
    /// The checksum of each block that it lies in.
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
    /// Clusters of the log between the checkpoint before and this one.
    LogBefore {
        clusters: Vec<u32>,
    },
    Node(Node),
    Entries {
        directory: InodeId,
        entries: Vec<(InodeId, Kind, Vec<u8>)>,
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
        kind: Kind,
        time: u64,
    },
    Unlink {
        spot: Spot,
        inode: InodeId,
        kind: Kind,
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

fn put_spot(out: &mut Vec<u8>, spot: &Spot) {
    out.put_u64(spot.directory.0);
    put_name(out, &spot.name);
}

fn put_name(out: &mut Vec<u8>, name: &[u8]) {
    out.put_u8(name.len() as u8);
    out.put(name);
}

fn put_node(out: &mut Vec<u8>, node: &Node) {
    let a = &node.attributes;
    out.put_u64(node.inode.0);
    out.put_u8(a.kind as u8);
    out.put_u16(a.mode);
    [a.uid, a.gid, a.links].iter().for_each(|value| out.put_u32(*value));
    out.put_all(&[a.size, a.accessed_ns, a.modified_ns, a.changed_ns, a.born_ns, node.parent.0]);
    out.put_u16(node.target.len() as u16);
    out.put(&node.target);
}

pub(crate) fn put_stretch(out: &mut Vec<u8>, stretch: &Stretch) {
    out.put_all(&[stretch.offset, stretch.length, stretch.place]);
}

fn take_spot(take: &mut Take<'_>) -> Option<Spot> {
    Some(Spot { directory: take_inode(take)?, name: take_name(take)? })
}

pub(crate) fn take_inode(take: &mut Take<'_>) -> Option<InodeId> {
    take.u64().map(InodeId)
}

fn take_name(take: &mut Take<'_>) -> Option<Vec<u8>> {
    let length = take.u8()?;
    take.bytes(usize::from(length)).map(<[u8]>::to_vec)
}

/// One of the entries of a directory, as a checkpoint lists them.
pub(crate) fn take_entry<'a>(take: &mut Take<'a>) -> Option<(&'a [u8], InodeId, Kind)> {
    let (inode, kind) = (take_inode(take)?, take_kind(take)?);
    let length = take.u8()?;
    Some((take.bytes(usize::from(length))?, inode, kind))
}

pub(crate) fn put_entry(out: &mut Vec<u8>, (name, inode, kind): (&[u8], InodeId, Kind)) {
    out.put_u64(inode.0);
    out.put_u8(kind as u8);
    put_name(out, name);
}

fn take_kind(take: &mut Take<'_>) -> Option<Kind> {
    take.u8().and_then(Kind::from_byte)
}

fn take_node(take: &mut Take<'_>) -> Option<Node> {
    let inode = take_inode(take)?;
    let (kind, mode) = (take_kind(take)?, take.u16()?);
    let (uid, gid, links) = (take.u32()?, take.u32()?, take.u32()?);
    let (size, accessed_ns, modified_ns) = (take.u64()?, take.u64()?, take.u64()?);
    let (changed_ns, born_ns, parent) = (take.u64()?, take.u64()?, take_inode(take)?);
    let length = take.u16()?;
    let target = take.bytes(usize::from(length))?.to_vec();
    let attributes = Attributes { kind, mode, uid, gid, links, size, accessed_ns, modified_ns, changed_ns, born_ns };
    Some(Node { inode, attributes, parent, target })
}

pub(crate) fn take_stretch(take: &mut Take<'_>) -> Option<Stretch> {
    Some(Stretch { offset: take.u64()?, length: take.u64()?, place: take.u64()? })
}

/// Appends a record's head and its body.
pub(crate) fn with_head<T>(out: &mut Vec<u8>, code: u8, body: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    out.put_u32(u32::from(code));
    let start = out.len();
    let answer = body(out);
    let length = (out.len() - start) as u32;
    out[start - 3..start].copy_from_slice(&length.to_le_bytes()[..3]);
    answer
}

/// The code of the next record and its body, taken off `take`.
pub(crate) fn split_head<'a>(take: &mut Take<'a>) -> Option<(u8, &'a [u8])> {
    let code = take.u8()?;
    let [a, b, c] = take.array::<3>()?;
    take.bytes(u32::from_le_bytes([a, b, c, 0]) as usize).map(|body| (code, body))
}

impl Record {
    /// The inodes that a sync has to wait for because of this record.
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

    /// Whether it leaves content and size as they are.
    pub(crate) fn is_attributes(&self) -> bool {
        matches!(self, Record::Attributes { .. } | Record::SetExtended { .. } | Record::RemoveExtended { .. })
    }

    /// The code of the record that ends a checkpoint.
    pub(crate) const CHECKPOINT_END: u8 = 0x02;

    /// Whether records of this code are parts of a checkpoint.
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

    /// Appends the record with its head.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        with_head(out, self.code(), |out| self.encode_body(out));
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        match self {
            Record::CheckpointBegin { serial: number } | Record::CheckpointEnd { inodes: number } => {
                out.put_u64(*number);
            }
            Record::LogBefore { clusters } => clusters.iter().for_each(|cluster| out.put_u32(*cluster)),
            Record::Node(node) => put_node(out, node),
            Record::Entries { directory, entries } => {
                out.put_u64(directory.0);
                entries.iter().for_each(|(inode, kind, name)| put_entry(out, (name, *inode, *kind)));
            }
            Record::Extents { inode, stretches } => {
                out.put_u64(inode.0);
                stretches.iter().for_each(|stretch| put_stretch(out, stretch));
            }
            Record::Inline { inode, offset, content } => {
                out.put_all(&[inode.0, *offset]);
                out.put(content);
            }
            Record::Extended { inode, name, value } => {
                out.put_u64(inode.0);
                put_name(out, name);
                out.put(value);
            }
            Record::Create { spot, node } => {
                put_spot(out, spot);
                put_node(out, node);
            }
            Record::Link { spot, inode, kind, time } | Record::Unlink { spot, inode, kind, time } => {
                put_spot(out, spot);
                out.put_u64(inode.0);
                out.put_u8(*kind as u8);
                out.put_u64(*time);
            }
            Record::Rename(rename) => {
                put_spot(out, &rename.from);
                put_spot(out, &rename.to);
                out.put_u64(rename.inode.0);
                out.put_u8(rename.kind as u8);
                out.put_all(&[rename.replaced.0, rename.time]);
            }
            Record::Delete { inode } => out.put_u64(inode.0),
            _ => self.encode_content(out),
        }
    }

    /// The bodies of records about what is in a file.
    fn encode_content(&self, out: &mut Vec<u8>) {
        match self {
            Record::WriteInline { inode, offset, time, content } => {
                out.put_all(&[inode.0, *offset, *time]);
                out.put(content);
            }
            Record::WriteExtent { inode, stretch, proof, time } => {
                out.put_u64(inode.0);
                put_stretch(out, stretch);
                match proof {
                    Proof::Whole(checksum) => {
                        out.put_u32(*checksum);
                        out.put_u64(*time);
                    }
                    Proof::Blocks(sums) => put_sums(out, *time, sums),
                }
            }
            Record::Sums { place, sums } => put_sums(out, *place, sums),
            Record::Truncate { inode, size, time } => out.put_all(&[inode.0, *size, *time]),
            Record::Punch { inode, offset, length, time } => out.put_all(&[inode.0, *offset, *length, *time]),
            Record::Attributes { inode, attributes: a } => {
                out.put_u64(inode.0);
                out.put_u16(a.mode);
                out.put_u32(a.uid);
                out.put_u32(a.gid);
                out.put_all(&[a.accessed_ns, a.modified_ns, a.changed_ns]);
            }
            Record::Relocate(r) => {
                out.put_all(&[r.inode.0, r.offset, r.length, r.from, r.to]);
                out.put_u32(r.checksum);
            }
            Record::SetExtended { inode, name, time, value } => {
                out.put_u64(inode.0);
                put_name(out, name);
                out.put_u64(*time);
                out.put(value);
            }
            Record::RemoveExtended { inode, name, time } => {
                out.put_u64(inode.0);
                put_name(out, name);
                out.put_u64(*time);
            }
            other => unreachable!("{other:?} has its body written elsewhere"),
        }
    }

    /// Takes one record off `take`; `None` when it is none.
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
