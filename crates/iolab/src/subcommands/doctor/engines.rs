//! Ways of doing I/O, tried: a few operations by another process of this program, on a temporary file.

use std::path::Path;
use std::process::{Command, Stdio};

use super::{Check, Standing, read};
use crate::engine_registry;

/// What is tried: topic, words of the command line, what follows when it fails, what mends it.
const TRIALS: &[(&str, &[&str], &str, &str)] = &[
    (
        "psync, direct",
        &["--ioengine=psync", "--direct=1"],
        "direct I/O is refused here: figures would be of the page cache",
        "use a folder on a disk (TMPDIR chooses the one tried)",
    ),
    (
        "libaio",
        &["--ioengine=libaio", "--direct=1", "--iodepth=4"],
        "no native AIO: use io_uring for a queue",
        "sysctl fs.aio-max-nr=1048576",
    ),
    (
        "io_uring",
        &["--ioengine=io_uring", "--direct=1", "--iodepth=4"],
        "no io_uring: use libaio for a queue",
        "sysctl kernel.io_uring_disabled=0",
    ),
    (
        "io_uring, fixed buffers",
        &["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--fixedbufs"],
        "each operation pins its pages anew",
        "ulimit -l unlimited",
    ),
    (
        "io_uring, registered files",
        &["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--registerfiles"],
        "each operation looks its file up anew",
        "",
    ),
    (
        "io_uring, SQPOLL",
        &["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--sqthread_poll"],
        "submissions need system calls",
        "run as root, or on Linux 5.11 or later",
    ),
    (
        "io_uring, IOPOLL",
        &["--ioengine=io_uring", "--direct=1", "--iodepth=4", "--hipri"],
        "completions come by interrupt: this disk has no queues for polling",
        "for NVMe: nvme.poll_queues=2 on the kernel's command line; or ioengine=nvme from user space",
    ),
    ("posixaio", &["--ioengine=posixaio", "--direct=1", "--iodepth=4"], "no POSIX AIO", ""),
    (
        "virtual SSD",
        &["--ioengine=nvme", "--thread", "--filename=trtype=VIRT model=ideal size=64M"],
        "jobs on virtual SSDs do not run",
        "",
    ),
];

/// Everything that can be tried without changing the machine.
pub(super) fn all() -> Vec<Check> {
    let mut checks: Vec<Check> = match Ground::make() {
        Ok(ground) => TRIALS.iter().map(|trial| ground.attempt(trial)).collect(),
        Err(error) => vec![Check::new(
            Standing::No,
            "engines",
            format!("no temporary file to try them with: {error}"),
            "nothing is known of the engines",
            "TMPDIR=/some/folder iolab doctor",
        )],
    };
    checks.extend([fuse(), ublk(), vfio()]);
    checks
}

/// The engines of a job, each tried plainly.
pub(super) fn of(engines: &[&str]) -> Vec<Check> {
    let Ok(ground) = Ground::make() else { return Vec::new() };
    let mut checks = Vec::new();
    for name in engines {
        let tried =
            TRIALS.iter().filter(|(topic, ..)| topic == name || (*name == "psync" && topic.starts_with("psync")));
        checks.extend(tried.map(|trial| ground.attempt(trial)));
        if engine_registry::description(name).is_none() {
            checks.push(Check::new(Standing::No, name, "no such engine", "the job does not run", "iolab engines"));
        }
    }
    checks
}

/// A folder of its own, removed afterwards.
struct Ground {
    folder: tempfile::TempDir,
}

impl Ground {
    fn make() -> std::io::Result<Ground> {
        Ok(Ground { folder: tempfile::tempdir()? })
    }

    fn attempt(&self, (topic, words, consequence, mend): &(&str, &[&str], &str, &str)) -> Check {
        let no = |found: String| Check::new(Standing::No, topic, found, consequence, mend);
        let program = match std::env::current_exe() {
            Ok(program) => program,
            Err(error) => return no(format!("cannot be tried: {error}")),
        };
        let folder = self.folder.path();
        let mut command = Command::new(program);
        command.args(["run", "--name=doctor", "--rw=randread", "--bs=4k", "--size=256k", "--calibrate=0"]);
        command.arg("--output=/dev/null").arg(format!("--record={}", folder.join("r.iolab").display()));
        if !words.iter().any(|word| word.starts_with("--filename")) {
            command.arg(format!("--filename={}", folder.join("file").display()));
        }
        command.args(*words).env("IOLAB_STATE", folder).stdin(Stdio::null()).stdout(Stdio::null());
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => return no(format!("cannot be tried: {error}")),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        let words = reason(&said);
        match (output.status.success(), words) {
            (true, None) => Check::ok(topic, "works"),
            (true, Some(words)) => Check::new(Standing::Limited, topic, words, consequence, mend),
            (false, words) => no(words.unwrap_or_else(|| format!("does not work ({})", output.status))),
        }
    }
}

/// The first line of standard error that says something, without the program's and the job's name.
fn reason(said: &str) -> Option<String> {
    let lines = said.lines().filter(|line| !line.contains("recording saved as") && !line.trim().is_empty());
    let line = lines.map(|line| line.trim_start_matches("iolab: ").trim_start_matches("doctor: ")).next()?;
    Some(line.trim_start_matches("error: ").to_owned())
}

fn opens(path: &str) -> Result<(), std::io::Error> {
    std::fs::OpenOptions::new().read(true).write(true).open(path).map(drop)
}

fn fuse() -> Check {
    let uring = match read("/sys/module/fuse/parameters/enable_uring").as_deref() {
        Some("Y" | "1") => ", also over io_uring",
        _ => "",
    };
    match opens("/dev/fuse") {
        Ok(()) => Check::ok("FUSE", format!("/dev/fuse opens{uring}")),
        Err(error) => Check::new(
            Standing::No,
            "FUSE",
            format!("/dev/fuse: {error}"),
            "lanes and logfs cannot be shown as files",
            "modprobe fuse",
        ),
    }
}

fn ublk() -> Check {
    match opens("/dev/ublk-control") {
        Ok(()) => Check::ok("ublk", "/dev/ublk-control opens"),
        Err(error) => Check::new(
            Standing::No,
            "ublk",
            format!("/dev/ublk-control: {error}"),
            "lanes cannot be shown as block devices; FUSE shows them as files",
            "modprobe ublk_drv",
        ),
    }
}

fn vfio() -> Check {
    let groups = std::fs::read_dir("/sys/kernel/iommu_groups").map_or(0, Iterator::count);
    let found = match (Path::new("/dev/vfio/vfio").exists(), groups) {
        (true, 1..) => return Check::ok("vfio", format!("{groups} IOMMU groups")),
        (true, _) => "no IOMMU groups",
        (false, _) => "/dev/vfio/vfio is not there",
    };
    Check::new(
        Standing::No,
        "vfio",
        found,
        "real NVMe devices cannot be driven from user space; virtual SSDs can",
        "modprobe vfio-pci, and intel_iommu=on or amd_iommu=on on the kernel's command line",
    )
}

#[cfg(test)]
mod tests {
    use super::reason;

    #[test]
    fn the_reason_is_the_first_line_that_says_something() {
        let said = "iolab: recording saved as /x\niolab: doctor: f: Operation not supported (errno 95)\nmore\n";
        assert_eq!(reason(said).as_deref(), Some("f: Operation not supported (errno 95)"));
        assert_eq!(reason("iolab: recording saved as /x\n\n"), None);
    }
}
