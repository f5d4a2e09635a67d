//! The model as a job file that is readable and runs in fio.
//!
//! Every setting is below the observation that it comes from. Settings that fio lacks are in lines
//! `#iolab: option=value`. If they replace an option of fio, they repeat it: of equal options the
//! last counts.

use std::fmt::Write as _;

use iolab_text::{counted, every, grouped, rounded_bytes};
use iolab_trace::Role;
use iolab_units::{format_bytes as size_text, rounded_ns};

use crate::model::seconds;
use crate::{Pace, PlacePattern, ProcessorLoad, ProgramModel, Proportion, Section, SyncRule};

/// From this share of extending writes on, files begin empty.
const GROWS: f64 = 0.05;
/// Reads with a median below this came from the page cache, ns.
const CACHED_READ_NS: u64 = 200_000;

/// Contents of the file besides the model.
#[derive(Debug, Clone, Copy)]
pub struct JobTextRequest<'a> {
    /// Name of the trace.
    pub trace: &'a str,
    /// Folder of the job's files.
    pub directory: &'a str,
    /// How long the job runs, s.
    pub runtime_s: u64,
}

/// The job file.
pub fn job_text(model: &ProgramModel, request: &JobTextRequest<'_>) -> String {
    let mut text = head(model, request);
    let leader = model.leader().map(|leader| leader.name.as_str());
    for section in &model.sections {
        let is_leader = leader == Some(section.name.as_str());
        let follows = model.leader().filter(|_| !is_leader);
        text += &section_text(section, follows, model.load().and_then(ProcessorLoad::undisturbed_share));
        if is_leader {
            text += &commits(model, section);
        }
    }
    if let Some(computing) = &model.computing {
        text += &computing.section_text();
    }
    if !model.left_out.is_empty() {
        text += "\n# Left out, since each has less than 1 % of the transfers, the bytes and the syncs:\n";
    }
    for section in &model.left_out {
        let (count, bytes) = (section.seen.all_transfers(), section.seen.bytes());
        let _ = writeln!(text, "#   {}: {}, {}", section.name, counted(count, "transfer"), rounded_bytes(bytes as f64));
    }
    text
}

fn head(model: &ProgramModel, request: &JobTextRequest<'_>) -> String {
    let facts = &model.facts;
    let mut text = format!("# What `iolab synthesize` made of the trace {}", plain(request.trace));
    if let Some(program) = facts.command.first() {
        let _ = write!(text, ", of {}", plain(program));
    }
    let (from, until) = (seconds(model.stretch.from_ns), seconds(model.stretch.until_ns));
    let whole = seconds(model.span.length_ns());
    let digits = if whole < 10.0 { 3 } else { 1 };
    let why = match () {
        () if model.told_stretch => "as told",
        () if model.stretch == model.span => "all of it",
        () => "the longest stretch in which it worked steadily",
    };
    let _ = writeln!(
        text,
        ".\n# Observed: {} from {from:.digits$} s to {until:.digits$} s of {whole:.digits$} s ({why}).",
        counted(model.operations, "operation"),
    );
    if model.call_cost_ns > 0.0 {
        let cost = rounded_ns(model.call_cost_ns);
        let _ = writeln!(text, "# Taken out of the time between operations: {cost} that the tracer cost each call.");
    } else {
        text += "# The trace does not say what tracing cost: the time between operations is as it was seen.\n";
    }
    text += &model.load().map(ProcessorLoad::comment).unwrap_or_default();
    text += "# Limits in brackets are at 95 %. Lines with #iolab: are comments to fio and options to iolab.\n\n";
    let _ = write!(
        text,
        "[global]\ndirectory={}\ntime_based\nruntime={}\n# Assumed: all threads work all the time, and files stay as they are after each run.\n",
        request.directory, request.runtime_s
    );
    text
}

/// Foreign text, on one line.
fn plain(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

fn section_text(section: &Section, follows: Option<&Section>, undisturbed: Option<f64>) -> String {
    let seen = &section.seen;
    let [reads, writes] = &seen.transfers;
    let mut text = format!(
        "\n[{}]\n# {}, {}, {} by {} on {}: {:.1} transfers/s, {:.1} syncs/s\n",
        section.name,
        counted(reads.count, "read"),
        counted(writes.count, "write"),
        counted(seen.all_syncs(), "sync"),
        counted(seen.threads.len() as u64, "thread"),
        counted(seen.files.len() as u64, "file"),
        section.transfers_per_s,
        section.syncs_per_s
    );
    let calls: Vec<String> =
        seen.calls.iter().map(|(call, count)| format!("{} {}", grouped(*count), call.name())).collect();
    let _ = writeln!(text, "# calls: {}", calls.join(", "));
    let _ = writeln!(text, "ioengine={}", section.engine);
    if section.depth > 1 {
        let _ = writeln!(text, "# in flight while there was anything, on average: {}", section.depth);
        let _ = writeln!(text, "iodepth={}", section.depth);
    }
    workers(&mut text, section);
    if section.direct {
        let _ = writeln!(
            text,
            "# past the page cache: {}",
            Proportion { count: seen.direct, of: seen.all_transfers() }.text()
        );
        text += "direct=1\n";
    }
    pattern(&mut text, section);
    sizes(&mut text, section);
    files(&mut text, section);
    syncs(&mut text, section);
    pace(&mut text, section, follows, undisturbed);
    text
}

fn workers(text: &mut String, section: &Section) {
    if section.jobs > 1 {
        let _ = writeln!(text, "# threads with at least a tenth of the busiest one's operations: {}", section.jobs);
        let _ = writeln!(text, "numjobs={}\ngroup_reporting", section.jobs);
    } else if section.threads > 1 {
        let _ = writeln!(
            text,
            "# {} threads take turns: fewer than one operation in ten began while another one was going on",
            section.threads
        );
    }
}

fn pattern(text: &mut String, section: &Section) {
    let [reads, writes] = &section.seen.transfers;
    let places = if writes.count >= reads.count { &writes.places } else { &reads.places };
    let _ = match places.followers {
        0 => writeln!(text, "# each file in one go"),
        _ => writeln!(
            text,
            "# begin where the one before ended: {}; within it: {}; at its beginning: {}",
            places.share(places.onward).text(),
            places.share(places.tail).text(),
            places.share(places.again).text()
        ),
    };
    let sequential = section.word;
    match &section.pattern {
        PlacePattern::Sequential => {
            let _ = writeln!(text, "rw={sequential}");
        }
        PlacePattern::TailAgain(bytes) => {
            let _ = writeln!(text, "rw={sequential}");
            let size = size_text(*bytes);
            let _ = writeln!(
                text,
                "# Each begins with the last {size} of the one before. fio goes on from its end instead."
            );
            let _ = writeln!(text, "#iolab: rw={sequential}:-{size}");
        }
        PlacePattern::Again(times) => {
            let _ = writeln!(text, "rw={sequential}");
            let _ = writeln!(text, "# Each place {}. fio writes it once.", counted((*times).into(), "time"));
            let _ = writeln!(text, "#iolab: rewrite={times}");
        }
        PlacePattern::Random(onward, hot) => {
            let _ = writeln!(text, "rw=rand{}\nnorandommap", section.word);
            let random = ((1.0 - onward.value()) * 100.0).round() as u32;
            if random < 100 {
                let _ = writeln!(text, "percentage_random={random}");
            }
            match hot {
                Some(hot) => {
                    let tenth = (hot.tenth.value() * 100.0).round().clamp(1.0, 99.0) as u32;
                    let _ = writeln!(
                        text,
                        "# the hottest tenth of {} blocks gets {}",
                        grouped(hot.blocks),
                        hot.tenth.text()
                    );
                    let _ = writeln!(text, "random_distribution=zoned:{tenth}/10:{}/90", 100 - tenth);
                }
                None => text.push_str("# assumed: no place is hotter than others, or it was seen too seldom to tell\n"),
            }
        }
    }
    if section.word == "rw" {
        let _ = writeln!(text, "# reads: {}", section.reads.text());
        let _ = writeln!(text, "rwmixread={}", (section.reads.value() * 100.0).round() as u32);
    }
}

fn sizes(text: &mut String, section: &Section) {
    let of = |split: &[(u64, u32)]| {
        let parts: Vec<String> = split.iter().map(|(bytes, share)| format!("{}/{share}", size_text(*bytes))).collect();
        parts.join(":")
    };
    let seen = &section.seen.transfers;
    for (name, transfers) in ["reads", "writes"].iter().zip(seen) {
        if transfers.count > 0 {
            let mean = transfers.bytes as f64 / transfers.count as f64;
            let _ = writeln!(text, "# {name}: {} sizes, mean {}", transfers.sizes.len(), rounded_bytes(mean));
        }
    }
    let [reads, writes] = &section.sizes;
    match (reads.as_slice(), writes.as_slice()) {
        ([], [(bytes, _)]) | ([(bytes, _)], []) => {
            let _ = writeln!(text, "bs={}", size_text(*bytes));
        }
        ([(read, _)], [(write, _)]) if read == write => {
            let _ = writeln!(text, "bs={}", size_text(*read));
        }
        ([(read, _)], [(write, _)]) => {
            let _ = writeln!(text, "bs={},{}", size_text(*read), size_text(*write));
        }
        ([], split) | (split, []) => {
            let _ = writeln!(text, "bssplit={}", of(split));
        }
        (reads, writes) => {
            let _ = writeln!(text, "bssplit={},{}", of(reads), of(writes));
        }
    }
    let is_odd = reads.iter().chain(writes).any(|(bytes, _)| bytes % 512 != 0);
    if is_odd && !section.direct {
        text.push_str("bs_unaligned\n");
    }
}

fn files(text: &mut String, section: &Section) {
    let least = section.sizes.iter().flatten().map(|(bytes, _)| *bytes).max().unwrap_or(4096);
    let size = section.size_bytes.max(least * u64::from(section.files)).next_multiple_of(4096);
    let _ =
        writeln!(text, "# files: {}, {} in all", section.seen.files.len(), rounded_bytes(section.size_bytes as f64));
    if section.files > 1 {
        let order = if section.pattern == PlacePattern::Sequential { "sequential" } else { "random" };
        let _ = writeln!(text, "nrfiles={}\nfile_service_type={order}", section.files);
    }
    let _ = writeln!(text, "size={}", size_text(size));
    let reads = &section.seen.transfers[0];
    if section.word != "read" {
        let _ = writeln!(text, "# writes that made a file longer: {}", section.growing.text());
        text.push_str(if section.growing.value() >= GROWS && section.word == "write" {
            "fallocate=none\n"
        } else {
            "overwrite=1\n"
        });
    }
    let durations = reads.durations.to_sparse();
    if section.word != "write"
        && !section.direct
        && !durations.is_empty()
        && durations.percentile(50.0) < CACHED_READ_NS
    {
        let _ = writeln!(
            text,
            "# median of reads: {}, so most came from the page cache",
            rounded_ns(durations.percentile(50.0) as f64)
        );
        text.push_str("invalidate=0\npre_read=1\n");
    }
}

fn syncs(text: &mut String, section: &Section) {
    let seen = &section.seen;
    if seen.range_syncs > 0 {
        let _ = writeln!(text, "# left out: {} sync_file_range", grouped(seen.range_syncs));
    }
    match &section.sync {
        SyncRule::Never => {}
        SyncRule::After { data_only, writes } => {
            let name = if *data_only { "fdatasync" } else { "fsync" };
            let took = seen.sync_durations.to_sparse();
            let _ = writeln!(
                text,
                "# {}, {} fsync, {} fdatasync, which took {} in the middle and {} at the 99th percentile",
                counted(seen.transfers[1].count, "write"),
                grouped(seen.syncs[0]),
                grouped(seen.syncs[1]),
                rounded_ns(took.percentile(50.0) as f64),
                rounded_ns(took.percentile(99.0) as f64)
            );
            let _ = writeln!(text, "{name}={writes}");
        }
        SyncRule::OnWrite { data_only } => {
            let [full, data] = seen.durable_writes;
            let _ = writeln!(
                text,
                "# writes that are durable when they return: {} O_SYNC, {} O_DSYNC",
                grouped(full),
                grouped(data)
            );
            let _ = writeln!(text, "sync={}", if *data_only { "dsync" } else { "sync" });
        }
    }
}

fn pace(text: &mut String, section: &Section, follows: Option<&Section>, undisturbed: Option<f64>) {
    if let Some(leader) = follows {
        let jobs = f64::from(section.jobs);
        let every = leader.transfers_per_s / section.transfers_per_s.max(1e-9) * jobs;
        let _ = writeln!(
            text,
            "# {:.1} transfers/s beside {:.1} of {}",
            section.transfers_per_s, leader.transfers_per_s, leader.name
        );
        rate(text, section, section.transfers_per_s / jobs);
        let _ = writeln!(text, "#iolab: rate_iops=0\n#iolab: follow={}:{every:.4}", leader.name);
        return;
    }
    match &section.pace {
        Pace::Rate(per_s) => {
            text.push_str("# the trace has no durations, so that think time is not known\n");
            rate(text, section, per_s / f64::from(section.jobs));
        }
        Pace::Think { ns, transfers, elsewhere_ns, typical } => {
            let us = (ns / 1000.0).round() as u64;
            let spin_us = ((ns - elsewhere_ns) / 1000.0).round() as u64;
            if let Some(typical) = typical {
                let _ = writeln!(
                    text,
                    "# neither reading, writing nor syncing here, for {}: {}",
                    every((*transfers).into(), "transfer"),
                    typical.text(rounded_ns)
                );
            } else {
                let _ = writeln!(text, "# time between transfers: mean {}", rounded_ns(*ns));
            }
            if us > 0 {
                let _ = writeln!(text, "thinktime={us}us\nthinktime_blocks={transfers}");
            }
            if us > spin_us {
                let _ = writeln!(
                    text,
                    "# the same threads spend {} of it on files of other sections",
                    rounded_ns(*elsewhere_ns)
                );
            }
            if spin_us > 0 {
                let rest = if us > spin_us { "computes in the rest" } else { "computes meanwhile" };
                let _ = writeln!(
                    text,
                    "# assumed: it {rest}. fio sleeps, since its spinning is not to be relied on.\n#iolab: thinktime_spin={spin_us}us"
                );
                if let Some(undisturbed) = undisturbed {
                    let work_us = (spin_us as f64 * undisturbed).round().max(1.0);
                    let _ = writeln!(
                        text,
                        "# ends when it has had a processor for as long as this takes without the work of other programs\n\
                         #iolab: thinktime_work={work_us}us"
                    );
                }
            }
        }
    }
}

fn rate(text: &mut String, section: &Section, per_s: f64) {
    let [reads, writes] =
        [section.reads.value(), 1.0 - section.reads.value()].map(|share| (per_s * share).round() as u64);
    // 0 would mean no limit, which is far more.
    let _ = match (section.sizes[0].is_empty(), section.sizes[1].is_empty()) {
        (false, false) => writeln!(text, "rate_iops={},{}", reads.max(1), writes.max(1)),
        _ => writeln!(text, "rate_iops={}", (reads + writes).max(1)),
    };
}

fn commits(model: &ProgramModel, leader: &Section) -> String {
    let (value, said) = match model.commits_per_sync {
        Some(value) => (value, "# commits told, by the syncs of such files in the whole trace".to_owned()),
        None if leader.role == Role::Log => {
            (1.0, "# assumed: a sync is one commit (--commits tells how many there were)".to_owned())
        }
        None => (1.0, "# assumed: a sync is one commit".to_owned()),
    };
    format!("{said}\n#iolab: commits_per_sync={value:.4}\n")
}
