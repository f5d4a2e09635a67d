//! A ublk driver for tests: it delivers scripted requests, checks the results, and stops on
//! request.
//!
//! Plays the kernel's side of the protocol as described in `Documentation/block/ublk.rst`, with a
//! table of descriptors in a memory file. Partitions and time are not simulated.
//!
//! Unsafe: copies from and to the payloads whose addresses the commands carry, as the driver does.
#![allow(unsafe_code, reason = "island: plays the kernel's part with payload addresses")]

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use crate::{Exporter, LaneLimits, RamLane, RingCommand, RingEvent, Size, Stop, slot_bytes};
use iolab_memory::{Backing, SlotPool};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

use crate::ublk::Options;
use crate::ublk::abi::{self, DESCRIPTOR_BYTES, operation};
use crate::ublk::control::{CONTROL_TOKEN, Control};
use crate::ublk::descriptors::Descriptors;
use crate::ublk::driver::Driver;
use crate::ublk::queue::Queue;

/// One scripted request and its expected result.
#[derive(Debug, Clone)]
struct Step {
    operation: u32,
    start_sector: u64,
    sectors: u32,
    /// The data of a write, or the expected data of a read.
    data: Vec<u8>,
    result: i32,
}

#[derive(Debug)]
struct Simulated {
    table: OwnedFd,
    steps: VecDeque<Step>,
    /// By tag: the address of its payload, and the request it carries.
    payloads: Vec<u64>,
    carries: Vec<Option<Step>>,
    free: Vec<u16>,
    events: VecDeque<RingEvent>,
    watched: Vec<(RawFd, u64)>,
    started: bool,
    stopped: bool,
    answered: usize,
    /// Raised at the end of the script.
    stop: Arc<Stop>,
}

impl Simulated {
    fn take(&mut self, tag: u16, address: u64) {
        self.payloads[usize::from(tag)] = address;
        if self.stopped {
            self.events.push_back(RingEvent { token: u64::from(tag), result: -libc::ENODEV });
        } else {
            self.free.push(tag);
        }
    }

    fn check(&mut self, tag: u16, result: i32) {
        let step = self.carries[usize::from(tag)].take().expect("a commit answers a request");
        assert_eq!(result, step.result, "{step:?}");
        if step.operation == operation::READ {
            let address = self.payloads[usize::from(tag)] as *const u8;
            // SAFETY: the server gave this payload's address, and has just committed the tag.
            let found = unsafe { std::slice::from_raw_parts(address, step.data.len()) };
            assert!(found == step.data, "{} sectors from {} read differently", step.sectors, step.start_sector);
        }
        self.answered += 1;
    }

    /// Gives a free tag the next request. Requests are sent one at a time, so that their order is
    /// known.
    fn hand_out(&mut self) {
        if !self.started || self.carries.iter().any(Option::is_some) {
            return;
        }
        let Some(step) = self.steps.pop_front() else { return self.stop.raise() };
        // A different tag each time.
        let tag = self.free.remove(0);
        let mut descriptor = [0u8; DESCRIPTOR_BYTES];
        descriptor[0..4].copy_from_slice(&step.operation.to_ne_bytes());
        descriptor[4..8].copy_from_slice(&step.sectors.to_ne_bytes());
        descriptor[8..16].copy_from_slice(&step.start_sector.to_ne_bytes());
        let at = u64::from(tag) * DESCRIPTOR_BYTES as u64;
        assert_eq!(rustix::io::pwrite(&self.table, &descriptor, at), Ok(DESCRIPTOR_BYTES));
        if step.operation == operation::WRITE {
            let address = self.payloads[usize::from(tag)] as *mut u8;
            // SAFETY: the server gave this payload's address with the tag, and does not access it
            // before the event.
            unsafe { std::ptr::copy_nonoverlapping(step.data.as_ptr(), address, step.data.len()) };
        }
        self.carries[usize::from(tag)] = Some(step);
        self.events.push_back(RingEvent { token: u64::from(tag), result: 0 });
    }

    fn control(&mut self, command: &RingCommand) {
        match command.operation {
            abi::START_DEV => {
                assert_eq!(self.free.len(), self.payloads.len(), "all tags are fetched before the device is started");
                assert_eq!(command.data[16..20], std::process::id().to_ne_bytes());
                self.started = true;
            }
            abi::STOP_DEV => {
                assert!(self.carries.iter().all(Option::is_none));
                self.stopped = true;
                let gone = self.free.drain(..).map(|tag| RingEvent { token: u64::from(tag), result: -libc::ENODEV });
                self.events.extend(gone);
            }
            other => panic!("{other:x} is not expected here"),
        }
        assert_eq!(command.data[..8], [0, 9, 61, 0, 0xff, 0xff, 0, 0], "device 4000000, no queue, no buffer");
        self.events.push_back(RingEvent { token: command.token, result: 0 });
    }
}

impl Driver for Simulated {
    unsafe fn push(&mut self, command: &RingCommand) -> io::Result<()> {
        if command.token & CONTROL_TOKEN != 0 {
            self.control(command);
            return Ok(());
        }
        let tag = u16::from_ne_bytes([command.data[2], command.data[3]]);
        let result = i32::from_ne_bytes(command.data[4..8].try_into().unwrap());
        let address = u64::from_ne_bytes(command.data[8..16].try_into().unwrap());
        assert_eq!((u64::from(tag), command.fd), (command.token, self.table.as_raw_fd()));
        match command.operation {
            abi::FETCH_REQ => assert!(!self.started && result == 0),
            abi::COMMIT_AND_FETCH_REQ => self.check(tag, result),
            other => panic!("{other:x} is not an I/O command"),
        }
        self.take(tag, address);
        Ok(())
    }

    fn watch(&mut self, fd: RawFd, token: u64) -> io::Result<()> {
        self.watched.push((fd, token));
        Ok(())
    }

    fn round(&mut self, busy: bool, _looks: u32) -> io::Result<()> {
        self.hand_out();
        let patience = if busy || !self.events.is_empty() { 0 } else { 10 };
        let watched = std::mem::take(&mut self.watched);
        for (fd, token) in watched {
            // SAFETY: the server keeps what it watches open.
            let borrowed = unsafe { BorrowedFd::borrow_raw(fd) };
            let timeout = Timespec { tv_sec: 0, tv_nsec: patience * 1_000_000 };
            if poll(&mut [PollFd::from_borrowed_fd(borrowed, PollFlags::IN)], Some(&timeout))? > 0 {
                self.events.push_back(RingEvent { token, result: i32::from(libc::POLLIN) });
            } else {
                self.watched.push((fd, token));
            }
        }
        Ok(())
    }

    fn next_event(&mut self) -> Option<RingEvent> {
        self.events.pop_front()
    }
}

const NUMBER: u32 = 4_000_000;
const TAGS: usize = 4;
const DEVICE_BYTES: u64 = 1 << 20;

/// Runs the script with memory of blocks of this size.
fn play(steps: Vec<Step>, block_bytes: u32) {
    let table = memfd_create("descriptors", MemfdFlags::CLOEXEC).unwrap();
    ftruncate(&table, 4096).unwrap();
    let (fd, expected) = (table.as_raw_fd(), steps.len());
    let stop = Arc::new(Stop::by_hand().unwrap());
    let mut driver = Simulated {
        steps: steps.into(),
        payloads: vec![0; TAGS],
        carries: vec![None; TAGS],
        free: Vec::new(),
        events: VecDeque::new(),
        watched: Vec::new(),
        started: false,
        stopped: false,
        answered: 0,
        stop: stop.clone(),
        table,
    };
    let mut pool = SlotPool::new(TAGS, slot_bytes(8192), 0, &Backing::Anonymous).unwrap();
    let size = Size::new(DEVICE_BYTES, block_bytes).unwrap();
    let lane = RamLane::new(size, pool.view()).unwrap();
    let exporter = Exporter::new(lane, &mut pool, size, LaneLimits { transfer_bytes: 0, trim_zeroes: true }).unwrap();
    let mut queue = Queue::new(exporter, fd, 0, Descriptors::map(fd, 0, TAGS).unwrap());
    let control = Control::on(File::open("/dev/null").unwrap());
    let options = Options { stop: Some(stop), ..Options::default() };
    crate::ublk::serve::run(&control, &mut driver, &mut queue, &options, NUMBER, None).unwrap();
    assert!(driver.stopped && queue.is_dead());
    assert_eq!(driver.answered, expected);
}

fn step(operation: u32, start_sector: u64, data: &[u8]) -> Step {
    let sectors = (data.len() / 512) as u32;
    Step { operation, start_sector, sectors, data: data.to_vec(), result: data.len() as i32 }
}

fn moves_nothing(operation: u32, start_sector: u64, sectors: u32) -> Step {
    Step { operation, start_sector, sectors, data: Vec::new(), result: 0 }
}

#[test]
fn requests_are_served_until_the_device_is_stopped() {
    let pattern: Vec<u8> = (0..8192u32).map(|at| (at % 251) as u8).collect();
    let mut half = pattern.clone();
    half[4096..].fill(0);
    let unknown = Step { result: -libc::EOPNOTSUPP, ..moves_nothing(4, 0, 8) };
    let steps = vec![
        step(operation::READ, 0, &[0; 8192]),
        step(operation::WRITE, 16, &pattern),
        step(operation::READ, 16, &pattern),
        moves_nothing(operation::FLUSH, u64::MAX, 0),
        moves_nothing(operation::WRITE_ZEROES, 24, 8),
        step(operation::READ, 16, &half),
        moves_nothing(operation::DISCARD, 0, 2048),
        step(operation::READ, 16, &[0; 4096]),
        unknown,
        step(operation::WRITE, 2040, &pattern[..4096]),
        step(operation::READ, 2040, &pattern[..4096]),
    ];
    play(steps.clone(), 512);
    play(steps, 4096);
}

#[test]
fn a_device_nobody_used_stops_too() {
    play(Vec::new(), 512);
}
