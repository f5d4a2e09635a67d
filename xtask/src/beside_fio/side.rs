//! One run of one program, and the figures of its JSON report.
//!
//! Both programs are started in the same way and read by the same code.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::cases::Case;
use crate::area::TestArea;

/// The figures that are compared.
pub(super) const FIGURES: [&str; 5] = ["IOPS", "MiB/s", "lat mean µs", "lat p50 µs", "lat p99 µs"];

/// One run's figures of one direction, in the order of `FIGURES`.
pub(super) type Figures = [f64; FIGURES.len()];

/// Runs a job once; returns the figures of each of its directions.
pub(super) fn run(program: &Path, case: &Case, area: &TestArea, runtime_ms: u64) -> Result<Vec<Figures>, String> {
    let mut command = Command::new(program);
    command.args(["--name=beside", "--output-format=json", "--lat_percentiles=1", "--time_based"]);
    command.args(["--allow_mounted_write=0", "--group_reporting"]);
    command.arg(format!("--runtime={runtime_ms}ms"));
    command.arg(format!("--filename={}", area.target.display()));
    command.arg(format!("--size={}", area.bytes)).args(&case.options);
    let answer = command.output().map_err(|error| format!("{}: {error}", program.display()))?;
    if !answer.status.success() {
        let said = String::from_utf8_lossy(&answer.stderr);
        return Err(format!("{} failed at {}: {}", program.display(), case.name, said.trim()));
    }
    let text = String::from_utf8_lossy(&answer.stdout);
    figures(&text, case).map_err(|reason| format!("{}: the report of {}: {reason}", program.display(), case.name))
}

fn figures(report: &str, case: &Case) -> Result<Vec<Figures>, String> {
    // fio may print notes before the document.
    let start = report.find('{').ok_or("no JSON")?;
    let document: Value = serde_json::from_str(&report[start..]).map_err(|error| error.to_string())?;
    let job = document.pointer("/jobs/0").ok_or("no job")?;
    case.directions.iter().map(|direction| of_direction(&job[*direction])).collect()
}

fn of_direction(part: &Value) -> Result<Figures, String> {
    let number = |pointer: &str| part.pointer(pointer).and_then(Value::as_f64).ok_or(format!("no {pointer}"));
    Ok([
        number("/iops")?,
        number("/bw_bytes")? / 1_048_576.0,
        number("/lat_ns/mean")? / 1e3,
        number("/lat_ns/percentile/50.000000")? / 1e3,
        number("/lat_ns/percentile/99.000000")? / 1e3,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::beside_fio::cases;

    #[test]
    fn figures_come_from_the_report() {
        let report = r#"note: something
{ "jobs": [ { "read": { "iops": 10.5, "bw_bytes": 2097152, "lat_ns": { "mean": 1500.0,
  "percentile": { "50.000000": 1000, "99.000000": 3000 } } } } ] }"#;
        let case = &cases::all(true)[0];
        assert_eq!(figures(report, case).unwrap(), [[10.5, 2.0, 1.5, 1.0, 3.0]]);
        assert!(figures("{}", case).unwrap_err().contains("no job"));
        assert!(figures("", case).is_err());
    }
}
