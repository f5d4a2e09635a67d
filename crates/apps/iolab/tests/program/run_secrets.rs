//! Values of environment variables in a job are in nothing that is saved, unless the user asks for
//! it.

use std::path::{Path, PathBuf};

use crate::support::Lab;

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
