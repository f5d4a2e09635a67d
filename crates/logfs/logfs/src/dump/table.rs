//! The fields of every record, as listed in docs/logfs/format.md.

use super::{DumpValue, word};
use crate::attributes::InodeKind;
use crate::bytes::Take;

/// The type of a field.
#[derive(Debug, Clone, Copy)]
enum Field {
    U32,
    U64,
    /// Permission bits, two bytes.
    Mode,
    /// A checksum, four bytes.
    Checksum,
    /// A place of content; all ones for content in the log.
    Place,
    /// The kind of an inode, one byte.
    Kind,
    /// A length byte, then that number of bytes.
    Name,
    /// Two length bytes, then that number of bytes.
    Target,
    /// The remaining bytes, as text or as content.
    Rest,
    /// The fields that follow, repeated to the end.
    Repeat(&'static [(&'static str, Field)]),
}

use Field::{Checksum, Kind as KindByte, Mode, Name, Place, Repeat, Rest, Target, U32, U64};

type Fields = &'static [(&'static str, Field)];

const NODE: Fields = &[
    ("inode", U64),
    ("kind", KindByte),
    ("mode", Mode),
    ("uid", U32),
    ("gid", U32),
    ("links", U32),
    ("size", U64),
    ("accessed_ns", U64),
    ("modified_ns", U64),
    ("changed_ns", U64),
    ("born_ns", U64),
    ("parent", U64),
    ("target", Target),
];
const ENTRY: Fields = &[("inode", U64), ("kind", KindByte), ("name", Name)];
const STRETCH: Fields = &[("offset", U64), ("length", U64), ("place", Place)];
const SUMS: Fields = &[("place", U64), ("checksums", Repeat(&[("checksum", Checksum)]))];
const NAMED: Fields = &[("directory", U64), ("name", Name), ("inode", U64), ("kind", KindByte), ("time_ns", U64)];

/// Type, name, and groups of fields in order.
const TABLE: &[(u8, &str, &[Fields])] = &[
    (0x01, "checkpoint begins", &[&[("serial", U64)]]),
    (0x02, "checkpoint ends", &[&[("inodes", U64)]]),
    (0x03, "node", &[NODE]),
    (0x04, "entries", &[&[("directory", U64), ("entries", Repeat(ENTRY))]]),
    (0x05, "extents", &[&[("inode", U64), ("extents", Repeat(STRETCH))]]),
    (0x06, "inline", &[&[("inode", U64), ("offset", U64), ("content", Rest)]]),
    (0x07, "extended attribute", &[&[("inode", U64), ("name", Name), ("value", Rest)]]),
    (0x08, "checksums", &[SUMS]),
    (0x09, "log before", &[&[("clusters", Repeat(&[("cluster", U32)]))]]),
    (0x10, "create", &[&[("directory", U64), ("name", Name)], NODE]),
    (0x11, "link", &[NAMED]),
    (0x12, "unlink", &[NAMED]),
    (
        0x13,
        "rename",
        &[
            &[("from_directory", U64), ("from_name", Name), ("to_directory", U64), ("to_name", Name)],
            &[("inode", U64), ("kind", KindByte), ("replaced", U64), ("time_ns", U64)],
        ],
    ),
    (0x14, "delete", &[&[("inode", U64)]]),
    (0x20, "write inline", &[&[("inode", U64), ("offset", U64), ("time_ns", U64), ("content", Rest)]]),
    (0x21, "write extent", &[&[("inode", U64)], STRETCH, &[("checksum", Checksum), ("time_ns", U64)]]),
    (0x22, "truncate", &[&[("inode", U64), ("size", U64), ("time_ns", U64)]]),
    (0x23, "punch", &[&[("inode", U64), ("offset", U64), ("length", U64), ("time_ns", U64)]]),
    (
        0x24,
        "attributes",
        &[
            &[("inode", U64), ("mode", Mode), ("uid", U32), ("gid", U32)],
            &[("accessed_ns", U64), ("modified_ns", U64), ("changed_ns", U64)],
        ],
    ),
    (
        0x25,
        "relocate",
        &[&[("inode", U64), ("offset", U64), ("length", U64), ("from", Place), ("to", U64), ("checksum", Checksum)]],
    ),
    (
        0x26,
        "write extent",
        &[&[("inode", U64)], STRETCH, &[("time_ns", U64), ("checksums", Repeat(&[("checksum", Checksum)]))]],
    ),
    (0x27, "checksums", &[SUMS]),
    (0x30, "set extended attribute", &[&[("inode", U64), ("name", Name), ("time_ns", U64), ("value", Rest)]]),
    (0x31, "remove extended attribute", &[&[("inode", U64), ("name", Name), ("time_ns", U64)]]),
];

/// The result of parsing the start of some bytes.
pub(super) enum Parsed {
    Record {
        fields: Vec<(&'static str, DumpValue)>,
        /// Bytes of the record, header included.
        length: usize,
    },
    Damaged {
        why: String,
        /// Distance to the next possible record.
        length: usize,
    },
}

/// Bytes before the body: type and length.
const HEAD_BYTES: usize = 4;

pub(super) fn parse_record(bytes: &[u8]) -> Parsed {
    let damaged = |why: String, length| Parsed::Damaged { why, length };
    let Some((&[code, a, b, c], rest)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
        return damaged("the header of a record is cut off".to_owned(), bytes.len());
    };
    let body_bytes = u32::from_le_bytes([a, b, c, 0]) as usize;
    let Some(body) = rest.get(..body_bytes) else {
        return damaged(format!("a record of type {code:02x} is longer than its frame"), bytes.len());
    };
    let length = HEAD_BYTES + body_bytes;
    let Some((_, name, groups)) = TABLE.iter().find(|(known, ..)| *known == code) else {
        return damaged(format!("a record of the unknown type {code:02x}, {body_bytes} bytes long"), length);
    };
    let mut take = Take(body);
    let mut fields = vec![("type", word(*name))];
    let complete = groups.iter().copied().flatten().try_for_each(|(name, field)| {
        fields.push((name, take_field(*field, &mut take)?));
        Some(())
    });
    match complete {
        Some(()) if take.0.is_empty() => Parsed::Record { fields, length },
        _ => damaged(format!("a record of type {code:02x} ({name}) whose fields do not fit its length"), length),
    }
}

fn take_field(field: Field, take: &mut Take<'_>) -> Option<DumpValue> {
    use DumpValue::{Bits, Bytes, Number};
    Some(match field {
        U32 => Number(u64::from(take.u32()?)),
        U64 => Number(take.u64()?),
        Mode => word(format!("{:04o}", take.u16()?)),
        Checksum => Bits(u64::from(take.u32()?)),
        Place => match take.u64()? {
            u64::MAX => word("log"),
            place => Number(place),
        },
        KindByte => {
            let byte = take.u8()?;
            InodeKind::from_byte(byte).map_or(Number(u64::from(byte)), |kind| word(format!("{kind:?}").to_lowercase()))
        }
        Name => {
            let length = take.u8()?;
            DumpValue::Name(take.bytes(usize::from(length))?.to_vec())
        }
        Target => {
            let length = take.u16()?;
            DumpValue::Name(take.bytes(usize::from(length))?.to_vec())
        }
        Rest => Bytes(take.rest().len()),
        Repeat(fields) => {
            let mut list = Vec::new();
            while !take.0.is_empty() {
                let one = fields.iter().map(|(name, field)| Some((*name, take_field(*field, take)?)));
                list.push(one.collect::<Option<Vec<_>>>()?);
            }
            DumpValue::List(list)
        }
    })
}
