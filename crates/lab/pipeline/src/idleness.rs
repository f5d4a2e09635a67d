//! How idle the processors are during a run, as fio measures it: on each, a thread of the idle
//! class (`SCHED_IDLE`, sched(7)) does units of work, which it can do only while nothing else runs
//! there.
//!
//! ```text
//! calibrate: time of a unit alone ── begin ──▶ count units ── end ──▶ idle = units × time of a unit ÷ time
//! ```
//!
//! The threads start after the workers' processes, and are calibrated while the workers of the
//! first stage wait. Idle processors do not sleep then: figures of power, and latencies that depend
//! on sleep states, are not those of a run without these threads.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;

use iolab_clock::Clock;
use iolab_order::Arrange;
use iolab_recording::{CpuIdleness, Event, Idleness, State};
use iolab_runner::{RunObserver, Start, Wish};

/// Steps of a unit of work.
const UNIT_STEPS: usize = 4096;
/// A calibration is the shortest of so many times, of so many units each.
const CALIBRATIONS: u32 = 10;
const CALIBRATION_UNITS: u32 = 100;

/// The threads, one for each processor that this process may use.
#[derive(Debug)]
pub struct IdleThreads {
    calibrated: Receiver<io::Result<CpuIdleness>>,
    cpus: Vec<CpuIdleness>,
    wanted: usize,
    gate: Arc<Barrier>,
    has_ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<f64>>,
    clock: Clock,
    begun_ns: Option<u64>,
}

impl IdleThreads {
    /// Starts the threads, which calibrate themselves.
    ///
    /// # Errors
    /// A thread could not be started.
    pub fn calibrate() -> io::Result<IdleThreads> {
        let allowed = iolab_process::cpus_allowed();
        let gate = Arc::new(Barrier::new(allowed.len() + 1));
        let has_ended = Arc::new(AtomicBool::new(false));
        let (tell, calibrated) = channel();
        let mut threads = Vec::new();
        for &cpu in &allowed {
            let (tell, gate, has_ended) = (tell.clone(), Arc::clone(&gate), Arc::clone(&has_ended));
            let body = move || idle_thread(cpu, &tell, &gate, &has_ended);
            threads.push(std::thread::Builder::new().name("idle".to_owned()).spawn(body)?);
        }
        let wanted = allowed.len();
        let clock = Clock::monotonic();
        Ok(IdleThreads { calibrated, cpus: Vec::new(), wanted, gate, has_ended, threads, clock, begun_ns: None })
    }

    /// Whether all are calibrated.
    ///
    /// # Errors
    /// One could not be bound to its processor, or not be made idle.
    pub fn are_calibrated(&mut self) -> io::Result<bool> {
        while let Ok(cpu) = self.calibrated.try_recv() {
            self.cpus.push(cpu?);
        }
        Ok(self.cpus.len() == self.wanted)
    }

    /// Waits until all are calibrated, without watching anything.
    ///
    /// # Errors
    /// As [`IdleThreads::are_calibrated`].
    pub fn calibration_only(mut self) -> io::Result<Idleness> {
        while !self.are_calibrated()? {
            self.clock.sleep_until(self.clock.now_ns() + 1_000_000, 0);
        }
        self.begin();
        let mut idleness = self.end(false);
        idleness.cpus.iter_mut().for_each(|cpu| cpu.idle = 0.0);
        Ok(idleness)
    }

    /// From now on, the processors are watched.
    pub fn begin(&mut self) {
        self.begun_ns = Some(self.clock.now_ns());
        self.gate.wait();
    }

    /// Until now; the threads end.
    pub fn end(mut self, per_cpu: bool) -> Idleness {
        let ended_ns = self.clock.now_ns();
        self.has_ended.store(true, Ordering::Relaxed);
        let duration_ns = ended_ns.saturating_sub(self.begun_ns.unwrap_or(ended_ns)).max(1) as f64;
        let units: Vec<f64> = self.threads.into_iter().map(|thread| thread.join().unwrap_or(0.0)).collect();
        self.cpus.arrange_by_key(|cpu| cpu.cpu);
        for (cpu, units) in self.cpus.iter_mut().zip(units) {
            cpu.idle = (units * cpu.unit_ns / duration_ns).clamp(0.0, 1.0);
        }
        Idleness { per_cpu, cpus: self.cpus }
    }
}

/// The life of a thread. Returns how many units it has done.
fn idle_thread(cpu: usize, tell: &Sender<io::Result<CpuIdleness>>, gate: &Barrier, has_ended: &AtomicBool) -> f64 {
    let mut page = [0_u8; UNIT_STEPS];
    let prepared = iolab_process::set_cpus(&[cpu]).and_then(|()| {
        let unit_ns = time_of_a_unit(&mut page, has_ended);
        // The idle class only now, so that the calibration is not disturbed.
        iolab_process::set_idle()?;
        Ok(CpuIdleness { cpu: cpu as u32, unit_ns, idle: 0.0 })
    });
    let is_ready = prepared.is_ok();
    if tell.send(prepared).is_err() || !is_ready {
        return 0.0;
    }
    gate.wait();
    let mut units = 0.0;
    for turn in 0.. {
        let steps = unit(&mut page, turn, has_ended);
        units += steps as f64 / UNIT_STEPS as f64;
        if steps < UNIT_STEPS {
            break;
        }
    }
    units
}

fn time_of_a_unit(page: &mut [u8; UNIT_STEPS], has_ended: &AtomicBool) -> f64 {
    let clock = Clock::monotonic();
    let times = (0..CALIBRATIONS).map(|_| {
        let begun_ns = clock.now_ns();
        for turn in 0..CALIBRATION_UNITS {
            unit(page, turn as usize, has_ended);
        }
        clock.now_ns().saturating_sub(begun_ns)
    });
    times.min().unwrap_or(0) as f64 / f64::from(CALIBRATION_UNITS)
}

/// One unit of work, or its beginning if the end comes first. Returns how many steps were done.
fn unit(page: &mut [u8; UNIT_STEPS], turn: usize, has_ended: &AtomicBool) -> usize {
    for step in 0..UNIT_STEPS {
        page[(step + turn) % UNIT_STEPS] = step as u8;
        if black_box(has_ended).load(Ordering::Relaxed) {
            return step;
        }
    }
    black_box(page);
    UNIT_STEPS
}

/// An observer that measures how idle the processors are, and passes everything on.
pub struct IdlenessObserver<'a> {
    inner: &'a mut dyn RunObserver,
    per_cpu: bool,
    phase: Phase,
}

enum Phase {
    Planned,
    Calibrating(IdleThreads),
    Watching(IdleThreads),
    Ended(Result<Idleness, String>),
}

impl<'a> IdlenessObserver<'a> {
    /// Puts it before `inner`.
    pub fn new(inner: &'a mut dyn RunObserver, per_cpu: bool) -> IdlenessObserver<'a> {
        IdlenessObserver { inner, per_cpu, phase: Phase::Planned }
    }

    /// What was measured.
    ///
    /// # Errors
    /// Why nothing was.
    pub fn finish(self) -> Result<Idleness, String> {
        match self.phase {
            Phase::Watching(threads) => Ok(threads.end(self.per_cpu)),
            Phase::Ended(result) => result,
            Phase::Planned | Phase::Calibrating(_) => Err("idleness was not measured: no operation began".to_owned()),
        }
    }

    fn next(&mut self, is_begun: bool, is_over: bool) -> Phase {
        match std::mem::replace(&mut self.phase, Phase::Planned) {
            Phase::Planned => match IdleThreads::calibrate() {
                Ok(threads) => Phase::Calibrating(threads),
                Err(error) => not_measured(&error),
            },
            Phase::Calibrating(mut threads) => match threads.are_calibrated() {
                Ok(true) if is_begun => {
                    threads.begin();
                    Phase::Watching(threads)
                }
                Ok(_) => Phase::Calibrating(threads),
                Err(error) => not_measured(&error),
            },
            Phase::Watching(threads) if is_over => Phase::Ended(Ok(threads.end(self.per_cpu))),
            later => later,
        }
    }
}

fn not_measured(error: &io::Error) -> Phase {
    Phase::Ended(Err(format!("idleness was not measured: {error}")))
}

impl RunObserver for IdlenessObserver<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        match event {
            Event::Begun { .. } => self.phase = self.next(true, false),
            Event::Progress(progress) if matches!(self.phase, Phase::Watching(_)) => {
                let is_over = progress.workers.iter().all(|worker| worker.state == State::Done);
                self.phase = self.next(false, is_over);
            }
            _ => {}
        }
        self.inner.take(event)
    }

    fn follows_intervals(&self) -> bool {
        self.inner.follows_intervals()
    }

    fn start(&mut self) -> Start {
        self.phase = self.next(false, false);
        match &mut self.phase {
            Phase::Calibrating(threads) if threads.cpus.len() < threads.wanted => Start::Later,
            _ => self.inner.start(),
        }
    }

    fn wear_out(&mut self, job: &str, reached: u64) -> Option<u64> {
        self.inner.wear_out(job, reached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_processor_is_calibrated_and_watched() {
        let calibrated = IdleThreads::calibrate().unwrap().calibration_only().unwrap();
        let numbers: Vec<usize> = calibrated.cpus.iter().map(|cpu| cpu.cpu as usize).collect();
        assert_eq!(numbers, iolab_process::cpus_allowed());
        assert!(calibrated.cpus.iter().all(|cpu| cpu.unit_ns > 0.0 && cpu.idle == 0.0), "{calibrated:?}");
        let mut threads = IdleThreads::calibrate().unwrap();
        while !threads.are_calibrated().unwrap() {
            std::thread::yield_now();
        }
        threads.begin();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let watched = threads.end(true);
        assert!(watched.per_cpu && watched.cpus.iter().all(|cpu| (0.0..=1.0).contains(&cpu.idle)), "{watched:?}");
    }

    #[test]
    fn a_unit_ends_early_only_at_the_end() {
        let mut page = [0; UNIT_STEPS];
        assert_eq!(unit(&mut page, 3, &AtomicBool::new(false)), UNIT_STEPS);
        assert_eq!((page[3], page[4], page[2]), (0, 1, 255));
        assert_eq!(unit(&mut page, 0, &AtomicBool::new(true)), 0);
    }
}
