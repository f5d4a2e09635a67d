//! A controller from power-on to its end: registers, queues, resets, data.

use crate::host::{Host, Pair, create_cq, create_sq, identify, plug_in};
use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{IoOpcode, Status};
use iolab_pci_device::{DmaMapper, PciFunction};

#[test]
fn a_host_enables_identifies_writes_reads_and_flushes() {
    let mut host = Host::new("size=16M", 1);
    let controller = host.fetch(identify(1, 0), 4096).unwrap();
    assert_eq!(&controller[24..41], b"iolab virtual SSD");
    let namespace = host.fetch(identify(0, 1), 4096).unwrap();
    assert_eq!(u64::from_le_bytes(namespace[..8].try_into().unwrap()), 32768);
    for (lba, blocks) in [(0, 1), (7, 8), (32752, 16)] {
        host.fill(lba as u8 + 1);
        assert_eq!(host.io(host.write(lba, blocks)), Ok(0));
        host.fill(0);
        assert_eq!(host.io(host.read(lba, blocks)), Ok(0));
        let bytes = blocks as usize * 512;
        assert!(host.bytes(bytes).iter().all(|byte| *byte == lba as u8 + 1), "{lba}");
        assert_eq!(host.bytes(bytes + 1)[bytes], 0, "not a byte more");
    }
    assert_eq!(host.io(crate::host::transfer(IoOpcode::FLUSH, 0, 1)), Ok(0));
    let totals = host.device.subsystem().totals();
    assert_eq!((totals.read_commands, totals.write_commands, totals.read_bytes), (3, 3, 25 * 512));
}

#[test]
fn a_reset_forgets_queues_and_keeps_data() {
    let mut host = Host::new("size=16M", 2);
    host.fill(7);
    assert_eq!(host.io(host.write(3, 1)), Ok(0));
    host.disable();
    assert_eq!(host.status(), 0);
    host.enable();
    host.create_pair(1, 8);
    host.fill(0);
    assert_eq!(host.io(host.read(3, 1)), Ok(0));
    assert_eq!(host.bytes(1), [7]);
    host.device.reset().unwrap();
    assert_eq!((host.status(), host.device.read_u32(Register::AQA.0)), (0, 0));
}

#[test]
fn shutting_down_and_resetting_the_subsystem() {
    let mut host = Host::new("size=16M", 1);
    let configuration = host.device.read_u32(Register::CC.0);
    host.device.write_u32(Register::CC.0, configuration | 1 << 14);
    host.wait_for_status(0b1100, 0b1000);
    host.disable();
    host.enable();
    host.device.write_u32(Register::NSSR.0, 0x4e56_4d65);
    host.wait_for_status(0b1_0001, 0b1_0000);
    assert_eq!(host.device.read_u32(Register::CC.0), 0);
    host.disable();
    host.enable();
    host.create_pair(1, 8);
    assert_eq!(host.io(host.read(0, 1)), Ok(0));
}

#[test]
fn what_cannot_be_enabled_is_fatal_until_it_is_disabled() {
    let good = (0x0046_0001u32, 0x001f_001fu32);
    let cases = [
        ("page size", good.0 | 5 << 7, good.1),
        ("command set", good.0 | 2 << 4, good.1),
        ("arbitration", good.0 | 1 << 11, good.1),
        ("submission entries", good.0, 0x001f_0000),
        ("completion entries", good.0, 0x0000_001f),
    ];
    for (what, configuration, attributes) in cases {
        let mut host = Host::new("size=16M", 0);
        host.disable();
        host.write_admin_registers();
        host.device.write_u32(Register::AQA.0, attributes);
        host.device.write_u32(Register::CC.0, configuration);
        host.wait_for_status(0b11, 0b10);
        host.disable();
        assert_eq!(host.status(), 0, "{what}");
        host.enable();
    }
    let mut host = Host::new("size=16M", 0);
    host.disable();
    host.device.write_u64(Register::ASQ.0, host.admin.submissions.address + 64);
    host.device.write_u32(Register::CC.0, good.0);
    host.wait_for_status(0b11, 0b10);
}

#[test]
fn rings_wrap_many_times() {
    let mut host = Host::new("size=16M", 0);
    host.create_pair(1, 5);
    for round in 0..23u64 {
        let count = 1 + round % 4;
        let cids: Vec<u16> = (0..count).map(|_| host.cid()).collect();
        for (lba, cid) in cids.iter().enumerate() {
            let command = host.read(lba as u64, 1).with_cid(*cid);
            host.pairs[0].push(command);
        }
        host.ring(0);
        host.device.poll();
        for cid in cids {
            let entry = host.reap(0).expect("all commands are answered in one poll");
            assert_eq!((entry.cid(), entry.status()), (cid, Status::SUCCESS));
        }
        assert_eq!(host.reap(0), None);
    }
}

#[test]
fn a_full_completion_queue_holds_commands_back_and_loses_none() {
    let mut host = Host::new("size=16M", 0);
    let mut pair = Pair::new(&mut host.device, 1, 4);
    assert_eq!(host.admin(create_cq(&pair)), Ok(0));
    pair.entries = 32;
    pair.submissions = host.device.allocate(32 * 64).unwrap();
    assert_eq!(host.admin(create_sq(&pair)), Ok(0));
    for cid in 0..20u16 {
        let command = host.read(0, 1).with_cid(cid);
        pair.push(command);
    }
    host.device.write_u32(0x1008, pair.tail);
    pair.entries = 4;
    let mut seen = Vec::new();
    while seen.len() < 20 {
        host.device.poll();
        let batch: Vec<u16> = std::iter::from_fn(|| pair.pop()).map(|entry| entry.cid()).collect();
        assert!((1..=3).contains(&batch.len()), "{batch:?}");
        seen.extend(batch);
        host.device.write_u32(0x100c, pair.head);
    }
    assert_eq!(seen, (0..20).collect::<Vec<u16>>());
}

#[test]
fn a_device_reports_its_registers() {
    let (device, _) = plug_in("size=16M queue_entries=1024");
    let capabilities = device.read_u64(0);
    assert_eq!(capabilities & 0xffff, 1023);
    assert_eq!(device.read_u32(Register::VS.0), 0x0001_0400);
    assert_eq!(device.read_u32(0x38), 0, "no controller memory buffer");
    assert_eq!(device.mapped_registers(0x1000).unwrap().len(), 0x1000);
    assert!(device.mapped_registers(0x2004).is_none());
}
