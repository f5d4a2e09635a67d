//! What a store reports about itself: constant facts once it is open, and figures at any time.

/// Facts that do not change while a store is open.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreFacts {
    /// Version of the store's library, e.g. `7.8.3`.
    pub version: String,
    /// The options in effect, in the store's own language; empty if it does not report them.
    pub options: String,
    /// How values are compressed, in the store's own word; `none` when they are not.
    pub compression: Option<String>,
    /// Whether reads bypass the page cache.
    pub direct_reads: Option<bool>,
    /// Bytes of cache for blocks of the store's own; 0 for none.
    pub cache_bytes: Option<u64>,
    /// Whether the library was built with assertions, if that is known.
    pub assertions: Option<bool>,
    /// Further notes for a reader of the figures: whole sentences.
    pub notes: Vec<String>,
}

/// What a store has counted since it was opened, and its pending work. `None`: it does not count
/// this.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreFigures {
    /// Bytes of keys and values that users wrote.
    pub user_bytes: Option<u64>,
    /// Bytes written to logs of changes.
    pub log_bytes: Option<u64>,
    /// Bytes that emptying memory tables wrote.
    pub flush_bytes: Option<u64>,
    /// Bytes that compactions read.
    pub compaction_read_bytes: Option<u64>,
    /// Bytes that compactions wrote.
    pub compaction_write_bytes: Option<u64>,
    /// Bytes that compactions have yet to rewrite, by the store's own estimate.
    pub pending_compaction_bytes: Option<u64>,
    /// Flushes and compactions that run or wait now.
    pub background_work: Option<u64>,
    /// Time that writers were held back, ns.
    pub stall_ns: Option<u64>,
    /// Lookups that the store's own cache answered.
    pub cache_hits: Option<u64>,
    /// Lookups that it did not.
    pub cache_misses: Option<u64>,
    /// Bytes of live data, by the store's own estimate.
    pub live_bytes: Option<u64>,
    /// Keys, by the store's own estimate.
    pub keys: Option<u64>,
}

impl StoreFigures {
    /// The change since `before`: counters are subtracted; pending work and live data are the
    /// current ones.
    pub fn since(&self, before: &StoreFigures) -> StoreFigures {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then.unwrap_or(0)));
        StoreFigures {
            user_bytes: less(self.user_bytes, before.user_bytes),
            log_bytes: less(self.log_bytes, before.log_bytes),
            flush_bytes: less(self.flush_bytes, before.flush_bytes),
            compaction_read_bytes: less(self.compaction_read_bytes, before.compaction_read_bytes),
            compaction_write_bytes: less(self.compaction_write_bytes, before.compaction_write_bytes),
            stall_ns: less(self.stall_ns, before.stall_ns),
            cache_hits: less(self.cache_hits, before.cache_hits),
            cache_misses: less(self.cache_misses, before.cache_misses),
            ..*self
        }
    }

    /// All that the store wrote for each byte its users wrote, by its own account: log, flushes and
    /// compactions.
    pub fn write_amplification(&self) -> Option<f64> {
        let written = self.log_bytes? + self.flush_bytes? + self.compaction_write_bytes?;
        let user = self.user_bytes.filter(|bytes| *bytes > 0)?;
        Some(written as f64 / user as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_subtracted_and_debts_are_not() {
        let before = StoreFigures { user_bytes: Some(10), log_bytes: Some(12), ..StoreFigures::default() };
        let now = StoreFigures {
            user_bytes: Some(110),
            log_bytes: Some(122),
            flush_bytes: Some(90),
            compaction_write_bytes: Some(100),
            pending_compaction_bytes: Some(7),
            ..StoreFigures::default()
        };
        let since = now.since(&before);
        assert_eq!((since.user_bytes, since.pending_compaction_bytes), (Some(100), Some(7)));
        assert_eq!(since.write_amplification(), Some(3.0));
        assert_eq!(before.write_amplification(), None);
    }
}
