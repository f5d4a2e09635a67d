//! Files, names and readers that mean harm: what never ends is refused, what a terminal would obey is shown, and whoever stops
//! reading or gives little stack does no damage.

mod support;

use support::Lab;

/// A recording of a short run.
fn recorded() -> Lab {
    let lab = Lab::new();
    lab.job("[a]\nioengine=null\nsize=64k\nrw=read\ninterval=10ms\nsample_interval=0\n").ended(0, "");
    lab
}

#[test]
fn what_never_ends_is_refused_everywhere() {
    let lab = recorded();
    lab.shell("mkfifo fifo fifo.iolab; mkdir folder; cd folder; mkfifo study.json").ended(0, "");
    lab.file("include-zero.fio", "[a]\ninclude /dev/zero\n");
    lab.file("include-fifo.fio", "[a]\ninclude fifo\n");
    lab.file("arrivals.fio", "[a]\nioengine=null\nsize=1m\narrivals=fifo\n");
    lab.file(
        "by-device.toml",
        "title = \"t\"\njob = \"/dev/zero\"\n[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"8k\"]\n",
    );
    lab.shell("mkfifo base.fio").ended(0, "");
    let zero = "it is a character device, and only regular files are read";
    let fifo = "it is a FIFO, and only regular files are read";
    for (words, said) in [
        (&["report", "/dev/zero"][..], zero),
        (&["report", "fifo"], fifo),
        (&["report", "--output-format=html", "fifo"], fifo),
        (&["report", "folder"], fifo),
        (&["explain", "/dev/zero"], zero),
        (&["explain", "./fifo"], fifo),
        (&["compare", "it.iolab", "/dev/zero"], zero),
        (&["compare", "fifo.iolab", "it.iolab"], fifo),
        (&["compare", "folder", "it.iolab"], fifo),
        (&["db", "import", "/dev/zero"], zero),
        (&["db", "import", "fifo"], fifo),
        (&["plan", "/dev/zero"], zero),
        (&["plan", "fifo"], fifo),
        (&["plan", "include-zero.fio"], zero),
        (&["run", "include-fifo.fio"], fifo),
        (&["plan", "arrivals.fio"], fifo),
        (&["study", "plan", "/dev/zero"], zero),
        (&["study", "plan", "fifo"], fifo),
        (&["study", "plan", "by-device.toml"], zero),
        (&["study", "show", "folder"], fifo),
        (&["study", "resume", "folder"], fifo),
        (&["fs", "io-tester", "fifo", "image"], fifo),
    ] {
        let done = lab.run(words);
        assert!(done.code() != 0 && done.errors().contains(said), "{words:?}: {done:?}");
        assert!(!done.errors().contains("panicked"), "{words:?}: {done:?}");
    }
}

#[test]
fn what_is_too_large_is_refused_before_it_is_read() {
    let lab = Lab::new();
    for (name, size) in [("huge.fio", 1_u64 << 40), ("huge.iolab", 1 << 40), ("huge.toml", 1 << 40)] {
        std::fs::File::create(lab.path(name)).unwrap().set_len(size).unwrap();
    }
    lab.file("include.fio", "[a]\ninclude huge.fio\n");
    for (words, said) in [
        (&["plan", "huge.fio"][..], "more than 16 MiB, too much for a job file"),
        (&["plan", "include.fio"], "more than 16 MiB, too much for a job file"),
        (&["report", "huge.iolab"], "more than 1024 MiB, too much for a recording"),
        (&["study", "plan", "huge.toml"], "more than 4 MiB, too much for a study"),
    ] {
        let done = lab.run(words);
        assert!(done.code() != 0 && done.errors().contains(said), "{words:?}: {done:?}");
    }
    lab.shell(&format!("head -c 17m /dev/zero | tr '\\0' ' ' | {} plan -", env!("CARGO_BIN_EXE_iolab")))
        .ended(2, "too much for a job file");
}

/// Every way of printing much, with a reader that leaves at once.
#[test]
fn a_reader_that_leaves_is_no_failure() {
    let lab = recorded();
    let iolab = env!("CARGO_BIN_EXE_iolab");
    for words in [
        "completions bash",
        "completions zsh",
        "man",
        "--help",
        "run --help",
        "run --cmdhelp=all",
        "explain iodepth",
        "engines",
        "report it.iolab",
        "report --output-format=html it.iolab",
        "report --output-format=json+ it.iolab",
        "report --intervals it.iolab",
        "compare it.iolab it.iolab",
        "plan --name=a --ioengine=null --size=1m --numjobs=500",
        "run --name=b --ioengine=null --size=1m --no-db --record=b.iolab",
        "watch --json 0.01 3",
    ] {
        // `true` is gone before anything is printed: only then is the gate open.
        let line = format!(
            "rm -f gate; mkfifo gate; {{ cat gate; {iolab} {words}; echo $? >code; }} | {{ exec <&-; echo >gate; }}; cat code >&2"
        );
        let done = lab.shell(&line);
        assert!(!done.errors().contains("panicked") && done.errors().ends_with("0\n"), "{words}: {done:?}");
    }
    // Messages nobody reads.
    let line = format!("{{ {iolab} plan missing.fio; echo $? >code; }} 2>&1 | :; cat code");
    assert_eq!(lab.shell(&line).printed(), "2\n");
}

#[test]
fn little_stack_is_enough() {
    let lab = recorded();
    let iolab = env!("CARGO_BIN_EXE_iolab");
    lab.file("deep.json", format!("{{\"iolab_recording\":1,\"plan\":{}{}", "[".repeat(100_000), "]".repeat(100_000)));
    lab.file("deep-fio.json", "[".repeat(1_000_000));
    lab.file("deep.toml", format!("title = {}{}", "[".repeat(100_000), "]".repeat(100_000)));
    lab.file("tables.toml", format!("[{}a]\nb = 1\n", "a.".repeat(100_000)));
    lab.file("deep.yaml", format!("- name: {}\n", "[".repeat(100_000)));
    lab.file("sum.fio", format!("[a]\nsize={}1{}\n", "(".repeat(100_000), ")".repeat(100_000)));
    for (words, code) in [
        ("run --name=b --ioengine=null --size=1m --numjobs=2 --no-db --record=b.iolab", 0),
        ("run --name=b --ioengine=null --size=1m --numjobs=2 --thread --no-db --record=b.iolab", 0),
        ("report it.iolab", 0),
        ("compare it.iolab it.iolab", 0),
        ("man", 0),
        ("completions fish", 0),
        ("report deep.json", 2),
        ("compare deep-fio.json it.iolab", 2),
        ("study plan deep.toml", 2),
        ("study plan tables.toml", 2),
        ("fs io-tester deep.yaml image", 2),
        ("plan sum.fio", 2),
    ] {
        for stack in [64, 8192] {
            let done = lab.shell(&format!("ulimit -s {stack}; exec {iolab} {words}"));
            assert!(done.code() == code, "{words} with {stack} KiB of stack: {code} wanted: {done:?}");
        }
    }
}
