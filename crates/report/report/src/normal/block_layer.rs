//! The block layer over the whole run, in a few lines: what happened to the application's
//! operations.

use std::fmt::Write;

use iolab_iostat::{DataUnit, DeviceActivity, EXTENDED};
use iolab_recording::{DeviceSeries, Recording};

/// Writes nothing when the machine was not observed.
pub(super) fn write(text: &mut String, recording: &Recording) {
    let devices: Vec<&DeviceSeries> = recording.observations.iter().flat_map(|seen| &seen.devices).collect();
    let told = |device: &&DeviceSeries| match recording.has_several_hosts() {
        // A device is compared with the workers of its own host.
        true => line(device, &recording.device_name(device.host, &device.name), &recording.of_host(device.host)),
        false => line(device, &device.name, recording),
    };
    let lines: Vec<String> = devices.iter().filter_map(told).collect();
    if lines.is_empty() {
        return;
    }
    text.push_str("\nBlock layer (read/write):\n");
    lines.iter().for_each(|line| text.push_str(line));
}

fn line(device: &DeviceSeries, name: &str, recording: &Recording) -> Option<String> {
    let (first, last) = (device.samples.first()?, device.samples.last()?);
    let activity = DeviceActivity::between(first, last);
    let value = |name: &str| {
        let column = EXTENDED.iter().find(|column| column.name == name);
        column.map_or(0.0, |column| (column.value)(&activity, DataUnit::Megabytes))
    };
    let deepest = device.samples.iter().map(|sample| sample.reads_in_flight + sample.writes_in_flight).max()?;
    let mut text = format!(
        "  {}: IOPS={:.0}/{:.0}, MB/s={:.2}/{:.2}, request KiB={:.1}/{:.1}, merged={:.1}%/{:.1}%, depth mean={:.2} seen={deepest}",
        name,
        value("r/s"),
        value("w/s"),
        value("rkB/s"),
        value("wkB/s"),
        value("rareq-sz"),
        value("wareq-sz"),
        value("%rrqm"),
        value("%wrqm"),
        value("aqu-sz"),
    );
    let sectors = [activity.gained.read_sectors, activity.gained.write_sectors];
    let ratios = sectors.iter().enumerate().map(|(direction, sectors)| ratio(sectors * 512, direction, recording));
    let ratios: Vec<String> = ratios.map(|ratio| ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"))).collect();
    if ratios.iter().any(|ratio| ratio != "-") {
        // Writing to a String cannot fail.
        let _ = write!(text, ", device/application bytes={}", ratios.join("/"));
    }
    Some(text + "\n")
}

/// The device's bytes over those that the application transferred. For the application only the
/// measured part is known, for the device the whole run: with a ramp they are not comparable.
fn ratio(device_bytes: u64, direction: usize, recording: &Recording) -> Option<f64> {
    if recording.plan.workers.iter().any(|worker| worker.limits.ramp_ns > 0) {
        return None;
    }
    let moved: u64 =
        recording.workers.iter().map(|worker| worker.directions[direction].bytes).fold(0, u64::saturating_add);
    (moved > 0).then(|| device_bytes as f64 / moved as f64)
}
