//! `--debug`: what jobs tell of their work, and where.

use crate::drop_in::Folder;

const JOB: [&str; 5] = ["--name=a", "--filename=f", "--size=12k", "--bs=4k", "--rw=randwrite"];

/// What is told with this word, without the columns of kind and process.
fn told(lines: &str, kind: &str) -> Vec<String> {
    let of_kind = |line: &str| {
        let (word, rest) = line.split_once(' ')?;
        let (id, text) = rest.trim_start().split_once(' ')?;
        (word == kind && id.parse::<u32>().is_ok()).then(|| text.trim_start().to_owned())
    };
    lines.lines().filter_map(of_kind).collect()
}

#[test]
fn a_job_tells_what_it_does_in_the_order_in_which_it_does_it() {
    let folder = Folder::new();
    let words = ["--debug=io,random,verify", "--verify=crc32c", "--verify_state_save=0"];
    let done = folder.fio(&[&JOB[..], &words].concat());
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    assert!(done.out.starts_with("fio: set debug option io\nfio: set debug option random\n"), "{}", done.out);
    let io = told(&done.out, "io");
    let of = |step: &str, direction: u32| {
        let end = format!(",len=0x1000,ddir={direction},file=");
        let begin = format!("{step}: io_u 0: off=0x");
        let found = io.iter().filter(|line| line.starts_with(&begin) && line.contains(&end)).count();
        assert_eq!(found, 3, "{step} {direction}: {io:?}");
    };
    of("fill", 1);
    for direction in [1, 0] {
        ["prep", "queue", "complete"].iter().for_each(|step| of(step, direction));
    }
    let first: Vec<&str> =
        io.iter().filter_map(|line| line.split_once(": io_u")).map(|(step, _)| step).take(8).collect();
    assert_eq!(first, ["fill", "prep", "queue", "complete", "fill", "prep", "queue", "complete"]);
    let random = told(&done.out, "random");
    let count: usize = random[0].strip_prefix("FIO_RAND_NR_OFFS=").unwrap().parse().unwrap();
    assert!(random[1..=count].iter().all(|line| line.starts_with("rand_seeds[")), "{random:?}");
    let mut drawn: Vec<&str> = random.iter().filter_map(|line| line.strip_prefix("off rand ")).collect();
    drawn.sort_unstable();
    assert_eq!(drawn, ["0", "1", "2"]);
    let verify = told(&done.out, "verify");
    let fills = verify.iter().filter(|line| *line == "fill crc32c io_u 0, len 4096").count();
    let checks = verify.iter().filter(|line| *line == "crc32c verify io_u 0, len 4096").count();
    assert_eq!((fills, checks), (3, 3), "{verify:?}");
}

#[test]
fn options_are_told_of_and_the_report_follows() {
    let folder = Folder::new();
    let done = folder.fio(&[&JOB[..], &["--debug=parse", "--output=o", "--output-format=json"]].concat());
    assert_eq!((done.code, done.out.as_str()), (0, "fio: set debug option parse\n"));
    let report = folder.read("o");
    let parse = told(&report, "parse");
    for line in ["handle_option=filename, ptr=f", "handle_option=bs, ptr=4k", "handle_option=rw, ptr=randwrite"] {
        assert!(parse.iter().any(|found| found == line), "{line}: {parse:?}");
    }
    let begins = report.find("\n{\n").expect("a JSON document behind the lines");
    assert!(report[..begins].lines().all(|line| line.starts_with("parse ")), "{report}");
    // Nothing is told without being asked for.
    let done = folder.fio(&[&JOB[..], &["--parse-only", "--debug=parse"]].concat());
    assert_eq!(told(&done.out, "parse").len(), parse.len());
    assert_eq!(folder.fio(&[&JOB[..], &["--parse-only"]].concat()).out, "");
    let list = folder.fio(&["--debug=help"]);
    assert!(list.code == 0 && list.out.starts_with("fio: dumping debug options:process,file,io,"), "{}", list.out);
}

#[test]
fn one_of_several_jobs_tells_alone() {
    let folder = Folder::new();
    let done = folder.fio(&[
        "--debug=io,job:2",
        "--name=a",
        "--ioengine=null",
        "--size=8k",
        "--bs=4k",
        "--rw=read",
        "--numjobs=3",
    ]);
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    let queued = told(&done.out, "io").iter().filter(|line| line.starts_with("queue: ")).count();
    assert_eq!(queued, 2, "{}", done.out);
}

#[test]
fn the_search_for_a_depth_and_a_steady_state_are_told_of() {
    let folder = Folder::new();
    let null = ["--name=a", "--ioengine=null", "--bs=4k", "--rw=randread", "--size=1g", "--time_based", "--runtime=60"];
    let search = ["--debug=rate", "--latency_target=10s", "--latency_window=10ms", "--iodepth=4", "--rate_iops=1000"];
    let done = folder.fio(&[&null[..], &search].concat());
    let rate = told(&done.out, "rate");
    assert!(rate.iter().any(|line| line == "Ramped up: 1 2 4"), "{rate:?}");
    assert!(rate.iter().any(|line| line == "We are done"), "{rate:?}");
    let steady = ["--debug=steadystate", "--steadystate=iops:1000%", "--ss_dur=2", "--rate_iops=1000"];
    let done = folder.fio(&[&null[..], &steady].concat());
    let steady = told(&done.out, "steadystate");
    assert!(steady[0].starts_with("iops: "), "{steady:?}");
    assert!(steady.iter().any(|line| line.starts_with("sum_y: ") && line.contains("limit: 1000.000000")), "{steady:?}");
}
