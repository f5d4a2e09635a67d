//! How idle the processors were, in fio's words.

use std::fmt::Write;

use iolab_recording::Idleness;

/// Writes nothing if it was not measured.
pub(super) fn write(text: &mut String, idleness: Option<&Idleness>) {
    let Some(idleness) = idleness else { return };
    let _ = writeln!(text, "\nCPU idleness:\n  system: {:3.2}%", idleness.idle() * 100.0);
    if idleness.per_cpu {
        let shares: Vec<String> = idleness.cpus.iter().map(|cpu| format!("{:3.2}%", cpu.idle * 100.0)).collect();
        let _ = writeln!(text, "  percpu: {}", shares.join(", "));
    }
    unit_work(text, idleness);
}

/// The report of a calibration alone.
pub fn calibration_report(idleness: &Idleness) -> String {
    let mut text = String::from("CPU idleness:\n");
    unit_work(&mut text, idleness);
    text
}

fn unit_work(text: &mut String, idleness: &Idleness) {
    let (mean_us, deviation_us) = (idleness.unit_mean_ns() / 1e3, idleness.unit_stddev_ns() / 1e3);
    let _ = writeln!(text, "  unit work: mean={mean_us:3.2}us, stddev={deviation_us:3.2}");
}
