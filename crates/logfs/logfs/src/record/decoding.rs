//! Decodes the bodies of records; an invalid one gives `None`.

use super::{Attributes, InodeId, InodeKind, Node, Proof, Record, Relocate, Rename, SUMS, Spot, Stretch, SumList};
use crate::bytes::Take;

pub(super) fn body(code: u8, take: &mut Take<'_>) -> Option<Record> {
    Some(match code {
        0x01 => Record::CheckpointBegin { serial: take.u64()? },
        0x02 => Record::CheckpointEnd { inodes: take.u64()? },
        0x03 => Record::Node(take_node(take)?),
        0x04 => {
            let directory = take_inode(take)?;
            let mut entries = Vec::new();
            while !take.0.is_empty() {
                let (name, inode, kind) = take_entry(take)?;
                entries.push((inode, kind, name.to_vec()));
            }
            Record::Entries { directory, entries }
        }
        0x05 => {
            let inode = take_inode(take)?;
            let mut stretches = Vec::new();
            while !take.0.is_empty() {
                stretches.push(take_stretch(take)?);
            }
            Record::Extents { inode, stretches }
        }
        0x06 => Record::Inline { inode: take_inode(take)?, offset: take.u64()?, content: take.rest().to_vec() },
        SUMS | 0x27 => Record::Sums { place: take.u64()?, sums: take_sums(take)? },
        0x09 => {
            let (clusters, rest) = take.rest().as_chunks::<4>();
            let clusters = clusters.iter().map(|cluster| u32::from_le_bytes(*cluster)).collect();
            rest.is_empty().then_some(Record::LogBefore { clusters })?
        }
        0x07 => Record::Extended { inode: take_inode(take)?, name: take_name(take)?, value: take.rest().to_vec() },
        0x10 => Record::Create { spot: take_spot(take)?, node: take_node(take)? },
        0x11 => {
            let (spot, inode) = (take_spot(take)?, take_inode(take)?);
            Record::Link { spot, inode, kind: take_kind(take)?, time: take.u64()? }
        }
        0x12 => Record::Unlink {
            spot: take_spot(take)?,
            inode: take_inode(take)?,
            kind: take_kind(take)?,
            time: take.u64()?,
        },
        0x13 => Record::Rename(Box::new(Rename {
            from: take_spot(take)?,
            to: take_spot(take)?,
            inode: take_inode(take)?,
            kind: take_kind(take)?,
            replaced: take_inode(take)?,
            time: take.u64()?,
        })),
        0x14 => Record::Delete { inode: take_inode(take)? },
        _ => return content(code, take),
    })
}

fn content(code: u8, take: &mut Take<'_>) -> Option<Record> {
    let inode = take_inode(take)?;
    Some(match code {
        0x20 => Record::WriteInline { inode, offset: take.u64()?, time: take.u64()?, content: take.rest().to_vec() },
        0x21 => {
            let (stretch, proof) = (take_stretch(take)?, Proof::Whole(take.u32()?));
            Record::WriteExtent { inode, stretch, proof, time: take.u64()? }
        }
        0x26 => {
            let (stretch, time) = (take_stretch(take)?, take.u64()?);
            Record::WriteExtent { inode, stretch, proof: Proof::Blocks(take_sums(take)?), time }
        }
        0x22 => Record::Truncate { inode, size: take.u64()?, time: take.u64()? },
        0x23 => Record::Punch { inode, offset: take.u64()?, length: take.u64()?, time: take.u64()? },
        0x24 => Record::Attributes {
            inode,
            attributes: Attributes {
                kind: InodeKind::File,
                mode: take.u16()?,
                uid: take.u32()?,
                gid: take.u32()?,
                links: 0,
                size: 0,
                accessed_ns: take.u64()?,
                modified_ns: take.u64()?,
                changed_ns: take.u64()?,
                born_ns: 0,
            },
        },
        0x25 => Record::Relocate(Relocate {
            inode,
            offset: take.u64()?,
            length: take.u64()?,
            from: take.u64()?,
            to: take.u64()?,
            checksum: take.u32()?,
        }),
        0x30 => {
            let (name, time) = (take_name(take)?, take.u64()?);
            Record::SetExtended { inode, name, time, value: take.rest().to_vec() }
        }
        0x31 => Record::RemoveExtended { inode, name: take_name(take)?, time: take.u64()? },
        _ => return None,
    })
}

/// Takes the next record off `take`, as its code and body.
pub(crate) fn split_head<'a>(take: &mut Take<'a>) -> Option<(u8, &'a [u8])> {
    let code = take.u8()?;
    let [a, b, c] = take.array::<3>()?;
    take.bytes(u32::from_le_bytes([a, b, c, 0]) as usize).map(|body| (code, body))
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

/// One entry of a directory, as listed in a checkpoint.
pub(crate) fn take_entry<'a>(take: &mut Take<'a>) -> Option<(&'a [u8], InodeId, InodeKind)> {
    let (inode, kind) = (take_inode(take)?, take_kind(take)?);
    let length = take.u8()?;
    Some((take.bytes(usize::from(length))?, inode, kind))
}

fn take_kind(take: &mut Take<'_>) -> Option<InodeKind> {
    take.u8().and_then(InodeKind::from_byte)
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

/// The rest of a body as checksums.
fn take_sums(take: &mut Take<'_>) -> Option<SumList> {
    let (sums, rest) = take.rest().as_chunks::<4>();
    rest.is_empty().then(|| sums.iter().map(|sum| u32::from_le_bytes(*sum)).collect())
}
