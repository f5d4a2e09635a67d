//! Encodes the bodies of records.

use super::{InodeId, InodeKind, Node, Proof, Record, Spot, Stretch};
use crate::bytes::Put;

/// The code of the record that holds checksums in a checkpoint.
pub(crate) const SUMS: u8 = 0x08;

/// Appends a record's header and body.
pub(crate) fn with_head<T>(out: &mut Vec<u8>, code: u8, body: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    out.put_u32(u32::from(code));
    let start = out.len();
    let answer = body(out);
    let length = (out.len() - start) as u32;
    out[start - 3..start].copy_from_slice(&length.to_le_bytes()[..3]);
    answer
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

pub(crate) fn put_entry(out: &mut Vec<u8>, (name, inode, kind): (&[u8], InodeId, InodeKind)) {
    out.put_u64(inode.0);
    out.put_u8(kind as u8);
    put_name(out, name);
}

impl Record {
    pub(super) fn encode_body(&self, out: &mut Vec<u8>) {
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

    /// The bodies of records about file content.
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
}

pub(crate) fn put_sums(out: &mut Vec<u8>, place: u64, sums: &[u32]) {
    out.put_u64(place);
    sums.iter().for_each(|sum| out.put_u32(*sum));
}
