//! Files that hold the data of devices: files of others are left alone, and a file that was cut off
//! is an error.

use std::fs::File;
use std::os::unix::fs::MetadataExt;

use crate::support::{Lab, Running};
use iolab_recording::WorkerOutcome;
use iolab_testkit::folder::names;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;

fn name(of: &str) -> String {
    format!("test-{of}-{}", std::process::id())
}

/// A running device; it is killed if a test fails.
struct Served(Option<Running>);

impl Served {
    fn start(lab: &Lab, name: &str) -> Served {
        let running = lab.start(["device", "serve", name]);
        running.until(|server| server.printed().contains("Press Ctrl-C"));
        Served(Some(running))
    }

    fn end(mut self, signal: i32) -> crate::support::Done {
        let running = self.0.take().unwrap();
        running.signal(signal);
        running.finish()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.signal(SIGKILL);
        }
    }
}

#[test]
fn what_a_user_has_made_is_no_media_of_a_device() {
    let lab = Lab::new();
    let folder = lab.path("V");
    std::fs::create_dir(&folder).unwrap();
    let precious = folder.join("precious.txt");
    std::fs::write(&precious, "years of work").unwrap();
    let link = folder.join("disk.0.0");
    std::fs::hard_link(&precious, &link).unwrap();
    let before = (names(&folder), std::fs::metadata(&precious).unwrap().mtime());
    let name = name("precious");
    for path in [&precious, &link] {
        let media = format!("file:{}", path.display());
        let escaped = media.replace(':', "\\:");
        let made = lab.run(["device", "create", &name, "--size=16M", "--media", &media]);
        made.ended(3, "13 bytes that iolab did not write");
        for rw in ["write", "read"] {
            let job = format!("[a]\nioengine=nvme\nfilename=trtype=VIRT size=16M media={escaped}\nrw={rw}\nsize=64k\n");
            assert!(lab.job(&job).ended(3, "add --allow-destroy").errors().contains("13 bytes"), "{rw}");
        }
        let device = format!("trtype=VIRT size=16M media={media}");
        let perf = ["perf", "-q", "1", "-o", "4096", "-w", "write", "-d", "8", "-r", &device];
        lab.run(perf).ended(3, "add --allow-destroy");
        // The device was described before the file existed, so creating it was no conflict. Serving
        // it is.
        let aside = folder.join("aside");
        std::fs::rename(path, &aside).unwrap();
        lab.run(["device", "create", &name, "--size=16M", "--media", &media]).ended(0, "");
        std::fs::rename(&aside, path).unwrap();
        lab.run(["device", "serve", &name]).ended(3, "add --allow-destroy");
        lab.run(["device", "destroy", &name, "--data"]).ended(3, "this device did not create it");
        lab.run(["device", "info", &name]).ended(0, "");
        lab.run(["device", "destroy", &name]).ended(0, "");
    }
    assert_eq!(std::fs::read(&precious).unwrap(), b"years of work");
    assert_eq!((names(&folder), std::fs::metadata(&precious).unwrap().mtime()), before, "nothing is beside it");
    // The user's permission counts.
    let media = format!("file:{}", precious.display());
    let word = format!("--allow-destroy={}", precious.display());
    lab.run(["device", "create", &name, "--size=16M", "--media", &media, &word]).ended(0, "");
    let device = format!("--filename=trtype=VIRT size=16M media=file\\:{}", precious.display());
    lab.run(["run", "--name=a", "--ioengine=nvme", &device, "--rw=write", "--size=64k", &word]).ended(0, "");
    lab.run(["device", "destroy", &name, "--data"]).ended(3, "this device did not create it");
}

#[test]
fn what_is_cut_off_the_data_of_a_served_device_is_a_media_error() {
    let lab = Lab::new();
    let name = name("cut");
    let data = lab.path("cut.data");
    let media = format!("file:{}", data.display());
    lab.run(["device", "create", &name, "--model", "ideal", "--size", "16M", "--media", &media]).ended(0, "");
    let served = Served::start(&lab, &name);
    let job = |rw: &str, offset: &str| {
        let text = format!(
            "[a]\nioengine=nvme\nfilename=trtype=VIRT traddr={name}\nrw={rw}\nbs=64k\noffset={offset}\nsize=1M\n"
        );
        lab.job(&text)
    };
    job("write", "8M").ended(0, "");
    File::options().write(true).open(&data).unwrap().set_len(4 << 20).unwrap();
    job("read", "8M").ended(1, "read offset=8388608");
    job("write", "8M").ended(1, "write offset=8388608");
    job("write", "1M").ended(0, "");
    let stats = lab.run(["device", "stats", &name]).ended(0, "").printed();
    assert!(stats.contains("media errors"), "{stats}");
    served.end(SIGINT).ended(0, "");
}

#[test]
fn what_is_cut_off_the_data_of_a_device_in_the_run_is_an_error_of_its_job_only() {
    let lab = Lab::new();
    let data = lab.path("inside.data");
    let text = format!(
        "[global]\nioengine=nvme\nbs=64k\nrw=randread\ntime_based\n\n\
         [cut]\nruntime=600\nfilename=trtype=VIRT model=ideal size=16M media=file\\:{}\n\n\
         [whole]\nruntime=600ms\nfilename=trtype=VIRT model=ideal size=16M\n",
        data.display()
    );
    lab.file("job.fio", text);
    let running = lab.start(["run", "job.fio", "--output-format=json", "--record=it.iolab"]);
    running.until(|_| std::fs::metadata(&data).is_ok_and(|found| found.len() == 16 << 20));
    running.until(|running| running.workers() >= 2);
    File::options().write(true).open(&data).unwrap().set_len(0).unwrap();
    running.finish().ended(1, "read offset=");
    let recording = lab.recording();
    assert_eq!(recording.workers.len(), 2);
    let whole = &recording.workers[1];
    assert!(whole.outcome == WorkerOutcome::Finished && whole.directions[0].ios > 0, "{:?}", whole.outcome);
}

#[test]
fn a_run_ends_with_what_it_has_when_the_server_of_its_device_is_killed() {
    let lab = Lab::new();
    let name = name("killed");
    lab.run(["device", "create", &name, "--model", "ideal", "--size", "16M"]).ended(0, "");
    for wait in ["poll", "interrupt"] {
        let served = Served::start(&lab, &name);
        let text = format!(
            "[a]\nioengine=nvme\nfilename=trtype=VIRT traddr={name}\nrw=randread\nbs=4k\niodepth=4\nwait={wait}\n\
             time_based\nruntime=50\n"
        );
        lab.file("job.fio", text);
        let running = lab.start(["run", "job.fio", "--output-format=json", "--record=it.iolab"]);
        let reads = || {
            let stats = lab.run(["device", "stats", &name]).printed();
            let line = stats.lines().find(|line| line.starts_with("read commands")).unwrap_or_default().to_owned();
            line.split_whitespace().last().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0)
        };
        running.until(|_| reads() > 100);
        assert_eq!(served.end(SIGKILL).code(), -1);
        // Long before the job would end or its commands would time out.
        let done = running.finish().ended(1, "its server has ended");
        let recording = lab.recording();
        let worker = &recording.workers[0];
        assert!(worker.directions[0].ios > 100, "what was measured is there: {done:?}");
        assert!(worker.runtime_ns < 25_000_000_000, "it ended with its device: {}", worker.runtime_ns);
    }
}

#[test]
fn a_mapped_file_that_is_cut_off_fails_its_job_and_no_other() {
    for more in ["thread", "ioengine=mmap"] {
        let lab = Lab::new();
        let text = format!(
            "[global]\nioengine=mmap\n{more}\nbs=4k\nrw=randread\nsize=4M\ntime_based\n\n\
             [cut]\nruntime=600\nfilename=cut.data\n\n[whole]\nruntime=600ms\nfilename=whole.data\n"
        );
        lab.file("job.fio", text);
        let running = lab.start(["run", "job.fio", "--output-format=json", "--record=it.iolab"]);
        let data = lab.path("cut.data");
        running.until(|running| running.maps("cut.data"));
        File::options().write(true).open(&data).unwrap().set_len(0).unwrap();
        running.finish().ended(1, "cut.data: Input/output error: read offset=");
        let workers = lab.recording().workers;
        assert!(matches!(workers[0].outcome, WorkerOutcome::Failed { .. }), "{:?}", workers[0].outcome);
        assert!(workers[1].outcome == WorkerOutcome::Finished && workers[1].directions[0].ios > 0);
    }
}

#[test]
fn a_folder_of_sockets_that_others_may_write_is_neither_served_from_nor_connected_to() {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    let lab = Lab::new();
    let runtime = lab.path("runtime");
    std::fs::create_dir(&runtime).unwrap();
    std::fs::set_permissions(&runtime, Permissions::from_mode(0o700)).unwrap();
    std::fs::create_dir(runtime.join("iolab")).unwrap();
    std::fs::set_permissions(runtime.join("iolab"), Permissions::from_mode(0o777)).unwrap();
    let environment = [("XDG_RUNTIME_DIR", runtime.clone())];
    lab.run(["device", "create", "plain", "--size=16M"]).ended(0, "");
    for words in [vec!["device", "serve", "plain"], vec!["device", "stats", "plain"], vec!["device", "list"]] {
        lab.run_with(words, &environment).ended(3, "is accessible to others (mode 0777)");
    }
    let job = ["run", "--name=a", "--ioengine=nvme", "--filename=trtype=VIRT traddr=plain", "--rw=read"];
    lab.run_with(job, &environment).ended(3, "set XDG_RUNTIME_DIR");
    std::fs::set_permissions(runtime.join("iolab"), Permissions::from_mode(0o700)).unwrap();
    let info = lab.run_with(["device", "info", "plain"], &environment).ended(0, "").printed();
    assert!(info.contains(&runtime.join("iolab/plain.sock").display().to_string()), "{info}");
}
