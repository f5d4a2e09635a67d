//! `iolab study`: planning, running, interrupting and continuing.

use std::collections::BTreeSet;

use crate::support::{Done, Lab};

const SIGTERM: i32 = 15;
const SIGKILL: i32 = 9;

/// A study of the null engine: `runtime` for each of 2 x 2 configurations.
fn study(runtime: &str, more: &str) -> String {
    format!(
        "title = \"Nothing\"\njob = \"base.fio\"\nblocks = 3\nseed = 5\nfigures = [\"iops\", \"p50\"]\n{more}\n\
         [settings]\nruntime = \"{runtime}\"\n\
         [[axis]]\noption = \"bs\"\nvalues = \"4k..8k x2\"\n\
         [[axis]]\noption = \"iodepth\"\nvalues = [1, 8]\n"
    )
}

fn lab(runtime: &str, more: &str) -> Lab {
    let lab = Lab::new();
    lab.file("base.fio", "[job]\nioengine=null\nsize=1g\nrw=randread\ntime_based\n");
    lab.file("it.toml", study(runtime, more));
    lab
}

/// The same with jobs that leave the processors to others for most of their time.
fn slow_lab(runtime: &str, more: &str) -> Lab {
    let lab = lab(runtime, more);
    lab.file("base.fio", "[job]\nioengine=null\nsize=1g\nrw=randread\ntime_based\nrate_iops=2000\n");
    lab
}

fn trials(lab: &Lab) -> Vec<String> {
    let folder = std::fs::read_dir(lab.path("it/trials")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".iolab")).collect();
    names.sort();
    names
}

fn files(lab: &Lab, folder: &str) -> BTreeSet<String> {
    let names = std::fs::read_dir(lab.path(folder)).unwrap();
    names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// How many trials a run announced.
fn announced(done: &Done) -> usize {
    done.errors().lines().filter(|line| line.starts_with('[')).count()
}

#[test]
fn a_plan_tells_the_cost_and_runs_nothing() {
    let lab = lab("2s", "");
    let printed = lab.run(["study", "plan", "it.toml"]).ended(0, "").printed();
    for part in ["4 configurations in 3 blocks: 12 trials", "at most 24s", "writes nothing"] {
        assert!(printed.contains(part), "no '{part}' in:\n{printed}");
    }
    assert!(!lab.path("it").exists());
}

#[test]
fn a_study_runs_every_trial_once_and_shows_what_it_found() {
    let lab = lab(
        "20ms",
        "set_up = \"echo up $IOLAB_BLOCK >> did\"\ntear_down = \"echo down $(basename $IOLAB_JOB) >> did\"",
    );
    let done = lab.run(["study", "run", "it.toml"]).ended(0, "[12/12");
    let answer = done.printed().lines().nth(2).expect("the answer comes first").to_owned();
    assert!(answer.contains(" IOPS [") && answer.ends_with(" (iops)"), "{answer}");
    assert_eq!(trials(&lab).len(), 12);
    let did = std::fs::read_to_string(lab.path("did")).unwrap();
    assert_eq!(did.lines().filter(|line| line.starts_with("up 2")).count(), 4, "{did}");
    assert_eq!(did.lines().filter(|line| *line == "down c003.fio").count(), 3, "{did}");
    // The job file of each configuration is complete.
    lab.run(["plan", "it/jobs/c003.fio"]).ended(0, "");
    // The study folder is made in the current folder, wherever the study file is. The study file's
    // folder may already contain an entry of that name.
    std::fs::create_dir_all(lab.path("there/it")).unwrap();
    for file in ["it.toml", "base.fio"] {
        std::fs::copy(lab.path(file), lab.path("there").join(file)).unwrap();
    }
    assert_eq!(announced(&lab.run(["study", "run", "there/it.toml"]).ended(0, "")), 0, "it is there already");
    // Existing trials are not repeated, and the result is the same.
    let again = lab.run(["study", "run", "it.toml"]).ended(0, "");
    assert_eq!((announced(&again), again.printed()), (0, done.printed()));
    let shown = lab.run(["study", "show", "it", "--json"]).ended(0, "").json();
    assert_eq!(shown["rows"].as_array().unwrap().len(), 8);
    assert_eq!(
        shown,
        serde_json::from_str::<serde_json::Value>(&std::fs::read_to_string(lab.path("it/analysis.json")).unwrap())
            .unwrap()
    );
}

#[test]
fn an_interrupted_study_goes_on_where_it_stopped() {
    let lab = slow_lab("300ms", "set_up = \"echo up >> did\"\ntear_down = \"echo down >> did\"");
    let count = |word: &str| {
        let did = std::fs::read_to_string(lab.path("did")).unwrap_or_default();
        did.lines().filter(|line| *line == word).count()
    };
    let running = lab.start(["study", "run", "it.toml"]);
    running.until(|_| count("up") == 3);
    running.signal(SIGTERM);
    running.finish().ended(128, "go on with: iolab study resume it");
    assert_eq!((count("up"), count("down")), (3, 3), "the trial that was interrupted was torn down, too");
    let resumed = lab.run(["study", "resume", "it"]).ended(0, "");
    assert_eq!(announced(&resumed), 10, "two trials had been whole");
    assert_eq!(trials(&lab).len(), 12);
    assert!(!resumed.printed().contains("do not count"), "{}", resumed.printed());
}

#[test]
fn a_killed_study_goes_on_with_the_same_trials() {
    let lab = slow_lab("100ms", "");
    let running = lab.start(["study", "run", "it.toml"]);
    running.until(|running| running.errors().contains("[4/12"));
    running.signal(SIGKILL);
    running.finish();
    let resumed = lab.run(["study", "resume", "it"]).ended(0, "");
    assert!((8..=9).contains(&announced(&resumed)), "{}", resumed.errors());
    // The schedule follows from the seed: the trials are those of an uninterrupted run.
    let unbroken = lab.run(["study", "run", "it.toml", "--folder=other"]).ended(0, "");
    assert_eq!(announced(&unbroken), 12);
    assert_eq!(files(&lab, "it/trials"), files(&lab, "other/trials"));
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let lab = lab("10ms", "");
    let check = |from: &str, to: &str, said: &str| {
        lab.file("bad.toml", study("10ms", "").replace(from, to));
        let done = lab.run(["study", "run", "bad.toml"]).ended(2, said);
        assert_eq!(announced(&done), 0);
    };
    check("blocks = 3", "block = 3", "bad.toml:3:1: unknown key `block`; did you mean `blocks`?");
    check("base.fio", "none.fio", "none.fio: No such file");
    check("iodepth", "iodetph", "iodepth");
    check("4k..8k x2", "4k..8k", "needs a step");
    lab.run(["study", "run", "none.toml"]).ended(2, "none.toml");
    lab.run(["study", "resume", "."]).ended(2, "not the folder of a study");
    lab.run(["study", "run", "it.toml"]).ended(0, "");
    lab.run(["study", "run", "it.toml", "--blocks=4"]).ended(2, "holds another study");
}

#[test]
fn a_set_up_that_always_fails_ends_the_study_with_its_words() {
    let lab = lab("10ms", "set_up = \"echo >> tried; exit 7\"");
    lab.run(["study", "run", "it.toml"]).ended(1, "iolab: set_up of block 1 failed (exit status: 7):\necho");
    assert_eq!(trials(&lab).len(), 0);
    // Once for each configuration.
    assert_eq!(std::fs::read_to_string(lab.path("tried")).unwrap().len(), 4);
    // A long one is only recognised by its beginning.
    let lab = self::lab("10ms", "set_up = \"true\\ntrue\\ntrue\\ntrue\\ntrue\\nexit 7\"");
    lab.run(["study", "run", "it.toml"]).ended(1, "true\n… (6 lines)");
}

#[test]
fn a_study_goes_on_without_what_cannot_be_set_up_and_tries_it_again_later() {
    let commands = "set_up = \"test $IOLAB_CONFIGURATION != 2 || test -e ready\"\ntear_down = \"echo >> undone\"";
    let lab = lab("10ms", commands);
    let done = lab.run(["study", "run", "it.toml"]).ended(0, "3 trials could not be set up");
    let excluded = "excluded: block 2, bs=8k, iodepth=1: set_up failed (exit status: 1)";
    assert!(done.printed().contains(excluded), "{}", done.printed());
    assert_eq!(trials(&lab).len(), 9);
    assert_eq!(std::fs::read_to_string(lab.path("undone")).unwrap().len(), 12);
    assert_eq!(lab.run(["study", "show", "it"]).ended(0, "").printed(), done.printed());
    // Still excluded, and no other trial runs again.
    let again = lab.run(["study", "resume", "it"]).ended(0, "3 trials could not be set up");
    assert_eq!((announced(&again), again.printed()), (3, done.printed()));
    lab.file("ready", "");
    let whole = lab.run(["study", "resume", "it"]).ended(0, "");
    assert_eq!((announced(&whole), trials(&lab).len()), (3, 12));
    assert!(!whole.printed().contains("excluded"), "{}", whole.printed());
}

#[test]
fn a_tear_down_that_fails_ends_the_study() {
    let lab = lab("10ms", "tear_down = \"exit 7\"");
    lab.run(["study", "run", "it.toml"]).ended(1, "tear_down of block 1 failed (exit status: 7):\nexit 7");
    assert_eq!(trials(&lab).len(), 1);
}

#[test]
fn a_point_that_set_up_starts_a_server_for_is_planned_when_its_trials_begin() {
    let lab = lab("10ms", "");
    let text = "title = \"Later\"\njob_text = \"[a]\\nsize=4k\"\nblocks = 3\n[[axis]]\nname = \"way\"\npoint = [\
        { name = \"null\", set = { ioengine = \"null\" } }, { name = \"nbd\", LATER \
        set = { ioengine = \"nbd\", uri = \"nbd+unix:///?socket=none.sock\" } }]\n";
    lab.file("later.toml", text.replace("LATER", "later = true,"));
    let planned = lab.run(["study", "plan", "later.toml"]).ended(0, "").printed();
    assert!(planned.contains("plus 3 trials that can be planned only when they begin"), "{planned}");
    lab.file("now.toml", text.replace("LATER", ""));
    lab.run(["study", "plan", "now.toml"]).ended(2, "none.sock: cannot connect");
}

#[test]
fn the_quick_form_has_its_own_blocks_and_settings() {
    let lab = lab("2s", "");
    lab.file("quick.toml", study("2s", "") + "[quick]\nblocks = 2\nsettings = { runtime = \"1s\" }\n");
    let printed = lab.run(["study", "plan", "quick.toml", "--quick"]).ended(0, "").printed();
    for part in ["4 configurations in 2 blocks: 8 trials", "at most 8s"] {
        assert!(printed.contains(part), "no '{part}' in:\n{printed}");
    }
    lab.run(["study", "plan", "it.toml", "--quick"]).ended(2, "no quick form");
}

#[test]
fn a_collection_runs_its_studies_one_after_another_and_resumes_all_of_them() {
    let lab = lab("20ms", "");
    lab.file("other.toml", study("20ms", "").replace("Nothing", "Nothing else"));
    lab.file("both.toml", "title = \"Both\"\nstudies = [\"it.toml\", \"other.toml\"]\n");
    let planned = lab.run(["study", "plan", "both.toml"]).ended(0, "").printed();
    assert!(planned.contains("Nothing\n") && planned.contains("Nothing else\n"), "{planned}");
    lab.run(["study", "run", "both.toml"]).ended(0, "[12/12");
    for part in ["it", "other"] {
        assert!(lab.path("both").join(part).join("analysis.json").exists(), "{part}");
    }
    std::fs::remove_file(lab.path("both/other/trials/b01-c002.iolab")).unwrap();
    assert_eq!(announced(&lab.run(["study", "resume", "both"]).ended(0, "[1/1")), 1);
    assert!(lab.run(["study", "show", "both"]).ended(0, "").printed().contains("Nothing else"));
}

#[test]
fn a_collection_with_a_mistake_in_its_last_study_runs_nothing() {
    let lab = lab("20ms", "");
    lab.file("wrong.toml", study("20ms", "").replace("iodepth", "iodeep"));
    lab.file("both.toml", "title = \"Both\"\nstudies = [\"it.toml\", \"wrong.toml\"]\n");
    lab.run(["study", "run", "both.toml"]).ended(2, "iodeep");
    assert!(!lab.path("both").exists());
}

#[test]
fn a_command_is_studied_by_the_numbers_it_prints() {
    let lab = Lab::new();
    lab.file(
        "it.toml",
        "title = \"Sleep\"\ncommand = 'echo \"{\\\"took\\\": [$((100 * {length} + IOLAB_BLOCK))]}\"'\nblocks = 5\n\
         [[value]]\nname = \"time\"\nat = \"/took/0\"\nunit = \"ns\"\nbetter = \"lower\"\n\
         [[axis]]\noption = \"length\"\nvalues = [1, 2]\n",
    );
    let printed = lab.run(["study", "run", "it.toml"]).ended(0, "[10/10").printed();
    let answer = "length=1 is best: 102 ns [100 ns, 104 ns]; it is the baseline, -49.";
    assert!(printed.lines().nth(2).is_some_and(|line| line.starts_with(answer)), "{printed}");
    assert!(printed.contains("worse"), "{printed}");
    assert_eq!(announced(&lab.run(["study", "resume", "it"]).ended(0, "")), 0);
    assert_eq!(std::fs::read_to_string(lab.path("it/trials/b03-c001.json")).unwrap(), "{\"took\": [203]}\n");
}

#[test]
fn a_damaged_trial_is_said_everywhere_and_run_again() {
    let lab = lab("20ms", "");
    lab.run(["study", "run", "it.toml"]).ended(0, "[12/12");
    let recording = lab.path("it/trials/b01-c002.iolab");
    let whole = std::fs::read(&recording).unwrap();
    std::fs::write(&recording, &whole[..whole.len() / 2]).unwrap();
    let said = "its recording b01-c002 is damaged";
    let shown = lab.run(["study", "show", "it"]).ended(0, "").printed();
    assert!(shown.contains(&format!("excluded: block 2, bs=8k, iodepth=1: {said}")), "{shown}");
    let json = lab.run(["study", "show", "it", "--json"]).ended(0, "").json();
    assert!(json["flaws"][0].as_str().is_some_and(|flaw| flaw.contains(said)), "{}", json["flaws"]);
    lab.run(["report", "it", "-o", "it.html"]).ended(0, "");
    assert!(std::fs::read_to_string(lab.path("it.html")).unwrap().contains(said));
    std::fs::remove_file(&recording).unwrap();
    let shown = lab.run(["study", "show", "it"]).ended(0, "").printed();
    assert!(shown.contains("missing: block 2, bs=8k, iodepth=1: did not finish"), "{shown}");
    let again = lab.run(["study", "resume", "it"]).ended(0, "");
    assert_eq!(announced(&again), 1);
    assert!(!again.printed().contains("missing: "), "{}", again.printed());
}

#[test]
fn a_command_that_fails_ends_the_study_with_what_it_said() {
    let lab = Lab::new();
    lab.file(
        "it.toml",
        "title = \"No\"\ncommand = 'echo no such luck >&2; exit 3'\n\
         [[value]]\nname = \"time\"\nat = \"/t\"\nbetter = \"lower\"\n",
    );
    lab.run(["study", "run", "it.toml"]).ended(1, "no such luck");
}

#[test]
fn commands_around_all_trials_run_once_for_every_start_and_undo_whatever_happens() {
    let lab = lab("20ms", "before_all = \"echo up >> all\"\nafter_all = \"echo down >> all\"");
    let said = || std::fs::read_to_string(lab.path("all")).unwrap();
    lab.run(["study", "run", "it.toml"]).ended(0, "[12/12");
    assert_eq!(said(), "up\ndown\n");
    lab.run(["study", "resume", "it"]).ended(0, "");
    assert_eq!(said(), "up\ndown\n", "nothing was left to run");
    lab.file(
        "half.toml",
        study("20ms", "before_all = \"echo half >> all; false\"\nafter_all = \"echo undone >> all\""),
    );
    lab.run(["study", "run", "half.toml"]).ended(1, "before_all of the study failed");
    assert_eq!(said(), "up\ndown\nhalf\nundone\n");
}
