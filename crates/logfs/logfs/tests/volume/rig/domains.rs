//! Scripts on several domains that are crashed at every event of their device. Each domain has its
//! own order; a step that spans two happens in both or not at all.

use std::collections::BTreeMap;

use iolab_disk::{CrashPoints, RamDisk, Shuffled, Survival, Trace, Traced};
use iolab_executor::ReadyOrder;
use iolab_logfs::{InodeId, Placement, Repair};

use super::crash::{LastDisk, touches};
use super::load::{Step, perform_on_all};
use super::model::{Model, Snapshot, What, difference, snapshot_all};
use super::{BLOCK, Bench, Random, small_memory};

/// The history of a script, in terms of the device's events.
pub(crate) struct ScriptHistory {
    pub(crate) trace: Trace,
    pub(crate) image: Vec<u8>,
    domains: u32,
    /// The model before each step, and after the last.
    pub(crate) states: Vec<Model>,
    /// Each domain's part of these states.
    parts: Vec<Vec<Snapshot>>,
    /// Number of events before each step began.
    begun: Vec<usize>,
    /// (domain, events, states): after this number of events, this number of steps is promised in
    /// the domain.
    promises: Vec<(u32, usize, usize)>,
    /// (state, two domains): this step concerns both, and happens in both or in none.
    pub(crate) joint: Vec<(usize, [u32; 2])>,
}

/// The part of a snapshot that belongs to a domain.
fn part(seen: &Snapshot, domain: u32) -> Snapshot {
    let own = |(path, seen): &(&Vec<u8>, &super::model::Seen)| !path.is_empty() && seen.inode.domain() == domain;
    seen.iter().filter(own).map(|(path, seen)| (path.clone(), seen.clone())).collect()
}

/// Top-level names.
fn top(part: &Snapshot) -> BTreeMap<&Vec<u8>, InodeId> {
    let is_top = |(path, _): &(&Vec<u8>, &super::model::Seen)| !path[1..].contains(&b'/');
    part.iter().filter(is_top).map(|(path, seen)| (path, seen.inode)).collect()
}

/// Runs a script on an image of this number of domains whose content is `model`, from cores that
/// take turns at random.
pub(crate) fn run_script(
    image: Vec<u8>,
    domains: u32,
    model: Model,
    seed: u64,
    script: &mut dyn FnMut(usize, &Model) -> Option<Step>,
) -> ScriptHistory {
    let disk = RamDisk::with_contents(image.clone(), BLOCK);
    let (device, trace) = Traced::new(Shuffled::new(disk, seed));
    let order = if seed.is_multiple_of(2) { ReadyOrder::Fair } else { ReadyOrder::Shuffled(seed) };
    let mut random = Random(seed);
    let mut bench = Bench::new(device, order);
    let cores = random.below(u64::from(domains) + 1) + 1;
    let handles = bench.open_all(cores as usize);
    let split = |model: &Model| {
        let seen = model.snapshot();
        (0..domains).map(|domain| part(&seen, domain)).collect::<Vec<Snapshot>>()
    };
    let mut history = ScriptHistory {
        trace: Trace::default(),
        image,
        domains,
        states: vec![model.clone()],
        parts: vec![split(&model)],
        begun: vec![0],
        promises: Vec::new(),
        joint: Vec::new(),
    };
    let mut model = model;
    let mut touched: BTreeMap<(InodeId, u32), usize> = BTreeMap::new();
    let mut next = 0;
    while let Some(step) = script(next, &model) {
        history.begun.push(trace.borrow().events());
        let before = touches(&step, &model);
        let handle = handles[random.below(cores) as usize].clone().with_placement(Placement::RoundRobin);
        let answer = bench.run(perform_on_all(&handle, &mut model, &step));
        let events = trace.borrow().events();
        let (old, new) = (&history.parts[next], split(&model));
        let changed: Vec<u32> = (0..domains).filter(|domain| old[*domain as usize] != new[*domain as usize]).collect();
        if let (Step::Rename(..), [one, other], Ok(())) = (&step, &changed[..], &answer) {
            history.joint.push((next, [*one, *other]));
            // Durable on return, in the domain that has the name now.
            history.promises.extend([(*one, events, next + 1), (*other, events, next + 1)]);
        }
        for (domain, old) in (0..domains).zip(old) {
            if top(old) != top(&new[domain as usize]) {
                touched.insert((InodeId::ROOT, domain), next + 1);
            }
        }
        match (&step, answer) {
            (Step::Fsync(inode), Ok(())) => {
                let reached = touched.iter().filter(|((touched, _), _)| touched == inode);
                history.promises.extend(reached.map(|((_, domain), state)| (*domain, events, *state)));
            }
            (Step::Sync, Ok(())) => history.promises.extend((0..domains).map(|domain| (domain, events, next))),
            (_, Ok(())) if !changed.is_empty() => {
                for inode in before.into_iter().chain(touches(&step, &model)).filter(|inode| *inode != InodeId::ROOT) {
                    touched.insert((inode, inode.domain()), next + 1);
                }
            }
            _ => {}
        }
        history.parts.push(new);
        history.states.push(model.clone());
        next += 1;
    }
    drop(handles);
    drop(bench);
    history.trace = std::mem::take(&mut *trace.borrow_mut());
    history
}

/// The number of cores that open the disk after a crash at `events`: one and two in turn.
fn cores_after(events: usize) -> usize {
    1 + events % 2
}

/// Checks and opens the disk that a crash leaves.
fn look_into(image: Vec<u8>, cores: usize, context: &str) -> Snapshot {
    let mut bench = Bench::new(RamDisk::with_contents(image, BLOCK), ReadyOrder::Fair);
    let report = bench.fsck(Repair::No).unwrap_or_else(|error| panic!("{context}: fsck: {error}"));
    assert!(report.is_sound(), "{context}: {:?}", report.faults);
    let handles = bench.try_open_all(cores, small_memory());
    let handles = handles.unwrap_or_else(|error| panic!("{context}: {error}"));
    let found = bench.run(snapshot_all(&handles[0]));
    let directories =
        top(&found.iter().filter(|(path, _)| !path.is_empty()).map(|(a, b)| (a.clone(), b.clone())).collect())
            .keys()
            .filter(|path| found[**path].content == What::Directory)
            .count();
    assert_eq!(found[&Vec::new()].links as usize, 2 + directories, "{context}: links of the root");
    found
}

impl ScriptHistory {
    /// Checks what is found after a crash at `events`.
    pub(crate) fn check(&self, points: &CrashPoints<'_>, events: usize, survival: Survival) {
        self.check_again(points, events, survival, &mut LastDisk::none());
    }

    /// As [`check`](Self::check), and opens the disk only if it differs from the last one.
    fn check_again(&self, points: &CrashPoints<'_>, events: usize, survival: Survival, last: &mut LastDisk<Snapshot>) {
        let context = format!("crash after event {events} of {}, {survival:?}", self.trace.events());
        let found = last.look(points.image(survival), |image| look_into(image, cores_after(events), &context));
        let begun = self.begun.iter().rposition(|at| *at <= events).unwrap_or(0);
        let matching: Vec<Vec<usize>> =
            (0..self.domains).map(|domain| self.matching(found, domain, (events, begun), &context)).collect();
        for (step, pair) in &self.joint {
            let sides = pair.map(|domain| {
                let states = &matching[domain as usize];
                [states.iter().any(|state| state <= step), states.iter().any(|state| state > step)]
            });
            let agrees = (0..2).any(|side| sides[0][side] && sides[1][side]);
            assert!(agrees, "{context}: step {step} is in one of the domains {pair:?} only: {matching:?}");
        }
    }

    /// The states that a domain may be in, given what was promised.
    fn matching(&self, found: &Snapshot, domain: u32, (events, begun): (usize, usize), context: &str) -> Vec<usize> {
        let own = self.promises.iter().filter(|(promised, at, _)| *promised == domain && *at <= events);
        let promised = own.map(|(_, _, state)| *state).max().unwrap_or(0);
        let found = part(found, domain);
        let differs = |state: &usize| difference(&found, &self.parts[*state][domain as usize]);
        let states: Vec<usize> = (promised..=begun).filter(|state| differs(state).is_none()).collect();
        assert!(
            !states.is_empty(),
            "{context}, domain {domain}: in no state from {promised} to {begun}; the last: {:?}, any: {:?}",
            differs(&begun),
            (0..self.parts.len()).find(|state| differs(state).is_none())
        );
        states
    }

    /// Crashes at every event, alternately with nothing and with a random part of what was not
    /// safe, and with `more` further parts. Returns the number of crashes.
    pub(crate) fn crash_everywhere(&self, more: u64) -> u64 {
        let mut points = CrashPoints::new(&self.trace, self.image.clone(), BLOCK);
        let mut crashes = 0;
        // Of each number of cores.
        let mut last = [LastDisk::none(), LastDisk::none()];
        for events in 0..=self.trace.events() {
            points.advance(events);
            let is_nothing = points.doubtful() == 0 || events.is_multiple_of(2);
            if is_nothing {
                self.check_again(&points, events, Survival::Nothing, &mut last[cores_after(events) - 1]);
            } else {
                self.check(&points, events, Survival::Some(0));
            }
            let more = if points.doubtful() == 0 { 0 } else { more };
            for seed in 1..=more {
                self.check(&points, events, Survival::Some(seed));
            }
            crashes += 1 + more;
        }
        crashes
    }
}
