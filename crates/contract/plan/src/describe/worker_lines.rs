//! A worker's values as lines: what it does, how, and what is measured of it.

use iolab_options::Value;
use iolab_text::{counted, every, exact_ns as time_ns};

use super::amounts::{bytes, list, or, triple, variant, yes};
use super::{Line, order_lines, pace_lines, target_lines, verify_lines};
use crate::describe::add;
use crate::{BlockSizes, Distribution, WorkerPlan};

/// All lines of a worker, in chapters.
pub(super) fn of(worker: &WorkerPlan) -> Vec<Line> {
    let mut lines = Vec::new();
    general(worker, &mut lines);
    workload(worker, &mut lines);
    shape(worker, &mut lines);
    replay(worker, &mut lines);
    queue(worker, &mut lines);
    pace_lines::pacing(worker, &mut lines);
    pace_lines::limits(worker, &mut lines);
    target_lines::files(worker, &mut lines);
    target_lines::layout(worker, &mut lines);
    target_lines::buffers(worker, &mut lines);
    measurement(worker, &mut lines);
    logs(worker, &mut lines);
    process(worker, &mut lines);
    errors(worker, &mut lines);
    verify_lines::of(worker, &mut lines);
    lines
}

fn general(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    add(
        lines,
        "engine",
        vec![
            ("ioengine", worker.engine.name.clone(), &["ioengine"]),
            ("description", or(worker.description.clone(), "none"), &["description"]),
            ("wait_for", or(worker.wait_for.clone(), "nobody"), &["wait_for"]),
            ("group_reporting", yes(worker.group_reporting), &["group_reporting"]),
        ],
    );
    for (name, setting) in worker.engine.options.iter() {
        let value = if let Value::Flag(on) = setting.value { yes(on) } else { setting.text.clone() };
        let given: &'static [&'static str] = if setting.span.1 > 0 { &["ioengine"] } else { &[] };
        lines.push(Line { chapter: "engine", label: name.to_owned(), value, options: given });
    }
}

fn workload(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let load = &worker.workload;
    let pattern = &load.pattern;
    let mixed = pattern.directions.len() > 1 && !pattern.trim_then_write;
    let mix = if mixed { format!("{} %", load.read_percent) } else { "not mixed".into() };
    let block = |sizes: &BlockSizes| match sizes {
        BlockSizes::Fixed(size) => bytes(*size),
        BlockSizes::Range { min, max } => format!("{} to {}", bytes(*min), bytes(*max)),
        BlockSizes::Split(parts) => {
            parts.iter().map(|(size, share)| format!("{} {share} %", bytes(*size))).collect::<Vec<_>>().join(" + ")
        }
    };
    add(
        lines,
        "operations",
        vec![
            ("rw", pattern.word.clone(), &["rw"]),
            ("new offset", every(pattern.every.into(), "operation"), &["rw"]),
            ("skip after each", format!("{} B", pattern.skip_bytes), &["rw"]),
            ("rw_sequencer", variant(pattern.sequencer), &["rw_sequencer"]),
            ("reads of a mix", mix, &["rwmixread", "rwmixwrite"]),
            ("mix set by rates", or(load.mix_by_rate.map(|rates| list(&rates)), "no"), &["rate", "rate_iops"]),
            ("mix_process", variant(load.mix_process), &["rate_process"]),
            ("bs", triple(&load.block_sizes, block), &["bs", "bsrange", "bssplit"]),
            ("blockalign", triple(&load.align_bytes, |size| bytes(*size)), &["ba"]),
            ("bs_unaligned", yes(load.unaligned_sizes), &["bs_unaligned"]),
            ("bs_is_seq_rand", yes(load.sizes_by_randomness), &["bs_is_seq_rand"]),
        ],
    );
}

fn replay(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let Some(replay) = &worker.replay else { return };
    let rules = &replay.rules;
    let times = if rules.timed {
        match rules.speed {
            1.0 => "as fast as the trace".to_owned(),
            speed => format!("{speed} times as fast as the trace"),
        }
    } else {
        "as fast as its order allows".to_owned()
    };
    let kinds = ["reads", "writes", "trims", "syncs"];
    let skipped = kinds.iter().zip(rules.skip).filter(|(_, skip)| *skip).map(|(kind, _)| *kind).collect::<Vec<_>>();
    let threads = replay.share_of_thread.iter().filter(|share| **share == replay.share).count();
    add(
        lines,
        "replay",
        vec![
            ("trace", replay.paths.join(":"), &["read_iolog"]),
            ("operations", format!("{} of {}", replay.operations, counted(threads as u64, "thread")), &["read_iolog"]),
            ("times", times, &["replay_no_stall", "replay_time_scale"]),
            ("left out", if skipped.is_empty() { "nothing".to_owned() } else { skipped.join(", ") }, &["replay_skip"]),
            ("offsets divided by", rules.divide_offsets.to_string(), &["replay_scale"]),
            ("offsets aligned to", bytes(rules.align_bytes), &["replay_align"]),
            ("places", "see the files".to_owned(), &["replay_redirect", "replay_map"]),
        ],
    );
}

fn shape(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let load = &worker.workload;
    let sync = &load.sync;
    let after = |count: u32| if count == 0 { "never".to_owned() } else { every(count.into(), "write") };
    let range = sync.file_range.map(|range| format!("flags {:#x}, {}", range.flags, after(range.every)));
    let stride = load.stride.map(|stride| {
        let [zone, work, skip] = [stride.range_bytes, stride.zone_bytes, stride.skip_bytes].map(bytes);
        format!("{work} per zone of {zone}, then skip {skip}")
    });
    let service = &load.file_service;
    add(
        lines,
        "operations",
        vec![
            (
                "percentage_random",
                triple(&load.random_percent, |percent| format!("{percent} %")),
                &["percentage_random"],
            ),
            ("random_distribution", triple(&load.distributions, distribution), &["random_distribution"]),
            (
                "each block once",
                yes(load.random_map == crate::RandomMap::On),
                &["norandommap", "ba", "random_distribution"],
            ),
            ("random_generator", variant(load.generator), &["random_generator"]),
            ("seed", format!("{:#018x}", load.seed), &["randseed", "randrepeat"]),
            ("buffer seed", format!("{:#018x}", load.buffer_seed), &["randseed", "randrepeat"]),
            (
                "next file",
                format!("{}, {}", variant(service.kind), every(service.every.into(), "operation")),
                &["file_service_type"],
            ),
            ("openfiles", service.open_files.to_string(), &["openfiles"]),
            ("fsync", after(sync.fsync_every), &["fsync"]),
            ("fdatasync", after(sync.fdatasync_every), &["fdatasync"]),
            ("write_barrier", after(sync.barrier_every), &["write_barrier"]),
            ("sync_file_range", or(range, "never"), &["sync_file_range"]),
            ("ranges of a trim", load.trim_ranges.unwrap_or(1).to_string(), &["num_range"]),
            ("zonemode=strided", or(stride, "no"), &["zonemode"]),
        ],
    );
    order_lines::of(load, lines);
}

fn distribution(each: &Distribution) -> String {
    let center = |center: &Option<f64>| center.map_or(String::new(), |center| format!(", centre {center}"));
    match each {
        Distribution::Uniform => "uniform".into(),
        Distribution::Zipf { theta, center: at } => format!("zipf {theta}{}", center(at)),
        Distribution::Pareto { h, center: at } => format!("pareto {h}{}", center(at)),
        Distribution::Normal { deviation_percent, center: at } => format!("normal {deviation_percent} %{}", center(at)),
        Distribution::Zoned(zones) => zones
            .iter()
            .map(|zone| format!("{} % in {} %", zone.access_percent, zone.size_percent))
            .collect::<Vec<_>>()
            .join(", "),
        Distribution::ZonedAbsolute(zones) => zones
            .iter()
            .map(|zone| format!("{} % in {}", zone.access_percent, bytes(zone.size_bytes)))
            .collect::<Vec<_>>()
            .join(", "),
        Distribution::Sequence { blocks, strides } => {
            let blocks = blocks.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
            format!("blocks {blocks}{}", if *strides { ", then the same behind these" } else { ", again and again" })
        }
    }
}

fn queue(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let queue = &worker.queue;
    let depth = if queue.depth == queue.asked_depth {
        queue.depth.to_string()
    } else {
        format!("{} ({} requested, but the engine is synchronous)", queue.depth, queue.asked_depth)
    };
    add(
        lines,
        "queue",
        vec![
            ("iodepth", depth, &["iodepth"]),
            (
                "submit",
                or(
                    queue.batch_submit.map(|batch| match queue.batch_grows {
                        true => format!("{batch}; all free slots while that many are in flight"),
                        false => format!("{batch}"),
                    }),
                    "all free slots",
                ),
                &["iodepth_batch"],
            ),
            ("wait for at least", queue.batch_complete_min.to_string(), &["iodepth_batch_complete_min"]),
            ("collect at most", or(queue.batch_complete_max, "all available"), &["iodepth_batch_complete_max"]),
            ("serialize_overlap", yes(queue.serialize_overlap), &["serialize_overlap"]),
            ("submits", if queue.offload { "helper threads" } else { "the worker" }.to_owned(), &["io_submit_mode"]),
            (
                "refill",
                or(queue.low_watermark.map(|low| format!("when {low} or fewer are in flight")), "at once"),
                &["iodepth_low"],
            ),
        ],
    );
}

fn measurement(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let measured = &worker.measurement;
    let percentiles = &measured.percentiles;
    let of = [(percentiles.slat, "slat"), (percentiles.clat, "clat"), (percentiles.lat, "lat")];
    let of: Vec<&str> = of.into_iter().filter_map(|(on, name)| on.then_some(name)).collect();
    let latencies =
        [(measured.slat, "slat"), (measured.clat, "clat"), (measured.lat, "lat"), (measured.bandwidth, "bandwidth")];
    let latencies: Vec<&str> = latencies.into_iter().filter_map(|(on, name)| on.then_some(name)).collect();
    add(
        lines,
        "measurement",
        vec![
            (
                "measured",
                list(&latencies),
                &["gtod_reduce", "disable_slat", "disable_clat", "disable_lat", "disable_bw_measurement"],
            ),
            ("interval", interval(measured.histogram_interval_ns), &["interval"]),
            ("sample_interval", interval(measured.sample_interval_ns), &["sample_interval"]),
            ("trace_block", yes(measured.trace_block), &["trace_block"]),
            ("per_file_stats", yes(measured.per_file), &["per_file_stats"]),
            (
                "trims and errors counted by block",
                or(measured.block_errors_bytes.map(bytes), "no"),
                &["block_error_percentiles"],
            ),
            ("rates sampled every", time_ns(measured.interval_ns), &["bwavgtime", "iopsavgtime"]),
            ("bwavgtime", format!("{} ms", measured.bandwidth_window_ms), &["bwavgtime"]),
            ("iopsavgtime", format!("{} ms", measured.iops_window_ms), &["iopsavgtime"]),
            ("percentiles", list(&percentiles.list), &["percentile_list"]),
            ("percentiles of", list(&of), &["clat_percentiles", "lat_percentiles", "slat_percentiles"]),
            ("unified_rw_reporting", variant(measured.unified), &["unified_rw_reporting"]),
            ("stats", yes(measured.stats), &["stats"]),
            ("disk_util", yes(measured.disk_util), &["disk_util"]),
            ("clocksource", variant(measured.clock), &["clocksource"]),
            ("clock of the start", measured.start_clock.to_string(), &["job_start_clock_id"]),
            ("calibrate", yes(measured.calibrate), &["calibrate"]),
            ("commits_per_sync", or(measured.commits_per_sync, "not told"), &["commits_per_sync"]),
            ("kb_base", measured.kb_base.to_string(), &["kb_base"]),
            ("unit_base", measured.unit_base.to_string(), &["unit_base"]),
            ("significant_figures", measured.significant_figures.to_string(), &["significant_figures"]),
        ],
    );
}

fn interval(ns: u64) -> String {
    if ns == 0 { "none".to_owned() } else { time_ns(ns) }
}

fn logs(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let logs = &worker.logs;
    if let Some(name) = &logs.operations {
        add(lines, "iolog", vec![("write_iolog", name.clone(), &["write_iolog"])]);
    }
    if logs.latency.is_none() && logs.bandwidth.is_none() && logs.iops.is_none() && logs.histogram.is_none() {
        add(lines, "logs", vec![("logs", "none".into(), &[])]);
        return;
    }
    let histogram = logs.histogram.as_ref();
    let histogram = histogram
        .map(|log| format!("{}, every {}, coarseness {}", log.prefix, time_ns(log.interval_ns), log.coarseness));
    let window = if logs.window_ns == 0 { "every operation".into() } else { time_ns(logs.window_ns) };
    add(
        lines,
        "logs",
        vec![
            ("write_lat_log", or(logs.latency.clone(), "no"), &["write_lat_log"]),
            ("write_bw_log", or(logs.bandwidth.clone(), "no"), &["write_bw_log"]),
            ("write_iops_log", or(logs.iops.clone(), "no"), &["write_iops_log"]),
            ("write_hist_log", or(histogram, "no"), &["write_hist_log"]),
            ("log_avg_msec", window, &["log_avg_msec"]),
            ("log_window_value", variant(logs.window_value), &["log_window_value"]),
            ("log_offset", yes(logs.offset), &["log_offset"]),
            ("log_prio", yes(logs.priority), &["log_prio"]),
            ("log_issue_time", yes(logs.issue_time), &["log_issue_time"]),
            ("log_unix_epoch", yes(logs.unix_epoch), &["log_unix_epoch", "log_alternate_epoch"]),
            ("clock of those times", logs.epoch_clock.to_string(), &["log_alternate_epoch_clock_id"]),
            ("per_job_logs", yes(logs.per_job), &["per_job_logs"]),
            ("log_store_compressed", yes(logs.compressed), &["log_store_compressed"]),
        ],
    );
}

fn process(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let process = &worker.process;
    let nodes = process.numa_memory.as_ref().map(|policy| format!("{} {}", policy.mode, list(&policy.nodes)));
    let priority = process.io_priority.map(|(class, level, hint)| format!("class {class}, level {level}, hint {hint}"));
    let cgroup = process.cgroup.as_ref().map(|group| {
        let weight = group.weight.map(|weight| format!(", weight {weight}")).unwrap_or_default();
        format!("{}{weight}{}", group.name, if group.keep { ", kept" } else { "" })
    });
    add(
        lines,
        "process",
        vec![
            ("runs as", if process.thread { "thread".into() } else { "process".into() }, &["thread"]),
            ("cpus_allowed", or(process.cpus.as_deref().map(list), "all"), &["cpus_allowed", "cpumask"]),
            ("cpus_allowed_policy", variant(process.cpu_policy), &["cpus_allowed_policy"]),
            ("numa_cpu_nodes", or(process.numa_cpu_nodes.as_deref().map(list), "all"), &["numa_cpu_nodes"]),
            ("numa_mem_policy", or(nodes, "default"), &["numa_mem_policy"]),
            ("nice", or(process.nice, "unchanged"), &["nice"]),
            ("I/O priority", or(priority, "unchanged"), &["prio", "prioclass", "priohint"]),
            ("lockmem", bytes(process.lock_memory_bytes), &["lockmem"]),
            ("uid", or(process.uid, "unchanged"), &["uid"]),
            ("gid", or(process.gid, "unchanged"), &["gid"]),
            ("exec_prerun", or(process.exec_prerun.clone(), "none"), &["exec_prerun"]),
            ("exec_postrun", or(process.exec_postrun.clone(), "none"), &["exec_postrun"]),
            ("cgroup", or(cgroup, "unchanged"), &["cgroup", "cgroup_weight", "cgroup_nodelete"]),
            ("comm", or(process.comm.clone(), "the job's name"), &["comm"]),
        ],
    );
}

fn errors(worker: &WorkerPlan, lines: &mut Vec<Line>) {
    let errors = &worker.errors;
    let continued: Vec<String> = errors.continue_on.iter().map(variant).collect();
    let limit = |ns: &u64| if *ns == 0 { "no limit".to_owned() } else { time_ns(*ns) };
    add(
        lines,
        "errors",
        vec![
            ("continue_on_error", list(&continued), &["continue_on_error"]),
            ("ignore_error", triple(&errors.ignore, |numbers| list(numbers)), &["ignore_error"]),
            ("error_dump", yes(errors.dump), &["error_dump"]),
            ("exitall", yes(errors.exit_all), &["exitall"]),
            ("exitall_on_error", yes(errors.exit_all_on_error), &["exitall_on_error"]),
            ("exit_what", variant(errors.exit_scope), &["exit_what"]),
            ("max_latency", triple(&errors.max_latency_ns, limit), &["max_latency"]),
        ],
    );
}
