//! Signals that the device sends by itself: interrupts, events, shadow doorbells.

use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{AdminOpcode, SubmissionEntry};
use iolab_pci_device::{DmaMapper, PciFunction};

use crate::host::{Host, admin};

fn set(feature: u32, value: u32) -> SubmissionEntry {
    admin(AdminOpcode::SET_FEATURES).with_cdw(10, feature).with_cdw(11, value)
}

#[test]
fn a_batch_is_one_interrupt_and_vectors_are_masked() {
    let mut host = Host::new("size=16M", 1);
    let interrupt = host.device.interrupt(1).unwrap();
    let command = host.read(0, 1);
    (0..5).for_each(|_| host.pairs[0].push(command));
    host.ring(0);
    host.device.poll();
    assert!(interrupt.take() && !interrupt.take());
    host.device.write_u32(Register::INTMS.0, 0b10);
    host.send(command);
    assert!(!interrupt.take());
    assert_eq!(host.device.read_u32(Register::INTMC.0), 0b10);
    host.device.write_u32(Register::INTMC.0, 0b10);
    host.send(command);
    assert!(interrupt.take());
    assert!(host.device.interrupt(65).is_err());
}

#[test]
fn coalescing_waits_for_the_threshold_or_the_time() {
    let mut host = Host::new("size=16M", 1);
    let interrupt = host.device.interrupt(1).unwrap();
    // An interrupt after four completions, or after 200 microseconds.
    assert_eq!(host.admin(set(0x08, 3 | 2 << 8)), Ok(0));
    let command = host.read(0, 1);
    for _ in 0..3 {
        host.send(command);
    }
    assert!(!interrupt.take());
    host.send(command);
    assert!(interrupt.take(), "the fourth");
    host.send(command);
    host.clock.advance(199_999);
    host.device.poll();
    assert!(!interrupt.take());
    host.clock.advance(1);
    host.device.poll();
    assert!(interrupt.take(), "the time");
    assert_eq!(host.admin(set(0x09, 1 | 1 << 16)), Ok(0));
    host.send(command);
    assert!(interrupt.take(), "the vector is exempt");
}

#[test]
fn bad_doorbells_are_events_and_harm_nobody() {
    let mut host = Host::new("size=16M", 1);
    let request = admin(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST);
    let first = host.send_admin(request);
    host.device.write_u32(0x1008, 64);
    host.device.poll();
    host.device.poll();
    let event = host.reap_admin().expect("an event");
    assert_eq!((event.cid(), event.dw0()), (first, 0x0001_0100), "invalid value, error log");
    host.send_admin(request);
    host.device.write_u32(0x1008, 65);
    host.device.poll();
    host.device.poll();
    assert_eq!(host.reap_admin(), None, "masked until the log is read");
    let log = admin(AdminOpcode::GET_LOG_PAGE).with_cdw(10, 1 | 15 << 16).with_prps(host.data.address, 0);
    host.send_admin(log);
    host.device.poll();
    assert!(host.reap_admin().is_some_and(|entry| entry.dw0() == 0));
    assert!(host.reap_admin().is_some_and(|entry| entry.dw0() == 0x0001_0100));
    host.send_admin(request);
    host.device.write_u32(0x1000 + 8 * 65, 1);
    host.device.poll();
    host.device.poll();
    assert_eq!(host.reap_admin().map(|entry| entry.dw0()), Some(0x0001_0000), "a doorbell of no queue");
    assert_eq!(host.io(host.read(0, 1)), Ok(0));
}

#[test]
fn heat_and_worn_flash_are_events() {
    let mut host = Host::new("size=16M", 0);
    let request = admin(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST);
    let log = admin(AdminOpcode::GET_LOG_PAGE).with_nsid(u32::MAX).with_cdw(10, 2 | 3 << 16);
    assert_eq!(host.admin(set(0x0b, 0b11)), Ok(0));
    host.send_admin(request);
    host.device.subsystem().set_temperature(360);
    host.device.poll();
    assert_eq!(host.reap_admin().map(|entry| entry.dw0()), Some(0x0002_0101));
    assert_eq!(host.fetch(log, 4).unwrap()[..3], [2, 104, 1], "too hot: 360 K");
    host.device.subsystem().set_temperature(300);
    host.send_admin(request);
    host.device.subsystem().set_spare(5);
    host.device.poll();
    assert_eq!(host.reap_admin().map(|entry| entry.dw0()), Some(0x0002_0201));
    assert_eq!(host.fetch(log, 4).unwrap()[0], 1);
}

#[test]
fn requests_for_events_are_limited() {
    let mut host = Host::new("size=16M", 0);
    let request = admin(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST);
    let cids: Vec<u16> = (0..8).map(|_| host.send_admin(request)).collect();
    assert_eq!(host.reap_admin(), None);
    host.send_admin(request);
    let refused = host.reap_admin().unwrap().status();
    assert_eq!((refused.sct(), refused.sc()), (1, 5));
    let abort = admin(AdminOpcode::ABORT).with_cdw(10, u32::from(cids[3]) << 16);
    host.send_admin(abort);
    let aborted = host.reap_admin().unwrap();
    assert_eq!((aborted.cid(), aborted.status().sc()), (cids[3], 7));
    assert_eq!(host.reap_admin().map(|entry| entry.dw0()), Some(0));
}

#[test]
fn shadow_doorbells_replace_the_real_ones() {
    let mut host = Host::new("size=16M", 1);
    let (shadow, events) = (host.device.allocate(4096).unwrap(), host.device.allocate(4096).unwrap());
    let config = |first: u64, second: u64| admin(AdminOpcode::DOORBELL_BUFFER_CONFIG).with_prps(first, second);
    let invalid = Err(iolab_nvme_spec::Status::INVALID_FIELD);
    assert_eq!(host.admin(config(shadow.address + 8, events.address)), invalid);
    assert_eq!(host.admin(config(shadow.address, 0)), invalid);
    assert_eq!(host.admin(config(64 << 40, events.address)), invalid);
    assert_eq!(host.admin(config(shadow.address, events.address)), Ok(0));
    let relaxed = std::sync::atomic::Ordering::Relaxed;
    let command = host.read(0, 1);
    let event = || events.memory.load_u32(8, relaxed) as u16;
    // Linux checks this before it rings: did the tail pass the event?
    let rings = |event: u16, new: u16, old: u16| new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old);
    for round in 0..200u32 {
        let old = host.pairs[0].tail;
        host.pairs[0].push(command.with_cid(round as u16));
        let new = host.pairs[0].tail;
        shadow.memory.store_u32(8, new, relaxed);
        assert!(!rings(event(), new as u16, old as u16), "round {round}: the device looks by itself");
        host.device.poll();
        assert_eq!(host.pairs[0].pop().map(|entry| entry.cid()), Some(round as u16));
        shadow.memory.store_u32(12, host.pairs[0].head, relaxed);
    }
}
