//! Shared by the tests of logfs: a bench to run a file system on, a reference model, random loads
//! of the two, and printed seeds.

pub(crate) mod crash;
pub(crate) mod domains;
pub(crate) mod load;
pub(crate) mod model;

use std::future::Future;

use iolab_clock::Clock;
use iolab_disk::{BlockDevice, RamDisk};
use iolab_executor::{Executor, ReadyOrder};
use iolab_logfs::{
    CoreSetup, Disk, Error, FsckReport, LogFs, MkfsOptions, OpenOptions, Policy, ReadingCost, Recovery, Repair,
    Runtime, VerifyReads, Volume, core_setups, fsck, mkfs, open,
};

/// Block size of all tests' disks, bytes.
pub(crate) const BLOCK: u32 = 512;
/// Cluster size of all tests' file systems, bytes.
pub(crate) const CLUSTER: u32 = 16 << 10;

/// An executor and a disk.
pub(crate) struct Bench {
    pub(crate) executor: Executor,
    pub(crate) disk: Disk,
    pub(crate) clock: Clock,
}

impl Bench {
    pub(crate) fn new(device: impl BlockDevice + 'static, order: ReadyOrder) -> Bench {
        Bench { executor: Executor::new(order), disk: Disk::new(device), clock: Clock::simulated(1_000) }
    }

    pub(crate) fn run<T>(&mut self, future: impl Future<Output = T>) -> T {
        self.executor.run(&mut self.disk, future).expect("the file system waits for itself")
    }

    pub(crate) fn mkfs(&mut self) {
        self.mkfs_of(1);
    }

    pub(crate) fn mkfs_of(&mut self, domains: u32) {
        let disk = self.disk.clone();
        self.run(mkfs(&disk, &MkfsOptions { domains, ..options() })).unwrap();
    }

    pub(crate) fn try_open(&mut self, options: OpenOptions) -> Result<(LogFs, Recovery), Error> {
        let (disk, clock, spawner) = (self.disk.clone(), self.clock.clone(), self.executor.spawner());
        self.run(async move { open(&disk, options, Runtime { clock, spawner }).await })
    }

    pub(crate) fn open(&mut self) -> LogFs {
        self.try_open(small_memory()).unwrap().0
    }

    /// Opens all domains on this number of cores, all on this executor; returns the cores' handles.
    pub(crate) fn try_open_all(&mut self, cores: usize, options: OpenOptions) -> Result<Vec<Volume>, Error> {
        let spawner = self.executor.spawner();
        let open = |setup: CoreSetup| {
            let (disk, clock, spawner) = (self.disk.clone(), self.clock.clone(), spawner.clone());
            self.executor.spawner().spawn(async move { setup.open(&disk, options, Runtime { clock, spawner }).await })
        };
        let opening: Vec<_> = core_setups(cores).into_iter().map(open).collect();
        self.run(async {
            let mut opened = Vec::new();
            for core in opening {
                opened.push(core.await);
            }
            opened.into_iter().map(|answer| answer.map(|(volume, _)| volume)).collect()
        })
    }

    pub(crate) fn open_all(&mut self, cores: usize) -> Vec<Volume> {
        self.try_open_all(cores, small_memory()).unwrap()
    }

    pub(crate) fn fsck(&mut self, repair: Repair) -> Result<FsckReport, Error> {
        let (disk, clock, spawner) = (self.disk.clone(), self.clock.clone(), self.executor.spawner());
        self.run(async move { fsck(&disk, repair, Runtime { clock, spawner }).await })
    }
}

/// Small clusters, so that everything happens soon.
pub(crate) fn options() -> MkfsOptions {
    MkfsOptions { block_bytes: BLOCK, cluster_bytes: CLUSTER, small_max_bytes: 500, ..MkfsOptions::new([7; 16], 1) }
}

/// So little memory for small content that its limit is reached; free clusters are discarded, so
/// that a use after free is noticed.
pub(crate) fn small_memory() -> OpenOptions {
    OpenOptions {
        inline_bytes: Some(20_000),
        cleaning_bytes: Some(64 << 10),
        discard: true,
        reading: Some(ReadingCost { request_ns: 1_000, kib_ns: 1_000 }),
        // Also for images that were changed behind the file system's back, in memory.
        verify_reads: VerifyReads::Always,
        ..OpenOptions::default()
    }
}

/// As `small_memory`, with the cleaning policies in turn; those by threshold start with the first
/// candidates.
pub(crate) fn policy_by_turns(turn: u64) -> OpenOptions {
    let (policy, clusters) = match turn % 4 {
        0 => (Policy::CostBenefit, 4),
        1 => (Policy::Threshold { k: 0.9 }, 1),
        2 => (Policy::Dynamic { cap: 0.9 }, 2),
        _ => (Policy::Greedy, 4),
    };
    let cleaning_bytes = Some(clusters * u64::from(CLUSTER));
    // Defragmentation also takes turns.
    let defragment_percent = if turn % 3 == 1 { 100 } else { 0 };
    OpenOptions { policy: Some(policy), cleaning_bytes, defragment_percent, ..small_memory() }
}

/// The image of an empty file system of this number of clusters.
pub(crate) fn empty_image(clusters: u64) -> Vec<u8> {
    empty_image_with(clusters, options().small_max_bytes)
}

/// The same with another limit of small writes.
pub(crate) fn empty_image_with(clusters: u64, small_max_bytes: u32) -> Vec<u8> {
    let disk = RamDisk::new(clusters * u64::from(CLUSTER), BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    bench.run(mkfs(&bench.disk.clone(), &MkfsOptions { small_max_bytes, ..options() })).unwrap();
    disk.with(|bytes| bytes.to_vec())
}

/// splitmix64.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

/// Multiplier of the amount of testing: `IOLAB_LOGFS_TEST_SCALE`, 1 when it is not set.
pub(crate) fn scale() -> u64 {
    std::env::var("IOLAB_LOGFS_TEST_SCALE").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}
