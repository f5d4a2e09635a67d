//! The configuration of a virtual SSD: plain data, parsed from `key=value` words.
//!
//! ```text
//! size=8G model=nand preset=970pro lba=4k namespaces=2 media=file:/tmp/disk fault=media-error:op=read,lba=100+8,times=3
//! ```
//!
//! Guarantees: every word is either accepted, or refused with its key, the reason and a suggestion.
//! An accepted configuration can be built, as far as that can be known without system calls. This
//! module opens nothing.

mod age;
mod describe;
mod error;
mod parse;

use iolab_nvme_spec::log::AnaState;
use iolab_ssd_timing::Parameters;

pub use age::Age;
pub use describe::{Parameter, parameters};
pub use error::ConfigError;
pub use parse::{KEYS, Key};

use crate::fault::Fault;
use crate::media::{MediaKind, MemoryPages};
use crate::timing::no_time;

/// The LBA formats: shifts of 512 and 4096 bytes, without metadata.
pub(crate) const FORMAT_SHIFTS: [u32; 2] = [9, 12];

/// The layout of the zones of a namespace, in bytes; both are whole blocks of every format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZoneLayout {
    /// Distance between zone starts.
    pub zone_bytes: u64,
    /// Bytes of a zone that can be written, at most its size.
    pub capacity_bytes: u64,
    /// The most zones that may be open at a time; 0 for no limit.
    pub max_open: u32,
    /// The most zones that may be open or closed at a time; 0 for no limit.
    pub max_active: u32,
}

/// Settings of a virtual SSD. [`Config::default`] is a small drive in memory that answers at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Bytes of each namespace.
    pub size_bytes: u64,
    /// Number of namespaces.
    pub namespaces: u32,
    /// Bytes of a block: 512 or 4096.
    pub lba_bytes: u64,
    /// Where the blocks are stored.
    pub media: MediaKind,
    /// Whether data written to a file is lost with the process unless it is flushed.
    pub lossy: bool,
    /// The kind of pages of memory for blocks.
    pub memory: MemoryPages,
    /// Zones, for a drive that is written sequentially.
    pub zones: Option<ZoneLayout>,
    /// The timing model.
    pub timing: Parameters,
    /// The age of the flash.
    pub age: Age,
    /// The most bytes that one command transfers, a power of two of at least 4 KiB; 0 for no limit.
    pub most_bytes: u64,
    /// The most I/O queue pairs.
    pub queue_pairs: u16,
    /// The most entries of a queue.
    pub queue_entries: u32,
    /// The access state of the namespaces, if it is reported.
    pub access: Option<AnaState>,
    /// The planned faults.
    pub faults: Vec<Fault>,
    /// Seed of the identifiers, and of the places that ageing overwrites.
    pub seed: u64,
    /// Serial number: up to 20 ASCII characters.
    pub serial: String,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            size_bytes: 1 << 30,
            namespaces: 1,
            lba_bytes: 512,
            media: MediaKind::Memory,
            lossy: false,
            memory: MemoryPages::default(),
            zones: None,
            timing: no_time(),
            age: Age::Fresh,
            most_bytes: 1 << 20,
            queue_pairs: 64,
            queue_entries: 4096,
            access: None,
            faults: Vec::new(),
            seed: 1,
            serial: "IOLAB-1".to_owned(),
        }
    }
}

/// The most queue pairs of a controller, besides the admin queues.
pub(crate) const MOST_QUEUE_PAIRS: u16 = 64;
/// The most namespaces.
const MOST_NAMESPACES: u32 = 256;

impl Config {
    /// The timing parameters, with the zones of the device.
    pub(crate) fn timing_parameters(&self) -> Parameters {
        let mut parameters = self.timing.clone();
        if let Some(zones) = self.zones {
            parameters.zone_bytes = zones.zone_bytes;
        }
        parameters
    }

    /// Bytes of all namespaces.
    pub(crate) fn media_bytes(&self) -> u64 {
        self.size_bytes.saturating_mul(u64::from(self.namespaces))
    }

    /// Log2 of the block size.
    pub(crate) fn lba_shift(&self) -> u32 {
        self.lba_bytes.trailing_zeros()
    }

    /// Checks that the values are consistent.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key, reason: String| Err(ConfigError::BadValue { key, reason });
        if !FORMAT_SHIFTS.iter().any(|shift| self.lba_bytes == 1 << shift) {
            return refuse("lba", "the block size must be 512 or 4096 bytes".to_owned());
        }
        if self.size_bytes == 0 || !self.size_bytes.is_multiple_of(4096) {
            return refuse("size", "a namespace must be a positive multiple of 4096 bytes".to_owned());
        }
        if !(1..=MOST_NAMESPACES).contains(&self.namespaces) {
            return refuse("namespaces", format!("must be 1 to {MOST_NAMESPACES}"));
        }
        if !(1..=MOST_QUEUE_PAIRS).contains(&self.queue_pairs) {
            return refuse("queues", format!("must be 1 to {MOST_QUEUE_PAIRS} I/O queue pairs"));
        }
        if !(2..=65_536).contains(&self.queue_entries) {
            return refuse("queue_entries", "must be 2 to 65536 entries".to_owned());
        }
        if self.most_bytes != 0 && (!self.most_bytes.is_power_of_two() || self.most_bytes < 4096) {
            return refuse("mdts", "must be 0 or a power of two of at least 4k".to_owned());
        }
        if self.serial.len() > 20 || !self.serial.bytes().all(|byte| byte.is_ascii_graphic()) {
            return refuse("serial", "must be up to 20 printable ASCII characters".to_owned());
        }
        if self.media_bytes() > isize::MAX as u64 {
            return Err(ConfigError::TooLarge { bytes: self.media_bytes() });
        }
        if self.lossy && self.media_file().is_none() {
            return refuse("write_cache", "lossy needs media=file:PATH, which has what was flushed".to_owned());
        }
        self.check_age()?;
        self.zones.map_or(Ok(()), |zones| self.check_zones(zones))
    }

    fn check_zones(&self, zones: ZoneLayout) -> Result<(), ConfigError> {
        let refuse = |key, reason: &str| Err(ConfigError::BadValue { key, reason: reason.to_owned() });
        if zones.zone_bytes == 0 || !zones.zone_bytes.is_multiple_of(4096) {
            return refuse("zone", "the zone size must be a multiple of 4096 bytes");
        }
        if !self.size_bytes.is_multiple_of(zones.zone_bytes) {
            return refuse("zone", "the namespace must be a multiple of the zone size");
        }
        let capacity = zones.capacity_bytes;
        if capacity == 0 || capacity > zones.zone_bytes || !capacity.is_multiple_of(4096) {
            return refuse("zone_capacity", "must be a multiple of 4096 bytes up to the zone size");
        }
        if zones.max_active > 0 && (zones.max_open == 0 || zones.max_open > zones.max_active) {
            return refuse("max_open", "max_active needs a max_open that is not larger");
        }
        Ok(())
    }
}
