//! Client and server: servers on this machine, their clients, and what goes wrong between them.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::{Done, Lab, Running, read_recording};

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// A job that any server runs at once.
const NULL_JOB: &str = "[a]\nioengine=null\nrw=randread\nbs=4k\nsize=4m\n";
/// A job that goes on until it is ended.
const ENDLESS_JOB: &str = "[a]\nioengine=null\nrw=randread\nbs=4k\nsize=64m\nrate_iops=1000\ntime_based\nruntime=1h\n";

/// A server of its own, which ends with the test.
pub(super) struct Host {
    server: Option<Running>,
    address: String,
}

impl Host {
    fn start(lab: &Lab, words: &[&str]) -> Host {
        let server = lab.start(words);
        server.until(|server| server.printed().contains("listening on") || !server.errors().is_empty());
        assert_eq!(server.errors(), "");
        let printed = server.printed();
        let address = printed.lines().next().unwrap().rsplit(' ').next().unwrap().to_owned();
        Host { server: Some(server), address }
    }

    /// On a free port of this machine.
    pub(super) fn tcp(lab: &Lab) -> Host {
        Host::start(lab, &["--server=127.0.0.1,0"])
    }

    pub(super) fn client(&self) -> String {
        format!("--client={}", self.address)
    }

    fn server(&self) -> &Running {
        self.server.as_ref().unwrap()
    }

    fn end(mut self) -> String {
        let server = self.server.take().unwrap();
        server.signal(SIGTERM);
        server.finish().ended(0, "").printed()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.signal(SIGTERM);
        }
    }
}

pub(super) fn jobs(report: &Value) -> &Vec<Value> {
    report["client_stats"].as_array().unwrap_or_else(|| panic!("{report}"))
}

pub(super) fn total_ios(job: &Value) -> u64 {
    job["read"]["total_ios"].as_u64().unwrap()
}

#[test]
fn three_servers_run_one_job_and_make_one_report() {
    let lab = Lab::new();
    lab.file("job.fio", NULL_JOB);
    let socket = format!("--server=sock:{}", lab.path("s").display());
    let hosts = [Host::tcp(&lab), Host::tcp(&lab), Host::start(&lab, &[&socket])];
    let clients = hosts.each_ref().map(Host::client);
    let words = clients.iter().map(String::as_str).chain(["job.fio", "--output-format=json+", "--record=it.iolab"]);
    let report = lab.run(words).ended(0, "recording saved").json();
    let jobs = jobs(&report);
    assert_eq!(jobs.len(), 4);
    for (job, host) in jobs.iter().zip(&hosts) {
        assert_eq!((job["jobname"].as_str(), total_ios(job)), (Some("a"), 1024), "{job}");
        let port: u64 = host.address.split_once(',').map_or(0, |(_, port)| port.parse().unwrap());
        assert_eq!(job["port"].as_u64(), Some(port), "{job}");
        assert!(job["hostname"].as_str().is_some_and(|name| !name.is_empty()), "{job}");
    }
    let all = &jobs[3];
    assert_eq!((all["jobname"].as_str(), total_ios(all)), (Some("All clients"), 3 * 1024));

    // Not averages: every bucket of the sum holds what the buckets of the hosts hold.
    let bins = |job: &Value| job["read"]["clat_ns"]["bins"].as_object().unwrap().clone();
    let mut sum = std::collections::BTreeMap::new();
    for (bin, count) in jobs[..3].iter().flat_map(bins) {
        *sum.entry(bin).or_insert(0) += count.as_u64().unwrap();
    }
    let merged = bins(all).into_iter().map(|(bin, count)| (bin, count.as_u64().unwrap())).collect();
    assert_eq!(sum, merged);

    let recording = lab.recording();
    assert_eq!((recording.hosts.len(), recording.workers.len()), (3, 3));
    assert!(recording.is_of_servers());
    // The recording makes the same report later.
    let again = lab.run(["report", "it.iolab", "--output-format=json"]).ended(0, "").json();
    assert_eq!(again["client_stats"][3]["read"]["total_ios"], all["read"]["total_ios"]);
    for host in hosts {
        assert!(host.end().contains("the job is done"));
    }
}

#[test]
fn each_client_has_its_own_job_and_as_fio_it_prints_no_more_than_fio() {
    let lab = Lab::new();
    lab.file("one.fio", NULL_JOB);
    lab.file("two.fio", "[b]\nioengine=null\nrw=write\nbs=8k\nsize=1m\nnumjobs=2\ngroup_reporting\n");
    let hosts = [Host::tcp(&lab), Host::tcp(&lab)];
    let clients = hosts.each_ref().map(Host::client);
    let words = [clients[0].as_str(), "one.fio", &clients[1], "two.fio", "--output-format=json"];
    let done = lab.fio(words).ended(0, "");
    assert_eq!(done.errors(), "");
    let report = done.json();
    let jobs = jobs(&report);
    let named: Vec<_> = jobs.iter().map(|job| job["jobname"].as_str().unwrap()).collect();
    assert_eq!(named, ["a", "b", "All clients"]);
    assert_eq!(jobs[1]["write"]["total_ios"].as_u64(), Some(256));
    assert_eq!((total_ios(&jobs[2]), jobs[2]["write"]["total_ios"].as_u64()), (1024, Some(256)));
}

#[test]
fn the_clients_variables_and_included_files_go_with_the_job() {
    let lab = Lab::new();
    let elsewhere = Lab::new();
    lab.file("more.inc", "bs=16k\n");
    lab.file("job.fio", "[a]\nioengine=null\nrw=randread\nsize=${HOSTS_TEST_SIZE}\ninclude more.inc\n");
    let host = Host::tcp(&elsewhere);
    let environment = [("HOSTS_TEST_SIZE", std::path::PathBuf::from("1m"))];
    let words = [host.client().as_str(), "job.fio", "--output-format=json", "--record=it.iolab"].map(str::to_owned);
    let report = lab.run_with(words, &environment).ended(0, "").json();
    assert_eq!(total_ios(&jobs(&report)[0]), 64);
    // What is kept has the variable, not its value.
    assert_eq!(lab.recording().plan.workers[0].job_options["size"], "${HOSTS_TEST_SIZE}");
}

#[test]
fn a_job_file_of_the_server_is_named_and_one_outside_is_refused() {
    let lab = Lab::new();
    let elsewhere = Lab::new();
    elsewhere.file("there.fio", NULL_JOB);
    let outside = lab.file("outside.fio", NULL_JOB);
    let host = Host::tcp(&elsewhere);
    let report = lab.run([&host.client(), "--remote-config=there.fio", "--output-format=json"]).ended(0, "").json();
    assert_eq!(total_ios(&jobs(&report)[0]), 1024);
    let outside = format!("--remote-config={}", outside.display());
    lab.run([&host.client(), &outside]).ended(3, "jobs of clients may touch only");
}

#[test]
fn jobs_touch_only_what_the_server_allows() {
    let lab = Lab::new();
    let elsewhere = Lab::new();
    let allowed = elsewhere.path("data");
    std::fs::create_dir(&allowed).unwrap();
    let secret = elsewhere.file("secret-data", vec![7; 8192]);
    std::os::unix::fs::symlink(&secret, allowed.join("link")).unwrap();
    let host = Host::start(&elsewhere, &["--server=127.0.0.1,0", &format!("--allow={}", allowed.display())]);
    let inside = format!("[a]\nrw=write\nbs=4k\nsize=64k\nfilename={}\n", allowed.join("file").display());
    lab.file("inside.fio", inside);
    lab.run([&host.client(), "inside.fio"]).ended(0, "");
    assert_eq!(allowed.join("file").metadata().unwrap().len(), 64 << 10);
    for (name, option) in [
        ("read", format!("rw=read\nfilename={}", secret.display())),
        ("write", format!("rw=write\nsize=4k\nfilename={}", elsewhere.path("new").display())),
        ("link", format!("rw=read\nfilename={}", allowed.join("link").display())),
        ("dots", format!("rw=write\nsize=4k\nfilename={}/../new", allowed.display())),
        ("relative", "rw=write\nsize=4k".to_owned()),
        ("memory", format!("rw=read\nioengine=null\nsize=4k\nmem=mmap:{}", secret.display())),
        ("folder", "rw=read\nopendir=/etc".to_owned()),
    ] {
        lab.file("outside.fio", format!("[{name}]\nbs=4k\n{option}\n"));
        let done = lab.run([&host.client(), "outside.fio"]).ended(3, "jobs of clients may touch only");
        assert!(done.errors().contains("--allow="), "{name}: {done:?}");
    }
    for (option, named) in [("exec_prerun=touch /tmp/x", "exec_prerun"), ("exec_postrun=true", "exec_postrun")] {
        lab.file("shell.fio", format!("{NULL_JOB}{option}\n"));
        lab.run([&host.client(), "shell.fio"]).ended(3, named);
    }
    lab.file("exec.fio", "[a]\nioengine=exec\nprogram=/bin/touch\narguments=made\nruntime=1\n");
    lab.run([&host.client(), "exec.fio"]).ended(3, "engine exec runs programs");
    assert!(!elsewhere.path("new").exists() && !elsewhere.path("made").exists());
    assert_eq!(std::fs::read(&secret).unwrap(), vec![7; 8192]);
}

#[test]
fn a_refusal_of_one_server_keeps_all_others_from_beginning() {
    let lab = Lab::new();
    let (one, other) = (Lab::new(), Lab::new());
    let hosts = [Host::tcp(&one), Host::tcp(&other)];
    lab.file("job.fio", format!("[a]\nrw=write\nbs=4k\nsize=64k\nfilename={}\n", one.path("data").display()));
    lab.run([&hosts[0].client(), &hosts[1].client(), "job.fio"]).ended(3, "jobs of clients may touch only");
    assert!(!one.path("data").exists());
}

#[test]
fn a_server_that_is_killed_costs_its_own_results_only() {
    let lab = Lab::new();
    let elsewhere = Lab::new();
    lab.file("job.fio", "[a]\nioengine=null\nrw=randread\nbs=4k\nsize=64m\nrate_iops=1000\ntime_based\nruntime=3\n");
    let hosts = [Host::tcp(&lab), Host::tcp(&elsewhere)];
    let words = [&hosts[0].client(), &hosts[1].client(), "job.fio", "--output-format=json", "--record=it.iolab"];
    let client = lab.start(words.map(str::to_owned).iter().chain(&["--eta=always".to_owned()]));
    client.until(|client| client.errors().contains("IOPS]"));
    hosts[1].server().signal(SIGKILL);
    let done = client.finish().ended(1, "the server ended, or was killed");
    let report = done.json();
    let jobs = jobs(&report);
    assert!(total_ios(&jobs[0]) > 1000, "{report}");
    assert_eq!(jobs[0]["error"].as_u64(), Some(0));
    let recording = lab.recording();
    assert!(!recording.workers[0].has_failed() && recording.workers[1].has_failed());
    // What the other's job had measured is not lost: it is where that server keeps its recordings.
    let kept = kept_recording(&elsewhere);
    assert!(kept.interrupted && kept.workers[0].directions[0].ios > 0);
}

/// The one recording that a server has kept for a client that did not get it.
fn kept_recording(lab: &Lab) -> iolab_recording::Recording {
    let folder = lab.path("recordings");
    let begun_ns = crate::support::now_ns();
    loop {
        let files = std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let whole: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "iolab")).collect();
        if let [path] = whole.as_slice() {
            return read_recording(path);
        }
        assert!(crate::support::now_ns() - begun_ns < crate::support::PATIENCE_NS, "{whole:?}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn the_user_ends_all_servers_and_gets_what_was_measured() {
    let lab = Lab::new();
    lab.file("job.fio", ENDLESS_JOB);
    let hosts = [Host::tcp(&lab), Host::tcp(&lab)];
    let words = [&hosts[0].client(), &hosts[1].client(), "job.fio", "--output-format=json"];
    let client = lab.start(words.map(str::to_owned).iter().chain(&["--eta=always".to_owned()]));
    client.until(|client| client.errors().contains("IOPS]"));
    client.signal(SIGINT);
    let report = client.finish().ended(128, "interrupted").json();
    let jobs = jobs(&report);
    assert!(total_ios(&jobs[0]) > 0 && total_ios(&jobs[1]) > 0);
    assert_eq!(total_ios(&jobs[2]), total_ios(&jobs[0]) + total_ios(&jobs[1]));
    assert_eq!(report["interrupted"].as_bool(), Some(true));
}

#[test]
fn a_client_that_goes_ends_its_job_which_keeps_what_it_measured() {
    let lab = Lab::new();
    let elsewhere = Lab::new();
    lab.file("job.fio", ENDLESS_JOB);
    let host = Host::tcp(&elsewhere);
    let client = lab.start([&host.client(), "job.fio", "--eta=always"]);
    client.until(|client| client.errors().contains("IOPS]"));
    client.signal(SIGKILL);
    assert_eq!(client.finish().code(), -1);
    let kept = kept_recording(&elsewhere);
    assert!(kept.interrupted && kept.workers[0].directions[0].ios > 0);
    host.server().until(|server| server.children().is_empty());
    assert!(host.end().contains("the client has gone"));
}

#[test]
fn reports_of_the_run_so_far_come_from_all_servers() {
    let lab = Lab::new();
    lab.file(
        "job.fio",
        "[a]\nioengine=null\nrw=randread\nbs=4k\nsize=64m\nrate_iops=500\ntime_based\nruntime=1500ms\n",
    );
    let hosts = [Host::tcp(&lab), Host::tcp(&lab)];
    let words = [&hosts[0].client(), &hosts[1].client(), "job.fio", "--output-format=json"];
    let done = lab.run(words.map(str::to_owned).iter().chain(&["--status-interval=400ms".to_owned()])).ended(0, "");
    let Value::Array(reports) = done.json() else { panic!("{done:?}") };
    assert!(reports.len() >= 2, "{}", reports.len());
    let sums: Vec<u64> = reports.iter().map(|report| total_ios(&jobs(report)[2])).collect();
    assert!(sums.is_sorted() && sums[0] > 0 && sums[0] < sums[sums.len() - 1], "{sums:?}");
}

#[test]
fn logs_are_written_by_the_client_under_the_servers_names() {
    let lab = Lab::new();
    let elsewhere = Lab::new();
    let job = "[a]\nioengine=null\nrw=randread\nbs=4k\nsize=4m\nnumjobs=2\nwrite_lat_log=l\nwrite_iolog=ops\n";
    lab.file("job.fio", job);
    let host = Host::tcp(&elsewhere);
    lab.run([&host.client(), "job.fio"]).ended(0, "");
    for worker in [1, 2] {
        let log = std::fs::read_to_string(lab.path(&format!("l_clat.{worker}.log.127.0.0.1"))).unwrap();
        assert_eq!(log.lines().count(), 1024, "worker {worker}");
    }
    let iolog = std::fs::read_to_string(lab.path("ops.127.0.0.1")).unwrap();
    assert_eq!(iolog.lines().filter(|line| line.contains(" read ")).count(), 2048);
    let left = std::fs::read_dir(elsewhere.path("")).unwrap().flatten();
    assert!(left.map(|entry| entry.file_name()).all(|name| !name.to_string_lossy().contains("l_clat")));
}

#[test]
fn a_secret_is_shared_or_nothing_happens() {
    let lab = Lab::new();
    lab.file("job.fio", NULL_JOB);
    for (name, text) in [("right", "0123456789abcdef"), ("wrong", "0123456789abcdeX"), ("short", "x")] {
        let path = lab.file(name, text);
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
    let host = Host::start(&lab, &["--server=127.0.0.1,0", "--secret=right"]);
    lab.run([&host.client(), "job.fio", "--secret=right"]).ended(0, "");
    lab.run([&host.client(), "job.fio", "--secret=wrong"]).ended(1, "does not know the secret");
    lab.run([&host.client(), "job.fio"]).ended(1, "the server asks for a secret");
    lab.run([&host.client(), "job.fio", "--secret=short"]).ended(2, "at least 16 bytes");
    let printed = host.end();
    assert!(printed.contains("turned away: the client does not know the secret"), "{printed}");
    lab.run(["--server=0.0.0.0,0"]).ended(2, "--secret=FILE and --allow-host=HOST");
    lab.run(["--server=0.0.0.0,0", "--secret=right"]).ended(2, "add --allow-host=HOST");
}

#[test]
fn what_is_no_client_is_turned_away_and_the_server_goes_on() {
    let lab = Lab::new();
    lab.file("job.fio", NULL_JOB);
    let host = Host::tcp(&lab);
    let address = host.address.replace(',', ":");
    for said in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], b"iolab hosts\n\xff\xff\xff\xff\x01", b"iolab hosts\n\x02\0\0\0\x01{}", b""]
    {
        let mut stream = TcpStream::connect(&address).unwrap();
        stream.write_all(said).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        // It may be reset: what it sent was not read.
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.len() < 200, "{answer:?}");
    }
    lab.run([&host.client(), "job.fio"]).ended(0, "");
    assert!(host.end().contains("turned away: what connected is no client of iolab"));
}

#[test]
fn a_server_in_the_background_writes_its_number() {
    let lab = Lab::new();
    lab.file("job.fio", NULL_JOB);
    let socket = lab.path("s");
    let address = format!("sock:{}", socket.display());
    let server = format!("--server={address}");
    let done = lab.run([&server, "--daemonize=pid"]).ended(0, "");
    assert!(done.printed().contains("listening on sock:"), "{done:?}");
    let text = std::fs::read_to_string(lab.path("pid")).unwrap();
    let pid: i32 = text.trim().parse().unwrap();
    let ran = lab.run([&format!("--client={address}"), "job.fio"]);
    iolab_process::kill(pid, SIGTERM);
    ran.ended(0, "");
    let begun_ns = crate::support::now_ns();
    while socket.exists() {
        assert!(crate::support::now_ns() - begun_ns < crate::support::PATIENCE_NS);
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // One that cannot listen says so, and leaves no number.
    lab.file("taken", "x");
    lab.run([&format!("--server=sock:{}", lab.path("taken").display()), "--daemonize=other"]).ended(2, "no socket");
    assert!(!lab.path("other").exists());
    lab.file("data", "precious");
    lab.run([&server, "--daemonize=data"]).ended(2, "does not hold the number of a process");
    assert_eq!(std::fs::read_to_string(lab.path("data")).unwrap(), "precious");
}

#[test]
fn words_that_do_not_go_together_are_refused() {
    let lab = Lab::new();
    lab.file("job.fio", NULL_JOB);
    lab.file("bad.fio", "[a]\nrw=nonsense\n");
    let refused: [(&[&str], &str); 9] = [
        (&["--client=127.0.0.1,1"], "no job for client"),
        (&["--client=127.0.0.1,1", "job.fio"], "no server answers there"),
        (&["--client=127.0.0.1:1", "job.fio"], "follows a comma"),
        (&["--client=127.0.0.1,1", "bad.fio"], "nonsense"),
        (&["--server", "--client=a", "job.fio"], "exclude each other"),
        (&["--server=127.0.0.1,0", "job.fio"], "takes its jobs from clients"),
        (&["--server=127.0.0.1,0", "--allow=/does/not/exist"], "--allow="),
        (&["run", "job.fio", "--allow=/tmp"], "add --server"),
        (&["run", "job.fio", "--remote-config=x"], "add --client=HOST"),
    ];
    for (words, said) in refused {
        let done: Done = lab.run(words);
        assert!(done.code() > 0 && done.errors().contains(said), "{words:?}: {done:?}");
    }
}
