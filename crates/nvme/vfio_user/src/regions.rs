//! The regions of the function, and the effect of reads and writes.
//!
//! ```text
//! 0  BAR 0: 0000h registers, by messages   1000h doorbells, which can be mapped   2000h nothing
//! 4  BAR 4: 0000h table of MSI-X           1000h pending bits
//! 7  configuration space
//! ```
//!
//! Registers are words of 4 bytes: a write contains whole words, a read may contain parts of them.
//! The MSI-X table is stored without effect: clients connect interrupts by messages.

use std::os::fd::OwnedFd;

use iolab_device_link::Function;
use iolab_memory::SharedBytes;
use rustix::io::Errno;

use crate::config_space::{BAR0_BYTES, BAR4_BYTES, CONFIG_BYTES, ConfigSpace, PENDING_OFFSET, TABLE_REGION};
use crate::protocol::{CONFIG_REGION, REGIONS, RegionAccess, RegionArea, RegionFlags, RegionInfo};

/// Where the doorbells begin in BAR 0 (NVMe over PCIe Transport, section 3.1.2), and the length of
/// the mappable part.
const DOORBELLS: RegionArea = RegionArea { offset: 0x1000, bytes: 0x1000 };

/// The effect of a write besides storing its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    /// Nothing.
    Plain,
    /// The configuration space has changed.
    Config,
    /// The write requests a reset of the function.
    Reset,
}

/// The regions of one function.
pub(crate) struct Regions {
    pub(crate) function: Box<dyn Function>,
    pub(crate) config: ConfigSpace,
    /// BAR 4.
    table: Vec<u8>,
}

impl Regions {
    pub(crate) fn new(function: Box<dyn Function>, vectors: u16) -> Regions {
        Regions { function, config: ConfigSpace::new(vectors), table: vec![0; BAR4_BYTES as usize] }
    }

    /// Restores the state after power-on, except for the controller.
    pub(crate) fn reset(&mut self) {
        self.config.reset();
        self.table.fill(0);
    }

    /// The description of a region, and the file with its mappable part.
    pub(crate) fn info(&self, index: u32) -> Result<(RegionInfo, Option<OwnedFd>), Errno> {
        if index >= REGIONS {
            return Err(Errno::INVAL);
        }
        let both = RegionFlags::READ.and(RegionFlags::WRITE);
        let mut info = RegionInfo { index, bytes: size(index), ..RegionInfo::default() };
        let mut file = None;
        if info.bytes > 0 {
            info.flags = both;
        }
        let registers = self.function.registers();
        if index == 0
            && registers.len() as u64 >= DOORBELLS.offset + DOORBELLS.bytes
            && let Some((descriptor, offset)) = registers.file()
        {
            info.flags = both.and(RegionFlags::MAP);
            info.areas = vec![DOORBELLS];
            info.offset = offset;
            file = Some(descriptor.try_clone_to_owned().map_err(|_| Errno::MFILE)?);
        }
        Ok((info, file))
    }

    /// Checks that an access is within its region; returns its offset.
    fn place(access: &RegionAccess) -> Result<usize, Errno> {
        let end = access.offset.checked_add(u64::from(access.count)).ok_or(Errno::INVAL)?;
        if access.count == 0 || end > size(access.region) {
            return Err(Errno::INVAL);
        }
        usize::try_from(access.offset).map_err(|_| Errno::INVAL)
    }

    pub(crate) fn read(&self, access: &RegionAccess) -> Result<Vec<u8>, Errno> {
        let offset = Regions::place(access)?;
        let mut data = vec![0; access.count as usize];
        match access.region {
            0 => self.read_registers(offset, &mut data),
            TABLE_REGION => data.copy_from_slice(&self.table[offset..][..access.count as usize]),
            _ => self.config.read(offset, &mut data),
        }
        Ok(data)
    }

    /// Reads registers. Each is read once, even if only some of its bytes are requested.
    fn read_registers(&self, offset: usize, data: &mut [u8]) {
        let mut word = (usize::MAX, [0; 4]);
        for (at, byte) in (offset..).zip(data) {
            if word.0 != at / 4 {
                let register = at / 4 * 4;
                let value = if register < self.registers().len() { self.function.read_u32(register as u32) } else { 0 };
                word = (at / 4, value.to_le_bytes());
            }
            *byte = word.1[at % 4];
        }
    }

    fn registers(&self) -> &SharedBytes {
        self.function.registers()
    }

    /// Writes; `data` has at least the bytes of the access.
    pub(crate) fn write(&mut self, access: &RegionAccess, data: &[u8]) -> Result<Written, Errno> {
        let offset = Regions::place(access)?;
        let data = data.get(..access.count as usize).ok_or(Errno::INVAL)?;
        match access.region {
            0 => {
                let (words, rest) = data.as_chunks();
                if offset % 4 != 0 || !rest.is_empty() {
                    return Err(Errno::INVAL);
                }
                for (number, word) in words.iter().enumerate() {
                    let register = offset + 4 * number;
                    if register < self.registers().len() {
                        self.function.write_u32(register as u32, u32::from_le_bytes(*word));
                    }
                }
            }
            TABLE_REGION => {
                // Pending bits are read-only.
                let end = (offset + data.len()).min(PENDING_OFFSET);
                if offset < end {
                    self.table[offset..end].copy_from_slice(&data[..end - offset]);
                }
            }
            _ => return Ok(if self.config.write(offset, data) { Written::Reset } else { Written::Config }),
        }
        Ok(Written::Plain)
    }
}

/// Bytes of a region; 0 if it does not exist.
fn size(region: u32) -> u64 {
    match region {
        0 => BAR0_BYTES,
        TABLE_REGION => BAR4_BYTES,
        CONFIG_REGION => CONFIG_BYTES as u64,
        _ => 0,
    }
}
