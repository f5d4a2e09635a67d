//! Jobs whose operations come from a trace: `read_iolog` and related options.
//!
//! The trace determines the files, their lengths, the number of workers and their queue depths; the
//! job determines the engine and the location of the files.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use iolab_options::Direction;
use iolab_order::Arrange;
use iolab_plan::{
    BlockSizes, FileOrigin, FilePlan, LayoutPlan, Pattern, PerDirection, ReplayFile, ReplayPlan, ReplayRules,
    ReplayShare, ReplaySurvey, WorkerPlan,
};

use crate::PathKind;
use crate::job::Job;
use crate::names::{below, split};
use crate::sizes::Extents;

/// Largest queue depth that a trace sets by itself.
const MOST_IN_FLIGHT: u32 = 1024;

/// The trace of a section.
#[derive(Debug)]
pub(crate) struct Trace {
    paths: Vec<String>,
    rules: ReplayRules,
    survey: ReplaySurvey,
}

impl Trace {
    /// The number of workers that it needs.
    pub(crate) fn shares(&self) -> u32 {
        self.survey.shares.len() as u32
    }

    /// What the worker replays.
    fn share(&self, job: &Job<'_>) -> &ReplayShare {
        &self.survey.shares[job.clone as usize % self.survey.shares.len()]
    }
}

/// Examines the trace of a section, if it has one. Parts that cannot be replayed become findings.
pub(crate) fn trace_of(job: &Job<'_>) -> Option<Rc<Trace>> {
    const DEPENDENT: [&str; 11] = [
        "merge_blktrace_file",
        "merge_blktrace_scalars",
        "merge_blktrace_iters",
        "read_iolog_chunked",
        "replay_no_stall",
        "replay_redirect",
        "replay_map",
        "replay_scale",
        "replay_align",
        "replay_time_scale",
        "replay_skip",
    ];
    let Some(list) = job.text("read_iolog") else {
        for name in DEPENDENT.into_iter().filter(|name| job.has(name)) {
            job.warn(name, format!("{name} has no effect without read_iolog"), "");
        }
        return None;
    };
    let paths = split(&list);
    let rules = rules(job);
    match job.request.machine.survey(&paths, &rules) {
        Ok(survey) if !survey.shares.is_empty() => {
            for (what, count) in &survey.left_out {
                job.warn_always("read_iolog", format!("not replayed: {count} {what}"), "");
            }
            Some(Rc::new(Trace { paths, rules, survey }))
        }
        Ok(_) => None,
        Err(reason) => {
            let advice = "name a trace of `iolab capture`, an iolog of fio, strace's text, or the files of one blktrace separated by `:`";
            job.error("read_iolog", reason, advice);
            None
        }
    }
}

fn rules(job: &Job<'_>) -> ReplayRules {
    let skip = job.text("replay_skip").unwrap_or_default();
    let skips = |word: &str| skip.split(',').any(|one| one.trim() == word);
    let syncs = skips("flush") || skips("sync");
    ReplayRules {
        timed: !job.on("replay_no_stall"),
        speed: job.integer("replay_time_scale").max(1) as f64 / 100.0,
        divide_offsets: u32::try_from(job.integer("replay_scale")).unwrap_or(u32::MAX).max(1),
        align_bytes: job.bytes("replay_align"),
        skip: [skips("read"), skips("write"), skips("trim"), syncs],
        ..ReplayRules::default()
    }
}

/// The pattern of a replay: only its directions matter.
pub(crate) fn pattern(job: &Job<'_>, trace: &Trace, mut pattern: Pattern) -> Pattern {
    let counts = trace.share(job).counts;
    let moves = Direction::ALL.into_iter().filter(|direction| counts[direction.index()] > 0);
    pattern.directions = moves.collect();
    if counts[3] > 0 && counts[1] == 0 {
        // Some file systems only sync files that are open for writing.
        pattern.directions.push(Direction::Write);
    }
    pattern.directions.arrange_by_key(|direction| direction.index());
    pattern.directions.dedup();
    pattern.word = "replay".to_owned();
    pattern.random = false;
    pattern.trim_then_write = false;
    let writes = pattern.directions.iter().any(|direction| *direction != Direction::Read);
    if job.request.overrides.readonly && writes {
        job.error(
            "read_iolog",
            "the trace writes, trims or syncs, but --readonly is set",
            "remove --readonly, or add replay_skip=write,trim,sync",
        );
    }
    pattern
}

/// The layout: with data if the trace found data, direct if all of it was.
pub(crate) fn layout(job: &Job<'_>, trace: &Trace, mut layout: LayoutPlan) -> LayoutPlan {
    let share = trace.share(job);
    let transfers: u64 = share.counts[..3].iter().sum();
    if !job.has("direct") && !job.has("buffered") && job.engine.capabilities.direct {
        layout.direct = transfers > 0 && share.direct == transfers;
    }
    layout.overwrite = true;
    layout.make_folders |= layout.allow_create && (job.has("directory") || job.has("replay_map"));
    layout
}

/// The current places of the trace's files.
pub(crate) fn extents(job: &Job<'_>, trace: &Trace) -> Extents {
    let share = trace.share(job);
    let maps = maps(job);
    let number = |file: &ReplayFile| file.number;
    let mut files = Vec::with_capacity(share.files.len());
    for wanted in &share.files {
        let Ok(place) = trace.survey.files.binary_search_by_key(wanted, number) else { continue };
        files.push(file_plan(job, &maps, &trace.survey.files[place]));
    }
    Extents { files, io_bytes: share.bytes.iter().sum::<u64>().max(1) }
}

/// `replay_map=FROM=TO:…`: the longest matching prefix of a path counts.
fn maps(job: &Job<'_>) -> Vec<(String, String)> {
    let mut maps = Vec::new();
    for pair in split(&job.text("replay_map").unwrap_or_default()) {
        match pair.split_once('=') {
            Some((from, to)) if !from.is_empty() && !to.is_empty() => maps.push((from.to_owned(), to.to_owned())),
            _ => {
                job.error("replay_map", format!("`{pair}` is not FROM=TO"), "for example replay_map=/var/lib=/mnt/copy")
            }
        }
    }
    maps.arrange_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    maps
}

fn file_plan(job: &Job<'_>, maps: &[(String, String)], file: &ReplayFile) -> FilePlan {
    let (path, origin) = place_of(job, maps, file);
    let stored = job.engine.capabilities.files == iolab_engine::FileUse::Descriptors;
    let kind = if stored { job.request.machine.at(Path::new(&path)) } else { PathKind::Missing };
    let at =
        ["replay_redirect", "replay_map", "read_iolog"].into_iter().find(|name| job.has(name)).unwrap_or("read_iolog");
    let end = file.end_bytes;
    match kind {
        PathKind::Directory => job.error(at, format!("{path} is a directory"), "map the file to a file or a device"),
        PathKind::BlockDevice(size) if size < end => job.error(
            at,
            format!("the trace reaches byte {end} of {}, but {path} has only {size} bytes", file.path),
            "map it to a larger device, or divide offsets: replay_scale=2",
        ),
        PathKind::Missing if stored && path.starts_with("/dev/") => job.refuse_unless_fio(
            at,
            format!("there is no device {path}"),
            "map it to one that there is: replay_redirect=/dev/DEVICE, or replay_map=FROM=TO",
        ),
        _ => {}
    }
    let is_file = stored && matches!(kind, PathKind::File(_) | PathKind::Missing);
    // The program found this much, or reads this much. Appended data is appended again.
    let found = file.size_bytes.map_or(end, |size| size.min(end)).max(file.read_end_bytes);
    let layout_bytes = match (is_file, job.engine.capabilities.extends_files) {
        (false, _) => 0,
        (true, true) => found,
        (true, false) => end,
    };
    FilePlan {
        path: PathBuf::from(path),
        start_bytes: 0,
        length_bytes: end.max(1),
        layout_bytes,
        origin,
        block_device: matches!(kind, PathKind::BlockDevice(_)),
    }
}

/// `replay_redirect`, otherwise `replay_map`, otherwise below `directory`, otherwise the original
/// place.
fn place_of(job: &Job<'_>, maps: &[(String, String)], file: &ReplayFile) -> (String, FileOrigin) {
    if let Some(device) = job.text("replay_redirect") {
        return (device, FileOrigin::Named);
    }
    let fits = |from: &str| {
        let rest = file.path.strip_prefix(from.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then_some(rest)
    };
    if let Some((rest, to)) = maps.iter().find_map(|(from, to)| Some((fits(from)?, to))) {
        let path = if rest.is_empty() { to.clone() } else { below(Some(to), "", rest) };
        return (path, FileOrigin::Named);
    }
    match split(&job.text("directory").unwrap_or_default()).first() {
        Some(folder) => {
            // Components `..` would lead out of the folder.
            let parts: Vec<&str> = file.path.split('/').filter(|part| !matches!(*part, "" | "." | "..")).collect();
            (below(Some(folder), "", &parts.join("/")), FileOrigin::Generated { folder: PathBuf::from(folder) })
        }
        None => (file.path.clone(), FileOrigin::Named),
    }
}

/// Applies the trace to a worker that was resolved without it; `first` is the number of its
/// section's first worker.
pub(crate) fn apply(job: &Job<'_>, first: u32, trace: &Trace, worker: &mut WorkerPlan) {
    let share = trace.share(job);
    let longest = share.longest_bytes.max(1);
    worker.workload.block_sizes =
        PerDirection::from([const { BlockSizes::Fixed(0) }; 3]).map(|_| BlockSizes::Fixed(longest));
    worker.buffers.slot_bytes = longest;
    worker.pacing.by_trace = trace.rules.timed;
    if worker.pacing.think.is_some() || worker.pacing.arrivals.is_some() || worker.pacing.rate_iops != [0; 3] {
        job.error("read_iolog", "a trace has times of its own", "remove rates, arrivals and thinktime");
    }
    let synchronous = job.engine.capabilities.synchronous;
    if synchronous && share.most_in_flight > 1 {
        let reason = format!(
            "up to {} operations of one thread were under way together, but engine {} keeps one in flight",
            share.most_in_flight, job.engine.name
        );
        job.warn("ioengine", reason, "use io_uring");
    }
    if !synchronous && !job.has("iodepth") {
        worker.queue.depth = share.most_in_flight.clamp(1, MOST_IN_FLIGHT);
        worker.queue.asked_depth = worker.queue.depth;
        worker.queue.batch_submit = Some(1);
        worker.queue.batch_grows = false;
        worker.queue.batch_complete_min = worker.queue.batch_complete_min.min(worker.queue.depth);
    }
    let shares = trace.shares();
    worker.replay = Some(Box::new(ReplayPlan {
        paths: trace.paths.clone(),
        identity: trace.survey.identity,
        share: job.clone % shares,
        share_of_thread: trace.survey.share_of_thread.clone(),
        first_worker: first + job.clone / shares * shares,
        files: share.files.clone(),
        rules: trace.rules,
        operations: share.operations,
        span_ns: share.span_ns,
    }));
}
