//! The state of a drive in a file besides its blocks: a second file, which survives the process
//! like the data.
//!
//! ```text
//!  0        header: "IOLABSSD", version, namespaces, their bytes, zones and their shape, checksum
//!  64       which file this program created for the data: device and inode, checksum; zeroes if another program created it
//!  4096     namespaces, four cells each: flags and format, size, attachment (two)
//!  …        zones, one cell each, namespace after namespace: state, blocks up to the write pointer
//!
//!  cell, one word:   | payload, 40 bits | checksum of payload and position, 24 bits |
//! ```
//!
//! The file is mapped, and a change is the store of one word. This is cheap enough for every write
//! into a zone, and atomic even when the process is killed between two instructions.
//! [`StateFile::flush`] makes the changes survive a loss of power. A new file appears under its
//! name only when it is complete. If the file is truncated, the next flush fails.
//!
//! Guarantees: a link, an unrelated file, a file of another shape or with a corrupt cell is refused
//! and left unchanged. Two processes never use the same drive. This module does not interpret the
//! payloads; their owners define them.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iolab_memory::{MappingAccess, SharedBytes};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::ConfigError;
use crate::config::Config;

const MAGIC: [u8; 8] = *b"IOLABSSD";
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 56;
const CELLS_AT: usize = 4096;
const ORIGIN_AT: usize = 64;
const ORIGIN_BYTES: usize = 20;
/// How many names are tried that unfinished files of other programs may have.
const NAMES_TRIED: u32 = 16;
const PAYLOAD_BITS: u32 = 40;
/// Cells of a namespace that precede those of its zones.
pub(crate) const NAMESPACE_CELLS: usize = 4;

/// The shape of a drive. A state file fits only drives of its shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Shape {
    namespaces: u32,
    bytes: u64,
    zone_bytes: u64,
    capacity_bytes: u64,
}

impl Shape {
    fn of(config: &Config) -> Shape {
        let (zone_bytes, capacity_bytes) =
            config.zones.map_or((0, 0), |zones| (zones.zone_bytes, zones.capacity_bytes));
        Shape { namespaces: config.namespaces, bytes: config.size_bytes, zone_bytes, capacity_bytes }
    }

    /// The number of zones of each namespace.
    fn zones(self) -> usize {
        self.bytes.checked_div(self.zone_bytes).unwrap_or(0) as usize
    }

    fn cells(self) -> usize {
        self.namespaces as usize * (NAMESPACE_CELLS + self.zones())
    }

    fn header(self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(&MAGIC);
        header[8..12].copy_from_slice(&VERSION.to_le_bytes());
        header[12..16].copy_from_slice(&self.namespaces.to_le_bytes());
        for (place, value) in [self.bytes, self.zone_bytes, self.capacity_bytes].into_iter().enumerate() {
            header[16 + place * 8..24 + place * 8].copy_from_slice(&value.to_le_bytes());
        }
        let sum = crc32fast::hash(&header[..HEADER_BYTES - 4]);
        header[HEADER_BYTES - 4..].copy_from_slice(&sum.to_le_bytes());
        header
    }

    /// The shape in a header, or what is wrong with it.
    fn parse(header: &[u8; HEADER_BYTES]) -> Result<Shape, String> {
        let four = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        if header[..8] != MAGIC {
            return Err("it is not a state file of a virtual SSD".to_owned());
        }
        if four(HEADER_BYTES - 4) != crc32fast::hash(&header[..HEADER_BYTES - 4]) {
            return Err("its header is damaged (wrong checksum)".to_owned());
        }
        if four(8) != VERSION {
            return Err(format!("it has format {}, but this program reads format {VERSION}", four(8)));
        }
        Ok(Shape { namespaces: four(12), bytes: eight(16), zone_bytes: eight(24), capacity_bytes: eight(32) })
    }

    fn describe(self) -> String {
        let Shape { namespaces, bytes, zone_bytes, capacity_bytes } = self;
        let zones = if zone_bytes == 0 {
            "no zones".to_owned()
        } else {
            format!("zones of {zone_bytes} bytes, {capacity_bytes} of them to write")
        };
        format!("{namespaces} namespaces of {bytes} bytes, {zones}")
    }
}

/// The file that holds the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// Its file system, `st_dev` of stat(2).
    pub(crate) device: u64,
    /// Its inode there.
    pub(crate) inode: u64,
    /// Whether it is empty, so that everything in it will be written by this program.
    pub(crate) is_new: bool,
}

impl Origin {
    fn note(self) -> [u8; ORIGIN_BYTES] {
        let mut note = [0; ORIGIN_BYTES];
        note[..8].copy_from_slice(&self.device.to_le_bytes());
        note[8..16].copy_from_slice(&self.inode.to_le_bytes());
        let sum = crc32fast::hash(&note[..16]);
        note[16..].copy_from_slice(&sum.to_le_bytes());
        note
    }
}

/// Whether a file is the state of a virtual SSD, of any shape.
pub fn is_state(path: &Path) -> bool {
    let mut header = [0; HEADER_BYTES];
    let read = open(path).and_then(|file| std::os::unix::fs::FileExt::read_exact_at(&file, &mut header, 0));
    read.is_ok() && Shape::parse(&header).is_ok()
}

/// The device and inode (stat(2)) of the file that was created for the data whose state is at
/// `path`. `None` if `path` is no state of a virtual SSD, or the file existed before.
pub fn data_made_for(path: &Path) -> Option<(u64, u64)> {
    let mut start = [0; ORIGIN_AT + ORIGIN_BYTES];
    std::os::unix::fs::FileExt::read_exact_at(&open(path).ok()?, &mut start, 0).ok()?;
    let header: &[u8; HEADER_BYTES] = start[..HEADER_BYTES].try_into().ok()?;
    Shape::parse(header).ok()?;
    let eight = |at: usize| start[at..at + 8].try_into().map(u64::from_le_bytes).ok();
    let (device, inode) = (eight(ORIGIN_AT)?, eight(ORIGIN_AT + 8)?);
    let found = Origin { device, inode, is_new: true };
    (inode != 0 && found.note() == start[ORIGIN_AT..]).then_some((device, inode))
}

/// The file.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    file: File,
    bytes: SharedBytes,
    zones: usize,
    namespaces: usize,
    changed: AtomicBool,
    /// Whether a change has not reached the file.
    lost: AtomicBool,
}

/// Some cells of a file, numbered from 0.
#[derive(Debug, Clone)]
pub(crate) struct StateCells {
    state: Arc<StateFile>,
    first: usize,
    count: usize,
}

/// The path of the state for the drive whose data is at `media`.
pub fn path_of(media: &Path) -> PathBuf {
    let mut name = media.as_os_str().to_owned();
    name.push(".state");
    PathBuf::from(name)
}

impl StateFile {
    /// Opens the state of a drive, and returns whether it existed. New data has no state, so a
    /// state left from earlier data is replaced.
    pub(crate) fn open(path: &Path, config: &Config, data: Origin) -> Result<(Arc<StateFile>, bool), ConfigError> {
        let new = data.is_new;
        let refuse = |reason: String| ConfigError::State { path: path.display().to_string(), reason };
        let failed = |source: io::Error| ConfigError::Media { what: path.display().to_string(), source };
        let shape = Shape::of(config);
        let existing = match open(path) {
            Ok(file) => Some(file),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if let Some(file) = &existing {
            check_header(file, shape, new).map_err(&refuse)?;
            lock(file, path)?;
        }
        let (file, restored) = match existing {
            Some(file) if !new => (file, true),
            _ => {
                let file = create(path, shape, data).map_err(failed)?;
                lock(&file, path)?;
                (file, false)
            }
        };
        let length = CELLS_AT + shape.cells() * 8;
        if file.metadata().map_err(failed)?.len() != length as u64 {
            return Err(refuse("its length does not match its header".to_owned()));
        }
        let mapped = file.try_clone().map_err(failed)?;
        let bytes = SharedBytes::of_watched_file(mapped.into(), 0, length, MappingAccess::ReadWrite);
        let (bytes, path) = (bytes.map_err(failed)?, path.to_owned());
        let (zones, namespaces) = (shape.zones(), shape.namespaces as usize);
        let (changed, lost) = (AtomicBool::new(false), AtomicBool::new(false));
        let state = StateFile { path, file, bytes, zones, namespaces, changed, lost };
        Ok((Arc::new(state), restored))
    }

    /// The cells of the namespace with this index, from 0.
    pub(crate) fn namespace(self: &Arc<StateFile>, place: usize) -> StateCells {
        StateCells { state: Arc::clone(self), first: place * NAMESPACE_CELLS, count: NAMESPACE_CELLS }
    }

    /// The cells of its zones.
    pub(crate) fn zones(self: &Arc<StateFile>, place: usize) -> StateCells {
        let first = self.namespaces * NAMESPACE_CELLS + place * self.zones;
        StateCells { state: Arc::clone(self), first, count: self.zones }
    }

    /// Makes stored changes survive a loss of power.
    pub(crate) fn flush(&self) -> io::Result<()> {
        if self.lost.load(Ordering::Acquire) {
            return Err(io::Error::other("the state of the drive was cut off while it was in use"));
        }
        if self.changed.swap(false, Ordering::AcqRel) { self.file.sync_data() } else { Ok(()) }
    }

    /// Removes a file that turned out not to be needed.
    pub(crate) fn remove(&self) {
        // A file that cannot be removed does no harm: new data replaces it.
        let _ = std::fs::remove_file(&self.path);
    }

    fn broken(&self, reason: String) -> ConfigError {
        ConfigError::State { path: self.path.display().to_string(), reason }
    }
}

impl StateCells {
    /// Stores a payload of up to 40 bits.
    #[inline]
    pub(crate) fn store(&self, place: usize, payload: u64) {
        assert!(
            place < self.count && payload >> PAYLOAD_BITS == 0,
            "cell {place} of {} given {payload:#x}",
            self.count
        );
        let number = self.first + place;
        let (at, word, bytes) = (CELLS_AT + number * 8, seal(number, payload), &self.state.bytes);
        if bytes.watched(at, 8, || bytes.store_u64(at, word, Ordering::Relaxed)).is_err() {
            self.state.lost.store(true, Ordering::Release);
        }
        if !self.state.changed.load(Ordering::Relaxed) {
            self.state.changed.store(true, Ordering::Release);
        }
    }

    /// Loads a stored payload; an error if the cell is corrupt.
    pub(crate) fn load(&self, place: usize) -> Result<u64, ConfigError> {
        assert!(place < self.count, "cell {place} of {}", self.count);
        let number = self.first + place;
        let (at, bytes) = (CELLS_AT + number * 8, &self.state.bytes);
        let word = bytes.watched(at, 8, || bytes.load_u64(at, Ordering::Relaxed));
        let word = word.map_err(|_| self.invalid(place, "missing"))?;
        let payload = word >> (64 - PAYLOAD_BITS);
        if seal(number, payload) != word {
            return Err(self.invalid(place, "damaged (wrong checksum)"));
        }
        Ok(payload)
    }

    /// The error for an intact payload with an invalid meaning.
    pub(crate) fn invalid(&self, place: usize, what: &str) -> ConfigError {
        self.state.broken(format!("cell {} of it is {what}", self.first + place))
    }
}

/// The word that stores a payload.
#[inline]
fn seal(number: usize, payload: u64) -> u64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&(number as u64).to_le_bytes());
    bytes[8..].copy_from_slice(&payload.to_le_bytes());
    payload << (64 - PAYLOAD_BITS) | u64::from(crc32fast::hash(&bytes) >> 8)
}

/// Makes sure that no other process uses the drive while the file is open (flock(2)). On file
/// systems without locks, this is not checked.
fn lock(file: &File, path: &Path) -> Result<(), ConfigError> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(ConfigError::InUse { path: path.display().to_string() }),
        _ => Ok(()),
    }
}

fn check_header(file: &File, shape: Shape, new: bool) -> Result<(), String> {
    let mut header = [0; HEADER_BYTES];
    let read = std::os::unix::fs::FileExt::read_exact_at(file, &mut header, 0);
    read.map_err(|_| "it is not a state file of a virtual SSD (too short)".to_owned())?;
    let found = match Shape::parse(&header) {
        // A state left from earlier data may be replaced if this program wrote it.
        _ if new && header[..8] == MAGIC => return Ok(()),
        found => found?,
    };
    if found != shape {
        let (found, shape) = (found.describe(), shape.describe());
        return Err(format!("it was created for {found}, but this device has {shape}"));
    }
    Ok(())
}

/// Opens a file created by this program: refuses links, and does not block.
fn open(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file"));
    }
    Ok(file)
}

/// Creates a file of zeroes with a header. It is complete before it gets its name.
fn create(path: &Path, shape: Shape, data: Origin) -> io::Result<File> {
    let (mut file, unfinished) = create_beside(path)?;
    let made = fill(&mut file, shape, data).and_then(|()| std::fs::rename(&unfinished, path));
    if made.is_err() {
        // The first error is the one to report.
        let _ = std::fs::remove_file(&unfinished);
    }
    made?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()?;
    Ok(file)
}

/// Creates a file that did not exist before.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    for number in 0..NAMES_TRIED {
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".new-{}-{number}", std::process::id()));
        let name = PathBuf::from(name);
        match OpenOptions::new().read(true).write(true).create_new(true).open(&name) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (file, name)),
        }
    }
    Err(ErrorKind::AlreadyExists.into())
}

fn fill(file: &mut File, shape: Shape, data: Origin) -> io::Result<()> {
    // Every byte is written, so that no later store fails because the file system is full.
    let mut bytes = vec![0; CELLS_AT + shape.cells() * 8];
    bytes[..HEADER_BYTES].copy_from_slice(&shape.header());
    if data.is_new {
        bytes[ORIGIN_AT..ORIGIN_AT + ORIGIN_BYTES].copy_from_slice(&data.note());
    }
    file.write_all(&bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests;
