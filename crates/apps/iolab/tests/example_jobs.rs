//! The example jobs of `jobs/`: `iolab plan` accepts each as it stands, and each runs when scaled
//! down to small files and few operations. What they measure is not judged.

#[path = "drop_in/mod.rs"]
mod drop_in;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use drop_in::Folder;
use serde_json::Value;

/// Name and text of every example.
fn examples() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../jobs");
    let entries = std::fs::read_dir(folder).expect("the folder of examples");
    let paths: BTreeSet<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    let jobs = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "fio"));
    jobs.map(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
        (name, std::fs::read_to_string(path).expect("readable"))
    })
    .collect()
}

fn sections(text: &str) -> Vec<&str> {
    let names = text.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    names.filter(|name| *name != "global").collect()
}

/// The same job in small, by operations instead of by time: in a short time a busy machine may do
/// none. Through the page cache, for not every temporary folder has direct I/O, and without
/// io_uring where the kernel has it switched off.
fn scaled_down(text: &str) -> String {
    let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    let with_uring = matches!(disabled.trim(), "" | "0");
    let timed = |line: &&str| line.split('=').next() != Some("time_based");
    let lines = text.lines().filter(timed).map(|line| match line.split_once('=') {
        Some((size @ ("size" | "filesize"), value)) if value.to_lowercase().ends_with('g') => format!("{size}=16m"),
        Some(("filename", device)) if device.starts_with("trtype=VIRT") => line.replace("size=4G", "size=256M"),
        Some(("runtime", _)) => "number_ios=64".to_owned(),
        Some(("ramp_time", _)) => "ramp_time=0".to_owned(),
        Some(("bs", "8M")) => "bs=256k".to_owned(),
        Some(("direct", _)) => "direct=0".to_owned(),
        Some(("ioengine", "io_uring")) if !with_uring => "ioengine=libaio".to_owned(),
        _ => line.to_owned(),
    });
    lines.map(|line| line + "\n").collect()
}

#[test]
fn every_example_has_a_plan() {
    let examples = examples();
    assert!(examples.len() >= 10);
    for (name, text) in examples {
        let folder = Folder::new();
        folder.write(&name, &text);
        let mut command = Command::new(env!("CARGO_BIN_EXE_iolab"));
        command.args(["plan", &name]).current_dir(folder.path("")).stdin(Stdio::null());
        let output = command.output().expect("iolab starts");
        let (plan, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && !said.contains("error"), "{name}: {said}");
        for section in sections(&text) {
            assert!(plan.contains(section), "{name}: no {section} in its plan");
        }
    }
}

#[test]
fn every_example_runs_scaled_down() {
    for (name, text) in examples() {
        let folder = Folder::new();
        folder.write(&name, &scaled_down(&text));
        folder.good(&[&name, "--output-format=json", "--output=report.json"]);
        let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
        let jobs = report["jobs"].as_array().expect("jobs");
        let names: Vec<&str> = jobs.iter().map(|job| job["jobname"].as_str().expect("a name")).collect();
        assert_eq!(names, sections(&text), "{name}");
        for job in jobs {
            assert_eq!(job["error"], 0, "{name}");
            let ios = |direction: &str| job[direction]["total_ios"].as_u64().expect("a count");
            assert!(ios("read") + ios("write") > 0, "{name}: {}", job["jobname"]);
        }
    }
}
