//! Get Log Page (Base, section 5.14).
//!
//! Guarantees: any part of a page can be read, by offset and length; bytes beyond its end are
//! zeroes.

use std::sync::atomic::Ordering;

use iolab_nvme_spec::command::{LogDword10, LogDword11};
use iolab_nvme_spec::le::{U16, U32, U64, U128};
use iolab_nvme_spec::log::{
    ANA_GROUPS_ONLY, AnaGroup, AnaHeader, ChangedNamespaces, ChangedZones, CommandEffects, CommandsSupported,
    FirmwareSlots, HealthLog, LogPage, MANY_CHANGED_ZONES,
};
use iolab_nvme_spec::{ALL_NAMESPACES, AdminOpcode, FromZeros, IntoBytes, IoOpcode, Status};

use super::{AdminCommand, AdminExecutor, AdminReply};
use crate::command_error::{CommandError, place};

/// Spare below this percentage is a critical warning.
pub(super) const SPARE_THRESHOLD: u8 = 10;

/// The asymmetric access group of all namespaces.
pub(super) const ACCESS_GROUP: u32 = 1;

/// The supported pages; asymmetric access is included if it is reported.
const PAGES: [LogPage; 7] = [
    LogPage::SUPPORTED,
    LogPage::ERROR,
    LogPage::HEALTH,
    LogPage::FIRMWARE_SLOTS,
    LogPage::CHANGED_NAMESPACES,
    LogPage::COMMANDS_SUPPORTED,
    LogPage::CHANGED_ZONES,
];

impl AdminExecutor {
    pub(super) fn get_log_page(&mut self, command: &mut AdminCommand<'_>) -> Result<AdminReply, CommandError> {
        let (low, high) = (LogDword10(command.cdw(10)), LogDword11(command.cdw(11)));
        let dwords = (u64::from(high.numdu()) << 16 | u64::from(low.numdl())) + 1;
        let offset = u64::from(command.cdw(12)) | u64::from(command.cdw(13)) << 32;
        if !offset.is_multiple_of(4) {
            return Err(CommandError::field(place::CDW12, 0));
        }
        let bytes = dwords * 4;
        let most = self.subsystem.config.most_bytes;
        if bytes > if most == 0 { 1 << 25 } else { most } {
            return Err(CommandError::field(place::CDW10 + 2, 0));
        }
        let page = LogPage(low.lid());
        let content = self.log_page(command, page, low.rae())?;
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let rest = content.get(offset..).ok_or(CommandError::field(place::CDW12, 0))?;
        let mut data = rest[..rest.len().min(bytes as usize)].to_vec();
        data.resize(bytes as usize, 0);
        command.send(&data)?;
        if !low.rae() {
            self.events.unmask(page);
        }
        Ok(AdminReply::Now(0))
    }

    fn log_page(
        &mut self,
        command: &mut AdminCommand<'_>,
        page: LogPage,
        retain: bool,
    ) -> Result<Vec<u8>, CommandError> {
        match page {
            LogPage::SUPPORTED => {
                let mut data = vec![0; 1024];
                PAGES.iter().for_each(|page| data[usize::from(page.0) * 4] = 1);
                data[usize::from(LogPage::ANA.0) * 4] = u8::from(self.subsystem.config.access.is_some());
                Ok(data)
            }
            LogPage::ERROR => Ok(self.error_log()),
            LogPage::HEALTH => {
                // A single namespace has no health log (LPA bit 0).
                if !matches!(command.nsid(), 0 | ALL_NAMESPACES) {
                    return Err(CommandError::field(place::NSID, 0));
                }
                Ok(self.health_log().as_bytes().to_vec())
            }
            LogPage::FIRMWARE_SLOTS => {
                let mut data = FirmwareSlots::new_zeroed();
                data.afi = 1;
                data.frs[0].fill(b' ');
                data.frs[0].iter_mut().zip(env!("CARGO_PKG_VERSION").bytes()).for_each(|(to, from)| *to = from);
                Ok(data.as_bytes().to_vec())
            }
            LogPage::CHANGED_NAMESPACES => Ok(self.changed_namespaces(retain)),
            LogPage::COMMANDS_SUPPORTED => {
                Ok(effects(self.subsystem.config.zones.is_some(), self.front.has_memory_queues))
            }
            LogPage::ANA => self.access_log(LogDword10(command.cdw(10)).lsp() & ANA_GROUPS_ONLY != 0),
            LogPage::CHANGED_ZONES => self.changed_zones(command.nsid(), retain),
            _ => Err(CommandError::permanent(Status::INVALID_LOG_PAGE).at(place::CDW10, 0)),
        }
    }

    /// How this controller reaches its namespaces.
    fn access_log(&self, groups_only: bool) -> Result<Vec<u8>, CommandError> {
        if self.subsystem.config.access.is_none() {
            return Err(CommandError::permanent(Status::INVALID_LOG_PAGE).at(place::CDW10, 0));
        }
        let port = &self.record.port;
        let reached = self.subsystem.namespaces.iter().filter(|one| one.is_attached(self.record.id()));
        let ids: Vec<u32> = if groups_only { Vec::new() } else { reached.map(|one| one.id).collect() };
        let (mut header, mut group) = (AnaHeader::new_zeroed(), AnaGroup::new_zeroed());
        // The count is read first: a host that reads an old count reads the page again.
        let changes = U64::new(port.changes());
        (header.groups, header.changes, group.changes) = (U16::new(1), changes, changes);
        (group.id, group.namespaces, group.state) =
            (U32::new(ACCESS_GROUP), U32::new(ids.len() as u32), port.state().0);
        let mut data = [header.as_bytes(), group.as_bytes()].concat();
        ids.iter().for_each(|id| data.extend_from_slice(&id.to_le_bytes()));
        Ok(data)
    }

    fn error_log(&self) -> Vec<u8> {
        let mut data: Vec<u8> =
            self.record.errors.entries().iter().flat_map(|entry| entry.as_bytes().to_vec()).collect();
        data.resize(crate::controller_record::ERROR_LOG_ENTRIES * 64, 0);
        data
    }

    fn health_log(&self) -> HealthLog {
        let health = &self.subsystem.health;
        let totals = health.totals();
        let wide = |value: u64| U128::new(u128::from(value));
        // The unit is a thousand blocks of 512 bytes, rounded up.
        let units = |bytes: u64| wide(bytes.div_ceil(512_000));
        let mut data = HealthLog::new_zeroed();
        data.critical_warning = self.critical_warning().0;
        data.composite_temperature = U16::new(health.temperature.load(Ordering::Relaxed));
        data.available_spare = health.spare.load(Ordering::Relaxed);
        data.available_spare_threshold = SPARE_THRESHOLD;
        data.percentage_used = health.used.load(Ordering::Relaxed);
        data.data_units_read = units(totals.read_bytes);
        data.data_units_written = units(totals.written_bytes);
        data.host_read_commands = wide(totals.read_commands);
        data.host_write_commands = wide(totals.write_commands);
        data.power_cycles = wide(health.power_cycles.load(Ordering::Relaxed));
        data.unsafe_shutdowns = wide(health.unsafe_shutdowns.load(Ordering::Relaxed));
        data.media_errors = wide(totals.media_errors);
        data.error_log_entries = wide(self.record.errors.count());
        data
    }

    fn changed_namespaces(&mut self, retain: bool) -> Vec<u8> {
        let mut data = ChangedNamespaces::new_zeroed();
        for (entry, id) in data.identifiers.iter_mut().zip(&self.events.changed_namespaces) {
            *entry = U32::new(*id);
        }
        if !retain {
            self.events.changed_namespaces.clear();
        }
        data.as_bytes().to_vec()
    }

    fn changed_zones(&self, id: u32, retain: bool) -> Result<Vec<u8>, CommandError> {
        let namespace = self.subsystem.namespace(id);
        let namespace = namespace.ok_or(CommandError::permanent(Status::INVALID_NAMESPACE).at(place::NSID, 0))?;
        let mut zones =
            namespace.zones().ok_or(CommandError::permanent(Status::INVALID_LOG_PAGE).at(place::CDW10, 0))?;
        let changed = zones.take_changed(retain);
        let mut data = ChangedZones::new_zeroed();
        if changed.len() > data.zid.len() {
            data.nrzid = U16::new(MANY_CHANGED_ZONES);
        } else {
            data.nrzid = U16::new(changed.len() as u16);
            data.zid.iter_mut().zip(&changed).for_each(|(entry, zone)| *entry = U64::new(*zone));
        }
        Ok(data.as_bytes().to_vec())
    }
}

/// Commands Supported and Effects.
fn effects(has_zones: bool, has_memory_queues: bool) -> Vec<u8> {
    let plain = CommandEffects(0).with_csupp(true);
    let content = plain.with_lbcc(true);
    let inventory = plain.with_ncc(true).with_nic(true);
    let admin = [
        (AdminOpcode::GET_LOG_PAGE, plain),
        (AdminOpcode::IDENTIFY, plain),
        (AdminOpcode::ABORT, plain),
        (AdminOpcode::SET_FEATURES, plain),
        (AdminOpcode::GET_FEATURES, plain),
        (AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST, plain),
        (AdminOpcode::NAMESPACE_MANAGEMENT, inventory),
        (AdminOpcode::NAMESPACE_ATTACHMENT, inventory),
        (AdminOpcode::KEEP_ALIVE, plain),
        (AdminOpcode::FORMAT_NVM, content.with_ncc(true).with_cse(1)),
    ];
    let of_memory_queues = [
        (AdminOpcode::DELETE_IO_SQ, plain),
        (AdminOpcode::CREATE_IO_SQ, plain),
        (AdminOpcode::DELETE_IO_CQ, plain),
        (AdminOpcode::CREATE_IO_CQ, plain),
        (AdminOpcode::DOORBELL_BUFFER_CONFIG, plain),
    ];
    let io = [
        (IoOpcode::FLUSH, plain),
        (IoOpcode::WRITE, content),
        (IoOpcode::READ, plain),
        (IoOpcode::WRITE_UNCORRECTABLE, content),
        (IoOpcode::COMPARE, plain),
        (IoOpcode::WRITE_ZEROES, content),
        (IoOpcode::DATASET_MANAGEMENT, content),
        (IoOpcode::VERIFY, plain),
        (IoOpcode::COPY, content),
    ];
    let zoned = [
        (IoOpcode::ZONE_MANAGEMENT_SEND, content),
        (IoOpcode::ZONE_MANAGEMENT_RECEIVE, plain),
        (IoOpcode::ZONE_APPEND, content),
    ];
    let mut data = CommandsSupported::new_zeroed();
    let of_memory_queues = of_memory_queues.iter().filter(|_| has_memory_queues);
    admin
        .iter()
        .chain(of_memory_queues)
        .for_each(|(opcode, effect)| data.acs[usize::from(opcode.0)] = U32::new(effect.0));
    let zoned = zoned.iter().filter(|_| has_zones);
    io.iter().chain(zoned).for_each(|(opcode, effect)| data.iocs[usize::from(opcode.0)] = U32::new(effect.0));
    data.as_bytes().to_vec()
}
