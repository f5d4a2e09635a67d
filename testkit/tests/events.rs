//! What those who follow a run are told: everything, in order, and intervals to those who ask.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU32;

use iolab_clock::Clock;
use iolab_guard::{Guard, GuardRules};
use iolab_observe::System;
use iolab_recording::partial::Partial;
use iolab_recording::{HostFacts, IntervalLatencies, Recording, Redaction};
use iolab_runner::{Event, RunObserver, RunRequest, Start, State, Wish};
use iolab_testkit::simulated::{Fate, make_device};
use iolab_testkit::whole_run::{ENGINES, plan, try_run};

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// Keeps what it is told.
#[derive(Default)]
struct Follower {
    follows_intervals: bool,
    words: Vec<&'static str>,
    states: BTreeMap<u32, Vec<State>>,
    intervals: BTreeMap<u32, Vec<IntervalLatencies>>,
    so_far: Vec<u64>,
    asked: bool,
}

impl RunObserver for Follower {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        match event {
            Event::StateChanged { worker, state } => self.states.entry(*worker).or_default().push(*state),
            Event::IntervalEnded { worker, interval } => {
                self.intervals.entry(*worker).or_default().push((*interval).clone());
            }
            Event::SoFar(recording) => self.so_far.push(recording.elapsed_ns),
            // The first is told before any worker begins; how many follow depends on the machine.
            Event::Progress(_) if !std::mem::replace(&mut self.asked, true) => return Wish::SoFar,
            Event::Progress(_) => {}
            Event::Planned(_) => self.words.push("planned"),
            Event::Begun { .. } => self.words.push("begun"),
            Event::WorkerEnded(_) => self.words.push("ended"),
            Event::LaidOut { .. } | Event::Observed(_) => {}
        }
        Wish::Nothing
    }

    fn follows_intervals(&self) -> bool {
        self.follows_intervals
    }
}

/// Runs two workers, with a partial recording at a path, and gives that back, too.
fn followed(device: &str, follower: &mut Follower) -> (Recording, Vec<u8>) {
    let clock = Clock::simulated(S);
    make_device(device, &clock, |_, _| Fate::Served(MS));
    let plan = plan(&format!(
        "[a]\nfilename={device}\nrw=randread\nsize=1g\nnumjobs=2\ntime_based\nruntime=2\ninterval=100ms\n"
    ));
    let path = tempfile::NamedTempFile::new().unwrap();
    let stream = std::fs::OpenOptions::new().read(true).append(true).open(path.path()).unwrap();
    let interrupts = AtomicU32::new(0);
    let result = iolab_runner::run(RunRequest {
        supply: None,
        telling: None,
        plan: &plan,
        engines: ENGINES,
        guard: Guard::new(&System::live(), GuardRules::default()),
        host: HostFacts::default(),
        clock,
        spool_folder: std::env::temp_dir(),
        stream: Some(stream),
        redaction: &Redaction::default(),
        interrupts: &interrupts,
        observer: follower,
    });
    (result.unwrap().recording, std::fs::read(path.path()).unwrap())
}

#[test]
fn a_run_is_told_from_its_plan_to_the_end_of_its_workers() {
    let mut follower = Follower { follows_intervals: true, ..Follower::default() };
    let (recording, file) = followed("followed", &mut follower);
    assert_eq!(follower.words, ["planned", "begun", "ended", "ended"]);
    assert_eq!(follower.so_far.len(), 1);
    for (number, states) in &follower.states {
        assert!(states.is_sorted() && states.last() == Some(&State::Done), "worker {number}: {states:?}");
    }
    assert_eq!(follower.states.len(), 2);
    // The file holds the same events.
    let partial = Partial::read(&file).unwrap();
    assert!(partial.damage.is_none());
    let kept = partial.into_recording();
    // Each worker moves the simulated time on. One that is given no processor has few intervals of
    // its own.
    assert!(recording.workers.iter().any(|worker| worker.interval_latencies.len() >= 10));
    for worker in &recording.workers {
        assert!(follower.intervals[&worker.number] == worker.interval_latencies, "worker {}", worker.number);
        assert!(kept.workers[worker.number as usize].interval_latencies == worker.interval_latencies);
    }
}

#[test]
fn who_does_not_ask_is_not_told_of_intervals() {
    let mut follower = Follower::default();
    let (recording, _) = followed("unfollowed", &mut follower);
    assert!(follower.intervals.is_empty() && !recording.workers[0].interval_latencies.is_empty());
}

/// Lets workers begin when it has been asked some times, at a moment that it names then.
struct Starter {
    clock: Clock,
    asked: u32,
    at_unix_ns: u64,
    begun_unix_ns: Vec<u64>,
    began_unasked: bool,
}

impl RunObserver for Starter {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        match event {
            Event::Begun { unix_ns } => self.begun_unix_ns.push(*unix_ns),
            Event::Progress(progress) if self.begun_unix_ns.is_empty() => {
                self.began_unasked |= progress.workers.iter().any(|worker| worker.state > State::Ready);
            }
            _ => {}
        }
        Wish::Nothing
    }

    fn start(&mut self) -> Start {
        self.asked += 1;
        if self.asked < 4 {
            return Start::Later;
        }
        self.at_unix_ns = self.clock.unix_ns() + 700 * MS;
        Start::At(self.at_unix_ns)
    }
}

#[test]
fn ready_workers_wait_until_they_may_begin_and_later_stages_do_not_ask() {
    let clock = Clock::simulated(S);
    make_device("held back", &clock, |_, _| Fate::Served(MS));
    let plan = plan(
        "[a]\nfilename=held back\nrw=randread\nsize=1m\nnumjobs=2\n[b]\nstonewall\nfilename=held back\nrw=randread\nsize=1m\n",
    );
    let mut starter =
        Starter { clock: clock.clone(), asked: 0, at_unix_ns: 0, begun_unix_ns: Vec::new(), began_unasked: false };
    let recording = try_run(&plan, &clock, &AtomicU32::new(0), &mut starter).unwrap().recording;
    assert_eq!(starter.asked, 4);
    assert!(!starter.began_unasked);
    assert_eq!(starter.begun_unix_ns, [starter.at_unix_ns], "not before its moment");
    assert!(recording.workers.iter().all(|worker| worker.directions[0].ios == 256));
}
