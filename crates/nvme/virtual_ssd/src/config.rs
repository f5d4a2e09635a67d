//! What a virtual SSD shall be: plain data, made from `key=value` words.
//!
//! ```text
//! size=8G model=nand preset=970pro lba=4k namespaces=2 media=file:/tmp/disk fault=media-error:op=read,lba=100+8,times=3
//! ```
//!
//! Guarantees: every word is understood or refused with its key, the reason and a suggestion; what
//! is accepted can be built, as far as that can be known without touching the world. Deliberately
//! not here: opening anything.

mod age;
mod describe;
mod parse;

use std::io;

use iolab_ssd_timing::{ParameterError, Parameters};

pub use age::Age;
pub use describe::{Parameter, parameters};
pub use parse::{KEYS, Key};

use crate::fault::{Fault, FaultError};
use crate::media::{MediaKind, MemoryPages};
use crate::namespace::FORMAT_SHIFTS;
use crate::timing::no_time;
use crate::zones::ZoneLayout;

/// Settings of a virtual SSD. [`Config::default`] is a small drive in memory that answers at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Bytes of each namespace.
    pub size_bytes: u64,
    /// How many namespaces.
    pub namespaces: u32,
    /// Bytes of a block: 512 or 4096.
    pub lba_bytes: u64,
    /// What keeps the blocks.
    pub media: MediaKind,
    /// What memory for blocks is made of.
    pub memory: MemoryPages,
    /// Zones, for a drive that is written in order.
    pub zones: Option<ZoneLayout>,
    /// How long everything takes.
    pub timing: Parameters,
    /// What the flash has been through before.
    pub age: Age,
    /// Most bytes that one command moves, a power of two of 4 KiB or more; 0 for no limit.
    pub most_bytes: u64,
    /// Most I/O queue pairs.
    pub queue_pairs: u16,
    /// Most entries of a queue.
    pub queue_entries: u32,
    /// What goes wrong, and when.
    pub faults: Vec<Fault>,
    /// Makes identifiers, and the places that ageing overwrites.
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
            memory: MemoryPages::default(),
            zones: None,
            timing: no_time(),
            age: Age::Fresh,
            most_bytes: 1 << 20,
            queue_pairs: 64,
            queue_entries: 4096,
            faults: Vec::new(),
            seed: 1,
            serial: "IOLAB-1".to_owned(),
        }
    }
}

/// The most queue pairs of a controller, beside the admin queues.
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

    /// Whether the values make sense together.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |key, reason: String| Err(ConfigError::BadValue { key, reason });
        if !FORMAT_SHIFTS.iter().any(|shift| self.lba_bytes == 1 << shift) {
            return refuse("lba", "a block has 512 or 4096 bytes".to_owned());
        }
        if self.size_bytes == 0 || !self.size_bytes.is_multiple_of(4096) {
            return refuse("size", "a namespace has a multiple of 4096 bytes, and more than none".to_owned());
        }
        if !(1..=MOST_NAMESPACES).contains(&self.namespaces) {
            return refuse("namespaces", format!("there are 1 to {MOST_NAMESPACES}"));
        }
        if !(1..=MOST_QUEUE_PAIRS).contains(&self.queue_pairs) {
            return refuse("queues", format!("there are 1 to {MOST_QUEUE_PAIRS} pairs of I/O queues"));
        }
        if !(2..=65_536).contains(&self.queue_entries) {
            return refuse("queue_entries", "a queue has 2 to 65536 entries".to_owned());
        }
        if self.most_bytes != 0 && (!self.most_bytes.is_power_of_two() || self.most_bytes < 4096) {
            return refuse("mdts", "give 0, or a power of two from 4k".to_owned());
        }
        if self.serial.len() > 20 || !self.serial.bytes().all(|byte| byte.is_ascii_graphic()) {
            return refuse("serial", "up to 20 printable ASCII characters".to_owned());
        }
        if self.media_bytes() > isize::MAX as u64 {
            return Err(ConfigError::TooLarge { bytes: self.media_bytes() });
        }
        self.check_age()?;
        self.zones.map_or(Ok(()), |zones| self.check_zones(zones))
    }

    fn check_zones(&self, zones: ZoneLayout) -> Result<(), ConfigError> {
        let refuse = |key, reason: &str| Err(ConfigError::BadValue { key, reason: reason.to_owned() });
        if zones.zone_bytes == 0 || !zones.zone_bytes.is_multiple_of(4096) {
            return refuse("zone", "a zone has a multiple of 4096 bytes");
        }
        if !self.size_bytes.is_multiple_of(zones.zone_bytes) {
            return refuse("zone", "the namespace must have whole zones");
        }
        let capacity = zones.capacity_bytes;
        if capacity == 0 || capacity > zones.zone_bytes || !capacity.is_multiple_of(4096) {
            return refuse("zone_capacity", "a multiple of 4096 bytes up to the size of a zone");
        }
        if zones.max_active > 0 && (zones.max_open == 0 || zones.max_open > zones.max_active) {
            return refuse("max_open", "with max_active, give a max_open that is not greater");
        }
        Ok(())
    }
}

/// Why a virtual SSD cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Not a `key=value` word.
    #[error("`{word}` is not key=value")]
    NotKeyValue {
        /// The word.
        word: String,
    },
    /// No such key.
    #[error("there is no device parameter `{key}`{}", suggestion(.near))]
    UnknownKey {
        /// The key.
        key: String,
        /// The nearest one that exists.
        near: Option<&'static str>,
    },
    /// The value does not fit the key.
    #[error("{key}: {reason}")]
    BadValue {
        /// The key.
        key: &'static str,
        /// What it takes.
        reason: String,
    },
    /// An age other than fresh for a model that does not age.
    #[error(
        "age: the model `{model}` has no flash that could be {age}; choose one that has, as preset=970pro, or age=fresh"
    )]
    AgeWithoutFlash {
        /// The age asked for.
        age: Age,
        /// The model's name.
        model: String,
    },
    /// Random overwrites where writes have to be in order.
    #[error(
        "age: zones are written in order, so there is no steady state of random writes; choose age=filled or fresh"
    )]
    SteadyInZones,
    /// A parameter of the timing model.
    #[error(transparent)]
    Timing(#[from] ParameterError),
    /// A fault that is not understood.
    #[error("fault: {0}")]
    Fault(#[from] FaultError),
    /// More than this machine can address.
    #[error("size: {bytes} bytes cannot be addressed here: choose a smaller size or fewer namespaces")]
    TooLarge {
        /// Bytes asked for.
        bytes: u64,
    },
    /// Media in a file, without a file: for the program, which forgot to open one.
    #[error("media: nobody has opened the file for the data")]
    Unopened,
    /// The file beside the data that keeps zones and formats.
    #[error(
        "media: {path}: {reason}; give the parameters that it was made with, or remove it: the data stay, zones are \
         empty then and formats as configured"
    )]
    State {
        /// Which file.
        path: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process uses the drive.
    #[error("media: {path}: a device uses these data already: end it first, or name another file")]
    InUse {
        /// Its state file.
        path: String,
    },
    /// The media could not be had.
    #[error("media: {what}: {source}")]
    Media {
        /// Which media.
        what: String,
        /// The system's answer.
        source: io::Error,
    },
}

fn suggestion(near: &Option<&'static str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}
