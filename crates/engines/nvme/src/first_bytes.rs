//! Reads the first bytes of a namespace through the driver before a run. The kernel does not know
//! such a device, so nothing else can show its content.
//!
//! It uses one command at a time on its own queue pair. Deliberately not here: speed, and writing.

use iolab_memory::SharedBytes;
use iolab_nvme_driver::{DataWindow, DriverError, QueueOptions, Submit};

use crate::name::DeviceName;
use crate::opened::{self, NvmeDeviceError, Opened};

/// Bytes of a command, which every controller takes.
const COMMAND_BYTES: u32 = 4096;
const ANSWER_TIMEOUT_NS: u64 = 30_000_000_000;
/// How long to wait between two polls of a device that works only when it is polled.
const WAIT_NS: u64 = 1_000_000;

/// Why the first bytes cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FirstBytesError {
    /// The device cannot be opened.
    #[error(transparent)]
    Device(#[from] NvmeDeviceError),
    /// An error of the driver.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// Memory for a command.
    #[error("memory for reading: {0}")]
    Memory(std::io::Error),
    /// A read that failed.
    #[error("reading block {lba}: {what}")]
    Read {
        /// Its first block.
        lba: u64,
        /// Its result.
        what: String,
    },
}

/// The first `bytes` of a namespace, fewer if it is shorter.
pub fn first_bytes(name: &DeviceName, bytes: usize) -> Result<Vec<u8>, FirstBytesError> {
    of_opened(&opened::open_apart(name)?, name.namespace, bytes)
}

/// The first bytes of an open device.
pub(crate) fn of_opened(opened: &Opened, namespace: u32, bytes: usize) -> Result<Vec<u8>, FirstBytesError> {
    let memory = SharedBytes::memfd("iolab-first-bytes", COMMAND_BYTES as usize).map_err(FirstBytesError::Memory)?;
    let address = opened.controller.map(&memory)?;
    let buffer = MappedBuffer { memory, address };
    let read = read(opened, namespace, bytes, &buffer);
    // A command that was not answered ends with its queue pair, which is dropped by now.
    let unmapped = opened.controller.unmap(address);
    let data = read?;
    unmapped?;
    Ok(data)
}

/// Memory that the device can access.
struct MappedBuffer {
    memory: SharedBytes,
    address: u64,
}

fn read(opened: &Opened, namespace: u32, bytes: usize, buffer: &MappedBuffer) -> Result<Vec<u8>, FirstBytesError> {
    let namespace = opened.namespace(namespace)?;
    let mut pair = opened.controller.queue_pair(QueueOptions::with_slots(1))?;
    let block = namespace.block_bytes();
    let all = namespace.blocks().saturating_mul(u64::from(block)).min(bytes as u64) as usize;
    let mut data = Vec::with_capacity(all + COMMAND_BYTES as usize);
    while data.len() < all {
        let lba = data.len() as u64 / u64::from(block);
        let blocks = (COMMAND_BYTES / block).max(1).min((namespace.blocks() - lba).min(u64::from(u32::MAX)) as u32);
        let failed = |what: String| FirstBytesError::Read { lba, what };
        match pair.read(0, &namespace, lba, blocks, DataWindow::new(buffer.address, blocks * block)) {
            Submit::Accepted => pair.flush(),
            Submit::Full => return Err(failed("the queue is full".to_owned())),
            Submit::Refused(refusal) => return Err(failed(refusal.to_string())),
        }
        let mut outcome = None;
        let mut waited_ns = 0;
        while outcome.is_none() && waited_ns < ANSWER_TIMEOUT_NS {
            opened.poll();
            pair.wait(WAIT_NS)?;
            pair.reap(1, |ended| outcome = Some(ended.outcome))?;
            waited_ns += WAIT_NS;
        }
        match outcome {
            Some(outcome) if outcome.is_done() => {}
            Some(outcome) => return Err(failed(format!("{outcome}"))),
            None => return Err(failed("the device does not respond".to_owned())),
        }
        let start = data.len();
        data.resize(start + (blocks * block) as usize, 0);
        buffer.memory.read(0, &mut data[start..]);
    }
    data.truncate(all);
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A virtual SSD instead of a real one: the content that a file system leaves on it is visible
    /// through the driver.
    #[test]
    fn what_is_on_a_device_is_read_through_the_driver() {
        let folder = tempfile::tempdir().unwrap();
        let mut disk: Vec<u8> = (0..1u32 << 20).map(|at| (at / 512) as u8).collect();
        disk[65600..65608].copy_from_slice(b"_BHRfS_M");
        for lba in [512, 4096] {
            let path = folder.path().join(lba.to_string());
            std::fs::write(&path, &disk).unwrap();
            crate::allow_media([path.as_path()]);
            let name = format!("trtype=VIRT size=1M lba={lba} seed={lba} media=file:{}", path.display());
            let name = DeviceName::parse(&name).unwrap();
            assert_eq!(first_bytes(&name, 72 << 10).unwrap(), disk[..72 << 10]);
            assert_eq!(first_bytes(&name, 1000).unwrap(), disk[..1000]);
            assert_eq!(first_bytes(&name, 9 << 20).unwrap(), disk, "it is shorter than that");
        }
    }

    #[test]
    fn a_device_that_cannot_be_read_says_so() {
        let name = DeviceName::parse("trtype=VIRT size=1M fault=media-error:op=read,lba=16").unwrap();
        let said = first_bytes(&name, 72 << 10).unwrap_err().to_string();
        assert!(said.contains("block 16"), "{said}");
        assert_eq!(first_bytes(&name, 4096).unwrap(), [0; 4096]);
        let nowhere = DeviceName::parse("trtype=VIRT traddr=/nowhere/at.all").unwrap();
        assert!(first_bytes(&nowhere, 1).is_err());
    }
}
