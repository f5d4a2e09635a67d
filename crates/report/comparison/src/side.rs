//! The two sides of a comparison, and which of their cells correspond.
//!
//! A **cell** is one configuration and one job. Trials of studies belong to the configuration of
//! their points. Other runs belong together unless their options differ within one side: then the
//! differing options whose values also occur on the other side form the configuration.

use std::collections::{BTreeMap, BTreeSet};

use iolab_order::{Arrange, Gather};
use iolab_study::Figure;
use serde::{Deserialize, Serialize};

use crate::{JobSummary, RunSummary};

/// One side: runs of the same program, device or setting.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Side {
    /// Its name, as given by the user.
    pub name: String,
    /// Its runs.
    pub runs: Vec<ComparedRun>,
    /// Missing runs: trials of a study that were not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Figures that the study of these runs asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub figures: Vec<Figure>,
}

/// A run and its place in a study, if any.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// What it measured.
    pub summary: RunSummary,
    /// Block, from 0.
    pub block: Option<u32>,
    /// The folder of its study: blocks of one study were measured side by side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub study: Option<String>,
    /// Axes and points of its configuration.
    pub points: Vec<(String, String)>,
}

/// The job of a cell: its name, or all jobs together.
pub(crate) type JobName = Option<String>;

/// What is compared: one configuration, one job, on both sides.
#[derive(Debug)]
pub(crate) struct Cell<'r> {
    pub(crate) points: Vec<(String, String)>,
    pub(crate) job: JobName,
    /// Trials of baseline and candidate, ascending by their start where that is known.
    pub(crate) trials: [Vec<Trial<'r>>; 2],
}

/// One run's part in a cell.
#[derive(Debug, Clone)]
pub(crate) struct Trial<'r> {
    pub(crate) run: &'r ComparedRun,
    pub(crate) jobs: Vec<&'r JobSummary>,
}

/// Options that vary between runs without changing the load.
const BESIDE_THE_POINT: [&str; 7] =
    ["randseed", "description", "name", "write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log"];

/// Stands for the value of an option that a job does not set.
pub(crate) const UNSET: &str = "not set";

/// The cells in order of first occurrence, baseline first. Runs that do not count are left out.
pub(crate) fn cells<'r>(sides: [&'r Side; 2]) -> Vec<Cell<'r>> {
    let rename = renames(sides);
    let of_study = of_one_study(sides);
    let varying = Varying::of(sides);
    let mut cells: Vec<Cell<'r>> = Vec::new();
    for (side, number) in sides.into_iter().zip(0..) {
        let mut runs: Vec<&ComparedRun> = side.runs.iter().filter(|run| run.summary.flaw.is_none()).collect();
        runs.arrange_by_key(|run| run.summary.started_unix_ns);
        for run in runs {
            for (job, jobs) in groups(&run.summary) {
                let points = if of_study { run.points.clone() } else { varying.points(&jobs) };
                let job = if rename && job.is_some() { Some(String::new()) } else { job };
                let place = cells.iter().position(|cell| cell.points == points && cell.job == job);
                let place = place.unwrap_or_else(|| {
                    cells.push(Cell { points, job, trials: [Vec::new(), Vec::new()] });
                    cells.len() - 1
                });
                cells[place].trials[number].push(Trial { run, jobs });
            }
        }
    }
    cells
}

/// Each job separately, and all together if there are several and they ran at the same time.
pub(crate) fn groups(run: &RunSummary) -> Vec<(JobName, Vec<&JobSummary>)> {
    let mut groups: Vec<(JobName, Vec<&JobSummary>)> =
        run.jobs.iter().map(|job| (Some(job.name.clone()), vec![job])).collect();
    if run.jobs.is_empty() {
        groups.push((Some(String::new()), Vec::new()));
    }
    if run.jobs.len() > 1 && run.jobs.iter().all(|job| job.stage == run.jobs[0].stage) {
        groups.push((None, run.jobs.iter().collect()));
    }
    groups
}

/// Names of the jobs of a side.
pub(crate) fn job_names(side: &Side) -> BTreeSet<&str> {
    side.runs.iter().flat_map(|run| &run.summary.jobs).map(|job| job.name.as_str()).gather()
}

/// Whether each side has only one job, under different names: then these correspond.
fn renames(sides: [&Side; 2]) -> bool {
    let [theirs, ours] = sides.map(job_names);
    theirs.len() == 1 && ours.len() == 1 && theirs != ours
}

/// Whether the points of studies determine which runs belong together.
fn of_one_study(sides: [&Side; 2]) -> bool {
    let mut runs = sides.iter().flat_map(|side| &side.runs);
    runs.all(|run| !run.points.is_empty())
}

/// Options that distinguish runs of one side, by job, and whose values occur on both sides.
struct Varying(BTreeMap<String, BTreeSet<String>>);

impl Varying {
    fn of(sides: [&Side; 2]) -> Varying {
        let any_job = renames(sides);
        let names: BTreeSet<&str> = sides.into_iter().flat_map(job_names).gather();
        let of_job = |name: &str| {
            let jobs = |side: &'_ Side| -> Vec<BTreeMap<String, String>> {
                let jobs = side.runs.iter().flat_map(|run| &run.summary.jobs);
                jobs.filter(|job| any_job || job.name == name).map(|job| job.options.clone()).collect()
            };
            let [theirs, ours] = sides.map(jobs);
            let options: BTreeSet<&String> = theirs.iter().chain(&ours).flat_map(BTreeMap::keys).gather();
            let varies = |option: &&&String| {
                let values = |jobs: &[BTreeMap<String, String>]| -> BTreeSet<Option<String>> {
                    jobs.iter().map(|options| options.get(**option).cloned()).gather()
                };
                let (theirs, ours) = (values(&theirs), values(&ours));
                (theirs.len() > 1 || ours.len() > 1) && !theirs.is_disjoint(&ours)
            };
            let options = options.iter().filter(|option| !BESIDE_THE_POINT.contains(&option.as_str()));
            options.filter(varies).map(|option| (*option).clone()).collect()
        };
        Varying(names.into_iter().map(|name| (name.to_owned(), of_job(name))).collect())
    }

    fn points(&self, jobs: &[&JobSummary]) -> Vec<(String, String)> {
        let mut points = BTreeMap::new();
        for job in jobs {
            for option in self.0.get(&job.name).into_iter().flatten() {
                let value = job.options.get(option).cloned().unwrap_or_else(|| UNSET.to_owned());
                points.entry(option.clone()).or_insert(value);
            }
        }
        points.into_iter().collect()
    }
}
