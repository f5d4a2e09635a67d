//! Prints the bootstrap record, the anchors and the metadata log in readable form, as far as they
//! can be read.
//!
//! For disks with a fault: it applies nothing, checks less than opening does, and reports where
//! reading ends and why. It reads the log from the frame that the newest anchor names to the last
//! one that follows. It decodes records by a table of their fields ([`table`](self)) instead of the
//! code that opening uses, so that the two check one another.

mod frames;
mod table;

use iolab_disk::Buffer;

use crate::anchor::Anchor;
use crate::recovery::read_layout;
use crate::{Disk, Error, Layout};

/// What a field holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DumpValue {
    /// A number of any width.
    Number(u64),
    /// A checksum or permission bits: better shown in hexadecimal or octal.
    Bits(u64),
    /// A name or path: bytes for people to read.
    Name(Vec<u8>),
    /// Content, as its length in bytes.
    Bytes(usize),
    /// A fixed word.
    Word(String),
    /// A list of entries with the same fields.
    List(Vec<Vec<(&'static str, DumpValue)>>),
}

/// One line of a dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpLine {
    /// `bootstrap`, `anchor`, `frame`, `record`, `damage` or `end`.
    pub kind: &'static str,
    /// Its fields, in their order on the disk.
    pub fields: Vec<(&'static str, DumpValue)>,
}

/// Passes every line of a domain's dump to `sink`, in the order of the log.
///
/// # Errors
/// [`Error::Unusable`] when there is no bootstrap record, or no such domain; [`Error::Device`] when
/// the device cannot be read. Any other fault becomes a line of the dump.
pub async fn dump_log(disk: &Disk, domain: u32, sink: &mut dyn FnMut(DumpLine)) -> Result<(), Error> {
    let (layout, good) = read_layout(disk).await?;
    if domain >= layout.domains {
        return Err(Error::Unusable(format!("domain {domain}: the image has only {}", layout.domains)));
    }
    for (place, good) in layout.bootstrap_places().into_iter().zip(good) {
        sink(bootstrap(&layout, place, good));
    }
    let layout = layout.of_domain(domain, layout.owned);
    let mut newest: Option<Anchor> = None;
    for place in Anchor::places(&layout) {
        let bytes = disk.read(place, layout.block_bytes as usize).await;
        let found = bytes.as_ref().ok().and_then(|bytes| Anchor::decode(bytes, &layout));
        sink(anchor(place, found.as_ref(), bytes.as_ref().ok()));
        newest = newest.into_iter().chain(found).max_by_key(|anchor| anchor.number);
    }
    match newest {
        Some(newest) => frames::walk(disk, &layout, &newest, sink).await,
        None => {
            sink(DumpLine { kind: "end", fields: vec![("why", word("no anchor points to the start of the log"))] });
            Ok(())
        }
    }
}

fn word(text: impl Into<String>) -> DumpValue {
    DumpValue::Word(text.into())
}

fn bootstrap(layout: &Layout, place: u64, good: bool) -> DumpLine {
    use DumpValue::Number;
    let mut fields = vec![("at", Number(place)), ("state", word(if good { "good" } else { "damaged or missing" }))];
    if good {
        fields.extend([
            ("id", word(layout.id.iter().map(|byte| format!("{byte:02x}")).collect::<String>())),
            ("block_bytes", Number(u64::from(layout.block_bytes))),
            ("cluster_bytes", Number(u64::from(layout.cluster_bytes))),
            ("clusters", Number(u64::from(layout.clusters))),
            ("small_max_bytes", Number(u64::from(layout.small_max_bytes))),
            ("made_ns", Number(layout.made_ns)),
            ("domains", Number(u64::from(layout.domains))),
            ("generation", Number(u64::from(layout.generation))),
        ]);
    }
    DumpLine { kind: "bootstrap", fields }
}

fn anchor(place: u64, found: Option<&Anchor>, bytes: Option<&Buffer>) -> DumpLine {
    use DumpValue::{Bits, Number};
    let is_blank = bytes.is_some_and(|bytes| bytes.iter().all(|byte| *byte == 0));
    let state = match (found, bytes) {
        (Some(_), _) => "good",
        (None, None) => "the device failed to read it",
        (None, Some(_)) if is_blank => "never written",
        (None, Some(_)) => "damaged",
    };
    let mut fields = vec![("at", Number(place)), ("state", word(state))];
    if let Some(anchor) = found {
        fields.extend([
            ("number", Number(anchor.number)),
            ("epoch", Number(anchor.epoch)),
            ("first_cluster", Number(u64::from(anchor.newest.start.cluster))),
            ("first_offset", Number(u64::from(anchor.newest.start.offset))),
            ("first_sequence", Number(anchor.newest.start.sequence)),
            ("checksum_before", Bits(u64::from(anchor.newest.start.previous))),
            ("checkpoint_end", Number(anchor.newest.end)),
            ("older_sequence", Number(anchor.before.map_or(0, |before| before.start.sequence))),
            ("flushed", Number(anchor.flushed)),
            ("closed", word(if anchor.closed { "yes" } else { "no" })),
            ("serial", Number(anchor.serial)),
        ]);
    }
    DumpLine { kind: "anchor", fields }
}

#[cfg(test)]
mod tests;
