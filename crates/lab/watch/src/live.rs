//! `iolab run --live`: the full screen of `iolab watch` during a run, with the run's jobs beside
//! its devices.
//!
//! Everything on it comes from the events of the run: nothing is read a second time, and nobody
//! asks the runner. Keys are looked at when events arrive, about ten times a second. The screen
//! opens when the workers have been forked, and leaves the terminal as it was.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::rc::Rc;
use std::time::Duration;

use iolab_iostat::DataUnit;
use iolab_plan::Plan;
use iolab_recording::{Observations, Progress};
use iolab_runner::{Event, RunObserver, Start, Wish};
use ratatui::crossterm::event::{self, Event as TerminalEvent, KeyCode, KeyEventKind, KeyModifiers};
use rustix::process::{Signal, kill_current_process_group};

use crate::looks::Look;
use crate::request::WatchError;
use crate::screen::state::{Key, State};
use crate::screen::work::Work;
use crate::screen::{draw, key};

/// Says where a run stands: how far it is, and when it will end.
type Standing = fn(&Plan, &Progress) -> String;

/// An observer that shows a run on the whole terminal, and passes events on to another one.
pub struct LiveScreen<'a> {
    inner: &'a mut dyn RunObserver,
    plan: &'a Plan,
    standing: Standing,
    /// Whether the terminal is taken, for those who would write a line on it.
    covers: Rc<Cell<bool>>,
    state: State,
    settings: BTreeMap<String, BTreeMap<String, String>>,
    has_begun: bool,
    terminal: Option<ratatui::DefaultTerminal>,
    /// The user has left the screen, or it cannot be shown.
    is_closed: bool,
    /// What could not be done with the terminal.
    trouble: Option<String>,
}

impl<'a> LiveScreen<'a> {
    /// Puts the screen before `inner`, which is told everything. It sets `covers` while it has the
    /// terminal.
    ///
    /// # Errors
    /// There is no terminal.
    pub fn new(
        plan: &'a Plan,
        standing: Standing,
        covers: Rc<Cell<bool>>,
        inner: &'a mut dyn RunObserver,
    ) -> Result<LiveScreen<'a>, WatchError> {
        if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
            return Err(WatchError::Mistake(
                "--live needs a terminal: leave it out, or use --web for a page in a browser".to_owned(),
            ));
        }
        let mut screen = LiveScreen::closed(plan, standing, covers, inner);
        screen.is_closed = false;
        Ok(screen)
    }

    /// A screen that is never shown: events are only passed on.
    pub fn closed(
        plan: &'a Plan,
        standing: Standing,
        covers: Rc<Cell<bool>>,
        inner: &'a mut dyn RunObserver,
    ) -> LiveScreen<'a> {
        let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
        let mut state = State::new(host, DataUnit::Megabytes);
        state.work = Some(Work::new(plan, true));
        let is_traced = plan.workers.iter().any(|worker| worker.measurement.trace_block);
        state.untraced = (!is_traced).then(|| "the job has no trace_block=1".to_owned());
        let (settings, terminal, trouble) = (BTreeMap::new(), None, None);
        LiveScreen {
            inner,
            plan,
            standing,
            covers,
            state,
            settings,
            has_begun: false,
            terminal,
            is_closed: true,
            trouble,
        }
    }

    /// Closes the screen after the run. Returns what could not be shown.
    pub fn finish(mut self) -> Option<String> {
        self.close();
        self.trouble.take()
    }

    fn close(&mut self) {
        if self.terminal.take().is_some() {
            ratatui::restore();
        }
        self.covers.set(false);
        self.is_closed = true;
    }

    /// Takes what an event says.
    fn see(&mut self, event: &Event<'_>) {
        let Some(work) = self.state.work.as_mut().filter(|_| !self.is_closed) else { return };
        match event {
            Event::IntervalEnded { worker, interval } => work.interval(*worker, interval),
            Event::Observed(news) => self.observed(news),
            Event::Progress(progress) => {
                work.standing = (self.standing)(self.plan, progress);
                work.progress(self.plan, progress);
            }
            _ => {}
        }
    }

    /// Each sample is a look at the devices. The first one only says where the counters stood.
    fn observed(&mut self, news: &Observations) {
        for device in &news.devices {
            if !device.settings.is_empty() {
                self.settings.insert(device.name.clone(), device.settings.clone());
            }
        }
        for look in looks_of(news) {
            if self.has_begun {
                let settings = &self.settings;
                self.state.take(look, |device| settings.get(device).cloned().unwrap_or_default());
            } else {
                self.state.begin(look);
                self.has_begun = true;
            }
        }
    }

    /// Draws, and handles the keys pressed since.
    fn show(&mut self) -> std::io::Result<()> {
        if self.terminal.is_none() {
            self.terminal = Some(ratatui::try_init()?);
            self.covers.set(true);
        }
        while event::poll(Duration::ZERO)? {
            let TerminalEvent::Key(pressed) = event::read()? else { continue };
            if pressed.kind == KeyEventKind::Release {
                continue;
            }
            if pressed.modifiers.contains(KeyModifiers::CONTROL) && pressed.code == KeyCode::Char('c') {
                // What the terminal would have done, were it not in raw mode.
                let _ = kill_current_process_group(Signal::INT);
            } else if key(pressed.code) != Key::Pause && !self.state.press(key(pressed.code)) {
                self.close();
                return Ok(());
            }
        }
        if let Some(terminal) = &mut self.terminal {
            terminal.draw(|frame| draw::screen(frame, &self.state))?;
        }
        Ok(())
    }
}

/// The samples as looks, the earliest first. A device has one sample in each round, as the machine
/// has.
fn looks_of(news: &Observations) -> Vec<Look> {
    let rounds = news.devices.iter().map(|device| device.samples.len()).max().unwrap_or(0).max(news.host.len());
    let look = |round: usize| {
        let samples = news.devices.iter().filter_map(|device| Some((device.name.clone(), *device.samples.get(round)?)));
        let requests =
            news.devices.iter().filter_map(|device| Some((device.name.clone(), device.requests.get(round)?.clone())));
        let host = news.host.get(round).cloned();
        Look { host, devices: samples.collect(), requests: requests.collect(), ..Look::default() }
    };
    (0..rounds).map(look).collect()
}

impl RunObserver for LiveScreen<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        self.see(event);
        let is_time = matches!(event, Event::Progress(_)) && !self.is_closed;
        if is_time && let Err(error) = self.show() {
            // The run is worth more than the screen.
            self.close();
            self.trouble = Some(format!("the live screen was closed: drawing on the terminal: {error}"));
        }
        self.inner.take(event)
    }

    fn follows_intervals(&self) -> bool {
        !self.is_closed || self.inner.follows_intervals()
    }

    fn start(&mut self) -> Start {
        self.inner.start()
    }

    fn wear_out(&mut self, job: &str, reached: u64) -> Option<u64> {
        self.inner.wear_out(job, reached)
    }
}

impl Drop for LiveScreen<'_> {
    /// A run that fails leaves the terminal as it was.
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use iolab_recording::{DeviceCounters, DeviceSample, DeviceSeries, WorkerProgress};
    use iolab_runner::State as WorkerState;

    use super::*;
    use crate::screen::work::tests::{interval, plan};

    #[derive(Default)]
    struct Counting(usize);

    impl RunObserver for Counting {
        fn take(&mut self, _: &Event<'_>) -> Wish {
            self.0 += 1;
            Wish::SoFar
        }
    }

    fn observed(second: u64) -> Observations {
        let counters = DeviceCounters { read_ios: 1000 + 50 * second, ..DeviceCounters::default() };
        let sample = DeviceSample { at_ns: second * 1_000_000_000, counters, ..DeviceSample::default() };
        let device = DeviceSeries { name: "sda".to_owned(), samples: vec![sample], ..DeviceSeries::default() };
        Observations { devices: vec![device], ..Observations::default() }
    }

    #[test]
    fn events_become_what_is_shown_and_the_first_sample_is_no_figure() {
        let (plan, mut counting) = (plan(), Counting::default());
        let mut screen = LiveScreen::closed(&plan, |_, _| "half".to_owned(), Rc::default(), &mut counting);
        screen.is_closed = false;
        for second in 0..3 {
            screen.see(&Event::Observed(&observed(second)));
            screen.see(&Event::IntervalEnded { worker: 0, interval: &interval(second, 70) });
        }
        let device = &screen.state.devices[0];
        assert_eq!((device.course.len(), device.value_of("r/s")), (2, 50.0), "1000 reads came before the run");
        let work = screen.state.work.as_ref().expect("a run");
        assert_eq!(work.latest(&work.jobs[0]).map(|point| point.ios), Some(70));
        let worker = WorkerProgress { state: WorkerState::Running, ios: [0; 3], bytes: [0; 3], measured_ns: 0 };
        screen.see(&Event::Progress(&Progress { elapsed_ns: 1, workers: vec![worker; 3] }));
        assert_eq!(screen.state.work.as_ref().map(|work| work.standing.as_str()), Some("half"));
    }

    #[test]
    fn a_closed_screen_only_passes_on() {
        let (plan, mut counting) = (plan(), Counting::default());
        let covers = Rc::new(Cell::new(false));
        let mut screen = LiveScreen::closed(&plan, |_, _| String::new(), Rc::clone(&covers), &mut counting);
        assert!(!screen.follows_intervals(), "reading intervals back costs time");
        let progress = Progress { elapsed_ns: 1, workers: Vec::new() };
        assert_eq!(screen.take(&Event::Progress(&progress)), Wish::SoFar);
        assert!(!covers.get() && screen.finish().is_none());
        assert_eq!(counting.0, 1);
    }
}
