//! The data that workers share when they verify the same files.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use iolab_memory::SharedRegion;
use iolab_plan::{Direction, Plan, WorkerPlan};
use iolab_verify::{GenerationMap, Word};

use crate::verification::state;

/// What one worker knows about the files that it verifies.
#[derive(Debug, Clone)]
pub(crate) struct VerifyShare {
    /// One for each of its files.
    pub(crate) maps: Arc<[GenerationMap]>,
    /// No other worker uses these maps.
    pub(crate) alone: bool,
    /// All workers that use them have the same seed.
    pub(crate) one_seed: bool,
    /// An earlier run has left their content.
    pub(crate) loaded: bool,
    /// When the runs began that wrote the content of the files, the last one last. This run is not
    /// among them.
    pub(crate) runs: Arc<[u64]>,
    /// When the run began, ns since 1970.
    pub(crate) run: u64,
}

/// The words after the header in their memory.
struct Words {
    region: Arc<SharedRegion<Word>>,
    first: usize,
    count: usize,
}

impl AsRef<[Word]> for Words {
    fn as_ref(&self) -> &[Word] {
        &self.region[self.first..self.first + self.count]
    }
}

/// Workers that can share generations: the same file, the same intervals, and no stage in between
/// in which another job writes it.
#[derive(PartialEq, Eq, PartialOrd, Ord, Clone)]
struct Key<'a> {
    path: &'a Path,
    interval_bytes: u64,
    phase_bytes: u64,
    stage: Option<u32>,
}

/// What these workers share.
struct Common {
    start_bytes: u64,
    end_bytes: u64,
    workers: BTreeSet<u32>,
    seeds: BTreeSet<u64>,
    /// Folder of their states, the given state name, and whether one is loaded and saved.
    folder: PathBuf,
    state_file: Option<PathBuf>,
    load: bool,
    save: bool,
    /// Whether the durable content is known.
    durable: bool,
    /// The options that a later reader of the file needs.
    options: Vec<String>,
}

impl Common {
    fn nothing() -> Common {
        Common {
            start_bytes: u64::MAX,
            end_bytes: 0,
            workers: BTreeSet::new(),
            seeds: BTreeSet::new(),
            folder: PathBuf::new(),
            state_file: None,
            load: false,
            save: false,
            durable: false,
            options: Vec::new(),
        }
    }

    fn add(&mut self, plan: &Plan, worker: &WorkerPlan, (start, end): (u64, u64)) {
        self.start_bytes = self.start_bytes.min(start);
        self.end_bytes = self.end_bytes.max(end);
        self.workers.insert(worker.number);
        let Some(verify) = &worker.verify else { return };
        self.seeds.insert(verify.seed);
        self.folder = verify.dump_folder.as_ref().map_or_else(PathBuf::new, PathBuf::from);
        self.state_file = verify.state_file.as_ref().map(PathBuf::from).or(self.state_file.take());
        self.load |= verify.state_load;
        self.save |= verify.state_save;
        self.durable |= !verify.policy.is_completed();
        if self.save && self.options.is_empty() {
            self.options = needed_options(plan, worker);
        }
    }
}

/// Options of a job that determine how its file is read and what its blocks hold.
fn needed_options(plan: &Plan, worker: &WorkerPlan) -> Vec<String> {
    const CONTENT: [&str; 4] =
        ["zero_buffers", "buffer_pattern", "buffer_compress_percentage", "buffer_compress_chunk"];
    const VERIFICATION: [&str; 6] = [
        "verify",
        "verify_offset",
        "verify_pattern",
        "verify_pattern_interval",
        "verify_header_seed",
        "verify_write_sequence",
    ];
    let mut own = plan.global_options.clone();
    own.extend(worker.job_options.clone());
    let is_needed = |name: &str| {
        VERIFICATION.contains(&name)
            || CONTENT.contains(&name)
            || name == "direct"
            || worker.engine.options.has(name) && name != "ioengine"
    };
    let named = own.iter().filter(|(name, _)| is_needed(name));
    let options = named.map(|(name, text)| if text.is_empty() { name.clone() } else { format!("{name}={text}") });
    std::iter::once(format!("ioengine={}", worker.engine.name)).chain(options).collect()
}

/// The map of a file, and when the runs began that an earlier run's state lists.
#[derive(Clone)]
struct Known {
    map: GenerationMap,
    runs: Vec<u64>,
}

/// The shares of all workers, by number; none if nothing is verified.
pub(crate) fn shares(plan: &Plan, run: u64) -> io::Result<Vec<Option<VerifyShare>>> {
    let mixed = files_with_other_writers(plan);
    let mut commons: BTreeMap<Key<'_>, Common> = BTreeMap::new();
    for worker in &plan.workers {
        for (key, start, end) in keys(worker, &mixed) {
            commons.entry(key).or_insert_with(Common::nothing).add(plan, worker, (start, end));
        }
    }
    let mut maps: BTreeMap<Key<'_>, Known> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for (key, common) in &mut commons {
        let name = if common.load || common.save { state::free_name(key.path, &mut names) } else { String::new() };
        maps.insert(key.clone(), map_of(key, common, &name, run)?);
    }
    let share = |worker: &WorkerPlan| {
        worker.verify.as_ref()?;
        let keys: Vec<Key<'_>> = keys(worker, &mixed).map(|(key, ..)| key).collect();
        Some(VerifyShare {
            maps: keys.iter().map(|key| maps[key].map.clone()).collect(),
            runs: keys.iter().flat_map(|key| maps[key].runs.iter().copied()).collect(),
            alone: keys.iter().all(|key| commons[key].workers.len() == 1),
            one_seed: keys.iter().all(|key| commons[key].seeds.len() == 1),
            loaded: worker.verify.as_ref().is_some_and(|verify| verify.state_load),
            run,
        })
    };
    Ok(plan.workers.iter().map(share).collect())
}

/// The map of some workers. If they ask for it, it includes what an earlier run has kept.
fn map_of(key: &Key<'_>, common: &mut Common, name: &str, run: u64) -> io::Result<Known> {
    let bytes = common.end_bytes - common.start_bytes;
    let words = usize::try_from(GenerationMap::words_for(bytes, key.interval_bytes)).unwrap_or(usize::MAX / 4);
    let path = common.folder.join(name);
    let kept = if common.load {
        let (place, verified) = match &common.state_file {
            Some(named) => (named.as_path(), None),
            None => (path.as_path(), Some(key.path)),
        };
        // Only a worker that judges by durability needs to know what is durable.
        let judges = common.durable && !common.save;
        Some(state::load(place, verified, key.interval_bytes, common.start_bytes, judges)?)
    } else {
        None
    };
    let mut runs = Vec::new();
    if let Some(kept) = &kept {
        // Headers of a job with another seed do not have this job's seed.
        common.seeds.extend(kept.about.seed);
        runs.clone_from(&kept.about.runs);
    }
    let all = if common.durable { 2 * words } else { words };
    let mut draft = None;
    let (region, first) = if common.save {
        let seed = if common.seeds.len() == 1 { common.seeds.first().copied() } else { None };
        let about = state::About {
            path: key.path.to_owned(),
            interval_bytes: key.interval_bytes,
            start_bytes: common.start_bytes,
            end_bytes: common.end_bytes,
            seed,
            runs: runs.iter().copied().chain([run]).collect(),
            durable: common.durable,
            options: std::mem::take(&mut common.options),
        };
        let (region, made) = state::create(&path, &about, all)?;
        draft = Some(made);
        (region, state::HEAD_WORDS)
    } else {
        (SharedRegion::new(all)?, 0)
    };
    let region = Arc::new(region);
    let part = |first| Arc::new(Words { region: Arc::clone(&region), first, count: words });
    let mut map = GenerationMap::new(part(first), common.start_bytes, key.interval_bytes);
    if common.durable {
        map = map.with_durable(part(first + words));
    }
    if let Some(kept) = kept {
        map.take_over(kept.about.start_bytes, &kept.words);
        map.take_over_durable(kept.about.start_bytes, &kept.durable);
    }
    if let Some(draft) = draft {
        draft.publish()?;
    }
    Ok(Known { map, runs })
}

fn keys<'a>(worker: &'a WorkerPlan, mixed: &'a BTreeSet<&'a Path>) -> impl Iterator<Item = (Key<'a>, u64, u64)> {
    let interval_bytes = worker.verify.as_ref().map(|verify| verify.interval_bytes.max(1));
    interval_bytes.into_iter().flat_map(move |interval_bytes| {
        worker.files.iter().map(move |file| {
            let path = file.path.as_path();
            let stage = mixed.contains(path).then_some(worker.stage);
            let phase_bytes = file.start_bytes % interval_bytes;
            let key = Key { path, interval_bytes, phase_bytes, stage };
            (key, file.start_bytes, file.start_bytes + file.length_bytes)
        })
    })
}

/// Files whose writers use different intervals, or that are made again.
fn files_with_other_writers(plan: &Plan) -> BTreeSet<&Path> {
    let mut intervals: BTreeMap<&Path, BTreeSet<Option<(u64, u64)>>> = BTreeMap::new();
    for worker in &plan.workers {
        let changes = worker.workload.pattern.directions.iter().any(|direction| *direction != Direction::Read);
        let removes = worker.layout.unlink || worker.layout.unlink_each_loop;
        for file in worker.files.iter().filter(|_| changes || removes) {
            let speaks = worker.verify.as_ref().filter(|_| !removes);
            let own = speaks.map(|verify| (verify.interval_bytes, file.start_bytes % verify.interval_bytes.max(1)));
            let all = intervals.entry(file.path.as_path()).or_default();
            all.insert(own);
        }
    }
    let mixed = intervals.into_iter().filter(|(_, all)| all.len() > 1 || all.contains(&None));
    mixed.map(|(path, _)| path).collect()
}
