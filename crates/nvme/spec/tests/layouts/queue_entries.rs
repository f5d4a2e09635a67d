//! Submission and completion entries, SGL descriptors and dwords compared with bytes taken from the
//! specification.

use iolab_nvme_spec::command::*;
use iolab_nvme_spec::sgl::{SglDescriptor, SglSubtype, SglType};
use iolab_nvme_spec::zone::{ZoneReceive, ZoneSend};
use iolab_nvme_spec::{CompletionEntry, IntoBytes, IoOpcode, Status, SubmissionEntry};

use crate::bytes::{bytes, read};

#[test]
fn a_read_command_lies_in_memory_as_the_specification_draws_it() {
    let entry = SubmissionEntry::new(IoOpcode::READ.0, 0xbeef)
        .with_nsid(0x0403_0201)
        .with_mptr(0x2827_2625_2423_2221)
        .with_prps(0x3837_3635_3433_3231, 0x4847_4645_4443_4241)
        .with_slba(0x5857_5655_5453_5251)
        .with_cdw(12, ReadWriteDword12(0).with_nlb(7).with_fua(true).0)
        .with_cdw(15, 0x6463_6261);
    let expected = bytes(
        64,
        &[
            (0, &[0x02, 0x00, 0xef, 0xbe]),
            (4, &[1, 2, 3, 4]),
            (16, &[0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28]),
            (24, &[0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38]),
            (32, &[0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48]),
            (40, &[0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58]),
            (48, &[0x07, 0x00, 0x00, 0x40]),
            (60, &[0x61, 0x62, 0x63, 0x64]),
        ],
    );
    assert_eq!(entry.as_bytes(), expected);
}

#[test]
fn every_dword_of_a_command_is_where_its_number_says() {
    for index in 0..16 {
        let at = [0xa1, 0xb2, 0xc3, 0xd4];
        let entry: SubmissionEntry = read(64, &[(index * 4, &at)]);
        assert_eq!(entry.cdw(index), 0xd4c3_b2a1, "dword {index}");
        assert_eq!(SubmissionEntry::default().with_cdw(index, 0xd4c3_b2a1), entry, "dword {index}");
        let full = SubmissionEntry { words: [u64::MAX; 8] }.with_cdw(index, 0);
        assert_eq!((0..16).filter(|other| full.cdw(*other) == 0).collect::<Vec<_>>(), [index]);
    }
}

#[test]
fn an_sgl_replaces_both_prps_and_says_so() {
    let entry = SubmissionEntry::new(1, 0).with_sgl(SglDescriptor::last_segment(0x1122_3344_5566_7788, 0x30));
    let expected = bytes(
        64,
        &[
            (0, &[0x01, 0x40]),
            (24, &[0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11]),
            (32, &[0x30, 0, 0, 0, 0, 0, 0, 0x30]),
        ],
    );
    assert_eq!(entry.as_bytes(), expected);
    assert_eq!(entry.sgl1().kind(), SglType::LAST_SEGMENT);
}

#[test]
fn sgl_descriptors() {
    for (descriptor, last_byte) in [
        (SglDescriptor::data_block(0x10, 0x0102_0304), 0x00),
        (SglDescriptor::segment(0x10, 0x0102_0304), 0x20),
        (SglDescriptor::last_segment(0x10, 0x0102_0304), 0x30),
        (SglDescriptor::in_capsule(0x10, 0x0102_0304), 0x01),
    ] {
        let expected = bytes(16, &[(0, &[0x10]), (8, &[4, 3, 2, 1]), (15, &[last_byte])]);
        assert_eq!(descriptor.as_bytes(), expected);
    }
    let transport = SglDescriptor::transport(0x1000);
    assert_eq!(transport.as_bytes(), bytes(16, &[(9, &[0x10]), (15, &[0x5a])]));
    assert_eq!(transport.subtype(), SglSubtype::TRANSPORT);
}

#[test]
fn a_completion_lies_in_memory_as_the_specification_draws_it() {
    let parts: &[(usize, &[u8])] = &[
        (0, &[0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08]),
        (8, &[0x22, 0x11]),
        (10, &[0x44, 0x33]),
        (12, &[0x66, 0x55]),
        // Phase 1, SC 81h, SCT 2, More, Do Not Retry.
        (14, &[0b0000_0011, 0b1100_0101]),
    ];
    let entry: CompletionEntry = read(16, parts);
    assert_eq!((entry.dw0(), entry.dw1(), entry.result()), (0x0403_0201, 0x0807_0605, 0x0807_0605_0403_0201));
    assert_eq!((entry.sqhd(), entry.sqid(), entry.cid(), entry.phase()), (0x1122, 0x3344, 0x5566, true));
    let status = entry.status();
    assert_eq!((status.sc(), status.sct(), status.crd(), status.more(), status.dnr()), (0x81, 2, 0, true, true));
    assert_eq!(status.code(), Status::UNRECOVERED_READ_ERROR);
    let made = CompletionEntry::new(0x3344, 0x5566, status)
        .with_sqhd(0x1122)
        .with_phase(true)
        .with_result(0x0807_0605_0403_0201);
    assert_eq!(made.as_bytes(), bytes(16, parts));
    assert!(!made.with_phase(false).phase());
}

#[test]
fn a_status_displays_the_name_of_the_specification() {
    for (status, expected) in [
        (Status(0), "Successful Completion (SCT 0x0, SC 0x00)"),
        (Status(0x4281), "Unrecovered Read Error (SCT 0x2, SC 0x81, do not retry)"),
        (Status(0x01b8), "Zone Boundary Error (SCT 0x1, SC 0xb8)"),
        (Status(0x0080), "LBA Out of Range (SCT 0x0, SC 0x80)"),
        (Status(0x0771), "unknown status (SCT 0x7, SC 0x71)"),
    ] {
        assert_eq!(status.to_string(), expected);
    }
    assert!(Status(0x2000).is_success(), "flags are not part of the code");
    assert!(!Status(0x0100).is_success(), "code zero of another type is a failure");
}

#[test]
fn command_dwords() {
    for (what, dword, expected) in [
        ("identify", IdentifyDword10(0).with_cns(0x1c).with_cntid(0x1234).0, 0x1234_001c),
        ("identify csi", IdentifyDword11(0).with_csi(2).with_cnssid(5).0, 0x0200_0005),
        ("log", LogDword10(0).with_lid(2).with_numdl(0x7f).with_rae(true).0, 0x007f_8002),
        ("log csi", LogDword14(0).with_csi(2).0, 0x0200_0000),
        ("feature", FeatureDword10(0).with_fid(7).with_sel(3).0, 0x0000_0307),
        ("feature save", FeatureDword10(0).with_fid(6).with_sv(true).0, 0x8000_0006),
        ("abort", AbortDword10(0).with_sqid(1).with_cid(0xabcd).0, 0xabcd_0001),
        ("queue", QueueDword10(0).with_qid(3).with_qsize(0x3ff).0, 0x03ff_0003),
        ("cq", CreateCqDword11(0).with_pc(true).with_ien(true).with_iv(2).0, 0x0002_0003),
        ("sq", CreateSqDword11(0).with_pc(true).with_qprio(2).with_cqid(3).0, 0x0003_0005),
        ("write", ReadWriteDword12(0).with_lr(true).with_prchk(7).with_pract(true).0, 0xbc00_0000),
        ("write zeroes", ReadWriteDword12(0).with_deac(true).with_nlb(0xffff).0, 0x0200_ffff),
        ("dataset", DatasetAttributes(0).with_ad(true).0, 4),
        ("copy", CopyDword12(0).with_nr(3).with_fua(true).0, 0x4000_0003),
        ("format", FormatDword10(0).with_lbafl(1).with_ses(2).with_pi(1).0, 0x0000_0421),
        ("firmware", FirmwareCommitDword10(0).with_fs(2).with_ca(3).0, 0x0000_001a),
        ("sanitize", SanitizeDword10(0).with_sanact(3).with_owpass(2).with_ndas(true).0, 0x0000_0223),
        ("security", SecurityDword10(0).with_secp(0xea).with_spsp(0x0102).0, 0xea01_0200),
        ("zone send", ZoneSend(0).with_zsa(4).with_select_all(true).0, 0x0000_0104),
        ("zone receive", ZoneReceive(0).with_zrasf(5).with_partial(true).0, 0x0001_0500),
    ] {
        assert_eq!(dword, expected, "{what}");
    }
}

#[test]
fn ranges() {
    let range = DatasetRange::new(0x0102_0304_0506_0708, 0x1112_1314);
    let expected = bytes(16, &[(4, &[0x14, 0x13, 0x12, 0x11]), (8, &[8, 7, 6, 5, 4, 3, 2, 1])]);
    assert_eq!(range.as_bytes(), expected);
    let copy: CopyDescriptor = read(32, &[(8, &[9]), (16, &[7, 1]), (24, &[1, 2, 3, 4]), (28, &[5]), (30, &[6])]);
    assert_eq!((copy.slba.get(), copy.nlb.get(), copy.eilbrt.get()), (9, 0x107, 0x0403_0201));
    assert_eq!((copy.elbat.get(), copy.elbatm.get()), (5, 6));
}
