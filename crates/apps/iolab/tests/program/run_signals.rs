//! Every signal that would end the program ends the run: the results are saved, and what was set up
//! is removed.

use crate::support::{Lab, Running, skipped};

const SIGNALS: [(i32, &str); 9] = [
    (1, "HUP"),
    (2, "INT"),
    (3, "QUIT"),
    (12, "USR2"),
    (14, "ALRM"),
    (15, "TERM"),
    (24, "XCPU"),
    (26, "VTALRM"),
    (34, "RTMIN"),
];

const LONG: &str =
    "[a]\nioengine=null\nsize=1g\nrw=read\ntime_based\nruntime=600\nrate_iops=1000\ncalibrate=0\ninterval=10ms\n";

/// Whether the tests were started with a signal ignored (`nohup`): then the program ignores it,
/// too.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    let ignored = u64::from_str_radix(mask.trim(), 16).unwrap() & (1 << (signal - 1)) != 0;
    if ignored {
        skipped(&format!("signal {signal} is ignored here"));
    }
    ignored
}

/// Waits until the run has something to save.
fn has_begun(lab: &Lab, name: &str, running: &Running) {
    let partial = lab.path(&format!("{name}.partial"));
    running.until(|_| std::fs::metadata(&partial).is_ok_and(|metadata| metadata.len() > 8192));
}

/// Tries all signals at once, because a run waits for most of its time.
fn each_signal(ends: impl Fn(i32, &str) + Sync) {
    std::thread::scope(|scope| {
        for (signal, name) in SIGNALS.into_iter().filter(|(signal, _)| !is_ignored(*signal)) {
            let ends = &ends;
            scope.spawn(move || ends(signal, name));
        }
    });
}

#[test]
fn every_ending_signal_saves_the_recording() {
    each_signal(|signal, name| {
        let lab = Lab::new();
        lab.file("j.fio", LONG);
        for thread in ["--thread=0", "--thread=1"] {
            let running = lab.start(["run", "j.fio", thread, "--record=it.iolab"]);
            has_begun(&lab, "it.iolab", &running);
            running.signal(signal);
            running.finish().ended(128, "recording saved as it.iolab");
            let recording = lab.recording();
            assert!(recording.interrupted && recording.workers[0].directions[0].ios > 0, "SIG{name}");
            std::fs::remove_file(lab.path("it.iolab")).unwrap();
        }
    });
}

#[test]
fn every_ending_signal_takes_down_what_a_study_set_up() {
    let study = format!(
        "title = \"s\"\njob_text = \"\"\"\n{LONG}\"\"\"\nblocks = 2\nbefore_all = \"echo before >> did\"\n\
         after_all = \"echo after >> did\"\nset_up = \"echo up >> did\"\ntear_down = \"echo down >> did\"\n\
         [[axis]]\noption = \"iodepth\"\nvalues = [1, 2]\n"
    );
    each_signal(|signal, name| {
        let lab = Lab::new();
        lab.file("s.toml", &study);
        let running = lab.start(["study", "run", "s.toml", "--folder", name]);
        running.until(|_| {
            let trials = std::fs::read_dir(lab.path(name).join("trials")).into_iter().flatten().flatten();
            let mut partials = trials.filter(|entry| entry.file_name().to_string_lossy().ends_with(".partial"));
            partials.any(|entry| entry.metadata().is_ok_and(|metadata| metadata.len() > 8192))
        });
        running.signal(signal);
        running.finish().ended(128, "go on with: iolab study resume");
        assert_eq!(std::fs::read_to_string(lab.path("did")).unwrap(), "before\nup\ndown\nafter\n", "SIG{name}");
    });
}

#[test]
fn a_terminal_that_is_gone_costs_nothing() {
    let lab = Lab::new();
    lab.file("j.fio", LONG);
    let program = env!("CARGO_BIN_EXE_iolab");
    // Nobody reads standard error any more: writing to it fails, as on a terminal that was hung up.
    let running = lab.start_shell(&format!("exec {program} run j.fio --record=it.iolab 2>/dev/full"));
    has_begun(&lab, "it.iolab", &running);
    running.signal(if is_ignored(1) { 15 } else { 1 });
    assert_eq!(running.finish().code(), 128);
    assert!(lab.recording().interrupted && !lab.path("it.iolab.partial").exists());
}

#[test]
fn nohup_is_respected() {
    let lab = Lab::new();
    lab.file("j.fio", LONG);
    let program = env!("CARGO_BIN_EXE_iolab");
    let running = lab.start_shell(&format!("trap '' HUP; exec {program} run j.fio --record=it.iolab"));
    has_begun(&lab, "it.iolab", &running);
    running.signal(1);
    let size = || std::fs::metadata(lab.path("it.iolab.partial")).unwrap().len();
    let then = size();
    running.until(|_| size() > then + 8192);
    running.signal(15);
    running.finish().ended(128, "recording saved");
}

#[test]
fn who_does_not_wait_for_the_logs_gets_what_is_there() {
    let lab = Lab::new();
    lab.file("j.fio", "[a]\nioengine=null\nsize=128m\nbs=512\nrw=read\ncalibrate=0\nwrite_lat_log=l\n");
    // A log whose reader stops would make the program wait forever.
    lab.shell("mkfifo l_clat.1.log").ended(0, "");
    let running = lab.start(["run", "j.fio", "--record=it.iolab"]);
    let reader = std::fs::File::open(lab.path("l_clat.1.log")).unwrap();
    running.until(|running| running.errors().contains("recording saved"));
    running.signal(2);
    running.until(|running| running.errors().contains("press Ctrl-C again"));
    running.signal(2);
    running.finish().ended(128, "the logs are incomplete");
    drop(reader);
    assert_eq!(lab.recording().workers[0].directions[0].ios, 1 << 18);
    let text = std::fs::read_to_string(lab.path("l_lat.1.log")).unwrap();
    assert!(!text.is_empty() && text.lines().count() < 1 << 18, "what was written is kept");
}

#[test]
fn an_interrupted_run_says_so_in_every_output() {
    let lab = Lab::new();
    lab.file("j.fio", LONG);
    let running = lab.start(["run", "j.fio", "--record=it.iolab", "--output-format=normal,json,terse"]);
    has_begun(&lab, "it.iolab", &running);
    running.signal(2);
    let done = running.finish().ended(128, "iolab: interrupted: the results cover only the part that ran");
    assert!(done.printed().contains("\"interrupted\" : true"), "{}", done.printed());
    let shown = lab.run(["report", "it.iolab"]);
    assert!(shown.printed().contains("[interrupted]"), "{}", shown.printed());
    let compared = lab.run(["compare", "it.iolab", "it.iolab"]);
    assert!(compared.printed().contains("it.iolab is excluded: it was interrupted"), "{}", compared.printed());
    lab.run(["report", "it.iolab", "-o", "it.html"]).ended(0, "");
    assert!(std::fs::read_to_string(lab.path("it.html")).unwrap().contains("interrupted"));
}
