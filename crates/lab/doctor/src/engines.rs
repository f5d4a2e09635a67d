//! Ways of doing I/O, tried: a few operations by another process of this program, on a temporary
//! file.

use std::path::Path;
use std::process::{Command, Stdio};

use iolab_engine::{EngineLibrary, EngineProbe};
use iolab_runner::{EngineEntry, Engines};

use crate::check::{Check, CheckStatus, read};

/// Everything that can be tried without changing the machine.
pub(crate) fn all(engines: Engines) -> Vec<Check> {
    let mut checks: Vec<Check> = match TestFolder::make() {
        Ok(folder) => engines
            .descriptions()
            .into_iter()
            .flat_map(|engine| engine.trials)
            .map(|trial| folder.attempt(trial))
            .collect(),
        Err(error) => vec![Check::new(
            CheckStatus::No,
            "engines",
            format!("cannot create a temporary file to try them with: {error}"),
            "the engines were not tried",
            "TMPDIR=/some/folder iolab doctor",
        )],
    };
    checks.extend(engines.entries().iter().filter_map(library));
    checks.extend([fuse(), ublk(), vfio()]);
    checks
}

/// The engines of a job, each tried plainly.
pub(crate) fn of(all: Engines, names: &[&str]) -> Vec<Check> {
    let Ok(folder) = TestFolder::make() else { return Vec::new() };
    let mut checks = Vec::new();
    for name in names {
        let Some(engine) = all.description(name) else {
            checks.push(Check::new(CheckStatus::No, name, "no such engine", "the job does not run", "iolab engines"));
            continue;
        };
        // A trial with another name than the engine needs a target of its own, so it says nothing
        // about this job.
        let plain = engine.trials.first().filter(|trial| trial.topic.starts_with(engine.name));
        checks.extend(plain.map(|trial| folder.attempt(trial)));
        checks.extend(all.entry(name).and_then(library));
    }
    checks
}

/// The library that an engine loads at run time.
fn library(engine: &EngineEntry) -> Option<Check> {
    let EngineLibrary { file, found, install } = (engine.library)()?;
    let topic = format!("{} by {file}", engine.description.name);
    Some(match found {
        Ok(found) => Check::ok(&topic, found),
        Err(why) => {
            let consequence = format!("jobs with ioengine={} do not run", engine.description.name);
            Check::new(CheckStatus::No, &topic, why, &consequence, install)
        }
    })
}

/// A folder of its own, removed afterwards.
struct TestFolder {
    folder: tempfile::TempDir,
}

impl TestFolder {
    fn make() -> std::io::Result<TestFolder> {
        Ok(TestFolder { folder: tempfile::tempdir()? })
    }

    fn attempt(&self, EngineProbe { topic, words, consequence, mend }: &EngineProbe) -> Check {
        let no = |found: String| Check::new(CheckStatus::No, topic, found, consequence, mend);
        let program = match std::env::current_exe() {
            Ok(program) => program,
            Err(error) => return no(format!("cannot be tested: {error}")),
        };
        let folder = self.folder.path();
        let mut command = Command::new(program);
        command.args(["run", "--name=doctor", "--rw=randread", "--bs=4k", "--size=256k", "--calibrate=0"]);
        command.arg("--output=/dev/null").arg(format!("--record={}", folder.join("r.iolab").display()));
        if !words.iter().any(|word| word.starts_with("--filename")) {
            command.arg(format!("--filename={}", folder.join("file").display()));
        }
        command
            .args(*words)
            .env("IOLAB_STATE", folder)
            .env("IOLAB_DB", "none")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        let output = match command.output() {
            Ok(output) => output,
            Err(error) => return no(format!("cannot be tested: {error}")),
        };
        let said = String::from_utf8_lossy(&output.stderr);
        let words = reason(&said);
        match (output.status.success(), words) {
            (true, None) => Check::ok(topic, "works"),
            (true, Some(words)) => Check::new(CheckStatus::Limited, topic, words, consequence, mend),
            (false, words) => no(words.unwrap_or_else(|| format!("does not work ({})", output.status))),
        }
    }
}

/// The first meaningful line of standard error, without the names of the program and the job.
fn reason(said: &str) -> Option<String> {
    // Messages of a store about itself are not errors.
    let plain = |line: &&str| line.contains("recording saved as") || line.contains("The store is ");
    let lines = said.lines().filter(|line| !plain(line) && !line.trim().is_empty());
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
            CheckStatus::No,
            "FUSE",
            format!("/dev/fuse: {error}"),
            "storage and logfs cannot be exported as files",
            "modprobe fuse",
        ),
    }
}

fn ublk() -> Check {
    match opens("/dev/ublk-control") {
        Ok(()) => Check::ok("ublk", "/dev/ublk-control opens"),
        Err(error) => Check::new(
            CheckStatus::No,
            "ublk",
            format!("/dev/ublk-control: {error}"),
            "storage cannot be exported as block devices; FUSE can export it as files",
            "modprobe ublk_drv",
        ),
    }
}

fn vfio() -> Check {
    let groups = std::fs::read_dir("/sys/kernel/iommu_groups").map_or(0, Iterator::count);
    let found = match (Path::new("/dev/vfio/vfio").exists(), groups) {
        (true, 1..) => return Check::ok("vfio", format!("{groups} IOMMU groups")),
        (true, _) => "no IOMMU groups",
        (false, _) => "/dev/vfio/vfio does not exist",
    };
    Check::new(
        CheckStatus::No,
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
        assert_eq!(reason("iolab: doctor: The store is fjall 3.1, compression lz4.\n"), None);
    }
}
