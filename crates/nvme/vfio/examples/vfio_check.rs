//! Tries this crate on a real NVMe controller: `vfio_check bind|restore|device|hold ADDRESS`.
//!
//! `device` builds an admin queue itself and shows that registers, DMA, the IOMMU's protection,
//! interrupts and reset work. `hold` keeps the controller busy until the process is killed. The
//! controller loses its state; its media are not changed. `ci/suites/vfio_guest` runs it in a
//! guest.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use iolab_nvme_spec::command::IdentifyDword10;
use iolab_nvme_spec::identify::{Cns, IdentifyController};
use iolab_nvme_spec::registers::{
    AdminQueueAttributes, Capabilities, ControllerConfiguration, ControllerStatus, DOORBELLS, Register,
};
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, FromZeros, IntoBytes, SubmissionEntry};
use iolab_observe::System;
use iolab_pci_device::{DmaBuffer, DmaMapper, Interrupt, PciFunction, SharedBytes};
use iolab_vfio::{PciAddress, Sysfs, VfioDevice, VfioError};

type Outcome = Result<(), Box<dyn Error>>;

/// Entries of each ring: few, so that the rings wrap around.
const ENTRIES: u16 = 4;
const PAGE: usize = 4096;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Outcome {
    match *words {
        ["bind", address] => {
            let bound = Sysfs::live().bind(address.parse()?, hazards, false)?;
            println!("{address}: was with {}", bound.previous.as_deref().unwrap_or("no driver"));
        }
        ["restore", address] => {
            let driver = Sysfs::live().restore(address.parse()?)?;
            println!("{address}: is with {}", driver.as_deref().unwrap_or("no driver"));
        }
        ["hold", address] => hold(address.parse()?)?,
        ["device", address] => check_device(address.parse()?)?,
        _ => return Err("usage: vfio_check bind|restore|device|hold ADDRESS".into()),
    }
    Ok(())
}

/// The reasons why a block device must not disappear.
fn hazards(name: &str) -> Vec<String> {
    let path = Path::new("/dev").join(name);
    iolab_guard::hazards_at(&System::live(), &path).iter().map(ToString::to_string).collect()
}

fn expect(true_one: bool, what: &str) -> Outcome {
    if !true_one {
        return Err(format!("not ok: {what}").into());
    }
    println!("ok: {what}");
    Ok(())
}

fn check_device(address: PciAddress) -> Outcome {
    let mut device = VfioDevice::open(address)?;
    let iommu = device.iommu().clone();
    for range in &iommu.ranges {
        println!("{address}: the IOMMU translates {:#x} to {:#x}", range.first, range.last);
    }
    expect(matches!(VfioDevice::open(address), Err(VfioError::Busy { .. })), "a second open is refused as busy")?;
    let mapped = device.mapped_registers(0).ok_or("the registers cannot be mapped")?;
    let capabilities = Capabilities(device.read_u64(Register::CAP.0));
    expect(mapped.load_u64(0, Ordering::Acquire) == capabilities.0, "mapped registers are the registers")?;
    let interrupt = device.interrupt(0)?;
    let mut queue = AdminQueue::enable(&mut device, interrupt)?;
    check_dma(&mut device, &mut queue)?;
    check_mappings(&mut device, &mut queue)?;
    device.reset()?;
    expect(!configuration(&device).en(), "reset disables the controller")?;
    let interrupt = device.interrupt(0)?;
    let mut queue = AdminQueue::enable(&mut device, interrupt)?;
    let buffer = device.allocate(PAGE)?;
    expect(queue.identify(&device, buffer.address)?, "after the reset it identifies itself, with interrupts")
}

/// Lets the controller write to memory of this process until the process ends.
fn hold(address: PciAddress) -> Outcome {
    let mut device = VfioDevice::open(address)?;
    let interrupt = device.interrupt(0)?;
    let mut queue = AdminQueue::enable(&mut device, interrupt)?;
    let buffer = device.allocate(PAGE)?;
    println!("holding {address}");
    while queue.identify(&device, buffer.address)? {}
    Err("identify failed".into())
}

fn check_dma(device: &mut VfioDevice, queue: &mut AdminQueue) -> Outcome {
    let buffer = device.allocate(3 * PAGE)?;
    buffer.memory.fill(0, buffer.memory.len(), 0xa5);
    let mut succeeded = 0;
    for _ in 0..3 * ENTRIES {
        succeeded += u16::from(queue.identify(device, buffer.address + PAGE as u64)?);
    }
    expect(succeeded == 3 * ENTRIES, "identify, with an interrupt each, around the rings")?;
    let mut identity = IdentifyController::new_zeroed();
    buffer.memory.read(PAGE, identity.as_mut_bytes());
    println!("model {:?}", String::from_utf8_lossy(&identity.mn).trim());
    let vendor = Sysfs::live().function(device.address())?.vendor_id;
    expect(identity.vid.get() == vendor, "the controller names the vendor that its configuration space does")?;
    let mut around = [0; 2];
    buffer.memory.read(PAGE - 1, &mut around[..1]);
    buffer.memory.read(2 * PAGE, &mut around[1..]);
    expect(around == [0xa5; 2], "the bytes around are untouched")?;
    device.unmap(buffer.address)?;
    buffer.memory.fill(0, buffer.memory.len(), 0xa5);
    // Some devices report the fault, some report success: only the memory is checked.
    queue.identify(device, buffer.address + PAGE as u64)?;
    let mut first = [0; PAGE];
    buffer.memory.read(PAGE, &mut first);
    expect(first == [0xa5; PAGE], "memory that is unmapped is out of the device's reach")
}

fn check_mappings(device: &mut VfioDevice, queue: &mut AdminQueue) -> Outcome {
    let memory = SharedBytes::anonymous(64 << 20)?;
    let whole = device.map(&memory)?;
    expect(queue.identify(device, whole + (64 << 20) - PAGE as u64)?, "the last page of 64 MiB is reached")?;
    device.unmap(whole)?;
    let mut addresses = Vec::new();
    for page in 0..500 {
        let window = memory.window(page * PAGE, PAGE).ok_or("the memory is too short")?;
        addresses.push(device.map(&window)?);
    }
    expect(queue.identify(device, addresses[499])?, "one of many small mappings is reached")?;
    for address in addresses {
        device.unmap(address)?;
    }
    expect(device.unmap(whole).is_err(), "nothing is unmapped twice")
}

fn configuration(device: &VfioDevice) -> ControllerConfiguration {
    ControllerConfiguration(device.read_u32(Register::CC.0))
}

fn wait_ready(device: &VfioDevice, ready: bool) -> Outcome {
    for _ in 0..3000 {
        if ControllerStatus(device.read_u32(Register::CSTS.0)).rdy() == ready {
            return Ok(());
        }
        device.pause(Duration::from_millis(10));
    }
    Err(format!("the controller does not become {}", if ready { "ready" } else { "disabled" }).into())
}

/// The admin queue, with one command at a time.
struct AdminQueue {
    submissions: DmaBuffer,
    completions: DmaBuffer,
    interrupt: Interrupt,
    /// Number of commands so far; positions and phases follow from it.
    count: u32,
    stride: u32,
}

impl AdminQueue {
    fn enable(device: &mut VfioDevice, interrupt: Interrupt) -> Result<AdminQueue, Box<dyn Error>> {
        device.write_u32(Register::CC.0, 0);
        wait_ready(device, false)?;
        let (submissions, completions) = (device.allocate(PAGE)?, device.allocate(PAGE)?);
        let sizes = AdminQueueAttributes::default().with_asqs(ENTRIES - 1).with_acqs(ENTRIES - 1);
        device.write_u32(Register::AQA.0, sizes.0);
        device.write_u64(Register::ASQ.0, submissions.address);
        device.write_u64(Register::ACQ.0, completions.address);
        let enabled = ControllerConfiguration::default().with_en(true).with_iosqes(6).with_iocqes(4);
        device.write_u32(Register::CC.0, enabled.0);
        wait_ready(device, true)?;
        let stride = 4 << Capabilities(device.read_u64(Register::CAP.0)).dstrd();
        Ok(AdminQueue { submissions, completions, interrupt, count: 0, stride })
    }

    /// Lets the controller write its identification to a bus address; returns whether it succeeded.
    fn identify(&mut self, device: &VfioDevice, address: u64) -> Result<bool, Box<dyn Error>> {
        let slot = (self.count % u32::from(ENTRIES)) as usize;
        let phase = (self.count / u32::from(ENTRIES)).is_multiple_of(2);
        let command = SubmissionEntry::new(AdminOpcode::IDENTIFY.0, slot as u16)
            .with_prps(address, 0)
            .with_cdw(10, IdentifyDword10::default().with_cns(Cns::CONTROLLER.0).0);
        self.submissions.memory.store_words(slot * 64, command.words, Ordering::Release);
        self.count += 1;
        let doorbell = DOORBELLS as u32;
        device.write_u32(doorbell, self.count % u32::from(ENTRIES));
        if !self.interrupt.wait(Duration::from_secs(20))? {
            return Err("no interrupt came".into());
        }
        let completion = CompletionEntry { words: self.completions.memory.load_words(slot * 16) };
        if completion.phase() != phase || completion.cid() != slot as u16 {
            return Err(format!("an interrupt without a completion: {completion:?}").into());
        }
        device.write_u32(doorbell + self.stride, self.count % u32::from(ENTRIES));
        Ok(completion.status().is_success())
    }
}
