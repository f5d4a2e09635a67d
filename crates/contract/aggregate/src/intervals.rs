//! The intervals of each reported job: those of its workers, merged by their number on the common
//! grid.

use std::collections::BTreeMap;

use iolab_histogram::SparseHistogram;
use iolab_order::Arrange;
use iolab_plan::Direction;
use iolab_recording::{DirectionInterval, IntervalLatencies, Recording, WorkerRecording};

use crate::members::{Member, reported};

/// What one reported job did in one interval, in one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalFigures<'a> {
    /// Name of the job.
    pub job: &'a str,
    /// Numbers of its workers.
    pub workers: Vec<u32>,
    /// Direction.
    pub direction: Direction,
    /// Start, ns since the start of the run.
    pub start_ns: u64,
    /// Length, ns: that of the grid, but shorter at both ends of a job, and longer for a period in
    /// which nothing completed.
    pub length_ns: u64,
    /// Operations completed.
    pub ios: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// reaped - begun; empty when not measured.
    pub lat: SparseHistogram,
    /// reaped - submitted; empty when not measured.
    pub clat: SparseHistogram,
    /// reaped - intended; empty when not paced.
    pub response: SparseHistogram,
}

/// A cell of the grid.
#[derive(Debug, Clone, Default)]
struct Cell {
    start_ns: u64,
    end_ns: u64,
    directions: [Part; 3],
}

#[derive(Debug, Clone, Default)]
struct Part {
    ios: u64,
    bytes: u64,
    lat: SparseHistogram,
    clat: SparseHistogram,
    response: SparseHistogram,
}

impl Part {
    fn add(&mut self, interval: &DirectionInterval) {
        self.ios = self.ios.saturating_add(interval.ios);
        self.bytes = self.bytes.saturating_add(interval.bytes);
        self.lat.merge(&interval.lat());
        self.clat.merge(&interval.clat());
        self.response.merge(&interval.response());
    }
}

/// The intervals of every reported job, by time, then job, then direction. Directions of a job in
/// which nothing ever completed are left out.
pub fn interval_figures(recording: &Recording) -> Vec<IntervalFigures<'_>> {
    let mut all: Vec<IntervalFigures<'_>> = reported(recording).iter().flat_map(|members| of_job(members)).collect();
    all.arrange_by_key(|figures| figures.start_ns);
    all
}

fn of_job<'a>(members: &[Member<'a>]) -> Vec<IntervalFigures<'a>> {
    // Workers of one group may have intervals of different lengths: all can be merged into the
    // longest.
    let grid_ns = members.iter().map(|(plan, _)| plan.measurement.histogram_interval_ns).max().unwrap_or(0);
    let workers: Vec<&WorkerRecording> = members.iter().map(|member| member.1).collect();
    let intervals: Vec<&IntervalLatencies> = workers.iter().flat_map(|worker| &worker.interval_latencies).collect();
    let cells = with_gaps(cells(&intervals, grid_ns.max(1)), &intervals);
    let used: Vec<Direction> = Direction::ALL
        .into_iter()
        .filter(|direction| cells.iter().any(|cell| cell.directions[direction.index()].ios > 0))
        .collect();
    let mut figures = Vec::with_capacity(cells.len() * used.len());
    for mut cell in cells {
        for direction in &used {
            let Part { ios, bytes, lat, clat, response } = std::mem::take(&mut cell.directions[direction.index()]);
            figures.push(IntervalFigures {
                job: &members[0].0.job,
                workers: workers.iter().map(|worker| worker.number).collect(),
                direction: *direction,
                start_ns: cell.start_ns,
                length_ns: cell.end_ns - cell.start_ns,
                ios,
                bytes,
                lat,
                clat,
                response,
            });
        }
    }
    figures
}

fn end_of(interval: &IntervalLatencies) -> u64 {
    interval.start_ns.saturating_add(interval.length_ns)
}

/// The intervals in which something completed, merged cell by cell.
fn cells(intervals: &[&IntervalLatencies], grid_ns: u64) -> Vec<Cell> {
    let mut cells: BTreeMap<u64, Cell> = BTreeMap::new();
    for interval in intervals.iter().filter(|interval| !interval.directions.is_empty()) {
        let (start_ns, end_ns) = (interval.start_ns, end_of(interval));
        // Operations that completed exactly on the last line belong to the interval that it closes.
        let number = if interval.length_ns == 0 { start_ns.saturating_sub(1) } else { start_ns } / grid_ns;
        let cell = cells.entry(number).or_insert_with(|| Cell { start_ns, end_ns, ..Cell::default() });
        cell.start_ns = cell.start_ns.min(start_ns);
        cell.end_ns = cell.end_ns.max(end_ns);
        interval.directions.iter().for_each(|part| cell.directions[part.direction.index()].add(part));
    }
    cells.into_values().collect()
}

/// Puts an empty cell wherever the workers ran and nothing completed.
fn with_gaps(cells: Vec<Cell>, intervals: &[&IntervalLatencies]) -> Vec<Cell> {
    let begin_ns = intervals.iter().map(|interval| interval.start_ns).min().unwrap_or(0);
    let end_ns = intervals.iter().map(|interval| end_of(interval)).max().unwrap_or(0);
    let mut whole: Vec<Cell> = Vec::with_capacity(cells.len() + 1);
    let mut at_ns = begin_ns;
    for mut cell in cells {
        if cell.start_ns > at_ns {
            whole.push(Cell { start_ns: at_ns, end_ns: cell.start_ns, ..Cell::default() });
        }
        // Cells of different grids may overlap: no time is counted twice.
        cell.start_ns = cell.start_ns.max(at_ns);
        cell.end_ns = cell.end_ns.max(cell.start_ns);
        at_ns = cell.end_ns;
        whole.push(cell);
    }
    if end_ns > at_ns {
        whole.push(Cell { start_ns: at_ns, end_ns, ..Cell::default() });
    }
    whole
}
