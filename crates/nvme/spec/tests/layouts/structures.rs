//! Identify structures, log pages, features, zones and PDUs compared with bytes at the offsets of
//! the specification.

use iolab_nvme_spec::event::{AsynchronousEvent, EventType};
use iolab_nvme_spec::fabrics::tcp::*;
use iolab_nvme_spec::fabrics::*;
use iolab_nvme_spec::feature::*;
use iolab_nvme_spec::identify::*;
use iolab_nvme_spec::log::*;
use iolab_nvme_spec::zone::*;
use iolab_nvme_spec::{CompletionEntry, IntoBytes, Status, SubmissionEntry};

use crate::bytes::{bytes, read};

#[test]
fn identify_controller() {
    let it: IdentifyController = read(
        4096,
        &[
            (0, &[0x86, 0x80]),
            (4, b"SERIAL"),
            (24, b"MODEL"),
            (64, b"FW"),
            (77, &[5]),
            (78, &[1, 2]),
            (80, &[0, 4, 1, 0]),
            (92, &[0, 1, 0, 0]),
            (111, &[1]),
            (128, &[1, 0, 2, 0, 3, 0]),
            (256, &[0x0a, 0x01]),
            (258, &[3, 7]),
            (262, &[63]),
            (266, &[0x57, 0x01]),
            (280, &[1, 2, 3]),
            (296, &[4]),
            (328, &[7]),
            (336, &[9]),
            (352, &[8]),
            (512, &[0x66, 0x44]),
            (516, &[2]),
            (520, &[0x5d, 0x01]),
            (524, &[1, 7]),
            (526, &[1, 0, 2, 0]),
            (536, &[1, 0, 0x0f]),
            (768, b"nqn."),
            (1792, &[4, 0, 0, 0, 1, 0, 0, 0]),
            (1803, &[16]),
            (2048, &[0xc4, 0x09]),
            (2048 + 31 * 32, &[5]),
            (3072, &[0xee]),
        ],
    );
    assert_eq!(
        (it.vid.get(), &it.sn[..6], &it.mn[..5], &it.fr[..2]),
        (0x8086, &b"SERIAL"[..], &b"MODEL"[..], &b"FW"[..])
    );
    assert_eq!((it.mdts, it.cntlid.get(), it.ver.get(), it.oaes.get(), it.cntrltype), (5, 0x201, 0x10400, 0x100, 1));
    assert_eq!(it.crdt.map(|time| time.get()), [1, 2, 3]);
    let oacs = AdminCapabilities(it.oacs.get());
    assert!(oacs.format() && oacs.namespace_management() && oacs.doorbell_buffer() && !oacs.security());
    assert_eq!((it.acl, it.aerl, it.elpe, it.wctemp.get()), (3, 7, 63, 343));
    assert_eq!((it.tnvmcap.get(), it.unvmcap.get()), (0x03_0201, 4));
    assert_eq!((it.sanicap.get(), it.hmmaxd.get(), it.pels.get()), (7, 9, 8));
    let entry = QueueEntrySize(it.sqes);
    assert_eq!((entry.required(), entry.maximum(), it.cqes, it.nn.get()), (6, 6, 0x44, 2));
    let oncs = IoCapabilities(it.oncs.get());
    assert!(oncs.compare() && oncs.dataset_management() && oncs.write_zeroes() && oncs.copy() && !oncs.verify());
    assert_eq!((it.fna, VolatileWriteCache(it.vwc).flush_all()), (1, 3));
    assert_eq!((it.awun.get(), it.awupf.get()), (1, 2));
    let sgls = SglSupport(it.sgls.get());
    assert!(sgls.supported() == 1 && sgls.bit_bucket() && sgls.metadata_sgl() && !sgls.offset());
    assert_eq!(&it.subnqn[..4], b"nqn.");
    assert_eq!((it.ioccsz.get(), it.iorcsz.get(), it.msdbd), (4, 1, 16));
    assert_eq!((it.psd[0].mp.get(), it.psd[31].mp.get(), it.vs[0]), (2500, 5, 0xee));
}

#[test]
fn power_state() {
    let it: PowerStateDescriptor = read(
        32,
        &[
            (0, &[1]),
            (3, &[3]),
            (4, &[2]),
            (8, &[3]),
            (12, &[4, 5, 6, 7]),
            (16, &[8]),
            (18, &[9]),
            (20, &[10]),
            (22, &[11]),
        ],
    );
    assert_eq!((it.mp.get(), it.flags, it.enlat.get(), it.exlat.get()), (1, 3, 2, 3));
    assert_eq!((it.rrt, it.rrl, it.rwt, it.rwl), (4, 5, 6, 7));
    assert_eq!((it.idlp.get(), it.ips, it.actp.get(), it.apw), (8, 9, 10, 11));
}

#[test]
fn identify_namespace() {
    let it: IdentifyNamespace = read(
        4096,
        &[
            (0, &[0, 0, 1]),
            (8, &[0, 1]),
            (16, &[5]),
            (24, &[0x10, 17, 0x21, 3]),
            (33, &[9]),
            (34, &[7]),
            (46, &[8]),
            (48, &[0, 0, 0, 2]),
            (64, &[1, 0, 2, 0, 3, 0, 4, 0, 5, 0]),
            (74, &[6, 0, 7, 0, 0, 0, 8]),
            (92, &[1]),
            (99, &[1, 2, 0, 3, 0]),
            (104, &[0xaa]),
            (120, &[0xbb]),
            (128, &[0, 0, 9, 2]),
            (128 + 17 * 4, &[8, 0, 12, 0]),
            (384, &[0xcc]),
        ],
    );
    assert_eq!((it.nsze.get(), it.ncap.get(), it.nuse.get()), (65536, 256, 5));
    assert_eq!((it.nsfeat, it.nlbaf, FormattedSize(it.flbas).index(), it.mc), (0x10, 17, 17, 3));
    assert!(NamespaceFeatures(it.nsfeat).optimal_io());
    let dlfeat = DatasetCapabilities(it.dlfeat);
    assert_eq!((dlfeat.read_behavior(), dlfeat.write_zeroes_deallocates()), (1, true));
    assert_eq!((it.nawun.get(), it.noiob.get(), it.nvmcap.get()), (7, 8, 0x0200_0000));
    let preferred = [it.npwg, it.npwa, it.npdg, it.npda, it.nows].map(|field| field.get());
    assert_eq!(preferred, [1, 2, 3, 4, 5]);
    assert_eq!((it.mssrl.get(), it.mcl.get(), it.msrc), (6, 7, 8));
    assert_eq!((it.anagrpid.get(), it.nsattr, it.nvmsetid.get(), it.endgid.get()), (1, 1, 2, 3));
    assert_eq!((it.nguid[0], it.eui64[0], it.vs[0]), (0xaa, 0xbb, 0xcc));
    assert_eq!((it.lbaf[0].lbads, it.lbaf[0].rp), (9, 2));
    assert_eq!((it.format().ms.get(), it.format().lbads), (8, 12));
}

#[test]
fn identify_command_set_structures() {
    let it: IdentifyZonedNamespace = read(
        4096,
        &[
            (0, &[2]),
            (2, &[1]),
            (4, &[13]),
            (8, &[12]),
            (20, &[1]),
            (44, &[4]),
            (48, &[5]),
            (50, &[6]),
            (52, &[1]),
            (2816 + 16, &[0, 0, 1]),
            (2816 + 24, &[2]),
            (3840, &[0xdd]),
        ],
    );
    assert_eq!((it.zoc.get(), it.ozcs.get(), it.mar.get(), it.mor.get()), (2, 1, 13, 12));
    assert_eq!((it.rrl_more[0].get(), it.numzrwa.get(), it.zrwafg.get(), it.zrwasz.get(), it.zrwacap), (1, 4, 5, 6, 1));
    assert_eq!((it.lbafe[1].zsze.get(), it.lbafe[1].zdes, it.vs[0]), (65536, 2, 0xdd));
    let zoned: IdentifyZonedController = read(4096, &[(0, &[5])]);
    assert_eq!(zoned.zasl, 5);
    let limits: NvmControllerLimits = read(4096, &[(0, &[1, 2, 3, 4]), (4, &[5]), (8, &[6])]);
    assert_eq!((limits.vsl, limits.wzsl, limits.wusl, limits.dmrl), (1, 2, 3, 4));
    assert_eq!((limits.dmrsl.get(), limits.dmsl.get()), (5, 6));
    let nvm: IdentifyNvmNamespace = read(4096, &[(0, &[1]), (8, &[2]), (12, &[3]), (264, &[4])]);
    assert_eq!((nvm.lbstm.get(), nvm.pic, nvm.elbaf[0].get(), nvm.elbaf[63].get()), (1, 2, 3, 4));
}

#[test]
fn identify_lists() {
    let list: NamespaceList = read(4096, &[(0, &[1, 0, 0, 0, 7]), (4092, &[9])]);
    assert_eq!((list.identifiers[0].get(), list.identifiers[1].get(), list.identifiers[1023].get()), (1, 7, 9));
    let list: ControllerList = read(4096, &[(0, &[2, 0, 5, 0, 6, 0])]);
    assert_eq!((list.count.get(), list.identifiers[0].get(), list.identifiers[1].get()), (2, 5, 6));
    let head: NamespaceIdentifierHeader = read(4, &[(0, &[3, 16])]);
    assert_eq!((IdentifierType(head.nidt), head.nidl), (IdentifierType::UUID, 16));
    let sets: CommandSetVectors = read(4096, &[(0, &[1]), (8, &[5])]);
    assert_eq!((sets.vectors[0].get(), sets.vectors[1].get()), (1, 5));
    let primary: PrimaryIdentifiers = read(4096, &[(0, &[1, 0, 2, 0, 3])]);
    assert_eq!((primary.cntlid.get(), primary.portid.get(), primary.crt), (1, 2, 3));
}

#[test]
fn error_and_health_logs() {
    let it: ErrorLogEntry = read(
        64,
        &[
            (0, &[9]),
            (8, &[1, 0, 2, 0, 3, 0, 0x28, 0x05]),
            (16, &[7]),
            (24, &[4]),
            (28, &[5, 6]),
            (32, &[8]),
            (40, &[10]),
        ],
    );
    assert_eq!((it.error_count.get(), it.sqid.get(), it.cid.get(), it.status.get()), (9, 1, 2, 3));
    let place = ParameterLocation(it.parameter_error_location.get());
    assert_eq!((place.byte(), place.bit()), (40, 5));
    assert_eq!((it.lba.get(), it.nsid.get(), it.vendor_log_page, it.trtype), (7, 4, 5, 6));
    assert_eq!((it.command_specific.get(), it.transport_specific.get()), (8, 10));
    let it: HealthLog = read(
        512,
        &[
            (0, &[2, 0x2c, 0x01, 100, 10, 3, 1]),
            (32, &[1]),
            (48, &[2]),
            (64, &[3]),
            (80, &[4]),
            (96, &[5]),
            (112, &[6]),
            (128, &[7]),
            (144, &[8]),
            (160, &[9]),
            (176, &[10]),
            (192, &[11]),
            (196, &[12]),
            (200, &[13]),
            (214, &[14]),
            (216, &[15]),
            (228, &[16]),
        ],
    );
    assert!(CriticalWarning(it.critical_warning).temperature());
    assert_eq!((it.composite_temperature.get(), it.available_spare, it.available_spare_threshold), (300, 100, 10));
    assert_eq!((it.percentage_used, it.endurance_group_warning), (3, 1));
    let counters = [
        it.data_units_read,
        it.data_units_written,
        it.host_read_commands,
        it.host_write_commands,
        it.controller_busy_time,
        it.power_cycles,
        it.power_on_hours,
        it.unsafe_shutdowns,
        it.media_errors,
        it.error_log_entries,
    ];
    assert_eq!(counters.map(|counter| counter.get()), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert_eq!((it.warning_temperature_time.get(), it.critical_temperature_time.get()), (11, 12));
    assert_eq!((it.temperature_sensors[0].get(), it.temperature_sensors[7].get()), (13, 14));
    assert_eq!((it.thermal_transitions[0].get(), it.thermal_seconds[1].get()), (15, 16));
}

#[test]
fn other_logs() {
    let slots: FirmwareSlots = read(512, &[(0, &[0x21]), (8, b"ONE     TWO")]);
    assert_eq!((slots.afi, &slots.frs[0], &slots.frs[1][..3]), (0x21, b"ONE     ", &b"TWO"[..]));
    let changed: ChangedNamespaces = read(4096, &[(0, &[0xff; 4])]);
    assert_eq!(changed.identifiers[0].get(), u32::MAX);
    let zones: ChangedZones = read(4096, &[(0, &[2]), (8, &[0, 1]), (16, &[0, 2])]);
    assert_eq!((zones.nrzid.get(), zones.zid[0].get(), zones.zid[1].get()), (2, 256, 512));
    let effects: CommandsSupported = read(4096, &[(6 * 4, &[1]), (1024 + 4, &[3, 0, 1])]);
    assert!(CommandEffects(effects.acs[6].get()).csupp());
    let write = CommandEffects(effects.iocs[1].get());
    assert_eq!((write.csupp(), write.lbcc(), write.cse()), (true, true, 1));
    let sanitize: SanitizeLog =
        read(512, &[(0, &[0xff, 0xff]), (2, &[1, 1]), (4, &[2]), (8, &[3]), (16, &[4]), (28, &[5])]);
    assert_eq!((sanitize.sprog.get(), SanitizeState(sanitize.sstat.get() & 7)), (0xffff, SanitizeState::SUCCEEDED));
    assert_eq!((sanitize.scdw10.get(), sanitize.estimated[0].get(), sanitize.estimated[2].get()), (2, 3, 4));
    assert_eq!(sanitize.estimated_no_deallocate[2].get(), 5);
}

#[test]
fn features_and_events() {
    let stamp = Timestamp::new(0x0102_0304_0506, TimestampAttributes(0).with_origin(1));
    assert_eq!(stamp.as_bytes(), [6, 5, 4, 3, 2, 1, 2, 0]);
    assert_eq!(stamp.milliseconds(), 0x0102_0304_0506);
    let behaviour: HostBehavior = read(512, &[(0, &[1, 0, 1])]);
    assert_eq!((behaviour.acre, behaviour.lbafee), (1, 1));
    let memory: HostMemoryDescriptor = read(16, &[(0, &[0, 0x10]), (8, &[4])]);
    assert_eq!((memory.badd.get(), memory.bsize.get()), (0x1000, 4));
    let power: AutonomousPowerStateTransition = read(256, &[(8, &[0x20])]);
    assert_eq!(power.entries[1].get(), 0x20);
    let range: RangeType = read(64, &[(0, &[1, 2]), (16, &[3]), (24, &[4]), (32, &[5])]);
    assert_eq!((range.kind, range.attributes, range.slba.get(), range.nlb.get(), range.guid[0]), (1, 2, 3, 4, 5));
    for (what, value, expected) in [
        ("arbitration", ArbitrationFeature(0).with_ab(7).with_lpw(1).with_mpw(2).with_hpw(3).0, 0x0302_0107),
        ("power", PowerManagement(0).with_ps(3).with_wh(1).0, 0x23),
        ("temperature", TemperatureThreshold(0).with_tmpth(343).with_thsel(1).0, 0x0010_0157),
        ("queues", QueueCount(0).with_nsq(31).with_ncq(15).0, 0x000f_001f),
        ("coalescing", InterruptCoalescing(0).with_thr(8).with_time(2).0, 0x0208),
        ("vector", InterruptVectorConfiguration(0).with_iv(3).with_cd(true).0, 0x0001_0003),
        (
            "events",
            EventConfiguration(0).with_health(0x1f).with_namespace_attribute(true).with_zone_descriptor(true).0,
            0x0800_011f,
        ),
        ("memory", HostMemoryBuffer(0).with_mr(true).0, 2),
        ("cache", WriteCache(0).with_wce(true).0, 1),
    ] {
        assert_eq!(value, expected, "{what}");
    }
    let event = AsynchronousEvent::new(EventType::NOTICE, 0, 4);
    assert_eq!((event.0, event.name()), (0x0004_0002, Some("Namespace Attribute Changed")));
}

#[test]
fn zones() {
    let head: ZoneReportHeader = read(64, &[(0, &[0, 1])]);
    assert_eq!(head.number_of_zones.get(), 256);
    let it: ZoneDescriptor = read(64, &[(0, &[2, 0xe0, 0x84, 1]), (8, &[1]), (16, &[2]), (24, &[3])]);
    assert_eq!((it.zone_type(), it.state()), (ZoneType::SEQUENTIAL_WRITE_REQUIRED, ZoneState::FULL));
    assert_eq!((it.za, it.zai, it.zcap.get(), it.zslba.get(), it.wp.get()), (0x84, 1, 1, 2, 3));
}

#[test]
fn fabrics_commands() {
    let it: ConnectCommand =
        read(64, &[(0, &[0x7f, 0x40, 1, 0, 1]), (24, &[5]), (42, &[2, 0, 31, 0, 4]), (48, &[0x10, 0x27])]);
    assert_eq!((it.opcode, it.psdt, it.cid.get(), it.fctype, it.sgl1[0]), (0x7f, 0x40, 1, 1, 5));
    assert_eq!((it.qid.get(), it.sqsize.get(), it.cattr, it.kato.get()), (2, 31, 4, 10_000));
    let it: ConnectData = read(1024, &[(0, &[7]), (16, &[0xff, 0xff]), (256, b"sub"), (512, b"host")]);
    assert_eq!(
        (it.hostid[0], it.cntlid.get(), &it.subnqn[..3], &it.hostnqn[..4]),
        (7, 0xffff, &b"sub"[..], &b"host"[..])
    );
    let it: PropertyGet = read(64, &[(4, &[4]), (40, &[1]), (44, &[0x1c])]);
    assert_eq!((it.fctype, it.attrib, it.ofst.get()), (4, 1, 0x1c));
    let it: PropertySet = read(64, &[(40, &[0]), (44, &[0x14]), (48, &[1, 0, 0x46])]);
    assert_eq!((it.attrib, it.ofst.get(), it.value.get()), (0, 0x14, 0x46_0001));
    let it: DisconnectCommand = read(64, &[(4, &[8]), (40, &[1])]);
    assert_eq!((it.fctype, it.recfmt.get()), (8, 1));
}

#[test]
fn discovery() {
    let it: DiscoveryHeader = read(1024, &[(0, &[3]), (8, &[2]), (16, &[1])]);
    assert_eq!((it.genctr.get(), it.numrec.get(), it.recfmt.get()), (3, 2, 1));
    let it: DiscoveryEntry = read(
        1024,
        &[(0, &[3, 1, 2, 0, 4, 0, 0xff, 0xff, 0x80, 0]), (32, b"4420"), (256, b"nqn"), (512, b"10."), (768, &[1])],
    );
    assert_eq!(
        (TransportType(it.trtype), it.adrfam, SubsystemType(it.subtype)),
        (TransportType::TCP, 1, SubsystemType::NVM)
    );
    assert_eq!((it.portid.get(), it.cntlid.get(), it.asqsz.get()), (4, 0xffff, 128));
    assert_eq!(
        (&it.trsvcid[..4], &it.subnqn[..3], &it.traddr[..3], it.tsas[0]),
        (&b"4420"[..], &b"nqn"[..], &b"10."[..], 1)
    );
}

#[test]
fn pdus() {
    let it: IcReq = read(128, &[(0, &[0, 0, 128, 0, 128]), (8, &[0, 0, 1, 3]), (12, &[15])]);
    assert_eq!((it.header.kind, it.header.hlen, it.header.plen.get()), (PduType::IC_REQ.0, 128, 128));
    assert_eq!((it.hpda, it.dgst, it.maxr2t.get()), (1, 3, 15));
    let it: IcResp = read(128, &[(10, &[2, 1]), (12, &[0, 0, 2])]);
    assert_eq!((it.cpda, it.dgst, it.maxh2cdata.get()), (2, 1, 131_072));
    let it: TermReq = read(24, &[(8, &[3, 0, 1, 2, 3, 4])]);
    assert_eq!((FatalError(it.fes.get()), it.fei.get()), (FatalError::HEADER_DIGEST_ERROR, 0x0403_0201));
    let it: DataPdu = read(24, &[(0, &[7, 0x0c, 24, 24, 0x18, 0x10]), (8, &[1, 0, 2, 0, 3, 0, 0, 0, 4])]);
    let flags = PduFlags(it.header.flags);
    assert!(flags.last() && flags.success() && !flags.hdgst() && !flags.ddgst());
    assert_eq!((it.header.pdo, it.header.plen.get()), (24, 4120));
    assert_eq!((it.cccid.get(), it.ttag.get(), it.datao.get(), it.datal.get()), (1, 2, 3, 4));
    let it: R2t = read(24, &[(8, &[1, 0, 2, 0, 3, 0, 0, 0, 4])]);
    assert_eq!((it.cccid.get(), it.ttag.get(), it.r2to.get(), it.r2tl.get()), (1, 2, 3, 4));
}

#[test]
fn capsules() {
    let header: PduHeader = read(8, &[(0, &[4, 0, 72, 0, 72])]);
    let capsule = CapsuleCmd { header, entry: SubmissionEntry::new(2, 9).with_nsid(1) };
    let expected = bytes(72, &[(0, &[4, 0, 72, 0, 72]), (8, &[2, 0, 9, 0, 1])]);
    assert_eq!(capsule.as_bytes(), expected);
    let response = CapsuleResp { header, entry: CompletionEntry::new(1, 9, Status::INVALID_FIELD) };
    let expected = bytes(24, &[(0, &[4, 0, 72, 0, 72]), (8 + 10, &[1, 0, 9, 0, 4])]);
    assert_eq!(response.as_bytes(), expected);
}
