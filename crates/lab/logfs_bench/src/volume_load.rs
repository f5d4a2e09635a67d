//! Random appends and reads until a fixed volume is written, with truncations that keep the disk
//! half full: the load of SeastarFS's `fs_perf`.
//!
//! ```text
//!  live data
//!   50 % ┤      ╱╲        ╱╲        when a write passes the upper mark, files are cut from their ends,
//!        │    ╱   ╲     ╱   ╲       by sizes of the same distributions, down to the lower mark
//!   25 % ┤  ╱      ╲  ╱
//!        └─╱─ filling ─┴─ measured ─▶
//! ```
//!
//! The filling is not measured: it continues until as much was written as the disk holds, so that
//! every cluster has been used before. The operations follow from the seed alone, not from the
//! speed of anything. A truncation waits for operations in progress, and all others wait for it.
//!
//! Capacity and volume are divided evenly among the domains. Files and concurrent operations are
//! per domain, as they are per instance of SeastarFS; each domain has its own marks, truncations
//! and random numbers. A share of the operations may use files in other domains (in their folders,
//! on other file systems).

use std::cell::RefCell;
use std::ops::{Add, Sub};
use std::rc::Rc;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_executor::Notify;
use iolab_logfs::Activity;

use crate::gate::Gate;
use crate::random::Random;
use crate::store::{BenchTarget, Load, Shape, Span, Stage, Store, run_on};
use crate::{BenchError, Class, MeasuredLoad};

/// The load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VolumeLoad {
    /// Assumed capacity of the disk, bytes, all domains together: marks are shares of it.
    pub capacity_bytes: u64,
    /// Bytes written in the measured part, by all domains together.
    pub volume_bytes: u64,
    /// Domains, each with a thread of its own.
    pub domains: usize,
    /// Bytes written before it, as a percentage of the capacity.
    pub fill_percent: u32,
    /// Live data at which truncating begins, percent of the capacity.
    pub upper_percent: u32,
    /// Live data at which it ends.
    pub lower_percent: u32,
    /// Operations that write, percent.
    pub write_percent: u32,
    /// Of the writes, the small ones, percent.
    pub small_write_percent: u32,
    /// Of the reads, the small ones, percent.
    pub small_read_percent: u32,
    /// Of the operations, those on files in the domains of others, percent; there are as many such
    /// files as own ones.
    pub remote_percent: u32,
    /// Files for small writes, and as many for large ones, of each domain.
    pub files: usize,
    /// Bytes of a small operation, from and to.
    pub small_bytes: (u64, u64),
    /// Bytes of a large one.
    pub large_bytes: (u64, u64),
    /// All sizes are multiples of this.
    pub unit_bytes: u64,
    /// Operations under way at once in each domain.
    pub parallel: usize,
    /// Everything follows from it.
    pub seed: u64,
}

/// The result of a domain, or of all together.
#[derive(Debug, Default)]
pub struct VolumePart {
    /// The measured part: small and large writes, small and large reads, truncations.
    pub measured: MeasuredLoad,
    /// What logfs did in the background during it.
    pub activity: Option<Activity>,
}

/// The result.
#[derive(Debug, Default)]
pub struct VolumeResult {
    /// The time of the slowest domain, and the sums of everything else.
    pub joint: VolumePart,
    /// Each domain.
    pub domains: Vec<VolumePart>,
}

impl VolumePart {
    /// Bytes written in the measured part, by the load.
    pub fn written_bytes(&self) -> u64 {
        self.measured.classes[..2].iter().map(|class| class.bytes).sum()
    }
}

impl VolumeResult {
    fn new(domains: Vec<VolumePart>) -> VolumeResult {
        let measured = MeasuredLoad::joined(domains.iter().map(|part| &part.measured));
        let activity =
            domains.iter().filter_map(|part| part.activity).reduce(|sum, one| combined(&sum, &one, u64::add));
        VolumeResult { joint: VolumePart { measured, activity }, domains }
    }
}

impl VolumeLoad {
    /// Bytes of the longest operation.
    fn longest_bytes(&self) -> u64 {
        self.large_bytes.1.max(self.small_bytes.1).next_multiple_of(self.unit_bytes.max(1))
    }

    /// Files that a domain works on.
    fn all_files(&self) -> usize {
        if self.remote_percent > 0 { 4 * self.files } else { 2 * self.files }
    }

    /// The most domains for which the capacity has room; 0 when it is too small for any.
    pub fn most_domains(&self) -> usize {
        let room = self.capacity_bytes / 100 * u64::from(100_u32.saturating_sub(self.upper_percent));
        let needed = (2 * self.longest_bytes()).saturating_mul(self.parallel as u64);
        room.checked_div(needed).map_or(0, |domains| domains as usize)
    }

    /// The load of one domain.
    fn of_domain(&self, domain: u64) -> VolumeLoad {
        let domains = self.domains as u64;
        VolumeLoad {
            capacity_bytes: self.capacity_bytes / domains,
            volume_bytes: self.volume_bytes / domains + u64::from(domain < self.volume_bytes % domains),
            // The first domain uses the seed itself: alone, it does the same as a load without
            // domains.
            seed: self.seed.wrapping_add(domain.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            ..*self
        }
    }
}

const CLASSES: [&str; 5] = ["small write", "large write", "small read", "large read", "truncation"];
const TRUNCATION: usize = 4;

/// Runs the load on a target that is made anew for it.
///
/// # Errors
/// What the target answers; [`BenchError::Unfit`] for a load that cannot be.
pub fn run_volume_load(target: &BenchTarget, load: &VolumeLoad) -> Result<VolumeResult, BenchError> {
    if load.files == 0 || load.parallel == 0 || load.unit_bytes == 0 || load.domains == 0 {
        let text = "files, operations in flight, unit and domains must be at least 1";
        return Err(BenchError::Unfit(text.to_owned()));
    }
    let (largest, most) = (load.longest_bytes(), load.most_domains());
    if load.domains > most {
        let (capacity, parallel, domains) = (load.capacity_bytes, load.parallel, load.domains);
        let fewer = if most == 0 { String::new() } else { format!(" or fewer domains (there is room for {most})") };
        return Err(BenchError::Unfit(format!(
            "a capacity of {capacity} bytes is too small for {parallel} operations in flight of up to {largest} \
            bytes in {domains} domains: use a larger disk, smaller operations{fewer}"
        )));
    }
    let part = |domain| {
        let load = load.of_domain(domain);
        let (files, remote_files) = (2 * load.files, load.all_files() - 2 * load.files);
        (Shape { files, remote_files, workers: load.parallel, most_bytes: largest, seed: load.seed }, load)
    };
    run_on(target, (0..load.domains as u64).map(part).collect()).map(VolumeResult::new)
}

impl Load for VolumeLoad {
    type Output = VolumePart;

    async fn run<S: Store + 'static>(self, store: Rc<S>, stage: Stage) -> Result<VolumePart, BenchError> {
        let fill_bytes = self.capacity_bytes / 100 * u64::from(self.fill_percent);
        let progress = Progress {
            random: Random::new(self.seed),
            sizes: vec![0; self.all_files()],
            live: 0,
            left: fill_bytes,
            under_way: 0,
            truncating: false,
            classes: CLASSES.map(Class::new).into(),
            failed: None,
        };
        let shared = Rc::new(Shared {
            load: self,
            progress: RefCell::new(progress),
            event: Notify::default(),
            clock: stage.clock.clone(),
            gate: Arc::clone(&stage.gate),
        });
        // Filling only writes: reads would prolong it for nothing.
        Shared::run_workers(&shared, &store, &stage, 100).await?;
        store.sync().await?;
        {
            let mut progress = shared.progress.borrow_mut();
            progress.left = self.volume_bytes;
            progress.classes = CLASSES.map(Class::new).into();
        }
        let begun = stage.gate.pass(&stage.clock).await?;
        let before = store.activity();
        Shared::run_workers(&shared, &store, &stage, self.write_percent).await?;
        store.sync().await?;
        let elapsed_ns = stage.clock.now_ns() - begun;
        let classes = std::mem::take(&mut shared.progress.borrow_mut().classes);
        let activity = store.activity().zip(before).map(|(after, before)| combined(&after, &before, u64::sub));
        Ok(VolumePart { measured: MeasuredLoad { elapsed_ns, classes }, activity })
    }
}

/// Combines two sets of counts, one by one.
fn combined(one: &Activity, other: &Activity, by: impl Fn(u64, u64) -> u64) -> Activity {
    Activity {
        checkpoints: by(one.checkpoints, other.checkpoints),
        cleaning_passes: by(one.cleaning_passes, other.cleaning_passes),
        moved_bytes: by(one.moved_bytes, other.moved_bytes),
        urgent_passes: by(one.urgent_passes, other.urgent_passes),
        urgent_bytes: by(one.urgent_bytes, other.urgent_bytes),
        demoted_bytes: by(one.demoted_bytes, other.demoted_bytes),
        defragmented_bytes: by(one.defragmented_bytes, other.defragmented_bytes),
        discarded_clusters: by(one.discarded_clusters, other.discarded_clusters),
        freed_clusters: by(one.freed_clusters, other.freed_clusters),
        frames: by(one.frames, other.frames),
        syncs: by(one.syncs, other.syncs),
        bad_checkpoints: by(one.bad_checkpoints, other.bad_checkpoints),
        content_errors: by(one.content_errors, other.content_errors),
    }
}

/// The progress of the load.
struct Progress {
    random: Random,
    sizes: Vec<u64>,
    live: u64,
    /// Bytes still to be written in this part.
    left: u64,
    under_way: usize,
    truncating: bool,
    classes: Vec<Class>,
    /// The first error ends all workers.
    failed: Option<BenchError>,
}

struct Shared {
    load: VolumeLoad,
    progress: RefCell<Progress>,
    event: Notify,
    clock: Clock,
    gate: Arc<Gate>,
}

enum Step {
    Write(Span, usize),
    Read(Span, usize),
    /// Nothing to read yet.
    Nothing,
    Truncate,
    Wait,
    End,
}

impl Shared {
    async fn run_workers<S: Store + 'static>(
        shared: &Rc<Shared>,
        store: &Rc<S>,
        stage: &Stage,
        write_percent: u32,
    ) -> Result<(), BenchError> {
        let spawn = |worker| {
            let (shared, store) = (Rc::clone(shared), Rc::clone(store));
            stage.spawner.spawn(async move { shared.work(&*store, worker, write_percent).await })
        };
        let workers: Vec<_> = (0..shared.load.parallel).map(spawn).collect();
        for worker in workers {
            worker.await;
        }
        shared.progress.borrow_mut().failed.take().map_or(Ok(()), Err)
    }

    async fn work(&self, store: &impl Store, worker: usize, write_percent: u32) {
        loop {
            if self.gate.is_broken() {
                self.progress.borrow_mut().failed.get_or_insert(BenchError::Abandoned);
            }
            let step = self.progress.borrow_mut().next(&self.load, worker, write_percent);
            let begun = self.clock.now_ns();
            let (result, class, bytes) = match step {
                Step::End => return,
                Step::Nothing => continue,
                Step::Wait => {
                    self.event.pass().await;
                    continue;
                }
                Step::Truncate => {
                    let ended = self.truncate(store).await;
                    let mut progress = self.progress.borrow_mut();
                    progress.truncating = false;
                    progress.failed = progress.failed.take().or(ended.err());
                    drop(progress);
                    self.event.notify();
                    continue;
                }
                Step::Write(span, class) => (store.write(span).await, class, span.length),
                Step::Read(span, class) => (store.read(span).await, class, span.length),
            };
            let ended = self.clock.now_ns();
            let mut progress = self.progress.borrow_mut();
            progress.under_way -= 1;
            match result {
                Ok(()) => progress.classes[class].add(bytes, ended - begun),
                Err(error) => progress.failed = progress.failed.take().or(Some(error)),
            }
            if progress.truncating || progress.failed.is_some() {
                drop(progress);
                self.event.notify();
            }
        }
    }

    /// Waits for operations in progress, then cuts files down to the lower mark.
    async fn truncate(&self, store: &impl Store) -> Result<(), BenchError> {
        while self.progress.borrow().under_way > 0 {
            self.event.pass().await;
        }
        let lower = self.load.capacity_bytes / 100 * u64::from(self.load.lower_percent);
        while self.progress.borrow().live > lower {
            let (file, size, cut) = self.progress.borrow_mut().next_cut(&self.load);
            let begun = self.clock.now_ns();
            store.truncate(file, size).await?;
            self.progress.borrow_mut().classes[TRUNCATION].add(cut, self.clock.now_ns() - begun);
        }
        Ok(())
    }
}

impl Progress {
    /// The next operation. It counts as done at once, so that its duration does not matter.
    fn next(&mut self, load: &VolumeLoad, worker: usize, write_percent: u32) -> Step {
        let upper = load.capacity_bytes / 100 * u64::from(load.upper_percent);
        if self.failed.is_some() || (self.left == 0 && !self.truncating) {
            return Step::End;
        }
        if self.truncating {
            return Step::Wait;
        }
        if self.live > upper {
            self.truncating = true;
            return Step::Truncate;
        }
        let writes = self.random.percent(write_percent);
        let small = self.random.percent(if writes { load.small_write_percent } else { load.small_read_percent });
        let file = self.file(load, small);
        let range = if small { load.small_bytes } else { load.large_bytes };
        let length = self.random.within(range, load.unit_bytes);
        if writes {
            let offset = self.sizes[file];
            self.sizes[file] += length;
            self.live += length;
            self.left = self.left.saturating_sub(length);
            self.under_way += 1;
            return Step::Write(Span { file, offset, length, worker }, usize::from(!small));
        }
        let size = self.sizes[file];
        let length = length.min(size);
        if length == 0 {
            return Step::Nothing;
        }
        let offset = self.random.within((0, size - length), load.unit_bytes);
        self.under_way += 1;
        Step::Read(Span { file, offset, length, worker }, 2 + usize::from(!small))
    }

    fn file(&mut self, load: &VolumeLoad, small: bool) -> usize {
        let file = self.random.below(load.files as u64) as usize;
        // Without remote files, the random numbers are those of a load that does not know them.
        let is_remote = load.remote_percent > 0 && self.random.percent(load.remote_percent);
        file + if small { 0 } else { load.files } + if is_remote { 2 * load.files } else { 0 }
    }

    /// A file, its new size, and how much that takes off.
    fn next_cut(&mut self, load: &VolumeLoad) -> (usize, u64, u64) {
        let small = self.random.percent(load.small_write_percent);
        let mut file = self.file(load, small);
        if self.sizes[file] == 0 {
            // The longest instead: something has to go.
            file = (0..self.sizes.len()).max_by_key(|file| self.sizes[*file]).unwrap_or(file);
        }
        let range = if small { load.small_bytes } else { load.large_bytes };
        let cut = self.random.within(range, load.unit_bytes).min(self.sizes[file]);
        self.sizes[file] -= cut;
        self.live -= cut;
        (file, self.sizes[file], cut)
    }
}
