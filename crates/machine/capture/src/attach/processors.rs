//! Processor activity while a program is watched.

use iolab_observe::System;
use iolab_trace::{ProcessorSample, ProgramBeside};

use super::programs::Programs;

/// Initial time between two samples, ns.
const EVERY_NS: u64 = 1_000_000_000;
/// With more samples, every second one is dropped, and the interval doubles.
const MOST_SAMPLES: usize = 1024;

/// Samples, from the beginning of a capture.
pub(super) struct Processors {
    system: System,
    programs: Programs,
    samples: Vec<ProcessorSample>,
    every_ns: u64,
    next_ns: u64,
}

impl Processors {
    pub(super) fn new(programs: Programs) -> Processors {
        Processors { system: System::live(), programs, samples: Vec::new(), every_ns: EVERY_NS, next_ns: 0 }
    }

    /// Takes a sample, if it is time or the last chance.
    pub(super) fn look(&mut self, time_ns: u64, is_last: bool) {
        if time_ns < self.next_ns && !is_last {
            return;
        }
        self.next_ns = time_ns.saturating_add(self.every_ns);
        if let Some(now) = self.system.cpu_activity() {
            let (busy_ns, idle_ns, switches) = (now.busy_ns, now.idle_ns, now.switches);
            let shares = Some(self.programs.look(&self.system));
            self.add(ProcessorSample { time_ns, busy_ns, idle_ns, switches, shares });
        }
    }

    fn add(&mut self, sample: ProcessorSample) {
        if self.samples.len() == MOST_SAMPLES {
            let mut place = 0;
            self.samples.retain(|_| {
                place += 1;
                place % 2 == 1
            });
            self.every_ns *= 2;
        }
        self.samples.push(sample);
    }

    /// The samples, and the programs beside that worked most.
    pub(super) fn into_samples(self) -> (Vec<ProcessorSample>, Vec<ProgramBeside>) {
        (self.samples, self.programs.beside())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_every_second_and_at_the_end_and_are_bounded() {
        let mut processors = Processors::new(Programs::of(&[std::process::id() as i32], false));
        for time_ns in (0..=2_500_000_000).step_by(5_000_000) {
            processors.look(time_ns, time_ns == 2_500_000_000);
        }
        let times: Vec<u64> = processors.samples.iter().map(|sample| sample.time_ns / 1_000_000).collect();
        assert_eq!(times, [0, 1000, 2000, 2500]);

        let mut processors = Processors::new(Programs::of(&[std::process::id() as i32], false));
        for second in 0..5000 {
            let time_ns = second * EVERY_NS;
            if time_ns >= processors.next_ns {
                processors.next_ns = time_ns + processors.every_ns;
                processors.add(ProcessorSample { time_ns, ..ProcessorSample::default() });
            }
        }
        let samples = processors.into_samples().0;
        assert!(samples.len() <= MOST_SAMPLES && samples.len() > MOST_SAMPLES / 2, "{}", samples.len());
        assert_eq!(samples[0].time_ns, 0);
        assert!(samples.is_sorted_by_key(|sample| sample.time_ns));
    }
}
