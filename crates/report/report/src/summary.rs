//! A table that compares cases, each measured in one or more rounds, and one sentence on which was
//! faster by how much.
//!
//! It claims no more than was measured: rates are medians of the rounds, latencies are those of all
//! rounds' operations together, and the sentence claims a difference only if the rounds of the two
//! cases do not overlap.

use iolab_aggregate::WholeRun;
use iolab_histogram::SparseHistogram;
use iolab_order::Arrange;
use iolab_plan::Direction;
use iolab_recording::Recording;
use iolab_text::{Alignment, aligned};
use iolab_units::rounded_ns;

use crate::number::NumberStyle;

/// Differences in IOPS up to this share count as none.
const EQUIVALENCE: f64 = 0.02;

/// Figures of one case, all workers and directions together.
struct Row {
    case: String,
    /// IOPS of each round, ascending.
    iops: Vec<f64>,
    bytes_per_second: f64,
    /// Mean, p50, p99, p99.9 in ns.
    latency: Option<[f64; 4]>,
    cpu_us_per_io: Option<f64>,
}

impl Row {
    fn median_iops(&self) -> f64 {
        median(&self.iops)
    }

    /// Half the distance between the best and the worst round, as a share of the median.
    fn spread(&self) -> f64 {
        match (self.iops.first(), self.iops.last()) {
            (Some(least), Some(most)) if self.median_iops() > 0.0 => (most - least) / 2.0 / self.median_iops(),
            _ => 0.0,
        }
    }
}

/// The median of ascending values; the mean of the two middle ones if there are two.
fn median(ascending: &[f64]) -> f64 {
    match ascending.len() {
        0 => 0.0,
        length => (ascending[(length - 1) / 2] + ascending[length / 2]) / 2.0,
    }
}

/// The table and the sentence. Each case has a name and the recordings of its rounds; latency is
/// total latency, or completion latency if the total was not recorded; a dash stands for a value
/// that was not measured.
pub fn summary(cases: &[(&str, &[Recording])]) -> String {
    let rows: Vec<Row> = cases.iter().map(|(case, rounds)| row(case, rounds)).collect();
    let style = NumberStyle::new(1024, 0, 4);
    let mut lines =
        vec![["case", "IOPS", "+-", "bandwidth", "mean", "p50", "p99", "p99.9", "CPU µs/IO"].map(str::to_owned)];
    for row in &rows {
        let [mean, p50, p99, p999] = match row.latency {
            Some(latency) => latency.map(rounded_ns),
            None => ["-"; 4].map(str::to_owned),
        };
        let cpu = row.cpu_us_per_io.map_or("-".to_owned(), |us| format!("{us:.3}"));
        let spread = if row.iops.len() > 1 { format!("{:.0} %", row.spread() * 100.0) } else { "-".to_owned() };
        let (iops, rate) = (style.count(row.median_iops() as u64), style.rate(row.bytes_per_second as u64));
        lines.push([row.case.clone(), iops, spread, rate, mean, p50, p99, p999, cpu]);
    }
    let mut text = aligned(&lines, |column| if column == 0 { Alignment::Left } else { Alignment::Right });
    if let Some(verdict) = verdict(&rows) {
        text += &format!("\n{verdict}\n");
    }
    text
}

fn row(case: &str, rounds: &[Recording]) -> Row {
    let mut lat = SparseHistogram::default();
    let (mut iops, mut rates) = (Vec::new(), Vec::new());
    let (mut ios, mut cpu_ns) = (0, 0);
    for recording in rounds {
        let whole = WholeRun::new(recording);
        for direction in whole.workers().flat_map(|worker| &worker.directions) {
            lat.merge(if direction.lat.is_empty() { &direction.clat } else { &direction.lat });
        }
        let done = whole.throughput(&Direction::ALL);
        ios += done.ios;
        iops.push(done.ios_per_second());
        rates.push(done.bytes_per_second());
        cpu_ns += whole.cpu_ns().into_iter().fold(0, u64::saturating_add);
    }
    iops.arrange_by(f64::total_cmp);
    rates.arrange_by(f64::total_cmp);
    Row {
        case: case.to_owned(),
        iops,
        bytes_per_second: median(&rates),
        latency: (!lat.is_empty()).then(|| {
            [lat.mean(), lat.percentile(50.0) as f64, lat.percentile(99.0) as f64, lat.percentile(99.9) as f64]
        }),
        cpu_us_per_io: (ios > 0 && cpu_ns > 0).then(|| cpu_ns as f64 / ios as f64 / 1000.0),
    }
}

/// The case with the most IOPS, compared with the next; `None` for fewer than two cases with any
/// I/O.
fn verdict(rows: &[Row]) -> Option<String> {
    let mut ranked: Vec<&Row> = rows.iter().filter(|row| row.median_iops() > 0.0).collect();
    ranked.arrange_by(|a, b| b.median_iops().total_cmp(&a.median_iops()));
    let (first, second) = (ranked.first()?, ranked.get(1)?);
    let ratio = first.median_iops() / second.median_iops();
    let rounds = first.iops.len().min(second.iops.len());
    if ratio < 1.0 + EQUIVALENCE {
        let (percent, basis) = (EQUIVALENCE * 100.0, basis(rounds));
        return Some(format!("{} and {} did the same IOPS within {percent:.0} % ({basis}).", first.case, second.case));
    }
    let least = first.iops.first().copied().unwrap_or(0.0);
    let most = second.iops.last().copied().unwrap_or(0.0);
    if least <= most {
        return Some(format!(
            "{} was ahead of {} ({ratio:.2} times the IOPS), but their rounds overlap: {}.",
            first.case,
            second.case,
            if rounds == 1 { "one run each decides nothing" } else { "more rounds must decide" }
        ));
    }
    let tail = match (first.latency, second.latency) {
        (Some(a), Some(b)) if a[2] > b[2] * (1.0 + EQUIVALENCE) => {
            format!(", but its p99 latency was {} against {}", rounded_ns(a[2]), rounded_ns(b[2]))
        }
        _ => String::new(),
    };
    let basis = basis(rounds);
    Some(format!("{} did {ratio:.2} times the IOPS of {}{tail} ({basis}).", first.case, second.case))
}

/// What a verdict is based on.
fn basis(rounds: usize) -> String {
    match rounds {
        0 | 1 => "one run each: repeat before relying on it".to_owned(),
        rounds => format!("medians of {rounds} interleaved rounds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_claim_no_more_than_was_seen() {
        let row = |case: &str, iops: &[f64], p99| Row {
            case: case.into(),
            iops: iops.to_vec(),
            bytes_per_second: 0.0,
            latency: Some([0.0, 0.0, p99, 0.0]),
            cpu_us_per_io: None,
        };
        let say = |rows: &[Row]| verdict(rows).unwrap_or_default();
        assert_eq!(verdict(&[row("a", &[1.0], 1.0)]), None);
        assert_eq!(verdict(&[row("a", &[1.0], 1.0), row("b", &[], 1.0)]), None);
        assert_eq!(
            say(&[row("a", &[100.0], 1.0), row("b", &[101.0], 1.0)]),
            "b and a did the same IOPS within 2 % (one run each: repeat before relying on it)."
        );
        assert_eq!(
            say(&[row("a", &[90.0, 100.0, 110.0], 1000.0), row("b", &[250.0, 300.0, 310.0], 5000.0)]),
            "b did 3.00 times the IOPS of a, but its p99 latency was 5.00 µs against 1.00 µs \
             (medians of 3 interleaved rounds)."
        );
        assert_eq!(
            say(&[row("a", &[90.0, 100.0, 150.0], 1.0), row("b", &[120.0, 140.0, 160.0], 1.0)]),
            "b was ahead of a (1.40 times the IOPS), but their rounds overlap: more rounds must decide."
        );
    }
}
