//! Parses the output of an installed `db_bench`.

use std::path::Path;

use crate::flags::FLAGS;
use crate::folder::{Folder, TellError};
use crate::settings::Settings;

/// Whether `db_bench` may use this folder: it destroys an existing store without warning.
pub fn may_replace(settings: &Settings, folder: &Path) -> Result<(), TellError> {
    let kind = iolab_kv_catalogue::kind("rocksdb");
    let kind = kind.ok_or_else(|| TellError::Mistake("there is no store rocksdb".to_owned()))?;
    let folder = Folder::choose(Some(folder))?;
    let fresh = settings.benchmarks.iter().any(|benchmark| benchmark.fresh) && !settings.is_on("use_existing_db");
    folder.judge(kind, fresh, settings.is_on("destroy_db"))
}

/// Those of the given flags that it knows, in its form.
pub fn their_words(settings: &Settings) -> Vec<String> {
    let theirs = FLAGS.iter().filter(|flag| flag.theirs);
    let given = theirs.filter(|flag| settings.has(flag.name) || flag.name == "benchmarks");
    given.map(|flag| format!("--{}={}", flag.name, settings.text(flag.name))).collect()
}

/// One of its result lines.
#[derive(Debug, Clone, PartialEq)]
pub struct TheirLine {
    /// The benchmark.
    pub name: String,
    /// Mean time of an operation in its thread.
    pub micros_per_op: f64,
    /// Operations a second of all threads.
    pub ops_per_second: f64,
    /// Seconds it took; older versions do not say.
    pub seconds: Option<f64>,
    /// Operations; older versions do not say.
    pub operations: Option<u64>,
    /// MiB of keys and values a second.
    pub mb_per_second: Option<f64>,
    /// Lookups that found a value, and lookups.
    pub found: Option<(u64, u64)>,
}

/// All result lines of its output. Progress that it writes before a line, ended by carriage returns
/// or spaces, is skipped.
pub fn their_lines(text: &str) -> Vec<TheirLine> {
    text.split(['\n', '\r']).filter_map(one).collect()
}

fn one(line: &str) -> Option<TheirLine> {
    let (before, after) = line.split_once(" micros/op ")?;
    let (name, micros) = before.rsplit_once(':')?;
    let word_before = |mark: &str| after.split_once(mark)?.0.split_whitespace().next_back();
    Some(TheirLine {
        name: name.split_whitespace().next_back()?.to_owned(),
        micros_per_op: micros.trim().parse().ok()?,
        ops_per_second: word_before("ops/sec")?.parse().ok()?,
        seconds: word_before("seconds").and_then(|word| word.parse().ok()),
        operations: word_before("operations").and_then(|word| word.parse().ok()),
        mb_per_second: word_before("MB/s").and_then(|word| word.parse().ok()),
        found: found(after),
    })
}

/// `(632563 of 1000000 found)`.
fn found(text: &str) -> Option<(u64, u64)> {
    let (_, rest) = text.rsplit_once('(')?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words[..] {
        [found, "of", asked, "found)", ..] => Some((found.parse().ok()?, asked.parse().ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_several_versions_are_read() {
        let text = "Keys:       16 bytes each\n... finished 100 ops          \rreadrandom   :       9.717 micros/op 102904 \
                    ops/sec 9.717 seconds 1000000 operations;    7.2 MB/s (632563 of 1000000 found)\n\n\
                    fillseq      :       3.4 micros/op 295222 ops/sec;   32.7 MB/s\n";
        let lines = their_lines(text);
        assert_eq!(lines.len(), 2);
        let read = &lines[0];
        assert_eq!((read.name.as_str(), read.micros_per_op, read.ops_per_second), ("readrandom", 9.717, 102_904.0));
        assert_eq!((read.seconds, read.operations), (Some(9.717), Some(1_000_000)));
        assert_eq!((read.mb_per_second, read.found), (Some(7.2), Some((632_563, 1_000_000))));
        assert_eq!((lines[1].name.as_str(), lines[1].seconds, lines[1].mb_per_second), ("fillseq", None, Some(32.7)));
    }

    #[test]
    fn our_own_lines_are_read_the_same_way() {
        let mut thread = crate::ThreadResult { elapsed_ns: 2_000_000_000, found: 5, asked: 9, ..Default::default() };
        thread.tallies[0].operations = 1000;
        let ours = crate::BenchmarkResult {
            name: "readrandom".into(),
            threads: vec![thread],
            elapsed_ns: 2_000_000_000,
            ..Default::default()
        };
        let settings = crate::Settings::read(&[]).unwrap();
        let lines = their_lines(&crate::line(&settings, &ours));
        assert_eq!((lines[0].micros_per_op, lines[0].operations, lines[0].found), (2000.0, Some(1000), Some((5, 9))));
    }
}
