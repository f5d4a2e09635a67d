//! `wear_out`: a worker whose time is up goes on until it has done as many operations as the worker
//! of its job that had done most.
//!
//! ```text
//!            time is up      all have said how far they are
//!  worker 0  ─────────┤ 900  ┊────┤ 1000
//!  worker 1  ─────────┤ 1000 ┊         (waits, and ends)
//! ```
//!
//! Nobody does more than the most, so what all have written is equally long. The wait counts as
//! time of the run, as everything that happens in it.

use crate::control::WorkerControl;

/// How far one worker is.
#[derive(Debug, Default)]
pub(crate) struct WearOut {
    /// Operations when its time was up, and those after which it ends.
    known: Option<(u64, u64)>,
}

impl WearOut {
    /// The time is up, and so many operations are done. Waits for the others the first time.
    /// Returns whether it has done enough.
    pub(crate) fn time_is_up(&mut self, done: u64, worker_control: &WorkerControl<'_>) -> bool {
        let (_, goal) = match self.known {
            Some(known) => known,
            None => {
                worker_control.say_reached(done);
                // An order is obeyed at the next look, which follows at once.
                let Some(goal) = worker_control.wait_for_goal() else { return false };
                *self.known.insert((done, goal))
            }
        };
        done >= goal
    }

    /// The worker has ended after so many operations.
    pub(crate) fn finish(&self, done: u64, worker_control: &WorkerControl<'_>) -> Option<String> {
        let Some((reached, goal)) = self.known else {
            // Its work was over before its time.
            worker_control.say_reached(done);
            return None;
        };
        (done > reached)
            .then(|| format!("wear_out: {reached} operations when its time was up, then on to {done} of {goal}"))
    }
}
