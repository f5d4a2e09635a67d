//! Hazards of fixture machines, and of real files.

use std::path::Path;

use iolab_observe::{Fixture, System};

use crate::{Hazard, hazards_at};

/// sda with two partitions, sdb bare, loop0 unused.
fn machine() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.disk("sda", "8:0").partition("sda", "sda1", "8:1").partition("sda", "sda2", "8:2");
    fixture.disk("sdb", "8:16").disk("loop0", "7:0");
    for (name, number) in [("sda", "8:0"), ("sda/sda1", "8:1"), ("sda/sda2", "8:2"), ("sdb", "8:16"), ("loop0", "7:0")]
    {
        fixture.file(&format!("sys/devices/{name}/dev"), &format!("{number}\n"));
        fixture.place(&format!("/dev/{}", name.rsplit('/').next().unwrap()), number);
    }
    fixture.file("proc/swaps", "Filename Type Size Used Priority\n").file("proc/self/mountinfo", "");
    fixture
}

fn sentences(fixture: &Fixture, path: &str) -> Vec<String> {
    hazards_at(&fixture.system(), Path::new(path)).iter().map(Hazard::to_string).collect()
}

#[test]
fn a_bare_disk_is_free() {
    assert_eq!(sentences(&machine(), "/dev/sdb"), [] as [&str; 0]);
}

#[test]
fn a_mounted_partition_protects_its_disk_and_itself_but_not_its_sibling() {
    let mut fixture = machine();
    fixture.file("proc/self/mountinfo", "1 0 8:1 / /home\\040dir rw - ext4 /dev/sda1 rw\n");
    assert_eq!(
        sentences(&fixture, "/dev/sda"),
        ["/dev/sda: sda1 is mounted on /home dir", "/dev/sda: it has partitions (sda1, sda2)"]
    );
    assert_eq!(sentences(&fixture, "/dev/sda1"), ["/dev/sda1: sda1 is mounted on /home dir"]);
    assert_eq!(sentences(&fixture, "/dev/sda2"), [] as [&str; 0]);
}

#[test]
fn a_disk_mounted_whole_protects_its_partitions() {
    let mut fixture = machine();
    fixture.file("proc/self/mountinfo", "1 0 8:0 / /odd rw - iso9660 /dev/sda rw\n");
    assert_eq!(sentences(&fixture, "/dev/sda2"), ["/dev/sda2: sda is mounted on /odd"]);
}

#[test]
fn an_anonymous_mount_is_known_by_its_source() {
    let mut fixture = machine();
    fixture.file("proc/self/mountinfo", "1 0 0:50 / /data rw - btrfs /dev/sdb rw\n");
    assert_eq!(sentences(&fixture, "/dev/sdb"), ["/dev/sdb: sdb is mounted on /data"]);
}

#[test]
fn swap_and_holders_and_loops_protect() {
    let mut fixture = machine();
    fixture.file("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1 0 -2\n");
    assert_eq!(sentences(&fixture, "/dev/sda2"), ["/dev/sda2: /dev/sda2 is in use as swap"]);
    fixture.disk("dm-0", "252:0").slave("dm-0", "sdb");
    assert_eq!(sentences(&fixture, "/dev/sdb"), ["/dev/sdb: sdb is part of dm-0, which is in use"]);
    fixture.file("sys/block/loop0/loop/backing_file", "/dev/sda1\n");
    assert_eq!(sentences(&fixture, "/dev/sda1"), ["/dev/sda1: loop0 uses it as backing file"]);
}

#[test]
fn a_device_that_sysfs_does_not_know_is_not_called_safe() {
    let mut fixture = machine();
    fixture.place("/dev/odd", "99:9");
    assert_eq!(
        sentences(&fixture, "/dev/odd"),
        ["/dev/odd: cannot check what is there: sysfs does not know this device"]
    );
}

#[test]
fn a_file_behind_a_loop_device_or_swapped_to_is_known_by_its_inode() {
    let folder = tempfile::tempdir().unwrap();
    let path = std::fs::canonicalize(folder.path()).unwrap().join("job.0.0");
    std::fs::write(&path, b"data").unwrap();
    std::fs::hard_link(&path, folder.path().join("link")).unwrap();
    let mut fixture = machine();
    fixture.file("sys/block/loop0/loop/backing_file", &format!("{}\n", path.display()));
    fixture.file("proc/swaps", &format!("Filename Type\n{} file 1 0 -2\n", path.display()));
    for name in ["job.0.0", "link"] {
        let hazards = hazards_at(&fixture.system(), &folder.path().join(name));
        let said: Vec<String> = hazards.iter().map(|hazard| hazard.danger.to_string()).collect();
        assert!(said.iter().any(|what| what.contains("in use as swap")), "{said:?}");
        assert!(said.iter().any(|what| what.contains("loop0 uses it as backing file")), "{said:?}");
    }
}

#[test]
fn the_device_of_the_root_file_system_is_never_free() {
    let system = System::live();
    for mount in system.mounts().iter().filter(|mount| mount.source.starts_with("/dev/")) {
        let path = Path::new(&mount.source);
        if system.device_of_node(path).is_some() {
            assert_ne!(hazards_at(&system, path), [], "{}", path.display());
        }
    }
}
