//! One client: its requests are executed and answered here.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

use iolab_device_link::Functions;
use iolab_memory::{MappingAccess, SharedBytes, is_sealed};
use iolab_pci_device::{DistantMemory, DmaMapper, DmaTable, Interrupt, InterruptTable};
use rustix::io::Errno;

use crate::distant::Distant;
use crate::lines::Lines;
use crate::protocol::{
    Abilities, DeviceInfo, DmaMap, DmaUnmap, INTERRUPT_KINDS, InterruptInfo, InterruptSet, IoFdsInfo, MAJOR, MINOR,
    MessageCommand, REGIONS, RegionAccess, RegionQuery, RegionWrites, VersionMessage,
};
use crate::regions::{Regions, Written};
use crate::wire::{Incoming, MOST_DATA_BYTES, MOST_DESCRIPTORS, Wire};

/// Mappings that a client may have at a time: many times those of a virtual machine. All clients
/// together stay below the kernel's limit for a process (`vm.max_map_count`).
pub const MOST_MAPPINGS: usize = 512;

/// Bytes that a client may have mapped at a time. They are address space, not memory.
pub const MOST_MAPPED_BYTES: u64 = 1 << 40;

const PAGE_BYTES: u64 = 4096;

/// One client and its function.
pub(crate) struct Session<'a> {
    functions: &'a dyn Functions,
    distant: Arc<Distant>,
    memory: DmaTable,
    /// The mappings, by address.
    mapped: BTreeMap<u64, Mapping>,
    /// Set after the versions have been negotiated.
    device: Option<Device>,
    events: Events,
}

/// The eventfds of a client, for the thread that prevents signalling from blocking.
pub(crate) type Events = Arc<Mutex<Vec<Interrupt>>>;

#[derive(Debug, Clone, Copy)]
struct Mapping {
    bytes: u64,
    is_distant: bool,
}

struct Device {
    regions: Regions,
    lines: Lines,
}

/// The answer to a command.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub(crate) payload: Vec<u8>,
    pub(crate) descriptor: Option<OwnedFd>,
}

impl From<Vec<u8>> for Answer {
    fn from(payload: Vec<u8>) -> Answer {
        Answer { payload, descriptor: None }
    }
}

/// The capabilities of this server.
fn abilities() -> Abilities {
    Abilities {
        descriptors: Some(MOST_DESCRIPTORS as u64),
        data_bytes: Some(MOST_DATA_BYTES as u64),
        mappings: Some(MOST_MAPPINGS as u64),
        page_sizes: Some(PAGE_BYTES),
        write_multiple: Some(true),
    }
}

impl<'a> Session<'a> {
    pub(crate) fn new(functions: &'a dyn Functions, wire: &Arc<Wire>, events: Events) -> Session<'a> {
        let distant = Arc::new(Distant::new(Arc::clone(wire)));
        let memory = DmaTable::beside(Arc::clone(&distant) as Arc<dyn DistantMemory>);
        Session { functions, distant, memory, mapped: BTreeMap::new(), device: None, events }
    }

    /// Passes on the answer to a command of this server.
    pub(crate) fn deliver(&self, incoming: Incoming) {
        self.distant.deliver(incoming);
    }

    /// Executes a command.
    pub(crate) fn handle(
        &mut self,
        command: Option<MessageCommand>,
        payload: &[u8],
        descriptors: Vec<OwnedFd>,
    ) -> Result<Answer, Errno> {
        let command = command.ok_or(Errno::NOTSUP)?;
        if command == MessageCommand::Version {
            return self.agree(payload);
        }
        let Some(device) = &mut self.device else { return Err(Errno::INVAL) };
        match command {
            MessageCommand::DmaMap => return self.map(payload, descriptors),
            MessageCommand::DmaUnmap => return self.unmap(payload),
            MessageCommand::Reset => {
                self.reset();
                return Ok(Answer::default());
            }
            MessageCommand::RegionWrite | MessageCommand::RegionWriteMulti => return self.write(command, payload),
            _ => {}
        }
        match command {
            MessageCommand::DeviceInfo => {
                let info =
                    DeviceInfo { has_reset: true, is_pci: true, regions: REGIONS, interrupt_kinds: INTERRUPT_KINDS };
                Ok(info.encode().into())
            }
            MessageCommand::RegionInfo => {
                let query = RegionQuery::decode(payload).ok_or(Errno::INVAL)?;
                let (info, descriptor) = device.regions.info(query.index)?;
                Ok(Answer { payload: info.encode(query.most_bytes), descriptor })
            }
            MessageCommand::RegionIoFds => {
                // Doorbells are polled, so there is nothing that an event could replace.
                let query = RegionQuery::decode(payload).filter(|query| query.index < REGIONS).ok_or(Errno::INVAL)?;
                Ok(IoFdsInfo { index: query.index }.encode().into())
            }
            MessageCommand::InterruptInfo => {
                let index = InterruptInfo::decode_query(payload).ok_or(Errno::INVAL)?;
                if index >= INTERRUPT_KINDS {
                    return Err(Errno::INVAL);
                }
                Ok(device.lines.info(index).encode().into())
            }
            MessageCommand::SetInterrupts => {
                let set = InterruptSet::decode(payload).ok_or(Errno::INVAL)?;
                device.lines.set(&set, descriptors)?;
                *self.events.lock().unwrap_or_else(PoisonError::into_inner) = device.lines.events();
                Ok(Answer::default())
            }
            MessageCommand::RegionRead => {
                let (access, _) = RegionAccess::decode(payload).ok_or(Errno::INVAL)?;
                let data = device.regions.read(&access)?;
                Ok(access.encode(&data).into())
            }
            _ => Err(Errno::INVAL),
        }
    }

    /// Handles the first message: version and capabilities. The client gets its function.
    fn agree(&mut self, payload: &[u8]) -> Result<Answer, Errno> {
        let asked = VersionMessage::decode(payload).ok_or(Errno::INVAL)?;
        if asked.major != MAJOR || self.device.is_some() {
            return Err(Errno::INVAL);
        }
        self.distant.limit(asked.abilities.transfer_bytes());
        let interrupts = InterruptTable::with_vectors(self.functions.vectors());
        let function = self.functions.connect(self.memory.clone(), interrupts.clone()).map_err(|_| Errno::BUSY)?;
        let regions = Regions::new(function, interrupts.count());
        self.device = Some(Device { regions, lines: Lines::new(interrupts) });
        let abilities = asked.abilities.answer(&abilities());
        Ok(VersionMessage { major: MAJOR, minor: asked.minor.min(MINOR), abilities }.encode().into())
    }

    fn map(&mut self, payload: &[u8], descriptors: Vec<OwnedFd>) -> Result<Answer, Errno> {
        let map = DmaMap::decode(payload).ok_or(Errno::INVAL)?;
        let end = map.address.checked_add(map.bytes).ok_or(Errno::INVAL)?;
        let is_whole = map.address.is_multiple_of(PAGE_BYTES) && map.bytes.is_multiple_of(PAGE_BYTES);
        if !is_whole || map.bytes == 0 || !map.is_readable && !map.is_writable {
            return Err(Errno::INVAL);
        }
        let before = self.mapped.range(..end).next_back();
        if before.is_some_and(|(address, mapping)| address + mapping.bytes > map.address) {
            return Err(Errno::EXIST);
        }
        let total: u64 = self.mapped.values().map(|mapping| mapping.bytes).sum();
        if self.mapped.len() >= MOST_MAPPINGS || map.bytes > MOST_MAPPED_BYTES.saturating_sub(total) {
            return Err(Errno::NOSPC);
        }
        // Memory that its owner could truncate is not mapped: a failed message is an error, but a
        // failed access would end the process.
        let file = descriptors.into_iter().next().filter(|file| is_sealed(file.as_fd()));
        let is_distant = file.is_none();
        match file {
            Some(file) => {
                let access = if map.is_writable { MappingAccess::ReadWrite } else { MappingAccess::Read };
                let bytes = usize::try_from(map.bytes).map_err(|_| Errno::INVAL)?;
                let memory = SharedBytes::of_peer(file.as_fd(), map.offset, bytes, access).map_err(|_| Errno::INVAL)?;
                self.memory.map_at(map.address, memory).map_err(|_| Errno::INVAL)?;
            }
            None => self.distant.add(map.address, map.bytes, map.is_writable),
        }
        self.mapped.insert(map.address, Mapping { bytes: map.bytes, is_distant });
        Ok(Answer::default())
    }

    fn unmap(&mut self, payload: &[u8]) -> Result<Answer, Errno> {
        let unmap = DmaUnmap::decode(payload).ok_or(Errno::INVAL)?;
        let gone: Vec<(u64, Mapping)> = if unmap.is_all {
            std::mem::take(&mut self.mapped).into_iter().collect()
        } else {
            let found = self.mapped.get(&unmap.address).filter(|mapping| mapping.bytes == unmap.bytes);
            let mapping = *found.ok_or(Errno::NOENT)?;
            self.mapped.remove(&unmap.address);
            vec![(unmap.address, mapping)]
        };
        for (address, mapping) in &gone {
            if mapping.is_distant {
                self.distant.remove(*address);
            } else {
                self.memory.unmap(*address).map_err(|_| Errno::NOENT)?;
            }
        }
        if let Some(device) = &self.device {
            device.regions.function.settle();
        }
        Ok(unmap.encode().into())
    }

    fn write(&mut self, command: MessageCommand, payload: &[u8]) -> Result<Answer, Errno> {
        let Some(device) = &mut self.device else { return Err(Errno::INVAL) };
        let mut wants_reset = false;
        let mut one = |access: &RegionAccess, data: &[u8]| {
            wants_reset |= device.regions.write(access, data)? == Written::Reset;
            Ok(())
        };
        let answer = if command == MessageCommand::RegionWrite {
            let (access, data) = RegionAccess::decode(payload).ok_or(Errno::INVAL)?;
            one(&access, data)?;
            access.encode(&[])
        } else {
            let writes = RegionWrites::decode(payload).ok_or(Errno::INVAL)?;
            writes.each().try_for_each(|(access, data)| one(&access, data))?;
            Vec::new()
        };
        device.lines.enable_intx(!device.regions.config.has_no_intx());
        if wants_reset {
            self.reset();
        }
        Ok(answer.into())
    }

    /// Resets the function. Its threads stop waiting for answers to messages.
    fn reset(&mut self) {
        if let Some(device) = &mut self.device {
            self.distant.close();
            device.regions.function.reset();
            device.regions.reset();
            device.lines.enable_intx(true);
            self.distant.reopen();
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.distant.close();
    }
}
