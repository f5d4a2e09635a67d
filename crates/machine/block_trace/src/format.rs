//! Offsets of the fields in a tracepoint's record, as given by tracefs
//! (Documentation/trace/events.rst).

use iolab_perf_events::TracepointLayout;

use crate::TraceError;

/// A tracepoint of the group `block`: its number, and the offsets of the required fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    /// For `perf_event_attr.config`.
    pub(crate) id: u64,
    dev: usize,
    sector: usize,
    sectors: usize,
    direction: usize,
}

/// The fields of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fields {
    /// The kernel's encoding of a device number: 12 bits of major, 20 of minor.
    pub(crate) dev: u32,
    pub(crate) sector: u64,
    pub(crate) bytes: u64,
    pub(crate) writes: bool,
    /// Neither a read nor a write, but a discard or flush.
    pub(crate) other: bool,
}

impl Format {
    /// Takes the offsets from the description of an event.
    pub(crate) fn of(layout: &TracepointLayout) -> Result<Format, TraceError> {
        let field =
            |name: &'static str, bytes: usize| layout.offset_of(name, bytes).ok_or(TraceError::Format { field: name });
        Ok(Format {
            id: layout.id(),
            dev: field("dev", 4)?,
            sector: field("sector", 8)?,
            sectors: field("nr_sector", 4)?,
            direction: field("rwbs", 1)?,
        })
    }

    /// Decodes a record; `None` if it is too short.
    pub(crate) fn fields(&self, record: &[u8]) -> Option<Fields> {
        let word = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
        let sector = u64::from_le_bytes(record.get(self.sector..self.sector + 8)?.try_into().ok()?);
        // `rwbs` begins with a letter for the operation, after an F if a flush precedes it.
        let letters = record.get(self.direction..self.direction + 2)?;
        let letter = if letters[0] == b'F' && matches!(letters[1], b'W' | b'R') { letters[1] } else { letters[0] };
        Some(Fields {
            dev: word(self.dev)?,
            sector,
            bytes: u64::from(word(self.sectors)?) * 512,
            writes: letter == b'W',
            other: !matches!(letter, b'W' | b'R'),
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const ISSUE: &str = "name: block_rq_issue\nID: 2104\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n";

    fn parsed(text: &str) -> Result<Format, TraceError> {
        Format::of(&TracepointLayout::parse(text).expect("a description"))
    }

    pub(crate) fn record(dev: u32, sector: u64, sectors: u32, letters: &[u8]) -> Vec<u8> {
        let mut record = vec![0; 64];
        record[8..12].copy_from_slice(&dev.to_le_bytes());
        record[16..24].copy_from_slice(&sector.to_le_bytes());
        record[24..28].copy_from_slice(&sectors.to_le_bytes());
        record[34..34 + letters.len()].copy_from_slice(letters);
        record
    }

    #[test]
    fn fields_are_where_the_description_says() {
        let format = parsed(ISSUE).unwrap();
        assert_eq!(format.id, 2104);
        for (letters, writes, other) in [
            (&b"R"[..], false, false),
            (b"RA", false, false),
            (b"WS", true, false),
            (b"FWFS", true, false),
            (b"D", false, true),
            (b"F", false, true),
            (b"FF", false, true),
        ] {
            let fields = format.fields(&record(7 << 20 | 1, 99, 8, letters)).unwrap();
            assert_eq!(fields, Fields { dev: 7 << 20 | 1, sector: 99, bytes: 4096, writes, other }, "{letters:?}");
        }
        assert_eq!(format.fields(&[0; 20]), None);
    }

    #[test]
    fn what_is_missing_is_named() {
        for (missing, field) in [("sector_t sector", "sector"), ("rwbs[10]", "rwbs"), ("dev_t dev", "dev")] {
            let error = parsed(&ISSUE.replace(missing, "x")).unwrap_err();
            assert!(matches!(error, TraceError::Format { field: found } if found == field), "{missing}: {error}");
        }
    }
}
