//! The flags, as one table: reading, help and the reference page come from it.
//!
//! Those of `db_bench` have its names, meanings and defaults; a flag is written `--name=value`,
//! `-name=value`, `--name value` or, for switches, `--name`.

use std::fmt;

use iolab_text::closest;

/// One flag.
#[derive(Debug)]
pub struct Flag {
    /// Its name.
    pub name: &'static str,
    /// Its default; empty if it has none.
    pub default: &'static str,
    /// Whether it is a switch: `--name` alone means true.
    pub switch: bool,
    /// Whether `db_bench` has it.
    pub theirs: bool,
    /// Whether it is an option of RocksDB by the same name, given on as it is.
    pub option_too: bool,
    /// What it does.
    pub help: &'static str,
}

const fn theirs(name: &'static str, default: &'static str, help: &'static str) -> Flag {
    Flag { name, default, switch: false, theirs: true, option_too: false, help }
}

const fn their_switch(name: &'static str, help: &'static str) -> Flag {
    Flag { name, default: "false", switch: true, theirs: true, option_too: false, help }
}

/// The default is `db_bench`'s, which is not always the library's.
const fn option(name: &'static str, default: &'static str, help: &'static str) -> Flag {
    Flag { option_too: true, ..theirs(name, default, help) }
}

const fn option_switch(name: &'static str, default: &'static str, help: &'static str) -> Flag {
    Flag { switch: true, ..option(name, default, help) }
}

const fn own(name: &'static str, default: &'static str, help: &'static str) -> Flag {
    Flag { theirs: false, ..theirs(name, default, help) }
}

const fn own_switch(name: &'static str, help: &'static str) -> Flag {
    Flag { theirs: false, ..their_switch(name, help) }
}

/// All flags.
pub const FLAGS: &[Flag] = &[
    theirs("benchmarks", "fillseq,readseq", "Benchmarks to run, one after another"),
    own("store", "", "rocksdb, fjall, redb or null; RocksDB where it is installed, else fjall"),
    theirs("db", "", "Folder of the store; by default a temporary folder, removed afterwards"),
    their_switch("use_existing_db", "Use the existing store; skip benchmarks that need a new one"),
    own_switch(
        "destroy_db",
        "First destroy the store in --db, whoever created it; a folder that holds anything else is refused",
    ),
    theirs("num", "1000000", "Number of keys"),
    theirs("reads", "-1", "Reads per thread; -1 for --num"),
    theirs("writes", "-1", "Writes per thread; -1 for --num"),
    theirs("deletes", "-1", "Deletes per thread; -1 for --num"),
    theirs("threads", "1", "Threads that share the store"),
    theirs("duration", "0", "End each benchmark after this many seconds; 0 to end by operation count"),
    theirs("key_size", "16", "Key length in bytes"),
    theirs("value_size", "100", "Value length in bytes"),
    theirs("compression_ratio", "0.5", "Compressed size of values as a fraction"),
    theirs("seed", "0", "Seed of random keys; 0 takes one from the clock"),
    theirs("batch_size", "1", "Puts per write batch"),
    their_switch("sync", "Sync the log with every write"),
    their_switch("disable_wal", "Write no log"),
    theirs("readwritepercent", "90", "Share of reads in readrandomwriterandom, percent"),
    theirs("seek_nexts", "0", "Cursor steps after each seek"),
    their_switch("reverse_iterator", "Step backwards after a seek"),
    theirs(
        "benchmark_write_rate_limit",
        "0",
        "Write rate limit of the writer in *whilewriting, bytes per second; 0 \
        for none",
    ),
    their_switch("histogram", "Print percentiles after each result"),
    their_switch("statistics", "Let the store count everything exactly, and print it"),
    theirs("perf_level", "1", "2 to 5, with RocksDB 9 to 6: print where RocksDB's operations spent their time"),
    theirs("compression_type", "snappy", "Compression: none, snappy, lz4, zstd, zlib …; fjall supports lz4 and none"),
    theirs(
        "cache_size",
        "",
        "Size of the store's own cache in bytes; 0 for none. By default db_bench's: 8 MiB, from RocksDB 9 on 32 MiB",
    ),
    theirs("bloom_bits", "-1", "Bloom filter bits per key; -1 for none"),
    theirs("block_size", "4096", "Block size in bytes"),
    option("write_buffer_size", "67108864", "Memtable size in bytes"),
    option("max_write_buffer_number", "2", "Maximum number of memtables"),
    option("min_write_buffer_number_to_merge", "1", "Memtables that are flushed together"),
    option("target_file_size_base", "67108864", "File size at level 1, bytes"),
    option("target_file_size_multiplier", "1", "How much larger the files of the next level are"),
    option("max_bytes_for_level_base", "268435456", "Total size of level 1, bytes"),
    option("max_bytes_for_level_multiplier", "10", "How much larger the next level is"),
    option_switch("level_compaction_dynamic_level_bytes", "false", "Size the levels from the last one back"),
    option("num_levels", "7", "Number of levels"),
    option("level0_file_num_compaction_trigger", "4", "Files of level 0 that start a compaction"),
    option("level0_slowdown_writes_trigger", "20", "Files of level 0 that slow writers down"),
    option("level0_stop_writes_trigger", "36", "Files of level 0 that stop writers"),
    option("soft_pending_compaction_bytes_limit", "68719476736", "Bytes waiting for compaction that slow writers down"),
    option("hard_pending_compaction_bytes_limit", "137438953472", "Bytes waiting for compaction that stop writers"),
    option("delayed_write_rate", "8388608", "Bytes per second of writers that are slowed down"),
    option("max_background_jobs", "2", "Threads for flushes and compactions"),
    option("table_cache_numshardbits", "4", "Shards of the cache of open tables, as a power of 2"),
    option("bytes_per_sync", "0", "Bytes of a table after which the kernel is told to write; 0 for never"),
    option("wal_bytes_per_sync", "0", "The same for the log"),
    option("compaction_readahead_size", "", "Bytes that compactions read ahead; by default the library's own"),
    option_switch("enable_pipelined_write", "true", "Pipeline writes to the log and to the memtable"),
    option_switch("allow_concurrent_memtable_write", "true", "Several threads write to one memtable at once"),
    their_switch("use_direct_reads", "Reads bypass the page cache"),
    their_switch("use_direct_io_for_flush_and_compaction", "Flushes and compactions bypass the page cache"),
    theirs("wal_dir", "", "Folder of the log"),
    theirs("options_file", "", "Take the options from this RocksDB OPTIONS file instead of from flags"),
    own("store_options", "", "More options in the store's own syntax, e.g. level0_stop_writes_trigger=20;…"),
    own("key_distribution", "uniform", "uniform (as in db_bench), or zipf:THETA for hot keys, 0 < THETA < 1"),
    own("rate", "0", "Total operations per second, sent on a fixed schedule; 0 for no schedule"),
    own("device", "", "Block device whose traffic to count, if it cannot be found from --db (as with FUSE mounts)"),
    own("interval", "1s", "Interval of the recording"),
    own("via", "", "db_bench: run the installed db_bench with these flags and parse its output"),
    own_switch("json", "Print JSON instead of lines"),
    own("record", "", "Write the recording to this file"),
    own("page", "", "Write a report page (HTML) to this file"),
    own_switch("force", "Allow --record and --page to replace files that iolab did not write"),
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
            return Err(FlagError(format!("`{word}` is not a flag; flags look like --num=1000000")));
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
    let hint = match closest(name, FLAGS.iter().map(|flag| flag.name)) {
        Some(near) => format!("; did you mean --{near}?"),
        None => "; `iolab kv bench --help` lists all flags".to_owned(),
    };
    FlagError(format!("unknown flag --{name}{hint}"))
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
        assert!(read(&words("fillseq")).unwrap_err().0.contains("is not a flag"));
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
