//! Samples the block devices and the machine during a run, on the run's clock.
//!
//! The supervisor takes samples, never a worker, so operations are not affected. Samples are taken
//! at common times of the whole run, `k × interval` after its start, and one at either end; a
//! missed time is skipped, not made up for. Each sample also goes into the partial recording, so
//! that a killed run keeps all but the last. Between samples, the events of traced requests are
//! fetched before their rings are full.

use std::path::PathBuf;

use iolab_block_trace::Tracer;
use iolab_clock::Clock;
use iolab_observe::{BlockDeviceFacts, NetworkSampler, Sampler, System, descendants};
use iolab_plan::{Plan, Reach};
use iolab_recording::Observations;

/// Takes what each sample saw, as [`Observations::append`] does.
pub type ObservationSink<'a> = &'a mut dyn FnMut(&Observations);

/// The samples of one run.
#[derive(Debug)]
pub struct Sampling {
    sampler: Sampler,
    /// Everything seen.
    observations: Observations,
    /// The last sample; kept for its allocations.
    news: Observations,
    tracer: Option<Tracer>,
    network: Option<NetworkSampler>,
    origin_ns: u64,
    /// When the next sample is due, and when to fetch events next.
    next_ns: u64,
    next_fetch_ns: u64,
    /// Why requests are not traced although they should be.
    trouble: Option<String>,
}

/// A ring of events holds what a fast device does in about this time.
const FETCH_EVERY_NS: u64 = 20_000_000;

impl Sampling {
    /// Opens what the plan wants sampled, if anything. A simulated run has no samples: the counters
    /// of this machine follow another clock.
    pub(crate) fn open(plan: &Plan, system: &System, paths: &[PathBuf], clock: &Clock) -> Option<Sampling> {
        if clock.is_simulated() {
            return None;
        }
        let intervals = plan.workers.iter().map(|worker| worker.measurement.sample_interval_ns);
        let interval_ns = intervals.filter(|interval_ns| *interval_ns > 0).min()?;
        let traced = plan.workers.iter().any(|worker| worker.measurement.trace_block);
        let mut sampling = Sampling::of_devices(&system.devices_under(paths), interval_ns, traced, system, clock);
        sampling.network = network_of(plan, system, paths);
        Some(sampling)
    }

    /// Opens these devices, and the machine; `traced` follows every request, where that can be
    /// done.
    pub fn of_devices(
        devices: &[BlockDeviceFacts],
        interval_ns: u64,
        traced: bool,
        system: &System,
        clock: &Clock,
    ) -> Sampling {
        let devices: Vec<_> = devices.iter().map(|device| system.series_of(device)).collect();
        let sampler = Sampler::open(system, devices.iter().map(|device| device.name.as_str()));
        let names = devices.iter().map(|device| device.name.as_str());
        let tracer = traced.then(|| Tracer::open(system, names, clock.now_ns()));
        let (tracer, trouble) = match tracer.transpose() {
            Ok(tracer) => (tracer, None),
            Err(error) => (None, Some(format!("request tracing is off: {error}"))),
        };
        let news = Observations { interval_ns, devices, ..Observations::default() };
        let observations = Observations::default();
        Sampling {
            sampler,
            observations,
            news,
            tracer,
            network: None,
            origin_ns: 0,
            next_ns: 0,
            next_fetch_ns: u64::MAX,
            trouble,
        }
    }

    /// The first sample, when the run begins.
    pub fn begin(mut self, origin_ns: u64, clock: &Clock, sink: ObservationSink<'_>) -> Sampling {
        self.origin_ns = origin_ns;
        if let Some(tracer) = &mut self.tracer {
            // Requests of layout and preparation do not count in any job's latencies.
            tracer.take(origin_ns).for_each(drop);
            self.next_fetch_ns = origin_ns;
        }
        self.look(clock, sink);
        // Settings have already been reported.
        self.news.interval_ns = 0;
        self.news.devices.iter_mut().for_each(|device| {
            device.parts.clear();
            device.settings.clear();
        });
        self
    }

    /// Takes a sample if it is time; returns when the next one is due.
    pub fn look_if_due(&mut self, now_ns: u64, clock: &Clock, sink: ObservationSink<'_>) -> u64 {
        if now_ns >= self.next_ns {
            self.look(clock, sink);
        }
        if now_ns >= self.next_fetch_ns {
            self.accounted(|sampling| sampling.tracer.iter_mut().for_each(Tracer::read));
            self.next_fetch_ns = now_ns + FETCH_EVERY_NS;
        }
        self.next_ns.min(self.next_fetch_ns)
    }

    /// Takes the warnings for the user.
    pub fn trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Takes the last sample, and returns all samples.
    pub fn finish(mut self, clock: &Clock, sink: ObservationSink<'_>) -> Observations {
        self.look(clock, sink);
        self.observations.looking_ns += self.news.looking_ns;
        self.observations
    }

    /// All samples until now.
    pub fn so_far(&self) -> Observations {
        self.observations.clone()
    }

    fn look(&mut self, clock: &Clock, sink: ObservationSink<'_>) {
        self.accounted(|sampling| sampling.see(clock, sink));
    }

    /// Adds up the processor time of a step. It is reported with the next sample, because the time
    /// of a sample includes that of reporting it.
    fn accounted(&mut self, step: impl FnOnce(&mut Sampling)) {
        let begun_ns = iolab_clock::thread_processor_ns();
        step(self);
        self.news.looking_ns += iolab_clock::thread_processor_ns().saturating_sub(begun_ns);
    }

    fn see(&mut self, clock: &Clock, sink: ObservationSink<'_>) {
        let since_start_ns = || clock.now_ns().saturating_sub(self.origin_ns);
        for (place, device) in self.news.devices.iter_mut().enumerate() {
            device.samples.clear();
            device.samples.extend(self.sampler.device(place, since_start_ns()));
        }
        self.news.host.clear();
        self.news.host.extend(self.sampler.host(since_start_ns()));
        self.news.network = self.network.iter_mut().map(|network| network.look(since_start_ns())).collect();
        self.news.network.retain(|seen| !seen.is_empty());
        self.news.devices.iter_mut().for_each(|device| device.requests.clear());
        let traced = self.tracer.iter_mut().flat_map(|tracer| tracer.take(clock.now_ns()));
        for (name, mut requests) in traced {
            requests.start_ns = requests.start_ns.saturating_sub(self.origin_ns);
            let device = self.news.devices.iter_mut().find(|device| device.name == name);
            // The first sample has no interval before it.
            device
                .into_iter()
                .filter(|_| !self.observations.host.is_empty())
                .for_each(|device| device.requests.push(requests.clone()));
        }
        self.next_ns = next_line_ns(since_start_ns(), self.interval_ns()).saturating_add(self.origin_ns);
        sink(&self.news);
        self.observations.append(self.news.clone());
        self.news.looking_ns = 0;
    }

    fn interval_ns(&self) -> u64 {
        self.observations.interval_ns.max(self.news.interval_ns)
    }
}

/// The network of a run that may use one: of an engine that drives its storage itself, or of files
/// on mounts. All processes of the run are there when its first operations begin.
fn network_of(plan: &Plan, system: &System, paths: &[PathBuf]) -> Option<NetworkSampler> {
    let own = std::process::id() as i32;
    let reaches = |reach: Reach| matches!(reach, Reach::Device | Reach::Network);
    let connects = plan.workers.iter().any(|worker| reaches(worker.engine.traits().reach));
    let processes = if connects { descendants(&system.processes(), &[own]) } else { Default::default() };
    let network = NetworkSampler::open(system, processes, paths);
    (connects || network.has_mounts()).then_some(network)
}

/// The first sampling time after this time.
fn next_line_ns(now_ns: u64, interval_ns: u64) -> u64 {
    (now_ns / interval_ns.max(1)).saturating_add(1).saturating_mul(interval_ns.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_common_and_those_slept_through_are_skipped() {
        for (now_ns, interval_ns, expected_ns) in
            [(0, 100, 100), (99, 100, 100), (100, 100, 200), (350, 100, 400), (7, 0, 8)]
        {
            assert_eq!(next_line_ns(now_ns, interval_ns), expected_ns, "{now_ns} {interval_ns}");
        }
    }
}
