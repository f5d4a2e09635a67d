//! The blocks of a virtual SSD on a device: a block device of the kernel, or an NVMe device of this
//! driver. So any of them can be served to hosts.
//!
//! Each call moves data through a buffer and waits for the device, so a serving thread has one
//! operation on the device at a time; several threads have several. Deliberately not here: queues.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iolab_memory::SharedBytes;
use iolab_nvme_driver::{DataWindow, Namespace, QueueOptions, Submit};
use iolab_virtual_ssd::{BlockStore, Config, MediaKind, Subsystem};
use rustix::fs::{FallocateFlags, OFlags, fallocate};

use crate::any_transport::AnyPair;
use crate::media_file::{DriveError, MediaError, admit_device, is_allowed_path, lock, make_with_file};
use crate::opened::{self, Opened};
use crate::overwrite;
use crate::{DeviceName, DevicePlace};

/// The most bytes that one operation moves.
const BUFFER_BYTES: usize = 1 << 20;
const PAGE_BYTES: usize = 4096;
/// How long an operation may take.
const ANSWER_TIMEOUT_NS: u64 = 60_000_000_000;
const WAIT_NS: u64 = 1_000_000;

/// Size and block size of a device that can hold the data of a drive.
///
/// # Errors
/// No device has this name, or it cannot be opened.
pub fn device_size(name: &str) -> Result<(u64, u32), DriveError> {
    if is_nvme(name) {
        let name = DeviceName::parse(name).map_err(|error| unusable(name, error))?;
        let facts = opened::facts(&name).map_err(|error| unusable(&name.to_string(), error))?;
        return Ok((facts.size_bytes, facts.block_bytes));
    }
    let mut file = File::open(name).map_err(|error| unusable(name, error))?;
    let bytes = io::Seek::seek(&mut file, io::SeekFrom::End(0)).map_err(|error| unusable(name, error))?;
    let block = rustix::fs::ioctl_blksszget(&file).map_err(|error| unusable(name, error))?;
    Ok((bytes, block))
}

/// Makes the drive that `config` describes, wherever its data is.
///
/// # Errors
/// A file or a device that may not be used, or an invalid description.
pub fn make_drive(config: Config) -> Result<Arc<Subsystem>, DriveError> {
    match config.media.clone() {
        MediaKind::Device(name) => drive_on(&name, config),
        _ => make_with_file(config),
    }
}

/// The drive with its data on the device of this name.
fn drive_on(name: &str, config: Config) -> Result<Arc<Subsystem>, DriveError> {
    let (bytes, block) = device_size(name)?;
    let wanted = config.size_bytes.saturating_mul(config.namespaces.into());
    if wanted > bytes {
        return Err(unusable(name, format!("it has {bytes} bytes, fewer than the {wanted} of the drive")));
    }
    if !config.lba_bytes.is_multiple_of(u64::from(block)) {
        return Err(unusable(name, format!("its blocks have {block} bytes: add lba={block}")));
    }
    let store: Arc<dyn BlockStore> = match is_nvme(name) {
        true => Arc::new(NvmeStore::open(name)?),
        false => Arc::new(BlockDevice::open(Path::new(name))?),
    };
    Ok(Subsystem::with_store(config, store)?)
}

/// Names of NVMe devices consist of words; paths do not.
fn is_nvme(name: &str) -> bool {
    name.contains("trtype")
}

fn unusable(name: &str, why: impl fmt::Display) -> DriveError {
    DriveError::Media(MediaError::System { path: name.to_owned(), source: io::Error::other(why.to_string()) })
}

/// A block device of the kernel, bypassing its page cache.
#[derive(Debug)]
struct BlockDevice {
    file: File,
}

impl BlockDevice {
    fn open(path: &Path) -> Result<BlockDevice, DriveError> {
        let failed = |source| DriveError::Media(MediaError::System { path: path.display().to_string(), source });
        let flags = OFlags::NONBLOCK.bits() as i32;
        let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.file_type().is_block_device() {
            return Err(failed(io::Error::new(
                ErrorKind::InvalidInput,
                "not a block device: use file:PATH for a file",
            )));
        }
        admit_device(&file, path)?;
        lock(&file, path)?;
        // Only now: the guard must read its content without alignment rules.
        rustix::fs::fcntl_setfl(&file, OFlags::DIRECT).map_err(|error| failed(error.into()))?;
        Ok(BlockDevice { file })
    }
}

/// Page-aligned memory, as direct I/O requires.
struct Aligned {
    memory: Vec<u8>,
    start: usize,
    bytes: usize,
}

impl Aligned {
    fn new(bytes: usize) -> Aligned {
        let memory = vec![0; bytes + PAGE_BYTES];
        let start = memory.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        Aligned { memory, start, bytes }
    }

    fn bytes(&mut self) -> &mut [u8] {
        &mut self.memory[self.start..self.start + self.bytes]
    }
}

impl BlockStore for BlockDevice {
    fn read(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        let mut buffer = Aligned::new(to.len());
        self.file.read_exact_at(buffer.bytes(), offset)?;
        to.copy_from_slice(buffer.bytes());
        Ok(())
    }

    fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        let mut buffer = Aligned::new(from.len());
        buffer.bytes().copy_from_slice(from);
        self.file.write_all_at(buffer.bytes(), offset)
    }

    fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        if fallocate(&self.file, flags, offset, bytes).is_ok() {
            return Ok(());
        }
        write_zeroes(self, offset, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn write_zeroes(store: &dyn BlockStore, offset: u64, bytes: u64) -> io::Result<()> {
    let zeroes = vec![0; bytes.min(BUFFER_BYTES as u64) as usize];
    let mut done = 0;
    while done < bytes {
        let part = (bytes - done).min(zeroes.len() as u64);
        store.write(offset + done, &zeroes[..part as usize])?;
        done += part;
    }
    Ok(())
}

/// A namespace of an NVMe device, with a queue pair for each concurrent thread.
#[derive(Debug)]
struct NvmeStore {
    opened: Opened,
    namespace: Namespace,
    free: Mutex<Vec<Worker>>,
}

/// A queue pair with a buffer.
#[derive(Debug)]
struct Worker {
    pair: AnyPair,
    memory: SharedBytes,
    address: u64,
}

/// An operation on blocks.
#[derive(Debug, Clone, Copy)]
enum Act {
    Read { lba: u64, blocks: u32 },
    Write { lba: u64, blocks: u32 },
    Flush,
}

impl NvmeStore {
    fn open(text: &str) -> Result<NvmeStore, DriveError> {
        let name = DeviceName::parse(text).map_err(|error| unusable(text, error))?;
        if matches!(name.place, DevicePlace::Embedded(_)) {
            return Err(unusable(
                text,
                "a virtual SSD inside this process cannot be served: create it and serve it by its name",
            ));
        }
        if let Some(why) = overwrite::refusal(Path::new(text), "serve", &allowed(text)) {
            return Err(DriveError::Media(MediaError::Refused { path: text.to_owned(), why }));
        }
        let opened = opened::open(&name).map_err(|error| unusable(text, error))?;
        let namespace = opened.namespace(name.namespace).map_err(|error| unusable(text, error))?;
        Ok(NvmeStore { opened, namespace, free: Mutex::default() })
    }

    /// Runs `work` with an exclusive worker.
    fn with_worker<T>(&self, work: impl FnOnce(&mut Worker) -> io::Result<T>) -> io::Result<T> {
        let kept = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut worker = match kept {
            Some(worker) => worker,
            None => self.new_worker()?,
        };
        // A worker whose command failed may still have it in flight.
        let done = work(&mut worker)?;
        self.free.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
        Ok(done)
    }

    fn new_worker(&self) -> io::Result<Worker> {
        let memory = SharedBytes::memfd("iolab-store", BUFFER_BYTES)?;
        let controller = &self.opened.controller;
        let address = controller.map(&memory).map_err(io::Error::other)?;
        let pair = controller.queue_pair(QueueOptions::with_slots(1)).map_err(io::Error::other)?;
        Ok(Worker { pair, memory, address })
    }

    fn execute(&self, worker: &mut Worker, act: Act) -> io::Result<()> {
        let Worker { pair, address, .. } = worker;
        let data = |blocks: u32| DataWindow::new(*address, blocks * self.namespace.block_bytes());
        let submitted = match act {
            Act::Read { lba, blocks } => pair.read(0, &self.namespace, lba, blocks, data(blocks)),
            Act::Write { lba, blocks } => pair.write(0, &self.namespace, lba, blocks, data(blocks)),
            Act::Flush => pair.flush_cache(0, &self.namespace),
        };
        match submitted {
            Submit::Accepted => pair.flush(),
            Submit::Full => return Err(io::Error::other("the queue is full")),
            Submit::Refused(refusal) => return Err(io::Error::other(refusal.to_string())),
        }
        let (mut outcome, mut waited_ns) = (None, 0);
        while outcome.is_none() && waited_ns < ANSWER_TIMEOUT_NS {
            pair.wait(WAIT_NS).map_err(io::Error::other)?;
            pair.reap(1, |ended| outcome = Some(ended.outcome)).map_err(io::Error::other)?;
            waited_ns += WAIT_NS;
        }
        match outcome {
            Some(outcome) if outcome.is_done() => Ok(()),
            Some(outcome) => Err(io::Error::other(outcome.to_string())),
            None => Err(ErrorKind::TimedOut.into()),
        }
    }

    /// Splits a range into parts that fit a command and the buffer: block, blocks, and bytes before
    /// it.
    fn parts(&self, offset: u64, bytes: usize) -> impl Iterator<Item = (u64, u32, usize)> + use<> {
        let block = self.namespace.block_bytes() as usize;
        let limit = self.opened.controller.facts().max_transfer_bytes.map_or(usize::MAX, |most| most as usize);
        let most = (limit.min(BUFFER_BYTES) / block * block).max(block);
        let first = offset / block as u64;
        (0..bytes).step_by(most).map(move |at| {
            let part = most.min(bytes - at);
            (first + (at / block) as u64, (part / block) as u32, at)
        })
    }
}

impl BlockStore for NvmeStore {
    fn read(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        let block = self.namespace.block_bytes() as usize;
        self.with_worker(|worker| {
            for (lba, blocks, at) in self.parts(offset, to.len()) {
                self.execute(worker, Act::Read { lba, blocks })?;
                worker.memory.read(0, &mut to[at..at + blocks as usize * block]);
            }
            Ok(())
        })
    }

    fn write(&self, offset: u64, from: &[u8]) -> io::Result<()> {
        let block = self.namespace.block_bytes() as usize;
        self.with_worker(|worker| {
            for (lba, blocks, at) in self.parts(offset, from.len()) {
                worker.memory.write(0, &from[at..at + blocks as usize * block]);
                self.execute(worker, Act::Write { lba, blocks })?;
            }
            Ok(())
        })
    }

    fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        // Deallocated blocks of a real device may read as anything.
        write_zeroes(self, offset, bytes)
    }

    fn flush(&self) -> io::Result<()> {
        self.with_worker(|worker| self.execute(worker, Act::Flush))
    }
}

/// The user's permissions that concern this device.
fn allowed(text: &str) -> Vec<PathBuf> {
    if is_allowed_path(Path::new(text)) { vec![text.into()] } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_on_a_device_that_is_none_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, vec![0; 1 << 20]).unwrap();
        let config = |name: &str| Config::of_pairs([("size", "1M"), ("media", &format!("device:{name}"))]).unwrap();
        for (name, expected) in [
            ("/dev/there-is-none", "No such file"),
            (path.to_str().unwrap(), "Inappropriate ioctl"),
            ("trtype=VIRT size=1M", "inside this process"),
            ("trtype=VIRT traddr=nobody-made-this", "no device is served"),
        ] {
            let said = make_drive(config(name)).unwrap_err().to_string();
            assert!(said.contains(expected), "{name}: {said}");
        }
    }
}
