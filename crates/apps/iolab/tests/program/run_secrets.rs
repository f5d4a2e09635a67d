//! Values of environment variables in a job are in nothing that is saved, unless the user asks for
//! it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use crate::support::{Done, Lab};

const SECRET: &str = "correct-horse-battery";

fn lab() -> Lab {
    let lab = Lab::new();
    std::fs::create_dir(lab.path(SECRET)).unwrap();
    lab.file(
        "j.fio",
        "[global]\ndescription=with ${PASSWORD}\n[a]\nioengine=psync\nrw=write\nsize=64k\ncalibrate=0\n\
         filename=${PASSWORD}/data\nbs=${BS}\nwrite_bw_log=${PASSWORD}/log\nbuffer_pattern=\"${PASSWORD}\"\n\
         exec_prerun=test ${PASSWORD} = correct-horse-battery\n",
    );
    lab
}

fn environment() -> [(&'static str, PathBuf); 2] {
    [("PASSWORD", SECRET.into()), ("BS", "4k".into())]
}

/// Whether the secret is in a file, byte by byte.
fn is_in(path: &Path) -> bool {
    let bytes = std::fs::read(path).unwrap();
    bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes())
}

#[test]
fn values_are_used_by_the_run_and_kept_nowhere() {
    let lab = lab();
    let words = ["run", "j.fio", "--record=r.iolab", "--output=report", "--output-format=normal,json"];
    lab.run_with(words, &environment()).ended(0, "");
    let written = std::fs::read(lab.path(SECRET).join("data")).unwrap();
    assert!(written.starts_with(SECRET.as_bytes()) && written.len() == 64 << 10, "the run used the value");
    assert!(lab.path(SECRET).join("log_bw.1.log").exists());
    for name in ["r.iolab", "report", "recordings.db", "recordings.db-wal"].map(|name| lab.path(name)) {
        assert!(!name.exists() || !is_in(&name), "{}", name.display());
    }
    let recording = crate::support::read_recording(&lab.path("r.iolab"));
    let options = &recording.plan.workers[0].job_options;
    assert_eq!((options["filename"].as_str(), options["bs"].as_str()), ("${PASSWORD}/data", "${BS}"));
    assert_eq!(recording.plan.global_options["description"], "with ${PASSWORD}");
    let listed = lab.run(["db", "list", "--json"]).ended(0, "").printed();
    assert!(listed.contains("${PASSWORD}") && !listed.contains(SECRET), "{listed}");
}

#[test]
fn the_command_line_is_kept_without_values() {
    let lab = lab();
    let description = format!("--description={SECRET}");
    let filename = "--filename=${PASSWORD}/data";
    let words = ["run", "--name=b", "--ioengine=null", "--size=64k", filename, &description, "--record=r.iolab"];
    lab.run_with(words, &environment()).ended(0, "");
    assert!(!is_in(&lab.path("r.iolab")));
    let recording = crate::support::read_recording(&lab.path("r.iolab"));
    assert!(recording.host.command_line.contains(&"--description=${PASSWORD}".to_owned()), "{:?}", recording.host);
}

#[test]
fn who_wants_values_kept_says_so() {
    let lab = lab();
    lab.run_with(["run", "j.fio", "--record=r.iolab", "--keep-secrets"], &environment()).ended(0, "");
    let recording = crate::support::read_recording(&lab.path("r.iolab"));
    assert_eq!(recording.plan.workers[0].job_options["filename"], format!("{SECRET}/data"));
}

/// All recordings below a folder, as stored on disk.
fn recordings_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        match entry.path() {
            path if path.is_dir() => found.extend(recordings_below(&path)),
            path if path.extension().is_some_and(|end| end == "iolab") => found.push(path),
            _ => {}
        }
    }
    found
}

#[test]
fn the_trials_of_a_study_keep_values_only_where_that_is_said() {
    let lab = lab();
    let study = "title = \"Secrets\"\njob = \"j.fio\"\nblocks = 2\nfigures = [\"iops\"]\n\
                 [[axis]]\noption = \"iodepth\"\nvalues = [1, 2]\n";
    lab.file("s.toml", study);
    let by_words = ["run", "j.fio", "--vary=iodepth=1,2", "--repeat=2"];
    let by_file = ["study", "run", "s.toml"];
    let cases = [(&by_words[..], "words"), (&by_file[..], "file")];
    for (words, name) in cases {
        for is_kept in [false, true] {
            let folder = format!("{name}-{is_kept}");
            let folder_word = format!("--folder={folder}");
            let keep = is_kept.then_some("--keep-secrets");
            let all = words.iter().copied().chain([folder_word.as_str()]).chain(keep);
            lab.run_with(all, &environment()).ended(0, "");
            let recordings = recordings_below(&lab.path(&folder));
            assert_eq!(recordings.len(), 4, "{folder}: {recordings:?}");
            assert!(recordings.iter().all(|path| is_in(path) == is_kept), "{folder}");
        }
    }
}

#[test]
fn a_killed_run_leaves_no_values() {
    const SIGKILL: i32 = 9;
    let lab = lab();
    let text = std::fs::read_to_string(lab.path("j.fio")).unwrap();
    lab.file("j.fio", text + "time_based\nruntime=600\ninterval=10ms\nrate=1m\n");
    let partial = lab.path("r.iolab.partial");
    let running = lab.start_with(["run", "j.fio", "--record=r.iolab"], &environment());
    running.until(|_| std::fs::metadata(&partial).is_ok_and(|metadata| metadata.len() > 4096));
    running.signal(SIGKILL);
    running.finish();
    assert!(!is_in(&partial));
}

/// A password that stands in the job itself.
const CANARY: &str = "Tr0ub4dor&3";

/// A server that takes every object and has none.
fn store() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || answer(BufReader::new(stream.unwrap())));
        }
    });
    address
}

fn answer(mut reader: BufReader<TcpStream>) -> Option<()> {
    loop {
        let (mut first, mut length) = (String::new(), 0);
        reader.read_line(&mut first).ok().filter(|bytes| *bytes > 0)?;
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            if line.trim().is_empty() {
                break;
            }
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().ok()?;
            }
        }
        std::io::copy(&mut reader.by_ref().take(length), &mut std::io::sink()).ok()?;
        let status = if first.starts_with("PUT") { "201 Created" } else { "404 Not Found" };
        write!(reader.get_mut(), "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").ok()?;
    }
}

/// Fails if the canary is in what a program printed, or in any file of the folder but the jobs.
#[track_caller]
fn no_canary(lab: &Lab, ran: &Done, jobs: &[&str]) {
    for text in [ran.printed(), ran.errors()] {
        assert!(!text.contains(CANARY), "{text}");
    }
    for path in files_below(&lab.path("")) {
        let bytes = std::fs::read(&path).unwrap();
        let has = bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
        let is_job = jobs.iter().any(|job| path.ends_with(job));
        assert_eq!(has, is_job, "{}", path.display());
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn a_password_in_a_job_is_in_nothing_that_a_run_prints_or_saves() {
    let lab = Lab::new();
    let host = store();
    let job = format!(
        "[a]\nioengine=http\nhttp_host={host}\nhttp_user=me\nhttp_pass={CANARY}\n; http_pass={CANARY}\n\
         rw=write\nbs=4k\nsize=16k\ncalibrate=0\nfilename=/b/o\n"
    );
    lab.file("j.fio", &job);
    let formats = "--output-format=normal,json,json+,terse";
    let ran = [
        lab.run(["run", "j.fio", "--record=r.iolab", "--debug=all", formats]),
        lab.fio(["j.fio", "--debug=all", formats]),
        lab.run(["report", "r.iolab", "-o", "page.html"]),
        lab.run(["plan", "j.fio"]),
        lab.run(["run", "j.fio", "--showcmd"]),
    ];
    for ran in &ran {
        assert_eq!(ran.code(), 0, "{}", ran.errors());
        no_canary(&lab, ran, &["j.fio"]);
    }
    let options = &crate::support::read_recording(&lab.path("r.iolab")).plan.workers[0].job_options;
    assert_eq!(options["http_pass"], "***");
    let [.., command] = ran;
    assert!(command.printed().contains("'--http_pass=${HTTP_PASS}'"), "{}", command.printed());
    assert!(command.errors().contains("as HTTP_PASS"), "{}", command.errors());
}

#[test]
fn a_password_on_the_command_line_is_in_no_recording_and_no_message() {
    let lab = Lab::new();
    let host = format!("--http_host={}", store());
    let run = |more: &str| {
        let job =
            ["run", "--name=a", "--ioengine=http", "--rw=write", "--size=16k", "--filename=/b/o", "--calibrate=0"];
        lab.run(job.into_iter().chain([host.as_str(), "--http_user=me", "--http_pass", CANARY, more]))
    };
    let ran = run("--record=w.iolab");
    assert_eq!(ran.code(), 0, "{}", ran.errors());
    no_canary(&lab, &ran, &[]);
    let recording = crate::support::read_recording(&lab.path("w.iolab"));
    assert!(recording.host.command_line.contains(&"***".to_owned()), "{:?}", recording.host);
    // These quote the command line.
    for mistake in ["--bs=4q", "--no-such-option=1", "--output-format=bogus", "--http_pasS=Tr0ub4dor&3"] {
        let ran = run(mistake);
        no_canary(&lab, &ran, &[]);
        assert_ne!(ran.code(), 0, "{mistake}");
    }
}

#[test]
fn a_password_in_an_address_is_in_nothing_of_a_run_that_fails() {
    let lab = Lab::new();
    let url = format!("iscsi://me%{CANARY}@127.0.0.1:1/iqn.2026-01.lab:t/1");
    let escaped = url.replace(':', "\\:");
    let common = "rw=read\nbs=4k\nsize=16k\ncalibrate=0\n";
    let http = format!("ioengine=http\nhttp_host=127.0.0.1:1\nhttp_user=me\nhttp_pass={CANARY}\nfilename=/b/o");
    let jobs = [
        ("url.fio", format!("ioengine=iscsi\niscsi_url={url}")),
        ("name.fio", format!("ioengine=iscsi\nfilename={escaped}")),
        ("nbd.fio", format!("ioengine=nbd\nuri=nbd://me:{CANARY}@127.0.0.1:1/x")),
        ("refused.fio", http),
    ];
    let names = jobs.each_ref().map(|(name, _)| *name);
    jobs.iter().for_each(|(name, text)| drop(lab.file(name, format!("[a]\n{text}\n{common}"))));
    for job in names {
        let words = [job, "--output-format=normal,json", "--record=r.iolab"];
        for ran in [lab.run(["run"].into_iter().chain(words)), lab.fio(words)] {
            assert_ne!(ran.code(), 0, "{job}");
            assert!(!ran.errors().is_empty(), "{job}");
            no_canary(&lab, &ran, &names);
        }
    }
    let ran = lab.run(["run", "--name=a", "--ioengine=iscsi", &format!("--filename={escaped}"), "--size=1q"]);
    assert!(ran.errors().contains("me%****") && !ran.errors().contains(CANARY), "{}", ran.errors());
}
