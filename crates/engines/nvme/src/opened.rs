//! Devices by name: opened when they are first named, shared by the threads of the process.
//!
//! A real controller is shared: each job gets queue pairs of it. Each opening of a virtual device
//! gets a controller of its own on the same drive. A drive inside the process lives until the
//! process ends, so that later jobs find the same data.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use iolab_clock::Clock;
use iolab_device_link::{Link, LinkError};
use iolab_engine::{DeviceFacts, DeviceZones};
use iolab_nvme_association::DiscoverError;
use iolab_nvme_driver::{Controller, ControllerOptions, DriverError, Namespace};
use iolab_nvme_spec::log::AnaState;
use iolab_vfio::{AddressError, PciAddress, VfioDevice, VfioError};
use iolab_vfio_user::{VfioUser, VfioUserError};
use iolab_virtual_ssd::{Config, ConfigError, Embedded, EmbeddedError, Subsystem};

use crate::any_transport::AnyController;
use crate::errno;
use crate::fabric_place::FabricError;
use crate::inline_device::InlineDevice;
use crate::media_file::{DriveError, MediaError, make_with_file};
use crate::name::{DeviceName, DevicePlace, NameError};
use crate::socket_place::{FolderError, socket_of};

/// An enabled controller.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The driver's handle.
    pub controller: AnyController,
    /// The device itself, if it works only when it is polled.
    pub(crate) inline: Option<InlineDevice>,
}

impl Opened {
    /// One of the device's namespaces.
    pub fn namespace(&self, wanted: u32) -> Result<Namespace, NvmeDeviceError> {
        let found = self.controller.namespace(wanted).map_err(|error| match self.controller.namespaces() {
            Ok(all) if all.iter().all(|namespace| namespace.id() != wanted) => {
                let numbers: Vec<String> = all.iter().map(|namespace| namespace.id().to_string()).collect();
                NvmeDeviceError::Namespace { wanted, there: numbers.join(", ") }
            }
            _ => error.into(),
        })?;
        // In every other state, commands work or wait for their path.
        match self.controller.access(wanted)? {
            Some(state @ AnaState::PERSISTENT_LOSS) => Err(NvmeDeviceError::Access { wanted, state }),
            _ => Ok(found),
        }
    }

    /// Polls a device inside this thread. Others work by themselves.
    #[inline]
    pub fn poll(&self) {
        if let Some(device) = &self.inline {
            device.poll();
        }
    }
}

/// Why a device cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum NvmeDeviceError {
    /// Its name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// Its address on the bus.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// VFIO.
    #[error(transparent)]
    Vfio(#[from] VfioError),
    /// The parameters of an embedded device.
    #[error("{0} (`iolab device parameters` lists all)")]
    Config(#[from] ConfigError),
    /// The folder of its socket.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// The file for its data.
    #[error(transparent)]
    Media(#[from] MediaError),
    /// An embedded device.
    #[error(transparent)]
    Embedded(#[from] EmbeddedError),
    /// A served device.
    #[error("{error}{advice}")]
    Link {
        /// What went wrong.
        error: LinkError,
        /// What a user can do.
        advice: String,
    },
    /// A function behind vfio-user.
    #[error("{error}{advice}")]
    VfioUser {
        /// What went wrong.
        error: VfioUserError,
        /// What a user can do.
        advice: &'static str,
    },
    /// A target behind TCP.
    #[error(transparent)]
    Fabric(#[from] FabricError),
    /// The controller.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// A namespace that is not accessible by this path.
    #[error(
        "this controller does not reach ns={wanted} (asymmetric namespace access: {state}); name another path to it"
    )]
    Access {
        /// The requested one.
        wanted: u32,
        /// Its state.
        state: AnaState,
    },
    /// A namespace that does not exist.
    #[error("the device has no ns={wanted}; its namespaces are {there}")]
    Namespace {
        /// The requested one.
        wanted: u32,
        /// The existing ones.
        there: String,
    },
}

impl From<DriveError> for NvmeDeviceError {
    fn from(error: DriveError) -> NvmeDeviceError {
        match error {
            DriveError::Media(error) => error.into(),
            DriveError::Config(error) => error.into(),
        }
    }
}

impl NvmeDeviceError {
    /// Whether the device, or its machine, refuses this user.
    pub fn is_refusal(&self) -> bool {
        self.errno() == Some(libc::EPERM)
    }

    /// The closest errno, if there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            NvmeDeviceError::Name(_)
            | NvmeDeviceError::Address(_)
            | NvmeDeviceError::Config(_)
            | NvmeDeviceError::Namespace { .. } => Some(libc::EINVAL),
            NvmeDeviceError::Driver(error) | NvmeDeviceError::Fabric(FabricError::Driver(error)) => {
                Some(errno::of_error(error))
            }
            NvmeDeviceError::Fabric(FabricError::Discover(DiscoverError::Driver(error))) => {
                Some(errno::of_error(error))
            }
            NvmeDeviceError::Fabric(_) => Some(libc::ENODEV),
            NvmeDeviceError::Link { .. } | NvmeDeviceError::VfioUser { .. } => Some(libc::ENODEV),
            NvmeDeviceError::Media(MediaError::Refused { .. }) | NvmeDeviceError::Folder(_) => Some(libc::EPERM),
            NvmeDeviceError::Media(MediaError::System { source, .. }) => source.raw_os_error(),
            NvmeDeviceError::Access { .. } => Some(libc::ENOLINK),
            NvmeDeviceError::Vfio(_) | NvmeDeviceError::Embedded(_) => None,
        }
    }
}

/// Devices that stay open until the process ends.
#[derive(Debug, Default)]
struct OpenDevices {
    drives: HashMap<DevicePlace, Arc<Subsystem>>,
    controllers: HashMap<DevicePlace, Opened>,
}

static OPEN_DEVICES: Mutex<Option<OpenDevices>> = Mutex::new(None);

/// Calls `work` with the open devices. A thread that panics here leaves no partial entry.
fn with_open_devices<T>(work: impl FnOnce(&mut OpenDevices) -> T) -> T {
    let mut open_devices = OPEN_DEVICES.lock().unwrap_or_else(PoisonError::into_inner);
    work(open_devices.get_or_insert_default())
}

/// Opens a device, or returns it if it is open.
pub fn open(name: &DeviceName) -> Result<Opened, NvmeDeviceError> {
    match &name.place {
        DevicePlace::Pcie(address) => with_open_devices(|open_devices| {
            if let Some(opened) = open_devices.controllers.get(&name.place) {
                return Ok(opened.clone());
            }
            let device = VfioDevice::open(address.parse::<PciAddress>()?)?;
            let opened = Opened { controller: enable(Box::new(device))?, inline: None };
            open_devices.controllers.insert(name.place.clone(), opened.clone());
            Ok(opened)
        }),
        DevicePlace::Fabric(_) => with_open_devices(|open_devices| {
            let kept = open_devices.controllers.get(&name.place);
            if let Some(opened) = kept.filter(|opened| !opened.controller.is_given_up()) {
                return Ok(opened.clone());
            }
            let opened = open_apart(name)?;
            open_devices.controllers.insert(name.place.clone(), opened.clone());
            Ok(opened)
        }),
        DevicePlace::Served(served) => {
            let link = Link::connect(&socket_of(served)?)
                .map_err(|error| NvmeDeviceError::Link { advice: advice(&error, served), error })?;
            let controller = Controller::open(Box::new(link), clock(), virtual_options())?;
            Ok(Opened { controller: AnyController::Pcie(controller), inline: None })
        }
        DevicePlace::VfioUser(path) => {
            let device = VfioUser::connect(&vfio_user_socket(path)).map_err(|error| NvmeDeviceError::VfioUser {
                advice: match error {
                    VfioUserError::NotServed { .. } => " (iolab device serve NAME --listen vfio-user:PATH serves one)",
                    _ => "",
                },
                error,
            })?;
            let controller = Controller::open(Box::new(device), clock(), virtual_options())?;
            Ok(Opened { controller: AnyController::Pcie(controller), inline: None })
        }
        DevicePlace::Embedded(parameters) => open_inline(&drive(&name.place, parameters)?, &clock()),
    }
}

/// Opens a new controller of `drive` inside this thread, with the time of `clock`. It works when it
/// is polled ([`Opened::poll`]).
pub fn open_inline(drive: &Arc<Subsystem>, clock: &Clock) -> Result<Opened, NvmeDeviceError> {
    let inline = InlineDevice::new(Embedded::new(drive, clock.clone())?);
    let controller = Controller::open(Box::new(inline.clone()), clock.clone(), virtual_options())?;
    Ok(Opened { controller: AnyController::Pcie(controller), inline: Some(inline) })
}

/// Opens a device for a check before a run. Connections do not survive the fork of a worker, so a
/// controller behind a network is a separate one, which is dropped with the returned value.
pub(crate) fn open_apart(name: &DeviceName) -> Result<Opened, NvmeDeviceError> {
    match &name.place {
        DevicePlace::Fabric(place) => Ok(Opened { controller: place.open(&clock())?, inline: None }),
        _ => open(name),
    }
}

/// A socket by its path. SPDK names a folder that holds it.
fn vfio_user_socket(path: &str) -> PathBuf {
    let path = PathBuf::from(path);
    if path.is_dir() { path.join("cntrl") } else { path }
}

fn advice(error: &LinkError, served: &str) -> String {
    match error {
        LinkError::NotServed { .. } if !served.contains('/') => {
            format!(" (start it with `iolab device serve {served}`)")
        }
        _ => String::new(),
    }
}

fn enable(device: Box<dyn iolab_pci_device::PciDevice>) -> Result<AnyController, DriverError> {
    Controller::open(device, clock(), ControllerOptions::default()).map(AnyController::Pcie)
}

/// The options for virtual devices. Their registers are memory already; shadow doorbells would cost
/// two barriers and save nothing.
fn virtual_options() -> ControllerOptions {
    ControllerOptions { shadow_doorbells: false, ..ControllerOptions::default() }
}

pub(crate) fn clock() -> Clock {
    Clock::best().0
}

/// The drive with these parameters inside this process.
fn drive(place: &DevicePlace, parameters: &[(String, String)]) -> Result<Arc<Subsystem>, NvmeDeviceError> {
    with_open_devices(|open_devices| {
        if let Some(drive) = open_devices.drives.get(place) {
            return Ok(Arc::clone(drive));
        }
        let drive = make_with_file(config(parameters)?)?;
        open_devices.drives.insert(place.clone(), Arc::clone(&drive));
        Ok(drive)
    })
}

fn config(parameters: &[(String, String)]) -> Result<Config, ConfigError> {
    Config::of_pairs(parameters.iter().map(|(key, value)| (key.as_str(), value.as_str())))
}

/// The facts that a plan needs. A drive inside the process need not exist for that.
pub(crate) fn facts(name: &DeviceName) -> Result<DeviceFacts, NvmeDeviceError> {
    if let DevicePlace::Embedded(parameters) = &name.place {
        let config = config(parameters)?;
        if name.namespace > config.namespaces {
            let there = if config.namespaces == 1 { "1".to_owned() } else { format!("1 to {}", config.namespaces) };
            return Err(NvmeDeviceError::Namespace { wanted: name.namespace, there });
        }
        // A drive with a file may have been formatted since, so it must be asked.
        if !config.media_file().is_some_and(Path::exists) {
            return Ok(DeviceFacts { size_bytes: config.size_bytes, block_bytes: config.lba_bytes as u32 });
        }
    }
    let namespace = open_apart(name)?.namespace(name.namespace)?;
    let block_bytes = namespace.block_bytes();
    Ok(DeviceFacts { size_bytes: namespace.blocks().saturating_mul(u64::from(block_bytes)), block_bytes })
}

/// How the namespace is divided into zones, if it is. A drive inside the process need not exist for
/// that.
pub(crate) fn zones(name: &DeviceName) -> Result<Option<DeviceZones>, NvmeDeviceError> {
    // The lower limit, where there are two: a zone that is written to is open and active.
    let lower = |open: u32, active: u32| [open, active].into_iter().filter(|most| *most > 0).min().unwrap_or(0);
    if let DevicePlace::Embedded(parameters) = &name.place {
        let zones = config(parameters)?.zones;
        return Ok(zones.map(|zones| DeviceZones {
            zone_bytes: zones.zone_bytes,
            most_open: lower(zones.max_open, zones.max_active),
        }));
    }
    let namespace = open_apart(name)?.namespace(name.namespace)?;
    Ok(namespace.zones().map(|zones| DeviceZones {
        zone_bytes: zones.zone_blocks.saturating_mul(u64::from(namespace.block_bytes())),
        most_open: lower(zones.max_open.unwrap_or(0), zones.max_active.unwrap_or(0)),
    }))
}
