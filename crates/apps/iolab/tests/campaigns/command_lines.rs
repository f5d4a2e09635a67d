//! Command lines whose words are dropped, doubled and replaced at random. None of them runs
//! anything.

use iolab_jobfile::OPTIONS;

use crate::random::{HOSTILE, Random};
use crate::support::Lab;
use crate::{bounded, campaign, inputs};

/// The command lines to start from. The first word stays.
const BASES: &[&str] = &[
    "plan --name=a --ioengine=null --size=1m --rw=randrw --bs=4k --iodepth=4 --numjobs=2",
    "plan --ioengine=psync --rw=read --name=a --size=1m --name=b --filesize=1m --nrfiles=4 --runtime=10 --time_based",
    "plan --name=a --ioengine=null --size=1m --rate=1m --rate_process=poisson --percentile_list=50:99 --group_reporting",
    "plan job.fio --section=a --output-format=json --eta=never --status-interval=1 --max-jobs=4",
    "report it.iolab --output-format=normal --terse-version=3",
    "report it.iolab --intervals=table",
    "report it.iolab --watch=table",
    "report it.iolab --output-format=html --figures=figures",
    "compare it.iolab it.iolab --figures=iops,p99 --fail-if=p99>+5% --confidence=95% --zone=2% --json",
    "compare --baseline it.iolab --candidate it.iolab --paired --intervals=bootstrap",
    "explain iodepth",
    "explain it.iolab",
    "engines io_uring",
    "completions bash",
    "man",
    "db list --since=2d --engine=null --tag=x --text=a --option=bs=4k --limit=3 --json",
    "db show 1 --json",
    "db export --format=csv --since=2026-11-21",
    "db path",
    "study plan study.toml --quick",
    "study show folder",
    "device parameters",
    "device list",
    "fs info image",
    "fs ls image / -l",
    "fs stat image /a",
];

fn words(random: &mut Random) -> Vec<String> {
    let mut words: Vec<String> = random.pick(BASES).split(' ').map(str::to_owned).collect();
    // The subcommand and its own subcommand decide what may happen, so they stay.
    let kept = if ["db", "study", "device", "fs"].contains(&words[0].as_str()) { 2 } else { 1 };
    for _ in 0..1 + random.below(4) {
        let at = kept + random.below(words.len() - kept + 1);
        let option = random.pick(OPTIONS);
        match random.below(7) {
            0 if at < words.len() => drop(words.remove(at)),
            1 if at < words.len() => words.insert(at, words[at].clone()),
            2 => words.insert(at, random.pick(HOSTILE).replace('\0', "")),
            3 => words.insert(at, format!("--{}={}", option.name, random.pick(HOSTILE))),
            4 => words.insert(at, format!("--{}", option.name)),
            _ if at < words.len() => {
                let name = words[at].split_once('=').map(|pair| pair.0.to_owned()).unwrap_or_default();
                words[at] = format!("{name}={}", random.pick(HOSTILE));
            }
            _ => {}
        }
    }
    words
}

#[test]
fn command_lines_are_answered_or_refused() {
    let lab = Lab::new();
    lab.job("[a]\nioengine=null\nsize=64k\nrw=read\ninterval=10ms\n").ended(0, "");
    lab.file(
        "study.toml",
        "title = \"t\"\njob = \"job.fio\"\n[[axis]]\nname = \"bs\"\noption = \"bs\"\nvalues = [\"4k\", \"8k\"]\n",
    );
    campaign(inputs(1, 60), |number| {
        let words = words(&mut Random::new(number));
        let end = bounded(&lab, number, env!("CARGO_BIN_EXE_iolab"), &words, &[]);
        if end.is_sound() { Ok(()) } else { Err(format!("{end:?}\n{words:?}")) }
    });
}
