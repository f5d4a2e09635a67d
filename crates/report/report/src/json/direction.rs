//! The object of one direction, and of one latency.

use iolab_aggregate::DirectionFigures;
use iolab_histogram::{SparseHistogram, bucket_middle};
use iolab_plan::PercentilePlan;

use super::writer::Writer;

/// Writes a direction; one without I/O is written completely, as zeros.
pub(super) fn write_direction(writer: &mut Writer, figures: &DirectionFigures, of: &PercentilePlan, plus: bool) {
    let bytes_per_second = figures.bytes_per_second() as u64;
    writer.object(figures.name, |writer| {
        writer.number("io_bytes", figures.bytes);
        writer.number("io_kbytes", figures.bytes >> 10);
        writer.number("bw_bytes", bytes_per_second);
        writer.number("bw", bytes_per_second >> 10);
        writer.float("iops", figures.ios_per_second());
        writer.number("runtime", figures.runtime_ms());
        writer.number("total_ios", figures.ios);
        writer.number("short_ios", figures.short_ios);
        writer.number("drop_ios", figures.dropped_ios);
        write_latency(writer, "slat_ns", &figures.slat, of.slat.then_some(of), plus);
        write_latency(writer, "clat_ns", &figures.clat, of.clat.then_some(of), plus);
        write_latency(writer, "lat_ns", &figures.lat, of.lat.then_some(of), plus);
        if !figures.response.is_empty() {
            write_latency(writer, "resp_ns", &figures.response, Some(of), plus);
            write_latency(writer, "wait_ns", &figures.backlog_wait, Some(of), plus);
            write_latency(writer, "late_ns", &figures.generator_late, Some(of), plus);
        }
        write_priorities(writer, figures, of, plus);
        let (bandwidth, iops) = (&figures.bandwidth, &figures.iops);
        writer.number("bw_min", bandwidth.min);
        writer.number("bw_max", bandwidth.max);
        writer.float("bw_agg", figures.share_percent);
        writer.float("bw_mean", bandwidth.mean);
        writer.float("bw_dev", bandwidth.stddev);
        writer.number("bw_samples", bandwidth.samples);
        writer.number("iops_min", iops.min);
        writer.number("iops_max", iops.max);
        writer.float("iops_mean", iops.mean);
        writer.float("iops_stddev", iops.stddev);
        writer.number("iops_samples", iops.samples);
    });
}

/// The latencies of each priority, as fio names them.
fn write_priorities(writer: &mut Writer, figures: &DirectionFigures, of: &PercentilePlan, plus: bool) {
    if figures.priorities.is_empty() {
        return;
    }
    let (key, wanted) = if of.lat { ("lat_ns", of.lat) } else { ("clat_ns", of.clat) };
    writer.array("prios", &figures.priorities, |writer, one| {
        writer.number("prioclass", one.priority.class);
        writer.number("prio", one.priority.level);
        writer.number("priohint", one.priority.hint);
        write_latency(writer, key, &one.latency, wanted.then_some(of), plus);
    });
}

/// Writes moments, then percentiles and (for `json+`) buckets if they are wanted and there are
/// samples.
pub(super) fn write_latency(
    writer: &mut Writer,
    key: &str,
    histogram: &SparseHistogram,
    percentiles: Option<&PercentilePlan>,
    plus: bool,
) {
    writer.object(key, |writer| {
        writer.number("min", histogram.min);
        writer.number("max", histogram.max);
        writer.float("mean", histogram.mean());
        writer.float("stddev", histogram.stddev());
        writer.number("N", histogram.count);
        let Some(percentiles) = percentiles.filter(|plan| !histogram.is_empty() && !plan.list.is_empty()) else {
            return;
        };
        writer.object("percentile", |writer| {
            for percent in &percentiles.list {
                writer.number(&format!("{percent:.6}"), histogram.percentile(*percent));
            }
        });
        if plus {
            writer.object("bins", |writer| {
                for &(bucket, count) in &histogram.buckets {
                    writer.number(&bucket_middle(bucket as usize).to_string(), count);
                }
            });
        }
    });
}
