//! A table that compares runs, and one sentence on who was ahead by how much.
//!
//! It says what was measured and no more: one run each is an observation, not a proof, and the sentence says so.

use iolab_histogram::SparseHistogram;
use iolab_recording::Recording;

use crate::number::{NumberStyle, Unit, scaled};

/// Differences in IOPS up to this share are called none.
const EQUIVALENCE: f64 = 0.02;

/// Figures of one run, all workers and directions together.
struct Row {
    case: String,
    iops: f64,
    bytes_per_second: f64,
    /// Mean, p50, p99, p99.9 in ns.
    latency: Option<[f64; 4]>,
    cpu_us_per_io: Option<f64>,
}

/// The table and the sentence. Each case has a name and its recording; latency is total latency, or completion
/// latency where the total was not recorded; a dash stands for what was not measured.
pub fn summary(cases: &[(&str, &Recording)]) -> String {
    let rows: Vec<Row> = cases.iter().map(|(case, recording)| row(case, recording)).collect();
    let style = NumberStyle::new(1024, 0, 4);
    let mut lines = vec![["case", "IOPS", "bandwidth", "mean", "p50", "p99", "p99.9", "CPU us/IO"].map(str::to_owned)];
    for row in &rows {
        let [mean, p50, p99, p999] = match row.latency {
            Some(latency) => latency.map(time_text),
            None => ["-"; 4].map(str::to_owned),
        };
        let cpu = row.cpu_us_per_io.map_or("-".to_owned(), |us| format!("{us:.3}"));
        let iops = style.count(row.iops as u64);
        lines.push([row.case.clone(), iops, style.rate(row.bytes_per_second as u64), mean, p50, p99, p999, cpu]);
    }
    let mut text = table(&lines);
    if let Some(verdict) = verdict(&rows) {
        text += &format!("\n{verdict}\n");
    }
    text
}

fn row(case: &str, recording: &Recording) -> Row {
    let figures = crate::figures(recording);
    let mut lat = SparseHistogram::default();
    let (mut ios, mut iops, mut bytes_per_second) = (0, 0.0, 0.0);
    for direction in figures.jobs.iter().flat_map(|job| &job.directions) {
        ios += direction.ios;
        iops += direction.ios_per_second();
        bytes_per_second += direction.bytes_per_second();
        lat.merge(if direction.lat.is_empty() { &direction.clat } else { &direction.lat });
    }
    let cpu = figures.jobs.iter().flat_map(|job| &job.workers).map(|worker| worker.cpu.user_ns + worker.cpu.system_ns);
    let cpu_ns: u64 = cpu.sum();
    Row {
        case: case.to_owned(),
        iops,
        bytes_per_second,
        latency: (!lat.is_empty()).then(|| {
            [lat.mean(), lat.percentile(50.0) as f64, lat.percentile(99.0) as f64, lat.percentile(99.9) as f64]
        }),
        cpu_us_per_io: (ios > 0 && cpu_ns > 0).then(|| cpu_ns as f64 / ios as f64 / 1000.0),
    }
}

/// A time of three or four digits with the unit that makes it so.
fn time_text(ns: f64) -> String {
    for (divisor, unit) in [(1.0, "ns"), (1e3, "us"), (1e6, "ms")] {
        let value = ns / divisor;
        if value < 999.5 {
            let decimals = if divisor == 1.0 || value >= 99.95 {
                0
            } else if value >= 9.995 {
                1
            } else {
                2
            };
            return format!("{value:.decimals$} {unit}");
        }
    }
    format!("{} s", scaled((ns / 1e9).round() as u64, 4, false, Unit::Plain))
}

/// Columns as wide as their widest cell; the first to the left, numbers to the right.
fn table(lines: &[[String; 8]]) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(width);
    let mut text = String::new();
    for line in lines {
        let mut cells = vec![format!("{:<width$}", line[0], width = widths[0])];
        cells.extend((1..8).map(|column| format!("{:>width$}", line[column], width = widths[column])));
        text += cells.join("  ").trim_end();
        text.push('\n');
    }
    text
}

/// Who had the most IOPS, against the next; `None` for fewer than two cases that did any I/O.
fn verdict(rows: &[Row]) -> Option<String> {
    let mut ranked: Vec<&Row> = rows.iter().filter(|row| row.iops > 0.0).collect();
    ranked.sort_by(|a, b| b.iops.total_cmp(&a.iops));
    let (first, second) = (ranked.first()?, ranked.get(1)?);
    let ratio = first.iops / second.iops;
    if ratio < 1.0 + EQUIVALENCE {
        let percent = EQUIVALENCE * 100.0;
        return Some(format!(
            "{} and {} did the same IOPS within {percent:.0} % (one run each).",
            first.case, second.case
        ));
    }
    let tail = match (first.latency, second.latency) {
        (Some(a), Some(b)) if a[2] > b[2] * (1.0 + EQUIVALENCE) => {
            format!(", but its p99 latency was {} against {}", time_text(a[2]), time_text(b[2]))
        }
        _ => String::new(),
    };
    Some(format!(
        "{} did {ratio:.2} times the IOPS of {}{tail} (one run each: repeat before relying on it).",
        first.case, second.case
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (ns, expected) in [
            (0.0, "0 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 us"),
            (12_340.0, "12.3 us"),
            (123_400.0, "123 us"),
            (999_600.0, "1.00 ms"),
            (2.5e9, "3 s"),
        ] {
            assert_eq!(time_text(ns), expected);
        }
    }

    #[test]
    fn verdicts_claim_no_more_than_was_seen() {
        let row = |case: &str, iops, p99| Row {
            case: case.into(),
            iops,
            bytes_per_second: 0.0,
            latency: Some([0.0, 0.0, p99, 0.0]),
            cpu_us_per_io: None,
        };
        assert_eq!(verdict(&[row("a", 1.0, 1.0)]), None);
        assert_eq!(verdict(&[row("a", 1.0, 1.0), row("b", 0.0, 1.0)]), None);
        let same = verdict(&[row("a", 100.0, 1.0), row("b", 101.0, 1.0)]);
        assert_eq!(same.as_deref(), Some("b and a did the same IOPS within 2 % (one run each)."));
        let worse_tail = verdict(&[row("a", 100.0, 1000.0), row("b", 300.0, 5000.0)]);
        assert_eq!(
            worse_tail.as_deref(),
            Some(
                "b did 3.00 times the IOPS of a, but its p99 latency was 5.00 us against 1.00 us \
                 (one run each: repeat before relying on it)."
            )
        );
    }
}
