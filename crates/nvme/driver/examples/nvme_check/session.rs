//! An open controller with a queue pair, and commands one at a time.

use std::error::Error;

use iolab_clock::Clock;
use iolab_nvme_driver::{
    CommandOutcome, Completion, Controller, ControllerOptions, DataWindow, Namespace, QueueOptions, QueuePair, Submit,
};
use iolab_pci_device::{DmaBuffer, SharedBytes};
pub(crate) use iolab_random::mix;
use iolab_vfio::VfioDevice;

/// Longer than any command takes in an emulated machine, ns.
const PATIENCE_NS: u64 = 60_000_000_000;

pub(crate) struct Session {
    // The queue is declared first, so that it is dropped before the controller, which it needs.
    pub(crate) queue: QueuePair,
    pub(crate) controller: Controller,
    pub(crate) clock: Clock,
}

impl Session {
    pub(crate) fn open(address: &str, options: QueueOptions) -> Result<Session, Box<dyn Error>> {
        let device = VfioDevice::open(address.parse()?)?;
        let (clock, _) = Clock::best();
        let controller = Controller::open(Box::new(device), clock.clone(), ControllerOptions::default())?;
        let queue = controller.queue_pair(options)?;
        Ok(Session { queue, controller, clock })
    }

    pub(crate) fn first_namespace(&self) -> Result<Namespace, Box<dyn Error>> {
        self.controller.namespaces()?.first().copied().ok_or_else(|| "the controller has no namespaces".into())
    }

    /// Exactly `bytes` of memory, although whole pages are allocated.
    pub(crate) fn buffer(&mut self, bytes: usize) -> Result<DmaBuffer, Box<dyn Error>> {
        let memory = SharedBytes::anonymous(bytes.next_multiple_of(4096))?;
        let address = self.controller.map(&memory)?;
        Ok(DmaBuffer { memory: memory.window(0, bytes).ok_or("the memory is too short")?, address })
    }

    /// Runs one command in slot 0.
    pub(crate) fn one(&mut self, submit: impl FnOnce(&mut QueuePair) -> Submit) -> Result<Completion, Box<dyn Error>> {
        match submit(&mut self.queue) {
            Submit::Accepted => {}
            other => return Err(format!("not accepted: {other:?}").into()),
        }
        self.queue.flush();
        let mut ended = None;
        while ended.is_none() {
            if !self.queue.wait(PATIENCE_NS)? {
                return Err("a command does not end".into());
            }
            self.queue.reap(1, |completion| ended = Some(completion))?;
        }
        ended.ok_or_else(|| "nothing was reaped".into())
    }

    /// Runs one command that must succeed, and returns its result.
    pub(crate) fn done(
        &mut self,
        what: &str,
        submit: impl FnOnce(&mut QueuePair) -> Submit,
    ) -> Result<u64, Box<dyn Error>> {
        let completion = self.one(submit)?;
        match completion.outcome {
            CommandOutcome::Done => Ok(completion.result),
            other => Err(format!("{what}: {other:?}").into()),
        }
    }

    /// Reads as many blocks from `lba` as `data` has room for.
    pub(crate) fn read(
        &mut self,
        namespace: &Namespace,
        lba: u64,
        data: &DmaBuffer,
    ) -> Result<Vec<u8>, Box<dyn Error>> {
        data.memory.fill(0, data.memory.len(), 0xee);
        let blocks = data.memory.len() as u32 / namespace.block_bytes();
        self.done("read", |queue| queue.read(0, namespace, lba, blocks, whole(data)))?;
        Ok(contents(data))
    }

    pub(crate) fn write(&mut self, namespace: &Namespace, lba: u64, data: &DmaBuffer) -> Result<(), Box<dyn Error>> {
        let blocks = data.memory.len() as u32 / namespace.block_bytes();
        self.done("write", |queue| queue.write(0, namespace, lba, blocks, whole(data))).map(|_| ())
    }
}

/// A window of a whole buffer.
pub(crate) fn whole(buffer: &DmaBuffer) -> DataWindow {
    DataWindow::new(buffer.address, buffer.memory.len() as u32)
}

pub(crate) fn contents(buffer: &DmaBuffer) -> Vec<u8> {
    let mut bytes = vec![0; buffer.memory.len()];
    buffer.memory.read(0, &mut bytes);
    bytes
}

/// Bytes that depend on their position, so that a misplaced block is noticed.
pub(crate) fn pattern(seed: u64, offset_bytes: u64, bytes: usize) -> Vec<u8> {
    let first = offset_bytes / 8;
    (first..first + bytes as u64 / 8).flat_map(|word| mix(seed ^ word).to_le_bytes()).collect()
}
