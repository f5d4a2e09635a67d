//! Think time: counts operations, then pauses for a while, asleep or computing.
//!
//! Computing ends by the clock, or when the thread has used enough processor time. In the second
//! case, a pause gets longer while the thread waits for a processor.

use iolab_plan::{ThinkPlan, ThinkTrigger};

/// Where a worker is in its think time.
#[derive(Debug)]
pub(crate) struct Think {
    plan: ThinkPlan,
    counted: u32,
    burst_begun_ns: u64,
    busy_until_ns: u64,
    until_ns: u64,
    /// Processor time of this thread at which the computing of the pause ends; `None` if it ends by
    /// the clock, or has ended.
    work_until_ns: Option<u64>,
    /// Processor time of this thread until now, ns.
    processor_ns: fn() -> u64,
}

impl Think {
    pub(crate) fn of(plan: ThinkPlan) -> Think {
        Think {
            plan,
            counted: 0,
            burst_begun_ns: 0,
            busy_until_ns: 0,
            until_ns: 0,
            work_until_ns: None,
            processor_ns: iolab_clock::thread_processor_ns,
        }
    }

    /// Operations are counted from now on.
    pub(crate) fn start(&mut self, now_ns: u64) {
        self.burst_begun_ns = now_ns;
        (self.counted, self.busy_until_ns, self.until_ns, self.work_until_ns) = (0, 0, 0, None);
    }

    /// The end of the latest pause, as far as it is known.
    pub(crate) fn until_ns(&self) -> u64 {
        self.until_ns
    }

    /// Until when the latest pause is spent computing.
    pub(crate) fn busy_until_ns(&self) -> u64 {
        self.busy_until_ns
    }

    /// Until when nothing is sent, or until when to ask again. If computing ends by processor time,
    /// this is how long it lasts if the thread has a processor from now on.
    pub(crate) fn held_until_ns(&mut self, now_ns: u64) -> u64 {
        if let Some(work_until_ns) = self.work_until_ns {
            let left_ns = work_until_ns.saturating_sub((self.processor_ns)());
            self.busy_until_ns = now_ns + left_ns;
            self.until_ns = self.busy_until_ns;
            if left_ns == 0 {
                self.until_ns += self.plan.pause_ns.saturating_sub(self.plan.spin_ns);
                self.work_until_ns = None;
            }
            self.burst_begun_ns = self.until_ns;
        }
        self.until_ns
    }

    /// An operation was sent, or has completed. Returns the length of the pause that begins with
    /// it, if one does.
    pub(crate) fn after(&mut self, trigger: ThinkTrigger, now_ns: u64) -> Option<u64> {
        if self.plan.trigger != trigger {
            return None;
        }
        self.counted += 1;
        let io_time_ns = self.plan.io_time_ns;
        let by_time = io_time_ns > 0 && now_ns.saturating_sub(self.burst_begun_ns) >= io_time_ns;
        let by_count = io_time_ns == 0 && self.counted >= self.plan.blocks.max(1);
        if !by_time && !by_count {
            return None;
        }
        let ThinkPlan { pause_ns, spin_ns, work_ns, spin_cycles, .. } = self.plan;
        (0..spin_cycles).for_each(|cycle| _ = std::hint::black_box(cycle));
        self.counted = 0;
        self.busy_until_ns = now_ns + spin_ns;
        self.until_ns = now_ns + pause_ns;
        self.burst_begun_ns = self.until_ns;
        self.work_until_ns = (work_ns > 0).then(|| (self.processor_ns)() + work_ns);
        Some(pause_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_may_end_by_processor_time() {
        std::thread_local!(static USED: std::cell::Cell<u64> = const { std::cell::Cell::new(1000) });
        let trigger = ThinkTrigger::Complete;
        let plan =
            ThinkPlan { pause_ns: 50, spin_ns: 30, work_ns: 25, spin_cycles: 0, blocks: 1, trigger, io_time_ns: 0 };
        let mut think = Think { processor_ns: || USED.get(), ..Think::of(plan) };
        assert_eq!(think.after(ThinkTrigger::Issue, 9), None);
        assert_eq!(think.after(trigger, 10), Some(50));
        assert_eq!((think.held_until_ns(10), think.busy_until_ns()), (35, 35));
        // Another thread had the processor for half of the time.
        USED.set(1012);
        assert_eq!(think.held_until_ns(35), 35 + 13);
        USED.set(1030);
        assert_eq!(think.held_until_ns(60), 80, "the work is done, the rest is slept");
        assert_eq!((think.held_until_ns(80), think.busy_until_ns()), (80, 60));
    }
}
