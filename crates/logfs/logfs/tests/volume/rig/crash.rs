//! Scripts that are crashed at every event of their device, and what the contract allows to be
//! found afterwards.

use std::collections::BTreeMap;

use iolab_disk::{
    BlockDevice, CrashPoints, DiskCompletion, DiskRequest, Geometry, RamDisk, Shuffled, Survival, Trace, Traced,
};
use iolab_executor::ReadyOrder;
use iolab_logfs::{Error, InodeId, Repair};

use super::load::{Step, perform};
use super::model::{Model, Snapshot, difference, snapshot};
use super::{BLOCK, Bench, policy_by_turns, small_memory};

/// The history of a script, in terms of the device's events.
pub(crate) struct ScriptHistory {
    pub(crate) trace: Trace,
    pub(crate) image: Vec<u8>,
    /// The model before each step, and after the last.
    pub(crate) states: Vec<Model>,
    /// Number of events before each step began.
    begun: Vec<usize>,
    /// (events, states): after this number of events, this number of steps is promised.
    promises: Vec<(usize, usize)>,
}

/// A device that says of itself whether it transfers during submission.
struct Said<D>(D, bool);

impl<D: BlockDevice> BlockDevice for Said<D> {
    fn geometry(&self) -> Geometry {
        self.0.geometry()
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        self.0.submit(request)
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        self.0.reap(wait, done);
    }

    fn is_synchronous(&self) -> bool {
        self.1
    }
}

/// Runs a script on an image whose content is `model`.
pub(crate) fn run_script(
    image: Vec<u8>,
    model: Model,
    seed: u64,
    script: &mut dyn FnMut(usize, &Model) -> Option<Step>,
) -> ScriptHistory {
    let disk = RamDisk::with_contents(image.clone(), BLOCK);
    let (device, trace) = Traced::new(Shuffled::new(disk, seed));
    let order = if seed.is_multiple_of(2) { ReadyOrder::Fair } else { ReadyOrder::Shuffled(seed) };
    let mut bench = Bench::new(Said(device, seed % 4 >= 2), order);
    let mut states = vec![model.clone()];
    let (mut begun, mut promises) = (vec![0], Vec::new());
    let mut model = model;
    let fs = bench.try_open(policy_by_turns(seed)).unwrap().0;
    let mut touched: BTreeMap<InodeId, usize> = BTreeMap::new();
    let mut next = 0;
    while let Some(step) = script(next, &model) {
        begun.push(trace.borrow().events());
        let before = touches(&step, &model);
        let answer = bench.run(perform(&fs, &mut model, &step));
        let events = trace.borrow().events();
        match (&step, answer) {
            (Step::Fsync(inode), Ok(())) => promises.push((events, touched.get(inode).copied().unwrap_or(0))),
            (Step::Sync, Ok(())) => promises.push((events, next)),
            // A step that changes nothing, as a rename to the same name, leaves nothing to sync.
            (_, Ok(())) if model.snapshot() != states[next].snapshot() => {
                for inode in before.into_iter().chain(touches(&step, &model)) {
                    touched.insert(inode, next + 1);
                }
            }
            _ => {}
        }
        states.push(model.clone());
        next += 1;
    }
    drop(fs);
    drop(bench);
    let trace = std::mem::take(&mut *trace.borrow_mut());
    ScriptHistory { trace, image, states, begun, promises }
}

/// The inodes that a step changes, as far as the model knows them.
pub(crate) fn touches(step: &Step, model: &Model) -> Vec<InodeId> {
    let named = |directory: &InodeId, name: &Vec<u8>| model.lookup(*directory, name).into_iter().chain([*directory]);
    match step {
        Step::Create(directory, name)
        | Step::MakeDirectory(directory, name)
        | Step::Symlink(directory, name, _)
        | Step::Unnamed(directory, name, _)
        | Step::Unlink(directory, name)
        | Step::RemoveDirectory(directory, name) => named(directory, name).collect(),
        Step::Link(inode, directory, _) => vec![*inode, *directory],
        Step::Rename(from, to) | Step::Exchange(from, to) => {
            named(&from.0, &from.1).chain(named(&to.0, &to.1)).collect()
        }
        Step::Write(inode, ..)
        | Step::Append(inode, ..)
        | Step::Truncate(inode, _)
        | Step::Punch(inode, ..)
        | Step::Allocate(inode, _) => vec![*inode],
        Step::Read(..) | Step::Fsync(_) | Step::Sync | Step::Checkpoint => Vec::new(),
    }
}

/// The disk that a crash left last, with what was found on it.
///
/// Many events change nothing on a disk: what was found is then judged again, without opening the
/// disk again.
pub(crate) struct LastDisk<T>(Option<(Vec<u8>, T)>);

impl<T> LastDisk<T> {
    pub(crate) fn none() -> LastDisk<T> {
        LastDisk(None)
    }

    /// What is on the disk `image`; opens it only if it differs from the last one.
    pub(crate) fn look(&mut self, image: Vec<u8>, open: impl FnOnce(Vec<u8>) -> T) -> &T {
        if self.0.as_ref().is_some_and(|(known, _)| *known != image) {
            self.0 = None;
        }
        let (_, found) = self.0.get_or_insert_with(|| (image.clone(), open(image)));
        found
    }
}

/// What is found on a disk after a crash.
struct Findings {
    disk: RamDisk,
    recovery: String,
    found: Snapshot,
}

/// Checks and opens the disk that a crash leaves.
fn look_into(image: Vec<u8>, context: &str) -> Findings {
    let disk = RamDisk::with_contents(image, BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let report = bench.fsck(Repair::No).unwrap_or_else(|error| panic!("{context}: fsck: {error}"));
    assert!(report.is_sound(), "{context}: {:?}", report.faults);
    let opened: Result<_, Error> = bench.try_open(small_memory());
    let (fs, recovery) = opened.unwrap_or_else(|error| panic!("{context}: {error}"));
    Findings { found: bench.run(snapshot(&fs)), recovery: format!("{recovery:?}"), disk }
}

impl ScriptHistory {
    /// Checks what is found after a crash at `events`; returns the disk and the number of its
    /// state.
    pub(crate) fn check(&self, points: &CrashPoints<'_>, events: usize, survival: Survival) -> (RamDisk, usize) {
        let context = self.context(events, survival);
        let findings = look_into(points.image(survival), &context);
        let state = self.state_of(&findings, events, &context);
        (findings.disk, state)
    }

    fn context(&self, events: usize, survival: Survival) -> String {
        format!("crash after event {events} of {}, {survival:?}", self.trace.events())
    }

    /// The state that was found: one that the contract allows after `events`.
    fn state_of(&self, Findings { found, recovery, .. }: &Findings, events: usize, context: &str) -> usize {
        let promised = self.promises.iter().filter(|(at, _)| *at <= events).map(|(_, state)| *state).max().unwrap_or(0);
        let begun = self.begun.iter().rposition(|at| *at <= events).unwrap_or(0);
        let mut best = None;
        for state in (promised..=begun).rev() {
            match difference(found, &self.states[state].snapshot()) {
                None => return state,
                Some(difference) => best = best.or(Some(difference)),
            }
        }
        let elsewhere =
            (0..self.states.len()).find(|state| difference(found, &self.states[*state].snapshot()).is_none());
        panic!(
            "{context}, {recovery}: found state {elsewhere:?}, no state from {promised} to {begun}; in the last: {best:?}"
        );
    }

    /// Crashes at every event, with nothing, everything, and `seeds` random parts of what was not
    /// safe. Returns the number of crashes.
    pub(crate) fn crash_everywhere(&self, seeds: u64) -> u64 {
        let mut points = CrashPoints::new(&self.trace, self.image.clone(), BLOCK);
        let mut crashes = 0;
        let [mut nothing, mut everything] = [LastDisk::none(), LastDisk::none()];
        let check_again = |points: &CrashPoints<'_>, events: usize, survival: Survival, last: &mut LastDisk<_>| {
            let context = self.context(events, survival);
            let findings = last.look(points.image(survival), |image| look_into(image, &context));
            self.state_of(findings, events, &context);
        };
        for events in 0..=self.trace.events() {
            points.advance(events);
            check_again(&points, events, Survival::Nothing, &mut nothing);
            crashes += 1;
            if points.doubtful() == 0 {
                continue;
            }
            check_again(&points, events, Survival::Everything, &mut everything);
            for seed in 0..seeds {
                self.check(&points, events, Survival::Some(seed));
            }
            crashes += 1 + seeds;
        }
        crashes
    }
}
