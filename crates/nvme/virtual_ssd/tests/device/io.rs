//! I/O commands: one line for each valid use and for each field that can be wrong.

use iolab_nvme_spec::sgl::{SglDescriptor, SglSubtype, SglType};
use iolab_nvme_spec::{ALL_NAMESPACES, AdminOpcode, IoOpcode, Status, SubmissionEntry};

use crate::host::{DATA_BYTES, Host, admin, transfer};

fn check(host: &mut Host, cases: &[(&str, SubmissionEntry, Result<u64, Status>)]) {
    for (what, command, expected) in cases {
        assert_eq!(host.io(*command), *expected, "{what}");
    }
}

#[test]
fn fields_that_every_command_can_have_wrong() {
    let mut host = Host::new("size=16M mdts=64k", 1);
    let read = host.read(0, 1);
    let flags = |bits: u32| read.with_cdw(0, read.cdw(0) | bits);
    let cases = [
        ("namespace 0", read.with_nsid(0), Err(Status::INVALID_NAMESPACE)),
        ("namespace 2", read.with_nsid(2), Err(Status::INVALID_NAMESPACE)),
        ("all namespaces", read.with_nsid(ALL_NAMESPACES), Err(Status::INVALID_NAMESPACE)),
        ("fused first", flags(1 << 8), Err(Status::INVALID_FIELD)),
        ("fused second", flags(2 << 8), Err(Status::INVALID_FIELD)),
        ("metadata SGL", flags(2 << 14), Err(Status::INVALID_FIELD)),
        ("reserved PSDT", flags(3 << 14), Err(Status::INVALID_FIELD)),
        ("last block", host.read(32767, 1), Ok(0)),
        ("across the end", host.read(32767, 2), Err(Status::LBA_OUT_OF_RANGE)),
        ("beyond the end", host.read(32768, 1), Err(Status::LBA_OUT_OF_RANGE)),
        ("block that overflows", host.read(u64::MAX, 1), Err(Status::LBA_OUT_OF_RANGE)),
        ("more than MDTS", host.read(0, 129), Err(Status::INVALID_FIELD)),
        ("directive type", host.write(0, 1).with_cdw(12, 1 << 20), Err(Status::INVALID_FIELD)),
        ("unmapped", read.with_prps(64 << 40, 0), Err(Status::DATA_TRANSFER_ERROR)),
        ("unmapped write", host.write(0, 1).with_prps(64 << 40, 0), Err(Status::DATA_TRANSFER_ERROR)),
        ("PRP1 not of dwords", read.with_prps(host.data.address + 1, 0), Err(Status::PRP_OFFSET_INVALID)),
        (
            "PRP2 with an offset",
            host.read(0, 16).with_prps(host.data.address, host.data.address + 4104),
            Err(Status::PRP_OFFSET_INVALID),
        ),
        ("flush", transfer(IoOpcode::FLUSH, 0, 1), Ok(0)),
        ("flush of all", transfer(IoOpcode::FLUSH, 0, 1).with_nsid(ALL_NAMESPACES), Ok(0)),
        ("flush of none", transfer(IoOpcode::FLUSH, 0, 1).with_nsid(7), Err(Status::INVALID_NAMESPACE)),
        ("zone append", transfer(IoOpcode::ZONE_APPEND, 0, 1), Err(Status::INVALID_OPCODE)),
        ("reservations", SubmissionEntry::new(0x0d, 0).with_nsid(1), Err(Status::INVALID_OPCODE)),
        ("vendor specific", SubmissionEntry::new(0xc0, 0).with_nsid(1), Err(Status::INVALID_OPCODE)),
    ];
    check(&mut host, &cases);
    let entry = host.io_entry(read.with_nsid(2));
    assert!(entry.status().dnr() && entry.status().more(), "the same command would fail again; the log has it");
    let entry = host.io_entry(read.with_prps(64 << 40, 0));
    assert!(!entry.status().dnr());
}

#[test]
fn prp_lists_of_every_shape_move_the_right_bytes() {
    let mut host = Host::new("size=16M", 1);
    let list = iolab_pci_device::DmaMapper::allocate(&mut host.device, 4 * 4096).unwrap();
    // The pages are in descending order, so that none are adjacent.
    for (blocks, offset) in [(17u32, 0u64), (24, 512), (64, 4), (1000, 0), (2048, 0), (1500, 4092)] {
        let bytes = u64::from(blocks) * 512;
        let pages = (offset + bytes).div_ceil(4096);
        let page = |n: u64| host.data.address + (pages - 1 - n) * 4096;
        if pages * 4096 > DATA_BYTES as u64 {
            continue;
        }
        (1..pages)
            .for_each(|n| list.memory.store_u64(n as usize * 8 - 8, page(n), std::sync::atomic::Ordering::Relaxed));
        let at = |byte: u64| ((offset + byte) % 4096 + (pages - 1 - (offset + byte) / 4096) * 4096) as usize;
        let value = |byte: u64| (byte.wrapping_mul(31) >> 3) as u8;
        host.fill(0);
        (0..bytes).for_each(|byte| host.data.memory.write(at(byte), &[value(byte)]));
        let prp2 = if pages == 2 { page(1) } else { list.address };
        let prps = (page(0) + offset, prp2);
        assert_eq!(host.io(transfer(IoOpcode::WRITE, 5, blocks).with_prps(prps.0, prps.1)), Ok(0), "{blocks} {offset}");
        host.fill(0xaa);
        assert_eq!(host.io(transfer(IoOpcode::READ, 5, blocks).with_prps(prps.0, prps.1)), Ok(0));
        let data = host.bytes(DATA_BYTES);
        assert!((0..bytes).all(|byte| data[at(byte)] == value(byte)), "{blocks} {offset}");
        let outside = (pages * 4096) as usize;
        assert!(data[outside..].iter().all(|byte| *byte == 0xaa), "nothing outside of the pages");
    }
}

#[test]
fn sgls_scatter_gather_and_swallow() {
    let mut host = Host::new("size=16M", 1);
    for byte in 0..1024 {
        host.data.memory.write(byte, &[byte as u8 ^ (byte >> 8) as u8]);
    }
    let base = host.data.address;
    assert_eq!(host.io(transfer(IoOpcode::WRITE, 0, 2).with_sgl(SglDescriptor::data_block(base, 1024))), Ok(0));
    let list = [
        SglDescriptor::data_block(base + 8193, 100),
        SglDescriptor::new(SglType::BIT_BUCKET, SglSubtype::ADDRESS, 0, 412),
        SglDescriptor::data_block(base + 12000, 512),
    ];
    for (place, descriptor) in list.iter().enumerate() {
        host.data.memory.store_words(65536 + place * 16, descriptor.words, std::sync::atomic::Ordering::Relaxed);
    }
    host.data.memory.fill(0, 20000, 0);
    let command = transfer(IoOpcode::READ, 0, 2).with_sgl(SglDescriptor::last_segment(base + 65536, 48));
    assert_eq!(host.io(command), Ok(0));
    let data = host.bytes(20000);
    let value = |byte: usize| byte as u8 ^ (byte >> 8) as u8;
    assert!((0..100).all(|byte| data[8193 + byte] == value(byte)));
    assert!((0..512).all(|byte| data[12000 + byte] == value(512 + byte)));
    assert_eq!(
        data.iter().filter(|byte| **byte != 0).count(),
        (0..100).chain(512..1024).filter(|byte| value(*byte) != 0).count()
    );
    let short = transfer(IoOpcode::READ, 0, 2).with_sgl(SglDescriptor::data_block(base, 1023));
    assert_eq!(host.io(short), Err(Status::DATA_SGL_LENGTH_INVALID));
}

#[test]
fn ranges_are_zeroed_deallocated_compared_verified_and_spoiled() {
    let mut host = Host::new("size=16M", 1);
    let fill = |host: &mut Host, value: u8| {
        host.fill(value);
        assert_eq!(host.io(host.write(0, 16)), Ok(0));
    };
    fill(&mut host, 3);
    let plain = |opcode, lba, blocks| transfer(opcode, lba, blocks);
    let compare = |host: &Host, lba, blocks| {
        transfer(IoOpcode::COMPARE, lba, blocks).with_prps(host.data.address, host.second_page())
    };
    assert_eq!(host.io(compare(&host, 0, 16)), Ok(0));
    assert_eq!(host.io(plain(IoOpcode::WRITE_ZEROES, 4, 2)), Ok(0));
    assert_eq!(host.io(compare(&host, 0, 16)), Err(Status::COMPARE_FAILURE));
    assert_eq!(host.io(compare(&host, 0, 4)), Ok(0));
    host.fill(0);
    assert_eq!(host.io(compare(&host, 4, 2)), Ok(0));
    assert_eq!(host.io(plain(IoOpcode::WRITE_UNCORRECTABLE, 8, 2)), Ok(0));
    let cases = [
        ("read of a spoiled block", host.read(9, 1), Err(Status::UNRECOVERED_READ_ERROR)),
        ("read over spoiled blocks", host.read(0, 16), Err(Status::UNRECOVERED_READ_ERROR)),
        ("verify", plain(IoOpcode::VERIFY, 7, 2), Err(Status::UNRECOVERED_READ_ERROR)),
        ("compare", compare(&host, 8, 1), Err(Status::UNRECOVERED_READ_ERROR)),
        ("beside", host.read(10, 6), Ok(0)),
        ("verify beside", plain(IoOpcode::VERIFY, 0, 8), Ok(0)),
        ("written again", host.write(8, 1), Ok(0)),
        ("readable again", host.read(8, 1), Ok(0)),
        ("the other one is not", host.read(9, 1), Err(Status::UNRECOVERED_READ_ERROR)),
        ("zeroed", plain(IoOpcode::WRITE_ZEROES, 9, 1), Ok(0)),
        ("readable too", host.read(9, 1), Ok(0)),
        ("zeroes beyond", plain(IoOpcode::WRITE_ZEROES, 32767, 2), Err(Status::LBA_OUT_OF_RANGE)),
        ("spoil beyond", plain(IoOpcode::WRITE_UNCORRECTABLE, 32768, 1), Err(Status::LBA_OUT_OF_RANGE)),
        ("verify beyond", plain(IoOpcode::VERIFY, 32768, 1), Err(Status::LBA_OUT_OF_RANGE)),
    ];
    check(&mut host, &cases);
    assert_eq!(host.device.subsystem().totals().media_errors, 5);
}

#[test]
fn dataset_management_deallocates_all_ranges_or_none() {
    let mut host = Host::new("size=16M", 1);
    host.fill(3);
    let all = SglDescriptor::data_block(host.data.address, 64 * 512);
    assert_eq!(host.io(transfer(IoOpcode::WRITE, 0, 64).with_sgl(all)), Ok(0));
    let put = |host: &Host, place: usize, lba: u64, blocks: u32| {
        host.data.memory.write(place * 16, &[[0; 4], blocks.to_le_bytes()].concat());
        host.data.memory.write(place * 16 + 8, &lba.to_le_bytes());
    };
    let dsm = |host: &Host, ranges: u32, attributes: u32| {
        SubmissionEntry::new(IoOpcode::DATASET_MANAGEMENT.0, 0)
            .with_nsid(1)
            .with_prps(host.data.address, host.second_page())
            .with_cdw(10, ranges - 1)
            .with_cdw(11, attributes)
    };
    put(&host, 0, 0, 8);
    put(&host, 1, 32760, 9);
    assert_eq!(host.io(dsm(&host, 2, 4)), Err(Status::LBA_OUT_OF_RANGE));
    assert_eq!(host.io(host.read(0, 8)), Ok(0));
    assert_eq!(host.bytes(1), [3], "nothing was touched");
    host.fill(0);
    put(&host, 0, 0, 8);
    put(&host, 1, 16, 3);
    assert_eq!(host.io(dsm(&host, 2, 2)), Ok(0), "only a hint");
    assert_eq!(host.io(dsm(&host, 256, 4)), Ok(0), "the other 254 are empty");
    host.fill(9);
    assert_eq!(host.io(host.read(0, 16)), Ok(0));
    assert_eq!((host.bytes(4097)[4095], host.bytes(4097)[4096]), (0, 3));
}

#[test]
fn copies_move_blocks_within_a_namespace() {
    let mut host = Host::new("size=16M", 1);
    for lba in 0..32u8 {
        host.fill(lba);
        assert_eq!(host.io(host.write(u64::from(lba), 1)), Ok(0));
    }
    let put = |host: &Host, place: usize, lba: u64, blocks: u16| {
        host.data.memory.fill(place * 32, 32, 0);
        host.data.memory.write(place * 32 + 8, &lba.to_le_bytes());
        host.data.memory.write(place * 32 + 16, &(blocks - 1).to_le_bytes());
    };
    let copy = |host: &Host, to: u64, dword: u32| {
        SubmissionEntry::new(IoOpcode::COPY.0, 0)
            .with_nsid(1)
            .with_prps(host.data.address, host.second_page())
            .with_slba(to)
            .with_cdw(12, dword)
    };
    put(&host, 0, 3, 2);
    put(&host, 1, 20, 3);
    assert_eq!(host.io(copy(&host, 100, 1)), Ok(0));
    assert_eq!(host.io(host.read(100, 5)), Ok(0));
    let first: Vec<u8> = host.bytes(5 * 512).chunks(512).map(|block| block[0]).collect();
    assert_eq!(first, [3, 4, 20, 21, 22]);
    put(&host, 0, 3, 2);
    assert_eq!(host.io(copy(&host, 32767, 0)), Err(Status::LBA_OUT_OF_RANGE));
    assert_eq!(host.io(copy(&host, 0, 1 << 8)), Err(Status::INVALID_FIELD), "another format");
    assert_eq!(host.io(copy(&host, 0, 200)), Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED));
    put(&host, 0, 0, 5000);
    assert_eq!(host.io(copy(&host, 0, 0)), Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED));
}

#[test]
fn a_write_protected_namespace_is_only_read() {
    let mut host = Host::new("size=16M", 1);
    let protect = |on: u32| admin(AdminOpcode::SET_FEATURES).with_nsid(1).with_cdw(10, 0x84).with_cdw(11, on);
    assert_eq!(host.admin(protect(1)), Ok(0));
    let cases = [
        ("read", host.read(0, 1), Ok(0)),
        ("write", host.write(0, 1), Err(Status::NAMESPACE_WRITE_PROTECTED)),
        ("zeroes", transfer(IoOpcode::WRITE_ZEROES, 0, 1), Err(Status::NAMESPACE_WRITE_PROTECTED)),
        ("spoil", transfer(IoOpcode::WRITE_UNCORRECTABLE, 0, 1), Err(Status::NAMESPACE_WRITE_PROTECTED)),
    ];
    check(&mut host, &cases);
    assert_eq!(host.admin(admin(AdminOpcode::FORMAT_NVM).with_nsid(1)), Err(Status::NAMESPACE_WRITE_PROTECTED));
    assert_eq!(host.admin(protect(0)), Ok(0));
    assert_eq!(host.io(host.write(0, 1)), Ok(0));
}

#[test]
fn null_media_moves_nothing_and_a_file_keeps_everything() {
    let mut host = Host::new("size=16M media=null", 1);
    host.fill(5);
    assert_eq!(host.io(host.write(0, 8)), Ok(0));
    host.fill(6);
    assert_eq!(host.io(host.read(0, 8)), Ok(0));
    assert_eq!(host.bytes(1), [6]);
    let folder = tempfile::tempdir().unwrap();
    let config = format!("size=16M media=file:{}", folder.path().join("disk").display());
    let mut host = Host::new(&config, 1);
    host.fill(7);
    assert_eq!(host.io(host.write(100, 8)), Ok(0));
    assert_eq!(host.io(transfer(IoOpcode::FLUSH, 0, 1)), Ok(0));
    drop(host);
    let mut host = Host::new(&config, 1);
    assert_eq!(host.io(host.read(100, 8)), Ok(0));
    assert_eq!(host.bytes(1), [7]);
}
