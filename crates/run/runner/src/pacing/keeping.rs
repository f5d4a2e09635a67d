//! How well the schedule of a paced load is kept: what was sent, and how far the load is behind.

use iolab_recording::ScheduleRecording;

/// The state of the schedule at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Standing {
    /// Operations due and not sent.
    pub(crate) backlog: u64,
    /// How long ago the next operation was due, ns.
    pub(crate) lag_ns: u64,
    /// When the next operation is or was due; `None` when there is none.
    pub(crate) due_ns: Option<u64>,
}

/// The account of one worker since measuring began.
#[derive(Debug, Default)]
pub(crate) struct Keeping {
    from_ns: u64,
    backlog_at_start: u64,
    sent: u64,
    latest_ns: u64,
    backlog_most: u64,
    lag_most_ns: u64,
    lag_of_latest_ns: u64,
    caught_up_ns: u64,
    at_stop: Option<ScheduleRecording>,
}

impl Keeping {
    /// Measuring begins.
    pub(crate) fn start(&mut self, now_ns: u64, standing: Standing) {
        *self = Keeping {
            from_ns: now_ns,
            backlog_at_start: standing.backlog,
            latest_ns: now_ns,
            caught_up_ns: now_ns,
            ..Keeping::default()
        };
    }

    /// An operation is sent; `after` is the schedule's state after it.
    #[inline]
    pub(crate) fn sent(&mut self, intended_ns: u64, begun_ns: u64, after: u64) {
        self.sent += 1;
        self.latest_ns = intended_ns;
        self.lag_of_latest_ns = begun_ns.saturating_sub(intended_ns);
        self.lag_most_ns = self.lag_most_ns.max(self.lag_of_latest_ns);
        if after == 0 {
            self.caught_up_ns = begun_ns;
        } else {
            self.backlog_most = self.backlog_most.max(after + 1);
        }
    }

    /// Nothing more is sent: because the stream has ended (`over`), or because the time is up.
    pub(crate) fn stop(&mut self, now_ns: u64, standing: Standing, over: bool) {
        let recording = if over { self.finished(now_ns, standing) } else { self.so_far(now_ns, standing) };
        self.at_stop = Some(recording);
    }

    /// The account as of the stop, or the current one before it.
    pub(crate) fn recording(&self, now_ns: u64, standing: Standing) -> ScheduleRecording {
        self.at_stop.unwrap_or_else(|| self.so_far(now_ns, standing))
    }

    fn so_far(&self, now_ns: u64, standing: Standing) -> ScheduleRecording {
        let within_ns = now_ns.saturating_sub(self.from_ns);
        let behind_for_ns = if standing.backlog == 0 { 0 } else { now_ns.saturating_sub(self.caught_up_ns) };
        ScheduleRecording {
            asked: (self.sent + standing.backlog).saturating_sub(self.backlog_at_start),
            asked_within_ns: within_ns,
            sent: self.sent,
            sent_within_ns: within_ns,
            backlog_at_end: standing.backlog,
            backlog_most: self.backlog_most.max(standing.backlog),
            lag_at_end_ns: standing.lag_ns,
            lag_most_ns: self.lag_most_ns.max(standing.lag_ns),
            behind_for_ns,
        }
    }

    /// All operations have been sent, so none is missing, even if the schedule has another one due.
    fn finished(&self, now_ns: u64, standing: Standing) -> ScheduleRecording {
        let behind_for_ns = now_ns.saturating_sub(self.caught_up_ns);
        let asked_until_ns = standing.due_ns.unwrap_or(self.latest_ns).max(self.latest_ns);
        ScheduleRecording {
            asked: self.sent.saturating_sub(self.backlog_at_start),
            asked_within_ns: asked_until_ns.saturating_sub(self.from_ns),
            backlog_at_end: 0,
            backlog_most: self.backlog_most,
            lag_at_end_ns: self.lag_of_latest_ns,
            lag_most_ns: self.lag_most_ns,
            behind_for_ns,
            ..self.so_far(now_ns, standing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_backlog_at_the_end_is_what_was_never_sent() {
        let mut keeping = Keeping::default();
        keeping.start(0, Standing::default());
        keeping.sent(0, 0, 0);
        keeping.sent(MS, 5 * MS, 4);
        let standing = Standing { backlog: 6, lag_ns: 6 * MS, due_ns: Some(2 * MS) };
        let expected = ScheduleRecording {
            asked: 8,
            asked_within_ns: 8 * MS,
            sent: 2,
            sent_within_ns: 8 * MS,
            backlog_at_end: 6,
            backlog_most: 6,
            lag_at_end_ns: 6 * MS,
            lag_most_ns: 6 * MS,
            behind_for_ns: 8 * MS,
        };
        assert_eq!(keeping.recording(8 * MS, standing), expected);
        keeping.stop(8 * MS, standing, false);
        assert_eq!(
            keeping.recording(99 * MS, Standing::default()),
            expected,
            "what comes after the stop is not counted"
        );
    }

    #[test]
    fn a_job_that_has_sent_all_is_judged_by_how_late_the_last_was() {
        let mut keeping = Keeping::default();
        keeping.start(0, Standing::default());
        keeping.sent(0, 0, 0);
        keeping.sent(MS, 3 * MS, 2);
        keeping.stop(4 * MS, Standing { backlog: 3, lag_ns: 2 * MS, due_ns: Some(2 * MS) }, true);
        let recording = keeping.recording(0, Standing::default());
        assert_eq!((recording.asked, recording.asked_within_ns), (2, 2 * MS));
        assert_eq!((recording.sent, recording.sent_within_ns), (2, 4 * MS));
        assert_eq!((recording.backlog_at_end, recording.backlog_most, recording.lag_at_end_ns), (0, 3, 2 * MS));
        assert_eq!(recording.behind_for_ns, 4 * MS);
    }

    #[test]
    fn what_the_ramp_left_undone_is_not_asked_of_the_measured_part() {
        let mut keeping = Keeping::default();
        keeping.start(10 * MS, Standing { backlog: 2, lag_ns: 2 * MS, due_ns: Some(8 * MS) });
        keeping.sent(8 * MS, 10 * MS, 1);
        keeping.sent(9 * MS, 10 * MS, 0);
        keeping.sent(11 * MS, 11 * MS, 0);
        let recording = keeping.recording(12 * MS, Standing { backlog: 0, lag_ns: 0, due_ns: Some(13 * MS) });
        assert_eq!((recording.asked, recording.sent, recording.behind_for_ns), (1, 3, 0));
    }
}
