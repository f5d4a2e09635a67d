//! `iolab nvme`: what NVMe devices report about themselves, and which driver they have.

mod key;

use std::fmt::Write;
use std::net::{Ipv4Addr, SocketAddr};

use iolab_clock::Clock;
use iolab_device_catalogue::Catalogue;
use iolab_engine_nvme::{AnyController, AnyPair, DeviceName, DevicePlace, NvmeDeviceError, Opened, open};
use iolab_memory::SharedBytes;
use iolab_nvme_driver::{DataWindow, Namespace, QueueOptions, Submit};
use iolab_nvme_spec::FromBytes;
use iolab_nvme_spec::log::{HealthLog, LogPage};
use iolab_observe::System;
use iolab_vfio::{PciAddress, Sysfs};

use crate::arguments::NvmeAction;
use crate::exit::ExitFailure;
use crate::output;

/// Class code of NVM Express controllers (NVMe over PCIe Transport, section 3.8.1).
const NVME_CLASS: u32 = 0x01_0802;

pub(crate) fn main(action: &NvmeAction) -> Result<u8, ExitFailure> {
    let text = match action {
        NvmeAction::List => list()?,
        NvmeAction::Identify { device } => identify(device)?,
        NvmeAction::Discover { target } => discover(target)?,
        NvmeAction::Smart { device } => smart(device)?,
        NvmeAction::Hello { device, allow_destroy } => hello(device, *allow_destroy)?,
        NvmeAction::GenDhchapKey { hmac, key_length, secret, output } => {
            key::make(*hmac, *key_length, secret.as_deref(), output.as_deref())?
        }
        NvmeAction::Bind { address, restore, force } => bind(address, *restore, *force)?,
    };
    output::print(&text)?;
    Ok(0)
}

fn failed(error: impl std::fmt::Display) -> ExitFailure {
    ExitFailure::failed(format!("iolab: {error}"))
}

/// Parses a device name of job files, a bare PCI address, the address of a target, or the name of a
/// created device.
fn named(device: &str) -> Result<DeviceName, ExitFailure> {
    let text = if device.contains('=') {
        device.to_owned()
    } else if let Ok(address) = device.parse::<Ipv4Addr>() {
        format!("trtype=TCP traddr={address}")
    } else if let Ok(at) = device.parse::<SocketAddr>() {
        format!("trtype=TCP traddr={} trsvcid={}", at.ip(), at.port())
    } else if device.contains([':', '.']) && !device.contains('/') {
        format!("trtype=PCIe traddr={device}")
    } else {
        format!("trtype=VIRT traddr={device}")
    };
    DeviceName::parse(&text).map_err(|error| ExitFailure::mistake(format!("iolab: {device}: {error}")))
}

fn opened(device: &str) -> Result<(DeviceName, Opened), ExitFailure> {
    let name = named(device)?;
    let opened = open(&name).map_err(|error| trouble(device, &error))?;
    Ok((name, opened))
}

/// Converts a device error to a failure, or to a mistake of the user.
fn trouble(device: &str, error: &NvmeDeviceError) -> ExitFailure {
    let mistaken = matches!(error, NvmeDeviceError::Config(_) | NvmeDeviceError::Namespace { .. });
    let failure = match mistaken {
        true => ExitFailure::mistake,
        false if error.is_refusal() => ExitFailure::refused,
        false => ExitFailure::failed,
    };
    failure(format!("iolab: {device}: {error}"))
}

fn list() -> Result<String, ExitFailure> {
    let mut text = String::new();
    for function in Sysfs::live().functions_of_class(NVME_CLASS) {
        let driver = function.driver.as_deref().unwrap_or("no driver");
        let disks = function.block_devices.join(", ");
        let _ = writeln!(text, "{:<16} {driver:<12} {disks}", function.address.to_string());
    }
    for entry in Catalogue::of_user()?.list()? {
        let socket = super::device::socket(&entry.name)?;
        let state = if super::device::is_served(&socket) { "served" } else { "not served" };
        let _ = writeln!(text, "{:<16} {:<12} virtual", entry.name, state);
    }
    if text.is_empty() {
        text += "no NVMe controllers, on the PCI bus or virtual (`iolab device create` creates one)\n";
    }
    Ok(text)
}

fn identify(device: &str) -> Result<String, ExitFailure> {
    let (_, opened) = opened(device)?;
    let facts = opened.controller.facts();
    let mut text = format!(
        "model             {}\nserial            {}\nfirmware          {}\nversion           {}\n",
        facts.model(),
        facts.serial(),
        facts.firmware(),
        facts.version
    );
    let limit = facts.max_transfer_bytes.map_or("none".to_owned(), |bytes| bytes.to_string());
    let _ = writeln!(text, "max transfer      {limit} bytes");
    let _ = writeln!(text, "queue entries     {}", facts.capabilities.max_queue_entries());
    let _ = writeln!(text, "SGLs              {}", if facts.sgl() { "yes" } else { "no" });
    let can = facts.io_capabilities();
    let known = [
        ("dataset management", can.dataset_management()),
        ("write zeroes", can.write_zeroes()),
        ("compare", can.compare()),
        ("verify", can.verify()),
        ("copy", can.copy()),
    ];
    let optional: Vec<&str> = known.iter().filter(|(_, has)| *has).map(|(name, _)| *name).collect();
    let _ = writeln!(text, "optional commands {}", optional.join(", "));
    for namespace in opened.controller.namespaces().map_err(failed)? {
        let bytes = namespace.blocks().saturating_mul(u64::from(namespace.block_bytes()));
        let _ = write!(
            text,
            "namespace {:<7} {} ({} blocks of {} bytes)",
            namespace.id(),
            iolab_units::format_bytes(bytes),
            namespace.blocks(),
            namespace.block_bytes()
        );
        if let Some(zones) = namespace.zones() {
            let _ = write!(text, ", zones of {} blocks", zones.zone_blocks);
        }
        if let Some(state) = opened.controller.access(namespace.id()).map_err(failed)? {
            let _ = write!(text, ", asymmetric access: {state}");
        }
        text.push('\n');
    }
    Ok(text)
}

/// Lists the subsystems of a target, each as a device name for job files.
fn discover(target: &str) -> Result<String, ExitFailure> {
    let text = match target.split_once(':') {
        _ if target.contains('=') => target.to_owned(),
        Some((address, port)) if !port.contains(':') => format!("trtype=TCP traddr={address} trsvcid={port}"),
        _ => format!("trtype=TCP traddr={target}"),
    };
    let mistake = |what: String| ExitFailure::mistake(format!("iolab: {target}: {what}"));
    let name = DeviceName::parse(&text).map_err(|error| mistake(error.to_string()))?;
    let DevicePlace::Fabric(place) = &name.place else {
        return Err(mistake("only targets behind TCP or RDMA can be asked".into()));
    };
    let records = place.discover(&Clock::best().0).map_err(|error| trouble(target, &error.into()))?;
    let mut text = String::new();
    for record in &records {
        let _ = writeln!(
            text,
            "trtype={} traddr={} trsvcid={} subnqn={}    {}",
            record.transport.name().unwrap_or("unknown"),
            record.address,
            record.service,
            record.subsystem,
            record.kind.name().unwrap_or("unknown kind"),
        );
    }
    if text.is_empty() {
        text = format!("{target} has no subsystem for this host\n");
    }
    Ok(text)
}

fn smart(device: &str) -> Result<String, ExitFailure> {
    let (_, opened) = opened(device)?;
    let mut bytes = [0; 512];
    opened.controller.log_page(LogPage::HEALTH, u32::MAX, true, &mut bytes).map_err(failed)?;
    let log = HealthLog::read_from_bytes(&bytes[..]).map_err(|_| failed("the log page has another size"))?;
    Ok(smart_text(&log))
}

fn smart_text(log: &HealthLog) -> String {
    let kelvins = i32::from(log.composite_temperature.get());
    let mut text = format!("temperature          {} C\n", kelvins - 273);
    let rows: [(&str, u128, &str); 12] = [
        ("critical warning", u128::from(log.critical_warning), ""),
        ("available spare", u128::from(log.available_spare), "%"),
        ("spare threshold", u128::from(log.available_spare_threshold), "%"),
        ("percentage used", u128::from(log.percentage_used), "%"),
        // One unit is a thousand blocks of 512 bytes, rounded up (Base, section 5.14.1.2).
        ("data read", log.data_units_read.get() * 512_000, " bytes"),
        ("data written", log.data_units_written.get() * 512_000, " bytes"),
        ("read commands", log.host_read_commands.get(), ""),
        ("write commands", log.host_write_commands.get(), ""),
        ("power cycles", log.power_cycles.get(), ""),
        ("power-on hours", log.power_on_hours.get(), ""),
        ("media errors", log.media_errors.get(), ""),
        ("error log entries", log.error_log_entries.get(), ""),
    ];
    for (name, value, unit) in rows {
        let _ = writeln!(text, "{name:<20} {value}{unit}");
    }
    text
}

/// Does what SPDK's hello_world does, but preserves the data on the device.
fn hello(device: &str, allowed: bool) -> Result<String, ExitFailure> {
    let name = named(device)?;
    if matches!(name.place, DevicePlace::Pcie(_) | DevicePlace::Fabric(_)) && !allowed {
        let why = "it writes to the first block of a real device and then restores it";
        return Err(ExitFailure::refused(format!("iolab: hello: {why}; add --allow-destroy if you want that")));
    }
    let (name, opened) = opened(device)?;
    let namespace = opened.namespace(name.namespace).map_err(|error| trouble(device, &error))?;
    let mut greeting = Greeting::new(&opened, namespace)?;
    let text = greeting.exchange()?;
    Ok(format!("{device}: {text}"))
}

/// One block, and a queue pair to read and write it.
struct Greeting<'a> {
    opened: &'a Opened,
    controller: &'a AnyController,
    namespace: Namespace,
    pair: AnyPair,
    memory: SharedBytes,
    address: u64,
}

const PATIENCE_NS: u64 = 60_000_000_000;

impl<'a> Greeting<'a> {
    fn new(opened: &'a Opened, namespace: Namespace) -> Result<Greeting<'a>, ExitFailure> {
        let controller = &opened.controller;
        let bytes = (namespace.block_bytes() as usize).next_multiple_of(4096);
        let memory = SharedBytes::memfd("iolab-hello", bytes).map_err(failed)?;
        let address = controller.map(&memory).map_err(failed)?;
        let pair = controller.queue_pair(QueueOptions::with_slots(1)).map_err(failed)?;
        Ok(Greeting { opened, controller, namespace, pair, memory, address })
    }

    fn exchange(&mut self) -> Result<String, ExitFailure> {
        let block = self.namespace.block_bytes() as usize;
        let mut before = vec![0; block];
        self.read(&mut before)?;
        let mut greeting = vec![0; block];
        let words = b"Hello world!";
        greeting[..words.len()].copy_from_slice(words);
        self.write(&greeting)?;
        let mut back = vec![0; block];
        let answer = self.read(&mut back);
        self.write(&before)?;
        answer?;
        if back != greeting {
            return Err(failed("the block read back differs from the block written"));
        }
        Ok("wrote \"Hello world!\" to the first block, read it back and restored the old data\n".to_owned())
    }

    fn read(&mut self, to: &mut [u8]) -> Result<(), ExitFailure> {
        let data = DataWindow::new(self.address, to.len() as u32);
        let submitted = self.pair.read(0, &self.namespace, 0, 1, data);
        self.finish(submitted)?;
        self.memory.read(0, to);
        Ok(())
    }

    fn write(&mut self, from: &[u8]) -> Result<(), ExitFailure> {
        self.memory.write(0, from);
        let data = DataWindow::new(self.address, from.len() as u32);
        let submitted = self.pair.write(0, &self.namespace, 0, 1, data);
        self.finish(submitted)
    }

    fn finish(&mut self, submitted: Submit) -> Result<(), ExitFailure> {
        match submitted {
            Submit::Accepted => self.pair.flush(),
            Submit::Full => return Err(failed("the queue has no room for a command")),
            Submit::Refused(refusal) => return Err(failed(refusal)),
        }
        let clock = Clock::monotonic();
        let give_up_ns = clock.now_ns().saturating_add(PATIENCE_NS);
        let mut outcome = None;
        while outcome.is_none() {
            self.opened.poll();
            self.pair.reap(1, |ended| outcome = Some(ended.outcome)).map_err(failed)?;
            if clock.now_ns() > give_up_ns {
                return Err(failed("the device does not respond"));
            }
        }
        match outcome {
            Some(outcome) if !outcome.is_done() => Err(failed(format!("the command failed: {outcome}"))),
            _ => Ok(()),
        }
    }
}

impl Drop for Greeting<'_> {
    fn drop(&mut self) {
        // Nothing is in flight: every command was waited for, or the program is about to end with
        // an error.
        let _ = self.controller.unmap(self.address);
    }
}

fn bind(address: &str, restore: bool, force: bool) -> Result<String, ExitFailure> {
    let wrong = |error| ExitFailure::mistake(format!("iolab: {address}: {error}"));
    let parsed: PciAddress = address.parse().map_err(wrong)?;
    let sysfs = Sysfs::live();
    if restore {
        let driver = sysfs.restore(parsed).map_err(failed)?;
        return Ok(format!("{parsed} is now bound to {}\n", driver.as_deref().unwrap_or("no driver")));
    }
    let bound = sysfs.bind(parsed, in_use, force).map_err(|error| ExitFailure::refused(format!("iolab: {error}")))?;
    let before = bound.previous.as_deref().unwrap_or("no driver");
    Ok(format!("{parsed} is now bound to vfio-pci (before: {before}). To undo: iolab nvme bind {parsed} --restore\n"))
}

/// The reasons not to take a disk from the kernel.
fn in_use(disk: &str) -> Vec<String> {
    let path = std::path::Path::new("/dev").join(disk);
    iolab_guard::hazards_at(&System::live(), &path).iter().map(ToString::to_string).collect()
}
