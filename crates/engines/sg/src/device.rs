//! A device of the generic driver: opened, and asked for its size.
//!
//! Unsafe code: requests with memory of this thread, which waits for them.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use iolab_engine::OpenError;

use crate::command::{CAPACITY_BYTES, Command, READ, long_capacity, short_capacity};
use crate::request::{SENSE_BYTES, SgHeader, Transfer};

/// An open device.
#[derive(Debug)]
pub(crate) struct ScsiDevice {
    pub(crate) path: PathBuf,
    file: File,
    /// Whether requests are written and read back: it is a character device.
    pub(crate) has_queue: bool,
    /// It is a node of bsg, which takes requests of version 4.
    is_bsg: bool,
    pub(crate) blocks: u64,
    pub(crate) block_bytes: u32,
}

impl ScsiDevice {
    pub(crate) fn open(path: &Path) -> Result<ScsiDevice, OpenError> {
        let name = path.display();
        let failed = |message: String, errno: i32| OpenError { message, errno: Some(errno) };
        let no_scsi = |why: &str, errno: i32| {
            failed(format!("{name} is not a SCSI device{why}: sg needs /dev/sg0 or /dev/sda, say (lsscsi -g)"), errno)
        };
        let facts = std::fs::metadata(path).map_err(|error| {
            let message = match error.kind() {
                std::io::ErrorKind::NotFound => format!(
                    "there is no device {name}: sg needs a SCSI device as /dev/sg0 (kernel module sg) or as its block \
                     device (lsscsi -g)"
                ),
                _ => format!("cannot look at {name}: {error}"),
            };
            OpenError { message, errno: error.raw_os_error() }
        })?;
        let (is_block, is_character) = (facts.file_type().is_block_device(), facts.file_type().is_char_device());
        if !is_block && !is_character {
            return Err(no_scsi("", libc::ENOTBLK));
        }
        // Addresses of commands are those of the whole disk.
        if is_block && system_folder(facts.rdev(), "block").join("partition").exists() {
            let message = format!(
                "{name} is a partition: SCSI commands would reach the whole disk. Name the disk, and offset and size"
            );
            return Err(failed(message, libc::EINVAL));
        }
        let open = |writes: bool| {
            OpenOptions::new().read(true).write(writes).custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC).open(path)
        };
        let file = open(true).or_else(|_| open(false)).map_err(|error| {
            let why = format!("cannot open {name}: {error}");
            OpenError { message: why, errno: error.raw_os_error() }
        })?;
        let of_bsg = |class: PathBuf| class.file_name().is_some_and(|name| name == "bsg");
        let is_bsg =
            is_character && system_folder(facts.rdev(), "char").join("subsystem").canonicalize().is_ok_and(of_bsg);
        let (path, has_queue) = (path.to_owned(), is_character && !is_bsg);
        let mut device = ScsiDevice { path, file, has_queue, is_bsg, blocks: 0, block_bytes: 0 };
        let (blocks, block_bytes) = device.capacity().map_err(|(why, errno)| no_scsi(&format!(" ({why})"), errno))?;
        if blocks == 0 || !(512..=1 << 20).contains(&block_bytes) || blocks.checked_mul(block_bytes.into()).is_none() {
            let message = format!("{name} says that it has {blocks} blocks of {block_bytes} bytes");
            return Err(failed(message, libc::EINVAL));
        }
        (device.blocks, device.block_bytes) = (blocks, block_bytes);
        Ok(device)
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Does a request, and waits.
    ///
    /// # Safety
    /// All that the request names is valid, and used by nobody else.
    ///
    /// # Errors
    /// The errno of a request that the kernel did not take.
    pub(crate) unsafe fn perform(&self, header: &mut SgHeader) -> Result<(), i32> {
        // SAFETY: the caller's promise.
        unsafe { if self.is_bsg { header.perform_by_bsg(self.fd()) } else { header.perform(self.fd()) } }
    }

    fn capacity(&self) -> Result<(u64, u32), (String, i32)> {
        let mut answer = [0; CAPACITY_BYTES];
        self.ask(&Command::read_capacity(), &mut answer[..8])?;
        if let Some(capacity) = short_capacity(&answer) {
            return Ok(capacity);
        }
        self.ask(&Command::read_capacity_long(), &mut answer)?;
        Ok(long_capacity(&answer))
    }

    /// Does a command that reads, and waits. A unit attention is news for whoever asks first, so
    /// the command is then repeated.
    fn ask(&self, command: &Command, answer: &mut [u8]) -> Result<(), (String, i32)> {
        let mut sense = [0; SENSE_BYTES];
        let mut tries = 3;
        loop {
            let mut header =
                SgHeader::new(command, &mut sense, Transfer::FromDevice, answer.as_mut_ptr(), answer.len() as u32);
            // SAFETY: command, sense and answer outlive the call, which waits for the device.
            let taken = unsafe { self.perform(&mut header) };
            taken.map_err(|errno| (format!("SG_IO: {}", std::io::Error::from_raw_os_error(errno)), errno))?;
            match header.outcome() {
                Ok(_) => return Ok(()),
                Err(errno) => {
                    tries -= 1;
                    let why = header.failure_text(&sense);
                    if tries == 0 || !why.contains("unit attention") {
                        return Err((why, errno));
                    }
                }
            }
        }
    }

    /// The first bytes of the device, as many as there are.
    pub(crate) fn first_bytes(&self, bytes: usize) -> Result<Vec<u8>, String> {
        let block = self.block_bytes as usize;
        let blocks = (bytes.div_ceil(block) as u64).min(self.blocks);
        let mut found = vec![0; blocks as usize * block];
        for (lba, piece) in (0..).zip(found.chunks_mut(block)) {
            self.ask(&Command::of_blocks(READ, 0, lba, 1), piece).map_err(|(why, _)| why)?;
        }
        Ok(found)
    }

    /// The block device of the disk, if the kernel has one.
    pub(crate) fn block_device(&self) -> Option<PathBuf> {
        let facts = self.file.metadata().ok()?;
        if facts.file_type().is_block_device() {
            return Some(self.path.clone());
        }
        let number = facts.rdev();
        let disks = std::fs::read_dir(system_folder(number, "char").join("device/block")).ok()?;
        let name = disks.filter_map(Result::ok).next()?.file_name();
        Some(Path::new("/dev").join(name))
    }
}

/// The kernel's folder of a device.
fn system_folder(number: u64, kind: &str) -> PathBuf {
    PathBuf::from(format!("/sys/dev/{kind}/{}:{}", libc::major(number), libc::minor(number)))
}
