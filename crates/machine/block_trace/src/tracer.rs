//! The tracer: opened on some devices, read from time to time.

use iolab_observe::System;
use iolab_perf_events::{Ring, RingRecord, RingSize, RingTarget, Tracepoint, TracepointLayout};
use iolab_recording::RequestInterval;

use crate::TraceError;
use crate::format::Format;
use crate::pairing::{Event, Pairing};

/// What the figures of a device describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// Requests, from issue to the driver to completion.
    Requests,
    /// Block I/O submitted to a device without a request queue, from submission to completion.
    Bios,
}

/// The rings of all CPUs, and the requests of each device.
#[derive(Debug)]
pub struct Tracer {
    groups: Vec<Group>,
    devices: Vec<Device>,
    events: Vec<Event>,
    /// The time after which some events were lost, ns.
    losses_ns: Vec<u64>,
    taken_ns: u64,
    lost: u64,
}

/// The devices that are traced with the same pair of tracepoints.
#[derive(Debug)]
struct Group {
    begins: Format,
    ends: Format,
    rings: Vec<Ring>,
}

#[derive(Debug)]
struct Device {
    name: String,
    dev: u32,
    follows: Follows,
    pairing: Pairing,
}

impl Tracer {
    /// Opens the tracepoints for the whole block devices of these kernel names. `now_ns` is on
    /// `CLOCK_MONOTONIC`, as the events are.
    ///
    /// # Errors
    /// Tracefs or perf events are not available, or none of the devices exists.
    pub fn open<'a>(
        system: &System,
        names: impl IntoIterator<Item = &'a str>,
        now_ns: u64,
    ) -> Result<Tracer, TraceError> {
        let device = |name: &str| {
            let number = system.device_number(name)?;
            let follows = if system.has_requests(name) { Follows::Requests } else { Follows::Bios };
            let dev = number.major << 20 | number.minor & 0xf_ffff;
            Some(Device { name: name.to_owned(), dev, follows, pairing: Pairing::new() })
        };
        let devices: Vec<Device> = names.into_iter().filter_map(device).collect();
        if devices.is_empty() {
            return Err(TraceError::NoDevice);
        }
        let mut groups = Vec::new();
        for (follows, begins, ends) in [
            (Follows::Requests, "block_rq_issue", "block_rq_complete"),
            (Follows::Bios, "block_bio_queue", "block_bio_complete"),
        ] {
            let of = devices.iter().filter(|device| device.follows == follows);
            let filter = of.map(|device| format!("dev == {}", device.dev)).collect::<Vec<_>>().join(" || ");
            if filter.is_empty() {
                continue;
            }
            let (begins, ends) = (format_of(system, begins)?, format_of(system, ends)?);
            let pair = [begins.id, ends.id].map(|id| Tracepoint { id, filter: &filter });
            let open =
                |cpu: usize| Ring::open(cpu, &pair, RingTarget::Everything, RingSize::Usual).map_err(TraceError::Open);
            let rings = system.cpu_numbers().into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
            groups.push(Group { begins, ends, rings });
        }
        Ok(Tracer { groups, devices, events: Vec::new(), losses_ns: Vec::new(), taken_ns: now_ns, lost: 0 })
    }

    /// What the figures of each device describe.
    pub fn follows(&self) -> impl Iterator<Item = (&str, Follows)> {
        self.devices.iter().map(|device| (device.name.as_str(), device.follows))
    }

    /// Reads the new events. Call it more often for faster devices, because a ring holds some ten
    /// thousand events at most.
    pub fn read(&mut self) {
        for group in &mut self.groups {
            let (begins, ends) = (group.begins, group.ends);
            for ring in &mut group.rings {
                let (events, lost, losses) = (&mut self.events, &mut self.lost, &mut self.losses_ns);
                let mut last_ns = 0;
                ring.drain(|record| match record {
                    RingRecord::Event(sample) => {
                        let time_ns = sample.time_ns;
                        last_ns = time_ns;
                        let completes = sample.id() == ends.id;
                        let format = if completes { ends } else { begins };
                        events.extend(format.fields(sample.raw).map(|fields| Event { time_ns, completes, fields }));
                    }
                    RingRecord::Lost(count) => {
                        *lost += count;
                        losses.push(last_ns);
                    }
                });
            }
        }
        // A request issued on one CPU may complete on another.
        self.events.sort_by_key(|event| event.time_ns);
        self.losses_ns.sort_unstable();
        let mut losses_ns = self.losses_ns.drain(..).peekable();
        for event in self.events.drain(..) {
            while losses_ns.next_if(|loss_ns| *loss_ns < event.time_ns).is_some() {
                self.devices.iter_mut().for_each(|device| device.pairing.lost_some());
            }
            if let Some(device) = self.devices.iter_mut().find(|device| device.dev == event.fields.dev) {
                device.pairing.add(&event);
            }
        }
        if losses_ns.next().is_some() {
            self.devices.iter_mut().for_each(|device| device.pairing.lost_some());
        }
    }

    /// Returns the figures of each device since the last call, and starts new ones. `now_ns` is on
    /// `CLOCK_MONOTONIC`; the intervals' times are too. The device of lost events is unknown: each
    /// interval counts all of them.
    pub fn take(&mut self, now_ns: u64) -> impl Iterator<Item = (&str, RequestInterval)> {
        self.read();
        let (start_ns, lost) = (self.taken_ns, std::mem::take(&mut self.lost));
        self.taken_ns = now_ns;
        let length_ns = now_ns.saturating_sub(start_ns);
        self.devices
            .iter_mut()
            .map(move |device| (device.name.as_str(), device.pairing.take(start_ns, length_ns, lost)))
    }
}

fn format_of(system: &System, event: &str) -> Result<Format, TraceError> {
    let layout = TracepointLayout::read(&system.path(""), &format!("block/{event}"));
    Format::of(&layout.map_err(|(path, source)| TraceError::Tracefs { path, source })?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;

    use super::*;

    #[test]
    fn without_tracefs_or_devices_it_says_so() {
        let nowhere = System::fixture(Path::new("/nonexistent"), BTreeMap::new());
        assert!(matches!(Tracer::open(&nowhere, ["sda"], 0), Err(TraceError::NoDevice)));
        let Err(error) = format_of(&nowhere, "block_rq_issue") else { panic!("there is no such folder") };
        assert!(
            error.to_string().contains("/nonexistent/sys/kernel/tracing/events/block/block_rq_issue/format"),
            "{error}"
        );
        assert!(error.to_string().contains("mount -t tracefs"), "{error}");
    }
}
