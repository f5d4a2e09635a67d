//! `iolab db`: what is kept by default, what is kept on request, and what is not kept.

use crate::support::{Done, Lab};

const JOB: &str = "[job]\nioengine=null\nsize=1g\nrw=randread\ntime_based\nruntime=20ms\ncalibrate=0\nbs=8k\n";

fn lab() -> Lab {
    let lab = Lab::new();
    lab.file("job.fio", JOB);
    lab
}

fn entries(lab: &Lab, more: &[&str]) -> Vec<serde_json::Value> {
    let printed = lab.run([&["db", "list", "--json"], more].concat()).ended(0, "").printed();
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn ids(entries: &[serde_json::Value]) -> Vec<i64> {
    entries.iter().map(|entry| entry["id"].as_i64().unwrap()).collect()
}

#[test]
fn runs_are_listed_unasked_and_found_again() {
    let lab = lab();
    let path = lab.run(["db", "path"]).ended(0, "").printed();
    assert_eq!(path.trim(), lab.path("recordings.db").to_str().unwrap());
    lab.run(["run", "job.fio", "--record=one.iolab"]).ended(0, "");
    lab.run(["run", "job.fio"]).ended(0, "recording saved as");
    lab.run(["run", "job.fio", "--bs=4k", "--record=none.iolab", "--no-db"]).ended(0, "");
    lab.run_with(["run", "job.fio"], &[("IOLAB_DB", "none".into())]).ended(0, "");
    lab.fio(["job.fio", "--record=fio.iolab"]).ended(0, "");
    let all = entries(&lab, &[]);
    assert_eq!(ids(&all), [2, 1]);
    assert_eq!(all[1]["path"], lab.path("one.iolab").canonicalize().unwrap().to_str().unwrap());
    assert!(all[1]["job_text"].as_str().unwrap().contains("bs=8k"));
    let told = lab.run(["db", "list"]).ended(0, "").printed();
    assert!(told.contains("@1") && told.contains("null") && told.contains("8k"), "{told}");
    lab.run(["db", "tag", "1", "+base", "odd"]).ended(0, "");
    lab.run(["db", "tag", "1", "-odd"]).ended(0, "");
    lab.run(["db", "note", "1", "before", "the", "move"]).ended(0, "");
    assert_eq!(ids(&entries(&lab, &["--tag=base"])), [1]);
    assert_eq!(ids(&entries(&lab, &["--text=BEFORE the"])), [1]);
    assert_eq!(ids(&entries(&lab, &["--engine=null", "--option=bs=8k", "--since=1h", "-n1"])), [2]);
    assert_eq!(entries(&lab, &["--option=bs=4k"]).len(), 0);
    let shown = lab.run(["db", "show", "1"]).ended(0, "").printed();
    for part in ["note      before the move", "tags      base", "iops", "bs=8k"] {
        assert!(shown.contains(part), "no '{part}' in:\n{shown}");
    }
    let compared = lab.run(["compare", "@tag:base", "@2", "--figures=iops"]).ended(0, "").printed();
    assert!(compared.contains("baseline   @tag:base (1 run)"), "{compared}");
    lab.run(["db", "check"]).ended(0, "").printed();
    std::fs::remove_file(lab.path("one.iolab")).unwrap();
    lab.run(["db", "check"]).ended(1, "@1: ");
    lab.run(["compare", "@1", "@2"]).ended(2, "no longer exists");
    lab.run(["db", "rm", "1"]).ended(0, "");
    assert_eq!(ids(&entries(&lab, &[])), [2]);
}

#[test]
fn mistakes_say_what_would_be_right() {
    let lab = lab();
    let check = |arguments: &[&str], said: &str| {
        let _: Done = lab.run([&["db"], arguments].concat()).ended(2, said);
    };
    check(&["show", "9"], "there is no entry 9 (`iolab db list` shows all)");
    check(&["rm", "9"], "no entry 9");
    check(&["list", "--since=yesterday"], "how long ago (2d,");
    check(&["list", "--option=bs"], "as in bs=4k");
    check(&["import", "none.iolab"], "none.iolab: No such file");
    check(&["import", "job.fio"], "not an iolab recording and not fio's JSON");
    lab.run(["db", "import", "job.fio"]).ended(2, "");
    lab.run(["compare", "@x", "@1"]).ended(2, "@tag:TAG for a tag");
    lab.run(["compare", "@tag:x", "@1"]).ended(2, "no entry has this tag");
    assert!(lab.run(["db", "list"]).ended(0, "").printed().contains("nothing"));
}

#[test]
fn a_database_that_cannot_be_used_costs_a_warning_not_the_run() {
    let lab = lab();
    lab.file("broken.db", "this is a letter, and a long one at that: ".repeat(200));
    let broken = [("IOLAB_DB", lab.path("broken.db"))];
    let done = lab.run_with(["run", "job.fio", "--record=kept.iolab"], &broken);
    done.ended(0, "warning: not listed in the database");
    assert!(lab.path("kept.iolab").exists());
    lab.run_with(["db", "list"], &broken).ended(2, "damaged, or not an iolab database");
    lab.run_with(["run", "job.fio"], &[("IOLAB_DB", "/dev/null/no/such.db".into())]).ended(0, "warning: not listed");
}

#[test]
fn a_study_is_one_entry_with_its_trials() {
    let lab = lab();
    lab.file(
        "it.toml",
        "title = \"Sizes\"\njob = \"job.fio\"\nblocks = 2\nfigures = [\"iops\"]\n[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"8k\"]\n",
    );
    lab.run(["study", "run", "it.toml"]).ended(0, "");
    let all = entries(&lab, &["--trials"]);
    assert_eq!(all.iter().filter(|entry| entry["kind"] == "run").count(), 4, "each trial once");
    let study = entries(&lab, &[]);
    assert_eq!((study.len(), study[0]["title"].as_str()), (1, Some("Sizes")));
    assert!(study[0]["analysis"].as_str().unwrap().contains("contrasts"));
    let id = study[0]["id"].to_string();
    assert_eq!(entries(&lab, &["--study", &id, "--option=bs=4k"]).len(), 2);
    let before = lab.run(["db", "show", &id]).ended(0, "").printed();
    lab.run(["db", "import", "it"]).ended(0, "it: 5 entries");
    assert_eq!(lab.run(["db", "show", &id]).printed(), before, "nothing is doubled");
    lab.run(["compare", &format!("@{id}"), "it"]).ended(0, "");
    let exported = lab.run(["db", "export", "--trials", "--format=csv"]).ended(0, "").printed();
    assert!(exported.contains(",bs=4k,") && exported.starts_with("id,kind,title"), "{exported}");
    lab.run(["db", "export", "--format=jsonl", "--output=all.jsonl"]).ended(0, "");
    assert_eq!(std::fs::read_to_string(lab.path("all.jsonl")).unwrap().lines().count(), 1);
    let table = lab.run(["db", "export", "--format=figures"]).ended(0, "").printed();
    assert!(table.starts_with("id,study,kind,figure,unit,points,baseline,"), "{table}");
    let lines = lab.run(["db", "export", "--format=figures-jsonl"]).ended(0, "").printed();
    assert_eq!(lines.lines().count() + 1, table.lines().count());
    let lines: Vec<serde_json::Value> = lines.lines().map(|line| line.parse().unwrap()).collect();
    let of_kind = |kind: &str| lines.iter().filter(|line| line["kind"] == kind && line["figure"] == "iops").count();
    // Two blocks of two configurations, which are compared with each other.
    assert_eq!(["value", "median", "ratio"].map(of_kind), [4, 2, 1], "{table}");
    let ratio = lines.iter().find(|line| line["kind"] == "ratio" && line["figure"] == "iops").unwrap();
    assert_eq!((ratio["points"].as_str(), ratio["baseline"].as_str()), (Some("bs=8k"), Some("bs=4k")));
    assert!(ratio["verdict"].is_string() && ratio["estimate"].as_f64().unwrap() > 0.0, "{ratio}");
    lab.run(["db", "rm", &id]).ended(0, "");
    assert!(entries(&lab, &["--trials"]).is_empty());
}

#[test]
fn reports_of_fio_are_imported_and_compared() {
    let lab = Lab::new();
    for (name, fixture) in [("a.json", "clones.json"), ("b.json", "group.json"), ("junk.json", "two-and-junk.txt")] {
        let from = format!("{}/../../report/comparison/tests/fio/{fixture}", env!("CARGO_MANIFEST_DIR"));
        std::fs::copy(from, lab.path(name)).unwrap();
    }
    lab.run(["db", "import", "a.json", "b.json", "junk.json"]).ended(0, "a.json: 1 entry");
    let all = entries(&lab, &["--engine=psync"]);
    assert_eq!((all.len(), all[0]["kind"].as_str(), all[0]["tool"].as_str()), (3, Some("fio"), Some("fio-3.33")));
    let told = lab.run(["compare", "@1", "@2"]).ended(0, "").printed();
    for part in ["read.iops", "write.p99", "Other differences between the two sides"] {
        assert!(told.to_uppercase().contains(&part.to_uppercase()), "no '{part}' in:\n{told}");
    }
    let files = lab.run(["compare", "a.json", "b.json", "--fail-if", "read.iops < -1%"]).ended(0, "").printed();
    assert!(files.contains("one run each, so no interval and no verdict"), "{files}");
}

#[test]
fn a_database_that_cannot_be_written_is_read() {
    let lab = lab();
    lab.run(["run", "job.fio", "--record=one.iolab"]).ended(0, "");
    let Some(disk) = crate::support::TinyDisk::mount(4096) else { return };
    let place = disk.path("kept #1?.db");
    std::fs::copy(lab.path("recordings.db"), &place).unwrap();
    let remount = std::process::Command::new("mount").args(["-o", "remount,ro"]).arg(disk.path("")).status();
    assert!(remount.is_ok_and(|status| status.success()));
    let environment = [("IOLAB_DB", place)];
    let listed = lab.run_with(["db", "list", "--json"], &environment).ended(0, "").printed();
    assert!(listed.contains("one.iolab"), "{listed}");
    for words in [
        &["db", "show", "1"][..],
        &["db", "export", "-o", "out.csv"],
        &["db", "check"],
        &["compare", "@1", "@1", "--figures=iops"],
    ] {
        lab.run_with(words, &environment).ended(0, "");
    }
    lab.run_with(["db", "note", "1", "x"], &environment).ended(1, "unable to open database file");
}

#[test]
fn old_entries_go_with_their_files_and_marked_ones_stay() {
    let lab = lab();
    std::fs::create_dir(lab.path("recordings")).unwrap();
    for run in 1..=4 {
        lab.run(["run", "job.fio", &format!("--record=recordings/{run}.iolab")]).ended(0, "");
    }
    lab.file(
        "it.toml",
        "title = \"Sizes\"\njob = \"job.fio\"\nblocks = 1\nfigures = [\"iops\"]\n[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"8k\"]\n",
    );
    lab.run(["study", "run", "it.toml", "--folder=it"]).ended(0, "");
    lab.file("it/notes.txt", "mine");
    lab.run(["db", "tag", "1", "+base"]).ended(0, "");
    lab.run(["db", "prune", "--files", "--yes"]).ended(2, "nothing says which entries to remove");
    lab.run(["db", "prune", "--before=soon"]).ended(2, "--before=soon: how long ago");
    assert!(
        lab.run(["db", "prune", "--before=1h"]).ended(0, "").printed().contains("nothing to remove; 5 entries stay")
    );
    // What would go is only listed.
    let told = lab.run(["db", "prune", "--keep=1", "--files"]).ended(0, "").printed();
    assert!(told.contains("2 of 5 entries") && told.contains("@2") && told.contains("@3"), "{told}");
    assert_eq!(ids(&entries(&lab, &[])).len(), 5);
    let told = lab.run(["db", "prune", "--keep=1", "--files", "--yes"]).ended(0, "").printed();
    assert!(told.starts_with("2 entries removed; ") && told.contains("freed; 3 stay"), "{told}");
    let exists = |name: &str| lab.path(name).exists();
    assert_eq!([1, 2, 3, 4].map(|run| exists(&format!("recordings/{run}.iolab"))), [true, false, false, true]);
    // A study: its own files go, the others stay and are named.
    let told = lab.run(["db", "prune", "--keep=0", "--files", "--yes"]).ended(1, "notes.txt: not a file of the study");
    assert!(told.printed().contains("removed"), "the rest went");
    assert!(exists("it/notes.txt") && !exists("it/trials") && !exists("it/study.json"));
    assert_eq!(ids(&entries(&lab, &["--trials"])), [1]);
    // Without --files, files stay.
    lab.run(["db", "prune", "--keep=0", "--marked", "--yes"]).ended(0, "");
    assert!(exists("recordings/1.iolab") && entries(&lab, &[]).is_empty());
}

#[test]
fn entries_follow_files_that_were_moved() {
    let lab = lab();
    lab.run(["run", "job.fio", "--record=a/b/1.iolab"]).ended(2, "");
    std::fs::create_dir_all(lab.path("a/b")).unwrap();
    std::fs::create_dir_all(lab.path("ab")).unwrap();
    for name in ["a/b/1.iolab", "ab/2.iolab"] {
        lab.run(["run", "job.fio", &format!("--record={name}")]).ended(0, "");
    }
    lab.run(["db", "moved", "a", "c"]).ended(2, "move the files first");
    std::fs::rename(lab.path("a"), lab.path("c")).unwrap();
    lab.run(["db", "check"]).ended(1, "@1: ");
    // The name of the other folder only begins alike.
    let from = lab.path("c").canonicalize().unwrap().with_file_name("a");
    let told = lab.run(["db", "moved", from.to_str().unwrap(), "c"]).ended(0, "").printed();
    assert!(told.starts_with("1 entry now below"), "{told}");
    lab.run(["db", "check"]).ended(0, "");
    lab.run(["db", "moved", from.to_str().unwrap(), "c"]).ended(2, "no entry has a file below");
    let sizes = lab.run(["db", "size"]).ended(0, "").printed();
    for part in ["recordings", "elsewhere", "database", "recordings.db with 2 entries", "@1", "c/b/1.iolab"] {
        assert!(sizes.contains(part), "no '{part}' in:\n{sizes}");
    }
}
