//! The persistent state of a drive in a file: the process ends, with or without a flush, and
//! another one opens the same file.

use iolab_nvme_spec::zone::{ZoneSendAction, ZoneState};
use iolab_nvme_spec::{AdminOpcode, Status};
use iolab_virtual_ssd::{Config, ConfigError};

use crate::host::{Host, admin, drive, identify};
use crate::zoned::{ZONE, append, send, zone};

/// A drive in its own folder.
struct Kept {
    folder: tempfile::TempDir,
}

impl Kept {
    fn new() -> Kept {
        Kept { folder: tempfile::tempdir().unwrap() }
    }

    fn config(&self, more: &str) -> String {
        format!("size=16M media=file:{} {more}", self.folder.path().join("disk").display())
    }

    fn state(&self) -> std::path::PathBuf {
        self.folder.path().join("disk.state")
    }

    fn host(&self, more: &str) -> Host {
        Host::new(&self.config(more), 1)
    }

    fn refusal(&self, more: &str) -> String {
        match drive(Config::parse(&self.config(more)).unwrap()) {
            Err(error @ ConfigError::State { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }
}

const ZONES: &str = "zone=1M zone_capacity=768k max_open=3 max_active=5";

#[test]
fn zones_come_back_as_they_were() {
    let kept = Kept::new();
    let mut host = kept.host(ZONES);
    host.fill(0x5a);
    for (command, what) in [
        (host.write(0, 8), "zone 0 is implicitly open"),
        (append(&host, 0, 4), "and goes on"),
        (host.write(ZONE, 8), "zone 1 will be closed"),
        (send(1, ZONE), "close"),
        (host.write(2 * ZONE, 8), "zone 2 will be finished"),
        (send(2, 2 * ZONE), "finish"),
        (send(3, 3 * ZONE), "zone 3 is explicitly open and has nothing"),
        (host.write(4 * ZONE, 8), "zone 4 will be reset"),
        (send(4, 4 * ZONE), "reset"),
    ] {
        host.io(command).unwrap_or_else(|status| panic!("{what}: {status}"));
    }
    // There is neither a flush nor a shutdown, as if the process was killed.
    drop(host);
    let mut host = kept.host(ZONES);
    let expected = [
        (ZoneState::CLOSED, 12),
        (ZoneState::CLOSED, ZONE + 8),
        (ZoneState::FULL, u64::MAX),
        (ZoneState::EMPTY, 3 * ZONE),
        (ZoneState::EMPTY, 4 * ZONE),
    ];
    for (number, (state, pointer)) in expected.into_iter().enumerate() {
        let (found, at) = zone(&mut host, number as u64 * ZONE);
        assert_eq!(found, state.0, "zone {number}");
        assert!(state == ZoneState::FULL || at == pointer, "zone {number}: {at}");
    }
    host.fill(0);
    assert_eq!(host.io(host.read(0, 8)), Ok(0));
    assert!(host.bytes(4096).iter().all(|byte| *byte == 0x5a), "the data, too");
    assert_eq!(host.io(host.write(0, 8)), Err(Status::ZONE_INVALID_WRITE));
    assert_eq!(host.io(append(&host, 0, 4)), Ok(12), "writing goes on at the pointer");
    // Two zones are active, so three more are allowed.
    for number in 5..8 {
        assert_eq!(host.io(host.write(number * ZONE, 8)), Ok(0), "zone {number}");
    }
    assert_eq!(host.io(host.write(8 * ZONE, 8)), Err(Status::TOO_MANY_ACTIVE_ZONES));
    assert_eq!(host.io(send(u32::from(ZoneSendAction::RESET.0) | 1 << 8, 0)), Ok(0));
    drop(host);
    let mut host = kept.host(ZONES);
    assert_eq!(zone(&mut host, 0), (ZoneState::EMPTY.0, 0));
}

#[test]
fn namespaces_and_formats_come_back() {
    let kept = Kept::new();
    let mut host = kept.host("namespaces=2");
    host.fill(0x77);
    assert_eq!(host.io(host.write(0, 8)), Ok(0));
    assert_eq!(host.admin(admin(AdminOpcode::FORMAT_NVM).with_nsid(2).with_cdw(10, 1)), Ok(0));
    drop(host);
    let mut host = kept.host("namespaces=2");
    let blocks_of = |host: &mut Host, nsid| {
        let data = host.fetch(identify(0, nsid), 32).unwrap();
        (u64::from_le_bytes(data[..8].try_into().unwrap()), data[26])
    };
    assert_eq!(blocks_of(&mut host, 1), ((16 << 20) / 512, 0));
    assert_eq!(blocks_of(&mut host, 2), ((16 << 20) / 4096, 1));
    host.fill(0);
    assert_eq!(host.io(host.read(0, 8)), Ok(0));
    assert!(host.bytes(4096).iter().all(|byte| *byte == 0x77));
    let delete = admin(AdminOpcode::NAMESPACE_MANAGEMENT).with_nsid(2).with_cdw(10, 1);
    assert_eq!(host.admin(delete), Ok(0));
    drop(host);
    let mut host = kept.host("namespaces=2");
    assert_eq!(host.fetch(identify(2, 0), 8), Ok(vec![1, 0, 0, 0, 0, 0, 0, 0]), "one is left");
    assert_eq!(host.admin(delete), Err(Status::INVALID_FIELD));
}

#[test]
fn a_format_of_zones_empties_them_for_good() {
    let kept = Kept::new();
    let mut host = kept.host(ZONES);
    assert_eq!(host.io(host.write(0, 8)), Ok(0));
    assert_eq!(host.admin(admin(AdminOpcode::FORMAT_NVM).with_nsid(1).with_cdw(10, 1)), Ok(0));
    assert_eq!(host.io(host.write(0, 2)), Ok(0), "two blocks of 4096 now");
    drop(host);
    let mut host = kept.host(ZONES);
    assert_eq!(zone(&mut host, 0), (ZoneState::CLOSED.0, 2));
    assert_eq!(zone(&mut host, ZONE / 8), (ZoneState::EMPTY.0, ZONE / 8), "blocks are larger");
}

#[test]
fn another_device_and_a_torn_file_are_refused() {
    let kept = Kept::new();
    drop(kept.host(ZONES));
    let said = kept.refusal("");
    assert!(said.contains("disk.state") && said.contains("no zones") && said.contains("remove it"), "{said}");
    assert!(kept.refusal("namespaces=2 zone=1M").contains("1 namespaces"));
    let mut bytes = std::fs::read(kept.state()).unwrap();
    bytes[4096 + 4 * 8 + 5] ^= 1;
    std::fs::write(kept.state(), &bytes).unwrap();
    let said = kept.refusal(ZONES);
    assert!(said.contains("cell 4") && said.contains("damaged"), "{said}");
    std::fs::write(kept.state(), "a shopping list").unwrap();
    assert!(kept.refusal(ZONES).contains("not a state file of a virtual SSD"));
    std::fs::remove_file(kept.state()).unwrap();
    let mut host = kept.host(ZONES);
    assert_eq!(zone(&mut host, 0), (ZoneState::EMPTY.0, 0), "without the file it starts anew");
}

#[test]
fn a_drive_is_used_by_one_at_a_time() {
    let kept = Kept::new();
    let first = kept.host("");
    let second = drive(Config::parse(&kept.config("")).unwrap());
    assert!(matches!(second, Err(ConfigError::InUse { .. })), "{second:?}");
    drop(first);
    kept.host("");
}
