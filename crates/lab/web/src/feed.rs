//! Follows a run: reads what it appends to its partial recording, and makes the parts of its page.
//!
//! ```text
//!  run ── partial recording ──▶ Follower ──▶ rates and latencies: after each interval ──▶ readers
//!                                       └──▶ findings, charts, devices: as allowed    ──▶
//! ```
//!
//! As long as somebody reads its events, a run has one thread, however many readers there are. It
//! sleeps until the run has written something. Charts cost more the longer the run is: they are
//! drawn as often as the [`Allowance`] permits. Without readers, a run is read when somebody asks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use iolab_archive::run_files::title_in_study;
use iolab_archive::running::{Allowance, RunReader, RunWatch, RunningFile};
use iolab_clock::{Clock, thread_processor_ns};
use iolab_html::web::{LivePart, live_course, live_now};
use iolab_recording::Recording;
use tokio::sync::watch;

/// Shortest time between two states, ns.
const LEAST_NS: u64 = 250_000_000;
/// Longest time between two looks whether there are readers, and usual time between two states when
/// no interval ends: the machine is observed more often, ns.
const LOOK_NS: u64 = 1_000_000_000;
/// Workers end their intervals together: what they write within this time is one change, ns.
const TOGETHER_NS: u64 = 5_000_000;

/// What is known of a run.
#[derive(Debug)]
pub(crate) struct FeedState {
    pub(crate) parts: Vec<LivePart>,
    /// The names of its jobs; of a trial of a study, its configuration and its block.
    pub(crate) title: String,
    pub(crate) begun_unix_ns: Option<u64>,
    /// When what is new in it was found in the file, ms since the Unix epoch.
    pub(crate) found_unix_ms: u64,
    /// When the newest interval ended, ms since the Unix epoch; 0 before the first.
    pub(crate) interval_ended_unix_ms: u64,
    pub(crate) has_ended: bool,
}

type States = watch::Receiver<Arc<FeedState>>;

/// A run that is followed.
#[derive(Debug, Clone)]
pub(crate) struct Feed {
    follower: Arc<Mutex<Follower>>,
    /// What the thread sends, as long as there is one.
    states: Arc<Mutex<Option<States>>>,
}

impl Feed {
    /// Follows a run from now on; `None` if its file cannot be read.
    pub(crate) fn begin(run: &RunningFile) -> Option<Feed> {
        let follower = Arc::new(Mutex::new(Follower::open(run)?));
        Some(Feed { follower, states: Arc::default() })
    }

    fn follower(&self) -> MutexGuard<'_, Follower> {
        self.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known_states(&self) -> MutexGuard<'_, Option<States>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the run goes on, and its file is sound.
    pub(crate) fn is_alive(&self) -> bool {
        let follower = self.follower();
        follower.reader.goes_on() && follower.reader.trouble.is_none()
    }

    /// The run so far, with its findings; `None` before its plan is known.
    pub(crate) fn recording(&self) -> Option<Recording> {
        let mut follower = self.follower();
        follower.read();
        follower.recording()
    }

    /// The names of its jobs, and when it began.
    pub(crate) fn head(&self) -> (String, Option<u64>) {
        let mut follower = self.follower();
        follower.read();
        (follower.title(), follower.reader.growing.begun_unix_ns())
    }

    /// The state as of now, with all parts.
    pub(crate) fn now(&self) -> FeedState {
        let mut follower = self.follower();
        follower.read();
        follower.draw();
        follower.state(false)
    }

    /// The state that a reader gets first. Charts are those of its page, if it has one.
    fn beginning(&self) -> FeedState {
        let mut follower = self.follower();
        follower.read();
        if follower.course.is_empty() {
            follower.draw();
        }
        follower.state(false)
    }

    /// The states from now on.
    pub(crate) fn states(&self) -> States {
        let mut states = self.known_states();
        if let Some(known) = states.as_ref().filter(|known| known.has_changed().is_ok()) {
            return known.clone();
        }
        let (sender, receiver) = watch::channel(Arc::new(self.beginning()));
        *states = Some(receiver.clone());
        let feed = self.clone();
        // Without a thread, the sender is gone: the reader is told that this was all.
        let _ = std::thread::Builder::new().name("iolab-feed".to_owned()).spawn(move || feed.follow(&sender));
        receiver
    }

    /// Sends states until the run ends or nobody reads them.
    fn follow(&self, sender: &watch::Sender<Arc<FeedState>>) {
        let clock = Clock::monotonic();
        let watch = RunWatch::begin(&self.follower().reader);
        let mut sent_ns = 0;
        loop {
            let now_ns = clock.now_ns();
            let mut follower = self.follower();
            // In this order: what a run appended before it ended is read.
            let goes_on = follower.reader.goes_on();
            follower.read();
            let rest_ns = follower.allowance.rest_ns(now_ns);
            let has_news = follower.has_news();
            let is_time = has_news || now_ns >= sent_ns + LOOK_NS;
            let is_drawn = (is_time && rest_ns == 0 || !goes_on) && follower.draw();
            let is_sent = has_news || is_drawn || !goes_on;
            if is_sent {
                sent_ns = now_ns;
                sender.send_replace(Arc::new(follower.state(!goes_on)));
            }
            let is_over = !goes_on || follower.reader.trouble.is_some();
            let longest_ns = if follower.is_behind { rest_ns.clamp(LEAST_NS, LOOK_NS) } else { LOOK_NS };
            drop(follower);
            if is_over || self.has_no_readers(sender) {
                return;
            }
            if is_sent {
                clock.sleep_until(now_ns + LEAST_NS, 0);
            }
            watch.wait(longest_ns);
            clock.sleep_until(clock.now_ns() + TOGETHER_NS, 0);
        }
    }

    /// Whether nobody receives what is sent. If so, the next reader gets a thread of its own.
    fn has_no_readers(&self, sender: &watch::Sender<Arc<FeedState>>) -> bool {
        let mut states = self.known_states();
        // One receiver is the feed's.
        let is_alone = sender.receiver_count() <= 1;
        if is_alone {
            *states = None;
        }
        is_alone
    }
}

/// The reader of one partial recording.
#[derive(Debug)]
struct Follower {
    reader: RunReader,
    /// What it is within a study, if it is a trial.
    in_study: Option<String>,
    clock: Clock,
    found_unix_ms: u64,
    /// What was told last: whether it has begun, its intervals, its workers that have ended.
    known: (bool, u64, usize),
    /// The parts that are drawn as allowed.
    course: Vec<LivePart>,
    /// The run has gone on since they were drawn.
    is_behind: bool,
    allowance: Allowance,
}

impl Follower {
    fn open(run: &RunningFile) -> Option<Follower> {
        let reader = RunReader::open(&run.path)?;
        let in_study = title_in_study(&run.path);
        Some(Follower {
            reader,
            in_study,
            clock: Clock::monotonic(),
            found_unix_ms: 0,
            known: (false, 0, 0),
            course: Vec::new(),
            is_behind: true,
            allowance: Allowance::default(),
        })
    }

    /// Reads what is new.
    fn read(&mut self) {
        if self.reader.read() {
            self.found_unix_ms = self.clock.unix_ns() / 1_000_000;
            self.is_behind = true;
        }
    }

    /// Whether the run has begun, an interval or a worker has ended, or the file turned out to be
    /// damaged, since this was asked last.
    fn has_news(&mut self) -> bool {
        let growing = &self.reader.growing;
        let known = (growing.begun_unix_ns().is_some(), growing.intervals(), growing.ended().count());
        std::mem::replace(&mut self.known, known) != known || self.reader.trouble.is_some()
    }

    fn recording(&self) -> Option<Recording> {
        let mut recording = self.reader.growing.recording()?;
        recording.findings = iolab_findings::find(&recording);
        recording.warnings.extend(self.reader.trouble.clone());
        Some(recording)
    }

    fn title(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for worker in self.reader.growing.start().iter().flat_map(|start| &start.plan.workers) {
            if !names.contains(&worker.job.as_str()) {
                names.push(&worker.job);
            }
        }
        self.in_study.clone().unwrap_or_else(|| names.join(", "))
    }

    fn state(&self, has_ended: bool) -> FeedState {
        let totals = self.reader.growing.totals();
        let latest = self.reader.growing.latest();
        let now = totals.as_ref().map(|totals| live_now(totals, &latest));
        let parts = now.into_iter().chain(self.course.iter().cloned()).collect();
        let begun_unix_ns = self.reader.growing.begun_unix_ns();
        let ends = latest.iter().map(|(_, interval)| interval.start_ns + interval.length_ns);
        let newest_ns = begun_unix_ns.zip(ends.max()).map_or(0, |(begun_ns, end_ns)| begun_ns + end_ns);
        FeedState {
            parts,
            title: self.title(),
            begun_unix_ns,
            found_unix_ms: self.found_unix_ms,
            interval_ended_unix_ms: newest_ns / 1_000_000,
            has_ended,
        }
    }

    /// Makes the findings, the charts and the devices again if the run has gone on since. Returns
    /// whether it has.
    fn draw(&mut self) -> bool {
        let begun_ns = thread_processor_ns();
        let is_behind = std::mem::take(&mut self.is_behind);
        if is_behind {
            self.course = self.recording().map_or(Vec::new(), |recording| live_course(&recording));
            self.allowance.take(self.clock.now_ns(), thread_processor_ns().saturating_sub(begun_ns));
        }
        is_behind
    }
}
