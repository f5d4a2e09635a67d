//! A driver uses a function behind vfio-user.

use iolab_nvme_driver::WaitPolicy;
use iolab_pci_device::{DmaMapper, MapError, PciError, PciFunction};
use iolab_vfio_user::{VfioUser, VfioUserError, VfioUserServer};

use crate::Served;
use crate::friend::Friend;

#[test]
fn what_is_written_is_read_by_polling_and_by_interrupts_and_by_those_who_come_later() {
    let served = Served::start();
    for wait in [WaitPolicy::Poll, WaitPolicy::Interrupt { vector: 3 }] {
        let mut first = Friend::connect(&served.path(), wait);
        let mut second = Friend::connect(&served.path(), wait);
        for value in 1..50 {
            first.reads_what_it_writes(value);
            second.reads_what_it_writes(value);
        }
        // The device may no longer access this memory.
        first.controller().unmap(first.buffer_address()).unwrap();
        assert_ne!(first.reads(0), iolab_nvme_driver::CommandOutcome::Done);
        second.reads_what_it_writes(7);
    }
    served.end();
}

#[test]
fn doorbells_are_memory_and_registers_are_messages() {
    let served = Served::start();
    let mut device = VfioUser::connect(&served.path()).unwrap();
    let version = device.read_u32(8);
    assert_eq!(version, 0x10400);
    device.write_u32(8, 0);
    assert_eq!(device.read_u32(8), version, "read only");
    assert!(device.mapped_registers(0).is_none());
    let doorbells = device.mapped_registers(0x1008).expect("doorbells can be mapped");
    assert_eq!(doorbells.len(), 0xff8);
    device.write_u32(0x1008, 5);
    assert_eq!((doorbells.load_u32(0, std::sync::atomic::Ordering::Acquire), device.read_u32(0x1008)), (5, 5));
    assert_eq!([0x2000, 0x3ffc].map(|offset| device.read_u32(offset)), [0, 0], "nothing is there");
    assert_eq!([0x4000, 2].map(|offset| device.read_u32(offset)), [u32::MAX, u32::MAX]);
    assert!(matches!(device.interrupt(65), Err(PciError::NoVector { vector: 65, available: 65 })));
    device.interrupt(64).unwrap();
    let buffer = device.allocate(10_000).unwrap();
    device.unmap(buffer.address).unwrap();
    assert!(matches!(device.unmap(buffer.address), Err(MapError::Unknown { .. })));
    device.reset().unwrap();
    assert_eq!((device.read_u32(0x1008), device.read_u32(8)), (0, version), "as after power-on");
    served.end();
    assert_eq!(device.read_u32(8), u32::MAX, "the server is gone");
    assert!(device.reset().is_err() && device.allocate(4096).is_err());
}

#[test]
fn a_path_where_nobody_serves_says_so_and_one_in_use_is_left_alone() {
    let served = Served::start();
    let nobody = served.folder.path().join("nobody.sock");
    let error = VfioUser::connect(&nobody).unwrap_err();
    assert!(matches!(&error, VfioUserError::NotServed { path, .. } if path.ends_with("nobody.sock")), "{error}");
    assert!(VfioUserServer::start(&served.path(), served.drive.functions()).is_err(), "somebody answers there");
    std::fs::write(&nobody, "a file").unwrap();
    assert!(VfioUserServer::start(&nobody, served.drive.functions()).is_err());
    assert_eq!(std::fs::read(&nobody).unwrap(), b"a file");
    // A killed server leaves such a socket.
    let left = served.folder.path().join("left.sock");
    drop(std::os::unix::net::UnixListener::bind(&left).unwrap());
    let again = VfioUserServer::start(&left, served.drive.functions()).unwrap();
    Friend::connect(&left, WaitPolicy::Poll).reads_what_it_writes(1);
    drop(again);
    assert!(!left.exists());
    served.end();
}
