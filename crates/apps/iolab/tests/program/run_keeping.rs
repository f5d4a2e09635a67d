//! What is kept of a run, and what happens if it cannot be saved: the figures are never lost.

use crate::support::{Lab, TinyDisk};

const QUICK: [&str; 7] =
    ["run", "--name=a", "--ioengine=null", "--size=4m", "--rw=randrw", "--iodepth=4", "--output-format=json"];

#[test]
fn a_saved_recording_renders_as_the_run_did() {
    let lab = Lab::new();
    for format in ["normal", "terse", "json", "json+", "normal,json"] {
        for more in ["", "--group_reporting", "--unified_rw_reporting=both", "--numjobs=3"] {
            let format_option = format!("--output-format={format}");
            let arguments = [
                "run",
                "--name=a",
                "--ioengine=psync",
                "--rw=randrw",
                "--size=256k",
                "--record=it.iolab",
                &format_option,
            ];
            let run = lab.run(arguments.iter().chain([more].iter().filter(|word| !word.is_empty()))).ended(0, "");
            let report = lab.run(["report", "it.iolab", &format_option]).ended(0, "");
            assert!(run.printed() == report.printed(), "{format} {more}:\n{}\n{}", run.printed(), report.printed());
        }
    }
}

#[test]
fn reports_name_the_hour_of_the_wall_clock() {
    let lab = Lab::new();
    lab.job("[a]\nioengine=null\nrw=read\nsize=1m\n").ended(0, "");
    let in_zone = |zone: &str| {
        let report = ["report", "it.iolab", "--output-format=json"];
        let done = lab.run_with(report, &[("TZ", zone.into())]).ended(0, "");
        let time = done.json()["time"].as_str().expect("a time").to_owned();
        let hour: i32 = time.split([' ', ':']).filter(|word| !word.is_empty()).nth(3).unwrap().parse().unwrap();
        (hour, time)
    };
    let (hour, time) = in_zone("UTC0");
    assert_eq!(in_zone("EAST-5").0, (hour + 5) % 24, "{time}");
    assert_eq!(in_zone("WEST+3").0, (hour + 21) % 24, "{time}");
}

#[test]
fn a_recording_survives_being_read_and_written() {
    let lab = Lab::new();
    lab.job("[a]\nioengine=psync\nrw=randrw\nsize=1m\nnumjobs=2\nwrite_hist_log=h\nlog_hist_msec=1\n").ended(0, "");
    let text = std::fs::read_to_string(lab.path("it.iolab")).unwrap();
    assert!(lab.recording().to_json() == text);
}

#[test]
fn what_cannot_be_kept_is_said_and_the_figures_are_printed() {
    let lab = Lab::new();
    let Some(disk) = TinyDisk::mount(64) else { return };
    std::fs::write(disk.path("filler"), vec![1; 60 << 10]).unwrap();
    let place = |name: &str| disk.path(name).display().to_string();
    for (option, code, said) in [
        (format!("--record={}", place("r.iolab")), 1, "saving the recording as"),
        (format!("--write_lat_log={}", place("log")), 1, "writing the logs of job a"),
        (format!("--output={}", place("report")), 1, "writing the report to"),
        ("--record=/dev/full".to_owned(), 1, "saving the recording as /dev/full"),
        ("--record=/dev/null".to_owned(), 0, "saved as /dev/null"),
    ] {
        let done = lab.run(QUICK.iter().copied().chain([option.as_str()])).ended(code, said);
        let ios = done.json()["jobs"][0]["read"]["total_ios"].as_u64();
        assert!(ios.is_some_and(|ios| ios > 0), "{option}: {done:?}");
    }
    let left: Vec<_> = std::fs::read_dir(disk.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!disk.path("r.iolab").exists(), "no half recording is left");
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".iolab-")), "nothing unfinished: {left:?}");
    for device in ["/dev/full", "/dev/null"] {
        use std::os::unix::fs::FileTypeExt;
        assert!(std::fs::metadata(device).unwrap().file_type().is_char_device(), "{device} is no longer a device");
    }
}

#[test]
fn a_report_that_could_not_be_opened_stops_the_run_before_it_begins() {
    let lab = Lab::new();
    for (option, said) in [
        ("--output=no/such/report", "no/such/report: the folder no/such does not exist"),
        ("--record=no/such/folder/r.iolab", "the folder no/such/folder does not exist"),
        ("--record=folder", "folder: a folder, not a file"),
        ("--output=folder", "folder: a folder, not a file"),
        ("--write_lat_log=no/such/log", "the folder no/such does not exist"),
    ] {
        std::fs::create_dir_all(lab.path("folder")).unwrap();
        let done = lab.run(QUICK.iter().copied().chain([option])).ended(2, said);
        assert_eq!(done.printed(), "", "{option}: nothing was run");
    }
    lab.run(["run", "--name=a", "--ioengine=null", "--size=4m", "--output=/dev/full"]).ended(1, "/dev/full");
    let kept = std::fs::read_dir(lab.path("recordings")).map_or(0, Iterator::count);
    assert_eq!(kept, 0, "nothing was run");
}

#[test]
fn a_folder_for_recordings_that_cannot_be_had_is_only_a_warning() {
    let lab = Lab::new();
    lab.file("recordings", "in the way");
    let done = lab.run(QUICK).ended(0, "iolab: warning: creating");
    assert!(done.json()["jobs"][0]["read"]["total_ios"].as_u64().is_some());
}

#[test]
fn what_is_not_a_recording_is_not_rendered() {
    let lab = Lab::new();
    lab.file("junk", [0xff, 0, 7]);
    lab.file("other", "{\"iolab_recording\": 999}");
    lab.file("text", "{}");
    for (name, said) in [
        ("missing", "reading missing"),
        ("junk", "junk"),
        ("other", "recording format 999"),
        ("text", "not an iolab recording"),
    ] {
        lab.run(["report", name]).ended(2, said);
    }
}
