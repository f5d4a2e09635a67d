//! The layout of files before the measured part: complete, resumed after an interruption, and fast
//! for many files.

use crate::support::{Lab, TinyDisk};
use iolab_recording::WorkerOutcome;

const SIGINT: i32 = 2;

/// Every block of a file that was laid out holds data.
fn assert_filled(lab: &Lab, name: &str, bytes: u64) {
    let content = std::fs::read(lab.path(name)).unwrap();
    assert_eq!(content.len() as u64, bytes, "{name}");
    assert!(content.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)), "{name} has holes");
}

#[test]
fn a_layout_that_was_cut_off_is_completed() {
    const BYTES: u64 = 48 << 20;
    let lab = Lab::new();
    let text = "[a]\nioengine=psync\nrw=read\nsize=48m\nfilename=data\n";
    lab.file("job.fio", text);
    let running = lab.start(["run", "job.fio", "--output-format=json", "--record=it.iolab"]);
    running.until(|_| std::fs::metadata(lab.path("data")).is_ok_and(|metadata| metadata.len() > 0));
    running.signal(SIGINT);
    let done = running.finish().ended(128, "");
    assert_eq!(done.json()["jobs"][0]["jobname"], "a", "what there is is printed");
    let length = std::fs::metadata(lab.path("data")).unwrap().len();
    assert!(length <= BYTES);
    lab.job(text).ended(0, "");
    assert_filled(&lab, "data", BYTES);
    assert_eq!(lab.recording().workers[0].directions[0].bytes, BYTES);
}

#[test]
fn files_grow_to_what_the_next_job_needs() {
    let lab = Lab::new();
    for size in ["100k", "3m", "3m", "1m", "5000001"] {
        lab.job(&format!("[a]\nioengine=psync\nrw=randread\nbs=1k\nsize={size}\nfilename=data\n")).ended(0, "");
    }
    assert_filled(&lab, "data", 5_000_001);
}

#[test]
fn a_file_that_several_jobs_share_is_laid_out_once_and_large_enough_for_all() {
    let lab = Lab::new();
    lab.job("[global]\nioengine=psync\nfilename=data\nrw=read\n[a]\nsize=1m\n[b]\nsize=3m\n[c]\noffset=3m\nsize=1m\n")
        .ended(0, "");
    assert_filled(&lab, "data", 4 << 20);
}

#[test]
fn create_only_lays_out_and_stops() {
    let lab = Lab::new();
    lab.job("[a]\nioengine=psync\nrw=randread\nsize=256k\ncreate_only=1\n").ended(0, "");
    assert_filled(&lab, "a.0.0", 256 << 10);
    let worker = lab.recording().workers.remove(0);
    assert_eq!((&worker.outcome, worker.directions[0].issued), (&WorkerOutcome::Finished, 0));
}

#[test]
fn many_files_and_many_jobs() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("files")).unwrap();
    lab.job("[a]\nioengine=psync\nrw=randread\ndirectory=files\nnrfiles=500\nsize=2m\nopenfiles=100\n").ended(0, "");
    assert_eq!(lab.recording().workers[0].directions[0].ios, 500);
    assert_eq!(std::fs::read_dir(lab.path("files")).unwrap().count(), 500);
    for (thread, jobs) in [(0, 250), (1, 1000)] {
        lab.job(&format!("[a]\nioengine=null\nsize=64k\nnumjobs={jobs}\nthread={thread}\n")).ended(0, "");
        let workers = lab.recording().workers;
        assert_eq!(workers.len(), jobs);
        assert!(
            workers.iter().all(|worker| worker.outcome == WorkerOutcome::Finished && worker.directions[0].ios == 16)
        );
    }
}

#[test]
fn a_full_disk_is_an_error_with_its_reason_or_the_end_that_was_asked_for() {
    let lab = Lab::new();
    let Some(disk) = TinyDisk::mount(4096) else { return };
    let at = |name: &str| disk.path(name).display().to_string();
    let job = |more: &str| format!("[a]\nioengine=psync\nbs=64k\n{more}\n");
    lab.job(&job(&format!("rw=read\nsize=4m\nfilename={}", at("read")))).ended(1, "no room");
    assert!(!disk.path("read").exists());
    // That an earlier job fills the disk is not foreseen.
    let fill = format!("rw=write\nsize=8m\nfill_device=1\nfilename={}", at("fill"));
    let write = format!(
        "[b]\nstonewall\nioengine=psync\nbs=64k\nrw=write\nsize=512k\nfallocate=none\nfilename={}\n",
        at("write")
    );
    lab.job(&format!("{}{write}", job(&fill))).ended(1, "No space left on device: write offset=");
    std::fs::remove_file(disk.path("fill")).unwrap();
    std::fs::remove_file(disk.path("write")).unwrap();
    for fallocate in ["none", "native"] {
        let fill = format!("rw=write\nsize=8m\nfill_device=1\nfallocate={fallocate}\nfilename={}", at("fill"));
        let done = lab.job(&job(&fill));
        let done = done.ended(0, "");
        assert!(!done.errors().contains("No space"), "{}", done.errors());
        let written = lab.recording().workers[0].directions[1].bytes;
        assert!((3 << 20..=4 << 20).contains(&written), "{fallocate}: {written}");
        std::fs::remove_file(disk.path("fill")).unwrap();
    }
}

#[test]
fn files_that_are_removed_after_each_pass_are_written_anew_by_every_engine() {
    for engine in ["psync", "io_uring", "libaio", "posixaio", "mmap", "pvsync2"] {
        let lab = Lab::new();
        lab.job(&format!(
            "[a]\nioengine={engine}\nrw=randwrite\nbs=16k\nsize=256k\nloops=3\nunlink_each_loop=1\nfilename=data\n"
        ))
        .ended(0, "");
        assert_filled(&lab, "data", 256 << 10);
        assert_eq!(lab.recording().workers[0].directions[1].bytes, 3 * (256 << 10), "{engine}");
    }
}
