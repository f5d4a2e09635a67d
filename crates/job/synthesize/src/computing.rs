//! The computing during a traced program, as a load beside its reads and writes.
//!
//! A server that commits also parses, plans and answers, and so do its clients. If they keep the
//! processors busy, a thread that returns from the disk waits for one, and a sync takes longer than
//! the disk needs. A job without that load predicts too much throughput. Computing by other
//! programs does not belong to the load: it slowed the program down, and is separated if the trace
//! allows it.

use std::fmt::Write as _;

use iolab_text::{counted, grouped};
use iolab_trace::{End, ProcessorSample, ProcessorShares};

use crate::{Pace, Section, TraceStretch};

/// A share of all processors below this is not worth a section.
const LEAST_SHARE: f64 = 0.05;
/// Shortest and longest burst, us: what the kernel's timers and fio's spinning can keep.
const BURST_US: (f64, f64) = (10.0, 50_000.0);

/// Processor activity in the examined stretch.
#[derive(Debug, Clone, PartialEq)]
pub struct ProcessorLoad {
    /// Number of processors.
    pub processors: f64,
    /// Number of busy processors, for any purpose.
    pub busy: f64,
    /// Switches between threads, or to idle, per second.
    pub switches_per_s: f64,
    /// The load by program, if the trace separates it.
    pub shares: Option<LoadShares>,
    /// The other programs that used most processor time during the whole trace.
    pub beside: Vec<String>,
}

/// Processor time by program, in processors.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadShares {
    /// The traced processes.
    pub program: f64,
    /// Processes that communicate with them.
    pub clients: f64,
    /// Threads of the kernel.
    pub kernel: f64,
    /// The tracer.
    pub tracer: f64,
    /// All other programs.
    pub others: f64,
    /// Whether other programs lengthened calls and the time between them.
    pub are_disturbed: bool,
    /// The share of the time in which program and clients ran, of the time in which they could have
    /// run; `None` if the kernel does not count it.
    pub ran: Option<f64>,
}

impl ProcessorLoad {
    /// Computes it from the samples of a trace; `None` if the stretch has none.
    pub fn of(end: &End, stretch: TraceStretch) -> Option<ProcessorLoad> {
        let (first, last) = within(&end.processors, stretch)?;
        let busy_ns = last.busy_ns.saturating_sub(first.busy_ns);
        let all_ns = busy_ns as f64 + last.idle_ns.saturating_sub(first.idle_ns) as f64;
        let passed_ns = last.time_ns.saturating_sub(first.time_ns) as f64;
        if all_ns <= 0.0 || passed_ns <= 0.0 {
            return None;
        }
        let processors = (all_ns / passed_ns).round().max(1.0);
        let of_all = |ns: u64| ns as f64 / all_ns * processors;
        let shares = first.shares.zip(last.shares).map(|(before, after)| {
            let did: ProcessorShares = after.since(before);
            LoadShares {
                program: of_all(did.program_ns),
                clients: of_all(did.clients_ns),
                kernel: of_all(did.kernel_ns),
                tracer: of_all(did.tracer_ns),
                others: of_all(did.others_ns(busy_ns)),
                are_disturbed: did.is_disturbed(busy_ns, all_ns as u64),
                ran: did.ran_share(),
            }
        });
        Some(ProcessorLoad {
            processors,
            busy: of_all(busy_ns),
            switches_per_s: last.switches.saturating_sub(first.switches) as f64 * 1e9 / passed_ns,
            shares,
            beside: end.beside.iter().map(|one| one.name.clone()).collect(),
        })
    }

    /// Processors used by program and clients; by all programs, if the trace does not separate
    /// them.
    pub fn of_program(&self) -> f64 {
        self.shares.map_or(self.busy, |shares| shares.program + shares.clients)
    }

    /// The share of the time between operations that the program would need without others.
    ///
    /// A thread that waits for a processor waits for the current user of it: for other programs in
    /// proportion to their use. Waits of the program's threads for each other are kept, because the
    /// computing section disturbs the job's reads and writes less often.
    pub fn undisturbed_share(&self) -> Option<f64> {
        let shares = self.shares?;
        Some(1.0 - (1.0 - shares.ran?) * (shares.others / self.busy.max(f64::MIN_POSITIVE)).clamp(0.0, 1.0))
    }

    /// A message for the user if other programs used so much that they changed the observation.
    pub fn disturbance(&self) -> Option<String> {
        let others = self.shares.filter(|shares| shares.are_disturbed)?.others;
        let names = if self.beside.is_empty() { String::new() } else { format!(" ({})", self.beside.join(", ")) };
        Some(format!(
            "other programs{names} used {others:.2} of {} while the program was traced: syncs and the time between \
             operations are longer than without them. Capture on a machine that does nothing else",
            counted(self.processors as u64, "processor")
        ))
    }

    /// The load as comments of a job file.
    pub(crate) fn comment(&self) -> String {
        let processors = counted(self.processors as u64, "processor");
        let Some(shares) = self.shares else {
            return format!("# Of {processors}, {:.2} worked; the trace does not say for whom.\n", self.busy);
        };
        let mut text = format!(
            "# Of {processors}, {:.2} worked for the program, {:.2} for its clients, {:.2} for the kernel, {:.2} for the \
             tracer, {:.2} for others.\n",
            shares.program, shares.clients, shares.kernel, shares.tracer, shares.others
        );
        if let Some(ran) = shares.ran {
            let _ = writeln!(
                text,
                "# Program and clients waited for a processor for {:.0} % of the time that they could have run.",
                (1.0 - ran) * 100.0
            );
        }
        if let Some(disturbance) = self.disturbance() {
            let _ = writeln!(text, "# NOT TO BE RELIED ON: {disturbance}.");
        }
        text
    }
}

/// A load of the processors beside reads and writes.
#[derive(Debug, Clone, PartialEq)]
pub struct Computing {
    /// The processor activity.
    pub load: ProcessorLoad,
    /// Processors kept busy by the think time of the sections.
    pub thinking: f64,
    /// Operations that the leader has in flight together: the number of processors that its pauses
    /// and its calls may have used. 0 without a leader.
    pub lanes: u32,
    /// Threads of the load.
    pub jobs: u32,
}

impl Computing {
    /// The computing besides the think time of the sections. `leader` is the section whose syncs
    /// are the commits: the others follow it, and have no think time.
    pub(crate) fn of(load: &ProcessorLoad, sections: &[Section], leader: Option<&Section>) -> Computing {
        let undisturbed = load.undisturbed_share().unwrap_or(1.0);
        let thinking = leader.map_or_else(|| sections.iter().map(thinks).sum::<f64>(), thinks) * undisturbed;
        let threads = sections.iter().map(|section| section.threads).max().unwrap_or(1);
        let lanes = leader.map_or(0, |leader| leader.jobs);
        Computing { load: load.clone(), thinking, lanes, jobs: threads.max(load.processors as u32) }
    }

    /// Whether it is large enough to need a section in the job.
    ///
    /// A program with one client does one thing after the other: it computes in the pauses between
    /// its calls, and in the calls. That uses at most one processor, and nothing runs in parallel.
    pub fn is_worth_a_section(&self) -> bool {
        self.others() > LEAST_SHARE * self.load.processors && self.load.of_program() > f64::from(self.lanes)
    }

    /// Processors used for anything but the think time of the sections.
    pub fn others(&self) -> f64 {
        (self.load.of_program() - self.thinking).max(0.0)
    }

    /// Length of a burst, us: the work between two idle periods, each of which takes a switch to
    /// idle and a switch from it.
    pub fn burst_us(&self) -> f64 {
        let per_switch = self.load.busy * 1e6 / self.load.switches_per_s.max(1.0);
        (2.0 * per_switch).clamp(BURST_US.0, BURST_US.1)
    }

    /// Initial share of one processor that each thread of the load uses, percent.
    pub fn load_percent(&self) -> f64 {
        (self.others() * 100.0 / f64::from(self.jobs)).clamp(1.0, 100.0)
    }

    /// The section of the job file; if it would be too small, a comment that says so.
    pub(crate) fn section_text(&self) -> String {
        let whose = if self.load.shares.is_some() { "program and clients" } else { "all programs" };
        let kept = format!(
            "{whose} kept {:.2} of {} busy; think time above is {:.2} of that",
            self.load.of_program(),
            counted(self.load.processors as u64, "processor"),
            self.thinking
        );
        if !self.is_worth_a_section() {
            let why = if self.others() > LEAST_SHARE * self.load.processors {
                "and its calls may have used the rest".to_owned()
            } else {
                format!("and the rest is at most {:.0} % of them", LEAST_SHARE * 100.0)
            };
            return format!("\n# No section that computes: {kept}, {why}.\n");
        }
        let busy = (self.load.of_program() / self.load.processors * 100.0).round().clamp(1.0, 100.0) as u32;
        let load = self.load_percent().round() as u32;
        let burst = self.burst_us().round() as u64;
        let (assumed, by) = if self.load.shares.is_some() {
            (
                "# iolab takes what makes the processes of the run use as much, with their reads, writes and syncs.",
                "#iolab: cpu_busy_by=run\n",
            )
        } else {
            ("# assumed: all the rest, and so the work of other programs, is the program's.", "")
        };
        format!(
            "\n[compute]\n# {kept}\n\
             ioengine=cpuio\n# as many as the threads of a section, or the processors\nnumjobs={}\ngroup_reporting\n\
             # {} switches between threads a second\ncpuchunks={burst}\ncpuload={load}\n\
             {assumed}\n#iolab: cpu_busy={busy}\n{by}",
            self.jobs,
            grouped(self.load.switches_per_s.round() as u64),
        )
    }
}

/// Processors kept busy by the think time of a section.
fn thinks(section: &Section) -> f64 {
    match &section.pace {
        Pace::Think { ns, transfers, elsewhere_ns, .. } => {
            section.transfers_per_s / f64::from((*transfers).max(1)) * (ns - elsewhere_ns) / 1e9
        }
        Pace::Rate(_) => 0.0,
    }
}

/// The first and the last sample within a stretch, or those around it if it has fewer than two.
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

    /// Four processors: idle for a second, then three of them busy, with 60,000 switches per
    /// second. Of the three, one works for the program, one for its clients, and one for others.
    fn samples(are_told_apart: bool) -> Vec<ProcessorSample> {
        let second = 1_000_000_000_u64;
        (0..6)
            .map(|at| {
                let worked = at.max(1) - 1;
                let (time_ns, busy_ns) = (at * second, 7 + 3 * worked * second);
                let each = worked * second;
                let shares = ProcessorShares {
                    program_ns: each,
                    clients_ns: each,
                    ran_ns: 3 * each,
                    waited_ns: each,
                    ..ProcessorShares::default()
                };
                ProcessorSample {
                    time_ns,
                    busy_ns,
                    idle_ns: 4 * time_ns + 7 - busy_ns,
                    switches: 60_000 * worked,
                    shares: are_told_apart.then_some(shares),
                }
            })
            .collect()
    }

    fn load(are_told_apart: bool, from_s: f64, until_s: f64) -> Option<ProcessorLoad> {
        let end = End { processors: samples(are_told_apart), ..End::default() };
        let stretch = TraceStretch { from_ns: (from_s * 1e9) as u64, until_ns: (until_s * 1e9) as u64 };
        ProcessorLoad::of(&end, stretch)
    }

    #[test]
    fn the_load_is_that_of_the_stretch() {
        let all = load(false, 0.9, 4.5).unwrap();
        assert_eq!((all.busy, all.processors, all.of_program(), all.disturbance()), (3.0, 4.0, 3.0, None));
        let computing = Computing::of(&all, &[], None);
        assert_eq!((computing.jobs, computing.burst_us(), computing.load_percent()), (4, 100.0, 75.0));
        assert!(computing.section_text().contains("cpu_busy=75\n") && !computing.section_text().contains("by=run"));
        assert_eq!(load(false, 2.2, 2.7).unwrap().busy, 3.0, "the samples around it");
        assert!(
            !Computing::of(&load(false, 0.0, 1.5).unwrap(), &[], None).is_worth_a_section(),
            "nothing was computed"
        );
        assert_eq!(load(false, 5.5, 6.0), None, "no samples");
        assert_eq!(ProcessorLoad::of(&End::default(), TraceStretch { from_ns: 0, until_ns: 1 }), None);
    }

    #[test]
    fn what_others_computed_is_not_the_programs() {
        let apart = load(true, 0.9, 4.5).unwrap();
        assert_eq!((apart.of_program(), apart.shares.unwrap().others), (2.0, 1.0));
        assert!((apart.undisturbed_share().unwrap() - (1.0 - 0.25 / 3.0)).abs() < 1e-9, "a third of a quarter");
        assert!(apart.disturbance().unwrap().starts_with("other programs used 1.00 of 4 processors"));
        let text = Computing::of(&apart, &[], None).section_text();
        assert!(text.contains("#iolab: cpu_busy=50\n#iolab: cpu_busy_by=run\n"), "{text}");
        let idle = Computing::of(&load(true, 0.0, 1.5).unwrap(), &[], None).section_text();
        assert!(
            idle.starts_with("\n# No section that computes: program and clients kept 0.00 of 4 processors"),
            "{idle}"
        );
    }
}
