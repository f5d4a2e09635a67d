//! Planned faults, one test each: the effect on the host, and that the device continues.

use std::time::Duration;

use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{AdminOpcode, CompletionEntry, IoOpcode, Status};
use iolab_pci_device::PciFunction;

use crate::host::{Host, admin, transfer};

fn host(fault: &str) -> Host {
    Host::new(&format!("size=16M fault={fault}"), 1)
}

#[test]
fn media_errors_hit_their_blocks_so_many_times() {
    let mut host = host("media-error:op=read,lba=8+8,times=2");
    let cases = [
        ("beside", host.read(0, 8), Ok(0)),
        ("a write", host.write(8, 8), Ok(0)),
        ("first", host.read(15, 2), Err(Status::UNRECOVERED_READ_ERROR)),
        ("second", host.read(8, 1), Err(Status::UNRECOVERED_READ_ERROR)),
        ("cured", host.read(8, 1), Ok(0)),
    ];
    for (what, command, expected) in cases {
        assert_eq!(host.io(command), expected, "{what}");
    }
    let mut host = self::host("media-error:op=write");
    for _ in 0..5 {
        assert_eq!(host.io(host.write(1, 1)), Err(Status::WRITE_FAULT));
    }
    assert_eq!(host.device.subsystem().totals().media_errors, 5);
}

#[test]
fn a_command_without_answer_can_be_aborted_and_holds_nobody_up() {
    let mut host = host("timeout:times=1,opcode=2");
    let lost = host.send(host.read(0, 1));
    host.device.pause(Duration::from_secs(3600));
    assert_eq!(host.reap(0), None);
    assert_eq!(host.io(host.read(0, 1)), Ok(0));
    let abort = |cid: u16| admin(AdminOpcode::ABORT).with_cdw(10, 1 | u32::from(cid) << 16);
    assert_eq!(host.admin(abort(lost + 1000)), Ok(1), "no such command");
    assert_eq!(host.admin(abort(lost)), Ok(0));
    let entry = host.reap(0).unwrap();
    assert_eq!((entry.cid(), entry.status().code()), (lost, Status::ABORT_REQUESTED));
    assert_eq!(host.admin(abort(lost)), Ok(1), "aborted already");
}

#[test]
fn deleting_a_queue_answers_what_was_never_answered() {
    let mut host = host("timeout:times=2");
    let first = host.send(host.read(0, 1));
    let second = host.send(host.read(0, 1));
    assert_eq!(host.admin(admin(AdminOpcode::DELETE_IO_SQ).with_cdw(10, 1)), Ok(0));
    let entries: Vec<CompletionEntry> = std::iter::from_fn(|| host.pairs[0].pop()).collect();
    let seen: Vec<(u16, Status)> = entries.iter().map(|entry| (entry.cid(), entry.status().code())).collect();
    assert_eq!(seen, [(first, Status::ABORTED_SQ_DELETION), (second, Status::ABORTED_SQ_DELETION)]);
}

#[test]
fn a_completion_can_be_dropped_doubled_or_spoiled() {
    let mut dropped = host("drop:times=1");
    dropped.send(dropped.write(0, 1));
    assert_eq!(dropped.reap(0), None);
    assert_eq!(dropped.device.subsystem().totals().write_commands, 1, "it was done all the same");
    assert_eq!(dropped.io(dropped.read(0, 1)), Ok(0));

    let mut doubled = host("double:times=1");
    let cid = doubled.send(doubled.read(0, 1));
    assert_eq!((doubled.reap(0).unwrap().cid(), doubled.reap(0).unwrap().cid()), (cid, cid));
    assert_eq!(doubled.reap(0), None);

    let mut stale = host("wrong-phase:times=1");
    let cid = stale.send(stale.read(0, 1));
    assert_eq!(stale.reap(0), None);
    let raw = stale.pairs[0].completions.memory.load_words::<2>(0);
    assert!(!CompletionEntry { words: raw }.phase());
    assert_eq!(CompletionEntry { words: raw }.cid(), cid);

    let mut confused = host("wrong-cid:times=1");
    let cid = confused.send(confused.read(0, 1));
    assert_eq!(confused.reap(0).unwrap().cid(), cid ^ 1);
}

#[test]
fn a_fatal_status_lasts_until_a_reset() {
    let mut host = host("fatal:after=1,times=1");
    assert_eq!(host.io(host.read(0, 1)), Ok(0));
    host.send(host.read(0, 1));
    assert_eq!((host.reap(0), host.status()), (None, 0b11));
    host.send_admin(admin(AdminOpcode::KEEP_ALIVE));
    assert_eq!(host.reap_admin(), None, "nothing is processed");
    host.disable();
    host.enable();
    host.create_pair(1, 8);
    assert_eq!(host.io(host.read(0, 1)), Ok(0));
}

#[test]
fn slow_commands_take_their_extra_time() {
    let mut host = host("slow:lba=64+8,extra=5ms");
    for (lba, expected_ns) in [(0, 0), (63, 0), (64, 5_000_000), (71, 5_000_000), (72, 0)] {
        let before = host.clock.now_ns();
        assert_eq!(host.io(host.read(lba, 1)), Ok(0));
        assert_eq!(host.clock.now_ns() - before, expected_ns, "{lba}");
    }
    let mut host = self::host("slow:lun=1/4,stripe=4k,extra=1ms");
    let slow: Vec<u64> = (0..16)
        .filter(|page| {
            let before = host.clock.now_ns();
            assert_eq!(host.io(host.write(page * 8, 8)), Ok(0));
            host.clock.now_ns() > before
        })
        .collect();
    assert_eq!(slow, [1, 5, 9, 13]);
}

#[test]
fn a_device_that_is_pulled_out_is_gone() {
    let mut host = host("removal:after=3");
    for lba in 0..3 {
        assert_eq!(host.io(host.read(lba, 1)), Ok(0));
    }
    host.send(host.read(0, 1));
    for offset in [0, Register::CC.0, Register::CSTS.0, 0x1000] {
        assert_eq!(host.device.read_u32(offset), u32::MAX, "{offset:#x}");
    }
    host.device.write_u32(Register::CC.0, 0);
    assert_eq!(host.status(), u32::MAX);
    assert!(host.device.reset().is_err());
    assert_eq!(host.device.mapped_registers(0).unwrap().load_u32(0x1c, std::sync::atomic::Ordering::Relaxed), u32::MAX);
}

#[test]
fn admin_commands_fail_only_when_their_queue_is_named() {
    let mut spared = host("timeout");
    assert_eq!(spared.admin(admin(AdminOpcode::KEEP_ALIVE)), Ok(0));
    spared.send(transfer(IoOpcode::FLUSH, 0, 1));
    assert_eq!(spared.reap(0), None);
    let mut hit = Host::new("size=16M fault=timeout:queue=0,opcode=0x18,times=1", 0);
    hit.send_admin(admin(AdminOpcode::KEEP_ALIVE));
    assert_eq!(hit.reap_admin(), None);
    assert_eq!(hit.admin(admin(AdminOpcode::KEEP_ALIVE)), Ok(0));
}
