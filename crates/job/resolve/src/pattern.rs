//! Parses `rw=` into its parts.

use iolab_options::Direction;
use iolab_plan::{Pattern, Sequencer};

use crate::job::Job;
use crate::readings;

/// The pattern.
pub(crate) fn resolve(job: &Job<'_>) -> Pattern {
    let (word, every, skip_bytes) = job.value("rw", readings::pattern);
    let (word, directions, random) = take_apart(job, &word);
    // Random patterns count operations; the parser refuses bytes there.
    let (every, skip_bytes) = if random { (every.unwrap_or(1).max(1), 0) } else { (1, skip(every, skip_bytes)) };
    let (rewrite, repeats) = (job.count("rewrite").max(1), every > 1);
    if rewrite > 1 && random {
        job.error(
            "rewrite",
            format!("rewrite={rewrite} is for sequential patterns, and rw={word} is random"),
            "use rw=randwrite:N with rw_sequencer=identical",
        );
    }
    let every = if repeats { every } else { rewrite };
    let sequencer = match job.word("rw_sequencer").as_str() {
        "identical" => Sequencer::Identical,
        _ if rewrite > 1 && !random => Sequencer::Identical,
        _ => Sequencer::Sequential,
    };
    if job.has("rw_sequencer") && every == 1 && sequencer == Sequencer::Identical {
        job.warn(
            "rw_sequencer",
            "rw_sequencer has no effect unless rw is random and has a `:N` suffix",
            "for example rw=randread:8",
        );
    }
    let writes = directions.iter().any(|direction| *direction != Direction::Read);
    if job.request.overrides.readonly && writes {
        job.error(
            "rw",
            format!("rw={word} writes or trims, but --readonly is set"),
            "remove --readonly, or use a read pattern",
        );
    }
    let trim_then_write = word.ends_with("trimwrite");
    Pattern { word, directions, random, trim_then_write, every, skip_bytes, sequencer }
}

fn take_apart(job: &Job<'_>, word: &str) -> (String, Vec<Direction>, bool) {
    use Direction::{Read, Trim, Write};
    let (canonical, directions, random): (&str, &[Direction], bool) = match word {
        "read" => ("read", &[Read], false),
        "write" => ("write", &[Write], false),
        "trim" => ("trim", &[Trim], false),
        "randread" => ("randread", &[Read], true),
        "randwrite" => ("randwrite", &[Write], true),
        "randtrim" => ("randtrim", &[Trim], true),
        "rw" | "readwrite" => ("rw", &[Read, Write], false),
        "randrw" => ("randrw", &[Read, Write], true),
        "trimwrite" => ("trimwrite", &[Write, Trim], false),
        "randtrimwrite" => ("randtrimwrite", &[Write, Trim], true),
        other => {
            job.error(
                "rw",
                format!("rw={other} is not an access pattern"),
                "for example read, write, randread, randrw",
            );
            ("read", &[Read], false)
        }
    };
    (canonical.to_owned(), directions.to_vec(), random)
}

/// In sequential patterns fio reads the suffix as bytes, with or without a unit.
fn skip(every: Option<u32>, skip_bytes: i64) -> i64 {
    every.map_or(skip_bytes, i64::from)
}
