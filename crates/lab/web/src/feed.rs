//! Follows a run: reads what it appends to its partial recording, and makes the parts of its page.
//!
//! One thread for each run that somebody looks at, however many do. It looks at the length of the
//! file, and reads only what is new. Making the parts takes longer the longer the run is: the time
//! between two of them is at least [`REST`] times that, so that little of a processor is used.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use iolab_archive::run_files::title_in_study;
use iolab_archive::running::{RunReader, RunningFile};
use iolab_clock::Clock;
use iolab_html::web::{LivePart, live_parts};
use iolab_recording::Recording;
use tokio::sync::watch;

const LOOK_NS: u64 = 40_000_000;
/// Shortest time between two states, ns.
const LEAST_NS: u64 = 150_000_000;
const REST: u64 = 10;
/// A run that nobody has looked at for so long is not followed any more, ns.
const PATIENCE_NS: u64 = 20_000_000_000;

/// What is known of a run.
#[derive(Debug)]
pub(crate) struct FeedState {
    pub(crate) parts: Vec<LivePart>,
    /// The names of its jobs; of a trial of a study, its configuration and its block.
    pub(crate) title: String,
    pub(crate) begun_unix_ns: Option<u64>,
    /// Of the run so far, with its findings.
    pub(crate) recording: Option<Recording>,
    /// When what is new in it was found in the file, ms since the Unix epoch.
    pub(crate) found_unix_ms: u64,
    /// When the newest interval ended, ms since the Unix epoch; 0 before the first.
    pub(crate) interval_ended_unix_ms: u64,
    pub(crate) has_ended: bool,
}

/// A run that is followed.
#[derive(Debug, Clone)]
pub(crate) struct Feed {
    pub(crate) states: watch::Receiver<Arc<FeedState>>,
    is_alive: Arc<AtomicBool>,
}

impl Feed {
    /// Follows a run from now on; `None` if its file cannot be read.
    pub(crate) fn begin(run: &RunningFile) -> Option<Feed> {
        let mut follower = Follower::open(run)?;
        follower.read();
        let (sender, states) = watch::channel(Arc::new(follower.state(false)));
        let is_alive = Arc::new(AtomicBool::new(true));
        let alive = Arc::clone(&is_alive);
        let thread = std::thread::Builder::new().name("iolab-feed".to_owned()).spawn(move || {
            follower.follow(&sender);
            alive.store(false, Ordering::Release);
        });
        thread.ok().map(|_| Feed { states, is_alive })
    }

    /// Whether its thread still follows.
    pub(crate) fn is_alive(&self) -> bool {
        self.is_alive.load(Ordering::Acquire)
    }

    /// The state as of now.
    pub(crate) fn now(&self) -> Arc<FeedState> {
        Arc::clone(&self.states.borrow())
    }
}

/// The reader of one partial recording.
struct Follower {
    reader: RunReader,
    /// What it is within a study, if it is a trial.
    in_study: Option<String>,
    clock: Clock,
    found_unix_ms: u64,
}

impl Follower {
    fn open(run: &RunningFile) -> Option<Follower> {
        let reader = RunReader::open(&run.path)?;
        let in_study = title_in_study(&run.path);
        Some(Follower { reader, in_study, clock: Clock::monotonic(), found_unix_ms: 0 })
    }

    /// Reads what is new. Returns whether that changes anything.
    fn read(&mut self) -> bool {
        let has_changed = self.reader.read();
        if has_changed {
            self.found_unix_ms = self.clock.unix_ns() / 1_000_000;
        }
        has_changed
    }

    fn state(&self, has_ended: bool) -> FeedState {
        let mut recording = self.reader.growing.recording();
        if let Some(recording) = &mut recording {
            recording.findings = iolab_findings::find(recording);
            recording.warnings.extend(self.reader.trouble.clone());
        }
        let parts =
            recording.as_ref().map_or(Vec::new(), |recording| live_parts(recording, &self.reader.growing.latest()));
        let mut names: Vec<&str> = Vec::new();
        for worker in self.reader.growing.start().iter().flat_map(|start| &start.plan.workers) {
            if !names.contains(&worker.job.as_str()) {
                names.push(&worker.job);
            }
        }
        let title = self.in_study.clone().unwrap_or_else(|| names.join(", "));
        let begun_unix_ns = self.reader.growing.begun_unix_ns();
        let latest = self.reader.growing.latest();
        let ends = latest.iter().map(|(_, interval)| interval.start_ns + interval.length_ns);
        let newest_ns = begun_unix_ns.zip(ends.max()).map_or(0, |(begun_ns, end_ns)| begun_ns + end_ns);
        FeedState {
            parts,
            title,
            begun_unix_ns,
            recording,
            found_unix_ms: self.found_unix_ms,
            interval_ended_unix_ms: newest_ns / 1_000_000,
            has_ended,
        }
    }

    fn follow(mut self, sender: &watch::Sender<Arc<FeedState>>) {
        let (mut next_ns, mut is_due) = (0, false);
        let mut seen_ns = self.clock.now_ns();
        loop {
            // In this order: what a run appended before it ended is read.
            let goes_on = self.reader.goes_on();
            is_due |= self.read();
            let now_ns = self.clock.now_ns();
            if !goes_on || is_due && now_ns >= next_ns {
                sender.send_replace(Arc::new(self.state(!goes_on)));
                is_due = false;
                let took_ns = self.clock.now_ns().saturating_sub(now_ns);
                next_ns = now_ns + LEAST_NS.max(took_ns * REST);
            }
            // One receiver is the site's own.
            if sender.receiver_count() > 1 {
                seen_ns = now_ns;
            }
            if !goes_on || self.reader.trouble.is_some() || now_ns > seen_ns + PATIENCE_NS {
                return;
            }
            self.clock.sleep_until(now_ns + LOOK_NS, 0);
        }
    }
}
