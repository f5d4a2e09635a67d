//! What the jobs of a run did, over time: rates and latencies of each job and direction.
//!
//! Made of the events of the run alone. A point is about a second long, or an interval of the run
//! if that is longer, and is shown when it is over: half of one would look like a drop.

use std::collections::VecDeque;

use iolab_histogram::SparseHistogram;
use iolab_plan::{Direction, Plan};
use iolab_recording::{IntervalLatencies, Progress};

/// No terminal is wider.
const LONGEST: usize = 512;
const POINT_NS: u64 = 1_000_000_000;

/// One point of a job and direction.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorkPoint {
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    /// Empty if the run records no latencies.
    pub(crate) latencies: SparseHistogram,
}

impl WorkPoint {
    fn add(&mut self, ios: u64, bytes: u64, latencies: &SparseHistogram) {
        self.ios += ios;
        self.bytes += bytes;
        self.latencies.merge(latencies);
    }
}

/// One job in one direction.
#[derive(Debug, Clone)]
pub(crate) struct JobCourse {
    pub(crate) job: String,
    pub(crate) direction: Direction,
    /// Workers of the plan that belong to it.
    workers: Vec<u32>,
    /// Operations since the run began.
    pub(crate) ios: u64,
    /// One for each line of [`Work::lines`].
    pub(crate) points: VecDeque<WorkPoint>,
}

/// All jobs of a run.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// Where the run stands, in words.
    pub(crate) standing: String,
    pub(crate) jobs: Vec<JobCourse>,
    /// The numbers of the points: point `n` ends at `(n + 1) × point_ns` after the start of the
    /// run.
    lines: VecDeque<u64>,
    pub(crate) point_ns: u64,
    /// Whether intervals are followed; otherwise rates come from the totals of the workers.
    has_intervals: bool,
    totals: Vec<([u64; 3], [u64; 3])>,
}

impl Work {
    pub(crate) fn new(plan: &Plan, has_intervals: bool) -> Work {
        let mut jobs: Vec<JobCourse> = Vec::new();
        for worker in &plan.workers {
            for direction in &worker.workload.pattern.directions {
                match jobs.iter_mut().find(|job| job.job == worker.job && job.direction == *direction) {
                    Some(job) => job.workers.push(worker.number),
                    None => jobs.push(JobCourse {
                        job: worker.job.clone(),
                        direction: *direction,
                        workers: vec![worker.number],
                        ios: 0,
                        points: VecDeque::new(),
                    }),
                }
            }
        }
        let intervals = plan.workers.iter().map(|worker| worker.measurement.histogram_interval_ns);
        let interval_ns = intervals.filter(|interval_ns| *interval_ns > 0).max().unwrap_or(0);
        let point_ns = POINT_NS.div_ceil(interval_ns.max(1)).max(1).saturating_mul(interval_ns.max(1));
        let point_ns = if interval_ns == 0 { POINT_NS } else { point_ns };
        let totals = vec![Default::default(); plan.workers.len()];
        let has_intervals = has_intervals && interval_ns > 0;
        Work { standing: String::new(), jobs, lines: VecDeque::new(), point_ns, has_intervals, totals }
    }

    /// Adds an interval of a worker.
    pub(crate) fn interval(&mut self, worker: u32, interval: &IntervalLatencies) {
        if !self.has_intervals {
            return;
        }
        let end_ns = interval.start_ns + interval.length_ns;
        let Some(place) = self.place(end_ns.saturating_sub(1) / self.point_ns) else { return };
        for part in &interval.directions {
            let is_it = |job: &&mut JobCourse| job.direction == part.direction && job.workers.contains(&worker);
            if let Some(job) = self.jobs.iter_mut().find(is_it) {
                job.ios += part.ios;
                job.points[place].add(part.ios, part.bytes, &part.lat());
            }
        }
    }

    /// Takes the totals of the workers, for a run without intervals.
    pub(crate) fn progress(&mut self, plan: &Plan, progress: &Progress) {
        if self.has_intervals {
            return;
        }
        let Some(place) = self.place(progress.elapsed_ns.saturating_sub(1) / self.point_ns) else { return };
        for ((worker, now), before) in plan.workers.iter().zip(&progress.workers).zip(&mut self.totals) {
            for job in self.jobs.iter_mut().filter(|job| job.workers.contains(&worker.number)) {
                let at = job.direction.index();
                let gained = |now: [u64; 3], before: [u64; 3]| now[at].saturating_sub(before[at]);
                let (ios, bytes) = (gained(now.ios, before.0), gained(now.bytes, before.1));
                job.ios += ios;
                job.points[place].add(ios, bytes, &SparseHistogram::default());
            }
            *before = (now.ios, now.bytes);
        }
    }

    /// The place of a point, which is made if it is new; `None` if it is too old.
    fn place(&mut self, line: u64) -> Option<usize> {
        let next = self.lines.back().map_or(line, |last| last + 1);
        for line in next..=line {
            self.lines.push_back(line);
            self.jobs.iter_mut().for_each(|job| job.points.push_back(WorkPoint::default()));
            if self.lines.len() > LONGEST {
                self.lines.pop_front();
                self.jobs.iter_mut().for_each(|job| drop(job.points.pop_front()));
            }
        }
        self.lines.iter().position(|known| *known == line)
    }

    /// How many points are over: all but the last.
    pub(crate) fn whole(&self) -> usize {
        self.lines.len().saturating_sub(1)
    }

    /// The latest whole point of a job.
    pub(crate) fn latest<'a>(&self, job: &'a JobCourse) -> Option<&'a WorkPoint> {
        job.points.get(self.whole().checked_sub(1)?)
    }

    /// Whether anything measures latencies.
    pub(crate) fn has_latencies(&self) -> bool {
        self.jobs.iter().any(|job| job.points.iter().any(|point| !point.latencies.is_empty()))
    }

    /// The whole points of one direction, of all jobs together, the oldest first; none if no job
    /// has it.
    pub(crate) fn summed(&self, direction: Direction) -> Vec<WorkPoint> {
        let own: Vec<&JobCourse> = self.jobs.iter().filter(|job| job.direction == direction).collect();
        if own.is_empty() {
            return Vec::new();
        }
        let sum = |place: usize| {
            let mut sum = WorkPoint::default();
            for point in own.iter().map(|job| &job.points[place]) {
                sum.add(point.ios, point.bytes, &point.latencies);
            }
            sum
        };
        (0..self.whole()).map(sum).collect()
    }

    /// A count in a point as a rate.
    pub(crate) fn per_second(&self, count: u64) -> f64 {
        count as f64 / (self.point_ns as f64 / 1e9)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use iolab_recording::{DirectionInterval, State, WorkerProgress};

    use super::*;

    /// A recorder's own entry would need a whole run: these have counts alone.
    pub(crate) fn interval(second: u64, reads: u64) -> IntervalLatencies {
        let part = DirectionInterval {
            direction: Direction::Read,
            ios: reads,
            bytes: reads * 4096,
            lat: None,
            clat: None,
            clat_equals_lat: false,
            response: None,
        };
        IntervalLatencies { start_ns: second * 1_000_000_000, length_ns: 1_000_000_000, directions: vec![part] }
    }

    pub(crate) fn plan() -> Plan {
        iolab_testkit::whole_run::plan("[a]\nrw=randread\nsize=1m\nnumjobs=2\n[b]\nrw=rw\nsize=1m\n")
    }

    #[test]
    fn workers_of_a_job_are_one_line_and_a_point_counts_when_it_is_over() {
        let mut work = Work::new(&plan(), true);
        let names: Vec<_> = work.jobs.iter().map(|job| (job.job.as_str(), job.direction.name())).collect();
        assert_eq!(names, [("a", "read"), ("b", "read"), ("b", "write")]);
        work.interval(0, &interval(0, 100));
        work.interval(1, &interval(0, 50));
        assert_eq!(work.whole(), 0, "the first second may not be over");
        work.interval(0, &interval(1, 7));
        assert_eq!(work.whole(), 1);
        assert_eq!(work.latest(&work.jobs[0]).map(|point| (point.ios, point.bytes)), Some((150, 150 * 4096)));
        assert_eq!(work.latest(&work.jobs[1]).map(|point| point.ios), Some(0));
        assert_eq!(work.jobs[0].ios, 157);
        work.interval(2, &interval(3, 9));
        let reads: Vec<u64> = work.summed(Direction::Read).iter().map(|point| point.ios).collect();
        assert_eq!(reads, [150, 7, 0], "a second without operations is a point, too");
        assert!(work.summed(Direction::Trim).is_empty());
        (10..2000).for_each(|second| work.interval(0, &interval(second, 1)));
        assert_eq!((work.whole(), work.jobs[0].ios), (LONGEST - 1, 157 + 1990));
        work.interval(0, &interval(0, 1));
        assert_eq!(work.whole(), LONGEST - 1, "what is too old is left out");
    }

    #[test]
    fn without_intervals_rates_come_from_the_totals() {
        let plan = iolab_testkit::whole_run::plan("[a]\nrw=write\nsize=1m\ninterval=0\n");
        let mut work = Work::new(&plan, true);
        for (tenths, ios) in [(1, 10), (9, 90), (11, 110), (21, 300)] {
            let worker = WorkerProgress { state: State::Running, ios: [0, ios, 0], bytes: [0; 3], measured_ns: 0 };
            work.progress(&plan, &Progress { elapsed_ns: tenths * 100_000_000, workers: vec![worker] });
        }
        let writes: Vec<u64> = work.summed(Direction::Write).iter().map(|point| point.ios).collect();
        assert_eq!(writes, [90, 20]);
        assert!(!work.has_latencies());
    }
}
