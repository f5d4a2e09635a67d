//! `iolab bench`: the card and its JSON, the files it leaves, and what it refuses to write to. The
//! speed is not judged.

use std::path::PathBuf;
use std::process::Command;

use crate::support::{Lab, skipped};
use iolab_testkit::html::read_html;

const SIGINT: i32 = 2;
const SHORT: [&str; 5] = ["--time=200ms", "--rounds=2", "--size-mib=4", "--profile", "standard"];

fn bench(target: &str) -> Vec<String> {
    ["bench", target].into_iter().chain(SHORT).map(str::to_owned).collect()
}

/// The files that the program left in the folder.
fn left_behind(lab: &Lab) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(lab.path("")).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("iolab-bench")).collect()
}

#[test]
fn a_folder_gets_a_card_with_every_line_and_is_left_as_it_was() {
    let lab = Lab::new();
    let card = lab.run(bench(".")).ended(0, "").printed();
    for line in [
        "sequential read, 1 MiB, 8 deep ",
        "sequential write, 1 MiB, 8 deep ",
        "random read, 4 KiB, 1 deep ",
        "random write, 4 KiB, 1 deep ",
        "random read, 4 KiB, 32 deep ",
        "random write, 4 KiB, 32 deep ",
        "random 70/30 mix, 4 KiB, 32 deep ",
        "commit: 4 KiB write + fdatasync * ",
    ] {
        let found: Vec<&str> = card.lines().filter(|own| own.starts_with(line)).collect();
        assert_eq!(found.len(), 1, "{line}\n{card}");
        assert!(!found[0].ends_with(" -"), "a p99: {}", found[0]);
    }
    for head in ["like", "limited by", "be careful"] {
        assert!(card.lines().any(|line| line == head), "{head}\n{card}");
    }
    assert_eq!(left_behind(&lab), [""; 0].map(PathBuf::from));
}

#[test]
fn a_page_has_what_the_card_has_and_replaces_no_file_of_others() {
    let lab = Lab::new();
    lab.file("notes.html", "mine");
    let target = "trtype=VIRT model=ideal size=16m";
    lab.run(bench(target).into_iter().chain(["-o".to_owned(), "notes.html".to_owned()])).ended(3, "notes.html");
    let card = lab.run(bench(target).into_iter().chain(["-o".to_owned(), "b.html".to_owned()])).ended(0, "").printed();
    let page = read_html(&std::fs::read_to_string(lab.path("b.html")).unwrap());
    page.stands_alone();
    for line in card.lines().filter(|line| line.contains(" deep ")) {
        let name = line.split("  ").next().unwrap();
        assert!(page.text.contains(name), "{name}");
    }
    assert!(page.headings.iter().any(|(_, text)| text == "Known drives"));
    // It replaces its own page.
    lab.run(bench(target).into_iter().chain(["-o".to_owned(), "b.html".to_owned()])).ended(0, "");
}

#[test]
fn every_profile_measures_all_its_patterns_on_a_virtual_ssd_and_prints_json() {
    let lab = Lab::new();
    // Five rounds share the time of one. A device that waits is steady on a busy machine, too.
    let (fast, waiting) = ("model=ideal", "model=simple read_delay=500us write_delay=500us");
    for (profile, patterns, rounds, device) in [
        ("standard", 8, "1", fast),
        ("crystaldiskmark", 8, "1", fast),
        ("yabs", 5, "1", fast),
        ("database", 7, "1", fast),
        ("snia-client", 9, "5", waiting),
    ] {
        let device = format!("trtype=VIRT {device} size=16m");
        let words = ["bench", &device, "--time=200ms", "--rounds", rounds, "--json", "--profile", profile];
        let object = lab.run(words).ended(0, "").json();
        assert_eq!((&object["profile"], &object["engine"]), (&profile.into(), &"nvme".into()));
        let measured = object["patterns"].as_array().unwrap();
        assert_eq!(measured.len(), patterns, "{profile}");
        // SNIA's profile continues until the device is steady, which may be never; then the rule
        // gives up.
        let rounds = object["rounds"].as_u64().unwrap();
        assert!(if profile == "snia-client" { [5, 25].contains(&rounds) } else { rounds == 1 }, "{profile}: {rounds}");
        assert_eq!(object["steady"].is_boolean(), profile == "snia-client", "{profile}");
        for pattern in measured {
            assert!(pattern["iops"]["median"].as_f64().unwrap() > 0.0, "{profile} {pattern}");
            assert!(pattern["p99_seconds"].as_f64().is_some(), "{profile} {pattern}");
        }
        assert_eq!(object["like"]["verdict"], "unknown", "every pattern has a new device");
    }
}

#[test]
fn an_existing_file_is_only_read_unless_the_user_says_so() {
    let lab = Lab::new();
    let content: Vec<u8> = (0..4_u32 << 18).flat_map(|number| (number | 1).to_le_bytes()).collect();
    let file = lab.file("mine", &content);
    let card = lab.run(bench("mine")).ended(0, "").printed();
    assert!(card.contains("Not measured, because writing would destroy existing data: sequential write"), "{card}");
    assert!(card.contains("\nrandom read, 4 KiB, 32 deep "), "{card}");
    assert!(std::fs::read(&file).unwrap() == content, "it was changed");
    let mut words = bench("mine");
    words.extend(["--json", "--allow-destroy", "mine"].map(str::to_owned));
    let object = lab.run(words).ended(0, "").json();
    assert_eq!(object["not_measured"], serde_json::json!([]));
    let after = std::fs::read(&file).unwrap();
    assert!(after.len() == content.len() && after != content, "it was not written to, or grew");
}

#[test]
fn what_cannot_be_measured_is_said() {
    let lab = Lab::new();
    lab.file("tiny", "less than a MiB");
    lab.run(["bench", "tiny"]).ended(2, "too small");
    lab.run(["bench", "nowhere"]).ended(2, "nowhere");
    for (time, said) in [("2d", "a day is the limit"), ("0", "some time is needed")] {
        lab.run(["bench", ".", "--time", time]).ended(2, said);
    }
    lab.run(["bench", "/dev/null"]).ended(2, "not a folder, a file or a block device");
    lab.run(["bench", "trtype=VIRT model=none size=1g"]).ended(1, "none");
    lab.run(["bench", ".", "--size-mib", "1000000000"]).ended(1, "no room");
    assert!(left_behind(&lab).is_empty());
}

#[test]
fn a_user_who_ends_it_finds_nothing_left() {
    let lab = Lab::new();
    let running = lab.start(["bench", ".", "--time=600", "--size-mib=8"]);
    let is_laid_out = |path: PathBuf| std::fs::metadata(path.join("bench.0.0")).is_ok_and(|file| file.len() == 8 << 20);
    running.until(|_| left_behind(&lab).into_iter().any(is_laid_out));
    running.signal(SIGINT);
    let done = running.finish().ended(128, "");
    assert_eq!(done.printed(), "", "half a card is none");
    assert!(left_behind(&lab).is_empty());
}

/// A loop device for one test.
struct Loop(String);

impl Loop {
    fn over(file: &std::path::Path) -> Option<Loop> {
        let made = Command::new("losetup").args(["--find", "--show"]).arg(file).output().ok();
        let name = made.filter(|made| made.status.success()).map(|made| String::from_utf8(made.stdout).unwrap());
        if name.is_none() {
            skipped("a loop device cannot be made here (root only)");
        }
        name.map(|name| Loop(name.trim().to_owned()))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn a_block_device_is_only_read_unless_the_user_says_so() {
    let lab = Lab::new();
    let content = vec![7; 8 << 20];
    let file = lab.file("disk", &content);
    let Some(device) = Loop::over(&file) else { return };
    let card = lab.run(bench(&device.0)).ended(0, "").printed();
    assert!(card.contains("block device") && card.contains("Not measured, because writing would destroy"), "{card}");
    assert!(std::fs::read(&device.0).unwrap() == content, "it was changed");
    let mut words = bench(&device.0);
    words.extend(["--json".to_owned(), "--allow-destroy".to_owned(), device.0.clone()]);
    let object = lab.run(words).ended(0, "").json();
    assert_eq!(object["patterns"].as_array().unwrap().len(), 8);
    assert!(std::fs::read(&device.0).unwrap() != content, "it was not written to");
}
