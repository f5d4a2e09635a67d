//! Admin commands: one line for each valid use and for each field that can be wrong.

use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{ALL_NAMESPACES, AdminOpcode, Status, SubmissionEntry};
use iolab_pci_device::{DmaMapper, PciFunction};
use iolab_virtual_ssd::{Config, Subsystem};

use crate::host::{Host, Pair, admin, create_cq, create_sq, identify, plug_into};

/// Executes each command and compares its status.
fn check(host: &mut Host, cases: &[(&str, SubmissionEntry, Result<u32, Status>)]) {
    for (what, command, expected) in cases {
        assert_eq!(host.admin(*command), *expected, "{what}");
    }
}

fn with_data(host: &Host, command: SubmissionEntry) -> SubmissionEntry {
    command.with_prps(host.data.address, host.second_page())
}

#[test]
fn identify_answers_every_structure_or_refuses() {
    let mut host = Host::new("size=16M namespaces=2", 0);
    let data = |host: &Host, cns, nsid| with_data(host, identify(cns, nsid));
    let cases = [
        ("namespace", data(&host, 0, 1), Ok(0)),
        ("common namespace", data(&host, 0, ALL_NAMESPACES), Ok(0)),
        ("namespace 0", data(&host, 0, 0), Err(Status::INVALID_NAMESPACE)),
        ("namespace beyond NN", data(&host, 0, 3), Err(Status::INVALID_NAMESPACE)),
        ("controller", data(&host, 1, 0), Ok(0)),
        ("active list", data(&host, 2, 0), Ok(0)),
        ("active list after the last", data(&host, 2, 0xffff_fffe), Err(Status::INVALID_NAMESPACE)),
        ("identifiers", data(&host, 3, 1), Ok(0)),
        ("identifiers of none", data(&host, 3, 3), Err(Status::INVALID_NAMESPACE)),
        ("NVM set list", data(&host, 4, 0), Err(Status::INVALID_FIELD)),
        ("set specific namespace", data(&host, 5, 1), Ok(0)),
        ("zoned namespace", data(&host, 5, 1).with_cdw(11, 2 << 24), Err(Status::INVALID_FIELD)),
        ("set specific controller", data(&host, 6, 0), Ok(0)),
        ("set specific list", data(&host, 7, 0), Ok(0)),
        ("independent namespace", data(&host, 8, 1), Ok(0)),
        ("allocated list", data(&host, 0x10, 0), Ok(0)),
        ("allocated namespace", data(&host, 0x11, 1), Ok(0)),
        ("attached controllers", data(&host, 0x12, 1), Ok(0)),
        ("controllers", data(&host, 0x13, 0), Ok(0)),
        ("primary capabilities", data(&host, 0x14, 0), Err(Status::INVALID_FIELD)),
        ("command sets", data(&host, 0x1c, 0), Ok(0)),
        ("no such structure", data(&host, 0xff, 0), Err(Status::INVALID_FIELD)),
        ("PRP offset", identify(1, 0).with_prps(host.data.address + 2, 0), Err(Status::PRP_OFFSET_INVALID)),
        ("nowhere", identify(1, 0).with_prps(64 << 40, 0), Err(Status::DATA_TRANSFER_ERROR)),
    ];
    check(&mut host, &cases);
    let list = host.fetch(identify(2, 1), 4096).unwrap();
    assert_eq!(&list[..8], &[2, 0, 0, 0, 0, 0, 0, 0], "identifiers greater than NSID");
    let controllers = host.fetch(identify(0x13, 0), 4096).unwrap();
    assert_eq!(&controllers[..4], &[1, 0, 0, 0]);
    let controller = host.fetch(identify(1, 0), 4096).unwrap();
    assert_eq!((controller[77], controller[516]), (8, 2), "MDTS of 1 MiB, two namespaces");
    let formats = host.fetch(identify(0, ALL_NAMESPACES), 4096).unwrap();
    assert_eq!((formats[25], formats[128 + 2], formats[132 + 2]), (1, 9, 12));
}

#[test]
fn identify_crosses_pages() {
    let mut host = Host::new("size=16M", 0);
    let at = host.data.address + 1024;
    assert_eq!(host.admin(identify(1, 0).with_prps(at, host.data.address + 65536)), Ok(0));
    let mut first = [0; 4];
    host.data.memory.read(1024 + 24, &mut first);
    assert_eq!(&first, b"iola");
    let mut sizes = [0; 1];
    // The first 3072 bytes of the structure are in the first page. The byte that is read here is
    // the last one of the structure.
    host.data.memory.read(65536 + 1024 - 1, &mut sizes);
    assert_eq!(sizes, [0]);
}

#[test]
fn flags_that_admin_commands_must_not_have() {
    let mut host = Host::new("size=16M", 0);
    let good = with_data(&host, identify(1, 0));
    for (what, bit) in [("fused first", 8), ("fused second", 9), ("SGL", 14), ("both", 15)] {
        let command = good.with_cdw(0, good.cdw(0) | 1 << bit);
        assert_eq!(host.admin(command), Err(Status::INVALID_FIELD), "{what}");
    }
    let unknown = [0x10, 0x11, 0x14, 0x19, 0x1a, 0x1c, 0x20, 0x24, 0x7f, 0x81, 0x82, 0x84, 0x86, 0xff];
    for opcode in unknown {
        let entry = host.admin_entry(SubmissionEntry::new(opcode, 0)).unwrap_err();
        assert_eq!(entry, Status::INVALID_OPCODE, "{opcode:#x}");
    }
}

#[test]
fn queues_are_created_as_the_specification_says() {
    let mut host = Host::new("size=16M queues=4 queue_entries=256", 0);
    let pair = Pair::new(&mut host.device, 1, 64);
    let (cq, sq) = (create_cq(&pair), create_sq(&pair));
    let other_id = |command: SubmissionEntry, id: u32| command.with_cdw(10, command.cdw(10) & !0xffff | id);
    let entries =
        |command: SubmissionEntry, entries: u32| command.with_cdw(10, command.cdw(10) & 0xffff | (entries - 1) << 16);
    let delete = |opcode: AdminOpcode, id: u32| admin(opcode).with_cdw(10, id);
    let cases = [
        ("SQ without CQ", sq, Err(Status::COMPLETION_QUEUE_INVALID)),
        ("CQ 0", other_id(cq, 0), Err(Status::INVALID_QUEUE_ID)),
        ("CQ beyond the limit", other_id(cq, 5), Err(Status::INVALID_QUEUE_ID)),
        ("CQ of one entry", entries(cq, 1), Err(Status::INVALID_QUEUE_SIZE)),
        ("CQ beyond MQES", entries(cq, 257), Err(Status::INVALID_QUEUE_SIZE)),
        ("CQ not contiguous", cq.with_cdw(11, 2 | 1 << 16), Err(Status::INVALID_FIELD)),
        ("CQ not aligned", cq.with_prps(pair.completions.address + 16, 0), Err(Status::PRP_OFFSET_INVALID)),
        ("CQ nowhere", cq.with_prps(64 << 40, 0), Err(Status::INVALID_FIELD)),
        ("CQ vector beyond the table", cq.with_cdw(11, 3 | 65 << 16), Err(Status::INVALID_INTERRUPT_VECTOR)),
        ("CQ", cq, Ok(0)),
        ("CQ again", cq, Err(Status::INVALID_QUEUE_ID)),
        ("SQ of CQ 0", sq.with_cdw(11, 1), Err(Status::COMPLETION_QUEUE_INVALID)),
        ("SQ of a CQ beyond", sq.with_cdw(11, 1 | 9 << 16), Err(Status::COMPLETION_QUEUE_INVALID)),
        ("SQ 0", other_id(sq, 0), Err(Status::INVALID_QUEUE_ID)),
        ("SQ beyond the limit", other_id(sq, 5), Err(Status::INVALID_QUEUE_ID)),
        ("SQ of one entry", entries(sq, 1), Err(Status::INVALID_QUEUE_SIZE)),
        ("SQ not contiguous", sq.with_cdw(11, 1 << 16), Err(Status::INVALID_FIELD)),
        ("SQ not aligned", sq.with_prps(pair.submissions.address + 64, 0), Err(Status::PRP_OFFSET_INVALID)),
        ("SQ", sq, Ok(0)),
        ("SQ again", sq, Err(Status::INVALID_QUEUE_ID)),
        ("SQ 2 of the same CQ", other_id(sq, 2), Ok(0)),
        ("CQ in use", delete(AdminOpcode::DELETE_IO_CQ, 1), Err(Status::INVALID_QUEUE_DELETION)),
        ("delete SQ 0", delete(AdminOpcode::DELETE_IO_SQ, 0), Err(Status::INVALID_QUEUE_ID)),
        ("delete SQ 3", delete(AdminOpcode::DELETE_IO_SQ, 3), Err(Status::INVALID_QUEUE_ID)),
        ("delete SQ", delete(AdminOpcode::DELETE_IO_SQ, 1), Ok(0)),
        ("delete SQ again", delete(AdminOpcode::DELETE_IO_SQ, 1), Err(Status::INVALID_QUEUE_ID)),
        ("CQ still in use", delete(AdminOpcode::DELETE_IO_CQ, 1), Err(Status::INVALID_QUEUE_DELETION)),
        ("delete SQ 2", delete(AdminOpcode::DELETE_IO_SQ, 2), Ok(0)),
        ("delete CQ 0", delete(AdminOpcode::DELETE_IO_CQ, 0), Err(Status::INVALID_QUEUE_ID)),
        ("delete CQ", delete(AdminOpcode::DELETE_IO_CQ, 1), Ok(0)),
        ("delete CQ again", delete(AdminOpcode::DELETE_IO_CQ, 1), Err(Status::INVALID_QUEUE_ID)),
    ];
    check(&mut host, &cases);
}

#[test]
fn several_submission_queues_share_a_completion_queue() {
    let mut host = Host::new("size=16M", 1);
    let mut second = Pair::new(&mut host.device, 2, 16);
    let command = create_sq(&second).with_cdw(11, 1 | 1 << 16);
    assert_eq!(host.admin(command), Ok(0));
    let read = host.read(0, 1);
    host.pairs[0].push(read.with_cid(10));
    second.push(read.with_cid(20));
    host.ring(0);
    host.device.write_u32(0x1000 + 16, second.tail);
    host.device.poll();
    let mut seen = Vec::new();
    for _ in 0..2 {
        let entry = host.pairs[0].peek().unwrap();
        seen.push((entry.sqid(), entry.cid(), entry.sqhd()));
        host.pairs[0].head += 1;
    }
    assert_eq!(seen, [(1, 10, 1), (2, 20, 1)]);
}

#[test]
fn features_are_kept_and_bad_values_refused() {
    let mut host = Host::new("size=16M queues=8", 0);
    let set = |fid: u32, value: u32| admin(AdminOpcode::SET_FEATURES).with_cdw(10, fid).with_cdw(11, value);
    let get = |fid: u32| admin(AdminOpcode::GET_FEATURES).with_cdw(10, fid);
    let kept = [
        (0x01, 0x0302_0103),
        (0x05, 0x1_0005),
        (0x06, 1),
        (0x06, 0),
        (0x08, 0x0203),
        (0x0a, 1),
        (0x0b, 0x1ff),
        (0x0f, 0),
    ];
    for (fid, value) in kept {
        assert_eq!(host.admin(set(fid, value)), Ok(0), "{fid:#x}");
        assert_eq!(host.admin(get(fid)), Ok(value), "{fid:#x}");
    }
    let write_protect = set(0x84, 1).with_nsid(1);
    let cases = [
        ("power state 1", set(0x02, 1), Err(Status::INVALID_FIELD)),
        ("no such feature", set(0x03, 0), Err(Status::INVALID_FIELD)),
        ("no such feature to get", get(0x0d), Err(Status::INVALID_FIELD)),
        ("save", set(0x06, 1).with_cdw(10, 0x06 | 1 << 31), Err(Status::FEATURE_NOT_SAVEABLE)),
        ("of a namespace", set(0x06, 1).with_nsid(1), Err(Status::FEATURE_NOT_NAMESPACE_SPECIFIC)),
        ("queues", set(0x07, 0x00ff_00ff), Ok(0x0007_0007)),
        ("queues got", get(0x07), Ok(0x0007_0007)),
        ("65536 queues", set(0x07, 0xffff), Err(Status::INVALID_FIELD)),
        ("vector beyond", set(0x09, 65), Err(Status::INVALID_FIELD)),
        ("vector", set(0x09, 3 | 1 << 16), Ok(0)),
        ("vector got", get(0x09).with_cdw(11, 3), Ok(3 | 1 << 16)),
        ("other vector got", get(0x09).with_cdw(11, 4), Ok(4)),
        ("over temperature", set(0x04, 350), Ok(0)),
        ("over temperature got", get(0x04), Ok(350)),
        ("under temperature got", get(0x04).with_cdw(11, 1 << 20), Ok(0)),
        ("default over temperature", get(0x04 | 1 << 8), Ok(343)),
        ("temperature of a bad type", set(0x04, 2 << 20), Err(Status::INVALID_FIELD)),
        ("default arbitration", get(0x01 | 1 << 8), Ok(6)),
        ("capabilities", get(0x84 | 3 << 8), Ok(0b110)),
        ("reserved select", get(0x01 | 4 << 8), Err(Status::INVALID_FIELD)),
        ("profile 0", set(0x19, 0), Ok(0)),
        ("profile 1", set(0x19, 1), Err(Status::COMMAND_SETS_REJECTED)),
        ("write protect", write_protect, Ok(0)),
        ("write protect got", get(0x84).with_nsid(1), Ok(1)),
        ("write protect until power cycle", write_protect.with_cdw(11, 2), Err(Status::INVALID_FIELD)),
        ("write protect of none", write_protect.with_nsid(9), Err(Status::INVALID_NAMESPACE)),
    ];
    check(&mut host, &cases);
    host.create_pair(1, 8);
    assert_eq!(host.admin(set(0x07, 3)), Err(Status::COMMAND_SEQUENCE_ERROR));
    host.data.memory.write(0, &[1, 2, 3, 4, 5, 6, 9, 9]);
    assert_eq!(host.admin(with_data(&host, set(0x0e, 0))), Ok(0));
    host.clock.advance(7_000_000);
    assert_eq!(host.fetch(get(0x0e), 8), Ok(vec![8, 2, 3, 4, 5, 6, 2, 0]), "7 ms later, set by the host");
    host.data.memory.write(0, b"host identifier!");
    assert_eq!(host.admin(with_data(&host, set(0x81, 1))), Ok(0));
    assert_eq!(host.fetch(get(0x81).with_cdw(11, 1), 16).unwrap(), b"host identifier!");
}

#[test]
fn log_pages_are_read_whole_and_in_parts() {
    let mut host = Host::new("size=16M", 1);
    let log = |page: u32, bytes: u32| {
        admin(AdminOpcode::GET_LOG_PAGE).with_nsid(ALL_NAMESPACES).with_cdw(10, page | (bytes / 4 - 1) << 16)
    };
    assert_eq!(
        host.io(crate::host::transfer(iolab_nvme_spec::IoOpcode::READ, 1 << 40, 1)),
        Err(Status::LBA_OUT_OF_RANGE)
    );
    let errors = host.fetch(log(1, 128), 128).unwrap();
    assert_eq!(&errors[..8], &[1, 0, 0, 0, 0, 0, 0, 0], "the first error");
    assert_eq!((errors[8], errors[14], errors[15]), (1, 40, 0), "queue 1, byte 40 of the command");
    assert_eq!(u64::from_le_bytes(errors[16..24].try_into().unwrap()), 1 << 40);
    assert_eq!(u16::from_le_bytes([errors[12], errors[13]]) >> 1 & 0x7ff, Status::LBA_OUT_OF_RANGE.0);
    assert_eq!(&errors[64..72], &[0; 8], "and no other");
    let whole = host.fetch(log(5, 4096), 4096).unwrap();
    let part = host.fetch(log(5, 64).with_cdw(12, 1024), 64).unwrap();
    assert_eq!(part, whole[1024..1088], "I/O commands start at 1024");
    assert_eq!((whole[4 * 6] & 1, whole[4 * 0x81] & 1, part[4 * 2] & 1), (1, 0, 1));
    let firmware = host.fetch(log(3, 512), 512).unwrap();
    assert_eq!((firmware[0], firmware[8].is_ascii_digit()), (1, true));
    let health = host.fetch(log(2, 512), 512).unwrap();
    assert_eq!((health[0], u16::from_le_bytes([health[1], health[2]]), health[3]), (0, 313, 100));
    let cases = [
        ("offset not of dwords", log(2, 16).with_cdw(12, 2), Err(Status::INVALID_FIELD)),
        ("offset beyond the end", log(2, 16).with_cdw(12, 516), Err(Status::INVALID_FIELD)),
        ("offset far beyond", log(2, 16).with_cdw(13, 1), Err(Status::INVALID_FIELD)),
        ("no such page", log(0x70, 16), Err(Status::INVALID_LOG_PAGE)),
        ("health of one namespace", log(2, 16).with_nsid(1), Err(Status::INVALID_FIELD)),
        ("zones of none", log(0xbf, 16).with_nsid(1), Err(Status::INVALID_LOG_PAGE)),
        ("more than MDTS", log(2, 16).with_cdw(11, 0xff), Err(Status::INVALID_FIELD)),
    ];
    for (what, command, expected) in cases {
        assert_eq!(host.admin(with_data(&host, command)), expected, "{what}");
    }
}

#[test]
fn formats_change_blocks_and_erase() {
    let mut host = Host::new("size=16M namespaces=2", 1);
    host.fill(9);
    assert_eq!(host.io(host.write(0, 1)), Ok(0));
    let format = |nsid: u32, dword: u32| admin(AdminOpcode::FORMAT_NVM).with_nsid(nsid).with_cdw(10, dword);
    let cases = [
        ("format 2", format(1, 2), Err(Status::INVALID_FORMAT)),
        ("extended metadata", format(1, 1 << 4), Err(Status::INVALID_FORMAT)),
        ("protection", format(1, 1 << 5), Err(Status::INVALID_FORMAT)),
        ("cryptographic erase", format(1, 2 << 9), Err(Status::INVALID_FIELD)),
        ("namespace 0", format(0, 0), Err(Status::INVALID_NAMESPACE)),
        ("namespace 3", format(3, 0), Err(Status::INVALID_NAMESPACE)),
        ("4096 with erase", format(1, 1 | 1 << 9), Ok(0)),
    ];
    check(&mut host, &cases);
    let namespace = host.fetch(identify(0, 1), 4096).unwrap();
    assert_eq!((u64::from_le_bytes(namespace[..8].try_into().unwrap()), namespace[26]), (4096, 1));
    assert_eq!(host.io(host.read(4095, 1)), Ok(0));
    assert_eq!(host.io(host.read(4096, 1)), Err(Status::LBA_OUT_OF_RANGE));
    host.fill(1);
    assert_eq!(host.io(host.read(0, 1)), Ok(0));
    assert_eq!(host.bytes(4097)[4095..], [0, 1]);
    assert_eq!(host.admin(format(ALL_NAMESPACES, 0)), Ok(0));
    assert_eq!(host.io(host.read(32767, 1).with_nsid(2)), Ok(0));
}

#[test]
fn namespaces_are_deleted_created_attached_and_detached() {
    let mut host = Host::new("size=16M namespaces=2", 1);
    let attach = |host: &Host, nsid: u32, select: u32, controller: u16| {
        host.fill(0);
        host.data.memory.write(0, &[1, 0, controller as u8, 0]);
        with_data(host, admin(AdminOpcode::NAMESPACE_ATTACHMENT)).with_nsid(nsid).with_cdw(10, select)
    };
    let step = |host: &mut Host, command| host.admin(command);
    let twice = attach(&host, 2, 0, 0);
    assert_eq!(step(&mut host, twice), Err(Status::NAMESPACE_ALREADY_ATTACHED));
    let detach = attach(&host, 2, 1, 0);
    assert_eq!(step(&mut host, detach), Ok(0));
    assert_eq!(host.io(host.read(0, 1).with_nsid(2)), Err(Status::INVALID_FIELD), "not active");
    assert_eq!(host.fetch(identify(0, 2), 8), Ok(vec![0; 8]), "an inactive one is all zeroes");
    let again = attach(&host, 2, 1, 0);
    assert_eq!(step(&mut host, again), Err(Status::NAMESPACE_NOT_ATTACHED));
    let nobody = attach(&host, 2, 0, 7);
    assert_eq!(step(&mut host, nobody), Err(Status::CONTROLLER_LIST_INVALID));
    let manage = |select: u32, nsid: u32| admin(AdminOpcode::NAMESPACE_MANAGEMENT).with_nsid(nsid).with_cdw(10, select);
    assert_eq!(host.admin(manage(1, 3)), Err(Status::INVALID_NAMESPACE));
    assert_eq!(host.admin(manage(2, 1)), Err(Status::INVALID_FIELD));
    assert_eq!(host.admin(manage(1, 2)), Ok(0));
    assert_eq!(host.admin(manage(1, 2)), Err(Status::INVALID_FIELD), "it is gone");
    let create = |host: &Host, blocks: u64, format: u8| {
        host.fill(0);
        host.data.memory.write(0, &blocks.to_le_bytes());
        host.data.memory.write(8, &blocks.to_le_bytes());
        host.data.memory.write(26, &[format]);
        with_data(host, manage(0, 0))
    };
    for (blocks, format, expected) in [
        (4097, 1, Err(Status::NAMESPACE_INSUFFICIENT_CAPACITY)),
        (0, 0, Err(Status::INVALID_FIELD)),
        (8, 2, Err(Status::INVALID_FORMAT)),
        (1000, 1, Ok(2)),
        (1000, 1, Err(Status::NAMESPACE_ID_UNAVAILABLE)),
    ] {
        let command = create(&host, blocks, format);
        assert_eq!(host.admin(command), expected, "{blocks} blocks of format {format}");
    }
    let command = attach(&host, 2, 0, 0);
    assert_eq!(host.admin(command), Ok(0));
    assert_eq!(host.io(host.read(999, 1).with_nsid(2)), Ok(0));
    assert_eq!(host.io(host.read(1000, 1).with_nsid(2)), Err(Status::LBA_OUT_OF_RANGE));
}

#[test]
fn what_happens_at_one_controller_is_told_to_the_other() {
    let subsystem = Subsystem::new(Config::parse("size=16M").unwrap()).unwrap();
    let mut first = Host::with(plug_into(&subsystem), 1);
    let mut second = Host::with(plug_into(&subsystem), 1);
    assert_eq!(second.admin(admin(AdminOpcode::SET_FEATURES).with_cdw(10, 0x0b).with_cdw(11, 1 << 8)), Ok(0));
    let cid = second.send_admin(admin(AdminOpcode::ASYNCHRONOUS_EVENT_REQUEST));
    assert_eq!(first.admin(admin(AdminOpcode::FORMAT_NVM).with_nsid(1)), Ok(0));
    second.device.poll();
    let event = second.reap_admin().expect("an event");
    assert_eq!((event.cid(), event.dw0()), (cid, 0x0004_0002));
    let log = admin(AdminOpcode::GET_LOG_PAGE).with_cdw(10, 4 | 1 << 16);
    assert_eq!(second.fetch(log, 8), Ok(vec![1, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(second.fetch(log, 8), Ok(vec![0; 8]), "read once");
    first.fill(5);
    assert_eq!(first.io(first.write(9, 1)), Ok(0));
    assert_eq!(second.io(second.read(9, 1)), Ok(0));
    assert_eq!(second.bytes(1), [5], "one drive behind two controllers");
    first.device.write_u32(Register::NSSR.0, 0x4e56_4d65);
    first.wait_for_status(1, 0);
    second.wait_for_status(0b1_0001, 0b1_0000);
}

#[test]
fn keep_alive_ends_a_silent_host() {
    let mut host = Host::new("size=16M", 0);
    assert_eq!(host.admin(admin(AdminOpcode::SET_FEATURES).with_cdw(10, 0x0f).with_cdw(11, 5000)), Ok(0));
    host.clock.advance(4_000_000_000);
    assert_eq!(host.admin(admin(AdminOpcode::KEEP_ALIVE)), Ok(0));
    host.clock.advance(4_000_000_000);
    assert_eq!(host.status() & 2, 0);
    host.clock.advance(1_100_000_000);
    host.device.poll();
    assert_eq!(host.status() & 2, 2);
}

#[test]
fn a_firmware_that_allocates_queues_again_finds_them() {
    let mut host = Host::new("size=16M", 0);
    for _ in 0..50 {
        host.create_pair(1, 16);
        assert_eq!(host.io(host.read(0, 1)), Ok(0));
        assert_eq!(host.admin(admin(AdminOpcode::DELETE_IO_SQ).with_cdw(10, 1)), Ok(0));
        assert_eq!(host.admin(admin(AdminOpcode::DELETE_IO_CQ).with_cdw(10, 1)), Ok(0));
        let pair = host.pairs.remove(0);
        host.device.unmap(pair.submissions.address).unwrap();
        host.device.unmap(pair.completions.address).unwrap();
    }
}
