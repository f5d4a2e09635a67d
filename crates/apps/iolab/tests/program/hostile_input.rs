//! Hostile files, names and readers: endless input is refused, control sequences are shown as text,
//! and a reader that stops early or a small stack does no harm.

use crate::support::Lab;

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
    let zero = "it is a character device; only regular files are read";
    let fifo = "it is a FIFO; only regular files are read";
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
        (&["plan", "huge.fio"][..], "larger than 16 MiB, the limit for a job file"),
        (&["plan", "include.fio"], "larger than 16 MiB, the limit for a job file"),
        (&["report", "huge.iolab"], "larger than 1024 MiB, the limit for a recording"),
        (&["study", "plan", "huge.toml"], "larger than 4 MiB, the limit for a study"),
    ] {
        let done = lab.run(words);
        assert!(done.code() != 0 && done.errors().contains(said), "{words:?}: {done:?}");
    }
    lab.shell(&format!("head -c 17m /dev/zero | tr '\\0' ' ' | {} plan -", env!("CARGO_BIN_EXE_iolab")))
        .ended(2, "the limit for a job file");
}

/// Tries every command with much output, with a reader that ends at once.
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
        // `true` ends before anything is printed, because only then the gate opens.
        let line = format!(
            "rm -f gate; mkfifo gate; {{ cat gate; {iolab} {words}; echo $? >code; }} | {{ exec <&-; echo >gate; }}; cat code >&2"
        );
        let done = lab.shell(&line);
        assert!(!done.errors().contains("panicked") && done.errors().ends_with("0\n"), "{words}: {done:?}");
    }
    // Messages without a reader.
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

#[test]
fn a_value_never_becomes_a_line_of_a_job() {
    let lab = Lab::new();
    lab.file("job.fio", "[a]\nioengine=null\nsize=64k\n");
    let trap = "4k\nexec_prerun=touch trapped";
    let vary = format!("--vary=bs={trap},8k");
    let own = format!("--bs={trap}");
    for words in [
        &["run", "job.fio", vary.as_str(), "--repeat=2", "--no-db"][..],
        &["run", "--name=a", "--ioengine=null", "--size=64k", &own, "--vary=iodepth=1,2", "--no-db"],
        &["run", "--name=a", "--ioengine=null", "--size=64k", &own, "--no-db"],
        &["run", "--name=a\n[b]\nexec_prerun=touch trapped", "--ioengine=null", "--size=64k", "--no-db"],
        &[
            "run",
            "--name=a]\nexec_prerun=touch trapped",
            "--ioengine=null",
            "--size=64k",
            "--vary=iodepth=1,2",
            "--no-db",
        ],
    ] {
        let done = lab.run(words).ended(2, "");
        assert!(done.errors().contains("control character"), "{done:?}");
    }
    for (name, value) in [("line", "4k\\nexec_prerun=touch trapped"), ("comment", "4k ; exec_prerun=touch trapped")] {
        let study = format!(
            "title = \"t\"\njob = \"job.fio\"\nblocks = 2\n[[axis]]\nname = \"size\"\noption = \"bs\"\nvalues = [\"{value}\", \"8k\"]\n"
        );
        let file = lab.file(&format!("{name}.toml"), study).display().to_string();
        lab.run(["study", "plan", &file]).ended(2, "cannot stand in a job file");
        lab.run(["study", "run", &file]).ended(2, "cannot stand in a job file");
    }
    // The folder of a study may come from someone else, too.
    lab.file("good.toml", "title = \"t\"\njob = \"job.fio\"\nblocks = 2\n[[axis]]\nname = \"size\"\noption = \"bs\"\nvalues = [\"4k\", \"8k\"]\n");
    lab.run(["study", "run", "good.toml", "--folder=good"]).ended(0, "");
    let kept = lab.path("good/study.json");
    let text = std::fs::read_to_string(&kept).unwrap().replace("\"8k\"", "\"8k\\nexec_prerun=touch trapped\"");
    std::fs::write(&kept, text).unwrap();
    lab.shell("rm good/trials/*").ended(0, "");
    lab.run(["study", "resume", "good"]).ended(2, "cannot stand in a job file");
    assert_eq!(lab.shell("find . -name trapped").printed(), "");
}

/// Puts every control sequence into every text that comes from a recording, a job file or the user.
#[test]
fn no_terminal_obeys_a_name() {
    let lab = recorded();
    let evil = "\u{1b}]0;pwned\u{7}\u{9b}2J\r\u{202e}";
    let text = std::fs::read_to_string(lab.path("it.iolab")).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    for pointer in
        ["/iolab_version", "/plan/workers/0/description", "/plan/workers/0/engine/name_", "/plan/sources/0/name"]
    {
        value.pointer_mut(pointer).into_iter().for_each(|one| *one = evil.into());
    }
    value["warnings"] = serde_json::json!([evil]);
    value["workers"][0]["notes"] = serde_json::json!([evil]);
    value["workers"][0]["outcome"] = serde_json::json!({"failed": {"errno": 5, "message": evil}});
    value["plan"]["global_options"] = serde_json::json!({evil: evil});
    value["plan"]["workers"][0]["job_options"] = serde_json::json!({evil: evil});
    value["plan"]["workers"][0]["files"] = serde_json::json!([]);
    value["findings"] = serde_json::json!([{"rule": evil, "severity": "note", "evidence": evil, "consequence": evil, "advice": evil, "jobs": [evil]}]);
    value["host"]["command_line"] = serde_json::json!([evil]);
    lab.file("evil.iolab", value.to_string());
    std::fs::write(lab.path(&format!("{evil}.iolab")), value.to_string()).unwrap();
    let fio = serde_json::json!({"fio version": evil, "jobs": [{"jobname": evil, "job options": {evil: evil}, "read": {"total_ios": 1, "iops": 1.0}}]});
    lab.file("fio.json", fio.to_string());
    lab.file("evil.fio", format!("[a]\nbs=4{evil}\n"));
    let named = format!("{evil}.iolab");
    let tag = format!("--tag={evil}");
    for words in [
        &["report", "evil.iolab"][..],
        &["report", &named],
        &["report", "--output-format=json", "evil.iolab"],
        &["report", "--output-format=terse", "evil.iolab"],
        &["report", "--output-format=html", "evil.iolab"],
        &["report", "--output=report.txt", "evil.iolab"],
        &["explain", "evil.iolab"],
        &["explain", evil],
        &["compare", "evil.iolab", "it.iolab"],
        &["compare", "fio.json", "fio.json"],
        &["compare", "--output=compared.txt", "fio.json", "fio.json"],
        &["compare", &named, "it.iolab"],
        &["compare", evil, "it.iolab"],
        &["db", "import", "evil.iolab", &named, "fio.json"],
        &["db", "note", "1", evil],
        &["db", "tag", "1", evil],
        &["db", "list"],
        &["db", "list", &tag],
        &["db", "show", "1"],
        &["db", "show", "2"],
        &["db", "export"],
        &["db", "export", "--output=exported.csv"],
        &["plan", "evil.fio"],
        &["plan", evil],
        &["plan", "--name=a", "--description", evil, "--size=64k", "--ioengine=null"],
        &["run", "--name=a", "--description", evil, "--size=64k", "--ioengine=null", "--no-db"],
        &["run", "--name=a", "--filename", evil, "--size=64k", "--no-db"],
        &["study", "show", evil],
        &["watch", evil],
        &["engines", evil],
        &[evil],
    ] {
        let done = lab.run(words);
        for shown in [done.printed(), done.errors()] {
            let obeyed = |letter: char| letter.is_control() && !"\n\t".contains(letter) || letter == '\u{202e}';
            assert!(!shown.replace("\r\n", "\n").contains(obeyed), "{words:?}: {shown:?}");
        }
        assert!(!done.errors().contains("panicked"), "{words:?}: {done:?}");
    }
    for name in ["report.txt", "compared.txt"] {
        let text = std::fs::read_to_string(lab.path(name)).unwrap();
        assert!(text.contains("\\u001b]0;pwned\\u0007"), "{name}: {text}");
    }
}

/// A row of a machine-readable format stays one row, with the same number of fields.
#[test]
fn names_do_not_break_rows() {
    let lab = Lab::new();
    let plain = ["run", "--size=64k", "--ioengine=null", "--output-format=terse", "--no-db", "--record=it.iolab"];
    let row = |name: &str| {
        let words: Vec<&str> = plain.iter().copied().chain(["--name", name, "--description=a;b\nc"]).collect();
        lab.run(words).ended(0, "").printed()
    };
    let (good, bad) = (row("plain"), row("a;b;c"));
    assert_eq!(
        (good.lines().count(), good.matches(';').count()),
        (bad.lines().count(), bad.matches(';').count()),
        "{bad}"
    );
    lab.run(["db", "import", "it.iolab"]).ended(0, "");
    lab.run(["db", "note", "1", "a,\"b\"\nc;d"]).ended(0, "");
    let csv = lab.run(["db", "export"]).ended(0, "").printed();
    let fields: Vec<usize> = rows(&csv).iter().map(Vec::len).collect();
    assert!(fields.len() > 1 && fields.iter().all(|count| *count == fields[0]), "{fields:?}\n{csv}");
}

/// Parses CSV as RFC 4180 defines it.
fn rows(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '"' if quoted && letters.peek() == Some(&'"') => field.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut field)),
            '\r' if !quoted => {}
            '\n' if !quoted => {
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            letter => field.push(letter),
        }
    }
    rows
}

/// Cases that random inputs have found: numbers at the ends of their ranges, and plans that would
/// not fit into memory.
#[test]
fn numbers_at_the_ends_of_their_ranges_are_planned_or_refused() {
    let lab = Lab::new();
    for (words, code) in [
        (&["--size=1m", "--rw=randrw", "--bs=9223372036854775808"][..], 2),
        (&["--size=1m", "--rate=9223372036854775808"], 0),
        (&["--size=1m", "--numjobs=4294967295", "--max-jobs=4294967295"], 2),
        (&["--size=1m", "--nrfiles=4294967295"], 2),
        (&["--size=1m", "--nrfiles=1000000", "--numjobs=1000"], 2),
    ] {
        let words: Vec<&str> = ["plan", "--name=a", "--ioengine=null"].iter().chain(words).copied().collect();
        let done = lab.shell(&format!("ulimit -v 3000000; exec {} {}", env!("CARGO_BIN_EXE_iolab"), words.join(" ")));
        assert!(!done.errors().contains("panicked") && done.code() == code, "{words:?}: {done:?}");
    }
    let fio = |more: &str| format!("{{\"fio version\": \"fio-3.42\", {more}}}");
    for (number, text) in [
        fio("\"timestamp\": 18446744073709551615, \"jobs\": [{\"jobname\": \"a\", \"elapsed\": 18446744073709551615}]"),
        fio("\"jobs\": [{\"jobname\": \"a\", \"job_start\": 18446744073709551615, \"read\": {\"total_ios\": 1}}]"),
        fio("\"jobs\": [{\"jobname\": \"a\", \"read\": {\"total_ios\": 1, \"clat_ns\": {\"mean\": 1.0, \"bins\": {\"1\": 18446744073709551615, \"2\": 18446744073709551615}}}}]"),
    ]
    .iter()
    .enumerate()
    {
        let name = format!("{number}.json");
        lab.file(&name, text);
        let done = lab.run(["compare", &name, &name]);
        assert!(!done.errors().contains("panicked") && done.code() == 0, "{text}: {done:?}");
    }
}
