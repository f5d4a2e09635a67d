//! A run whose whole process group is killed keeps every interval that was complete.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use iolab_recording::partial::Partial;
use iolab_recording::{Recording, WorkerOutcome};

const IOLAB: &str = env!("CARGO_BIN_EXE_iolab");

/// Kills the run, however the test ends.
struct Running(Child);

impl Running {
    fn kill_all(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        // The run may have ended by itself; the assertions of the test notice that.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_all();
    }
}

fn start(record: &Path, more: &[&str]) -> Running {
    let mut command = Command::new(IOLAB);
    command.arg("run").arg(format!("--record={}", record.display()));
    command.args(["--name=a", "--ioengine=null", "--size=1g", "--rw=randrw", "--time_based", "--interval=10ms"]);
    command.arg("--rate_iops=2000");
    command.args(["--numjobs=2", "--runtime=600"]).args(more);
    command.process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
    Running(command.spawn().expect("iolab starts"))
}

fn report(arguments: &[&str], file: &Path) -> Output {
    Command::new(IOLAB).arg("report").args(arguments).arg(file).output().expect("iolab starts")
}

/// Waits until the last of the killed processes has released the file: the kernel ends them one
/// after another.
fn wait_for_the_end(file: &Path) {
    for _ in 0..6000 {
        if !String::from_utf8_lossy(&report(&[], file).stderr).contains("is still going on") {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("somebody still writes {}", file.display());
}

/// Reads the file as soon as every worker has this many intervals.
fn wait_for_intervals(file: &Path, least: usize) -> Recording {
    for _ in 0..6000 {
        let read = std::fs::read(file).ok().and_then(|bytes| Partial::read(&bytes).ok());
        if let Some(recording) = read.map(Partial::into_recording)
            && recording.workers.iter().all(|worker| worker.interval_latencies.len() >= least)
        {
            return recording;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("no intervals in {}", file.display());
}

#[test]
fn killed_runs_keep_their_intervals() {
    for more in [&[][..], &["--thread"], &["--rate_iops=2000", "--ramp_time=50ms"]] {
        let folder = tempfile::tempdir().expect("a folder");
        let (record, partial) = (folder.path().join("x.iolab"), folder.path().join("x.iolab.partial"));
        let mut running = start(&record, more);
        let before = wait_for_intervals(&partial, 5);
        let alive = report(&[], &partial);
        assert!(String::from_utf8_lossy(&alive.stderr).contains("is still going on"), "{alive:?}");
        running.kill_all();
        wait_for_the_end(&partial);

        assert!(!record.exists());
        let read = Partial::read(&std::fs::read(&partial).expect("it is left")).expect("it begins well");
        // A kill may even interrupt a write in the kernel.
        assert!(read.damage.is_none_or(|damage| damage.reason.contains("in the middle")), "{:?}", read.damage);
        let after = read.into_recording();
        assert_eq!(after.workers.len(), 2);
        for (before, after) in before.workers.iter().zip(&after.workers) {
            assert_eq!(after.outcome, WorkerOutcome::Interrupted);
            let kept = &after.interval_latencies[..before.interval_latencies.len()];
            assert_eq!(kept, before.interval_latencies, "what was there stays");
            let series = &after.interval_latencies;
            assert!(series.windows(2).all(|pair| pair[0].start_ns + pair[0].length_ns == pair[1].start_ns));
            let ios: u64 = after.directions.iter().map(|direction| direction.ios).sum();
            assert!(ios > 0 && ios == after.directions.iter().map(|direction| direction.lat.count).sum::<u64>());
        }
        let seen = after.observations.expect("the machine was looked at");
        assert!(!seen.host.is_empty() && seen.host.windows(2).all(|pair| pair[0].at_ns < pair[1].at_ns));
        let normal = report(&[], &partial);
        let text = String::from_utf8(normal.stdout).expect("text");
        assert!(normal.status.success() && text.starts_with("note: this run was killed"), "{text}");
        assert!(text.contains("IOPS=") && text.contains("clat percentiles"), "{text}");
        let lines = String::from_utf8(report(&["--intervals"], &partial).stdout).expect("text");
        let expected: usize = after.workers.iter().map(|worker| worker.interval_latencies.len()).sum();
        assert!(
            lines.lines().count() >= expected
                && lines.lines().all(|line| line.contains("\"p99_9_ns\":") || line.contains("\"ios\":0"))
        );
    }
}

#[test]
fn a_run_that_ends_leaves_a_recording_and_no_partial() {
    let folder = tempfile::tempdir().expect("a folder");
    let (record, partial) = (folder.path().join("x.iolab"), folder.path().join("x.iolab.partial"));
    let mut running = start(&record, &["--runtime=1s", "--group_reporting"]);
    assert!(running.0.wait().expect("it ends").success());
    assert!(record.exists() && !partial.exists());
    let text = std::fs::read_to_string(&record).expect("a file");
    let recording = Recording::from_json(&text).expect("a recording");
    let seen = recording.observations.as_ref().expect("the machine was looked at");
    let last = seen.host.last().expect("a look at the end");
    assert!(seen.host.len() >= 2 && last.at_ns >= recording.elapsed_ns, "{seen:?}");
    for worker in &recording.workers {
        assert!(worker.interval_latencies.len() > 10);
        let ios = worker.interval_latencies.iter().flat_map(|interval| &interval.directions).map(|part| part.ios);
        assert_eq!(ios.sum::<u64>(), worker.directions.iter().map(|direction| direction.ios).sum::<u64>());
    }
    let table = String::from_utf8(report(&["--intervals=table"], &record).stdout).expect("text");
    assert!(table.starts_with("    start s length s job dir "), "{table}");
}

#[test]
fn damaged_and_foreign_files_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let (record, partial) = (folder.path().join("x.iolab"), folder.path().join("x.iolab.partial"));
    let mut running = start(&record, &[]);
    wait_for_intervals(&partial, 5);
    running.kill_all();
    wait_for_the_end(&partial);
    let whole = std::fs::read(&partial).expect("it is left");
    let mut flipped = whole.clone();
    flipped[whole.len() - 20] ^= 4;
    let cases: [(&[u8], bool, &str); 5] = [
        (&whole[..whole.len() - 3], true, "it ends in the middle of an entry"),
        (&flipped, true, "the checksum of an entry is wrong"),
        (&whole[..100], false, "the start of the partial recording cannot be read"),
        (b"", false, "the run was killed before it started"),
        (b"\xff\xfe", false, "not an iolab recording"),
    ];
    for (bytes, readable, message) in cases {
        std::fs::write(&partial, bytes).expect("a file");
        let answer = report(&[], &partial);
        let said = String::from_utf8_lossy(&answer.stderr).into_owned();
        assert!(said.contains(message) && answer.status.success() == readable, "{message}: {said}");
    }
}

#[test]
fn what_a_killed_run_left_is_set_aside_by_the_next() {
    let folder = tempfile::tempdir().expect("a folder");
    let (record, partial) = (folder.path().join("x.iolab"), folder.path().join("x.iolab.partial"));
    for number in 1..=2 {
        let mut running = start(&record, &[]);
        wait_for_intervals(&partial, 3);
        running.kill_all();
        wait_for_the_end(&partial);
        let left = std::fs::read(&partial).expect("it is left");
        let mut next = start(&record, &["--runtime=200ms"]);
        assert!(next.0.wait().expect("it ends").success());
        assert!(record.exists() && !partial.exists());
        let aside = folder.path().join(format!("x.iolab.partial.{number}"));
        assert!(std::fs::read(&aside).expect("it is kept") == left, "{}", aside.display());
        assert!(report(&[], &aside).status.success(), "and can be read");
    }
}

#[test]
fn a_file_of_the_users_in_place_of_the_partial_recording_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (record, partial) = (folder.path().join("x.iolab"), folder.path().join("x.iolab.partial"));
    let precious = folder.path().join("precious.txt");
    for text in ["left by nobody", "a link"] {
        std::fs::write(&precious, "the only copy").expect("a file");
        match text {
            "a link" => std::os::unix::fs::symlink(&precious, &partial).expect("a link"),
            text => std::fs::write(&partial, text).expect("a file"),
        }
        let mut running = start(&record, &["--runtime=100ms"]);
        assert_eq!(running.0.wait().expect("it ends").code(), Some(3), "{text}");
        assert!(std::fs::symlink_metadata(&partial).is_ok(), "{text}");
        assert_eq!(std::fs::read_to_string(&precious).expect("it is there"), "the only copy");
        std::fs::remove_file(&partial).expect("it is there");
    }
}
