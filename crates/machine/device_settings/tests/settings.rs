//! Settings on a simulated kernel: applied, refused, restored, with a crash at every step of both.

mod kernel;

use std::fs;

use iolab_device_settings::{RequestedSetting, SettingsError, apply, left_over, restore_left};
use kernel::{FOREVER, Process, settings, tree};

fn wish(device: &str, name: &str, value: &str) -> RequestedSetting {
    RequestedSetting { device: device.into(), name: name.into(), value: value.into(), job: "job".into() }
}

fn several() -> Vec<RequestedSetting> {
    vec![
        wish("sda", "scheduler", "mq-deadline"),
        wish("sda", "nr_requests", "32"),
        wish("sda", "nomerges", "2"),
        wish("sda", "max_sectors_kb", "32"),
        wish("sda", "read_ahead_kb", "8"),
        wish("zram0", "max_sectors_kb", "64"),
    ]
}

#[test]
fn what_is_applied_is_read_back_and_restored() {
    let root = tree();
    let before = settings(root.path());
    let process = Process::new(root.path(), FOREVER);
    let applied = apply(&process, &process, &several()).expect("applied");
    let changes = applied.changes();
    assert_eq!(changes.len(), 6, "{changes:?}");
    assert!(changes.iter().all(|change| change.asked == change.during && change.before != change.during));
    let during = settings(root.path());
    assert_eq!(during["sda/scheduler"], "none [mq-deadline] kyber\n");
    assert_eq!((during["sda/read_ahead_kb"].as_str(), during["zram0/read_ahead_kb"].as_str()), ("8\n", "128\n"));
    assert_eq!((during["sda/nr_requests"].as_str(), during["sda/wbt_lat_usec"].as_str()), ("32\n", "0\n"));
    let restored = applied.restore().expect("restored");
    assert!(restored.iter().all(|one| one.outcome.starts_with("restored")), "{restored:?}");
    assert_eq!(normal(settings(root.path())), normal(before));
    assert_eq!(left_over(&process).expect("readable"), []);
}

/// Schedulers are listed in a fixed order; only spaces differ.
fn normal(settings: std::collections::BTreeMap<String, String>) -> Vec<(String, String)> {
    settings.into_iter().map(|(name, text)| (name, text.trim().to_owned())).collect()
}

#[test]
fn dropping_restores_too() {
    let root = tree();
    let before = settings(root.path());
    let process = Process::new(root.path(), FOREVER);
    drop(apply(&process, &process, &several()).expect("applied"));
    assert_eq!(normal(settings(root.path())), normal(before));
}

#[test]
fn a_crash_at_any_step_leaves_enough_to_restore() {
    let mut crashes = 0;
    for steps in 1.. {
        let root = tree();
        let before = settings(root.path());
        let killed = Process::new(root.path(), steps);
        let applied = apply(&killed, &killed, &several());
        if let Ok(applied) = applied {
            // The crash may come while restoring; attempts of a dead process have no effect.
            let _ = applied.restore();
        }
        if !killed.is_dead() {
            break;
        }
        crashes += 1;
        let next = Process::new(root.path(), FOREVER);
        restore_left(&next, &next).unwrap_or_else(|error| panic!("step {steps}: {error}"));
        assert_eq!(normal(settings(root.path())), normal(before), "crash at step {steps}");
        assert_eq!(left_over(&next).expect("readable"), [], "crash at step {steps}");
    }
    assert!(crashes > 15, "only {crashes} steps were tried");
}

#[test]
fn a_crash_while_restoring_what_a_crash_has_left_is_no_harm() {
    for steps in 1.. {
        let root = tree();
        let before = settings(root.path());
        let killed = Process::new(root.path(), 9);
        let applied = apply(&killed, &killed, &several());
        drop(applied);
        let second = Process::new(root.path(), steps);
        let _ = restore_left(&second, &second);
        let third = Process::new(root.path(), FOREVER);
        restore_left(&third, &third).expect("restored");
        assert_eq!(normal(settings(root.path())), normal(before), "crash at step {steps}");
        if !second.is_dead() {
            break;
        }
    }
}

#[test]
fn the_next_run_restores_first_and_says_so() {
    let root = tree();
    let before = settings(root.path());
    let killed = Process::new(root.path(), 9);
    drop(apply(&killed, &killed, &several()));
    let next = Process::new(root.path(), FOREVER);
    assert!(!left_over(&next).expect("readable").is_empty());
    let applied = apply(&next, &next, &[wish("sda", "scheduler", "kyber")]).expect("applied");
    assert!(!applied.earlier.is_empty());
    assert_eq!(applied.changes()[0].before, "none", "not what the killed run had set");
    applied.restore().expect("restored");
    restore_left(&next, &next).expect("the other disk");
    assert_eq!(normal(settings(root.path())), normal(before));
}

#[test]
fn what_the_kernel_refuses_or_changes_is_an_error_that_names_what_it_offers() {
    for (device, name, value, expected) in [
        ("sda", "scheduler", "bfq", "it offers none, mq-deadline, kyber"),
        ("sda", "max_sectors_kb", "512", "it offers up to 256"),
        ("sda", "read_ahead_kb", "5", "it became 4; it offers multiples of the page size"),
        ("sda", "io_poll", "1", "it became 0"),
    ] {
        let root = tree();
        let before = settings(root.path());
        let process = Process::new(root.path(), FOREVER);
        let requested = [wish("sda", "nomerges", "1"), wish(device, name, value)];
        let error = apply(&process, &process, &requested).expect_err(name).to_string();
        assert!(error.contains(expected) && error.contains(&format!("{name}={value}")), "{error}");
        assert_eq!(normal(settings(root.path())), normal(before), "{name}");
        assert_eq!(left_over(&process).expect("readable"), [], "{name}");
    }
}

#[test]
fn a_second_run_on_the_same_device_is_refused() {
    let root = tree();
    let (first, second) = (Process::new(root.path(), FOREVER), Process::new(root.path(), FOREVER));
    let applied = apply(&first, &first, &several()).expect("applied");
    let error = apply(&second, &second, &[wish("sda", "nomerges", "1")]).expect_err("taken");
    assert!(matches!(error, SettingsError::Busy { .. }), "{error}");
    assert!(left_over(&second).expect("readable").iter().all(|left| left.in_use));
    let restored = restore_left(&second, &second).expect("nothing to do");
    assert!(restored.iter().all(|one| one.outcome.contains("still running")), "{restored:?}");
    assert_eq!(settings(root.path())["sda/nomerges"], "2\n", "the first run's value stands");
    applied.restore().expect("restored");
}

#[test]
fn a_value_that_somebody_else_has_set_is_left_alone() {
    let root = tree();
    let process = Process::new(root.path(), FOREVER);
    let applied = apply(&process, &process, &[wish("sda", "nomerges", "2")]).expect("applied");
    fs::write(root.path().join("sys/block/sda/queue/nomerges"), "1\n").expect("a change");
    let restored = applied.restore().expect("restored");
    assert!(restored[0].outcome.starts_with("left at 1"), "{restored:?}");
    assert_eq!(settings(root.path())["sda/nomerges"], "1\n");
}

#[test]
fn what_somebody_else_has_set_survives_what_the_kernel_moves() {
    let root = tree();
    let process = Process::new(root.path(), FOREVER);
    let requested = [wish("sda", "max_sectors_kb", "32"), wish("sda", "read_ahead_kb", "8")];
    let applied = apply(&process, &process, &requested).expect("applied");
    fs::write(root.path().join("sys/block/sda/queue/read_ahead_kb"), "64\n").expect("a change");
    let restored = applied.restore().expect("restored");
    assert_eq!(restored.len(), 2, "{restored:?}");
    let after = settings(root.path());
    assert_eq!((after["sda/max_sectors_kb"].as_str(), after["sda/read_ahead_kb"].as_str()), ("128\n", "64\n"));
}

#[test]
fn after_a_restart_and_on_another_device_nothing_is_restored() {
    for (file, text, word) in [
        ("proc/sys/kernel/random/boot_id", "boot-2\n", "restarted"),
        ("sys/block/sda/diskseq", "8\n", "another device"),
    ] {
        let root = tree();
        let killed = Process::new(root.path(), 3);
        drop(apply(&killed, &killed, &[wish("sda", "nomerges", "2")]));
        assert_eq!(settings(root.path())["sda/nomerges"], "2\n");
        fs::write(root.path().join(file), text).expect("a change");
        let next = Process::new(root.path(), FOREVER);
        let restored = restore_left(&next, &next).expect("nothing to do");
        assert!(restored.len() == 1 && restored[0].outcome.contains(word), "{restored:?}");
        assert_eq!(settings(root.path())["sda/nomerges"], "2\n", "{file}");
    }
}

#[test]
fn a_setting_that_may_not_be_written_stops_before_anything_is_changed() {
    let root = tree();
    let before = settings(root.path());
    let process = Process::new(root.path(), FOREVER);
    let requested = [wish("sda", "nomerges", "2"), wish("sda", "io_timeout", "1000")];
    let error = apply(&process, &process, &requested).expect_err("no such file");
    assert!(matches!(error, SettingsError::Forbidden { .. }), "{error}");
    assert_eq!(settings(root.path()), before);
    assert!(!root.path().join("state").exists());
}

#[test]
fn a_forged_journal_writes_nowhere_and_holds_nobody_up() {
    let root = tree();
    let state = root.path().join("state");
    let before = settings(root.path());
    let process = Process::new(root.path(), FOREVER);
    let victim = root.path().join("victim");
    fs::create_dir_all(root.path().join("other/queue")).expect("folders");
    fs::write(&victim, "a user's own").expect("a file");
    let journal = |device: &str, name: &str, before: &str| {
        format!(
            r#"{{"device":"{device}","boot":"boot-1","identity":"7","pid":1,"changes":[{{"name":"{name}","before":"{before}","asked":"x","became":null}}]}}"#
        )
    };
    drop(apply(&process, &process, &several()).expect("applied"));
    let forged = [
        ("sda.json", journal("sda", "../../../../victim", "gone")),
        ("sda.json", journal("../../other", "nomerges", "1")),
        ("sda.json", journal("zram0", "nomerges", "1")),
        ("sda.json", journal("sda", "max_hw_sectors_kb/", "1")),
        ("sda.json", journal("sda", "nomerges", r"1\n2")),
        ("sda.json", "x".repeat(1 << 20)),
        ("..json", journal(".", "nomerges", "1")),
        ("...json", journal("..", "nomerges", "1")),
    ];
    for (name, text) in forged {
        fs::write(state.join(name), &text).expect("a journal");
        let answer = restore_left(&process, &process);
        assert!(answer.is_err(), "{name} {:.80}: {answer:?}", text);
        fs::remove_file(state.join(name)).expect("it stays for the user to look at");
    }
    // A device that no longer exists has nothing to restore, and its journal is removed.
    fs::write(state.join("nosuch.json"), journal("nosuch", "nomerges", "1")).expect("a journal");
    assert!(
        restore_left(&process, &process).expect("nothing is wrong")[0].outcome.contains("this is now another device")
    );
    // A pipe without a writer, and a link to a journal elsewhere.
    rustix::fs::mkfifoat(rustix::fs::CWD, state.join("sda.json"), rustix::fs::Mode::RWXU).expect("a pipe");
    assert!(restore_left(&process, &process).unwrap_err().to_string().contains("regular file"));
    assert_eq!(left_over(&process).expect("it does not wait").len(), 1);
    fs::remove_file(state.join("sda.json")).expect("gone");
    fs::write(root.path().join("elsewhere"), journal("sda", "nomerges", "1")).expect("a journal");
    std::os::unix::fs::symlink(root.path().join("elsewhere"), state.join("sda.json")).expect("a link");
    assert!(restore_left(&process, &process).is_err());
    assert_eq!(fs::read_to_string(&victim).expect("it is there"), "a user's own");
    assert_eq!(normal(settings(root.path())), normal(before));
}

#[test]
fn a_folder_of_journals_that_others_may_write_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let root = tree();
    let process = Process::new(root.path(), FOREVER);
    drop(apply(&process, &process, &several()).expect("applied"));
    fs::set_permissions(root.path().join("state"), fs::Permissions::from_mode(0o777)).expect("a mode");
    let Err(error) = apply(&process, &process, &several()) else { panic!("it was accepted") };
    assert!(error.to_string().contains("is not private to user"), "{error}");
    assert!(restore_left(&process, &process).is_err());
}
