//! The hot part: queue pairs on the namespaces of a job.
//!
//! An operation uses the driver's slot with the number of its own slot, so that its completion is
//! found without a search. A transfer longer than one command is cut short, and the loop sends the
//! rest again.
//!
//! Unsafe because it lends the pool of slots, which outlives the lane, to a device.

mod trims;
mod zones;

use std::cell::OnceCell;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_engine::{
    Completion, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, Submission, TrimRanges, Wait,
    ZoneCall,
};
use iolab_nvme_driver::{CommandOutcome, DataWindow, DriverError, Namespace, Submit, WaitPolicy};
use iolab_nvme_spec::zone::ZoneSendAction;
use iolab_virtual_ssd::Subsystem;

use self::trims::Trims;
use crate::any_transport::AnyPair;
use crate::errno;
use crate::event_notes;
use crate::name::{DeviceName, DevicePlace};
use crate::opened::{self, NvmeDeviceError, Opened};
use crate::options::LaneOptions;

/// Polls between two readings of the clock.
const ROUNDS_PER_LOOK: u32 = 64;

/// A lane on the namespaces that the job names.
#[derive(Debug)]
pub struct NvmeLane {
    queues: Box<[Queue]>,
    files: Box<[File]>,
    /// Bytes that the operation of each slot moves if it succeeds.
    moves: Box<[u32]>,
    in_flight: usize,
    /// Operations that completed while the lane waited for a command of its own.
    early: Vec<Completion>,
    /// Where the slots lie in the memory that the devices have mapped.
    slots: Slots,
    pairs_per_file: usize,
    /// How to wait if nothing has completed.
    sleeps: bool,
    devices: Box<[Device]>,
    /// For time-outs only.
    clock: Clock,
    /// The ranges of trims, if they have several.
    trims: Option<Trims>,
    /// What the devices reported, once there is something to tell.
    told: Box<OnceCell<Vec<String>>>,
}

#[derive(Debug)]
struct Queue {
    /// `None` only while the lane is dropped.
    pair: Option<AnyPair>,
    /// Index of its device.
    device: usize,
}

#[derive(Debug)]
struct File {
    namespace: Namespace,
    block_shift: u32,
    first_queue: usize,
    /// The job treats it as zoned: trims reset zones.
    trims_reset: bool,
}

/// A device that has been opened for a lane.
struct Source {
    opened: Opened,
    namespace: u32,
    shown: String,
    gone_note: String,
}

/// A device that has the slots mapped.
#[derive(Debug)]
struct Device {
    opened: Opened,
    namespace: u32,
    /// Its name in notes.
    shown: String,
    /// Resets of its controller before the lane was opened.
    resets: u32,
    /// The note for the report if it disappears.
    gone_note: String,
    /// Bus address of the pool.
    address: u64,
}

#[derive(Debug, Clone, Copy)]
struct Slots {
    first: u64,
    stride: u64,
    bytes: u32,
}

impl NvmeLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<NvmeLane, OpenError> {
        NvmeLane::on(request, &|text| {
            let name = DeviceName::parse(text)?;
            let opened = opened::open(&name)?;
            Ok(Source { opened, namespace: name.namespace, shown: name.to_string(), gone_note: gone_note(&name) })
        })
    }

    /// A lane on the first namespace of a drive of this process, for servers that show the drive by
    /// other protocols than NVMe. The lane has a controller of its own; the files of the request
    /// are names only.
    ///
    /// # Errors
    /// The drive has no controller left, or the options do not fit.
    pub fn on_drive(drive: &Arc<Subsystem>, clock: &Clock, request: &LaneRequest<'_>) -> Result<NvmeLane, OpenError> {
        NvmeLane::on(request, &|text| {
            let opened = opened::open_inline(drive, clock)?;
            Ok(Source { opened, namespace: 1, shown: text.to_owned(), gone_note: format!("{text}: the drive is gone") })
        })
    }

    /// A lane on what `source` opens for each name.
    fn on(
        request: &LaneRequest<'_>,
        source: &dyn Fn(&str) -> Result<Source, NvmeDeviceError>,
    ) -> Result<NvmeLane, OpenError> {
        let options = LaneOptions::of(request).map_err(|message| OpenError { message, errno: Some(libc::EINVAL) })?;
        // SAFETY: the pool outlives the lane (contract of `LaneRequest`), and the lane's drop ends
        // the devices' use of it before the window goes.
        let pool = unsafe { request.buffers.shared() };
        let pool = pool.map_err(|error| OpenError { message: error.to_string(), errno: error.raw_os_error() })?;
        let view = request.buffers;
        let slots = Slots {
            first: view.slot_offset(0) as u64,
            stride: view.stride_bytes() as u64,
            bytes: u32::try_from(view.slot_bytes()).unwrap_or(u32::MAX),
        };
        let mut lane = NvmeLane {
            queues: Box::new([]),
            files: Box::new([]),
            moves: vec![0; request.depth].into(),
            in_flight: 0,
            early: Vec::with_capacity(request.depth),
            slots,
            pairs_per_file: usize::from(options.queue_pairs),
            sleeps: options.queue.wait != WaitPolicy::Poll,
            devices: Box::new([]),
            clock: Clock::monotonic(),
            trims: None,
            told: Box::default(),
        };
        let (mut queues, mut files, mut devices) = (Vec::new(), Vec::new(), Vec::new());
        for target in request.files {
            let text = target.path.to_string_lossy();
            let failed =
                |error: NvmeDeviceError| OpenError { message: format!("{text}: {error}"), errno: error.errno() };
            let Source { opened, namespace, shown, gone_note } = source(&text).map_err(failed)?;
            let driver = |error: DriverError| failed(error.into());
            let namespace = opened.namespace(namespace).map_err(failed)?;
            let address = opened.controller.map(&pool).map_err(driver)?;
            let first_queue = queues.len();
            for number in 0..options.queue_pairs {
                // Vector 0 belongs to the admin queue.
                let vector = first_queue as u16 + number + 1;
                let mut queue = options.queue_on(vector);
                // For commands on zones, which the lane sends by itself.
                queue.slots += u16::from(namespace.zones().is_some());
                let pair = opened.controller.queue_pair(queue).map_err(driver)?;
                queues.push(Queue { pair: Some(pair), device: devices.len() });
            }
            let block_shift = namespace.block_bytes().trailing_zeros();
            files.push(File { namespace, block_shift, first_queue, trims_reset: false });
            let resets = opened.controller.resets();
            devices.push(Device { opened, namespace: namespace.id(), shown, resets, gone_note, address });
        }
        (lane.queues, lane.files, lane.devices) = (queues.into(), files.into(), devices.into());
        Ok(lane)
    }

    /// Hands an operation to its queue.
    #[inline(always)]
    fn offer(&mut self, op: &Op) -> Result<Submit, i32> {
        let file = self.files.get(op.file as usize).ok_or(libc::EBADF)?;
        let spread = if self.pairs_per_file == 1 { 0 } else { usize::from(op.slot) % self.pairs_per_file };
        let queue = &mut self.queues[file.first_queue + spread];
        let pair = queue.pair.as_mut().ok_or(libc::ENODEV)?;
        let (namespace, shift) = (&file.namespace, file.block_shift);
        let (lba, blocks) = (op.offset >> shift, op.length >> shift);
        let whole = (op.offset | u64::from(op.length)) & ((1 << shift) - 1) == 0;
        let slot = op.slot;
        let mut moves = 0;
        let answer = match op.kind {
            OpKind::Read | OpKind::Write => {
                if !whole || op.buffer_offset.saturating_add(op.length) > self.slots.bytes {
                    return Err(libc::EINVAL);
                }
                let blocks = blocks.min(namespace.max_blocks());
                moves = blocks << shift;
                let address = self.devices[queue.device].address
                    + self.slots.first
                    + u64::from(slot) * self.slots.stride
                    + u64::from(op.buffer_offset);
                let data = DataWindow::new(address, moves);
                if op.kind == OpKind::Read {
                    pair.read(slot, namespace, lba, blocks, data)
                } else {
                    pair.write(slot, namespace, lba, blocks, data)
                }
            }
            OpKind::Trim if !whole => return Err(libc::EINVAL),
            OpKind::Trim if file.trims_reset => {
                if namespace.zones().is_none_or(|zones| zones.zone_blocks != u64::from(blocks)) {
                    return Err(libc::EINVAL);
                }
                pair.manage_zone(slot, namespace, lba, ZoneSendAction::RESET)
            }
            OpKind::Trim => match &mut self.trims {
                None => pair.deallocate(slot, namespace, &[(lba, blocks)]),
                Some(trims) => pair.deallocate(slot, namespace, trims.of(op, shift)),
            },
            OpKind::Sync | OpKind::DataSync | OpKind::SyncFileRange => pair.flush_cache(slot, namespace),
        };
        if answer == Submit::Accepted {
            self.moves[usize::from(slot)] = moves;
        }
        Ok(answer)
    }

    /// Polls every queue once.
    #[inline(always)]
    fn collect(&mut self, out: &mut Completions) -> Result<usize, LaneError> {
        let NvmeLane { queues, devices, moves, early, .. } = self;
        let mut found = 0;
        if !early.is_empty() {
            found = out.extend(early);
            early.drain(..found);
        }
        for queue in queues.iter_mut() {
            devices[queue.device].opened.poll();
            let Some(pair) = queue.pair.as_mut() else { continue };
            let reaped = pair.reap(out.room_left(), |ended| {
                let result = match ended.outcome {
                    CommandOutcome::Done => moves[usize::from(ended.slot)] as i32,
                    failed => -errno::of_outcome(failed),
                };
                out.push(Completion { slot: u32::from(ended.slot), result });
            });
            found += reaped.map_err(|error| broken(&error))?;
        }
        self.in_flight -= found;
        Ok(found)
    }

    /// Sleeps until a queue may have a completion, if the options ask for that.
    #[cold]
    fn sleep(&mut self, at_most_ns: u64) -> Result<(), LaneError> {
        // Each of several queues has its own interrupt. They are awaited in turn, with short
        // sleeps.
        const SHORT_NS: u64 = 50_000;
        let timeout_ns = if self.queues.len() == 1 { at_most_ns } else { at_most_ns.min(SHORT_NS) };
        for queue in &mut self.queues {
            if let Some(pair) = queue.pair.as_mut().filter(|pair| pair.in_flight() > 0) {
                pair.wait(timeout_ns).map_err(|error| broken(&error))?;
            }
        }
        Ok(())
    }
}

fn gone_note(name: &DeviceName) -> String {
    let why = match name.place {
        DevicePlace::Served(_) | DevicePlace::VfioUser(_) => "its server has ended or was killed",
        DevicePlace::Fabric(_) => "its target has ended, or the network is down",
        _ => "its registers do not respond, or it could not be reset",
    };
    format!("{name}: the device is gone: {why}")
}

#[cold]
fn broken(error: &DriverError) -> LaneError {
    LaneError { call: "nvme", errno: errno::of_error(error) }
}

impl Lane for NvmeLane {
    const SYNCHRONOUS: bool = false;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        match self.offer(op) {
            Ok(Submit::Accepted) => {
                self.in_flight += 1;
                Submission::Accepted
            }
            Ok(Submit::Full) => Submission::Full,
            Ok(Submit::Refused(refusal)) => Submission::Refused(errno::of_refusal(refusal)),
            Err(errno) => Submission::Refused(errno),
        }
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        self.queues.iter_mut().filter_map(|queue| queue.pair.as_mut()).for_each(AnyPair::flush);
        Ok(())
    }

    #[inline]
    fn reap(&mut self, wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let mut found = self.collect(out)?;
        let wanted = wait.at_least.min(found + self.in_flight).min(found + out.room_left());
        if found >= wanted {
            return Ok(found);
        }
        let mut deadline = None;
        let mut rounds = 0u32;
        while found < wanted {
            found += self.collect(out)?;
            rounds += 1;
            if rounds.is_multiple_of(ROUNDS_PER_LOOK) && found < wanted {
                let now_ns = self.clock.now_ns();
                let end_ns = *deadline.get_or_insert(now_ns.saturating_add(wait.timeout_ns));
                if now_ns >= end_ns {
                    break;
                }
                if self.sleeps {
                    self.sleep(end_ns - now_ns)?;
                }
            }
            std::hint::spin_loop();
        }
        Ok(found)
    }

    fn set_trim_ranges(&mut self, ranges: TrimRanges) -> Result<(), i32> {
        self.trims = Some(Trims::new(ranges));
        Ok(())
    }

    fn zone_call(&mut self, file: u32, call: ZoneCall<'_>) -> Result<(), i32> {
        self.call_zone(file, call)
    }

    fn notes(&self) -> &[String] {
        let gone = self.devices.iter().find(|device| device.opened.controller.is_given_up());
        if let Some(device) = gone {
            return std::slice::from_ref(&device.gone_note);
        }
        let told = self.told.get().map_or(&[][..], Vec::as_slice);
        if !told.is_empty() {
            return told;
        }
        let notes = |device: &Device| {
            event_notes::notes(&device.shown, &device.opened.controller, device.namespace, device.resets)
        };
        let notes: Vec<String> = self.devices.iter().flat_map(notes).collect();
        if notes.is_empty() { &[] } else { self.told.get_or_init(|| notes) }
    }
}

impl Drop for NvmeLane {
    fn drop(&mut self) {
        // The queues first: when they are deleted, no device touches the slots any more.
        self.queues.iter_mut().for_each(|queue| queue.pair = None);
        for device in &self.devices {
            // A failed unmapping is undone with the device's address space.
            let _ = device.opened.controller.unmap(device.address);
        }
    }
}
