//! `flow`: the workers of one flow do transfers in the ratio of their weights.
//!
//! A round of a worker is as many transfers as its weight. A worker waits when it is more than one
//! round ahead of the slowest of the others. Only workers at work, or about to begin, count. A
//! worker that has ended or is still in its start delay delays no other; a worker that begins late
//! starts level with the slowest. The allowed lead grows to a sixty-fourth of the work done, so
//! that fast workers need not check each other for each transfer.

use iolab_plan::WorkerPlan;
use iolab_recording::State;

use crate::control::Control;

/// How often to check the other workers, ns, if `flow_sleep` is not set.
const LOOK_NS: u64 = 50_000;

/// One worker's place in its flow.
#[derive(Debug)]
pub(crate) struct Flow<'a> {
    control: &'a Control,
    own: usize,
    weight: u64,
    /// The others, with their weights, and whether they begin when they are ready.
    others: Vec<(usize, u64, bool)>,
    sleep_ns: u64,
    /// Transfers released so far, plus the number added to start level.
    gone: u64,
    has_begun: bool,
}

impl<'a> Flow<'a> {
    /// The flow of the worker at `place`; `None` if it belongs to none.
    pub(crate) fn of(control: &'a Control, workers: &[WorkerPlan], place: usize) -> Option<Flow<'a>> {
        let plan = workers[place].pacing.flow?;
        let weight_of = |worker: &WorkerPlan| worker.pacing.flow.filter(|flow| flow.id == plan.id);
        let others = (0..workers.len()).filter(|other| *other != place);
        let others = others.filter_map(|other| {
            let weight = u64::from(weight_of(&workers[other])?.weight.max(1));
            Some((other, weight, workers[other].limits.start_delay_ns == 0))
        });
        Some(Flow {
            control,
            own: place,
            weight: u64::from(plan.weight.max(1)),
            others: others.collect(),
            sleep_ns: if plan.sleep_ns > 0 { plan.sleep_ns } else { LOOK_NS },
            gone: 0,
            has_begun: false,
        })
    }

    fn at_work(&self) -> impl Iterator<Item = (u64, u64)> {
        let is_at_work = |place: usize, begins: bool| match self.control.state(place) {
            State::Ramping | State::Running => true,
            State::SettingUp | State::Ready => begins,
            _ => false,
        };
        self.others
            .iter()
            .filter(move |(place, _, begins)| is_at_work(*place, *begins))
            .map(|(place, weight, _)| (self.control.flowed(*place), *weight))
    }

    /// Until when the next transfer waits; `None` if it may be sent.
    pub(crate) fn holds_until_ns(&mut self, now_ns: u64) -> Option<u64> {
        if !self.has_begun {
            self.has_begun = true;
            self.gone = self.at_work().map(|(gone, weight)| gone * self.weight / weight).min().unwrap_or(0);
            self.control.set_flowed(self.own, self.gone);
        }
        let is_ahead = self.at_work().any(|(gone, weight)| {
            let rounds = 1 + gone / weight / 64;
            self.gone * weight > (gone + rounds * weight) * self.weight
        });
        is_ahead.then(|| now_ns + self.sleep_ns)
    }

    /// A transfer is sent.
    pub(crate) fn goes(&mut self) {
        self.gone += 1;
        self.control.set_flowed(self.own, self.gone);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pacing::tests::worker_in_flow;

    #[test]
    fn ratios_are_those_of_the_weights_whoever_is_faster_and_when_one_leaves() {
        let workers = [worker_in_flow(1, 1), worker_in_flow(1, 8), worker_in_flow(1, 3), worker_in_flow(2, 1)];
        let control = Control::new(workers.len()).unwrap();
        let mut flows: Vec<Flow<'_>> = (0..3).map(|place| Flow::of(&control, &workers, place).unwrap()).collect();
        (0..4).for_each(|place| control.worker_control(place).set_state(State::Running));
        let mut done = [0_u64; 3];
        for turn in 0..12_000_usize {
            // The worker with the least weight tries most often.
            let place = if turn % 2 == 0 { 0 } else { turn / 2 % 3 };
            // The second worker leaves half-way.
            if turn == 6000 {
                control.declare_done(1);
                assert!((7.0..9.0).contains(&(done[1] as f64 / done[0] as f64)), "{done:?}");
                assert!((2.5..3.5).contains(&(done[2] as f64 / done[0] as f64)), "{done:?}");
                done = [0; 3];
            }
            if (place != 1 || turn < 6000) && flows[place].holds_until_ns(5).is_none() {
                flows[place].goes();
                done[place] += 1;
            }
        }
        assert!((2.5..3.5).contains(&(done[2] as f64 / done[0] as f64)), "{done:?}");
        // A worker that begins late starts level.
        let mut late = Flow::of(&control, &workers, 1).unwrap();
        control.worker_control(1).set_state(State::Running);
        assert_eq!(late.holds_until_ns(5), None);
        assert!(control.flowed(1) > 8 * 100, "level with the slowest: {}", control.flowed(1));
        assert_eq!(Flow::of(&control, &workers, 3).unwrap().holds_until_ns(5), None, "alone in its flow");
    }
}
