//! The flags, as one table: reading, help and the reference page come from it.
//!
//! Those of `db_bench` have its names, meanings and defaults; a flag is written `--name=value`,
//! `-name=value`, `--name value` or, for switches, `--name`.

use std::fmt;

/// One flag.
#[derive(Debug)]
pub struct Flag {
    /// Its name.
    pub name: &'static str,
    /// What it is when it is not given; empty for nothing.
    pub default: &'static str,
    /// Whether it is a switch: `--name` alone means true.
    pub switch: bool,
    /// Whether `db_bench` has it.
    pub theirs: bool,
    /// What it does.
    pub help: &'static str,
}

const fn theirs(name: &'static str, default: &'static str, help: &'static str) -> Flag {
    Flag { name, default, switch: false, theirs: true, help }
}

const fn their_switch(name: &'static str, help: &'static str) -> Flag {
    Flag { name, default: "false", switch: true, theirs: true, help }
}

const fn own(name: &'static str, default: &'static str, help: &'static str) -> Flag {
    Flag { name, default, switch: false, theirs: false, help }
}

const fn own_switch(name: &'static str, help: &'static str) -> Flag {
    Flag { name, default: "false", switch: true, theirs: false, help }
}

/// All flags.
pub const FLAGS: &[Flag] = &[
    theirs("benchmarks", "fillseq,readseq", "Benchmarks, one after the other"),
    own("store", "", "rocksdb, fjall, redb or null; RocksDB where it is installed, else fjall"),
    theirs("db", "", "Folder of the store; a temporary one, which goes afterwards, unless told"),
    their_switch(
        "use_existing_db",
        "Use the store that is there; benchmarks that would begin with a new one are skipped",
    ),
    own_switch(
        "destroy_db",
        "Destroy the store in --db first, whoever made it; a folder that holds anything else is refused",
    ),
    theirs("num", "1000000", "Keys: numbers below this one are made keys of"),
    theirs("reads", "-1", "Reads of each thread; --num of them for -1"),
    theirs("writes", "-1", "Writes of each thread; --num of them for -1"),
    theirs("deletes", "-1", "Deletions of each thread; --num of them for -1"),
    theirs("threads", "1", "Threads that share the store"),
    theirs("duration", "0", "End a benchmark after so many seconds; 0 for by number"),
    theirs("key_size", "16", "Bytes of a key"),
    theirs("value_size", "100", "Bytes of a value"),
    theirs("compression_ratio", "0.5", "What values shrink to when they are compressed"),
    theirs("seed", "0", "Seed of random keys; one taken from the clock for 0"),
    theirs("batch_size", "1", "Puts that are written as one batch"),
    their_switch("sync", "Sync the log with every write"),
    their_switch("disable_wal", "Write no log"),
    theirs("readwritepercent", "90", "Share of reads in readrandomwriterandom, per cent"),
    theirs("seek_nexts", "0", "Steps after each seek"),
    their_switch("reverse_iterator", "Steps after a seek go back"),
    theirs("benchmark_write_rate_limit", "0", "Bytes a second that the writer of *whilewriting writes; 0 for no limit"),
    their_switch("histogram", "Percentiles after each result"),
    their_switch("statistics", "Let the store count everything exactly, and print it"),
    theirs("perf_level", "1", "2 to 5: print what RocksDB's operations spent their time on"),
    theirs(
        "compression_type",
        "snappy",
        "How the store compresses: none, snappy, lz4, zstd, zlib …; fjall has lz4 and none",
    ),
    theirs("cache_size", "8388608", "Bytes of the store's own cache; 0 for none"),
    theirs("bloom_bits", "-1", "Bits of the Bloom filter for each key; -1 for none"),
    theirs("block_size", "4096", "Bytes of a block"),
    theirs("write_buffer_size", "67108864", "Bytes of a table in memory"),
    theirs("max_write_buffer_number", "2", "Tables in memory"),
    theirs("target_file_size_base", "67108864", "Bytes of a file of level 1"),
    theirs("max_bytes_for_level_base", "268435456", "Bytes of level 1"),
    theirs("max_background_jobs", "2", "Threads for flushes and compactions"),
    their_switch("use_direct_reads", "Reads bypass the page cache"),
    their_switch("use_direct_io_for_flush_and_compaction", "Flushes and compactions bypass it"),
    theirs("wal_dir", "", "Folder of the log"),
    theirs("options_file", "", "A file OPTIONS-N of RocksDB: its options instead of those that flags make"),
    own("store_options", "", "More options in the store's own language, e.g. level0_stop_writes_trigger=20;…"),
    own("key_distribution", "uniform", "uniform (as db_bench), or zipf:THETA for hot keys, 0 < THETA < 1"),
    own(
        "rate",
        "0",
        "Operations a second of all threads together, sent on schedule whatever the store does; 0 for no schedule",
    ),
    own("device", "", "Block device whose traffic is counted, where it is not found under --db (a mount through FUSE)"),
    own("interval", "1s", "Length of the intervals of the recording"),
    own("via", "", "db_bench: run the installed program itself with these flags, and read what it prints"),
    own_switch("json", "JSON instead of lines"),
    own("record", "", "File for the recording"),
    own("page", "", "File for a report page (HTML)"),
    own_switch("force", "Let --record and --page replace files that iolab did not write"),
];

/// What is wrong with the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagError(pub String);

impl fmt::Display for FlagError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// The words as names and values; a flag given twice has its last value.
pub(crate) fn read(words: &[String]) -> Result<Vec<(&'static Flag, String)>, FlagError> {
    let mut given = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        let bare = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        let Some(bare) = bare else {
            return Err(FlagError(format!("`{word}` is no flag; flags look like --num=1000000")));
        };
        let (name, value) = bare.split_once('=').map_or((bare, None), |(name, value)| (name, Some(value.to_owned())));
        let flag = FLAGS.iter().find(|flag| flag.name == name).ok_or_else(|| unknown(name))?;
        let value = match value {
            Some(value) => value,
            None if flag.switch => "true".to_owned(),
            None => rest.next().cloned().ok_or_else(|| FlagError(format!("--{name} needs a value")))?,
        };
        given.push((flag, value));
    }
    Ok(given)
}

fn unknown(name: &str) -> FlagError {
    let near = FLAGS.iter().map(|flag| (strsim::damerau_levenshtein(flag.name, name), flag.name)).min();
    let hint = near.filter(|(distance, _)| *distance <= 3).map(|(_, near)| format!("; did you mean --{near}?"));
    let hint = hint.unwrap_or_else(|| "; `iolab kv bench --help` lists those that there are".to_owned());
    FlagError(format!("there is no flag --{name}{hint}"))
}

/// The text of `--help`.
pub fn help() -> String {
    let mut text = String::from(
        "Load a key-value store as RocksDB's db_bench does\n\nUsage: iolab kv bench [--FLAG=VALUE …]\n\n\
         Flags, those of db_bench first:\n",
    );
    for theirs in [true, false] {
        for flag in FLAGS.iter().filter(|flag| flag.theirs == theirs) {
            let default = if flag.default.is_empty() { String::new() } else { format!(" [{}]", flag.default) };
            text.push_str(&format!("  --{:<40} {}{default}\n", flag.name, flag.help));
        }
        text.push('\n');
    }
    text.push_str("Benchmarks:\n");
    for benchmark in crate::BENCHMARKS {
        text.push_str(&format!("  {:<24} {}\n", benchmark.name, benchmark.summary));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn every_way_of_writing_a_flag_is_read() {
        let given = read(&words("--num=5 -reads=6 --writes 7 --sync --histogram=0")).unwrap();
        let given: Vec<_> = given.iter().map(|(flag, value)| (flag.name, value.as_str())).collect();
        assert_eq!(given, [("num", "5"), ("reads", "6"), ("writes", "7"), ("sync", "true"), ("histogram", "0")]);
    }

    #[test]
    fn what_is_no_flag_is_said_with_the_nearest_one() {
        assert!(read(&words("--nums=5")).unwrap_err().0.contains("did you mean --num?"));
        assert!(read(&words("fillseq")).unwrap_err().0.contains("is no flag"));
        assert!(read(&words("--num")).unwrap_err().0.contains("needs a value"));
        assert!(read(&words("--quite_another_thing=1")).unwrap_err().0.contains("--help"));
    }

    #[test]
    fn every_flag_and_benchmark_is_in_the_help_once() {
        let help = help();
        for flag in FLAGS {
            assert_eq!(help.matches(&format!("  --{} ", flag.name)).count(), 1, "{}", flag.name);
        }
    }
}
