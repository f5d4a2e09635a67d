//! Studies on several hosts: each trial is one run on all of them. The hosts are ranks on this
//! machine, through a remote shell that stays here.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use iolab_aggregate::WholeRun;
use iolab_plan::Direction;
use iolab_recording::Recording;
use serde_json::Value;

use crate::ranks::{SHELL, SHELL_TEXT, descendants_named, is_worker, partials};
use crate::support::{Lab, Running, read_recording};

const JOB: &str = "[a]\nioengine=null\nrw=randread\nbs=4k\nsize=4m\n";
const SLOW_JOB: &str =
    "[a]\nioengine=null\nrw=randread\nsize=4m\nrate_iops=1000\ntime_based\nruntime=1h\ninterval=10ms\n";

fn lab(job: &str) -> Lab {
    let lab = Lab::new();
    lab.file("rsh", SHELL_TEXT);
    lab.file("job.fio", job);
    lab
}

/// The recordings of all trials of a study.
fn trials(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder.join("trials")).unwrap().flatten().map(|entry| entry.path());
    let mut found: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "iolab")).collect();
    found.sort();
    found
}

fn operations(recording: &Recording) -> u64 {
    WholeRun::new(recording).throughput(&Direction::ALL).ios
}

/// Waits until all ranks of the trial that is running have measured something.
fn until_measuring(lab: &Lab, running: &Running, ranks: usize) {
    running.until(|_| {
        let kept = partials(lab);
        kept.len() == ranks && kept.iter().all(|read| operations(read) > 0)
    });
}

#[test]
fn every_trial_of_varied_options_is_one_run_on_all_hosts() {
    let lab = lab(JOB);
    lab.file("rsh", format!("echo >> connections\n{SHELL_TEXT}"));
    let words = ["hosts", "run", "--hosts=a,b:2", SHELL, "--vary=bs=4k,8k", "--repeat=2", "job.fio"];
    let done = lab.run(words).ended(0, "each trial on 3 ranks: a,b:2");
    assert!(done.printed().contains("  bs  trials"), "{done:?}");
    let found = trials(&lab.path("job-study"));
    assert_eq!(found.len(), 4);
    // One for each rank of each trial, and of the plan of each configuration.
    assert_eq!(std::fs::read_to_string(lab.path("connections")).unwrap().len(), 3 * (4 + 2));
    for path in found {
        let trial = read_recording(&path);
        let ranks: Vec<_> = trial.hosts.iter().map(|host| (host.name.as_str(), host.rank)).collect();
        assert_eq!(ranks, [("a", Some(0)), ("b#1", Some(1)), ("b#2", Some(2))]);
        let block_bytes = if path.display().to_string().contains("c000") { 4096 } else { 8192 };
        assert_eq!(operations(&trial), 3 * (4 << 20) / block_bytes, "{}", path.display());
    }
    // Recordings do not say where the user's folders are.
    let recorded = std::fs::read_to_string(&trials(&lab.path("job-study"))[0]).unwrap();
    assert!(recorded.contains("job-study/jobs/c000.fio") && !recorded.contains("/job-study/jobs/c000.fio"));
    // All that is made of a study is made of this one.
    lab.run(["report", "job-study", "-o", "page.html"]).ended(0, "");
    assert!(std::fs::read_to_string(lab.path("page.html")).unwrap().contains("--hosts=a,b:2"));
    let json = lab.run(["study", "show", "job-study", "--json"]).ended(0, "").json();
    assert!(json["rows"][0]["values"].as_array().unwrap().iter().all(Value::is_number), "{json}");
    assert!(lab.run(["db", "list"]).ended(0, "").printed().contains("a, b#1, b#2"));
}

#[test]
fn the_levels_of_a_ladder_are_loads_of_all_hosts_together() {
    let lab = lab("[a]\nioengine=null\nrw=randread\nsize=4m\nruntime=50ms\ntime_based\nrate_process=poisson\n");
    lab.file(
        "study.toml",
        "title = \"t\"\njob = \"job.fio\"\nblocks = 1\n[ladder]\nlevels = [50, 100]\nmaximum_iops = 8000\n",
    );
    lab.run(["study", "run", "study.toml", "--hosts=a,b:3", SHELL]).ended(0, "");
    let mut asked: Vec<f64> = Vec::new();
    for path in trials(&lab.path("study")) {
        let trial = read_recording(&path);
        assert_eq!((trial.hosts.len(), trial.workers.len()), (4, 4));
        let rates = trial.plan.workers.iter().filter_map(|worker| worker.job_options.get("rate_iops"));
        let first = |rate: &String| rate.split(',').next().and_then(|one| one.parse::<f64>().ok()).unwrap();
        asked.push(rates.map(first).fold(0.0, |sum, one| sum + one));
    }
    asked.sort_by(f64::total_cmp);
    assert_eq!(asked, [0.0, 4000.0, 8000.0]);
}

#[test]
fn commands_of_a_study_run_here_and_are_told_the_hosts() {
    let lab = lab(JOB);
    let said = lab.path("said");
    let text = |what: &str| format!("{what} = 'echo {what} $IOLAB_HOSTS, $IOLAB_RSH >>{}'\n", said.display());
    let commands: String = ["before_all", "set_up", "tear_down", "after_all"].map(text).concat();
    lab.file("study.toml", format!("title = \"t\"\njob = \"job.fio\"\nblocks = 1\n{commands}"));
    let planned = lab.run(["study", "plan", "study.toml", "--hosts=a,b:2", SHELL]).ended(0, "").printed();
    assert!(planned.contains("each trial on 3 ranks: a,b:2"), "{planned}");
    lab.run(["study", "run", "study.toml", "--hosts=a,b:2", SHELL]).ended(0, "");
    let said = std::fs::read_to_string(said).unwrap();
    let expected = ["before_all", "set_up", "tear_down", "after_all"].map(|what| format!("{what} a b, sh rsh"));
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_rank_that_fails_ends_the_study_and_its_trial_does_not_count() {
    let lab = lab(SLOW_JOB);
    let words = ["hosts", "run", "--hosts=a,b", SHELL, "--repeat=2", "job.fio"];
    let running = lab.start(words);
    until_measuring(&lab, &running, 2);
    let jobs = descendants_named(running.id() as i32, "internal-host-job");
    let jobs: Vec<i32> = jobs.into_iter().filter(|pid| !is_worker(*pid)).collect();
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    iolab_process::kill(jobs[1], 9);
    let done = running.finish().ended(1, "was cut short");
    assert!(done.errors().contains("rank ") && done.errors().contains("study resume job-study"), "{done:?}");
    // What was measured is there.
    let [kept] = &trials(&lab.path("job-study"))[..] else { panic!("one trial has begun") };
    assert!(operations(&read_recording(kept)) > 0);
    let json = lab.run(["study", "show", "job-study", "--json"]).ended(0, "").json();
    assert!(json["rows"][0]["values"].as_array().unwrap().iter().all(Value::is_null), "{json}");
}

#[test]
fn an_interrupted_study_goes_on_with_its_hosts() {
    let lab =
        lab("[a]\nioengine=null\nrw=randread\nsize=4m\nrate_iops=1000\nruntime=${LONG}\ntime_based\ninterval=10ms\n");
    let words = ["hosts", "run", "--hosts=a,b", SHELL, "--repeat=1", "job.fio"].map(str::to_owned);
    let running = lab.start_with(words, &[("LONG", PathBuf::from("1h"))]);
    until_measuring(&lab, &running, 2);
    running.signal(2);
    running.finish().ended(128, "go on with: iolab study resume job-study");
    let resume = ["study", "resume", "job-study"].map(str::to_owned);
    lab.run_with(resume, &[("LONG", PathBuf::from("100ms"))]).ended(0, "each trial on 2 ranks: a,b");
    let [trial] = &trials(&lab.path("job-study"))[..] else { panic!("one trial") };
    let trial = read_recording(trial);
    assert!(!trial.interrupted && trial.hosts.len() == 2);
}

/// A launcher that starts the ranks through the remote shell, as `iolab-rank` would over MPI: of
/// its words, the last are `…/iolab-rank run|plan WORDS`.
const LAUNCHER: &str = r#"#!/bin/sh
[ "$1" != --version ] || { echo 'mpirun (Open MPI) 5.0'; exit; }
echo "$@" >>launched
for word; do
    shift
    case $word in *iolab-rank) break ;; esac
done
action=$1
shift
[ "$action" = run ] || set -- --plan "$@"
exec PROGRAM hosts run --hosts=a,b '--rsh=sh rsh' "$@"
"#;

#[test]
fn mpi_starts_the_ranks_of_every_trial() {
    let lab = lab(JOB);
    let launcher = lab.file("launcher", LAUNCHER.replace("PROGRAM", env!("CARGO_BIN_EXE_iolab")));
    std::fs::set_permissions(&launcher, Permissions::from_mode(0o755)).unwrap();
    let mpirun = format!("--mpirun={}", launcher.display());
    let words = |job: &'static str| {
        ["hosts", "run", "--hosts=a,b", "--mpi", &mpirun, "--vary=bs=4k,8k", "--repeat=2", job].map(str::to_owned)
    };
    lab.run(words("job.fio")).ended(0, "each trial on 2 ranks: a,b");
    let found = trials(&lab.path("job-study"));
    assert_eq!(found.len(), 4);
    assert!(found.iter().all(|path| read_recording(path).hosts.len() == 2));
    // Every configuration is planned before the first trial.
    let launched = || std::fs::read_to_string(lab.path("launched")).unwrap();
    let actions = || -> Vec<bool> { launched().lines().map(|line| line.contains("iolab-rank run ")).collect() };
    let plans = actions().iter().take_while(|is_run| !**is_run).count();
    assert!(plans >= 2 && actions()[plans..] == [true; 4], "{}", launched());
    assert!(launched().lines().all(|line| line.starts_with("--host a:1,b:1 -np 2 ")), "{}", launched());
    // The study keeps its launcher.
    std::fs::remove_file(&found[0]).unwrap();
    lab.run(["study", "resume", "job-study"]).ended(0, "each trial on 2 ranks: a,b");
    assert_eq!(actions().iter().filter(|is_run| **is_run).count(), 5, "{}", launched());
    // What one rank refuses is told before anything runs.
    lab.file("precious1", "mine");
    lab.file("refused.fio", "[a]\nfilename=precious$rank\nrw=write\nbs=4k\nsize=1m\n");
    let refused = lab.run(words("refused.fio"));
    assert!(refused.code() == 3 && refused.errors().contains("rank 1 (b)"), "{refused:?}");
    assert!(!lab.path("refused-study").exists() && !lab.path("precious0").exists());
}

#[test]
fn what_a_study_cannot_do_on_hosts_is_refused_before_anything_runs() {
    let lab = lab(JOB);
    let vary = "--vary=bs=4k,8k";
    let words = |more: &[&'static str]| [&["hosts", "run", "--hosts=a,b", SHELL, "job.fio"], more].concat();
    let study = |more: &[&'static str]| [&["study", "run", "study.toml"], more].concat();
    lab.file(
        "study.toml",
        "title = \"t\"\ncommand = \"echo\"\n[[value]]\nname = \"it\"\nat = \"it\"\nbetter = \"higher\"\n",
    );
    for (words, said) in [
        (words(&[vary, "--record=x.iolab"]), "--record cannot be used with a study"),
        (words(&[vary, "--rank=0/2"]), "--rank"),
        (words(&[vary, "--client=c"]), "hosts run starts the ranks itself"),
        (words(&[vary, "--precondition=fill"]), "cannot fill each once"),
        (words(&["--steady=auto"]), "--steady is for studies"),
        (words(&["--vary=bsz=4k"]), "`bsz` is not an option"),
        (words(&["--vary=bs=4k,nonsense"]), "`nonsense` is not a number"),
        (words(&["--vary=hosts=0,1"]), "rank 1 (b)"),
        (study(&["--hosts=a,b", SHELL]), "write a job instead"),
        (study(&[SHELL]), "--hosts"),
        (study(&["--hosts=a:0"]), "number of ranks"),
    ] {
        let done = lab.run(&words);
        assert!(done.code() == 2 && done.errors().contains(said), "{words:?}: {done:?}");
    }
    let unreachable = ["hosts", "run", "--hosts=a,b", "--rsh=false", vary, "job.fio"];
    lab.run(unreachable).ended(1, "no iolab answered there");
    assert!(!lab.path("job-study").exists() && !lab.path("study").exists(), "nothing was begun");
}
