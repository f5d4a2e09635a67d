//! One CPU's ring of perf records: events write to it, and this process reads it.
//!
//! ```text
//!  map:  │ control page: data_head (kernel) data_tail (us) │ 2^n pages of records, the last may wrap round │
//!  record:  type: u32 │ misc: u16 │ size: u16 │ process: u32 │ thread: u32 │ time: u64 │ raw size: u32 │ tracepoint's record …
//!           type: u32 │ misc: u16 │ size: u16 │ id: u64 │ lost: u64         (the first: PERF_RECORD_SAMPLE; this one: PERF_RECORD_LOST)
//! ```
//! The order of reads and writes is that of perf_event_open(2): head is read before the records
//! (acquire), tail is written after them (release).
//!
//! Unsafe because it makes the system call, maps the ring, and reads memory that the kernel writes.
#![allow(unsafe_code, reason = "island: perf_event_open, its ioctls, and the ring that the kernel writes")]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::{self, NonNull};
use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingSize {
    /// For some ten thousand records.
    Usual,
    /// For bursts, or for rings that are read rarely.
    Large,
}

impl RingSize {
    /// The number of pages of records for each CPU, a power of two. If the kernel does not allow
    /// that much locked memory, the next number is tried.
    fn pages(self) -> &'static [usize] {
        match self {
            RingSize::Usual => &[512, 128, 32],
            RingSize::Large => &[4096, 1024, 512, 128, 32],
        }
    }
}

/// A tracepoint, and a filter for its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tracepoint<'a> {
    /// Its number ([`crate::TracepointLayout::id`]).
    pub id: u64,
    /// A filter in the kernel's language; none if it is empty.
    pub filter: &'a str,
}

/// The activity to record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingTarget<'a> {
    /// All activity of the CPU.
    Everything,
    /// These threads, the threads that they create and, if wanted, the processes that they create.
    Threads {
        /// Their numbers.
        ids: &'a [i32],
        /// Whether new processes are followed.
        children: bool,
    },
}

const PAGE_BYTES: usize = 4096;
/// Bytes of a record's header: type, misc and size.
const HEADER_BYTES: usize = 8;
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

const TYPE_TRACEPOINT: u32 = 2;
const SAMPLE_TID: u64 = 1 << 1;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_RAW: u64 = 1 << 10;
/// Bits of the flags word: `disabled`, `use_clockid`.
const FLAGS: u64 = 1 | 1 << 25;
/// `inherit`, and `inherit_thread`, which excludes new processes.
const INHERIT: u64 = 1 << 1;
const INHERIT_THREAD: u64 = 1 << 35;
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
const IOCTL_ENABLE: libc::c_ulong = 0x2400;
const IOCTL_SET_OUTPUT: libc::c_ulong = 0x2405;
const IOCTL_SET_FILTER: libc::c_ulong = 0x4008_2406;
const FLAG_CLOEXEC: libc::c_ulong = 8;

/// `struct perf_event_attr` up to its fifth version (112 bytes), as far as it is used; other fields
/// are 0.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_kind: u32,
    config1: u64,
    config2: u64,
    branch_sample_type: u64,
    user_registers: u64,
    user_stack: u32,
    clock: i32,
    interrupt_registers: u64,
    aux_watermark: u32,
    max_stack: u16,
    reserved: u16,
}

/// An entry of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RingRecord<'a> {
    /// A tracepoint was hit.
    Event(TracepointSample<'a>),
    /// This number of events was lost because the ring was full.
    Lost(u64),
}

/// One record of a tracepoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracepointSample<'a> {
    /// The time of the event, ns on `CLOCK_MONOTONIC`.
    pub time_ns: u64,
    /// The process.
    pub process: i32,
    /// The thread.
    pub thread: i32,
    /// The tracepoint's bytes.
    pub raw: &'a [u8],
}

impl TracepointSample<'_> {
    /// The number of the tracepoint.
    pub fn id(&self) -> u64 {
        self.raw.get(..2).map_or(0, |kind| u64::from(u16::from_le_bytes([kind[0], kind[1]])))
    }

    /// A 64-bit number at an offset of the record; `None` beyond its end.
    pub fn long(&self, at: usize) -> Option<u64> {
        number(self.raw, at)
    }
}

/// A ring and the events that write to it.
#[derive(Debug)]
pub struct Ring {
    /// Kept open, because closing an event stops it. The first event owns the ring.
    _events: Vec<File>,
    map: NonNull<u8>,
    /// Bytes of records.
    ring_bytes: usize,
    /// The buffer in which a record that wraps around is assembled.
    record: Vec<u8>,
}

impl Ring {
    /// Opens tracepoints on one CPU and makes them write to one ring. Threads that have ended are
    /// skipped.
    ///
    /// # Errors
    /// The kernel refuses perf events, a filter, or the memory; or all threads have ended.
    pub fn open(
        cpu: usize,
        tracepoints: &[Tracepoint<'_>],
        target: RingTarget<'_>,
        size: RingSize,
    ) -> io::Result<Ring> {
        let (ids, inherit): (&[i32], u64) = match target {
            RingTarget::Everything => (&[-1], 0),
            RingTarget::Threads { ids, children: true } => (ids, INHERIT),
            RingTarget::Threads { ids, children: false } => (ids, INHERIT | INHERIT_THREAD),
        };
        let mut events: Vec<File> = Vec::new();
        let mut ring = None;
        for tracepoint in tracepoints {
            let filter = CString::new(tracepoint.filter)?;
            for id in ids {
                let event = match open_event(tracepoint.id, *id, cpu, inherit) {
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => continue,
                    opened => opened?,
                };
                match events.first() {
                    None => ring = Some(map_ring(&event, size)?),
                    Some(first) => command(&event, IOCTL_SET_OUTPUT, first.as_raw_fd() as libc::c_ulong)?,
                }
                if !tracepoint.filter.is_empty() {
                    command(&event, IOCTL_SET_FILTER, filter.as_ptr() as libc::c_ulong)?;
                }
                events.push(event);
            }
        }
        let (map, ring_bytes) = ring.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))?;
        let ring = Ring { _events: events, map, ring_bytes, record: Vec::new() };
        ring._events.iter().try_for_each(|event| command(event, IOCTL_ENABLE, 0))?;
        Ok(ring)
    }

    /// Passes every complete record to `take`.
    pub fn drain(&mut self, mut take: impl FnMut(RingRecord<'_>)) {
        let head = self.cell(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.cell(TAIL_AT).load(Ordering::Relaxed);
        let mut apart = std::mem::take(&mut self.record);
        while tail < head {
            let header = self.header(tail);
            let size = usize::from((header >> 48) as u16);
            if size < HEADER_BYTES || size as u64 > head - tail {
                // The kernel never writes this. The records after it cannot be found any more.
                tail = head;
                break;
            }
            let bytes = self.record(tail, size, &mut apart);
            tail += size as u64;
            match header as u32 {
                RECORD_SAMPLE => sample(bytes).into_iter().for_each(|sample| take(RingRecord::Event(sample))),
                RECORD_LOST => take(RingRecord::Lost(number(bytes, 16).unwrap_or(1))),
                _ => {}
            }
        }
        self.record = apart;
        self.cell(TAIL_AT).store(tail, Ordering::Release);
    }

    /// A counter of the control page.
    fn cell(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the control page is mapped as long as `self` lives, `at` is one of the two
        // offsets above, within it and aligned; the kernel accesses these words atomically.
        unsafe { &*self.map.as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// The header of the record at a position. Records begin at multiples of 8 bytes, so headers
    /// never wrap around.
    fn header(&self, at: u64) -> u64 {
        let at = (at as usize % self.ring_bytes) & !7;
        // SAFETY: the eight bytes are in the mapped pages of records, which begin after the control
        // page; `at` is at most the last multiple of 8 before their end.
        u64::from_le(unsafe { self.map.as_ptr().add(PAGE_BYTES + at).cast::<u64>().read() })
    }

    /// The record at a position: in the ring itself, or assembled in `apart` if it wraps around.
    fn record<'a>(&'a self, from: u64, size: usize, apart: &'a mut Vec<u8>) -> &'a [u8] {
        let at = from as usize % self.ring_bytes;
        let straight = size.min(self.ring_bytes - at);
        // SAFETY: both pieces are in the mapped pages of records. A record has at most 2^16 bytes,
        // which is not more than the ring. The kernel does not write between tail and head until
        // tail has moved on, which happens after the last use of the slices.
        let (first, rest) = unsafe {
            let records = self.map.as_ptr().add(PAGE_BYTES);
            (slice::from_raw_parts(records.add(at), straight), slice::from_raw_parts(records, size - straight))
        };
        if rest.is_empty() {
            return first;
        }
        apart.clear();
        apart.extend_from_slice(first);
        apart.extend_from_slice(rest);
        apart
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: this is the mapping made in `open`, and nothing points into it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), PAGE_BYTES + self.ring_bytes) };
    }
}

/// Maps the ring of an event, as large as possible. Returns its address and the size of its
/// records.
fn map_ring(event: &File, size: RingSize) -> io::Result<(NonNull<u8>, usize)> {
    let mut refused = io::Error::from(io::ErrorKind::OutOfMemory);
    for pages in size.pages() {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = (1 + pages) * PAGE_BYTES;
        // SAFETY: this is a new mapping of the event's ring at an address that the kernel chooses;
        // no existing memory is touched.
        let map = unsafe { libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, event.as_raw_fd(), 0) };
        if map == libc::MAP_FAILED {
            refused = io::Error::last_os_error();
            continue;
        }
        return Ok((NonNull::new(map.cast::<u8>()).ok_or(io::ErrorKind::InvalidData)?, pages * PAGE_BYTES));
    }
    Err(refused)
}

fn number(record: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(record.get(at..at + 8)?.try_into().ok()?))
}

/// Decodes a sample.
fn sample(record: &[u8]) -> Option<TracepointSample<'_>> {
    let word = |at: usize| Some(u32::from_le_bytes(record.get(at..at + 4)?.try_into().ok()?));
    let (process, thread, bytes) = (word(8)? as i32, word(12)? as i32, word(24)? as usize);
    Some(TracepointSample { time_ns: number(record, 16)?, process, thread, raw: record.get(28..28 + bytes)? })
}

fn open_event(tracepoint: u64, thread: i32, cpu: usize, inherit: u64) -> io::Result<File> {
    let attributes = Attributes {
        kind: TYPE_TRACEPOINT,
        size: size_of::<Attributes>() as u32,
        config: tracepoint,
        sample_period: 1,
        sample_type: SAMPLE_TID | SAMPLE_TIME | SAMPLE_RAW,
        flags: FLAGS | inherit,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    };
    let group = -1;
    // SAFETY: the kernel reads `size` bytes of the attributes and keeps no pointer to them.
    let fd = unsafe {
        libc::syscall(libc::SYS_perf_event_open, &raw const attributes, thread, cpu as libc::c_int, group, FLAG_CLOEXEC)
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just created, and nothing else owns it.
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}

fn command(event: &File, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the argument is a number, or the address of a string that lives during the call, as
    // the request requires.
    let answer = unsafe { libc::ioctl(event.as_raw_fd(), request as _, argument) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_attributes_are_of_the_size_the_kernel_knows() {
        assert_eq!(size_of::<Attributes>(), 112);
        assert_eq!(std::mem::offset_of!(Attributes, clock), 92);
    }

    #[test]
    fn samples_are_taken_apart() {
        let mut record = vec![0; 36];
        record[8..12].copy_from_slice(&5_u32.to_le_bytes());
        record[12..16].copy_from_slice(&6_u32.to_le_bytes());
        record[16..24].copy_from_slice(&77_u64.to_le_bytes());
        record[24..28].copy_from_slice(&8_u32.to_le_bytes());
        record[28] = 9;
        let expected = TracepointSample { time_ns: 77, process: 5, thread: 6, raw: &[9, 0, 0, 0, 0, 0, 0, 0] };
        assert_eq!(sample(&record), Some(expected));
        assert_eq!((expected.id(), expected.long(0), expected.long(1)), (9, Some(9), None));
        record[24] = 9;
        assert_eq!(sample(&record), None);
        assert_eq!(sample(&record[..26]), None);
    }
}
