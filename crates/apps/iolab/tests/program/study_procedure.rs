//! Studies from the command line, preconditioning, ladders and trimmed warm-ups, through the
//! program.

use crate::support::{Done, Lab};

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;

const BASE: &str = "[job]\nioengine=null\nsize=16m\nrw=randrw\ntime_based\nruntime=60ms\n";

fn lab() -> Lab {
    let lab = Lab::new();
    lab.file("base.fio", BASE);
    lab
}

fn names(lab: &Lab, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(lab.path(folder)).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".iolab"));
    names.sort();
    names
}

/// How many steps of a kind a run announced.
fn announced(done: &Done, what: &str) -> usize {
    done.errors().lines().filter(|line| line.starts_with(what)).count()
}

#[test]
fn a_command_line_is_a_study_that_goes_on_and_is_shown_like_any() {
    let lab = lab();
    let words = ["run", "base.fio", "--vary", "bs=4k..8k:x2", "--vary=iodepth=1,8", "--blocks", "2"];
    let done = lab.run(words).ended(0, "4 configurations in 2 blocks: 8 trials");
    // The first configuration is the baseline, also on a busy machine where it looks best.
    let named = [" against the baseline (bs=4k, iodepth=1)", "bs=4k, iodepth=1 looks best"];
    assert!(named.iter().any(|text| done.printed().contains(text)), "{}", done.printed());
    // How often depends on how much the trials vary, which a busy machine decides.
    let repeats = |line: &str| line.contains("repeat at least ") && line.contains(" times to be sure at 95 %");
    assert!(done.printed().lines().any(repeats), "{}", done.printed());
    assert_eq!((announced(&done, "["), names(&lab, "base-study/trials").len()), (8, 8));
    let again = lab.run(words).ended(0, "");
    assert_eq!((announced(&again, "["), again.printed()), (0, done.printed()));
    assert_eq!(lab.run(["study", "show", "base-study"]).ended(0, "").printed(), done.printed());
    // The options of a job may be given on the command line.
    let described = ["run", "--name=x", "--ioengine=null", "--size=1m", "--rw=randread", "--repeat=6"];
    let alone = lab.run(described).ended(0, "1 configuration in 6 blocks: 6 trials");
    assert!(alone.printed().contains("the job: ") && alone.printed().contains(" IOPS ["), "{}", alone.printed());
    assert_eq!(names(&lab, "x-study/trials").len(), 6);
    let plan = lab.run(["plan", "base.fio", "--vary=bs=4k,8k"]).ended(0, "");
    assert!(
        plan.printed().contains("2 configurations in 5 to 30 blocks")
            && plan.printed().contains("decides 10 % differences"),
        "{}",
        plan.printed()
    );
}

#[test]
fn mistakes_on_the_command_line_have_a_place_and_a_way_out() {
    let lab = lab();
    let check = |words: &[&str], said: &[&str]| {
        let done = lab.run([&["run", "base.fio"], words].concat()).ended(2, "");
        said.iter().for_each(|part| assert!(done.errors().contains(part), "no '{part}': {}", done.errors()));
        assert!(!lab.path("base-study").exists());
    };
    check(&["--vary", "iodetph=1,2"], &["command line:1:17", "did you mean `iodepth`?"]);
    check(&["--vary", "bs=4k..16k"], &["command line:1:17", "needs a step"]);
    check(&["--vary", "iodepth"], &["as in iodepth=1,4,16"]);
    check(&["--vary=iodepth=1,x"], &["configuration iodepth=x", "`x` is not a number"]);
    check(&["--vary=bs=4k", "--vary=bs=8k"], &["two axes are called 'bs'"]);
    check(&["--repeat=0"], &["0 is not between 1"]);
    check(&["--repeat=3", "--record=x.iolab"], &["--record cannot be used with a study"]);
    check(&["--ladder=p99"], &["'p99<=1ms'"]);
    check(&["--precondition=snai"], &["\"snia\", \"fill\""]);
    check(&["--precondition=none.fio"], &["none.fio"]);
    check(&["--repeat=3", "--readonly"], &["--readonly cannot be used with a study"]);
    check(&["--drive-profile=nand"], &["command line:1:26", "--drive-profile is for studies", "--vary=OPTION=VALUES"]);
    check(&["--steady=auto"], &["--steady is for studies"]);
    lab.run(["plan", "base.fio", "--steady=auto"]).ended(2, "--steady is for studies");
    lab.fio(["base.fio", "--repeat=3"]).ended(1, "use iolab run");
}

const PROCEDURE: &str = "title = \"t\"\njob = \"base.fio\"\nblocks = 2\nsteady = \"auto\"\nfigures = [\"iops\"]\n\
     precondition = { kind = \"snia\", round = \"30ms\", most_rounds = 6 }\n\
     settings = { interval = \"10ms\", runtime = \"150ms\" }\n\
     ladder = { levels = [30, 60], maximum_iops = 5000, slo = \"p50<=50ms\" }\n";

#[test]
fn preconditioning_ladder_and_warm_up_are_done_kept_and_told() {
    let lab = lab();
    lab.file("it.toml", PROCEDURE);
    let planned = lab.run(["study", "plan", "it.toml"]).ended(0, "").printed();
    for part in
        ["purge, fill twice", "32m written to", "150ms to 180ms of rounds", "ladder: closed loop, then 30, 60 %"]
    {
        assert!(planned.contains(part), "no '{part}' in:\n{planned}");
    }
    let done = lab.run(["study", "run", "it.toml"]).ended(0, "precondition: fill twice");
    assert!((5..=6).contains(&announced(&done, "precondition: round")), "{}", done.errors());
    let shown = lab.run(["study", "show", "it", "--json"]).ended(0, "").json();
    let one = &shown["preconditioned"][0];
    assert_eq!(one["written_bytes"], 32 << 20, "twice the capacity");
    assert!(one["verdict"]["reached"].is_object() || one["verdict"]["given_up"].is_object(), "{one}");
    assert_eq!(one["rounds"].as_array().unwrap().len(), names(&lab, "it/precondition").len() - 2);
    let ladder = &shown["ladders"][0];
    assert_eq!(ladder["maximum_iops"], 5000.0);
    assert_eq!((&ladder["levels"][1]["asked_iops"], &ladder["levels"][1]["trials"]), (&3000.0.into(), &2.into()));
    // Reads and writes share the rate in the proportions of the closed loop.
    let job = std::fs::read_to_string(lab.path("it/jobs/c000-l01.fio")).unwrap();
    let rates = job.lines().find_map(|line| line.strip_prefix("rate_iops=")).unwrap();
    let sum: u64 = rates.split(',').take(2).map(|rate| rate.parse::<u64>().unwrap()).sum();
    assert!((2999..=3001).contains(&sum), "{job}");
    assert!(shown["warm_ups"].as_array().is_none_or(|all| all.len() <= 6), "{shown}");
}

#[test]
fn a_study_that_is_stopped_in_preconditioning_and_in_its_ladder_goes_on() {
    for signal in [SIGINT, SIGKILL] {
        let lab = lab();
        // The rounds are long enough that three of them are not over before the signal arrives.
        lab.file("it.toml", PROCEDURE.replace("round = \"30ms\"", "round = \"250ms\""));
        lab.file("short.toml", PROCEDURE);
        // They leave the processors to others for most of their time.
        lab.file("base.fio", format!("{BASE}thinktime=1ms\n"));
        let stop = |words: &[&str], at: &str| {
            let running = lab.start(words);
            running.until(|running| running.errors().contains(at));
            running.signal(signal);
            running.finish();
        };
        stop(&["study", "run", "it.toml"], "precondition: round 3");
        assert_eq!(names(&lab, "it/trials").len(), 0);
        stop(&["study", "resume", "it"], "load ");
        let job = || std::fs::read_to_string(lab.path("it/jobs/c000-l00.fio")).ok();
        let closed_loop = || std::fs::read(lab.path("it/trials/b00-c000.iolab")).unwrap();
        let (kept_job, kept_loop) = (job(), closed_loop());
        let resumed = lab.run(["study", "resume", "it"]).ended(0, "");
        assert_eq!(announced(&resumed, "precondition:"), 0, "what was done is not done again: {}", resumed.errors());
        assert_eq!(closed_loop(), kept_loop, "the measured maximum is kept");
        assert!(kept_job.is_none() || kept_job == job(), "and so are the rates");
        // The trials are those of an uninterrupted run.
        lab.run(["study", "run", "short.toml", "--folder=other"]).ended(0, "");
        assert_eq!(names(&lab, "it/trials"), names(&lab, "other/trials"));
        assert!(!resumed.printed().contains("do not count"), "{}", resumed.printed());
        // The result depends on the trials that exist, not on how often the study was stopped.
        assert_eq!(lab.run(["study", "show", "it"]).ended(0, "").printed(), resumed.printed());
    }
}

#[test]
fn a_preconditioning_that_would_destroy_something_is_refused() {
    let lab = lab();
    lab.file("precious", vec![1; 1 << 20]);
    lab.file("reads.fio", "[job]\nioengine=psync\nfilename=precious\nsize=1m\nrw=randread\n");
    // The trials only read; filling the file that they read would destroy it.
    lab.run(["run", "reads.fio", "--repeat=1"]).ended(0, "");
    lab.run(["run", "reads.fio", "--repeat=1", "--precondition=fill", "--folder=f"])
        .ended(3, "--allow-destroy precious");
    assert_eq!(std::fs::read(lab.path("precious")).unwrap(), vec![1; 1 << 20]);
    let words = ["run", "reads.fio", "--repeat=1", "--precondition=fill", "--folder=f", "--allow-destroy=precious"];
    let done = lab.run(words).ended(0, "precondition: fill twice");
    assert!(done.printed().contains("wrote 2m"), "{}", done.printed());
}

#[test]
fn a_ladder_says_what_it_needs_of_a_job() {
    let lab = lab();
    let check = |job: &str, said: &str| {
        lab.file("bad.fio", job);
        lab.run(["run", "bad.fio", "--ladder=none"]).ended(2, said);
    };
    check("[job]\nioengine=null\nsize=1m\nrw=read\n", "runtime=10s and time_based");
    check("[a]\nioengine=null\nsize=1m\nruntime=1\n[b]\nioengine=null\nsize=1m\nruntime=1\n", "a job with one section");
    check("[job]\nioengine=null\nsize=1m\nrw=read\nruntime=1\nrate_iops=5\n", "a ladder sets the rate");
}
