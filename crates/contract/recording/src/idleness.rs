//! How idle the processors were during a run, measured by work that only idle processors do.

use serde::{Deserialize, Serialize};

/// The idleness of the processors: what a thread of the idle class achieved on each, compared with
/// what it achieves there on its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Idleness {
    /// Whether reports show each processor.
    pub per_cpu: bool,
    /// The processors that were watched, by number.
    pub cpus: Vec<CpuIdleness>,
}

/// The idleness of one processor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CpuIdleness {
    /// Its number.
    pub cpu: u32,
    /// How long a unit of work takes there when nothing else runs, ns.
    pub unit_ns: f64,
    /// The share of the time that it was idle, 0 to 1; 0 if only the unit was measured.
    pub idle: f64,
}

impl Idleness {
    /// The share of the time that the processors were idle, 0 to 1.
    pub fn idle(&self) -> f64 {
        mean(self.cpus.iter().map(|cpu| cpu.idle))
    }

    /// How long a unit of work takes, on average of the processors, ns.
    pub fn unit_mean_ns(&self) -> f64 {
        mean(self.cpus.iter().map(|cpu| cpu.unit_ns))
    }

    /// The standard deviation of that, ns; 0 for a single processor.
    pub fn unit_stddev_ns(&self) -> f64 {
        let mean_ns = self.unit_mean_ns();
        let squares: f64 = self.cpus.iter().map(|cpu| (cpu.unit_ns - mean_ns).powi(2)).sum();
        (squares / self.cpus.len().saturating_sub(1).max(1) as f64).sqrt()
    }
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processors_are_summed_up() {
        let of = |values: &[(f64, f64)]| {
            let cpus =
                (0..).zip(values).map(|(cpu, (unit_ns, idle))| CpuIdleness { cpu, unit_ns: *unit_ns, idle: *idle });
            let idleness = Idleness { per_cpu: false, cpus: cpus.collect() };
            (idleness.idle(), idleness.unit_mean_ns(), idleness.unit_stddev_ns())
        };
        assert_eq!(of(&[]), (0.0, 0.0, 0.0));
        assert_eq!(of(&[(10.0, 0.5)]), (0.5, 10.0, 0.0));
        assert_eq!(of(&[(8.0, 0.25), (12.0, 0.75)]), (0.5, 10.0, 8.0_f64.sqrt()));
    }
}
