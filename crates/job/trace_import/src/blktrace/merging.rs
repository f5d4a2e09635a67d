//! Several traces of blktrace as one, in one file: `merge_blktrace_file` of fio(1).
//!
//! ```text
//!  trace a  ─ time × percent, again and again ─┐
//!  trace b  ─ time × percent ──────────────────┴─▶ earliest first ─▶ one file
//! ```
//!
//! The merged file keeps the queueing, the issue and the completion of each request, and the names
//! of processes, so that fio and iolab both replay it. It is written record by record, whatever the
//! size of the traces.

use std::io::{Read, Write};

use super::{COMPLETE, IS_NOTE, ISSUE, MAGIC, NAMES_PROCESS, QUEUE, RECORD_BYTES, Record, Source, VERSION};
use crate::sink::ImportError;

/// A trace to be merged.
pub struct TraceToMerge<'a> {
    /// Opens it; called for each pass over it.
    pub open: Box<dyn FnMut() -> std::io::Result<Box<dyn Read>> + 'a>,
    /// Its times are multiplied by this, percent.
    pub percent: f64,
    /// How often it is gone through.
    pub passes: u64,
}

/// One trace on its way into the merged file.
struct Merging<'a> {
    trace: TraceToMerge<'a>,
    source: Source<Box<dyn Read>>,
    pass: u64,
    /// How long a pass takes: the time of its last record.
    length_ns: u64,
}

impl<'a> Merging<'a> {
    fn begin(mut trace: TraceToMerge<'a>) -> Result<Merging<'a>, ImportError> {
        let input = (trace.open)().map_err(ImportError::Input)?;
        let source = Source { input, next: None, damaged: false };
        let mut merging = Merging { trace, source, pass: 0, length_ns: 0 };
        merging.advance()?;
        if merging.source.next.is_none() && merging.source.damaged {
            return Err(ImportError::Unknown {
                what: "it does not begin with a blktrace record".to_owned(),
                advice: "merge_blktrace_file merges binary files of blktrace only",
            });
        }
        Ok(merging)
    }

    /// Goes to the next record that is kept.
    fn advance(&mut self) -> Result<(), ImportError> {
        loop {
            self.source.advance()?;
            let Some(record) = &self.source.next else {
                if self.source.damaged || self.pass + 1 >= self.trace.passes || self.length_ns == 0 {
                    return Ok(());
                }
                self.pass += 1;
                let input = (self.trace.open)().map_err(ImportError::Input)?;
                self.source = Source { input, next: None, damaged: false };
                continue;
            };
            if self.pass == 0 {
                self.length_ns = self.length_ns.max(record.time_ns);
            }
            let is_note = record.kinds & IS_NOTE != 0;
            if if is_note { record.what == NAMES_PROCESS } else { [QUEUE, ISSUE, COMPLETE].contains(&record.what) } {
                return Ok(());
            }
        }
    }

    /// When the next record stands in the merged file.
    fn time_ns(&self) -> Option<u64> {
        let record = self.source.next.as_ref()?;
        let time_ns = record.time_ns as f64 + self.pass as f64 * self.length_ns as f64;
        Some((time_ns * self.trace.percent / 100.0) as u64)
    }
}

/// Merges traces. Returns the number of records.
///
/// # Errors
/// A trace cannot be read, is none, or is damaged; or the output fails.
pub fn merge<W: Write>(traces: Vec<TraceToMerge<'_>>, mut output: W) -> Result<u64, ImportError> {
    let mut all = traces.into_iter().map(Merging::begin).collect::<Result<Vec<_>, _>>()?;
    let mut written = 0_u64;
    let earliest =
        |all: &[Merging<'_>]| all.iter().enumerate().filter_map(|(place, one)| Some((one.time_ns()?, place))).min();
    while let Some((time_ns, place)) = earliest(&all) {
        if let Some(record) = all[place].source.next.take() {
            output.write_all(&encode(&record, time_ns, written as u32)).map_err(ImportError::Output)?;
            written += 1;
        }
        all[place].advance()?;
    }
    if all.iter().any(|one| one.source.damaged) {
        return Err(ImportError::Unknown {
            what: "a trace is cut off or damaged".to_owned(),
            advice: "trace again, or leave it out of read_iolog",
        });
    }
    output.flush().map_err(ImportError::Output)?;
    Ok(written)
}

/// A record as bytes. Only notes keep what stands behind the record.
fn encode(record: &Record, time_ns: u64, sequence: u32) -> Vec<u8> {
    let more: &[u8] = if record.kinds & IS_NOTE != 0 { &record.more } else { &[] };
    let mut bytes = Vec::with_capacity(RECORD_BYTES + more.len());
    bytes.extend((MAGIC | VERSION).to_le_bytes());
    bytes.extend(sequence.to_le_bytes());
    bytes.extend(time_ns.to_le_bytes());
    bytes.extend(record.sector.to_le_bytes());
    bytes.extend(record.bytes.to_le_bytes());
    bytes.extend(record.what.to_le_bytes());
    bytes.extend(record.kinds.to_le_bytes());
    bytes.extend(record.pid.to_le_bytes());
    bytes.extend(record.device.to_le_bytes());
    bytes.extend(0_u32.to_le_bytes());
    bytes.extend(record.error.to_le_bytes());
    bytes.extend((more.len() as u16).to_le_bytes());
    bytes.extend(more);
    bytes
}
