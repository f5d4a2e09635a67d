//! Samples of the machine, one for each report.

use std::collections::BTreeMap;

use iolab_aggregate::DeviceFigures;
use iolab_block_trace::Tracer;
use iolab_clock::Clock;
use iolab_iostat::{CpuTimes, DeviceActivity};
use iolab_observe::{Sampler, System};
use iolab_recording::{DeviceSample, HostSample, RequestInterval};

use super::groups::Of;
use super::selection::Selection;
use crate::selection::Pace;

const NS_PER_HUNDREDTH: u64 = 10_000_000;

/// The machine at one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Look {
    /// ns since boot.
    pub(crate) at_ns: u64,
    /// ns since the Unix epoch.
    pub(crate) unix_ns: u64,
    pub(crate) cpu: CpuTimes,
    pub(crate) host: Option<HostSample>,
    /// The devices to show, in order.
    pub(crate) devices: Vec<(String, DeviceSample)>,
    /// How many were left out because they were never used.
    pub(crate) unused: usize,
    /// Their requests since the last look, as far as they are traced.
    pub(crate) requests: Vec<(String, RequestInterval)>,
}

impl Look {
    /// What each device did since an earlier look, or since boot.
    pub(crate) fn activities<'a>(
        &'a self,
        before: Option<&'a Look>,
    ) -> impl Iterator<Item = (&'a str, DeviceActivity)> {
        self.devices.iter().map(move |(name, after)| {
            let known = before.and_then(|look| look.devices.iter().find(|(known, _)| known == name));
            let appeared = DeviceSample { at_ns: before.map_or(0, |look| look.at_ns), ..DeviceSample::default() };
            (name.as_str(), DeviceActivity::between(known.map_or(&appeared, |(_, sample)| sample), after))
        })
    }
}

impl Look {
    /// What each device has done since boot, and how busy it was since an earlier look.
    pub(crate) fn figures(&self, before: Option<&Look>) -> Vec<DeviceFigures> {
        let of_device = |((name, sample), (_, activity)): (&(String, DeviceSample), (&str, DeviceActivity))| {
            let (name, gained) = (name.clone(), sample.counters);
            DeviceFigures { name, gained, util_percent: activity.busy_percent(), parts: None }
        };
        self.devices.iter().zip(self.activities(before)).map(of_device).collect()
    }
}

/// Facts that do not change while watching.
#[derive(Debug, Clone, Default)]
pub(crate) struct Facts {
    pub(crate) kernel: String,
    pub(crate) hostname: String,
    pub(crate) machine: String,
    pub(crate) cpus: u32,
    pub(crate) unix_ns: u64,
}

/// Looks at the devices of a selection.
#[derive(Debug)]
pub(crate) struct Looker {
    pub(crate) system: System,
    selection: Selection,
    pace: Pace,
    clock: Clock,
    names: Vec<String>,
    sampler: Sampler,
    tracer: Option<Tracer>,
}

impl Looker {
    pub(crate) fn new(system: System, selection: Selection, pace: Pace, clock: Clock) -> Looker {
        let sampler = Sampler::open(&system, []);
        Looker { system, selection, pace, clock, names: Vec::new(), sampler, tracer: None }
    }

    /// Follows requests from now on, if possible; otherwise returns the reason.
    pub(crate) fn trace(&mut self) -> Option<String> {
        let (names, _) = self.selection.names(&self.system);
        match Tracer::open(&self.system, names.iter().map(String::as_str), self.clock.now_ns()) {
            Ok(tracer) => {
                self.tracer = Some(tracer);
                None
            }
            Err(error) => Some(error.to_string()),
        }
    }

    /// Fetches events of traced requests before their rings are full.
    pub(crate) fn fetch(&mut self) {
        self.tracer.iter_mut().for_each(Tracer::read);
    }

    /// The lines of a report: what each device and each group did since an earlier look, or since
    /// boot.
    pub(crate) fn lines(&self, before: Option<&Look>, look: &Look) -> Vec<(Of, DeviceActivity)> {
        let elapsed_ns = look.at_ns.saturating_sub(before.map_or(0, |look| look.at_ns));
        self.selection.groups.lines(look.activities(before).collect(), look.unused, elapsed_ns)
    }

    /// The name of a line: a group has a leading space, as in iostat, so that it cannot be confused
    /// with a device.
    pub(crate) fn shown(&self, of: &Of) -> String {
        match of {
            Of::Device(name) => self.selection.naming.shown(name, &self.system),
            Of::Group(name) => format!(" {name}"),
        }
    }

    pub(crate) fn facts(&self) -> Facts {
        let uname = rustix::system::uname();
        Facts {
            kernel: uname.release().to_string_lossy().into_owned(),
            hostname: uname.nodename().to_string_lossy().into_owned(),
            machine: uname.machine().to_string_lossy().into_owned(),
            cpus: self.system.cpus_online(),
            unix_ns: self.clock.unix_ns(),
        }
    }

    pub(crate) fn look(&mut self) -> Look {
        let (names, only_used) = self.selection.names(&self.system);
        if names != self.names {
            self.sampler = Sampler::open(&self.system, names.iter().map(String::as_str));
            self.names = names;
        }
        let at_ns = self.now_ns();
        let [user, nice, system, idle, iowait, irq, softirq, steal] = self.system.cpu_ticks().unwrap_or_default();
        let cpu = CpuTimes { user, nice, system: system + irq + softirq, iowait, steal, idle };
        let mut devices = Vec::new();
        for (place, name) in self.names.iter().enumerate() {
            let sample = self.sampler.device(place, at_ns);
            devices.extend(sample.map(|sample| (name.clone(), sample)));
        }
        if devices.len() < self.names.len() {
            // A removed device may return under its name as a different one, whose counters start
            // again.
            self.names.clear();
        }
        let found = devices.len();
        if only_used {
            devices.retain(|(_, sample)| !DeviceActivity::since_boot(sample).is_idle());
        }
        let unused = found - devices.len();
        let (host, unix_ns, now_ns) = (self.sampler.host(at_ns), self.clock.unix_ns(), self.clock.now_ns());
        let traced = self.tracer.iter_mut().flat_map(|tracer| tracer.take(now_ns));
        let requests = traced.map(|(name, requests)| (name.to_owned(), requests)).collect();
        Look { at_ns, unix_ns, cpu, host, devices, unused, requests }
    }

    fn now_ns(&self) -> u64 {
        let hundredths = if self.pace.whole_seconds { self.system.uptime_hundredths() } else { None };
        hundredths.map_or_else(|| self.clock.now_ns(), |hundredths| hundredths * NS_PER_HUNDREDTH)
    }

    /// The settings of a device's queue that matter most for the meaning of the columns.
    pub(crate) fn settings(&self, device: &str) -> BTreeMap<String, String> {
        self.system.queue_settings(device)
    }
}
