//! What layers make of operations, seen in the traffic of the devices below them: copies of what is
//! written, reads before writes, blocks that cross the parts of a stripe.

use iolab_plan::{BlockSizes, Direction};
use iolab_recording::{DeviceUse, Severity};

use super::RuleMatch;
use super::network::network;
use crate::facts::{Facts, Job};
use crate::traffic::{DATA, Traffic, is_top, setting};
use crate::wording::bytes;

/// With fewer bytes, the rules return nothing.
const LEAST_BYTES: f64 = 1048576.0;

/// From this many bytes below for each byte above on, a layer keeps copies, or parity.
const COPIES: f64 = 1.5;

/// From this many bytes read below for each byte written above on, a layer reads to write.
const READS_TO_WRITE: f64 = 0.5;

/// Bytes below a device, compared with its own.
struct Layer<'f> {
    device: &'f DeviceUse,
    above: Traffic,
    below: Traffic,
}

/// Topmost devices that are built on others, with the traffic of both.
fn layers<'f>(facts: &'f Facts<'_>) -> Vec<Layer<'f>> {
    let devices = &facts.recording.devices;
    let tops = devices.iter().filter(|device| !device.parts.is_empty() && is_top(&device.name, facts.recording));
    let layers = tops.filter_map(|device| {
        let parts = devices.iter().filter(|part| device.parts.contains(&part.name));
        let below = parts.map(|part| Traffic::between(&part.before, &part.after)).reduce(Traffic::add)?;
        Some(Layer { device, above: Traffic::between(&device.before, &device.after), below })
    });
    layers.collect()
}

/// More was written below than above: by a layer of this machine, or by servers on it.
pub(crate) fn copied_writes(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let write = Direction::Write as usize;
    let told = |what: String, below: f64, above: f64| {
        (above >= LEAST_BYTES && below >= COPIES * above).then(|| {
            let evidence = format!("{what}: {:.1} bytes for each", below / above);
            RuleMatch::of_run(Severity::Note, evidence)
        })
    };
    let mut seen: Vec<RuleMatch> = layers(facts)
        .into_iter()
        .filter_map(|layer| {
            let (above, below) = (layer.above.bytes[write], layer.below.bytes[write]);
            let parts = layer.device.parts.join(" and ");
            let what = format!("{} wrote {}, and {parts} below it {}", layer.device.name, bytes(above), bytes(below));
            told(what, below, above)
        })
        .collect();
    let asked: f64 =
        facts.jobs.iter().filter(|job| job.is_remote()).map(|job| job.whole_bytes(Direction::Write) as f64).sum();
    let servers = network(facts).map(|network| network.servers.as_slice()).unwrap_or_default();
    seen.extend(servers.iter().filter_map(|server| {
        let (first, last) = server.ends()?;
        let wrote = last.written_bytes.saturating_sub(first.written_bytes) as f64;
        let processes = if last.processes > 1 { format!(" ({} processes)", last.processes) } else { String::new() };
        let what =
            format!("the jobs wrote {}, and {}{processes} on this host {}", bytes(asked), server.name, bytes(wrote));
        told(what, wrote, asked)
    }));
    seen
}

/// A layer that read, although only writes were asked of it.
pub(crate) fn read_modify_write(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let [read, write] = DATA.map(|way| way as usize);
    let seen = layers(facts).into_iter().filter_map(|layer| {
        let written = layer.above.bytes[write];
        let extra = layer.below.bytes[read] - layer.above.bytes[read];
        if written < LEAST_BYTES || extra < READS_TO_WRITE * written {
            return None;
        }
        let name = &layer.device.name;
        let level = setting(facts.recording, name, "md/level");
        let evidence = format!(
            "to write {}, {name}{} read {} from the devices below it ({:.1} bytes for each)",
            bytes(written),
            level.map(|level| format!(" ({level})")).unwrap_or_default(),
            bytes(extra),
            extra / written
        );
        let found = RuleMatch::of_run(Severity::Note, evidence);
        let guards = setting(facts.recording, name, "md/consistency_policy");
        let has_hole = level.is_some_and(|level| ["raid4", "raid5", "raid6"].contains(&level))
            && !guards.is_some_and(|policy| ["journal", "ppl"].contains(&policy));
        Some(if has_hole {
            found.meaning(
                "Each small write reads old data and parity, and writes both. A crash between the two leaves wrong \
                parity (the write hole): this array has neither a journal nor a partial parity log.",
            )
        } else {
            found
        })
    });
    seen.collect()
}

/// Operations that cross from one part of a stripe to the next although they need not.
pub(crate) fn stripe_misaligned(facts: &Facts<'_>) -> Vec<RuleMatch> {
    let mut seen = Vec::new();
    for device in facts.recording.devices.iter().filter(|device| is_top(&device.name, facts.recording)) {
        let of = |name: &str| setting(facts.recording, &device.name, name).and_then(|text| text.parse::<u64>().ok());
        if of("alignment_offset").is_some_and(|offset| offset > 0) {
            let text = format!("alignment_offset of {} is {}", device.name, of("alignment_offset").unwrap_or(0));
            seen.push(RuleMatch::of_run(Severity::Note, text));
        }
        // A striped device names its chunk as the smallest, its stripe as the best size.
        let chunk = of("minimum_io_size").zip(of("optimal_io_size")).filter(|(chunk, stripe)| stripe > chunk);
        let Some((chunk, _)) = chunk.filter(|(chunk, _)| device.parts.len() > 1 && *chunk > 4096) else { continue };
        for job in facts.shown().filter(|job| job.is_direct()) {
            if let Some(what) = crossing(job, chunk) {
                let evidence = format!("{what} on {}, whose chunks have {}", device.name, bytes(chunk as f64));
                seen.push(RuleMatch::of_several(Severity::Note, vec![job.name.to_owned()], &evidence));
            }
        }
    }
    seen
}

/// What of a job crosses the borders of chunks: a size that does not fit, or a beginning.
fn crossing(job: &Job<'_>, chunk: u64) -> Option<String> {
    let plan = job.first().plan;
    let fits = |size: u64| size > 0 && (chunk.is_multiple_of(size) || size.is_multiple_of(chunk));
    for direction in DATA.into_iter().filter(|way| job.whole_ios(*way) > 0) {
        let BlockSizes::Fixed(size) = plan.workload.block_sizes[direction as usize] else { continue };
        if !fits(size) {
            return Some(format!("blocks of {}", bytes(size as f64)));
        }
        let unit = size.min(chunk);
        let starts = job.members.iter().flat_map(|member| &member.plan.files).map(|file| file.start_bytes);
        let is_aligned = plan.workload.align_bytes[direction as usize].is_multiple_of(unit);
        // Files of a file system may lie anywhere.
        let on_device = job.members.iter().flat_map(|member| &member.plan.files).all(|file| file.block_device);
        if on_device && (!is_aligned || starts.clone().any(|start| !start.is_multiple_of(unit))) {
            return Some(format!("blocks of {} that begin within others", bytes(size as f64)));
        }
    }
    None
}
