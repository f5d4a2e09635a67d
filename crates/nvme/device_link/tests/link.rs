//! A driver and a device connected by a link. The device is a toy: it adds two registers, and it
//! copies.

use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use iolab_device_link::{Function, Functions, Link, LinkError, Server, ask};
use iolab_memory::{MappingAccess, SharedBytes};
use iolab_pci_device::{DmaMapper, DmaTable, HostMemory, InterruptTable, MapError, PciError, PciFunction};

/// The parts of a connected function that the test uses.
struct Connected {
    registers: SharedBytes,
    memory: DmaTable,
    interrupts: InterruptTable,
}

#[derive(Default)]
struct Toy {
    connected: Mutex<Vec<Connected>>,
    resets: Arc<AtomicUsize>,
    gone: Arc<AtomicUsize>,
}

struct ToyFunction {
    registers: SharedBytes,
    resets: Arc<AtomicUsize>,
    gone: Arc<AtomicUsize>,
}

impl Functions for Toy {
    fn connect(&self, memory: DmaTable, interrupts: InterruptTable) -> Result<Box<dyn Function>, String> {
        if self.connected.lock().unwrap().len() == 2 {
            return Err("this toy has two functions only".into());
        }
        let registers = SharedBytes::memfd("iolab-toy", 8192).unwrap();
        self.connected.lock().unwrap().push(Connected { registers: registers.clone(), memory, interrupts });
        Ok(Box::new(ToyFunction { registers, resets: Arc::clone(&self.resets), gone: Arc::clone(&self.gone) }))
    }

    fn answer(&self, question: &str) -> Result<String, String> {
        if question == "name" { Ok("toy".into()) } else { Err(format!("no answer to {question}")) }
    }

    fn vectors(&self) -> u16 {
        2
    }
}

impl Function for ToyFunction {
    fn registers(&self) -> &SharedBytes {
        &self.registers
    }

    fn reset(&mut self) {
        self.resets.fetch_add(1, Ordering::Relaxed);
    }

    fn read_u32(&self, offset: u32) -> u32 {
        self.registers.load_u32(offset as usize, Ordering::Acquire)
    }

    fn write_u32(&self, offset: u32, value: u32) {
        self.registers.store_u32(offset as usize, value, Ordering::Release);
    }

    fn settle(&self) {}
}

impl Drop for ToyFunction {
    fn drop(&mut self) {
        self.gone.fetch_add(1, Ordering::Relaxed);
    }
}

fn served() -> (Arc<Toy>, Server, PathBuf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toy.sock");
    let toy = Arc::new(Toy::default());
    let server = Server::start(&path, Arc::clone(&toy) as Arc<dyn Functions>).unwrap();
    (toy, server, path, folder)
}

#[test]
fn registers_memory_interrupts_and_reset_reach_the_device() {
    let (toy, _server, path, _folder) = served();
    let mut link = Link::connect(&path).unwrap();
    link.write_u32(0x10, 0xabcd);
    link.write_u64(0x20, 0x1122_3344_5566_7788);
    let buffer = link.allocate(10_000).unwrap();
    buffer.memory.write(5000, b"to the device");
    let interrupt = link.interrupt(1).unwrap();
    assert!(matches!(link.interrupt(2), Err(PciError::NoVector { vector: 2, available: 2 })));
    link.reset().unwrap();
    {
        let mut connected = toy.connected.lock().unwrap();
        let device = &mut connected[0];
        assert_eq!(device.registers.load_u32(0x10, Ordering::Acquire), 0xabcd);
        let mut seen = [0; 13];
        device.memory.read(buffer.address + 5000, &mut seen).unwrap();
        assert_eq!(&seen, b"to the device");
        device.memory.write(buffer.address, b"to the driver").unwrap();
        device.registers.store_u32(0x1000, 7, Ordering::Release);
        device.interrupts.signal(1);
    }
    assert!(interrupt.wait(Duration::from_secs(60)).unwrap());
    let mut seen = [0; 13];
    buffer.memory.read(0, &mut seen);
    assert_eq!(&seen, b"to the driver");
    assert_eq!(link.mapped_registers(0x1000).unwrap().load_u32(0, Ordering::Acquire), 7);
    assert_eq!(link.read_u64(0x20), 0x1122_3344_5566_7788);
    assert_eq!(link.read_u32(8192), u32::MAX, "beyond the BAR there is nothing");
    assert_eq!(toy.resets.load(Ordering::Relaxed), 1);
    link.unmap(buffer.address).unwrap();
    assert!(toy.connected.lock().unwrap()[0].memory.read(buffer.address, &mut seen).is_err());
    assert!(matches!(link.unmap(buffer.address), Err(MapError::Unknown { .. })));
}

#[test]
fn a_driver_that_closes_takes_its_function_along_and_others_stay() {
    let (toy, server, path, _folder) = served();
    let first = Link::connect(&path).unwrap();
    let second = Link::connect(&path).unwrap();
    assert!(matches!(Link::connect(&path), Err(LinkError::Refused(why)) if why.contains("two functions")));
    drop(first);
    while toy.gone.load(Ordering::Relaxed) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    second.write_u32(0, 5);
    assert_eq!(toy.connected.lock().unwrap()[1].registers.load_u32(0, Ordering::Acquire), 5);
    drop(server);
    assert_eq!(toy.gone.load(Ordering::Relaxed), 2, "ending the service takes the functions off");
    assert!(matches!(ask(&path, "name"), Err(LinkError::NotServed { .. })));
}

#[test]
fn questions_need_no_function() {
    let (toy, _server, path, _folder) = served();
    assert_eq!(ask(&path, "name").unwrap(), "toy");
    assert!(matches!(ask(&path, "age"), Err(LinkError::Refused(why)) if why == "no answer to age"));
    assert!(toy.connected.lock().unwrap().is_empty());
}

#[test]
fn a_socket_left_by_a_killed_server_is_replaced_and_a_live_one_is_not() {
    let (_toy, server, path, _folder) = served();
    assert!(Server::start(&path, Arc::new(Toy::default())).is_err(), "it is served already");
    drop(server);
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(path.exists());
    let _server = Server::start(&path, Arc::new(Toy::default())).unwrap();
    assert_eq!(ask(&path, "name").unwrap(), "toy");
}

#[test]
fn what_is_no_socket_is_left_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("toy.sock");
    std::fs::write(&path, "years of work").unwrap();
    assert!(Server::start(&path, Arc::new(Toy::default())).is_err());
    assert_eq!(std::fs::read(&path).unwrap(), b"years of work");
}

#[test]
fn a_driver_sees_at_once_that_its_server_has_ended() {
    let (_toy, server, path, _folder) = served();
    let mut link = Link::connect(&path).unwrap();
    link.write_u32(0x10, 7);
    assert_eq!(link.read_u32(0x10), 7);
    drop(server);
    assert_eq!(link.read_u32(0x10), u32::MAX);
    assert!(link.reset().is_err() && link.allocate(4096).is_err());
}

#[test]
fn memory_that_could_vanish_or_be_no_memory_is_refused() {
    let (_toy, _server, path, folder) = served();
    let mut link = Link::connect(&path).unwrap();
    let private = SharedBytes::anonymous(4096).unwrap();
    assert!(link.map(&private).unwrap_err().to_string().contains("memfd"));
    let file = std::fs::File::options().read(true).write(true).create_new(true).open(folder.path().join("f")).unwrap();
    file.set_len(4096).unwrap();
    let memory = SharedBytes::of_file(file.into(), 0, 4096, MappingAccess::ReadWrite).unwrap();
    assert!(link.map(&memory).unwrap_err().to_string().contains("sealed"));
    let buffer = link.allocate(4096).unwrap();
    let fd = buffer.memory.file().unwrap().0.as_fd().try_clone_to_owned().unwrap();
    assert!(std::fs::File::from(fd).set_len(0).is_err(), "it is sealed");
}
