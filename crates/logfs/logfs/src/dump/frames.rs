//! Walks along the frames of a log and says why it ends.

use super::table::{Parsed, parse_record};
use super::{DumpLine, DumpValue, word};
use crate::anchor::{Anchor, FramePlace};
use crate::bytes::Take;
use crate::frame::{self, HEADER_BYTES};
use crate::{Disk, Error, Layout};

/// A frame that was found: where the next one belongs, and the alternative place.
struct Found {
    next: FramePlace,
    spare: u32,
    epoch: u64,
}

/// Dumps all of the log that is kept: from the older checkpoint on, and again from the newest one
/// if the first walk did not reach it because of damage.
pub(super) async fn walk(
    disk: &Disk,
    layout: &Layout,
    anchor: &Anchor,
    sink: &mut dyn FnMut(DumpLine),
) -> Result<(), Error> {
    let mut wanted_sequence = 0;
    for generation in anchor.before.into_iter().chain([anchor.newest]) {
        if wanted_sequence <= generation.start.sequence {
            wanted_sequence = walk_from(generation.start, disk, layout, anchor, sink).await?;
        }
    }
    Ok(())
}

/// Returns the sequence of the first missing frame.
async fn walk_from(
    start: FramePlace,
    disk: &Disk,
    layout: &Layout,
    anchor: &Anchor,
    sink: &mut dyn FnMut(DumpLine),
) -> Result<u64, Error> {
    let (mut place, mut spare, mut epoch) = (start, 0, 0);
    let mut bytes = None;
    let mut visited = 0;
    loop {
        let here = look(disk, layout, place, epoch..=anchor.epoch, &mut bytes, sink).await?;
        let here_why = match here {
            Ok(found) => {
                (place, spare, epoch) = (found.next, found.spare, found.epoch);
                continue;
            }
            Err(why) => why,
        };
        visited += 1;
        let moved = FramePlace { cluster: spare, offset: 0, ..place };
        let there = if !layout.is_usable(spare) {
            Err("no frame points to a next cluster".to_owned())
        } else if visited > layout.clusters {
            Err("the clusters of the log form a loop".to_owned())
        } else {
            look(disk, layout, moved, epoch..=anchor.epoch, &mut bytes, sink).await?
        };
        match there {
            Ok(found) => (place, spare, epoch) = (found.next, found.spare, found.epoch),
            Err(there_why) => {
                sink(end(&place, &here_why, spare, &there_why, anchor));
                return Ok(place.sequence);
            }
        }
    }
}

/// Says where the frames end, and whether that is where they should end.
fn end(place: &FramePlace, here: &str, spare: u32, there: &str, anchor: &Anchor) -> DumpLine {
    let last = place.sequence - 1;
    let verdict = if last < anchor.flushed.max(anchor.newest.end) {
        "frames are missing that were durable according to the anchor"
    } else if anchor.closed && last == anchor.flushed {
        "the log was closed here"
    } else {
        "nothing indicates that there was more"
    };
    DumpLine {
        kind: "end",
        fields: vec![
            ("cluster", DumpValue::Number(u64::from(place.cluster))),
            ("offset", DumpValue::Number(u64::from(place.offset))),
            ("wanted_sequence", DumpValue::Number(place.sequence)),
            ("why", word(here)),
            ("next_cluster", DumpValue::Number(u64::from(spare))),
            ("why_not_there", word(there)),
            ("verdict", word(verdict)),
        ],
    }
}

/// Dumps the frame expected at a place with its records, or says why there is none. The bytes of
/// the last cluster read are kept.
async fn look(
    disk: &Disk,
    layout: &Layout,
    place: FramePlace,
    epochs: std::ops::RangeInclusive<u64>,
    kept: &mut Option<(u32, iolab_disk::Buffer)>,
    sink: &mut dyn FnMut(DumpLine),
) -> Result<Result<Found, String>, Error> {
    if u64::from(place.offset) + HEADER_BYTES as u64 > u64::from(layout.cluster_bytes) {
        return Ok(Err("the cluster ends".to_owned()));
    }
    if kept.as_ref().is_none_or(|(cluster, _)| *cluster != place.cluster) {
        let read = disk.read(layout.start_of(place.cluster), layout.cluster_bytes as usize).await;
        match read {
            Ok(bytes) => *kept = Some((place.cluster, bytes)),
            Err(error) => return Ok(Err(format!("cluster {} cannot be read: {error}", place.cluster))),
        }
    }
    let Some((_, bytes)) = kept.as_ref() else { return Ok(Err("nothing was read".to_owned())) };
    let bytes = &bytes[place.offset as usize..];
    let Some(found) = frame::parse(bytes, layout) else { return Ok(Err(objection(bytes, layout))) };
    let header = found.header;
    if !frame::belongs(&header, &place, epochs.clone()) {
        let (sequence, previous, epoch) = (header.sequence, header.previous, header.epoch);
        return Ok(Err(format!(
            "a complete frame, but a different one: sequence {sequence} (expected {}), previous checksum \
            {previous:08x} (expected {:08x}), epoch {epoch} (expected {} to {})",
            place.sequence,
            place.previous,
            epochs.start(),
            epochs.end()
        )));
    }
    let disk_bytes = found.disk_bytes(layout);
    sink(frame_line(&place, &found, disk_bytes));
    records(found.payload, sink);
    let next = FramePlace {
        cluster: place.cluster,
        offset: place.offset + disk_bytes,
        sequence: place.sequence + 1,
        previous: found.checksum,
    };
    Ok(Ok(Found { next, spare: header.next_cluster, epoch: header.epoch }))
}

/// Why these bytes are not a whole frame of this file system.
fn objection(bytes: &[u8], layout: &Layout) -> String {
    let mut take = Take(bytes);
    let (magic, checksum) = (take.array::<4>().unwrap_or_default(), take.u32().unwrap_or_default());
    if magic == [0; 4] {
        return "nothing was written there".to_owned();
    }
    if magic != *b"LFFR" {
        return format!("no frame starts there: the bytes are {}", magic.escape_ascii());
    }
    let id = take.array::<8>().unwrap_or_default();
    if id != layout.id[..8] {
        return "a frame of another file system".to_owned();
    }
    let length = bytes.get(40..44).and_then(|bytes| Take(bytes).u32()).unwrap_or_default() as usize;
    if length > bytes.len().saturating_sub(HEADER_BYTES) {
        return format!("a frame with a payload of {length} bytes, which does not fit into the cluster");
    }
    format!(
        "a frame that is torn, damaged or from another domain: its contents do not match its checksum {checksum:08x}"
    )
}

fn frame_line(place: &FramePlace, found: &frame::Frame<'_>, disk_bytes: u32) -> DumpLine {
    use DumpValue::{Bits, Number};
    let header = &found.header;
    DumpLine {
        kind: "frame",
        fields: vec![
            ("cluster", Number(u64::from(place.cluster))),
            ("offset", Number(u64::from(place.offset))),
            ("sequence", Number(header.sequence)),
            ("epoch", Number(header.epoch)),
            ("flushed", Number(header.flushed)),
            ("payload_bytes", Number(found.payload.len() as u64)),
            ("disk_bytes", Number(u64::from(disk_bytes))),
            ("checksum", Bits(u64::from(found.checksum))),
            ("checksum_before", Bits(u64::from(header.previous))),
            ("next_cluster", Number(u64::from(header.next_cluster))),
        ],
    }
}

fn records(payload: &[u8], sink: &mut dyn FnMut(DumpLine)) {
    let mut rest = payload;
    while !rest.is_empty() {
        let at = payload.len() - rest.len();
        match parse_record(rest) {
            Parsed::Record { fields, length } => {
                sink(DumpLine { kind: "record", fields });
                rest = &rest[length..];
            }
            Parsed::Damaged { why, length } => {
                let fields = vec![("payload_offset", DumpValue::Number(at as u64)), ("why", word(why))];
                sink(DumpLine { kind: "damage", fields });
                rest = rest.get(length..).unwrap_or_default();
            }
        }
    }
}
