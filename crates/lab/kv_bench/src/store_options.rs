//! The flags as options of each store, in its own language.

use std::path::PathBuf;

use iolab_kv::{ErrorKind, StoreError};

use crate::flags::FLAGS;
use crate::settings::Settings;

/// The options of this kind of store. `value_size` is that of the benchmark.
pub(crate) fn of(kind: &str, settings: &Settings, value_size: usize) -> Result<String, StoreError> {
    let mut options = match kind {
        "rocksdb" => rocksdb(settings)?,
        "fjall" => fjall(settings)?,
        "redb" => cache_only(settings),
        _ => format!("keys={};value_size={value_size}", settings.num),
    };
    let more = settings.text("store_options");
    if !more.is_empty() {
        options.push(';');
        options.push_str(more);
    }
    Ok(options)
}

/// The image that options put a store's files into (`filesystem=logfs:IMAGE?…`), if they do.
pub(crate) fn image_of(options: &str) -> Option<PathBuf> {
    let uri = options.split(';').filter_map(|option| option.trim().strip_prefix("filesystem=")).next_back()?;
    let place = uri.split_once(':').map_or(uri, |(_, place)| place);
    let place = place.strip_prefix("//").unwrap_or(place);
    Some(PathBuf::from(place.split_once('?').map_or(place, |(path, _)| path)))
}

fn rocksdb(settings: &Settings) -> Result<String, StoreError> {
    let mut options = match settings.text("options_file") {
        "" => rocksdb_flags(settings),
        path => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| StoreError::new(ErrorKind::Option, format!("--options_file={path}: {error}")))?;
            from_options_file(&text)
        }
    };
    if settings.is_on("statistics") {
        options.push_str(";statistics=1");
    }
    if settings.text("perf_level") != "1" {
        options.push_str(&format!(";perf_level={}", settings.text("perf_level")));
    }
    Ok(options)
}

/// What `db_bench` sets, by its defaults and its flags.
fn rocksdb_flags(settings: &Settings) -> String {
    let flag = |name: &str| settings.text(name).to_owned();
    let on = |name: &str| settings.is_on(name);
    let mut table = format!(
        "block_size={};pin_top_level_index_and_filter=false;index_shortening=kShortenSeparatorsAndSuccessor",
        flag("block_size")
    );
    table.push_str(&match cache_size(settings) {
        "0" => ";no_block_cache=true".to_owned(),
        bytes => format!(";block_cache={{capacity={bytes};num_shard_bits=-1;high_pri_pool_ratio=0}}"),
    });
    if !settings.text("bloom_bits").starts_with('-') {
        table.push_str(&format!(";filter_policy=bloomfilter:{}:false", flag("bloom_bits")));
    }
    let mut options = vec![
        "create_missing_column_families=true".to_owned(),
        "dump_malloc_stats=true".to_owned(),
        format!("compression={}", compression(settings.text("compression_type"))),
        format!("use_direct_reads={}", on("use_direct_reads")),
        format!("use_direct_io_for_flush_and_compaction={}", on("use_direct_io_for_flush_and_compaction")),
        format!("block_based_table_factory={{{table}}}"),
    ];
    let same = FLAGS.iter().filter(|flag| flag.option_too && !settings.text(flag.name).is_empty());
    options.extend(same.map(|flag| match flag.switch {
        true => format!("{}={}", flag.name, on(flag.name)),
        false => format!("{}={}", flag.name, settings.text(flag.name)),
    }));
    if !settings.text("wal_dir").is_empty() {
        options.push(format!("wal_dir={}", flag("wal_dir")));
    }
    options.join(";")
}

/// Bytes of the cache, as `db_bench` of the version that is installed has them.
fn cache_size(settings: &Settings) -> &str {
    match settings.text("cache_size") {
        "" if major_version() >= 9 => "33554432",
        "" => "8388608",
        given => given,
    }
}

/// The first number of RocksDB's version; 0 where it cannot be loaded.
fn major_version() -> u32 {
    let version = iolab_kv_catalogue::kind("rocksdb").and_then(|kind| kind.version().ok());
    version.and_then(|version| version.split('.').next()?.parse().ok()).unwrap_or(0)
}

/// RocksDB's word for a compression.
fn compression(word: &str) -> String {
    let known = [
        ("none", "kNoCompression"),
        ("snappy", "kSnappyCompression"),
        ("zlib", "kZlibCompression"),
        ("bzip2", "kBZip2Compression"),
        ("lz4", "kLZ4Compression"),
        ("lz4hc", "kLZ4HCCompression"),
        ("xpress", "kXpressCompression"),
        ("zstd", "kZSTD"),
    ];
    known.iter().find(|(own, _)| *own == word).map_or(word, |(_, theirs)| *theirs).to_owned()
}

/// The sections of a file `OPTIONS-N` that describe a store with one column family, as one text.
/// Objects that only a program can give (listeners, factories by name) are left out.
fn from_options_file(text: &str) -> String {
    let (mut options, mut table) = (Vec::new(), Vec::new());
    let mut section = "";
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if let Some((name, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            let is_object = value.contains(':') && value.starts_with('{');
            let is_path = matches!(name, "listeners" | "table_factory" | "memtable_factory" | "comparator");
            match section {
                _ if is_object || is_path || value == "nullptr" => {}
                "[DBOptions]" | "[CFOptions \"default\"]" => options.push(format!("{name}={value}")),
                _ if section.starts_with("[TableOptions/BlockBasedTable \"default\"")
                    && name != "flush_block_policy_factory" =>
                {
                    table.push(format!("{name}={value}"));
                }
                _ => {}
            }
        }
    }
    if !table.is_empty() {
        options.push(format!("block_based_table_factory={{{}}}", table.join(";")));
    }
    options.join(";")
}

/// Of the flags that were given those that fjall knows.
fn fjall(settings: &Settings) -> Result<String, StoreError> {
    let mut options = Vec::new();
    for name in ["cache_size", "write_buffer_size", "block_size", "max_background_jobs"] {
        if settings.has(name) {
            options.push(format!("{name}={}", settings.text(name)));
        }
    }
    if settings.has("compression_type") {
        options.push(format!("compression={}", settings.text("compression_type")));
    }
    Ok(options.join(";"))
}

fn cache_only(settings: &Settings) -> String {
    if settings.has("cache_size") { format!("cache_size={}", settings.text("cache_size")) } else { String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        Settings::read(&text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn flags_become_the_options_of_each_store() {
        let flags = settings("--compression_type=none --bloom_bits=10 --cache_size=0 --store_options=a=b --statistics");
        let options = of("rocksdb", &flags, 100).unwrap();
        for part in [
            "compression=kNoCompression",
            "block_based_table_factory={block_size=4096;pin_top_level_index_and_filter=false;\
             index_shortening=kShortenSeparatorsAndSuccessor;no_block_cache=true;filter_policy=bloomfilter:10:false}",
            "level_compaction_dynamic_level_bytes=false",
            "table_cache_numshardbits=4",
            "write_buffer_size=67108864",
            ";statistics=1;a=b",
        ] {
            assert!(options.contains(part), "{part} is not in {options}");
        }
        assert_eq!(of("fjall", &flags, 100).unwrap(), "cache_size=0;compression=none;a=b");
        assert_eq!(of("fjall", &settings(""), 100).unwrap(), "");
        assert_eq!(of("null", &settings("--num=7"), 9).unwrap(), "keys=7;value_size=9");
    }

    #[test]
    fn the_image_of_a_store_is_known() {
        for (options, image) in [
            ("a=b;filesystem=logfs:image", Some("image")),
            ("filesystem=logfs:///x/image?commit=0;c=d", Some("/x/image")),
            ("a=b", None),
        ] {
            assert_eq!(image_of(options), image.map(PathBuf::from), "{options}");
        }
    }

    #[test]
    fn an_options_file_is_read_by_its_sections() {
        let text = "[Version]\n  rocksdb_version=7.8.3\n[DBOptions]\n  max_background_jobs=4\n  listeners={A:B}\n\
                    [CFOptions \"default\"]\n  compression=kNoCompression\n  merge_operator=nullptr\n\
                    [TableOptions/BlockBasedTable \"default\"]\n  block_size=8192\n";
        assert_eq!(
            from_options_file(text),
            "max_background_jobs=4;compression=kNoCompression;block_based_table_factory={block_size=8192}"
        );
    }
}
