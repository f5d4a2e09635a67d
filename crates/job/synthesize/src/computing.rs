//! What the machine computed while a program was traced, as a load beside its reads and writes.
//!
//! A server that commits also parses, plans and answers, and so do its clients. Where they keep the
//! processors busy, a thread that comes back from the disk waits for one, and a sync takes longer
//! than the disk needs. A job without that load predicts too much.

use iolab_text::{counted, grouped};
use iolab_trace::{End, ProcessorSample};

use crate::{Pace, Section, TraceStretch};

/// Less than this share of all processors is not worth a section.
const LEAST_SHARE: f64 = 0.05;
/// Shortest and longest burst, us: what the kernel's timers and fio's spinning can keep.
const BURST_US: (f64, f64) = (10.0, 50_000.0);

/// A load of the processors.
#[derive(Debug, Clone, PartialEq)]
pub struct Computing {
    /// Share of the time in which processors worked, whatever for.
    pub busy_share: f64,
    /// How many processors there were.
    pub processors: f64,
    /// Processors that the think time of the sections keeps busy.
    pub thinking: f64,
    /// Switches between threads, or to rest, a second.
    pub switches_per_s: f64,
    /// Threads of the load.
    pub jobs: u32,
}

impl Computing {
    /// Makes one of the samples of a trace; `None` where there are none for the stretch, or where
    /// the sections are all that was computed.
    pub(crate) fn of(end: &End, stretch: TraceStretch, sections: &[Section]) -> Option<Computing> {
        let (first, last) = within(&end.processors, stretch)?;
        let busy_ns = last.busy_ns.saturating_sub(first.busy_ns) as f64;
        let all_ns = busy_ns + last.idle_ns.saturating_sub(first.idle_ns) as f64;
        let passed_ns = last.time_ns.saturating_sub(first.time_ns) as f64;
        if all_ns <= 0.0 || passed_ns <= 0.0 {
            return None;
        }
        let processors = (all_ns / passed_ns).round().max(1.0);
        let thinking: f64 = sections.iter().map(thinks).sum();
        let threads = sections.iter().map(|section| section.threads).max().unwrap_or(1);
        let this = Computing {
            busy_share: busy_ns / all_ns,
            processors,
            thinking,
            switches_per_s: last.switches.saturating_sub(first.switches) as f64 * 1e9 / passed_ns,
            jobs: threads.max(processors as u32),
        };
        (this.others() > LEAST_SHARE * processors).then_some(this)
    }

    /// Processors that worked for anything but the think time of the sections.
    pub(crate) fn others(&self) -> f64 {
        self.busy_share * self.processors - self.thinking
    }

    /// Length of a burst, us: work between two rests, each of which takes a switch to it and a
    /// switch from it.
    pub fn burst_us(&self) -> f64 {
        let per_switch = self.busy_share * self.processors * 1e6 / self.switches_per_s.max(1.0);
        (2.0 * per_switch).clamp(BURST_US.0, BURST_US.1)
    }

    /// Share of one processor that each thread of the load uses, percent: where it begins.
    pub fn load_percent(&self) -> f64 {
        (self.others() * 100.0 / f64::from(self.jobs)).clamp(1.0, 100.0)
    }
}

impl Computing {
    /// The section of the job file.
    pub(crate) fn section_text(&self) -> String {
        let busy = (self.busy_share * 100.0).round().clamp(1.0, 100.0) as u32;
        let load = self.load_percent().round() as u32;
        let burst = self.burst_us().round() as u64;
        format!(
            "\n[compute]\n# {} were busy for {busy} % of the time, {:.2} of them; think time above is {:.2} of that\n\
             ioengine=cpuio\n# as many as the threads of a section, or the processors\nnumjobs={}\ngroup_reporting\n\
             # {} switches between threads a second\ncpuchunks={burst}\n\
             # assumed: all the rest. What syncs take, and the kernel's own threads, is in here, too.\ncpuload={load}\n\
             # iolab takes what makes the processors as busy as they were.\n#iolab: cpu_busy={busy}\n",
            counted(self.processors as u64, "processor"),
            self.busy_share * self.processors,
            self.thinking,
            self.jobs,
            grouped(self.switches_per_s.round() as u64),
        )
    }
}

/// Processors that the think time of a section keeps busy.
fn thinks(section: &Section) -> f64 {
    match &section.pace {
        Pace::Think { ns, transfers, elsewhere_ns, .. } => {
            section.transfers_per_s / f64::from((*transfers).max(1)) * (ns - elsewhere_ns) / 1e9
        }
        Pace::Rate(_) => 0.0,
    }
}

/// The first and the last sample within a stretch; those around it where it has fewer than two.
fn within(samples: &[ProcessorSample], stretch: TraceStretch) -> Option<(ProcessorSample, ProcessorSample)> {
    let inside: Vec<&ProcessorSample> = samples.iter().filter(|sample| stretch.holds(sample.time_ns)).collect();
    if let [first, .., last] = inside[..] {
        return Some((*first, *last));
    }
    let before = samples.iter().rev().find(|sample| sample.time_ns <= stretch.from_ns)?;
    let after = samples.iter().find(|sample| sample.time_ns >= stretch.until_ns)?;
    Some((*before, *after))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four processors: idle for a second, then three of them busy, with 60,000 switches a second.
    fn samples() -> Vec<ProcessorSample> {
        let second = 1_000_000_000_u64;
        (0..6)
            .map(|at| {
                let worked = at.max(1) - 1;
                let (time_ns, busy_ns) = (at * second, 7 + 3 * worked * second);
                ProcessorSample { time_ns, busy_ns, idle_ns: 4 * time_ns + 7 - busy_ns, switches: 60_000 * worked }
            })
            .collect()
    }

    fn stretch(from_s: f64, until_s: f64) -> TraceStretch {
        TraceStretch { from_ns: (from_s * 1e9) as u64, until_ns: (until_s * 1e9) as u64 }
    }

    #[test]
    fn the_load_is_that_of_the_stretch() {
        let end = End { processors: samples(), ..End::default() };
        let load = Computing::of(&end, stretch(0.9, 4.5), &[]).unwrap();
        assert_eq!((load.busy_share, load.processors, load.jobs), (0.75, 4.0, 4));
        assert_eq!((load.burst_us(), load.load_percent()), (100.0, 75.0));
        let short = Computing::of(&end, stretch(2.2, 2.7), &[]).unwrap();
        assert_eq!(short.busy_share, 0.75, "the samples around it");
        assert_eq!(Computing::of(&end, stretch(0.0, 1.5), &[]), None, "nothing was computed");
        assert_eq!(Computing::of(&end, stretch(5.5, 6.0), &[]), None, "no samples");
        assert_eq!(Computing::of(&End::default(), stretch(0.0, 5.0), &[]), None);
    }
}
