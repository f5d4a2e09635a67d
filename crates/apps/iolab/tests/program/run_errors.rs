//! Mistakes and failures: each gives its exit code and a helpful message.

use crate::support::Lab;
use iolab_random::Lcg;
use iolab_recording::WorkerOutcome;

#[test]
fn what_is_not_a_job_file_is_said_to_be_none() {
    let lab = Lab::new();
    let mut random = Lcg::new(1);
    let junk: Vec<u8> = (0..100_000).map(|_| (random.next() >> 56) as u8).collect();
    lab.file("junk.fio", junk);
    lab.file("zeroes.fio", vec![0; 1 << 20]);
    lab.file("empty.fio", "");
    std::fs::File::create(lab.path("large.fio")).unwrap().set_len(65 << 20).unwrap();
    for (file, said) in [
        ("missing.fio", "missing.fio: No such file or directory"),
        (".", "it is a folder"),
        ("junk.fio", "seems to be a binary file"),
        ("zeroes.fio", "seems to be a binary file"),
        ("large.fio", "the limit for a job file"),
        ("/dev/zero", "it is a character device"),
        ("empty.fio", "no jobs are defined"),
    ] {
        let done = lab.run(["run", file]).ended(2, said);
        assert_eq!(done.printed(), "", "{file}");
        assert!(done.errors().len() < 2000, "{file}: {}", done.errors().len());
        assert_eq!(lab.fio([file]).code(), 1, "{file}");
    }
}

#[test]
fn a_huge_job_file_runs_or_is_refused_in_one_sentence() {
    let lab = Lab::new();
    let jobs = |count: usize| -> String {
        let sections = (0..count).map(|job| format!("[j{job}]\nrw=randread\n")).collect::<String>();
        format!("[global]\nioengine=null\nsize=16k\nthread=1\n{sections}")
    };
    lab.job(&jobs(300)).ended(0, "");
    assert!(lab.recording().workers.iter().all(|worker| worker.outcome == WorkerOutcome::Finished));
    let done = lab.job(&jobs(6000)).ended(2, "the limit is 4096");
    assert_eq!(done.errors().matches("error:").count(), 1, "{}", done.errors().len());
}

#[test]
fn places_that_are_not_there_or_too_small() {
    let lab = Lab::new();
    lab.job("[a]\nrw=write\nsize=1m\ndirectory=no/such\n").ended(2, "no/such is not a directory");
    lab.job("[a]\nioengine=psync\nrw=write\nsize=1m\nfilename=no/such/file\n")
        .ended(1, "no/such/file: laying out: No such file or directory");
    lab.job("[a]\nioengine=psync\nrw=read\nsize=1m\nfilename=no/such/file\n")
        .ended(1, "no/such/file: laying out: No such file or directory");
    lab.file("small", vec![1; 8192]);
    for direction in ["read", "write"] {
        lab.job(&format!("[a]\nioengine=psync\nrw={direction}\nsize=1m\nfilename=small/file\n"))
            .ended(1, "Not a directory");
        lab.job(&format!("[a]\nioengine=psync\nrw={direction}\nsize=1m\nfilename=/proc/no/such/file\n"))
            .ended(1, "/proc/no");
    }
    lab.job("[a]\nioengine=psync\nrw=read\nsize=1m\nfilename=/dev/no-such-device\n").ended(2, "there is no device");
    lab.job("[a]\nioengine=psync\nrw=read\nsize=1m\nfilename=small\nallow_file_create=0\n").ended(3, "would extend it");
    assert_eq!(std::fs::metadata(lab.path("small")).unwrap().len(), 8192);
}

#[test]
fn what_the_device_says_ends_the_job_or_is_survived() {
    let lab = Lab::new();
    let full = "[a]\nioengine=psync\nrw=write\nsize=64k\nfilename=/dev/full\n";
    let worker = |lab: &Lab| lab.recording().workers.remove(0);

    lab.job(full).ended(1, "/dev/full: No space left on device: write offset=0, length=4096 (errno 28)");
    assert_eq!((worker(&lab).directions[1].ios, worker(&lab).directions[1].dropped_ios), (0, 1));

    let done = lab.job(&format!("{full}continue_on_error=write\n")).ended(0, "write offset=61440");
    assert_eq!(done.json()["jobs"][0]["total_err"].as_u64(), Some(16));
    assert_eq!(worker(&lab).errors[0].count, 16);

    lab.job(&format!("{full}ignore_error=,ENOSPC\n")).ended(0, "");
    assert_eq!((worker(&lab).directions[1].ios, worker(&lab).errors.len()), (16, 0));

    let done = lab.job(&format!("{full}fill_device=1\n")).ended(0, "");
    assert!(!done.errors().contains("No space"), "{}", done.errors());

    // The file is truncated after it was laid out.
    let cut = "[a]\nioengine=psync\nrw=read\nsize=64k\nfilename=cut\nexec_prerun=truncate -s 8k cut\n";
    lab.job(cut).ended(1, "nothing transferred (end of file?): read offset=8192");
    assert_eq!(worker(&lab).directions[0].ios, 2);
    lab.job("[a]\nioengine=psync\nrw=read\nsize=64k\nfilename=cut2\nexec_prerun=false\n")
        .ended(1, "`false` ended with");
}

#[test]
fn a_failing_job_ends_others_only_when_asked() {
    let lab = Lab::new();
    let text = |more: &str, seconds: u32| {
        format!(
            "[bad]\nioengine=psync\nrw=write\nsize=64k\nfilename=/dev/full\n{more}\n[good]\nioengine=null\nsize=1t\n\
             runtime={seconds}\n[next]\nstonewall\nioengine=null\nsize=4k\n"
        )
    };
    lab.job(&text("", 1)).ended(1, "bad: /dev/full");
    let workers = lab.recording().workers;
    assert!(workers[1].runtime_ns >= 1_000_000_000);
    assert_eq!(workers[2].outcome, WorkerOutcome::Finished);

    lab.job(&text("exitall_on_error\nexit_what=all", 600))
        .ended(1, "next: did not run, because an earlier job ended the run");
    let workers = lab.recording().workers;
    assert!(workers[1].runtime_ns < 500_000_000_000, "{}", workers[1].runtime_ns);
    assert_eq!((&workers[1].outcome, &workers[2].outcome), (&WorkerOutcome::Finished, &WorkerOutcome::NotRun));
}

#[test]
fn stages_and_awaited_jobs_follow_one_another_as_processes() {
    let lab = Lab::new();
    lab.job(
        "[global]\nioengine=psync\nrw=write\nsize=256k\n[a]\n[b]\nwait_for=a\n[c]\nstonewall\n[d]\nstonewall\nnumjobs=2\n",
    )
    .ended(0, "");
    let workers = lab.recording().workers;
    for (earlier, later) in [(0, 1), (1, 2), (2, 3), (2, 4)] {
        let (earlier, later) = (&workers[earlier], &workers[later]);
        assert!(
            later.started_ns >= earlier.started_ns + earlier.runtime_ns,
            "{} before {}",
            earlier.number,
            later.number
        );
    }
}

#[test]
fn too_many_open_files_are_met_with_advice() {
    let lab = Lab::new();
    std::fs::create_dir(lab.path("files")).unwrap();
    for (job, said) in [
        ("ioengine=null\nsize=4k\nnumjobs=100", "setting up the run: Too many open files"),
        ("ioengine=psync\nrw=write\nsize=800k\nnrfiles=200\ndirectory=files", "Too many open files (raise the limit"),
    ] {
        lab.file("job.fio", format!("[a]\n{job}\n"));
        let command = format!("ulimit -n 64 && exec {} run job.fio --output-format=terse", env!("CARGO_BIN_EXE_iolab"));
        let done = lab.shell(&command).ended(1, said);
        assert!(done.errors().contains("ulimit -n"), "{}", done.errors());
    }
}
