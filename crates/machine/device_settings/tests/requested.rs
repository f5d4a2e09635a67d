//! Which device a setting is for, on trees of devices.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use iolab_device_settings::{Machine, SettingsError, requested};
use iolab_observe::{DeviceNumber, System};
use iolab_plan::Plan;
use iolab_recording::Recording;

/// `dm-0` on `sda` and `sdb`, where only the disks have a scheduler; `loop0` on a file on `sda`;
/// files on each.
fn tree() -> (tempfile::TempDir, BTreeMap<PathBuf, DeviceNumber>) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().to_owned();
    fs::create_dir_all(root.join("sys/block")).expect("folders");
    fs::create_dir_all(root.join("sys/dev/block")).expect("folders");
    let mut placed = BTreeMap::new();
    for (name, number, settings) in [
        ("dm-0", "252:0", &["nomerges"][..]),
        ("sda", "8:0", &["nomerges", "scheduler"]),
        ("sdb", "8:16", &["nomerges", "scheduler"]),
        ("loop0", "7:0", &["nomerges", "scheduler"]),
    ] {
        let device = root.join("sys/devices").join(name);
        fs::create_dir_all(device.join("queue")).expect("folders");
        fs::create_dir_all(device.join("slaves")).expect("folders");
        settings.iter().for_each(|file| fs::write(device.join("queue").join(file), "0\n").expect("a setting"));
        symlink(&device, root.join("sys/block").join(name)).expect("a link");
        symlink(&device, root.join("sys/dev/block").join(number)).expect("a link");
        placed.insert(PathBuf::from(format!("/on/{name}")), DeviceNumber::parse(number).expect("a number"));
    }
    for part in ["sda", "sdb"] {
        symlink(root.join("sys/devices").join(part), root.join("sys/devices/dm-0/slaves").join(part)).expect("a link");
    }
    fs::create_dir_all(root.join("sys/devices/loop0/loop")).expect("folders");
    fs::write(root.join("sys/devices/loop0/loop/backing_file"), "/on/sda\n").expect("a file");
    (folder, placed)
}

/// A plan whose workers use these files with these settings.
fn plan(workers: &[(&str, &[(&str, &str)])]) -> Plan {
    let text = include_str!("../../../report/findings/tests/recordings/direct-read.json");
    let mut plan = Recording::from_json(text).expect("a recording").plan;
    let first = plan.workers[0].clone();
    plan.workers.clear();
    for (number, (path, settings)) in workers.iter().enumerate() {
        let mut worker = first.clone();
        worker.job = format!("job{number}");
        worker.files[0].path = Path::new(path).to_owned();
        worker.layout.device_settings =
            settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        plan.workers.push(worker);
    }
    plan
}

fn chosen(workers: &[(&str, &[(&str, &str)])]) -> Result<Vec<String>, SettingsError> {
    let (root, placed) = tree();
    let system = System::fixture(root.path(), placed);
    let machine = Machine::new(root.path(), &root.path().join("state"));
    let requested = requested(&plan(workers), &system, &machine)?;
    Ok(requested.iter().map(|wish| format!("{}:{}={}", wish.device, wish.name, wish.value)).collect())
}

#[test]
fn the_topmost_device_with_the_setting_is_chosen() {
    let none: &[(&str, &str)] = &[("scheduler", "none")];
    let merges: &[(&str, &str)] = &[("nomerges", "2")];
    for (workers, expected) in [
        (&[("/on/sda", none)][..], &["sda:scheduler=none"][..]),
        (&[("/on/loop0", none)], &["loop0:scheduler=none"]),
        (&[("/on/dm-0", merges)], &["dm-0:nomerges=2"]),
        (&[("/on/dm-0", none)], &["sda:scheduler=none", "sdb:scheduler=none"]),
        (&[("/on/sda", none), ("/on/sda", none)], &["sda:scheduler=none"]),
        (&[("/on/sda", merges), ("/on/sda", none)], &["sda:scheduler=none", "sda:nomerges=2"]),
    ] {
        assert_eq!(chosen(workers).expect("requested"), expected, "{workers:?}");
    }
}

#[test]
fn what_cannot_be_is_said_with_its_reason() {
    let one: &[(&str, &str)] = &[("scheduler", "none")];
    let other: &[(&str, &str)] = &[("scheduler", "kyber")];
    let poll: &[(&str, &str)] = &[("io_poll", "1")];
    for (workers, expected) in [
        (
            &[("/on/sda", one), ("/on/sda", other)][..],
            "jobs job0 and job1 set device.scheduler of sda to different values, none and kyber",
        ),
        (&[("/on/dm-0", one), ("/on/sda", other)], "set device.scheduler of sda to different values, none and kyber"),
        (&[("/on/dm-0", poll)], "none of the devices under /on/dm-0 (dm-0, sda, sdb)"),
        (&[("/proc/self/status", one)], "there is no block device under /proc/self/status"),
    ] {
        let error = chosen(workers).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}
