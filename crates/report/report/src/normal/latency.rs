//! Latency lines and percentile tables.
//!
//! The unit is chosen as in fio: microseconds or milliseconds only if no printed value becomes
//! meaningless.

use std::fmt::Write;

use iolab_histogram::SparseHistogram;
use iolab_order::Arrange;

use crate::number::{Unit, scaled};

/// Characters of a line of percentiles after its margin.
const TABLE_WIDTH: usize = 73;
/// Significant figures of a latency's minimum and maximum.
const EXTREME_FIGURES: u32 = 6;

/// `    clat (usec): min=…, max=…, avg=…, stdev=…`; nothing for an empty histogram.
pub(super) fn write_summary(text: &mut String, name: &str, histogram: &SparseHistogram) {
    if histogram.is_empty() {
        return;
    }
    let (mut unit, mut divisor) = ("nsec", 1);
    for (larger, divisor_larger) in [("usec", 1000_u64), ("msec", 1_000_000)] {
        let before = divisor_larger / 1000;
        let wide = histogram.min / before > 2000 && histogram.max / before > 99_999;
        if wide && histogram.stddev() / before as f64 > 1000.0 && divisor == before {
            (unit, divisor) = (larger, divisor_larger);
        }
    }
    let extreme = |value: u64| scaled(value / divisor, EXTREME_FIGURES, false, Unit::Plain);
    let _ = writeln!(
        text,
        "    {name:>4} ({unit}): min={}, max={}, avg={:5.2}, stdev={:5.2}",
        extreme(histogram.min),
        extreme(histogram.max),
        histogram.mean() / divisor as f64,
        histogram.stddev() / divisor as f64
    );
}

/// The table of percentiles `list`, as many per line as fit; nothing for an empty histogram or
/// list.
pub(super) fn write_percentiles(text: &mut String, name: &str, histogram: &SparseHistogram, list: &[f64]) {
    if histogram.is_empty() || list.is_empty() {
        return;
    }
    let mut list = list.to_vec();
    list.arrange_by(f64::total_cmp);
    let values: Vec<u64> = list.iter().map(|percent| histogram.percentile(*percent)).collect();
    let (least, most) = (values[0], values[values.len() - 1]);
    let (unit, divisor) = match (least, most) {
        (2_000_001.., 100_000_000..) => ("msec", 1_000_000),
        (2001.., 100_000..) => ("usec", 1000),
        _ => ("nsec", 1),
    };
    let _ = writeln!(text, "    {name} percentiles ({unit}):");
    let decimals = decimals_of(&list);
    let value_width = most.div_ceil(divisor).to_string().len().max(5);
    let per_line = (TABLE_WIDTH / (decimals + 10 + value_width)).max(1);
    let items: Vec<String> = list
        .iter()
        .zip(&values)
        .map(|(percent, value)| {
            // Rounded up as in fio, but never beyond the maximum printed a few lines above.
            let rounded_up = value.div_ceil(divisor).min(histogram.max / divisor);
            format!(" {percent:width$.decimals$}th=[{rounded_up:value_width$}]", width = decimals + 3)
        })
        .collect();
    let lines: Vec<String> = items.chunks(per_line).map(|line| format!("     |{}", line.join(","))).collect();
    text.push_str(&lines.join(",\n"));
    text.push('\n');
}

/// Decimals needed to print every percentile of the list as the user wrote it.
fn decimals_of(list: &[f64]) -> usize {
    let decimals = |percent: &f64| percent.to_string().split_once('.').map_or(0, |(_, fraction)| fraction.len());
    list.iter().map(decimals).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use iolab_histogram::Histogram;

    use super::*;

    fn histogram(values: &[u64]) -> SparseHistogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|value| histogram.add(*value));
        histogram.to_sparse()
    }

    #[test]
    fn units_follow_the_spread() {
        for (values, expected) in [
            (&[10, 100_229][..], "    clat (nsec): min=10, max=100229, avg=50119.50, stdev=70865.53\n"),
            (&[1803, 3_334_154], "    clat (nsec): min=1803, max=3334.2k, avg=1667978.50, stdev=2356327.99\n"),
            (&[21_502, 1_685_890], "    clat (usec): min=21, max=1685, avg=853.70, stdev=1176.90\n"),
            (&[2_500_000, 400_000_000], "    clat (msec): min=2, max=400, avg=201.25, stdev=281.07\n"),
            (&[7], "    clat (nsec): min=7, max=7, avg= 7.00, stdev= 0.00\n"),
            (&[], ""),
        ] {
            let mut text = String::new();
            write_summary(&mut text, "clat", &histogram(values));
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn tables_break_as_fio_breaks_them() {
        let mut text = String::new();
        write_percentiles(&mut text, "lat", &histogram(&[60, 61, 70, 70, 80]), &[20.0, 40.0, 60.0, 80.0, 100.0]);
        assert_eq!(
            text,
            "    lat percentiles (nsec):\n     |  20th=[   60],  40th=[   61],  60th=[   70],  80th=[   70],\n     | 100th=[   80]\n"
        );
        let mut text = String::new();
        write_percentiles(&mut text, "clat", &histogram(&[53_504, 3_400_500]), &[5.0, 99.95]);
        assert_eq!(text, "    clat percentiles (usec):\n     |  5.00th=[   54], 99.95th=[ 3392]\n");
    }
}
