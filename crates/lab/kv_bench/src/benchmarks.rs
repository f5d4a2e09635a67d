//! The benchmarks, as one table.

/// What each thread of a benchmark does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Puts, in this order of keys.
    Fill(Order),
    /// Steps through all keys; backwards if true.
    Scan(bool),
    /// Gets of random keys; of missing keys if true.
    Get(bool),
    /// Gets and puts of random keys, with the share of `--readwritepercent`.
    Mixed,
    /// A get, then a put, of each random key.
    Update,
    /// Seeks to random keys, with steps after them.
    Seek,
    /// Deletions, in this order of keys.
    Delete(Order),
    /// One of the mixes of YCSB.
    Ycsb(Ycsb),
    /// No load: a single action or output.
    Once(Once),
}

/// An order of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// 0, 1, 2 …
    Sequential,
    /// Each one chosen among all.
    Random,
    /// All of them once, in random order.
    Shuffled,
}

/// The share of each operation, percent; the rest are reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ycsb {
    /// Puts of existing keys.
    pub updates: u64,
    /// Puts of new keys.
    pub inserts: u64,
    /// Scans.
    pub scans: u64,
    /// A get, then a put.
    pub read_modify_writes: u64,
    /// Whether reads are of the latest keys.
    pub latest: bool,
}

/// A single action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Once {
    /// Everything is compacted.
    Compact,
    /// Everything in memory is written out.
    Flush,
    /// Waits for background work.
    Settle,
    /// A property is printed.
    Show(&'static str),
}

/// One benchmark.
#[derive(Debug)]
pub struct Benchmark {
    /// Its name.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// What its threads do.
    pub load: Load,
    /// Whether it begins with a new store.
    pub fresh: bool,
    /// Whether every write is synced, whatever the flags say.
    pub synced: bool,
    /// What `--num` is divided by.
    pub divisor: u64,
    /// Length of its values, if it is not that of the flags.
    pub value_size: Option<usize>,
    /// Whether one more thread writes meanwhile.
    pub writer: bool,
    /// Whether it has one thread, whatever the flags say.
    pub alone: bool,
}

const fn plain(name: &'static str, summary: &'static str, load: Load) -> Benchmark {
    let (fresh, synced, divisor, value_size, writer, alone) = (false, false, 1, None, false, false);
    Benchmark { name, summary, load, fresh, synced, divisor, value_size, writer, alone }
}

const fn fresh(name: &'static str, summary: &'static str, order: Order) -> Benchmark {
    Benchmark { fresh: true, ..plain(name, summary, Load::Fill(order)) }
}

const fn once(name: &'static str, summary: &'static str, what: Once) -> Benchmark {
    Benchmark { alone: true, ..plain(name, summary, Load::Once(what)) }
}

const fn ycsb(name: &'static str, summary: &'static str, mix: Ycsb) -> Benchmark {
    plain(name, summary, Load::Ycsb(mix))
}

const READS: Ycsb = Ycsb { updates: 0, inserts: 0, scans: 0, read_modify_writes: 0, latest: false };

/// All benchmarks.
pub const BENCHMARKS: &[Benchmark] = &[
    fresh("fillseq", "Write keys in order into a new store", Order::Sequential),
    fresh("fillrandom", "Write random keys into a new store", Order::Random),
    Benchmark {
        alone: true,
        ..fresh("filluniquerandom", "Write every key once in random order into a new store", Order::Shuffled)
    },
    Benchmark {
        synced: true,
        divisor: 1000,
        ..fresh("fillsync", "Write --num/1000 random keys, each synced, into a new store", Order::Random)
    },
    Benchmark {
        divisor: 1000,
        value_size: Some(100_000),
        ..fresh("fill100K", "Write --num/1000 random keys with values of 100,000 bytes into a new store", Order::Random)
    },
    plain("overwrite", "Write random keys into the existing store", Load::Fill(Order::Random)),
    plain("readseq", "Read all keys in order", Load::Scan(false)),
    plain("readreverse", "Read all keys in order, from the last to the first", Load::Scan(true)),
    plain("readrandom", "Read random keys", Load::Get(false)),
    plain("readmissing", "Read keys that do not exist", Load::Get(true)),
    Benchmark {
        writer: true,
        ..plain("readwhilewriting", "readrandom while one more thread writes", Load::Get(false))
    },
    plain("readrandomwriterandom", "Read and write random keys", Load::Mixed),
    plain("updaterandom", "Read a random key, then write it", Load::Update),
    plain("seekrandom", "Seek to random keys", Load::Seek),
    Benchmark {
        writer: true,
        ..plain("seekrandomwhilewriting", "seekrandom while one more thread writes", Load::Seek)
    },
    plain("deleteseq", "Delete keys in order", Load::Delete(Order::Sequential)),
    plain("deleterandom", "Delete random keys", Load::Delete(Order::Random)),
    ycsb("ycsba", "YCSB A: half reads, half updates", Ycsb { updates: 50, ..READS }),
    ycsb("ycsbb", "YCSB B: 95 % reads, 5 % updates", Ycsb { updates: 5, ..READS }),
    ycsb("ycsbc", "YCSB C: reads only", READS),
    ycsb("ycsbd", "YCSB D: 95 % reads of the latest keys, 5 % inserts", Ycsb { inserts: 5, latest: true, ..READS }),
    ycsb("ycsbe", "YCSB E: 95 % scans, 5 % inserts", Ycsb { inserts: 5, scans: 95, ..READS }),
    ycsb("ycsbf", "YCSB F: half reads, half read-modify-writes", Ycsb { read_modify_writes: 50, ..READS }),
    once("compact", "Compact everything", Once::Compact),
    once("flush", "Flush memory to storage", Once::Flush),
    once("waitforcompaction", "Wait for flushes and compactions", Once::Settle),
    once("stats", "Print the store's statistics", Once::Show("stats")),
    once("levelstats", "Print the size of each level", Once::Show("levelstats")),
];

impl Benchmark {
    /// Whether its operations are counted and timed.
    pub fn is_measured(&self) -> bool {
        !matches!(self.load, Load::Once(Once::Show(_)))
    }
}
