//! Get Features and Set Features (Base, sections 5.13 and 5.21).
//!
//! Guarantees: a feature that is not listed here is an invalid field. Values that the device cannot
//! store are refused, not dropped. No value is saved over a reset, and Get Features says so.

use iolab_nvme_spec::command::FeatureDword10;
use iolab_nvme_spec::feature::{
    ArbitrationFeature, EventConfiguration, Feature, FeatureSelect, InterruptCoalescing, InterruptVectorConfiguration,
    PowerManagement, QueueCount, TemperatureThreshold,
};
use iolab_nvme_spec::log::CriticalWarning;
use iolab_nvme_spec::{ALL_NAMESPACES, Status};

use super::{AdminCommand, AdminExecutor, AdminReply};
use crate::command_error::{CommandError, place};
use crate::controller_record::Notice;

/// Temperature limits in Identify, which are also the initial thresholds.
pub(super) const WARNING_KELVINS: u16 = 273 + 70;
pub(super) const CRITICAL_KELVINS: u16 = 273 + 85;

/// The answer of Get Features with SEL 3: changeable, but not saveable (Base, section 5.13.1).
const CHANGEABLE: u32 = 1 << 2;
const NAMESPACE_SPECIFIC: u32 = 1 << 1;

/// Features whose value is a dword that is only stored.
const PLAIN: [(Feature, u32); 8] = [
    (Feature::ARBITRATION, 6),
    (Feature::POWER_MANAGEMENT, 0),
    (Feature::ERROR_RECOVERY, 0),
    (Feature::VOLATILE_WRITE_CACHE, 1),
    (Feature::WRITE_ATOMICITY, 0),
    (Feature::ASYNCHRONOUS_EVENT_CONFIGURATION, 0),
    (Feature::KEEP_ALIVE_TIMER, 0),
    (Feature::INTERRUPT_COALESCING, 0),
];

/// The host's settings for interrupt coalescing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Coalescing {
    /// Completions before an interrupt; 0 and 1 mean one interrupt for each batch.
    pub(crate) threshold: u32,
    pub(crate) time_ns: u64,
    /// Vectors for which coalescing is disabled.
    pub(crate) exempt: Vec<u16>,
}

/// Current values.
#[derive(Debug)]
pub(crate) struct Features {
    plain: [u32; PLAIN.len()],
    pairs: u16,
    over_kelvins: u16,
    under_kelvins: u16,
    exempt_vectors: Vec<u16>,
    /// Milliseconds since the epoch, set by the host at `timestamp_set_ns`.
    timestamp_ms: u64,
    timestamp_set_ns: u64,
    timestamp_origin: u8,
    host_identifier: [u8; 16],
    host_behavior: [u8; 3],
    command_set_profile: u32,
}

impl Features {
    pub(crate) fn new(pairs: u16) -> Features {
        Features {
            plain: PLAIN.map(|(_, default)| default),
            pairs,
            over_kelvins: WARNING_KELVINS,
            under_kelvins: 0,
            exempt_vectors: Vec::new(),
            timestamp_ms: 0,
            timestamp_set_ns: 0,
            timestamp_origin: 0,
            host_identifier: [0; 16],
            host_behavior: [0; 3],
            command_set_profile: 0,
        }
    }

    fn place_of(feature: Feature) -> Option<usize> {
        PLAIN.iter().position(|(known, _)| *known == feature)
    }

    fn value(&self, feature: Feature) -> u32 {
        Features::place_of(feature).map_or(0, |place| self.plain[place])
    }

    /// The events that the host has enabled.
    pub(super) fn event_configuration(&self) -> u32 {
        self.value(Feature::ASYNCHRONOUS_EVENT_CONFIGURATION)
    }

    /// The keep alive timeout, 0 for none.
    #[inline]
    pub(crate) fn keep_alive_ns(&self) -> u64 {
        const KEEP_ALIVE: usize = 6;
        const { assert!(PLAIN[KEEP_ALIVE].0.0 == Feature::KEEP_ALIVE_TIMER.0) };
        u64::from(self.plain[KEEP_ALIVE]) * 1_000_000
    }

    /// Whether a temperature is beyond one of the thresholds.
    pub(super) fn is_beyond(&self, kelvins: u16) -> bool {
        kelvins >= self.over_kelvins || kelvins <= self.under_kelvins
    }

    pub(super) fn coalescing(&self) -> Coalescing {
        let value = InterruptCoalescing(self.value(Feature::INTERRUPT_COALESCING));
        let time_ns = u64::from(value.time()) * 100_000;
        Coalescing { threshold: u32::from(value.thr()) + 1, time_ns, exempt: self.exempt_vectors.clone() }
    }
}

impl AdminExecutor {
    pub(super) fn get_features(&mut self, command: &mut AdminCommand<'_>) -> Result<AdminReply, CommandError> {
        let dword = FeatureDword10(command.cdw(10));
        let feature = Feature(dword.fid());
        let select = FeatureSelect(dword.sel());
        if select.name().is_none() {
            return Err(CommandError::field(place::CDW10 + 1, 0));
        }
        if select == FeatureSelect::CAPABILITIES {
            return capabilities(feature).map(AdminReply::Now);
        }
        let is_default = select != FeatureSelect::CURRENT;
        if let Some(place) = Features::place_of(feature) {
            let value = if is_default { PLAIN[place].1 } else { self.features.plain[place] };
            return Ok(AdminReply::Now(value));
        }
        match feature {
            Feature::TEMPERATURE_THRESHOLD => self.get_threshold(command, is_default),
            Feature::NUMBER_OF_QUEUES => Ok(AdminReply::Now(queue_count(self.features.pairs))),
            Feature::INTERRUPT_VECTOR_CONFIGURATION => {
                let vector = self.vector(command)?;
                let disabled = !is_default && self.features.exempt_vectors.contains(&vector);
                Ok(AdminReply::Now(InterruptVectorConfiguration(0).with_iv(vector).with_cd(disabled).0))
            }
            Feature::COMMAND_SET_PROFILE => Ok(AdminReply::Now(self.features.command_set_profile)),
            Feature::NAMESPACE_WRITE_PROTECTION => {
                let namespace = self.feature_namespace(command)?;
                Ok(AdminReply::Now(u32::from(namespace.is_write_protected())))
            }
            _ => self.get_structure(command, feature),
        }
    }

    fn get_structure(&mut self, command: &mut AdminCommand<'_>, feature: Feature) -> Result<AdminReply, CommandError> {
        let data = match feature {
            Feature::TIMESTAMP => {
                let since_ns = self.now_ns.saturating_sub(self.features.timestamp_set_ns);
                let now = self.features.timestamp_ms + since_ns / 1_000_000;
                let mut data = now.to_le_bytes().to_vec();
                (data[6], data[7]) = (self.features.timestamp_origin << 1, 0);
                data
            }
            Feature::HOST_BEHAVIOR_SUPPORT => {
                let mut data = vec![0; 512];
                data[..3].copy_from_slice(&self.features.host_behavior);
                data
            }
            Feature::HOST_IDENTIFIER => {
                let bytes = if command.cdw(11) & 1 != 0 { 16 } else { 8 };
                self.features.host_identifier[..bytes].to_vec()
            }
            _ => return Err(CommandError::field(place::CDW10, 0)),
        };
        command.send(&data)?;
        Ok(AdminReply::Now(0))
    }

    pub(super) fn set_features(&mut self, command: &mut AdminCommand<'_>) -> Result<AdminReply, CommandError> {
        let dword = FeatureDword10(command.cdw(10));
        let (feature, value) = (Feature(dword.fid()), command.cdw(11));
        let capabilities = capabilities(feature)?;
        if dword.sv() {
            return Err(CommandError::permanent(Status::FEATURE_NOT_SAVEABLE).at(place::CDW10 + 3, 7));
        }
        let nsid = command.nsid();
        if capabilities & NAMESPACE_SPECIFIC == 0 && nsid != 0 && nsid != ALL_NAMESPACES {
            return Err(CommandError::permanent(Status::FEATURE_NOT_NAMESPACE_SPECIFIC).at(place::NSID, 0));
        }
        if let Some(place) = Features::place_of(feature) {
            self.set_plain(feature, place, value)?;
            return Ok(AdminReply::Now(0));
        }
        match feature {
            Feature::NUMBER_OF_QUEUES => return self.set_queue_count(value),
            Feature::TEMPERATURE_THRESHOLD => self.set_threshold(value)?,
            Feature::INTERRUPT_VECTOR_CONFIGURATION => {
                let vector = self.vector(command)?;
                self.features.exempt_vectors.retain(|one| *one != vector);
                if InterruptVectorConfiguration(value).cd() {
                    self.features.exempt_vectors.push(vector);
                }
            }
            Feature::COMMAND_SET_PROFILE => {
                // There is only one combination, which is the first (Base 2.0, section 5.27.1.21).
                if value & 0x1ff != 0 {
                    return Err(CommandError::permanent(Status::COMMAND_SETS_REJECTED).at(place::CDW11, 0));
                }
            }
            Feature::NAMESPACE_WRITE_PROTECTION => {
                if value & 7 > 1 {
                    return Err(CommandError::field(place::CDW11, 0));
                }
                let namespace = self.feature_namespace(command)?;
                namespace.set_write_protected(value & 7 == 1);
                let id = namespace.id;
                self.subsystem.notify_others(Some(self.record.id()), Notice::NamespaceChanged { namespace: id });
            }
            _ => self.set_structure(command, feature)?,
        }
        Ok(AdminReply::Now(0))
    }

    fn set_plain(&mut self, feature: Feature, place: usize, value: u32) -> Result<(), CommandError> {
        let mask = match feature {
            Feature::ARBITRATION => ArbitrationFeature(u32::MAX).0 & 0xffff_ff07,
            Feature::POWER_MANAGEMENT => {
                if PowerManagement(value).ps() != 0 {
                    return Err(CommandError::field(crate::command_error::place::CDW11, 0));
                }
                0xff
            }
            Feature::VOLATILE_WRITE_CACHE | Feature::WRITE_ATOMICITY => 1,
            Feature::INTERRUPT_COALESCING => 0xffff,
            _ => u32::MAX,
        };
        self.features.plain[place] = value & mask;
        match feature {
            Feature::KEEP_ALIVE_TIMER => self.note_alive(),
            // A warning that existed before the host enabled it is reported now.
            Feature::ASYNCHRONOUS_EVENT_CONFIGURATION if EventConfiguration(value).health() != 0 => {
                self.note(&Notice::HealthChanged);
            }
            _ => {}
        }
        Ok(())
    }

    fn set_queue_count(&mut self, value: u32) -> Result<AdminReply, CommandError> {
        let asked = QueueCount(value);
        if asked.nsq() == u16::MAX || asked.ncq() == u16::MAX {
            return Err(CommandError::field(place::CDW11, 0));
        }
        if self.has_io_queues {
            return Err(CommandError::permanent(Status::COMMAND_SEQUENCE_ERROR));
        }
        Ok(AdminReply::Now(queue_count(self.features.pairs)))
    }

    fn get_threshold(&self, command: &mut AdminCommand<'_>, is_default: bool) -> Result<AdminReply, CommandError> {
        let asked = TemperatureThreshold(command.cdw(11));
        let values =
            if is_default { (WARNING_KELVINS, 0) } else { (self.features.over_kelvins, self.features.under_kelvins) };
        // There is only the composite sensor, so thresholds of other sensors are never reached.
        let value = match (asked.tmpsel(), asked.thsel()) {
            (0, 0) => values.0,
            (0, 1) => values.1,
            (1..=8, 0) => u16::MAX,
            (1..=8, 1) => 0,
            _ => return Err(CommandError::field(place::CDW11 + 2, 0)),
        };
        Ok(AdminReply::Now(TemperatureThreshold(0).with_tmpth(value).0))
    }

    fn set_threshold(&mut self, value: u32) -> Result<(), CommandError> {
        let asked = TemperatureThreshold(value);
        match (asked.tmpsel(), asked.thsel()) {
            (0 | 15, 0) => self.features.over_kelvins = asked.tmpth(),
            (0 | 15, 1) => self.features.under_kelvins = asked.tmpth(),
            (1..=8, 0 | 1) => {}
            _ => return Err(CommandError::field(place::CDW11 + 2, 0)),
        }
        self.note(&Notice::HealthChanged);
        Ok(())
    }

    fn set_structure(&mut self, command: &mut AdminCommand<'_>, feature: Feature) -> Result<(), CommandError> {
        match feature {
            Feature::TIMESTAMP => {
                let mut data = [0; 8];
                command.receive(&mut data)?;
                (data[6], data[7]) = (0, 0);
                self.features.timestamp_ms = u64::from_le_bytes(data);
                self.features.timestamp_set_ns = self.now_ns;
                self.features.timestamp_origin = 1;
            }
            Feature::HOST_BEHAVIOR_SUPPORT => {
                let mut data = [0; 512];
                command.receive(&mut data)?;
                if data[0] > 1 {
                    return Err(CommandError::field(place::PRP1, 0));
                }
                self.features.host_behavior.copy_from_slice(&data[..3]);
            }
            Feature::HOST_IDENTIFIER => {
                let bytes = if command.cdw(11) & 1 != 0 { 16 } else { 8 };
                let mut data = [0; 16];
                command.receive(&mut data[..bytes])?;
                self.features.host_identifier = data;
            }
            _ => return Err(CommandError::field(place::CDW10, 0)),
        }
        Ok(())
    }

    fn vector(&self, command: &mut AdminCommand<'_>) -> Result<u16, CommandError> {
        let vector = InterruptVectorConfiguration(command.cdw(11)).iv();
        if vector >= self.front.vectors {
            return Err(CommandError::field(place::CDW11, 0));
        }
        Ok(vector)
    }

    fn feature_namespace(&self, command: &mut AdminCommand<'_>) -> Result<&crate::namespace::Namespace, CommandError> {
        let namespace = self.subsystem.namespace(command.nsid());
        let namespace = namespace.ok_or(CommandError::permanent(Status::INVALID_NAMESPACE).at(place::NSID, 0))?;
        if !namespace.is_attached(self.record.id()) {
            return Err(CommandError::field(place::NSID, 0));
        }
        Ok(namespace)
    }

    /// The critical warnings of the drive (SMART).
    pub(super) fn critical_warning(&self) -> CriticalWarning {
        use std::sync::atomic::Ordering::Relaxed;
        let health = &self.subsystem.health;
        CriticalWarning(0)
            .with_spare(health.spare.load(Relaxed) < super::logs::SPARE_THRESHOLD)
            .with_temperature(self.features.is_beyond(health.temperature.load(Relaxed)))
    }
}

/// NSQA and NCQA.
fn queue_count(pairs: u16) -> u32 {
    QueueCount(0).with_nsq(pairs - 1).with_ncq(pairs - 1).0
}

/// The answer to SEL 3 for a feature; an invalid field if the feature does not exist.
fn capabilities(feature: Feature) -> Result<u32, CommandError> {
    match feature {
        Feature::ERROR_RECOVERY => Ok(CHANGEABLE | NAMESPACE_SPECIFIC),
        Feature::NAMESPACE_WRITE_PROTECTION => Ok(CHANGEABLE | NAMESPACE_SPECIFIC),
        Feature::TEMPERATURE_THRESHOLD
        | Feature::NUMBER_OF_QUEUES
        | Feature::INTERRUPT_VECTOR_CONFIGURATION
        | Feature::COMMAND_SET_PROFILE
        | Feature::TIMESTAMP
        | Feature::HOST_BEHAVIOR_SUPPORT
        | Feature::HOST_IDENTIFIER => Ok(CHANGEABLE),
        _ if Features::place_of(feature).is_some() => Ok(CHANGEABLE),
        _ => Err(CommandError::field(place::CDW10, 0)),
    }
}
