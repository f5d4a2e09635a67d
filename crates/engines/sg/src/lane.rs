//! The lane: one request for each slot, at an address that does not change.
//!
//! Guarantees: a slot is the kernel's from `submit` until its request has been read back; a lane
//! that is dropped waits for that.
//!
//! Unsafe code: requests name slots, commands and sense data by address.

use std::os::fd::RawFd;

use iolab_clock::Clock;
use iolab_engine::{
    Completion, CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission,
    Wait,
};

use crate::command::{Command, READ, UNMAP_BYTES, unmap_list};
use crate::device::ScsiDevice;
use crate::options::{Asked, WrittenData};
use crate::request::{SENSE_BYTES, SgHeader, Transfer, last_errno};

/// A lane on the devices of a job.
#[derive(Debug)]
pub struct SgLane {
    devices: Vec<Device>,
    flights: Box<[Flight]>,
    view: PoolView,
    asked: Asked,
    depth: usize,
    /// Requests that the kernel has.
    in_flight: usize,
    finished: CompletionRow,
    /// Room for poll(2), one place for each device.
    polled: Box<[libc::pollfd]>,
    clock: Clock,
    notes: Vec<String>,
    has_failed: bool,
}

#[derive(Debug)]
struct Device {
    scsi: ScsiDevice,
    in_flight: usize,
}

/// The request of a slot: everything that the kernel reads and writes besides the slot.
#[derive(Debug)]
struct Flight {
    header: SgHeader,
    command: Command,
    sense: [u8; SENSE_BYTES],
    unmap: [u8; UNMAP_BYTES],
    /// Bytes that it moves if it succeeds.
    moves: u32,
}

// SAFETY: the addresses in the headers are those of slots and of the flights themselves, which
// belong to the lane, and one thread at a time uses it.
unsafe impl Send for SgLane {}

impl SgLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<SgLane, OpenError> {
        let asked = Asked::of(request.options)?;
        let open = |file: &iolab_engine::TargetFile| Ok(Device { scsi: ScsiDevice::open(&file.path)?, in_flight: 0 });
        let devices: Vec<Device> = request.files.iter().map(open).collect::<Result<_, OpenError>>()?;
        let flight = || Flight {
            header: SgHeader::EMPTY,
            command: Command::synchronize_cache(),
            sense: [0; SENSE_BYTES],
            unmap: [0; UNMAP_BYTES],
            moves: 0,
        };
        let mut notes = Vec::new();
        if request.depth > 1
            && let Some(device) = devices.iter().find(|device| !device.scsi.has_queue)
        {
            notes.push(format!(
                "{}: on a block device or a node of bsg, sg does one command after the other whatever iodepth says; its \
                 /dev/sg* has a queue",
                device.scsi.path.display()
            ));
        }
        let nothing = libc::pollfd { fd: -1, events: 0, revents: 0 };
        Ok(SgLane {
            polled: vec![nothing; devices.len()].into(),
            clock: Clock::monotonic(),
            devices,
            flights: (0..request.depth).map(|_| flight()).collect(),
            view: request.buffers,
            asked,
            depth: request.depth,
            in_flight: 0,
            finished: CompletionRow::with_depth(request.depth),
            notes,
            has_failed: false,
        })
    }

    /// Makes the request of an operation, in its flight.
    fn prepare(&mut self, op: &Op) -> Result<(), i32> {
        let device = &self.devices.get(op.file as usize).ok_or(libc::EBADF)?.scsi;
        let block = u64::from(device.block_bytes);
        let flight = self.flights.get_mut(usize::from(op.slot)).ok_or(libc::EFAULT)?;
        let (lba, blocks) = (op.offset / block, (u64::from(op.length) / block) as u32);
        let is_whole = op.offset.is_multiple_of(block) && u64::from(op.length).is_multiple_of(block) && blocks > 0;
        if !op.kind.is_sync() && !is_whole {
            return Err(libc::EINVAL);
        }
        let slot = || {
            let found = self.view.range_ptr(usize::from(op.slot), op.buffer_offset as usize, op.length as usize);
            found.ok_or(libc::EFAULT)
        };
        let none = std::ptr::null_mut();
        let (command, transfer, data, bytes, moves) = match op.kind {
            OpKind::Read => {
                let command = Command::of_blocks(READ, self.asked.read_flags, lba, blocks);
                (command, Transfer::FromDevice, slot()?, op.length, op.length)
            }
            OpKind::Write => {
                let write = self.asked.write;
                let command = Command::of_blocks(write.opcode, write.flags, lba, blocks);
                let (transfer, data, bytes) = match write.data {
                    WrittenData::All => (Transfer::ToDevice, slot()?, op.length),
                    WrittenData::FirstBlock => (Transfer::ToDevice, slot()?, device.block_bytes),
                    WrittenData::Nothing => (Transfer::None, none, 0),
                };
                (command, transfer, data, bytes, op.length)
            }
            OpKind::Trim => {
                flight.unmap = unmap_list(lba, blocks);
                (Command::unmap(), Transfer::ToDevice, flight.unmap.as_mut_ptr(), UNMAP_BYTES as u32, 0)
            }
            OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => {
                (Command::synchronize_cache(), Transfer::None, none, 0, 0)
            }
        };
        (flight.command, flight.moves) = (command, moves);
        flight.header = SgHeader::new(&flight.command, &mut flight.sense, transfer, data, bytes);
        flight.header.pack_id = i32::from(op.slot);
        Ok(())
    }

    /// Gives the kernel the request of a slot. Returns whether it took it.
    fn send(&mut self, slot: u16, file: usize) -> Result<bool, i32> {
        let device = &mut self.devices[file];
        let (fd, flight) = (device.scsi.fd(), &mut self.flights[usize::from(slot)]);
        if !device.scsi.has_queue {
            // SAFETY: the flight and the slot are the lane's, and the call waits for the device.
            unsafe { device.scsi.perform(&mut flight.header) }?;
            self.land(slot);
            return Ok(true);
        }
        let header: *const SgHeader = &raw const flight.header;
        // SAFETY: the kernel reads one header; what it names stays where it is until the request
        // has been read back.
        let written = unsafe { libc::write(fd, header.cast(), size_of::<SgHeader>()) };
        if written < 0 {
            return match last_errno() {
                // The queue of this opening is full, or there is no memory now.
                libc::EDOM | libc::EAGAIN | libc::ENOMEM if self.in_flight > 0 => Ok(false),
                errno => Err(errno),
            };
        }
        device.in_flight += 1;
        self.in_flight += 1;
        Ok(true)
    }

    /// Takes the answer that is in the flight of a slot.
    fn land(&mut self, slot: u16) {
        let flight = &self.flights[usize::from(slot)];
        let result = match flight.header.outcome() {
            // What was not moved counts only for data that is moved as a whole.
            Ok(missing) if flight.moves == flight.header.data_bytes => flight.moves.saturating_sub(missing) as i32,
            Ok(_) => flight.moves as i32,
            Err(errno) => {
                if !self.has_failed {
                    self.has_failed = true;
                    self.notes.push(format!("the first failure: {}", flight.header.failure_text(&flight.sense)));
                }
                -errno
            }
        };
        self.finished.push(Completion { slot: u32::from(slot), result });
    }

    /// Reads back all that is there, of one device.
    fn read_back(&mut self, index: usize) -> Result<(), LaneError> {
        while self.devices[index].in_flight > 0 {
            let fd = self.devices[index].scsi.fd();
            let Some(answer) = read_header(fd)? else { break };
            self.devices[index].in_flight -= 1;
            self.in_flight -= 1;
            let slot = answer.pack_id as u16;
            if let Some(flight) = self.flights.get_mut(usize::from(slot)) {
                flight.header = answer;
                self.land(slot);
            }
        }
        Ok(())
    }

    /// Waits until a device has an answer, at most for so long, and reads back what there is.
    fn turn(&mut self, timeout_ns: u64) -> Result<(), LaneError> {
        for (place, device) in self.polled.iter_mut().zip(&self.devices) {
            // A negative descriptor is passed over (poll(2)).
            *place = libc::pollfd {
                fd: if device.in_flight > 0 { device.scsi.fd() } else { -1 },
                events: libc::POLLIN,
                revents: 0,
            };
        }
        if timeout_ns > 0 {
            let timeout = libc::timespec {
                tv_sec: i64::try_from(timeout_ns / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: (timeout_ns % 1_000_000_000) as _,
            };
            let (places, count) = (self.polled.as_mut_ptr(), self.polled.len() as _);
            // SAFETY: the places are as many as is said; the timeout outlives the call.
            let answer = unsafe { libc::ppoll(places, count, &raw const timeout, std::ptr::null()) };
            if answer < 0 && last_errno() != libc::EINTR {
                return Err(LaneError { call: "ppoll", errno: last_errno() });
            }
        }
        (0..self.devices.len()).try_for_each(|index| self.read_back(index))
    }
}

/// The next answer of a device; `None` if there is none yet.
fn read_header(fd: RawFd) -> Result<Option<SgHeader>, LaneError> {
    let mut answer = SgHeader::EMPTY;
    // SAFETY: the kernel writes one header, and what its request named when it was written.
    let got = unsafe { libc::read(fd, (&raw mut answer).cast(), size_of::<SgHeader>()) };
    if got >= 0 {
        return Ok(Some(answer));
    }
    match last_errno() {
        libc::EAGAIN | libc::EINTR => Ok(None),
        errno => Err(LaneError { call: "read", errno }),
    }
}

impl Lane for SgLane {
    const SYNCHRONOUS: bool = false;

    fn submit(&mut self, op: &Op) -> Submission {
        if self.in_flight + self.finished.len() >= self.depth {
            return Submission::Full;
        }
        match self.prepare(op).and_then(|()| self.send(op.slot, op.file as usize)) {
            Ok(true) => Submission::Accepted,
            Ok(false) => Submission::Full,
            Err(errno) => Submission::Refused(errno),
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let mut found = self.finished.drain_into(out);
        if self.in_flight == 0 {
            return Ok(found);
        }
        let until_ns = match wait.timeout_ns {
            0 => 0,
            u64::MAX => u64::MAX,
            timeout_ns => self.clock.now_ns().saturating_add(timeout_ns),
        };
        let mut timeout_ns = 0;
        loop {
            self.turn(timeout_ns)?;
            found += self.finished.drain_into(out);
            if out.as_slice().len() >= wait.at_least || out.room_left() == 0 || self.in_flight == 0 {
                return Ok(found);
            }
            timeout_ns = if until_ns == u64::MAX { until_ns } else { until_ns.saturating_sub(self.clock.now_ns()) };
            if timeout_ns == 0 {
                return Ok(found);
            }
        }
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Drop for SgLane {
    fn drop(&mut self) {
        // The kernel ends requests that take too long, so this ends.
        while self.in_flight > 0 && self.turn(1_000_000_000).is_ok() {
            self.finished = CompletionRow::with_depth(self.depth);
        }
    }
}
