//! One CPU's ring of perf records: both events of a pair write into it, we read.
//!
//! ```text
//!  map:  │ control page: data_head (kernel) data_tail (us) │ 2^n pages of records, the last may wrap round │
//!  record:  type: u32 │ misc: u16 │ size: u16 │ time: u64 │ raw size: u32 │ tracepoint's record …   (PERF_RECORD_SAMPLE)
//!           type: u32 │ misc: u16 │ size: u16 │ id: u64   │ lost: u64                               (PERF_RECORD_LOST)
//! ```
//! The order of reads and writes is that of perf_event_open(2): head is read before the records
//! (acquire), tail is written after them (release).
//!
//! Unsafe: makes the system call, maps the ring and copies out of memory that the kernel writes.
#![allow(unsafe_code, reason = "island: perf_event_open, its ioctls, and the ring that the kernel writes")]

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};

/// Pages of records on each CPU, a power of two; fewer where so many cannot be locked.
const DATA_PAGES: [usize; 3] = [512, 128, 32];
const PAGE_BYTES: usize = 4096;
const HEAD_AT: usize = 1024;
const TAIL_AT: usize = 1032;

const TYPE_TRACEPOINT: u32 = 2;
const SAMPLE_TIME: u64 = 1 << 2;
const SAMPLE_RAW: u64 = 1 << 10;
/// Bits of the flags word: `disabled`, `use_clockid`.
const FLAGS: u64 = 1 | 1 << 25;
const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;
const IOCTL_ENABLE: libc::c_ulong = 0x2400;
const IOCTL_SET_OUTPUT: libc::c_ulong = 0x2405;
const IOCTL_SET_FILTER: libc::c_ulong = 0x4008_2406;
const FLAG_CLOEXEC: libc::c_ulong = 8;

/// `struct perf_event_attr` up to its fifth version (112 bytes), as far as it is used; the rest is
/// 0.
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

/// What stands in a ring.
pub(crate) enum Record<'a> {
    /// When, ns, and the tracepoint's bytes.
    Event(u64, &'a [u8]),
    /// So many events had no room here.
    Lost(u64),
}

/// A ring with the events that fill it.
#[derive(Debug)]
pub(crate) struct Ring {
    /// Kept open: closing an event stops it. The first owns the ring.
    _events: Vec<File>,
    map: NonNull<u8>,
    /// Bytes of records.
    ring_bytes: usize,
    /// A record that wraps round is put together here.
    record: Vec<u8>,
}

impl Ring {
    /// Opens tracepoints on one CPU, each with a filter, and has them write into one ring.
    pub(crate) fn open(cpu: usize, tracepoints: &[u64], filter: &str) -> io::Result<Ring> {
        let events = tracepoints.iter().map(|id| open_event(*id, cpu)).collect::<io::Result<Vec<File>>>()?;
        let first = events.first().ok_or(io::ErrorKind::InvalidInput)?;
        let (map, ring_bytes) = map_ring(first)?;
        let filter = CString::new(filter)?;
        for event in &events {
            if event.as_raw_fd() != first.as_raw_fd() {
                command(event, IOCTL_SET_OUTPUT, first.as_raw_fd() as libc::c_ulong)?;
            }
            command(event, IOCTL_SET_FILTER, filter.as_ptr() as libc::c_ulong)?;
        }
        events.iter().try_for_each(|event| command(event, IOCTL_ENABLE, 0))?;
        Ok(Ring { _events: events, map, ring_bytes, record: Vec::new() })
    }

    /// Hands over every record that is complete.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Record<'_>)) {
        let head = self.cell(HEAD_AT).load(Ordering::Acquire);
        let mut tail = self.cell(TAIL_AT).load(Ordering::Relaxed);
        let mut record = std::mem::take(&mut self.record);
        while tail < head {
            let mut header = [0; 8];
            self.copy(tail, &mut header);
            let size = usize::from(u16::from_le_bytes([header[6], header[7]]));
            if size < header.len() || size as u64 > head - tail {
                // No kernel writes that. What follows cannot be found any more.
                tail = head;
                break;
            }
            record.resize(size, 0);
            self.copy(tail, &mut record);
            tail += size as u64;
            match u32::from_le_bytes([header[0], header[1], header[2], header[3]]) {
                RECORD_SAMPLE => {
                    sample(&record).into_iter().for_each(|(time_ns, raw)| take(Record::Event(time_ns, raw)))
                }
                RECORD_LOST => take(Record::Lost(number(&record, 16).unwrap_or(1))),
                _ => {}
            }
        }
        self.record = record;
        self.cell(TAIL_AT).store(tail, Ordering::Release);
    }

    /// A counter of the control page.
    fn cell(&self, at: usize) -> &AtomicU64 {
        // SAFETY: the control page is mapped as long as `self` lives, `at` is one of the two
        // offsets above, within it and aligned; the kernel accesses these words atomically.
        unsafe { &*self.map.as_ptr().add(at).cast::<AtomicU64>() }
    }

    /// Copies records from a position that only grows, round the end of the ring.
    fn copy(&self, from: u64, into: &mut [u8]) {
        let at = from as usize % self.ring_bytes;
        let straight = into.len().min(self.ring_bytes - at);
        // SAFETY: both pieces lie in the mapped pages of records, which begin after the control
        // page; what lies between tail and head the kernel does not write until tail has moved on.
        unsafe {
            let records = self.map.as_ptr().add(PAGE_BYTES);
            ptr::copy_nonoverlapping(records.add(at), into.as_mut_ptr(), straight);
            ptr::copy_nonoverlapping(records, into.as_mut_ptr().add(straight), into.len() - straight);
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping made in `open`; nothing points into it any more.
        unsafe { libc::munmap(self.map.as_ptr().cast(), PAGE_BYTES + self.ring_bytes) };
    }
}

/// Maps the ring of an event, as large as can be had; its address and its bytes of records.
fn map_ring(event: &File) -> io::Result<(NonNull<u8>, usize)> {
    let mut refused = io::Error::from(io::ErrorKind::OutOfMemory);
    for pages in DATA_PAGES {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let bytes = (1 + pages) * PAGE_BYTES;
        // SAFETY: a new mapping of the event's ring at an address of the kernel's choice; no
        // existing memory is touched.
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

/// Time and raw bytes of a sample.
fn sample(record: &[u8]) -> Option<(u64, &[u8])> {
    let bytes = u32::from_le_bytes(record.get(16..20)?.try_into().ok()?) as usize;
    Some((number(record, 8)?, record.get(20..20 + bytes)?))
}

fn open_event(tracepoint: u64, cpu: usize) -> io::Result<File> {
    let attributes = Attributes {
        kind: TYPE_TRACEPOINT,
        size: size_of::<Attributes>() as u32,
        config: tracepoint,
        sample_period: 1,
        sample_type: SAMPLE_TIME | SAMPLE_RAW,
        flags: FLAGS,
        clock: libc::CLOCK_MONOTONIC,
        ..Attributes::default()
    };
    let (process, group) = (-1, -1);
    // SAFETY: the kernel reads `size` bytes of the attributes and keeps no pointer to them.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            process,
            cpu as libc::c_int,
            group,
            FLAG_CLOEXEC,
        )
    };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor just made, owned by nobody else.
    Ok(unsafe { File::from_raw_fd(fd as i32) })
}

fn command(event: &File, request: libc::c_ulong, argument: libc::c_ulong) -> io::Result<()> {
    // SAFETY: the argument is a number, or the address of a string that lives through the call, as
    // the request demands.
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
        let mut record = vec![0; 28];
        record[8..16].copy_from_slice(&77_u64.to_le_bytes());
        record[16..20].copy_from_slice(&8_u32.to_le_bytes());
        record[20] = 5;
        assert_eq!(sample(&record), Some((77, &[5, 0, 0, 0, 0, 0, 0, 0][..])));
        record[16] = 9;
        assert_eq!(sample(&record), None);
        assert_eq!(sample(&record[..18]), None);
    }
}
