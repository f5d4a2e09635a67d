//! The typed settings.

use std::path::PathBuf;

use iolab_kv::Durability;
use iolab_text::closest;

use crate::benchmarks::{BENCHMARKS, Benchmark};
use crate::flags::{self, FLAGS, FlagError};

/// How random keys are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Distribution {
    /// Each key as often as each other; the sequence of `db_bench`.
    Uniform,
    /// Few keys often: Zipf's law with this theta, the hot ones scattered over all.
    Zipf(f64),
}

/// Everything that flags say.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The flags by name, defaults included.
    values: Vec<(&'static str, String)>,
    /// Names of the flags that were given.
    given: Vec<&'static str>,
    /// The words themselves, for `--via`.
    pub words: Vec<String>,
    /// Benchmarks in their order.
    pub benchmarks: Vec<&'static Benchmark>,
    /// The kind of store, if named.
    pub store: Option<String>,
    /// Its folder, if named.
    pub db: Option<PathBuf>,
    /// Keys.
    pub num: u64,
    /// Reads, writes and deletions of each thread.
    pub reads: u64,
    /// See `reads`.
    pub writes: u64,
    /// See `reads`.
    pub deletes: u64,
    /// Threads.
    pub threads: u32,
    /// End by time, ns; 0 for by number.
    pub duration_ns: u64,
    /// Key length in bytes.
    pub key_size: usize,
    /// Value length in bytes.
    pub value_size: usize,
    /// What values shrink to.
    pub compression_ratio: f64,
    /// Seed; 0 for any.
    pub seed: u64,
    /// Puts in a batch.
    pub batch_size: u64,
    /// What writes survive.
    pub durability: Durability,
    /// Share of reads, per cent.
    pub read_percent: u64,
    /// Steps after a seek.
    pub seek_nexts: u64,
    /// Bytes a second of the writer beside readers; 0 for no limit.
    pub write_limit: u64,
    /// How random keys are chosen.
    pub distribution: Distribution,
    /// Operations a second of all threads; 0 for no schedule.
    pub rate: u64,
    /// Length of an interval, ns.
    pub interval_ns: u64,
}

impl Settings {
    /// Reads the words of a command line.
    pub fn read(words: &[String]) -> Result<Settings, FlagError> {
        let given = flags::read(words)?;
        let mut values: Vec<_> = FLAGS.iter().map(|flag| (flag.name, flag.default.to_owned())).collect();
        for (flag, value) in &given {
            values.retain(|(name, _)| name != &flag.name);
            values.push((flag.name, value.clone()));
        }
        let given = given.iter().map(|(flag, _)| flag.name).collect();
        Settings::typed(&Values(&values)).map(|typed| Settings {
            values: values.clone(),
            given,
            words: words.to_owned(),
            ..typed
        })
    }

    fn typed(values: &Values<'_>) -> Result<Settings, FlagError> {
        let num = values.number("num", 1)?;
        let or_num = |name: &str| Ok(if values.text(name) == "-1" { num } else { values.number(name, 0)? });
        let path = |name: &str| Some(values.text(name)).filter(|text| !text.is_empty()).map(PathBuf::from);
        let (sync, no_log) = (values.switch("sync")?, values.switch("disable_wal")?);
        if sync && no_log {
            return Err(FlagError(
                "--sync and --disable_wal cannot be combined: without a log there is nothing to sync".into(),
            ));
        }
        let durability = match (sync, no_log) {
            (true, _) => Durability::Synced,
            (_, true) => Durability::Unlogged,
            _ => Durability::Logged,
        };
        Ok(Settings {
            values: Vec::new(),
            given: Vec::new(),
            words: Vec::new(),
            benchmarks: benchmarks(values.text("benchmarks"))?,
            store: path("store").map(|name| name.display().to_string()),
            db: path("db"),
            num,
            reads: or_num("reads")?,
            writes: or_num("writes")?,
            deletes: or_num("deletes")?,
            threads: values.number("threads", 1)?.min(4096) as u32,
            duration_ns: values.number("duration", 0)?.saturating_mul(1_000_000_000),
            key_size: values.number("key_size", 1)?.min(1 << 16) as usize,
            value_size: values.number("value_size", 0)?.min(1 << 30) as usize,
            compression_ratio: values.ratio("compression_ratio")?,
            seed: values.number("seed", 0)?,
            batch_size: values.number("batch_size", 1)?,
            durability,
            read_percent: values.number("readwritepercent", 0)?.min(100),
            seek_nexts: values.number("seek_nexts", 0)?,
            write_limit: values.number("benchmark_write_rate_limit", 0)?,
            distribution: values.distribution()?,
            rate: values.number("rate", 0)?,
            interval_ns: values.time("interval")?,
        })
    }

    /// The text of a flag, its default where it was not given.
    pub fn text(&self, name: &str) -> &str {
        Values(&self.values).text(name)
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        Values(&self.values).switch(name).unwrap_or(false)
    }

    /// Whether a flag was given.
    pub fn has(&self, name: &str) -> bool {
        self.given.contains(&name)
    }
}

fn benchmarks(names: &str) -> Result<Vec<&'static Benchmark>, FlagError> {
    let named = |name: &str| {
        let found = BENCHMARKS.iter().find(|benchmark| benchmark.name == name);
        found.ok_or_else(|| {
            let near = closest(name, BENCHMARKS.iter().map(|known| known.name));
            let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            FlagError(format!("unknown benchmark `{name}`{hint}"))
        })
    };
    let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
    let chosen: Vec<_> = names.map(named).collect::<Result<_, _>>()?;
    if chosen.is_empty() { Err(FlagError("--benchmarks is empty".to_owned())) } else { Ok(chosen) }
}

/// Flags by name.
struct Values<'a>(&'a [(&'static str, String)]);

impl<'a> Values<'a> {
    fn text(&self, name: &str) -> &'a str {
        self.0.iter().find(|(own, _)| *own == name).map_or("", |(_, value)| value.as_str())
    }

    fn number(&self, name: &str, least: u64) -> Result<u64, FlagError> {
        let text = self.text(name);
        let number = text.parse::<u64>().ok().filter(|number| *number >= least);
        number.ok_or_else(|| FlagError(format!("--{name}={text}: expected a whole number of at least {least}")))
    }

    fn switch(&self, name: &str) -> Result<bool, FlagError> {
        match self.text(name) {
            "1" | "true" | "t" | "yes" | "y" => Ok(true),
            "0" | "false" | "f" | "no" | "n" => Ok(false),
            other => Err(FlagError(format!("--{name}={other}: expected true or false"))),
        }
    }

    fn ratio(&self, name: &str) -> Result<f64, FlagError> {
        let text = self.text(name);
        let ratio = text.parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.ok_or_else(|| FlagError(format!("--{name}={text}: expected a number from 0 to 1")))
    }

    fn time(&self, name: &str) -> Result<u64, FlagError> {
        let text = self.text(name);
        let ns = iolab_units::parse_ns(text, 1_000_000_000)
            .map_err(|error| FlagError(format!("--{name}={text}: {error}")))?;
        if ns < 1_000_000 {
            Err(FlagError(format!("--{name}={text}: expected at least one millisecond")))
        } else {
            Ok(ns)
        }
    }

    fn distribution(&self) -> Result<Distribution, FlagError> {
        let text = self.text("key_distribution");
        let theta = text.strip_prefix("zipf:").and_then(|theta| theta.parse::<f64>().ok());
        match (text, theta) {
            ("uniform", _) => Ok(Distribution::Uniform),
            (_, Some(theta)) if theta > 0.0 && theta < 1.0 => Ok(Distribution::Zipf(theta)),
            _ => {
                Err(FlagError(format!("--key_distribution={text}: expected uniform, or zipf:THETA with 0 < THETA < 1")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Settings, FlagError> {
        Settings::read(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn defaults_are_db_benchs_and_numbers_follow_num() {
        let settings = read("--num=500 --reads=20 --sync").unwrap();
        assert_eq!((settings.num, settings.reads, settings.writes), (500, 20, 500));
        assert_eq!((settings.key_size, settings.value_size, settings.threads), (16, 100, 1));
        assert_eq!(settings.durability, Durability::Synced);
        assert_eq!(settings.benchmarks.iter().map(|one| one.name).collect::<Vec<_>>(), ["fillseq", "readseq"]);
        assert!(settings.has("num") && !settings.has("seed") && settings.is_on("sync"));
    }

    #[test]
    fn what_cannot_be_is_said() {
        for (text, word) in [
            ("--benchmarks=fillsequ", "did you mean fillseq?"),
            ("--benchmarks=,", "is empty"),
            ("--num=0", "at least 1"),
            ("--sync --disable_wal", "cannot be combined"),
            ("--key_distribution=zipf:2", "THETA"),
            ("--compression_ratio=3", "0 to 1"),
            ("--sync=perhaps", "true or false"),
            ("--interval=1us", "millisecond"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.0.contains(word), "{text}: {error}");
        }
    }
}
