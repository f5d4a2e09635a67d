//! The engine `cpuio`: burns CPU time without storage, as a neighbour for jobs that do I/O.
//!
//! ```text
//! one operation    |== burn: cpuchunks ==|---- sleep: cpuchunks * (100 - cpuload) / cpuload ----|
//! ```
//!
//! so that the share of burning is `cpuload` percent of one CPU, or follows the load of all CPUs
//! (`cpu_busy`). An operation reports its whole length as moved, because the loop would treat less
//! as a failure. Nothing is moved, no buffer is touched, and bandwidth and size have no meaning.
//! Such a job ends by `runtime`, or when others do (`exit_on_io_done`), not by bytes. Latency is
//! the length of the cycle.
//!
//! Only this engine reads a clock, because a burn must end; it stamps no operation. A signal cuts
//! the sleep of a cycle short, not the burn.

mod burn;
mod cycle;
mod governor;
mod options;

pub use options::CPUIO_OPTIONS;

use iolab_engine::{
    Capabilities, Completion, CompletionRow, Completions, Engine, EngineDescription, FileEffect, FileUse, Lane,
    LaneError, LaneRequest, Op, OpenError, Polling, Submission, Wait,
};
use iolab_options::{PageCache, Reach};

use iolab_clock::Clock;

use burn::{Burner, nanoseconds};
use cycle::Cycle;
use governor::Governor;

/// The engine `cpuio`.
#[derive(Debug)]
pub struct Cpuio;

/// The lane of [`Cpuio`].
#[derive(Debug)]
pub struct CpuioLane {
    clock: Clock,
    cycle: Cycle,
    governor: Option<Governor>,
    burner: Burner,
    finished: CompletionRow,
}

impl Engine for Cpuio {
    type Lane = CpuioLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "cpuio",
        aliases: &[],
        summary: "Uses CPU time instead of doing I/O",
        details: "An operation uses the CPU for cpuchunks microseconds and then sleeps (clock_nanosleep) so that the \
            CPU is busy for cpuload percent of the time; use numjobs to load several CPUs. No file is opened and no \
            data moves: the counted bytes are fictitious, so set runtime to end the job.",
        options: CPUIO_OPTIONS,
        capabilities: Capabilities {
            synchronous: true,
            files: FileUse::Nothing,
            moves_data: false,
            trims: false,
            trims_ranges: false,
            syncs: false,
            direct: true,
            extends_files: true,
            effect: FileEffect::ByDirection,
            reach: Reach::Processor,
            page_cache: PageCache::Never,
            polling: Polling::Never,
            reads_to_write: false,
            needs: &[],
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<CpuioLane, OpenError> {
        Ok(CpuioLane {
            clock: Clock::monotonic(),
            cycle: Cycle::from_options(request.options)?,
            governor: Governor::from_options(request.options),
            burner: Burner::from_options(request.options, request.seed),
            finished: CompletionRow::with_depth(request.depth),
        })
    }
}

impl Lane for CpuioLane {
    const SYNCHRONOUS: bool = true;

    fn submit(&mut self, op: &Op) -> Submission {
        if self.finished.is_full() {
            return Submission::Full;
        }
        if !op.kind.moves_data() {
            // EOPNOTSUPP, which the standard library does not name (errno(3)).
            return Submission::Refused(95);
        }
        if let Some(governor) = &mut self.governor
            && let Some(load) = governor.look(self.clock.now_ns())
        {
            self.cycle = Cycle::of(self.cycle.burn, load);
        }
        self.burner.burn(&self.clock, self.cycle.burn);
        if !self.cycle.sleep.is_zero() {
            // A signal may end the sleep early: a job that is ordered to stop need not finish its
            // cycle.
            self.clock.sleep_until(self.clock.now_ns().saturating_add(nanoseconds(self.cycle.sleep)), 0);
        }
        self.finished.push(Completion { slot: u32::from(op.slot), result: op.length as i32 });
        Submission::Accepted
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        Ok(self.finished.drain_into(out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_engine::conformance::{ConformanceSetup, Value};
    use iolab_engine::{OpKind, PoolView};

    fn tiny_cycles(mode: &str) -> ConformanceSetup {
        let setup =
            ConformanceSetup::default().option("cpuload", Value::Integer(90)).option("cpuchunks", Value::Integer(1));
        setup.option("cpumode", Value::Choice(mode.to_owned())).depths(&[1, 4])
    }

    iolab_engine::conformance_suite!(noop, Cpuio, super::tiny_cycles("noop"));
    iolab_engine::conformance_suite!(qsort, Cpuio, super::tiny_cycles("qsort"));

    #[test]
    fn an_operation_counts_its_length_and_only_reads_and_writes_are_taken() {
        let options = tiny_cycles("noop").options;
        let buffers = PoolView::EMPTY;
        let request =
            LaneRequest { files: &[], depth: 1, buffers, options: &options, direct: false, seed: 0, worker: 0 };
        let mut lane = Cpuio::open(&request).unwrap();
        let op = |kind| Op { offset: 0, length: 512, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 };
        for kind in [OpKind::Read, OpKind::Write] {
            let mut out = Completions::with_room(1);
            assert_eq!(lane.submit(&op(kind)), Submission::Accepted);
            assert_eq!(lane.reap(Wait::POLL, &mut out), Ok(1));
            assert_eq!(out.as_slice(), [Completion { slot: 0, result: 512 }]);
        }
        for kind in [OpKind::Trim, OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange] {
            assert_eq!(lane.submit(&op(kind)), Submission::Refused(95), "{kind:?}");
        }
    }
}
