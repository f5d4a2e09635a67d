//! The results of `iolab fs perf`, as text and as JSON. Results of a target are over all of its
//! domains.

use std::fmt::Write;

use iolab_logfs_bench::{Class, ForwardingCost, VolumePart};
use iolab_text::counted;
use serde_json::{Value, json};

use crate::facts::size_text;
use crate::perf::{Series, SweepSetting};
use crate::targets::{latency_columns, latency_json, latency_titles, spread};

fn seconds(part: &VolumePart) -> f64 {
    part.measured.elapsed_ns as f64 / 1e9
}

fn written_mib_per_second(part: &VolumePart) -> f64 {
    part.written_bytes() as f64 / f64::from(1 << 20) / seconds(part)
}

/// The time of a target relative to the first target's, round by round.
fn ratios(series: &Series, first: &Series) -> Vec<f64> {
    let both = series.results.iter().zip(&first.results);
    both.map(|(one, other)| seconds(&one.joint) / seconds(&other.joint)).collect()
}

/// `1.20`, or with several rounds `1.20 (1.10–1.31)`.
fn spread_text(numbers: &[f64], digits: usize) -> String {
    let (median, least, most) = spread(numbers);
    match numbers.len() {
        0 | 1 => format!("{median:.digits$}"),
        _ => format!("{median:.digits$} ({least:.digits$}–{most:.digits$})"),
    }
}

/// The results of each target, as text.
pub fn volumes_text(setting: &SweepSetting, all: &[Series]) -> String {
    let mut text = heading(setting);
    let Some(first) = all.first() else { return text };
    for (number, series) in all.iter().enumerate() {
        let times: Vec<f64> = series.results.iter().map(|result| seconds(&result.joint)).collect();
        let kind = if series.is_logfs { "logfs" } else { "folder" };
        let _ = write!(text, "{} ({kind}): {} s", series.path.display(), spread_text(&times, 2));
        if number > 0 {
            let _ =
                write!(text, ", {} times as long as {}", spread_text(&ratios(series, first), 3), first.path.display());
        }
        text.push('\n');
        let Some(last) = series.results.last() else { continue };
        let rounds = series.results.len();
        let title = if rounds > 1 { format!("  of round {rounds}") } else { String::new() };
        let _ = writeln!(text, "{title:<14} {:>9} {:>9}{}", "number", "MiB/s", latency_titles());
        for class in last.joint.measured.classes.iter().filter(|class| class.operations > 0) {
            let mib = class.bytes as f64 / f64::from(1 << 20) / seconds(&last.joint);
            let columns = latency_columns(&class.latency.to_sparse());
            let _ = writeln!(text, "  {:<12} {:>9} {mib:>9.1}{columns}", class.name, class.operations);
        }
        if last.domains.len() > 1 {
            for (domain, part) in last.domains.iter().enumerate() {
                let rate = written_mib_per_second(part);
                let _ = writeln!(text, "  domain {domain}: {:.2} s, {rate:.1} MiB/s written", seconds(part));
            }
        }
        text.push_str(&activity_text(&last.joint));
        text.push_str(&forwarding_text(&series.forwarding));
    }
    text
}

/// What was run.
fn heading(setting: &SweepSetting) -> String {
    let load = &setting.load;
    let label = if setting.label.is_empty() { String::new() } else { format!("{}: ", setting.label) };
    let at_once = match load.domains {
        1 => format!("1 domain, {} in flight", counted(load.parallel as u64, "operation")),
        domains => format!("{domains} domains, {} in flight in each", counted(load.parallel as u64, "operation")),
    };
    let remote = match load.remote_percent {
        0 => String::new(),
        percent => format!(", {percent} % of operations on files of other domains"),
    };
    format!(
        "{label}{} written to a capacity of {}, {at_once}, {} % writes, {} % of them small{remote}\n",
        size_text(load.volume_bytes),
        size_text(load.capacity_bytes),
        load.write_percent,
        load.small_write_percent
    )
}

fn activity_text(part: &VolumePart) -> String {
    let Some(activity) = &part.activity else { return String::new() };
    let moved = activity.moved_bytes as f64 / part.written_bytes().max(1) as f64;
    let urgent = activity.urgent_bytes as f64 / part.written_bytes().max(1) as f64;
    format!(
        "  cleaning moved {moved:.3} bytes per byte written in {} passes, {urgent:.3} of them in {} passes for lack of \
         space; {} checkpoints, {} log frames\n",
        activity.cleaning_passes, activity.urgent_passes, activity.checkpoints, activity.frames
    )
}

/// Medians of a figure over the rounds.
fn median_of(costs: &[ForwardingCost], figure: fn(&ForwardingCost) -> f64) -> f64 {
    spread(&costs.iter().map(figure).collect::<Vec<f64>>()).0
}

fn forwarding_text(costs: &[ForwardingCost]) -> String {
    if costs.is_empty() {
        return String::new();
    }
    let time = |figure| iolab_units::rounded_ns(median_of(costs, figure));
    format!(
        "  forwarding adds {} to an operation of many in flight ({} instead of {}); one at a time it takes {} instead \
        of {}, because the other core has to wake up\n  making and removing a file takes {} in a directory of the \
        same core, {} in the root directory\n",
        time(ForwardingCost::forwarding_ns),
        time(|cost| cost.remote_of_many_ns),
        time(|cost| cost.own_of_many_ns),
        time(|cost| cost.remote_ns),
        time(|cost| cost.own_ns),
        time(|cost| cost.own_change_ns),
        time(|cost| cost.root_change_ns),
    )
}

fn forwarding_json(costs: &[ForwardingCost]) -> Option<Value> {
    let median = |figure| median_of(costs, figure);
    (!costs.is_empty()).then(|| {
        json!({
            "own_ns": median(|cost| cost.own_ns), "remote_ns": median(|cost| cost.remote_ns),
            "own_of_many_ns": median(|cost| cost.own_of_many_ns),
            "remote_of_many_ns": median(|cost| cost.remote_of_many_ns),
            "forwarding_ns": median(ForwardingCost::forwarding_ns),
            "own_change_ns": median(|cost| cost.own_change_ns), "root_change_ns": median(|cost| cost.root_change_ns),
        })
    })
}

fn class_json(class: &Class) -> Value {
    json!({
        "name": class.name, "operations": class.operations, "bytes": class.bytes,
        "latency_ns": latency_json(&class.latency.to_sparse()),
    })
}

fn part_json(part: &VolumePart) -> Value {
    let activity = part.activity.as_ref().map(|activity| {
        json!({
            "moved_bytes": activity.moved_bytes, "cleaning_passes": activity.cleaning_passes,
            "urgent_bytes": activity.urgent_bytes, "urgent_passes": activity.urgent_passes,
            "freed_clusters": activity.freed_clusters, "checkpoints": activity.checkpoints, "frames": activity.frames,
        })
    });
    json!({
        "seconds": seconds(part),
        "written_bytes": part.written_bytes(),
        "classes": part.measured.classes.iter().map(class_json).collect::<Vec<_>>(),
        "logfs": activity,
    })
}

/// The results as JSON.
pub fn volumes_json(setting: &SweepSetting, all: &[Series]) -> Value {
    let target = |series: &Series| {
        let round = |result: &iolab_logfs_bench::VolumeResult| {
            let mut round = part_json(&result.joint);
            round["domains"] = result.domains.iter().map(part_json).collect();
            round
        };
        json!({
            "path": series.path.to_string_lossy(),
            "kind": if series.is_logfs { "logfs" } else { "folder" },
            "rounds": series.results.iter().map(round).collect::<Vec<_>>(),
            "forwarding": forwarding_json(&series.forwarding),
            "times_first": all.first().map(|first| ratios(series, first)),
        })
    };
    json!({
        "setting": setting.label,
        "capacity_bytes": setting.load.capacity_bytes,
        "volume_bytes": setting.load.volume_bytes,
        "domains": setting.load.domains,
        "parallel": setting.load.parallel,
        "remote_percent": setting.load.remote_percent,
        "targets": all.iter().map(target).collect::<Vec<_>>(),
    })
}
