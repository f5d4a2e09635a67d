//! What the library counts: exact tickers when statistics are on, rounded sums of its `stats` when
//! not.

use iolab_kv::StoreFigures;

/// The figures that tickers tell exactly (`NAME COUNT : NUMBER` in each line of the statistics).
pub(crate) fn from_tickers(text: &str) -> StoreFigures {
    let count = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" COUNT : "));
        line.and_then(|number| number.trim().parse::<u64>().ok())
    };
    StoreFigures {
        user_bytes: count("rocksdb.bytes.written"),
        log_bytes: count("rocksdb.wal.bytes"),
        flush_bytes: count("rocksdb.flush.write.bytes"),
        compaction_read_bytes: count("rocksdb.compact.read.bytes"),
        compaction_write_bytes: count("rocksdb.compact.write.bytes"),
        stall_ns: count("rocksdb.stall.micros").map(|micros| micros * 1000),
        cache_hits: count("rocksdb.block.cache.hit"),
        cache_misses: count("rocksdb.block.cache.miss"),
        ..StoreFigures::default()
    }
}

/// The figures that `rocksdb.stats` tells, to about 10 MB: it prints GB with two or three decimals.
pub(crate) fn from_stats(text: &str) -> StoreFigures {
    let writes = text.lines().find(|line| line.starts_with("Cumulative writes:"));
    let log = text.lines().find(|line| line.starts_with("Cumulative WAL:"));
    let flush = text.lines().find(|line| line.starts_with("Flush(GB):"));
    let compaction = text.lines().find(|line| line.starts_with("Cumulative compaction:"));
    let flush_bytes = flush.and_then(|line| gigabytes(word_after(line, "cumulative")?));
    let all_writes = compaction.and_then(|line| gigabytes(word_before(line, "GB write")?));
    StoreFigures {
        user_bytes: writes.and_then(ingested),
        log_bytes: log.and_then(|line| gigabytes(word_after(line, "written:")?)),
        flush_bytes,
        // What it calls compaction includes the flushes.
        compaction_write_bytes: all_writes.map(|bytes| bytes.saturating_sub(flush_bytes.unwrap_or(0))),
        compaction_read_bytes: compaction.and_then(|line| gigabytes(word_before(line, "GB read")?)),
        ..StoreFigures::default()
    }
}

/// `ingest: 0.02 GB`, or `ingest: 23.45 MB`.
fn ingested(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once("ingest: ")?;
    let mut words = rest.split([' ', ',']);
    let number: f64 = words.next()?.parse().ok()?;
    let unit = if words.next()? == "MB" { 1 << 20 } else { 1 << 30 };
    Some((number * f64::from(unit)) as u64)
}

fn gigabytes(word: &str) -> Option<u64> {
    word.trim_end_matches(',').parse::<f64>().ok().map(|number| (number * f64::from(1_u32 << 30)) as u64)
}

fn word_after<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    line.split_once(mark)?.1.split_whitespace().next()
}

fn word_before<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    line.split_once(mark)?.0.split_whitespace().next_back()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickers_are_exact() {
        let text = "rocksdb.block.cache.miss COUNT : 7\nrocksdb.block.cache.hit COUNT : 3\n\
                    rocksdb.bytes.written COUNT : 1000\nrocksdb.wal.bytes COUNT : 1100\n\
                    rocksdb.flush.write.bytes COUNT : 500\nrocksdb.compact.write.bytes COUNT : 400\n";
        let figures = from_tickers(text);
        assert_eq!((figures.cache_hits, figures.cache_misses), (Some(3), Some(7)));
        assert_eq!(figures.write_amplification(), Some(2.0));
        assert_eq!(figures.compaction_read_bytes, None);
    }

    #[test]
    fn stats_are_read_by_their_words() {
        let text = "Cumulative writes: 1000K writes, 1000K keys, 999K commit groups, 1.0 writes per commit group, \
                    ingest: 0.12 GB, 34.45 MB/s\n\
                    Cumulative WAL: 1000K writes, 0 syncs, 1000000.00 writes per sync, written: 0.13 GB, 34.45 MB/s\n\
                    Flush(GB): cumulative 0.050, interval 0.050\n\
                    Cumulative compaction: 0.25 GB write, 14.10 MB/s write, 0.20 GB read, 0.00 MB/s read, 0.5 seconds\n";
        let figures = from_stats(text);
        let giga = |number: f64| Some((number * f64::from(1_u32 << 30)) as u64);
        assert_eq!((figures.user_bytes, figures.log_bytes, figures.flush_bytes), (giga(0.12), giga(0.13), giga(0.05)));
        assert_eq!(figures.compaction_read_bytes, giga(0.2));
        assert_eq!(figures.compaction_write_bytes.map(|bytes| bytes >> 20), Some(204));
        assert_eq!(from_stats("").user_bytes, None);
    }
}
