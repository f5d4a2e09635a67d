//! `iolab doctor`: its answer is complete, it judges jobs, and it leaves nothing behind.

use crate::support::Lab;

#[test]
fn every_check_says_what_follows_and_how_to_mend_it() {
    let lab = Lab::new();
    let temporary = lab.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let database = lab.path("runs.db");
    let variables = [("TMPDIR", temporary.clone()), ("IOLAB_DB", database.clone())];
    let done = lab.run_with(["doctor", "--json"], &variables).ended(0, "");
    assert!(!database.exists(), "the doctor's trials are not listed in the user's database");
    let answer = done.json();
    let checks = answer["checks"].as_array().unwrap();
    for topic in [
        "io_uring",
        "libaio",
        "FUSE",
        "ublk",
        "vfio",
        "locked memory",
        "clock",
        "steal",
        "CPU quota",
        "settings left over",
        "store rocksdb",
        "store fjall",
        "rocksdb in logfs",
        "db_bench",
    ] {
        assert!(checks.iter().any(|check| check["topic"] == topic), "{topic}: {answer}");
    }
    for check in checks {
        let is_ok = check["status"] == "ok";
        assert!(["ok", "limited", "no"].contains(&check["status"].as_str().unwrap()), "{check}");
        assert!(!check["found"].as_str().unwrap().is_empty(), "{check}");
        assert_eq!(check["consequence"].as_str().unwrap().is_empty(), is_ok, "{check}");
    }
    assert!(answer.get("would_run").is_none(), "{answer}");
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0, "the doctor leaves nothing behind");
}

#[test]
fn a_job_is_judged() {
    let lab = Lab::new();
    lab.file("good.fio", "[a]\nrw=randread\nsize=1m\nioengine=psync\ndirect=0\n");
    let good = lab.run(["doctor", "good.fio"]).ended(0, "");
    assert!(good.printed().contains("The job would run."), "{}", good.printed());
    assert!(good.printed().contains("through the page cache") || good.printed().contains("no block device"));
    assert!(!lab.path("a.0.0").exists(), "nothing is laid out");

    lab.file("thesis", "years of work");
    for (words, topic) in [
        (vec!["doctor", "--name=a", "--rw=randread", "--size=1m", "--ioengine=nosuch"], "plan"),
        (vec!["doctor", "--name=a", "--rw=write", "--size=1m", "--filename=thesis"], "safety"),
        (vec!["doctor", "--name=a", "--rw=read", "--size=1m", "--cpus_allowed=4000"], "CPUs"),
        (vec!["doctor", "--name=a", "--rw=read", "--size=1000t", "--filename=huge"], "space"),
    ] {
        let done = lab.run(&words).ended(1, "");
        let told = done.printed();
        assert!(told.contains("The job would not run."), "{words:?}: {told}");
        let refused = told.lines().filter(|line| line.starts_with("NO")).any(|line| line.contains(topic));
        assert!(refused || told.contains("NO      plan"), "{words:?}: {told}");
    }
    assert_eq!(std::fs::read_to_string(lab.path("thesis")).unwrap(), "years of work");
}
