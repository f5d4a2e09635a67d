//! Hazards of fixture machines, and of real files.

use super::*;
use crate::mark_layout;
use crate::system::fixtures::Fixture;

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
    let target = WriteTarget { path: Path::new(path), generated: false };
    fixture.system().hazards(target).iter().map(Hazard::to_string).collect()
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
    assert_eq!(sentences(&fixture, "/dev/sda2"), ["/dev/sda2: the system swaps to /dev/sda2"]);
    fixture.disk("dm-0", "252:0").slave("dm-0", "sdb");
    assert_eq!(sentences(&fixture, "/dev/sdb"), ["/dev/sdb: sdb is part of dm-0, which is active"]);
    fixture.file("sys/block/loop0/loop/backing_file", "/dev/sda1\n");
    assert_eq!(sentences(&fixture, "/dev/sda1"), ["/dev/sda1: it is the backing store of loop0, which is active"]);
}

#[test]
fn a_device_that_sysfs_does_not_know_is_not_called_safe() {
    let mut fixture = machine();
    fixture.place("/dev/odd", "99:9");
    assert_eq!(
        sentences(&fixture, "/dev/odd"),
        ["/dev/odd: cannot tell what is there: sysfs does not know this device"]
    );
}

#[test]
fn files_are_told_by_mark_name_and_content() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let found = |path: &Path, generated| System::live().hazards(WriteTarget { path, generated });
    fs::write(at("thesis"), b"years of work").unwrap();
    assert!(matches!(found(&at("thesis"), false)[..], [Hazard::ForeignFile { size_bytes: 13, .. }]));
    assert_eq!(found(&at("thesis"), true), []);
    fs::write(at("job.0.0"), b"data").unwrap();
    assert_eq!(found(&at("job.0.0"), false), []);
    fs::write(at("empty"), b"").unwrap();
    assert_eq!(found(&at("empty"), false), []);
    assert_eq!(found(&at("missing"), false), []);
    assert_eq!(found(Path::new("/dev/null"), false), []);
    fs::write(at("ours"), b"data").unwrap();
    if mark_layout(File::open(at("ours")).unwrap()).unwrap() {
        assert_eq!(found(&at("ours"), false), []);
    }
}

#[test]
fn a_file_behind_a_loop_device_or_swapped_to_is_protected_even_if_a_job_made_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap().join("job.0.0");
    fs::write(&path, b"data").unwrap();
    let mut fixture = machine();
    fixture.file("sys/block/loop0/loop/backing_file", &format!("{}\n", path.display()));
    fixture.file("proc/swaps", &format!("Filename Type\n{} file 1 0 -2\n", path.display()));
    let hazards = fixture.system().hazards(WriteTarget { path: &path, generated: true });
    assert!(matches!(hazards[..], [Hazard::LoopBacking { .. }, Hazard::Swap { .. }]), "{hazards:?}");
}

#[test]
fn the_device_of_the_root_file_system_is_never_free() {
    let system = System::live();
    for mount in system.mounts().iter().filter(|mount| mount.source.starts_with("/dev/")) {
        let path = Path::new(&mount.source);
        if system.device_of_node(path).is_some() {
            assert_ne!(system.hazards(WriteTarget { path, generated: true }), [], "{}", path.display());
        }
    }
}
