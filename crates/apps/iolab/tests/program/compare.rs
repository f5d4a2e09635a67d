//! `iolab compare`: sides, figures, conditions, exit codes.

use crate::support::Lab;
use iolab_testkit::html::read_html;

const JOB: &str = "[job]\nioengine=null\nsize=1g\nrw=randread\ntime_based\nruntime=20ms\ncalibrate=0\n";

/// Makes recordings `a/1.iolab` … and `b/1.iolab` … of the same load, in turn.
fn lab(runs: u32) -> Lab {
    let lab = Lab::new();
    lab.file("job.fio", JOB);
    for side in ["a", "b"] {
        std::fs::create_dir(lab.path(side)).unwrap();
    }
    for run in 1..=runs {
        for side in ["a", "b"] {
            lab.run(["run", "job.fio", &format!("--record={side}/{run}.iolab")]).ended(0, "");
        }
    }
    lab
}

/// Makes the candidate's figures worse: halves the operation counts of its recordings.
fn slow_down(lab: &Lab, runs: u32) {
    for run in 1..=runs {
        let path = lab.path(&format!("b/{run}.iolab"));
        let mut recording = crate::support::read_recording(&path);
        let base = crate::support::read_recording(&lab.path(&format!("a/{run}.iolab")));
        for (worker, base) in recording.workers.iter_mut().zip(base.workers) {
            worker.directions = base.directions;
            worker.directions[0].ios /= 2;
        }
        std::fs::write(path, recording.to_json()).unwrap();
    }
}

#[test]
fn folders_of_recordings_are_compared_and_conditions_decide_the_exit_code() {
    let lab = lab(6);
    slow_down(&lab, 6);
    let told = lab.run(["compare", "a", "b", "--paired"]).ended(0, "").printed();
    for part in ["baseline   a (6 runs)", "paired by block", "-50.0 %", "worse", "equivalent"] {
        assert!(told.contains(part), "no '{part}' in:\n{told}");
    }
    let code = |more: &[&str], code: i32, said: &str| {
        lab.run([&["compare", "a", "b", "--paired"], more].concat()).ended(code, said);
    };
    code(&["--fail-if=iops < -3%"], 4, "iolab: iops < -3%");
    code(&["--fail-if", "p99 > +5%"], 0, "");
    code(&["--fail-if", "p99 > +5%", "--fail-if", "iops < -60%"], 0, "");
    code(&["--fail-if", "p99.999 > +5%"], 0, "");
    code(&["--fail-if", "p99.999 > +5%", "--fail-if-unsure"], 4, "p99.999");
    code(&["--fail-if", "iosp < -3%"], 2, "^^^^ unknown metric; did you mean 'iops'?");
    code(&["--figures=iosp"], 2, "unknown metric 'iosp'");
    code(&["--zone=much"], 2, "a percentage");
    let outcome = lab.run(["compare", "a", "b", "--paired", "--figures=iops", "--json"]).ended(0, "").json();
    assert_eq!(outcome["rows"][0]["comparison"]["verdict"], "worse");
    assert_eq!(outcome["rows"][0]["ratio"]["estimate"].as_f64().map(|ratio| (ratio * 100.0).round()), Some(50.0));
    let wide = lab.run(["compare", "a", "b", "--paired", "--figures=iops", "--zone=150%"]).code();
    assert_eq!(wide, 2, "a zone of 100 % and more says nothing");
}

#[test]
fn a_comparison_becomes_a_page() {
    let lab = lab(6);
    slow_down(&lab, 6);
    let with_page = |more: &[&'static str]| [&["compare", "a", "b", "--paired", "-o", "c.html"], more].concat();
    // The conditions decide the exit code, as without a page.
    let ended = lab.run(with_page(&["--fail-if=iops < -3%", "--fail-if=p99 > +5%"])).ended(4, "iolab: iops < -3%");
    assert_eq!(ended.printed(), "");
    let html = std::fs::read_to_string(lab.path("c.html")).unwrap();
    let page = read_html(&html);
    page.stands_alone();
    let titles: Vec<&str> = page.headings.iter().map(|(_, title)| title.as_str()).collect();
    for title in ["b against a", "Results", "Conditions", "Conclusions", "Verdicts", "iops", "Runs"] {
        assert!(titles.contains(&title), "no '{title}' in {titles:?}");
    }
    let text = page.text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in
        ["Candidate: b, 6 runs", "iops &lt; -3%: ▼ fails", "p99 &gt; +5%: ▲ passes", "÷ 2.00", "▼ worse", "b/6.iolab"]
    {
        assert!(text.contains(part), "no '{part}' in {text}");
    }
    assert!(page.elements.iter().any(|name| name == "svg") && html.contains("--fail-if=iops &lt; -3%"));
    lab.run(with_page(&["--json"])).ended(2, "writes a page and --json writes JSON");
    lab.run(["compare", "a", "b", "-o", "c.txt"]).ended(0, "");
    assert!(std::fs::read_to_string(lab.path("c.txt")).unwrap().starts_with("baseline   a (6 runs)"));
}

#[test]
fn a_comparison_becomes_a_comment() {
    let lab = lab(6);
    slow_down(&lab, 6);
    let comment = ["compare", "a", "b", "--paired", "--markdown", "--figures=iops,p50"];
    let told = lab.run(comment).ended(0, "").printed();
    let lines: Vec<&str> = told.lines().collect();
    assert_eq!(&lines[..3], &["### iolab: 1 worse, 1 equivalent", "", "b (6 runs) against a (6 runs)"], "{told}");
    // Every line of the table has as many cells as its head.
    let table: Vec<&&str> = lines.iter().filter(|line| line.starts_with('|')).collect();
    let cells = |line: &str| line.matches(" |").count();
    assert_eq!((table.len(), cells(table[1])), (4, 8), "{told}");
    assert!(table.iter().all(|line| cells(line) == 8) && table[1].contains("| ---: |"), "{told}");
    assert!(told.contains("| -50.0 % |") && told.contains("<details><summary>Method"), "{told}");
    let failing = lab.run([&comment[..], &["--fail-if=iops < -3%"]].concat()).ended(4, "iolab: iops < -3%").printed();
    assert!(failing.starts_with("### iolab: 1 condition failed: `iops < -3%`\n"), "{failing}");
    assert!(failing.contains("- `iops < -3%` **fails**\n"), "{failing}");
    lab.run([&comment[..], &["-o", "c.html"]].concat()).ended(2, "writes a page and --markdown writes Markdown");
    lab.run([&comment[..], &["-o", "c.md"]].concat()).ended(0, "");
    assert_eq!(std::fs::read_to_string(lab.path("c.md")).unwrap(), told);
}

#[test]
fn sides_are_lists_or_folders_or_files() {
    let lab = lab(2);
    let list = lab.run(["compare", "a/1.iolab,a/2.iolab", "b"]).ended(0, "").printed();
    assert!(list.contains("baseline   a/1.iolab, a/2.iolab (2 runs)"), "{list}");
    let named = ["compare", "--baseline", "a/1.iolab", "a/2.iolab", "--candidate", "b/1.iolab"];
    assert!(lab.run(named).ended(0, "").printed().contains("candidate  b/1.iolab (1 run)"));
    let single = lab.run(["compare", "a/1.iolab", "b/1.iolab"]).ended(0, "").printed();
    assert!(single.contains("one run each, so no interval and no verdict"), "{single}");
    lab.run(["compare", "a"]).ended(2, "name two runs: iolab compare");
    lab.run(["compare", "a", "none"]).ended(2, "none: No such file");
    std::fs::create_dir(lab.path("empty")).unwrap();
    lab.run(["compare", "a", "empty"]).ended(2, "empty: no recordings");
    lab.run(["compare", "a", "job.fio"]).ended(2, "job.fio: not an iolab recording and not fio's JSON");
}

#[test]
fn studies_are_compared_configuration_by_configuration() {
    let lab = Lab::new();
    lab.file("base.fio", JOB);
    lab.file(
        "it.toml",
        "title = \"Sizes\"\njob = \"base.fio\"\nblocks = 2\nfigures = [\"iops\", \"p50\"]\n[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"8k\"]\n",
    );
    for folder in ["before", "after"] {
        lab.run(["study", "run", "it.toml", &format!("--folder={folder}")]).ended(0, "");
    }
    let outcome = lab.run(["compare", "before", "after", "--json"]).ended(0, "").json();
    let rows = outcome["rows"].as_array().unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row["figure"].as_str(), row["points"][0][1].as_str())).collect();
    let expected = [("iops", "4k"), ("iops", "8k"), ("p50", "4k"), ("p50", "8k")];
    assert_eq!(told, expected.map(|(figure, point)| (Some(figure), Some(point))));
    assert_eq!(rows[0]["baseline"].as_array().unwrap().len(), 2);
    assert_eq!(rows[0]["basis"], "trials", "one study ran after the other: their blocks are not the same");
    assert!(outcome["notes"].to_string().contains("before those of the other"), "{outcome}");
    let paired = lab.run(["compare", "before", "after", "--json", "--paired"]).ended(0, "").json();
    assert_eq!(paired["rows"][0]["basis"], "blocks");
}

#[test]
fn configurations_of_one_study_are_compared_by_block() {
    let lab = Lab::new();
    lab.file("base.fio", JOB);
    let study = "title = \"Sizes\"\njob = \"base.fio\"\nblocks = 3\nfigures = [\"iops\"]\n";
    let axes = "[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"8k\"]\n[[axis]]\noption = \"rw\"\nvalues = [\"randread\", \"read\"]\n";
    lab.file("it.toml", study.to_owned() + axes);
    lab.run(["study", "run", "it.toml", "--folder=it"]).ended(0, "");
    let outcome = lab.run(["compare", "it:bs=4k", "it:bs=8k", "--json"]).ended(0, "").json();
    let rows = outcome["rows"].as_array().unwrap();
    let told: Vec<_> = rows.iter().map(|row| (row["points"].to_string(), row["basis"].as_str().unwrap())).collect();
    let expected = ["randread", "read"].map(|rw| (format!("[[\"rw\",\"{rw}\"]]"), "blocks"));
    assert_eq!(told, expected);
    let one = lab.run(["compare", "it:bs=4k:rw=read", "it:bs=8k:rw=read", "--json"]).ended(0, "").json();
    assert_eq!((one["rows"].as_array().unwrap().len(), one["baseline"]["runs"].as_u64()), (1, Some(3)));
    lab.run(["compare", "it:size=4k", "it:bs=8k"]).ended(2, "'size' is no axis of this study; it has bs, rw");
    lab.run(["compare", "it:bs=4k", "it:bs=16k"]).ended(2, "bs has no point '16k'; it has 4k, 8k");
}

#[test]
fn commands_of_one_study_are_compared_by_block_though_nobody_knows_their_start() {
    let lab = Lab::new();
    let value = "[[value]]\nname = \"time\"\nat = \"/t\"\nunit = \"s\"\nbetter = \"lower\"\n";
    let axis = "[[axis]]\noption = \"build\"\nvalues = [\"1\", \"2\"]\n";
    let command = "command = \"printf '{\\\"t\\\": %s.0%s}' {build} $IOLAB_BLOCK\"\n";
    lab.file("it.toml", format!("title = \"Builds\"\n{command}blocks = 6\n{value}{axis}"));
    lab.run(["study", "run", "it.toml", "--folder=it"]).ended(0, "");
    let compared = ["compare", "it:build=1", "it:build=2", "--fail-if=time > +5%"];
    let told = lab.run(compared).ended(4, "iolab: time > +5%").printed();
    assert!(told.contains("paired by block") && told.contains("worse"), "{told}");
}
