//! Keeps the thread that traces on one CPU.
//!
//! A traced thread and its tracer run in turns. On two CPUs, each turn wakes a CPU that has just gone to
//! sleep, which takes several times as long as all the rest of a stop; above all in a virtual machine. On
//! one CPU, the one goes on where the other has stopped. Only the tracer is kept there: the program may run
//! wherever it likes, and sees nothing of it.
//!
//! The scheduler may have good reasons to run the program somewhere else. So the tracer is let go from
//! time to time, wakes where the scheduler puts it, and stays there.

/// Stops between two times that the tracer is let go: so rare that it costs nothing.
const STOPS_ON_ONE: u32 = 1000;

/// The thread that made this stays on one CPU, until this is dropped.
#[derive(Debug)]
pub(crate) struct OneCpu {
    /// Where the thread may run without it.
    allowed: Vec<usize>,
    stops: u32,
}

impl OneCpu {
    /// Stays on the CPU of now.
    pub(crate) fn stay() -> OneCpu {
        let one = OneCpu { allowed: iolab_process::cpus_allowed(), stops: 0 };
        one.stay_here();
        one
    }

    /// After each stop.
    pub(crate) fn stopped(&mut self) {
        self.stops += 1;
        if self.stops == STOPS_ON_ONE {
            self.let_go();
        } else if self.stops > STOPS_ON_ONE {
            self.stops = 0;
            self.stay_here();
        }
    }

    /// A refusal makes tracing slower, and nothing else.
    fn stay_here(&self) {
        if let Some(cpu) = iolab_process::cpu_now().filter(|_| self.allowed.len() > 1) {
            iolab_process::set_cpus(&[cpu]).ok();
        }
    }

    fn let_go(&self) {
        if self.allowed.len() > 1 {
            iolab_process::set_cpus(&self.allowed).ok();
        }
    }
}

impl Drop for OneCpu {
    fn drop(&mut self) {
        self.let_go();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stays_is_let_go_and_gives_back_what_was_allowed() {
        let allowed = iolab_process::cpus_allowed();
        let mut one = OneCpu::stay();
        assert_eq!(iolab_process::cpus_allowed().len(), 1);
        (0..STOPS_ON_ONE).for_each(|_| one.stopped());
        assert_eq!(iolab_process::cpus_allowed(), allowed);
        one.stopped();
        assert_eq!(iolab_process::cpus_allowed().len(), 1);
        drop(one);
        assert_eq!(iolab_process::cpus_allowed(), allowed);
    }
}
