//! What iolab refuses to overwrite, and which options allow it.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::support::{Lab, skipped};

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
    let works = iolab_guard::mark_layout(&file).unwrap_or(false);
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

    let done = lab.run(writing(&mine)).ended(3, "holds 8 bytes that iolab did not write");
    assert!(done.errors().contains("--allow-destroy") && untouched());
    lab.run(with(writing(&mine), "--rw=randtrim")).ended(3, "refused");
    lab.run(with(writing(&mine), "--rw=read")).ended(3, "job w would extend it");
    lab.run(with(writing(&mine), "--allow-destroy=other")).ended(3, "refused");
    assert!(untouched());
    lab.run(with(with(with(writing(&mine), "--rw=read"), "--size=8"), "--bs=8")).ended(0, "");
    assert!(untouched(), "reading what is there is harmless");

    // A job that only reads can still remove or extend files.
    let reading = || with(with(with(writing(&mine), "--rw=read"), "--size=8"), "--bs=8");
    lab.run(with(reading(), "--unlink=1")).ended(3, "refused");
    let buffers = ["run", "--name=b", "--ioengine=null", "--size=1m", "--mem=mmapshared:mine"];
    lab.run(buffers).ended(3, "refused");
    assert!(untouched());

    // A link leads to the same file.
    std::os::unix::fs::symlink(&mine, lab.path("link")).unwrap();
    lab.run(writing(&lab.path("link"))).ended(3, "refused");
    lab.run(with(writing(&lab.path("link")), "--allow-destroy=mine")).ended(0, "");
    assert!(!untouched());
}

#[test]
fn as_fio_a_job_that_writes_overwrites_the_file_it_names_with_a_line_about_it() {
    let lab = Lab::new();
    let mine = lab.file("mine", "precious");
    let named = |more: &str| with(writing(&mine), more).into_iter().skip(1).collect::<Vec<_>>();
    let untouched = || std::fs::read(lab.path("mine")).unwrap() == b"precious";
    // A job that only reads neither extends nor removes it.
    lab.fio(named("--rw=read")).ended(3, "job w would extend it");
    let short = with(with(named("--rw=read"), "--size=8"), "--bs=8");
    lab.fio(with(short, "--unlink=1")).ended(3, "job w would remove it");
    lab.fio(["--name=w", "--rw=write", "--size=64k", "--filename_format=mine"]).ended(3, "refused");
    lab.fio(["--name=w", "--rw=write", "--size=64", "--bs=8", "--opendir=."]).ended(3, "refused");
    assert!(untouched());
    let done = lab.fio(named("--rw=write")).ended(0, "job w overwrites it anyway");
    assert_eq!(done.errors().lines().count(), 1);
    assert_eq!(std::fs::metadata(mine).unwrap().len(), 65536);
}

#[test]
fn what_opendir_finds_is_read_as_it_is() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("mine")).unwrap();
    for (name, length) in [("a", 5000), ("b", 4096), ("c", 0)] {
        lab.file(&format!("mine/{name}"), vec![7; length]);
    }
    let words = ["--name=r", "--rw=read", "--bs=4k", "--size=1m", "--opendir=mine", "--output-format=json"];
    let of_own = lab.run(["run"].iter().chain(&words)).ended(0, "").json();
    let of_fio = lab.fio(words).ended(0, "").json();
    for report in [of_own, of_fio] {
        assert_eq!(report["jobs"][0]["read"]["io_bytes"], 8192, "whole blocks of what is there");
    }
    for (name, length) in [("a", 5000), ("b", 4096), ("c", 0)] {
        assert_eq!(std::fs::read(lab.path("mine").join(name)).unwrap(), vec![7; length]);
    }
}

#[test]
fn generated_names_lead_neither_through_links_nor_out_of_their_folder() {
    let lab = Lab::new();
    let mine = lab.file("mine", "precious");
    std::os::unix::fs::symlink(&mine, lab.path("soft.0.0")).unwrap();
    std::os::unix::fs::symlink(lab.path("elsewhere"), lab.path("dangling.0.0")).unwrap();
    std::fs::hard_link(&mine, lab.path("hard.0.0")).unwrap();
    for rw in ["--rw=write", "--rw=read"] {
        for (name, why) in [("soft", "symbolic link"), ("dangling", "symbolic link"), ("hard", "iolab did not write")] {
            lab.run(["run", &format!("--name={name}"), rw, "--size=64k"]).ended(3, why);
        }
        lab.run(["run", "--name=../out", rw, "--size=64k", "--directory=."]).ended(3, "must stay below");
    }
    assert_eq!(std::fs::read(&mine).unwrap(), b"precious");
    assert!(!lab.path("elsewhere").exists());
}

#[test]
fn engines_on_paths_remove_only_what_jobs_made() {
    let lab = Lab::new();
    if !marks_work(&lab) {
        return;
    }
    let mine = lab.file("mine", "");
    std::fs::create_dir(lab.path("folder")).unwrap();
    let job = |engine: &str, name: &str| {
        lab.run(["run", "--name=d", &format!("--ioengine={engine}"), &format!("--filename={name}"), "--filesize=4k"])
    };
    job("filedelete", "mine").ended(3, "would remove it");
    job("dirdelete", "folder").ended(3, "iolab did not create this folder");
    assert!(mine.exists() && lab.path("folder").exists());
    // A later job may delete what a job has created.
    for (creates, deletes) in [("filecreate", "filedelete"), ("dircreate", "dirdelete"), ("filestat", "filedelete")] {
        job(creates, "made").ended(0, "");
        assert!(lab.path("made").exists());
        job(deletes, "made").ended(0, "");
        assert!(!lab.path("made").exists(), "{deletes}");
    }
    job("filedelete", "never").ended(0, "");
}

#[test]
fn a_file_that_another_program_has_locked_is_refused() {
    let lab = Lab::new();
    lab.run(["fs", "mkfs", "--size=48m", "image"]).ended(0, "");
    let served = std::fs::File::open(lab.path("image")).unwrap();
    rustix::fs::flock(&served, rustix::fs::FlockOperation::LockExclusive).unwrap();
    lab.fio(writing(&lab.path("image")).into_iter().skip(1)).ended(3, "another program has locked it");
    drop(served);
}

#[test]
fn a_backing_file_is_known_by_any_of_its_names() {
    let lab = Lab::new();
    let path = image(&lab);
    std::fs::hard_link(&path, lab.path("other")).unwrap();
    let Some(_device) = Loop::over(&path) else { return };
    lab.run(writing(&lab.path("other"))).ended(3, "uses it as backing file");
    lab.run(["fs", "mkfs", "--force", "other"]).ended(3, "uses it as backing file");
    assert_eq!(std::fs::metadata(&path).unwrap().blocks(), 0, "nothing was written");
}

#[test]
fn there_must_be_room_before_anything_is_written() {
    let Some(disk) = crate::support::TinyDisk::mount(8 << 10) else { return };
    let lab = Lab::new();
    let target = disk.path("file");
    for more in ["--fallocate=none", "--fallocate=native", "--fallocate=keep"] {
        for size in ["--size=1t", "--size=4611686018427387904"] {
            lab.run(with(with(with(writing(&target), "--rw=read"), size), more)).ended(1, "no room");
        }
    }
    lab.fio(with(with(writing(&target), "--rw=read"), "--size=1t").into_iter().skip(1)).ended(1, "no room");
    lab.run(with(writing(&target), "--size=64m")).ended(1, "fill_device=1");
    assert!(!target.exists());
    // Much less is written than the file is long; holes need no space.
    let sparse = ["--size=1g", "--io_size=64k", "--fallocate=none", "--rw=randwrite"];
    lab.run(sparse.iter().fold(writing(&target), |words, more| with(words, more))).ended(0, "");
}

#[test]
fn a_layout_that_fails_gives_back_what_it_took() {
    let Some(disk) = crate::support::TinyDisk::mount(16 << 10) else { return };
    let lab = Lab::new();
    let kept = disk.path("kept");
    lab.run(with(with(writing(&kept), "--size=1m"), "--rw=read")).ended(0, "");
    // A limit of the process cannot be foreseen: files end at 2 MiB.
    let new = disk.path("new");
    for target in [&kept, &new] {
        let line = format!(
            "trap '' XFSZ; ulimit -f 4096; exec {} run --name=r --rw=read --size=12m --fallocate=none --filename={}",
            env!("CARGO_BIN_EXE_iolab"),
            target.display()
        );
        lab.shell(&line).ended(1, "laying out: File too large");
    }
    assert!(!new.exists(), "what was made is removed");
    assert_eq!(std::fs::metadata(disk.path("kept")).unwrap().len(), 1 << 20, "what was filled up has its old length");
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
    // A file that a user puts in place of a job's file belongs to the user again.
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
    lab.run(writing(&image)).ended(3, "uses it as backing file");
    assert_eq!(std::fs::metadata(&image).unwrap().blocks(), 0, "nothing was written");
    // The device itself is free, so a benchmark may use it.
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
    refused.ended(3, "is in use as swap");
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
    let done = lab.run(job(&["--logfs_mkfs=1"])).ended(3, "holds 8 bytes that iolab did not write");
    assert!(done.errors().contains("--allow-destroy"));
    lab.run(job(&[])).ended(1, "not usable");
    assert_eq!(std::fs::read(&mine).unwrap(), b"precious");

    // A file that the job made itself may be made again, or kept.
    std::fs::remove_file(&mine).unwrap();
    lab.run(job(&["--logfs_mkfs=1", "--logfs_size=48m"])).ended(0, "");
    if marks_work(&lab) {
        lab.run(job(&["--logfs_mkfs=1"])).ended(0, "");
    }
    lab.run(job(&["--rw=read"])).ended(0, "");
    // Two workers cannot share a domain.
    lab.run(job(&["--numjobs=2"])).ended(1, "domains of");
}
