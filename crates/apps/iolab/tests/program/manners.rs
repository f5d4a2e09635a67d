//! Conventions that every command follows: a missing reader is not a failure, messages are for
//! people, help and colours follow the usual rules.

use crate::support::Lab;

/// A lab with a recording, a job file, a study and its folder, an image and a virtual device, so
/// that every command has something to work on.
fn furnished() -> Lab {
    let lab = Lab::new();
    lab.job("[a]\nioengine=null\nsize=64k\n").ended(0, "");
    lab.file(
        "study.toml",
        "title = \"t\"\njob = \"job.fio\"\nblocks = 2\n[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"8k\"]\n",
    );
    lab.run(["study", "run", "study.toml", "--folder=study"]).ended(0, "");
    lab.run(["capture", "-o", "it.trace", "--", "dd", "if=/dev/zero", "of=written", "bs=4k", "count=10", "conv=fsync"])
        .ended(0, "");
    lab.run(["fs", "mkfs", "disk.img", "--size=64m"]).ended(0, "");
    lab.file("note.txt", "text\n");
    lab.run(["fs", "cp", "disk.img", "note.txt", ":/note.txt"]).ended(0, "");
    lab.run(["device", "create", "drive", "--size=64m"]).ended(0, "");
    lab
}

/// Each command that prints, with arguments that make it print. The others need root or real
/// devices, or run until they are told to end.
const COMMANDS: &[(&str, &str)] = &[
    ("run", "run job.fio --no-db --record=run.iolab"),
    ("plan", "plan job.fio"),
    ("report", "report it.iolab"),
    ("engines", "engines"),
    ("explain", "explain it.iolab"),
    ("device-create", "device create other --size=64m"),
    ("device-list", "device list"),
    ("device-info", "device info drive"),
    ("device-parameters", "device parameters"),
    ("device-restore", "device restore"),
    ("nvme-list", "nvme list"),
    ("nvme-identify", "nvme identify 'trtype=VIRT size=64m'"),
    ("nvme-smart", "nvme smart 'trtype=VIRT size=64m'"),
    ("nvme-hello", "nvme hello 'trtype=VIRT size=64m'"),
    ("nvme-gen-dhchap-key", "nvme gen-dhchap-key"),
    ("fs-mkfs", "fs mkfs new.img --size=64m"),
    ("fs-fsck", "fs fsck disk.img"),
    ("fs-info", "fs info disk.img"),
    ("fs-ls", "fs ls disk.img"),
    ("fs-stat", "fs stat disk.img /note.txt"),
    ("fs-cat", "fs cat disk.img /note.txt"),
    ("fs-tree", "fs tree disk.img"),
    ("fs-cp", "fs cp disk.img note.txt :/copy.txt"),
    ("fs-mkdir", "fs mkdir disk.img /folder"),
    ("fs-mv", "fs mv disk.img /copy.txt /moved.txt"),
    ("fs-rm", "fs rm disk.img /moved.txt"),
    ("fs-dump-log", "fs dump-log disk.img"),
    ("fs-defrag", "fs defrag disk.img"),
    ("fs-resize-cores", "fs resize-cores disk.img 1"),
    ("hosts-merge", "hosts merge it.iolab it.iolab --record=merged.iolab --force"),
    ("watch", "watch --json 0.01 3"),
    ("study-plan", "study plan study.toml"),
    ("study-run", "study run study.toml --folder=again"),
    ("study-resume", "study resume study"),
    ("study-show", "study show study"),
    ("compare", "compare it.iolab it.iolab"),
    ("capture-show", "capture show it.trace"),
    ("capture-stat", "capture stat it.trace"),
    ("replay", "replay it.trace --directory=."),
    ("synthesize", "synthesize it.trace"),
    ("kv-stores", "kv stores"),
    ("kv-bench", "kv bench --store=null --num=100 --benchmarks=fillseq --db=kv-store"),
    ("db-path", "db path"),
    ("db-list", "db list"),
    ("db-import", "db import ."),
    ("db-size", "db size"),
    ("db-prune", "db prune --before=2000-01-01"),
    ("config", "config"),
    ("schema", "schema recording"),
    ("doctor", "doctor"),
    ("completions", "completions bash"),
    ("man", "man run"),
    ("help", "help fs mkfs"),
];

/// Commands whose output cannot be cut short here.
const LEFT_OUT: &[&str] = &[
    // They serve or wait.
    "device-serve",
    "device-attach",
    // It needs one that serves.
    "device-set",
    "device-stats",
    "web",
    "fs-mount",
    "fs-umount",
    // They need real devices, or much time.
    "nvme-bind",
    "perf",
    "bench",
    "demo",
    "fs-perf",
    "fs-io-tester",
    "fs-cluster-reading",
    "fs-qualify",
    "kv-check",
    // It needs a remote shell; `program::ranks` has one.
    "hosts-run",
    // It needs a minute.
    "io500",
    "validate",
    // It needs the state that a job saved before a loss of power.
    "verify",
    // It needs a target on a network.
    "nvme-discover",
    // Their entry numbers depend on what was kept; they print like the other commands of db.
    "db-show",
    "db-tag",
    "db-note",
    "db-rm",
    "db-moved",
    "db-export",
    "db-check",
    "device-destroy",
    // It only writes a file.
    "capture-export",
];

/// Every command is in one of the two lists, so that a new one is not forgotten.
#[test]
fn every_command_is_tried_or_left_out_for_a_reason() {
    let lab = Lab::new();
    lab.run(["man", "--folder=pages"]).ended(0, "");
    let mut names: Vec<String> = std::fs::read_dir(lab.path("pages"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().trim_end_matches(".1").to_owned())
        .collect();
    names.sort();
    let is_group = |name: &String| names.iter().any(|other| other.starts_with(&format!("{name}-")));
    let known = |name: &str| COMMANDS.iter().any(|(known, _)| *known == name) || LEFT_OUT.contains(&name);
    let leaves = names.iter().filter(|name| !is_group(name)).filter_map(|name| name.strip_prefix("iolab-"));
    let forgotten: Vec<&str> = leaves.filter(|name| !known(name)).collect();
    assert!(forgotten.is_empty(), "not in COMMANDS or LEFT_OUT: {forgotten:?}");
    assert!(names.len() > 40, "{names:?}");
}

/// The reader is gone before anything is printed. There must be no panic, and the exit code must be
/// the same as with a reader.
#[test]
fn a_closed_pipe_is_no_failure_of_any_command() {
    let lab = furnished();
    let iolab = env!("CARGO_BIN_EXE_iolab");
    for (name, words) in COMMANDS {
        let line = format!(
            "rm -f gate; mkfifo gate; {{ cat gate; {iolab} {words}; echo $? >code; }} | {{ exec <&-; echo >gate; }}; cat code >&2"
        );
        let done = lab.shell(&line);
        assert!(!done.errors().contains("panicked"), "{name}: {done:?}");
        assert!(done.errors().ends_with("0\n"), "{name}: {done:?}");
        // A reader that takes one line and ends.
        let done = lab.shell(&format!("{iolab} {words} 2>&1 | head -1"));
        assert!(!done.printed().contains("panicked") && !done.errors().contains("panicked"), "{name}: {done:?}");
    }
}

/// Whether a line looks like Rust's debug text for values: `Failed { errno: 12`, `Some(`, `Err(`,
/// `"a\\"b"` and similar.
fn looks_like_debug_text(line: &str) -> bool {
    let shapes = [
        " { ",
        "Some(",
        "Err(",
        "Ok(",
        "Custom {",
        "Os {",
        "Error(",
        "Utf8Error",
        "ParseIntError",
        "kind: ",
        "unwrap()",
    ];
    // Lines of a job file or study that a message quotes are the user's.
    let is_shown = line.trim_start().starts_with(|first: char| first.is_ascii_digit() || first == '|');
    !is_shown && shapes.iter().any(|shape| line.contains(shape))
}

#[test]
fn messages_are_not_debug_text() {
    assert!(looks_like_debug_text("worker 1: Failed { errno: 12, message: \"no memory\" }"));
    assert!(looks_like_debug_text("Error: Os { code: 2, kind: NotFound }"));
    let lab = furnished();
    lab.file("bad.iolab", "{\"iolab_recording\": 1, \"plan\": 3}");
    lab.file("bad.toml", "title = 3\n");
    lab.file("text.img", "no image");
    for words in [
        "run missing.fio",
        "run --name=a --rw=readd",
        "run --name=a --bs=1x --size=1m",
        "run --name=a --ioengine=urin --size=1m",
        "run --name=a --filename=/nonexistent/a/b --size=1m --rw=write --no-db",
        "run --name=a --ioengine=nvme --filename='trtype:PCIe traddr:0000:06:00.0'",
        "run --name=a --ioengine=nvme --filename='trtype=PCIe traddr=ffff.06.00.0'",
        "run --name=a --size=1m --rw=write --cpus_allowed=4000 --no-db",
        "plan --name=a --rate=1k --arrivals=missing --size=1m",
        "report missing.iolab",
        "report bad.iolab",
        "report note.txt",
        "compare bad.iolab it.iolab",
        "study plan bad.toml",
        "study plan missing.toml",
        "study show missing",
        "db import missing",
        "db show @99999",
        "db export @99999",
        "device info missing",
        "device create 'a b' --size=1g",
        "device create b --set x",
        "nvme identify 0000:ff:1f.7",
        "nvme identify nonsense",
        "fs info text.img",
        "fs fsck text.img",
        "fs ls disk.img /missing",
        "fs cat disk.img /missing",
        "fs cp disk.img missing :/x",
        "fs mkfs disk.img",
        "fs mount text.img .",
        "fs umount .",
        "perf -q 1 -w read -t 1 -r 'trtype:PCIe traddr:ffff:06:00.0'",
        "perf -q 1 -w read -t 1 -c zz missing",
        "watch nosuchdevice",
        "watch -j nosuch",
        "bench /nonexistent/folder",
        "doctor missing.fio",
        "explain nothing-known",
        "engines nothing-known",
        "man nothing-known",
        "help nothing-known",
    ] {
        let done = lab.shell(&format!("{} {words}", env!("CARGO_BIN_EXE_iolab")));
        let errors = done.errors();
        let odd: Vec<&str> = errors.lines().filter(|line| looks_like_debug_text(line)).collect();
        assert!(odd.is_empty(), "{words}: {odd:#?}");
        assert!(!done.errors().contains("panicked"), "{words}: {done:?}");
        assert_ne!(done.code(), 0, "{words}: {done:?}");
    }
}

/// A failed run is described in words wherever it is listed.
#[test]
fn a_failed_run_is_told_in_words() {
    let lab = Lab::new();
    lab.file("job.fio", "[a]\nsize=64k\nrw=write\nexec_prerun=rm -rf folder\ndirectory=folder\ncreate_on_open=1\n");
    std::fs::create_dir(lab.path("folder")).unwrap();
    let database = [("IOLAB_DB", lab.path("db.sqlite"))];
    let done = lab.run_with(["run", "job.fio", "--record=it.iolab"], &database);
    assert_ne!(done.code(), 0, "{done:?}");
    for words in [&["db", "list"][..], &["db", "show", "@1"]] {
        let listed = lab.run_with(words, &database);
        assert!(!listed.printed().contains("Failed {") && !listed.printed().contains("errno:"), "{listed:?}");
    }
}

#[test]
fn files_of_other_kinds_are_recognised() {
    let lab = furnished();
    lab.file("fio.json", "{\n  \"fio version\" : \"fio-3.33\",\n  \"jobs\" : []\n}\n");
    for command in ["report", "explain"] {
        let path = lab.path("fio.json").display().to_string();
        lab.run([command, &path]).ended(2, "`iolab compare` and `iolab db import` read it");
    }
    let whole = std::fs::read(lab.path("it.iolab")).unwrap();
    let cut = lab.file("cut.iolab", &whole[..whole.len() / 2]).display().to_string();
    let done = lab.run(["report", &cut]).ended(2, "cut off");
    assert_eq!(done.errors().matches("cut off").count(), 1, "{done:?}");
    assert_eq!(done.errors().lines().count(), 1, "{done:?}");
}

#[test]
fn a_wrong_word_has_a_suggestion() {
    let lab = furnished();
    lab.run(["plan", "--name=a", "--ioengine=libaoi", "--size=1m"]).ended(2, "did you mean `libaio`?");
    lab.run(["engines", "io_urin"]).ended(2, "did you mean io_uring?");
    let name = "--filename=trtype:PCIe traddr:0000:06:00.0";
    let done = lab.run(["plan", "--name=a", "--ioengine=nvme", name]).ended(2, "trtype=PCIe traddr=0000.06.00.0");
    assert_eq!(done.errors().matches("error:").count(), 1, "one mistake, one message: {done:?}");
    lab.file("key.toml", "title = \"t\"\njob = \"job.fio\"\nbloks = 2\n");
    lab.run(["study", "plan", "key.toml"]).ended(2, "key.toml:3:1: unknown key `bloks`; did you mean `blocks`?");
}

/// A value that the job does not accept is reported at its place in the study file.
#[test]
fn a_wrong_value_in_a_study_is_pointed_to() {
    let lab = furnished();
    lab.file(
        "value.toml",
        "title = \"t\"\njob = \"job.fio\"\nblocks = 2\n[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"8kx\"]\n",
    );
    lab.file(
        "name.toml",
        "title = \"t\"\njob = \"job.fio\"\nblocks = 2\n[[axis]]\noption = \"bss\"\nvalues = [\"4k\", \"8k\"]\n",
    );
    for command in ["plan", "run"] {
        let done = lab.run(["study", command, "value.toml"]).ended(2, "value.toml:6:17: bs = 8kx");
        assert!(!done.errors().contains("/trial"), "no file that is gone is named: {done:?}");
        lab.run(["study", command, "name.toml"]).ended(2, "name.toml:5:10: bss = ");
    }
}

#[test]
fn help_is_given_in_every_form() {
    let lab = Lab::new();
    for (words, usage) in [
        (&["help", "run"][..], "Usage: iolab run [OPTIONS]"),
        (&["run", "--help"], "Usage: iolab run [OPTIONS]"),
        (&["help", "plan"], "Usage: iolab plan [OPTIONS]"),
        (&["plan", "--help"], "Usage: iolab plan [OPTIONS]"),
        (&["help", "fs", "mkfs"], "Usage: iolab fs mkfs [OPTIONS]"),
        (&["help"], "Usage: iolab <COMMAND>"),
    ] {
        let done = lab.run(words).ended(0, "");
        assert!(done.printed().contains(usage), "{words:?}: {done:?}");
    }
    lab.run(["help", "nothing"]).ended(2, "unrecognized subcommand");
    let page = lab.run(["man", "fs", "mkfs"]).ended(0, "");
    assert!(page.printed().contains(".TH iolab-fs-mkfs 1"), "{page:?}");
}

/// No colours in a pipe or with `NO_COLOR`; with `CLICOLOR_FORCE`, coloured text has the same
/// words.
#[test]
fn colors_follow_the_customs() {
    let lab = furnished();
    let colored = |text: &str| text.contains('\u{1b}');
    for words in [&["report", "it.iolab"][..], &["run", "--help"], &["study", "show", "study"]] {
        let plain = lab.run(words).ended(0, "");
        assert!(!colored(&plain.printed()), "{words:?}: {plain:?}");
        let forced = lab.run_with(words, &[("CLICOLOR_FORCE", "1".into())]).ended(0, "");
        assert!(colored(&forced.printed()), "{words:?}: {forced:?}");
        let refused = lab.run_with(words, &[("CLICOLOR_FORCE", "1".into()), ("NO_COLOR", "1".into())]).ended(0, "");
        assert_eq!(refused.printed(), plain.printed(), "{words:?}");
        let mut words_of_forced = String::new();
        let forced = forced.printed();
        for (place, part) in forced.split("\u{1b}[").enumerate() {
            words_of_forced += if place == 0 { part } else { part.split_once('m').unwrap().1 };
        }
        assert_eq!(words_of_forced, plain.printed(), "{words:?}");
    }
}
