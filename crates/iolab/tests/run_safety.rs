//! What iolab refuses to overwrite, and what makes it do so all the same.

mod support;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use support::{Lab, skipped};

/// The arguments of a job that writes 64 KiB to `target`.
fn writing(target: &Path) -> Vec<String> {
    let target = format!("--filename={}", target.display());
    let fixed = ["run", "--name=w", "--ioengine=psync", "--rw=write", "--size=64k", "--output-format=terse"];
    fixed.into_iter().map(str::to_owned).chain([target]).collect()
}

fn with(mut arguments: Vec<String>, more: &str) -> Vec<String> {
    arguments.push(more.to_owned());
    arguments
}

/// Whether files of the lab can carry the mark of a layout.
fn marks_work(lab: &Lab) -> bool {
    let file = std::fs::File::create(lab.path("probe")).unwrap();
    let works = iolab_observe::mark_layout(&file).unwrap_or(false);
    if !works {
        skipped("the file system has no user attributes, so files cannot be marked");
    }
    works
}

#[test]
fn a_users_file_is_not_overwritten_unless_the_user_says_so() {
    let lab = Lab::new();
    let mine = lab.file("mine", "precious");
    let untouched = || std::fs::read(lab.path("mine")).unwrap() == b"precious";

    let done = lab.run(writing(&mine)).ended(3, "holds 8 bytes that no job is known to have made");
    assert!(done.errors().contains("--allow-destroy") && untouched());
    lab.run(with(writing(&mine), "--rw=randtrim")).ended(3, "refused");
    lab.run(with(writing(&mine), "--rw=read")).ended(3, "job w would extend it");
    lab.run(with(writing(&mine), "--allow-destroy=other")).ended(3, "refused");
    assert!(untouched());
    lab.run(with(with(with(writing(&mine), "--rw=read"), "--size=8"), "--bs=8")).ended(0, "");
    assert!(untouched(), "reading what is there is harmless");

    // A job that only reads may remove or fill files all the same.
    let reading = || with(with(with(writing(&mine), "--rw=read"), "--size=8"), "--bs=8");
    lab.run(with(reading(), "--unlink=1")).ended(3, "refused");
    let buffers = ["run", "--name=b", "--ioengine=null", "--size=1m", "--mem=mmapshared:mine"];
    lab.run(buffers).ended(3, "refused");
    assert!(untouched());

    // Through a link, it is the same file.
    std::os::unix::fs::symlink(&mine, lab.path("link")).unwrap();
    lab.run(writing(&lab.path("link"))).ended(3, "refused");
    lab.run(with(writing(&lab.path("link")), "--allow-destroy=mine")).ended(0, "");
    assert!(!untouched());
}

#[test]
fn fio_mode_overwrites_a_users_file_without_a_word_as_fio_does() {
    let lab = Lab::new();
    let mine = lab.file("mine", "precious");
    let done = lab.fio(writing(&mine).into_iter().skip(1)).ended(0, "");
    assert_eq!(done.errors(), "");
    assert_eq!(std::fs::metadata(mine).unwrap().len(), 65536);
}

#[test]
fn files_that_jobs_made_may_be_overwritten_by_later_jobs() {
    let lab = Lab::new();
    if !marks_work(&lab) {
        return;
    }
    std::fs::File::create(lab.path("hollow")).unwrap().set_len(65536).unwrap();
    for (name, first) in [
        ("written", "--rw=write"),
        ("read", "--rw=read"),
        ("hollow", "--rw=randwrite"),
        ("uring", "--ioengine=io_uring"),
    ] {
        let target = lab.path(name);
        lab.run(with(writing(&target), first)).ended(0, "");
        lab.run(writing(&target)).ended(0, "");
    }
    for _ in 0..2 {
        lab.run(["run", "--name=b", "--ioengine=null", "--size=1m", "--rw=write", "--mem=mmapshared:buffers"])
            .ended(0, "");
    }
    // What a user puts in the place of a job's file is the user's again.
    std::fs::remove_file(lab.path("written")).unwrap();
    lab.file("written", "precious");
    lab.run(writing(&lab.path("written"))).ended(3, "refused");
}

/// A loop device over a file of the lab, if this machine lets a test have one.
struct Loop {
    device: PathBuf,
}

impl Loop {
    fn over(file: &Path) -> Option<Loop> {
        let made =
            Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(file).stderr(Stdio::null()).output();
        match made {
            Ok(made) if made.status.success() => {
                Some(Loop { device: PathBuf::from(String::from_utf8_lossy(&made.stdout).trim()) })
            }
            _ => {
                skipped("no loop device can be had here (root only)");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}

fn succeeds(command: &str, arguments: &[&Path]) -> bool {
    let worked = Command::new(command).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    worked.is_ok_and(|status| status.success())
}

fn image(lab: &Lab) -> PathBuf {
    let path = lab.path("image");
    std::fs::File::create(&path).unwrap().set_len(16 << 20).unwrap();
    path
}

#[test]
fn a_device_behind_a_loop_device_and_its_backing_file() {
    let lab = Lab::new();
    let image = image(&lab);
    let Some(device) = Loop::over(&image) else { return };
    lab.run(writing(&image)).ended(3, "it is the backing store of loop");
    assert_eq!(std::fs::metadata(&image).unwrap().blocks(), 0, "nothing was written");
    // The device itself is free: it is what a benchmark is for.
    lab.run(writing(&device.device)).ended(0, "");
    lab.run(with(writing(&device.device), "--size=1g")).ended(2, "16777216");
}

#[test]
fn a_mounted_device() {
    let lab = Lab::new();
    let Some(device) = Loop::over(&image(&lab)) else { return };
    let place = lab.path("place");
    std::fs::create_dir(&place).unwrap();
    if !succeeds("mkfs.ext4", &[Path::new("-q"), &device.device]) || !succeeds("mount", &[&device.device, &place]) {
        return skipped("no file system can be made or mounted here");
    }
    let before = std::fs::read(lab.path("image")).unwrap();
    let refused = lab.run(writing(&device.device));
    let in_fio_mode = lab.fio(writing(&device.device).into_iter().skip(1));
    let after = std::fs::read(lab.path("image")).unwrap();
    let reading = lab.run(with(writing(&device.device), "--rw=read"));
    let allowed = lab.run(with(writing(&device.device), "--allow_mounted_write=1"));
    assert!(succeeds("umount", &[&place]));
    refused.ended(3, "is mounted on");
    in_fio_mode.ended(3, "is mounted on");
    assert!(before == after, "nothing was written");
    reading.ended(0, "");
    allowed.ended(0, "is mounted on");
    lab.run(writing(&device.device)).ended(0, "");
}

#[test]
fn a_device_that_is_swapped_to() {
    let lab = Lab::new();
    let Some(device) = Loop::over(&image(&lab)) else { return };
    if !succeeds("mkswap", &[&device.device]) || !succeeds("swapon", &[&device.device]) {
        return skipped("swap cannot be switched on here");
    }
    let refused = lab.run(writing(&device.device));
    assert!(succeeds("swapoff", &[&device.device]));
    refused.ended(3, "the system swaps to");
}

#[test]
fn a_partitioned_device() {
    let lab = Lab::new();
    let path = image(&lab);
    // A master boot record: one Linux partition of 8 MiB from 1 MiB on (UEFI specification, 5.2).
    let mut sector = vec![0_u8; 512];
    sector[446 + 4] = 0x83;
    sector[446 + 8..446 + 12].copy_from_slice(&2048_u32.to_le_bytes());
    sector[446 + 12..446 + 16].copy_from_slice(&16384_u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xaa]);
    std::os::unix::fs::FileExt::write_all_at(&std::fs::File::options().write(true).open(&path).unwrap(), &sector, 0)
        .unwrap();
    let Some(device) = Loop::over(&path) else { return };
    let name = device.device.file_name().unwrap().to_string_lossy().into_owned();
    if !Path::new(&format!("/sys/block/{name}/{name}p1")).exists() {
        return skipped("this kernel's loop devices have no partitions");
    }
    lab.run(writing(&device.device)).ended(3, "it has partitions");
    lab.run(with(writing(&device.device), &format!("--allow-destroy={}", device.device.display()))).ended(0, "");
}

#[test]
fn a_file_system_is_not_made_over_a_users_file_unless_the_user_says_so() {
    let lab = Lab::new();
    let mine = lab.file("mine.img", "precious");
    let job = |more: &[&str]| -> Vec<String> {
        let device = format!("--logfs_device={}", mine.display());
        let fixed = ["run", "--name=w", "--ioengine=logfs", "--rw=write", "--size=64k", "--output-format=terse"];
        fixed.into_iter().chain(more.iter().copied()).map(str::to_owned).chain([device]).collect()
    };
    let done = lab.run(job(&["--logfs_mkfs=1"])).ended(3, "holds 8 bytes that no job is known to have made");
    assert!(done.errors().contains("--allow-destroy"));
    lab.run(job(&[])).ended(1, "not usable");
    assert_eq!(std::fs::read(&mine).unwrap(), b"precious");

    // A file that the job made itself may be made anew, and kept.
    std::fs::remove_file(&mine).unwrap();
    lab.run(job(&["--logfs_mkfs=1", "--logfs_size=48m"])).ended(0, "");
    if marks_work(&lab) {
        lab.run(job(&["--logfs_mkfs=1"])).ended(0, "");
    }
    lab.run(job(&["--rw=read"])).ended(0, "");
    // Two workers do not share a domain.
    lab.run(job(&["--numjobs=2"])).ended(1, "domain of");
}
