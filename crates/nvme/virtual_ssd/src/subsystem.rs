//! The drive, which its controllers share: namespaces, media, time, faults, counters.
//!
//! Guarantees: with the ideal model, commands take no lock. The other controllers are notified when
//! one changes a namespace. Queues and registers belong to a controller.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use iolab_nvme_spec::log::AnaState;
use iolab_nvme_spec::zone::ZoneState;
use iolab_nvme_spec::{IoOpcode, SubmissionEntry};
use iolab_ssd_timing::{Statistics, TimedCommand};

use crate::access::{SubsystemPort, access_state};
use crate::config::{Age, Config, ConfigError};
use crate::controller_record::{ControllerRecord, Notice};
use crate::fault::{Fault, FaultKind, FaultPoint, FaultState, PlannedFaults, Subject};
use crate::health::{Health, HealthTotals};
use crate::media::{BlockStore, CopyError, Media, MediaKind};
use crate::namespace::{MOST_CONTROLLERS, Namespace};
use crate::state_file::{self, Origin, StateFile};
use crate::timing::Timing;
use crate::zones::ZoneTable;

/// A drive.
#[derive(Debug)]
pub struct Subsystem {
    pub(crate) config: Config,
    pub(crate) media: Media,
    pub(crate) namespaces: Vec<Namespace>,
    state: Option<Arc<StateFile>>,
    pub(crate) timing: Timing,
    pub(crate) faults: Option<FaultState>,
    pub(crate) health: Health,
    /// The port of hosts on this machine.
    own_port: Arc<SubsystemPort>,
    ports: Mutex<Vec<Weak<SubsystemPort>>>,
    controllers: Mutex<Vec<Weak<ControllerRecord>>>,
    resets: AtomicU64,
}

impl Subsystem {
    /// Creates the drive that `config` describes, whose data is not in a file.
    pub fn new(config: Config) -> Result<Arc<Subsystem>, ConfigError> {
        Subsystem::make(config, None)
    }

    /// Creates the drive that `config` describes, with its data in `file`, the one that its media
    /// names. The caller has opened it for reading and writing, and knows that it may be used.
    pub fn with_file(config: Config, file: File) -> Result<Arc<Subsystem>, ConfigError> {
        Subsystem::make(config, Some(Opened::File(file)))
    }

    /// Creates the drive that `config` describes, with its data on another device. The caller has
    /// opened it, and knows that it may be used.
    pub fn with_store(config: Config, store: Arc<dyn BlockStore>) -> Result<Arc<Subsystem>, ConfigError> {
        Subsystem::make(config, Some(Opened::Store(store)))
    }

    fn make(config: Config, opened: Option<Opened>) -> Result<Arc<Subsystem>, ConfigError> {
        config.check()?;
        let (media, state) = open_media(&config, opened)?;
        let shift = config.lba_shift();
        let namespace = |position: u32| {
            let zones = config.zones.map(|layout| {
                let empty = ZoneTable::new(layout, config.size_bytes, shift);
                if config.age == Age::Filled { empty.filled() } else { empty }
            });
            let base = u64::from(position) * config.size_bytes;
            let fresh = Namespace::new(position + 1, base, config.size_bytes, shift, zones);
            match &state {
                Some((state, restored)) => fresh.persisted_in(state, *restored),
                None => Ok(fresh),
            }
        };
        let namespaces = (0..config.namespaces).map(namespace).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(Subsystem {
            media,
            namespaces,
            state: state.map(|(state, _)| state),
            timing: Timing::build(&config.timing_parameters(), config.media_bytes(), config.age.to_study(config.seed))?,
            faults: FaultState::new(&planned(&config)),
            health: Health::default(),
            own_port: Arc::new(SubsystemPort::new("", config.access.unwrap_or(AnaState::OPTIMIZED))),
            ports: Mutex::default(),
            controllers: Mutex::default(),
            resets: AtomicU64::new(0),
            config,
        }))
    }

    /// Its configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Makes written data durable, as far as the media can.
    pub fn flush(&self) -> std::io::Result<()> {
        self.persist().map_err(|_| std::io::Error::other("the data file cannot be written"))
    }

    /// Writes the data first, then write pointers and formats, because a write pointer must never
    /// be ahead of the durable data.
    pub(crate) fn persist(&self) -> Result<(), CopyError> {
        self.media.flush()?;
        self.state.as_ref().map_or(Ok(()), |state| state.flush().map_err(|_| CopyError::Media))
    }

    /// Sums over all commands.
    pub fn totals(&self) -> HealthTotals {
        self.health.totals()
    }

    /// What the timing model has counted: write amplification, collections, erases. `None` for the
    /// ideal model.
    pub fn timing_statistics(&self) -> Option<Statistics> {
        self.timing.statistics()
    }

    /// Sets the composite temperature, in kelvins. Hosts that requested it are notified when it
    /// crosses their threshold.
    pub fn set_temperature(&self, kelvins: u16) {
        self.health.temperature.store(kelvins, Ordering::Relaxed);
        self.notify_others(None, Notice::HealthChanged);
    }

    /// Sets the available spare, in percent; below the threshold of 10 it is a critical warning.
    pub fn set_spare(&self, percent: u8) {
        self.health.spare.store(percent, Ordering::Relaxed);
        self.notify_others(None, Notice::HealthChanged);
    }

    /// Adds a port, through which hosts reach the namespaces in a state of its own; it begins with
    /// the state for hosts on this machine, if none is given. The port exists until the last
    /// reference to it is dropped.
    pub fn add_port(&self, name: &str, state: Option<AnaState>) -> Arc<SubsystemPort> {
        let state = state.unwrap_or(self.own_port.state());
        let port = Arc::new(SubsystemPort::new(name, state));
        self.ports.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&port));
        port
    }

    /// The ports that were added and still exist, in the order in which they were added.
    pub fn ports(&self) -> Vec<Arc<SubsystemPort>> {
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        ports.retain(|port| port.strong_count() > 0);
        ports.iter().filter_map(Weak::upgrade).collect()
    }

    /// Changes how the namespaces are reached (`ana=`) through the port with this name, or through
    /// all, and notifies the hosts that requested it.
    ///
    /// # Errors
    /// There is no such state or no such port, or the drive does not report states.
    pub fn set_access(&self, state: &str, port: Option<&str>) -> Result<(), String> {
        const STATES: &str = "optimized, non-optimized, inaccessible, persistent-loss or change";
        let new = access_state(state).ok_or_else(|| format!("there is no state `{state}`: expected {STATES}"))?;
        if self.config.access.is_none() {
            return Err("the device reports no asymmetric access: create it with ana=optimized".to_owned());
        }
        let mut ports = self.ports();
        match port {
            None => ports.push(Arc::clone(&self.own_port)),
            Some(name) => {
                let all: Vec<&str> = ports.iter().map(|port| port.name()).collect();
                let there = if all.is_empty() { "no address".to_owned() } else { all.join(", ") };
                let missing = format!("no host can connect at `{name}`: the device listens at {there}");
                ports.retain(|port| port.name() == name);
                if ports.is_empty() {
                    return Err(missing);
                }
            }
        }
        for port in ports.iter().filter(|port| port.set(new)) {
            self.notify_some(|one| Arc::ptr_eq(&one.port, port), &Notice::AccessChanged);
        }
        Ok(())
    }

    /// Puts a zone into a state, as worn flash does, and notifies the hosts. `false` if there is no
    /// such zone.
    pub fn set_zone_state(&self, namespace: u32, zone: u64, state: ZoneState) -> bool {
        let changed =
            self.namespace(namespace).and_then(Namespace::zones).is_some_and(|mut zones| zones.force(zone, state));
        if changed {
            self.notify_others(None, Notice::ZonesChanged { namespace });
        }
        changed
    }

    /// The namespace with this identifier.
    #[inline]
    pub(crate) fn namespace(&self, id: u32) -> Option<&Namespace> {
        self.namespaces.get((id as usize).wrapping_sub(1))
    }

    /// Prefetches the data of a command that is about to be executed.
    pub(crate) fn prefetch(&self, opcode: IoOpcode, namespace: u32, lba: u64) {
        /// The processor itself prefetches only within a page.
        const BYTES: usize = 4096;
        if matches!(opcode, IoOpcode::READ | IoOpcode::WRITE)
            && let Some(namespace) = self.namespace(namespace)
        {
            let offset =
                lba.checked_mul(1 << namespace.lba_shift()).and_then(|bytes| bytes.checked_add(namespace.base));
            self.media.prefetch(offset.unwrap_or(u64::MAX), BYTES);
        }
    }

    /// Registers a new controller for a host on this machine. See [`Subsystem::register_at`].
    pub fn register(&self) -> Option<Arc<ControllerRecord>> {
        self.register_at(&self.own_port)
    }

    /// Registers a new controller of a port, with the lowest free identifier; `None` if the
    /// subsystem has the maximum number already. The controller exists until the last reference to
    /// the record is dropped.
    pub fn register_at(&self, port: &Arc<SubsystemPort>) -> Option<Arc<ControllerRecord>> {
        let mut controllers = self.controllers.lock().unwrap_or_else(PoisonError::into_inner);
        controllers.retain(|controller| controller.strong_count() > 0);
        let taken: Vec<u16> = controllers.iter().filter_map(|one| one.upgrade()).map(|one| one.id()).collect();
        let id = (0..MOST_CONTROLLERS).find(|id| !taken.contains(id))?;
        let record = Arc::new(ControllerRecord::new(id, Arc::clone(port)));
        controllers.push(Arc::downgrade(&record));
        Some(record)
    }

    /// Identifiers of the controllers that exist.
    pub(crate) fn controller_ids(&self) -> Vec<u16> {
        let controllers = self.controllers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ids: Vec<u16> = controllers.iter().filter_map(Weak::upgrade).map(|one| one.id()).collect();
        ids.sort_unstable();
        ids
    }

    /// Bytes of the media that belong to no namespace.
    pub(crate) fn unallocated_bytes(&self) -> u64 {
        let used = self.namespaces.iter().filter(|one| one.is_allocated()).map(Namespace::bytes).sum();
        self.config.media_bytes().saturating_sub(used)
    }

    /// The subsystem's own UUID as text (RFC 9562, section 4).
    pub(crate) fn uuid_text(&self) -> String {
        let bytes = Namespace::new(0, 0, 0, 9, None).uuid(self.config.seed);
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}-{}-{}-{}-{}", &digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..])
    }

    /// Notifies all controllers but one.
    pub(crate) fn notify_others(&self, except: Option<u16>, notice: Notice) {
        self.notify_some(|one| Some(one.id()) != except, &notice);
    }

    /// Notifies some controllers.
    pub(crate) fn notify_some(&self, is_meant: impl Fn(&ControllerRecord) -> bool, notice: &Notice) {
        let controllers = self.controllers.lock().unwrap_or_else(PoisonError::into_inner);
        for controller in controllers.iter().filter_map(Weak::upgrade) {
            if is_meant(&controller) {
                controller.inbox.send(notice.clone());
            }
        }
    }

    /// Removes the contents of namespaces from the timing model. For all namespaces together, all
    /// flash is erased; otherwise their contents are deallocated.
    pub(crate) fn forget_flash(&self, ids: &[u32], now_ns: u64) {
        if self.namespaces.iter().all(|one| ids.contains(&one.id)) {
            self.timing.erase();
            return;
        }
        for namespace in ids.iter().filter_map(|id| self.namespace(*id)) {
            // If a model cannot accept the command now, it keeps the old contents; a later write
            // replaces them.
            self.timing.schedule(now_ns, &TimedCommand::trim(namespace.base, namespace.bytes()));
        }
    }

    /// Resets all controllers (Base, section 7.3.1).
    pub(crate) fn reset(&self) {
        self.resets.fetch_add(1, Ordering::Relaxed);
        self.notify_others(None, Notice::SubsystemReset);
    }
}

/// The medium of the data, opened by the caller.
enum Opened {
    File(File),
    Store(Arc<dyn BlockStore>),
}

/// Opens the media and, for media in a file, the state beside it. Also returns whether the state
/// existed.
#[expect(clippy::type_complexity, reason = "two halves of one answer, taken apart at once")]
fn open_media(config: &Config, opened: Option<Opened>) -> Result<(Media, Option<(Arc<StateFile>, bool)>), ConfigError> {
    let file = match opened {
        Some(Opened::Store(store)) => return Ok((Media::Elsewhere(store), None)),
        Some(Opened::File(file)) => Some(file),
        None => None,
    };
    let MediaKind::File(path) = &config.media else {
        return Ok((Media::open(&config.media, None, config.media_bytes(), config.memory, None)?, None));
    };
    let file = file.ok_or(ConfigError::Unopened)?;
    let metadata = file.metadata();
    let metadata = metadata.map_err(|source| ConfigError::Media { what: path.display().to_string(), source })?;
    let origin = Origin { device: metadata.dev(), inode: metadata.ino(), is_new: metadata.len() == 0 };
    // The state is opened first, so that the data is not changed if the state does not fit.
    let state = StateFile::open(&state_file::path_of(path), config, origin)?;
    let media = Media::open(
        &config.media,
        Some(file),
        config.media_bytes(),
        config.memory,
        config.lossy.then_some(config.seed),
    );
    if media.is_err() && !state.1 {
        // Removes the state of a drive that could not be created.
        state.0.remove();
    }
    Ok((media?, Some(state)))
}

impl Subsystem {
    /// The faults that hit a command of submission queue `queue`. Each call counts as a command.
    #[cold]
    pub fn planned_faults(&self, queue: u16, command: &SubmissionEntry) -> PlannedFaults {
        let Some(faults) = &self.faults else { return PlannedFaults::default() };
        let namespace = self.namespace(command.nsid());
        let subject = Subject::of(queue, command, namespace.map_or(9, Namespace::lba_shift));
        let at_fetch = faults.strike(FaultPoint::Fetch, &subject);
        let at_completion = if at_fetch.is_none() { faults.strike(FaultPoint::Complete, &subject) } else { None };
        PlannedFaults { at_fetch, at_completion }
    }
}

/// The faults of a drive. States in which namespaces are out of reach are represented by a fault
/// that meets every I/O command, because the state can change.
fn planned(config: &Config) -> Vec<Fault> {
    let mut faults = config.faults.clone();
    faults.extend(config.access.map(|_| Fault::new(FaultKind::NoAccess)));
    faults
}
