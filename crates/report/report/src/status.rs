//! The status line shown during a run, as fio's `--eta` prints it.
//!
//! The caller decides whether, how often and where it is shown, and adds the carriage return.

use iolab_plan::{Direction, PerDirection};

use crate::number::NumberStyle;

/// The state of a run at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Workers that have begun and not ended.
    pub running: u32,
    /// Files open.
    pub open_files: u32,
    /// One letter per worker, in plan order: fio's state letters (`P` not yet started, `R`
    /// sequential reads, `r` random reads, `W`, `w`, `M`, `m`, `D`, `d`, `F` waiting for a sync,
    /// `E` ended, `_` collected, …). Empty in the first seconds of a run, when rates mean nothing
    /// yet: the line then ends after the limits, as in fio.
    pub states: String,
    /// Minimum and maximum requested IOPS, if the load is paced by IOPS.
    pub iops_limits: Option<(u64, u64)>,
    /// Minimum and maximum requested bytes per second, if it is paced by bandwidth.
    pub byte_limits: Option<(u64, u64)>,
    /// Share of the run done, percent; `None` when its end is unknown.
    pub percent: Option<f64>,
    /// Bytes per second since the last snapshot; `None` for directions without I/O.
    pub bytes_per_second: PerDirection<Option<u64>>,
    /// Operations per second since the last snapshot; `None` for directions without I/O.
    pub ios_per_second: PerDirection<Option<u64>>,
    /// Seconds left; `None` when unknown.
    pub eta_seconds: Option<u64>,
    /// As in `MeasurementPlan`.
    pub kb_base: u32,
    /// As in `MeasurementPlan`.
    pub unit_base: u32,
    /// As in `MeasurementPlan`.
    pub significant_figures: u32,
}

/// The line, without a line break: `Jobs: 1 (f=1): [w(1)][99.2%][w=97.1MiB/s][w=24.9k IOPS][eta
/// 00m:01s]`.
pub fn status_line(snapshot: &Snapshot) -> String {
    let style = NumberStyle::new(snapshot.kb_base, snapshot.unit_base, snapshot.significant_figures);
    let mut line = format!("Jobs: {} (f={})", snapshot.running, snapshot.open_files);
    if let Some((least, most)) = snapshot.byte_limits {
        line += &format!(", {}-{}", style.rate(least), style.rate(most));
    }
    if let Some((least, most)) = snapshot.iops_limits {
        line += &format!(", {least}-{most} IOPS");
    }
    if snapshot.states.is_empty() {
        return line;
    }
    let percent = snapshot.percent.map_or("-.-%".to_owned(), |percent| format!("{percent:3.1}%"));
    line += &format!(": [{}][{percent}]", states_text(&snapshot.states));
    let rates = rates_text(&snapshot.bytes_per_second, |rate| style.rate(rate));
    let ios = rates_text(&snapshot.ios_per_second, |rate| style.count(rate));
    if !rates.is_empty() {
        line += &format!("[{rates}]");
    }
    if !ios.is_empty() {
        line += &format!("[{ios} IOPS]");
    }
    let eta = snapshot.eta_seconds.map_or("--".to_owned(), duration_text);
    line + &format!("[eta {eta}]")
}

/// Runs of the same letter as `w(3)`, separated by commas.
fn states_text(states: &str) -> String {
    let mut runs: Vec<(char, usize)> = Vec::new();
    for state in states.chars() {
        match runs.last_mut() {
            Some(run) if run.0 == state => run.1 += 1,
            _ => runs.push((state, 1)),
        }
    }
    runs.iter().map(|(state, count)| format!("{state}({count})")).collect::<Vec<_>>().join(",")
}

fn rates_text(rates: &PerDirection<Option<u64>>, text: impl Fn(u64) -> String) -> String {
    let named = Direction::ALL.iter().zip(rates).filter_map(|(direction, rate)| Some((direction, (*rate)?)));
    named.map(|(direction, rate)| format!("{}={}", &direction.name()[..1], text(rate))).collect::<Vec<_>>().join(",")
}

fn duration_text(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    let mut text = String::new();
    if days > 0 {
        text += &format!("{days:02}d:");
    }
    if days > 0 || hours > 0 {
        text += &format!("{hours:02}h:");
    }
    text + &format!("{minutes:02}m:{:02}s", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot() -> Snapshot {
        Snapshot {
            running: 1,
            open_files: 1,
            states: "w".into(),
            iops_limits: None,
            byte_limits: None,
            percent: Some(99.2),
            bytes_per_second: [None, Some(101_816_729), None],
            ios_per_second: [None, Some(24_857), None],
            eta_seconds: Some(1),
            kb_base: 1024,
            unit_base: 0,
            significant_figures: 4,
        }
    }

    #[test]
    fn lines_as_fio_shows_them() {
        let line = status_line(&snapshot());
        assert_eq!(line, "Jobs: 1 (f=1): [w(1)][99.2%][w=97.1MiB/s][w=24.9k IOPS][eta 00m:01s]");
        let mixed = Snapshot {
            running: 3,
            open_files: 6,
            states: "mm_r".into(),
            iops_limits: Some((0, 2300)),
            percent: None,
            bytes_per_second: [Some(4096), Some(0), None],
            ios_per_second: [Some(1), Some(0), None],
            eta_seconds: None,
            ..snapshot()
        };
        assert_eq!(
            status_line(&mixed),
            "Jobs: 3 (f=6), 0-2300 IOPS: [m(2),_(1),r(1)][-.-%][r=4096B/s,w=0B/s][r=1,w=0 IOPS][eta --]"
        );
    }

    #[test]
    fn the_first_seconds_show_limits_only() {
        let early = Snapshot { states: String::new(), byte_limits: Some((0, 1 << 20)), ..snapshot() };
        assert_eq!(status_line(&early), "Jobs: 1 (f=1), 0B/s-1024KiB/s");
    }

    #[test]
    fn durations() {
        for (seconds, expected) in
            [(0, "00m:00s"), (3599, "59m:59s"), (3600, "01h:00m:00s"), (90_061, "01d:01h:01m:01s")]
        {
            assert_eq!(duration_text(seconds), expected);
        }
    }
}
