//! The example jobs of `jobs/`: `iolab plan` accepts each of them unchanged, and each runs when
//! scaled down to small files and few operations. The results are not judged.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::drop_in::Folder;
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

/// Scales a job down. It ends after a number of operations instead of a time, because a busy
/// machine may do none in a short time. It uses the page cache, because not every temporary folder
/// supports direct I/O, and replaces io_uring where the kernel has disabled it.
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
        // fio cuts the fraction off, too, and says so.
        Some(("rwmixwrite", share)) => format!("rwmixwrite={}", share.trim_end_matches(".5")),
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

/// The options that a section of an example sets itself, without `[global]`.
fn settings(name: &str, section: &str) -> Vec<(String, String)> {
    let (_, text) = examples().into_iter().find(|example| example.0 == name).expect(name);
    let own = text.lines().skip_while(|line| *line != format!("[{section}]")).skip(1);
    let own = own.take_while(|line| !line.starts_with('[')).filter(|line| !line.starts_with(';'));
    own.filter_map(|line| line.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn setting(name: &str, section: &str, option: &str) -> String {
    let settings = settings(name, section);
    settings.iter().find(|one| one.0 == option).unwrap_or_else(|| panic!("{name}: no {option} in {section}")).1.clone()
}

#[test]
fn large_random_requests_are_cut_and_the_file_says_by_what() {
    let of = |option: &str| setting("merging.fio", "large", option);
    assert_eq!(["readwrite", "bs", "numjobs", "iodepth"].map(of), ["randrw", "8M", "12", "32"]);
    let study = include_str!("../../../../../studies/block-layer/merging.toml");
    for limit in ["1280", "2048"] {
        let case = format!(
            "set = {{ rw = \"randrw\", bs = \"8m\", iodepth = 32, numjobs = 12, \"device.max_sectors_kb\" = {limit} }}"
        );
        assert!(study.contains(&case), "no case of {limit} KiB");
    }
}

#[test]
fn two_mixes_span_the_same_sizes_with_the_same_mean_and_another_spread() {
    let parts = |section: &str| -> Vec<(f64, f64)> {
        let size = |text: &str| match text.strip_suffix('m') {
            Some(mebibytes) => mebibytes.parse::<f64>().expect(text) * 1024.0,
            None => text.trim_end_matches('k').parse::<f64>().expect(text),
        };
        let split = setting("block-mix.fio", section, "bssplit");
        let parts = split.split(':').map(|part| part.split_once('/').expect("size/share"));
        parts.map(|(bytes, share)| (size(bytes), share.parse::<f64>().expect(share) / 100.0)).collect()
    };
    let (narrow, wide) = (parts("narrow"), parts("wide"));
    let sizes = |parts: &[(f64, f64)]| parts.iter().map(|part| part.0).collect::<Vec<_>>();
    assert_eq!((sizes(&narrow)[0], sizes(&narrow)[2]), (64.0, 1024.0));
    assert_eq!(sizes(&narrow), sizes(&wide));
    let mean = |parts: &[(f64, f64)]| parts.iter().map(|(size, share)| size * share).sum::<f64>();
    let spread = |parts: &[(f64, f64)]| {
        parts.iter().map(|(size, share)| (size - mean(parts)).powi(2) * share).sum::<f64>().sqrt()
    };
    assert!((mean(&narrow) - mean(&wide)).abs() < 0.1, "{} {}", mean(&narrow), mean(&wide));
    assert!(spread(&wide) > 1.3 * spread(&narrow), "{} {}", spread(&wide), spread(&narrow));
}

/// A commit writes the page that the commit before it has written.
#[test]
fn every_commit_writes_the_same_page_and_makes_it_durable() {
    for name in ["postgresql-insert.fio", "mariadb-insert.fio"] {
        let (_, text) = examples().into_iter().find(|example| example.0 == name).expect(name);
        let text = text.replace("runtime=60\ntime_based", "loops=5");
        let folder = Folder::new();
        folder.write(name, &text);
        folder.good(&[name, "--output-format=json", "--output=report.json", "--write_iops_log=each", "--log_offset=1"]);
        let report: Value = serde_json::from_str(&folder.read("report.json")).expect("JSON");
        assert_eq!(report["jobs"][0]["write"]["total_ios"], 5, "{name}");
        let log = folder.read("each_iops.1.log");
        let offsets: Vec<&str> = log.lines().map(|line| line.split(", ").nth(4).expect("an offset")).collect();
        assert!(offsets.len() >= 4 && offsets.iter().all(|offset| *offset == "0"), "{name}: {log}");
        assert!(report["jobs"][0]["sync"]["total_ios"].as_u64().expect("a count") >= 4, "{name}");
    }
}

#[test]
fn shares_of_writes_go_by_eighths() {
    let (_, text) = examples().into_iter().find(|example| example.0 == "write-share.fio").expect("the example");
    let shares = |pattern: &str| -> Vec<String> {
        let own = sections(&text).into_iter().filter(|section| section.starts_with(pattern));
        own.map(|section| setting("write-share.fio", section, "rwmixwrite")).collect()
    };
    let eighths = ["0", "12.5", "25", "37.5", "50", "62.5", "75", "87.5", "100"];
    assert_eq!(
        (shares("sequential"), shares("random")),
        (eighths.map(str::to_owned).to_vec(), eighths.map(str::to_owned).to_vec())
    );
}
