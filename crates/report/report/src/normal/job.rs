//! The block of one job: its line, directions, bands, flushes, CPU, depths, counts and errors.

use std::fmt::Write;

use super::{direction, latency};
use crate::number::NumberStyle;
use iolab_aggregate::{
    Bands, DepthShares, JobFigures, MICROSECOND_BANDS, MILLISECOND_BANDS, NANOSECOND_BANDS, shown_tenths,
};
use iolab_plan::Direction;
use iolab_recording::AftermathRecording;
use iolab_text::counted;

pub(super) fn write_job(text: &mut String, name: &str, job: &JobFigures<'_>, date: &str) {
    write_title(text, name, job, date);
    if let Some(description) = &job.plan.description {
        let _ = writeln!(text, "  Description  : [{description}]");
    }
    if !job.hosts.is_empty() {
        let _ = writeln!(text, "  hosts        : {}", job.hosts.join(", "));
    }
    for figures in job.directions.iter().chain(&job.mixed) {
        // As in fio, the resets stand with the writes that needed them.
        let resets = job.zone_resets().filter(|_| figures.name == Direction::Write.name());
        let end = resets.map_or(String::new(), |resets| format!("; {resets} zone resets"));
        direction::write_direction(text, figures, &job.plan.measurement, &end);
    }
    write_files(text, job);
    write_block_errors(text, job);
    write_schedule(text, job);
    write_drift(text, job);
    write_bands(text, &job.bands);
    write_sync(text, job);
    let cpu = &job.cpu;
    let _ = writeln!(
        text,
        "  cpu          : usr={:3.2}%, sys={:3.2}%, ctx={}, majf={}, minf={}",
        cpu.user_percent, cpu.system_percent, cpu.context_switches, cpu.major_faults, cpu.minor_faults
    );
    write_overheads(text, job);
    const DEPTHS: [&str; 7] = ["1", "2", "4", "8", "16", "32", ">=64"];
    const BATCHES: [&str; 7] = ["0", "4", "8", "16", "32", "64", ">=64"];
    write_shares(text, "  IO depths    ", DEPTHS, &job.depth);
    write_shares(text, "     submit    ", BATCHES, &job.submit);
    write_shares(text, "     complete  ", BATCHES, &job.complete);
    write_counts(text, job);
    let found = job.workers.iter().find_map(|worker| worker.latency_depth);
    let depth = found.unwrap_or(job.plan.queue.asked_depth);
    let (target_us, window_us, percentile) = match job.plan.pacing.latency_target {
        Some(target) => (target.target_ns / 1000, target.window_ns / 1000, target.percentile),
        None => (0, 0, 100.0),
    };
    let _ = writeln!(
        text,
        "     latency   : target={target_us}, window={window_us}, percentile={percentile:.2}%, depth={depth}"
    );
    if job.errors.shown {
        let (total, first) = (job.errors.total, job.errors.first);
        let words = if first == 0 { "Success".to_owned() } else { errno_text(first) };
        let _ = writeln!(text, "     errors    : total={total}, first_error={first}/<{words}>");
    }
    write_aftermath(text, job);
    write_steady(text, job);
}

/// What a loss of power has left, where that was judged.
fn write_aftermath(text: &mut String, job: &JobFigures<'_>) {
    let found = job.workers.iter().filter_map(|worker| worker.verification.as_ref());
    let (mut sum, mut damaged, mut any) = (AftermathRecording::default(), 0, false);
    for (found, aftermath) in found.filter_map(|found| Some((found, found.aftermath?))) {
        any = true;
        damaged += found.damaged;
        for (sum, part) in sum.counts_mut().into_iter().zip(aftermath.counts()) {
            *sum += part;
        }
    }
    if !any {
        return;
    }
    let _ = writeln!(
        text,
        "  blocks       : must be new={}, must not be older={}, may be either={}",
        sum.must_be_new, sum.must_not_be_older, sum.may_be_either
    );
    let _ = writeln!(
        text,
        "     found     : newest={}, older={}, newer={}, zeroes={}, torn={}, anything={}, damaged={damaged}",
        sum.newest, sum.older, sum.newer, sum.zeroes, sum.torn, sum.anything
    );
}

/// fio's line, with its second bandwidth computed from bytes (fio computes it from KiB).
fn write_steady(text: &mut String, job: &JobFigures<'_>) {
    let Some(steady) = &job.steady else { return };
    let style = NumberStyle::of(&job.plan.measurement);
    let bytes_per_second = steady.mean_bytes_per_s() as u64;
    let _ = writeln!(
        text,
        "  steadystate  : attained={}, bw={} ({}), iops={}, {} {}={:.3}{}",
        if steady.seen.attained { "yes" } else { "no" },
        style.rate(bytes_per_second),
        style.rate_other(bytes_per_second),
        style.count(steady.mean_iops() as u64),
        steady.plan.measure.name(),
        if steady.plan.slope { "slope" } else { "mean dev" },
        steady.criterion(),
        steady.plan.unit()
    );
}

fn write_title(text: &mut String, name: &str, job: &JobFigures<'_>, date: &str) {
    let _ = write!(text, "{name}: (groupid={}, jobs={}): err={:2}", job.plan.group, job.workers.len(), job.errno);
    if job.errno != 0 {
        let words = errno_text(job.errno);
        let _ = match &job.error_message {
            Some(message) => write!(text, " ({message}, error={words})"),
            None => write!(text, " (error={words})"),
        };
    }
    let _ = writeln!(text, ": pid={}: {date}", job.pid);
}

/// Each file of a job with statistics per file; nothing for others. Latencies are completion
/// latencies.
fn write_files(text: &mut String, job: &JobFigures<'_>) {
    if job.files.is_empty() {
        return;
    }
    let style = NumberStyle::of(&job.plan.measurement);
    text.push_str("  files        :\n");
    for file in &job.files {
        let whole = file.whole();
        let us = |ns: f64| ns / 1000.0;
        let _ = writeln!(
            text,
            "     {}: IOPS={}, BW={}, clat (usec): min={:.2}, avg={:.2}, p99={:.2}, max={:.2}",
            file.path,
            style.count(whole.done.ios_per_second() as u64),
            style.rate(whole.done.bytes_per_second() as u64),
            us(whole.clat.min as f64),
            us(whole.clat.mean()),
            us(whole.clat.percentile(99.0) as f64),
            us(whole.clat.max as f64)
        );
    }
}

/// How many trims blocks had before they failed; nothing for jobs that do not count them.
fn write_block_errors(text: &mut String, job: &JobFigures<'_>) {
    let Some(found) = &job.block_errors else { return };
    let _ = writeln!(text, "  blocks       : of {} bytes, by the number of trims they had", found.block_bytes);
    for (end, trims) in found.ends() {
        let _ = write!(text, "     {end:<12}: {}", counted(trims.blocks(), "block"));
        let percentiles = job.plan.measurement.percentiles.list.iter();
        for (number, (percent, trims)) in percentiles.filter_map(|one| Some((one, trims.percentile(*one)?))).enumerate()
        {
            let _ = write!(text, "{} {percent:.2}th=[{trims}]", if number == 0 { "; trims:" } else { "," });
        }
        text.push('\n');
    }
}

/// How well a replay kept the times of its trace; nothing for other loads.
fn write_drift(text: &mut String, job: &JobFigures<'_>) {
    if let Some(drift) = &job.drift {
        let _ = writeln!(text, "  replay       : {}", drift.line());
    }
}

/// How well a paced load kept its schedule; nothing for other loads.
fn write_schedule(text: &mut String, job: &JobFigures<'_>) {
    let Some(schedule) = &job.schedule else { return };
    let ms = |ns: u64| ns as f64 / 1e6;
    let _ = writeln!(
        text,
        "  schedule     : asked={:.2}/s, sent={:.2}/s, backlog: end={} ({:.2} msec), most={} ({:.2} msec)",
        schedule.asked_iops(),
        schedule.sent_iops(),
        schedule.backlog_at_end,
        ms(schedule.lag_at_end_ns),
        schedule.backlog_most,
        ms(schedule.lag_most_ns)
    );
    for sentence in &job.saturation {
        let _ = writeln!(text, "     {sentence}");
    }
}

/// The tool's own cost; nothing for runs that were not calibrated.
fn write_overheads(text: &mut String, job: &JobFigures<'_>) {
    for overhead in &job.overheads {
        let _ = writeln!(text, "  overhead     : {}", overhead.line());
        if let Some(sentence) = overhead.limit() {
            let _ = writeln!(text, "     {sentence}");
        }
    }
}

fn write_bands(text: &mut String, bands: &Bands) {
    let named = |ends: &[u64]| ends.iter().map(u64::to_string).collect::<Vec<String>>();
    let mut milliseconds = named(&MILLISECOND_BANDS);
    milliseconds.push(">=2000".to_owned());
    write_band_lines(text, "nsec", &named(&NANOSECOND_BANDS), &bands.ns);
    write_band_lines(text, "usec", &named(&MICROSECOND_BANDS), &bands.us);
    write_band_lines(text, "msec", &milliseconds, &bands.ms);
}

fn write_band_lines(text: &mut String, unit: &str, names: &[String], shares: &[f64]) {
    let shown = names.iter().zip(shares).filter(|(_, share)| **share > 0.0);
    // Anything that occurred is visible: never 0.00 %.
    let items: Vec<String> = shown.map(|(name, share)| format!("{name}={:3.2}%", share.max(0.01))).collect();
    for line in items.chunks(5) {
        let _ = writeln!(text, "  lat ({unit})   : {}", line.join(", "));
    }
}

fn write_sync(text: &mut String, job: &JobFigures<'_>) {
    if job.sync.lat.is_empty() {
        return;
    }
    text.push_str("  fsync/fdatasync/sync_file_range:\n");
    latency::write_summary(text, "sync", &job.sync.lat);
    latency::write_percentiles(text, "sync", &job.sync.lat, &job.plan.measurement.percentiles.list);
}

fn write_shares(text: &mut String, title: &str, names: [&str; 7], shares: &DepthShares) {
    let shown = shown_tenths(&shares.0);
    let items: Vec<String> =
        names.iter().zip(shown).map(|(name, tenths)| format!("{name}={}.{}%", tenths / 10, tenths % 10)).collect();
    let _ = writeln!(text, "{title}: {}", items.join(", "));
}

fn write_counts(text: &mut String, job: &JobFigures<'_>) {
    // As in fio, `mixed` takes the place of reads.
    let of = |count: fn(&iolab_aggregate::DirectionFigures) -> u64| {
        let mut counts = [0_u64; 3];
        job.directions.iter().enumerate().for_each(|(place, figures)| counts[place] = count(figures));
        counts.map(|count| count.to_string()).join(",")
    };
    let _ = writeln!(
        text,
        "     issued rwts: total={},{} short={},0 dropped={},0",
        of(|figures| figures.ios),
        job.sync.ios,
        of(|figures| figures.short_ios),
        of(|figures| figures.dropped_ios)
    );
}

/// The system's text for `errno`; but EILSEQ in I/O reports means that data did not verify.
fn errno_text(errno: i32) -> String {
    const EILSEQ: i32 = 84;
    if errno == EILSEQ {
        return "verification failed".to_owned();
    }
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    match text.rfind(" (os error") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::errno_text;

    #[test]
    fn texts_name_the_error_only() {
        assert_eq!(errno_text(28), "No space left on device");
        assert_eq!(errno_text(84), "verification failed");
    }
}
