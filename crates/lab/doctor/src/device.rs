//! One block device: what it is, the layers below it down to the disks, and their limits.

use std::fmt::Write;
use std::path::Path;

use iolab_observe::{BlockDeviceFacts, HARDWARE_QUEUES, System};
use iolab_units::format_bytes;
use serde::Serialize;

use crate::check::{Check, CheckStatus};

/// A device and the devices below it.
#[derive(Debug, Clone, Serialize)]
pub struct DeviceReport {
    /// The device itself first, each before those it consists of.
    pub layers: Vec<DeviceLayer>,
    /// What speaks against measuring it as it is.
    pub checks: Vec<Check>,
}

/// One of these devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeviceLayer {
    /// Kernel name.
    pub name: String,
    /// What it is, in a line.
    pub kind: String,
    /// Its size, bytes.
    pub size_bytes: u64,
    /// Kernel names of the devices it consists of.
    pub parts: Vec<String>,
    /// What it can do: a word, and its value.
    pub facts: Vec<(&'static str, String)>,
}

/// The report on the block device at a path; `None` if there is none.
pub fn of_device(system: &System, path: &Path) -> Option<DeviceReport> {
    system.device_of_node(path)?;
    let devices = system.devices_under(&[path.to_owned()]);
    if devices.is_empty() {
        return None;
    }
    let sources: Vec<Source> = devices.iter().map(|device| Source::read(system, device)).collect();
    let checks = sources.iter().flat_map(Source::checks).collect();
    Some(DeviceReport { layers: sources.iter().map(Source::layer).collect(), checks })
}

impl DeviceReport {
    /// The report for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for layer in &self.layers {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{}: {}, {}", layer.name, layer.kind, format_bytes(layer.size_bytes));
            for (word, value) in &layer.facts {
                let _ = writeln!(text, "  {word:<14} {value}");
            }
            if !layer.parts.is_empty() {
                let _ = writeln!(text, "  {:<14} {}", "below it", layer.parts.join(", "));
            }
        }
        text
    }
}

/// What the kernel says of a device.
struct Source {
    name: String,
    parts: Vec<String>,
    settings: std::collections::BTreeMap<String, String>,
}

impl Source {
    fn read(system: &System, device: &BlockDeviceFacts) -> Source {
        let series = system.series_of(device);
        Source { name: series.name, parts: series.parts, settings: series.settings }
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.settings.get(name).map(String::as_str)
    }

    fn number(&self, name: &str) -> u64 {
        self.text(name).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    /// A size that the kernel gives in bytes; `none` for 0.
    fn bytes(&self, name: &str) -> String {
        match self.number(name) {
            0 => "none".to_owned(),
            bytes => format_bytes(bytes),
        }
    }

    fn kind(&self) -> String {
        let has = |name: &str| self.text(name).is_some();
        if let Some(level) = self.text("md/level") {
            let chunk = match self.number("md/chunk_size") {
                0 => String::new(),
                bytes => format!(", chunks of {}", format_bytes(bytes)),
            };
            return format!("software RAID, {level} of {} disks{chunk}", self.text("md/raid_disks").unwrap_or("?"));
        }
        if let Some(name) = self.text("dm/name") {
            // The beginning of the identifier says who made it (LVM-, CRYPT-, mpath-).
            let maker = self.text("dm/uuid").and_then(|uuid| uuid.split_once('-')).map(|(maker, _)| maker);
            return format!("device mapper, {name}{}", maker.map_or(String::new(), |maker| format!(" ({maker})")));
        }
        if let Some(file) = self.text("loop/backing_file") {
            let direct = if self.text("loop/dio") == Some("1") { "past" } else { "through" };
            return format!("loop device on {file}, {direct} the page cache");
        }
        if has("comp_algorithm") {
            let chosen = self.text("comp_algorithm").and_then(|text| text.split(['[', ']']).nth(1)).unwrap_or("?");
            return format!("compressed memory (zram, {chosen})");
        }
        let words: Vec<&str> = ["device/vendor", "device/model", "device/rev", "device/firmware_rev"]
            .iter()
            .filter_map(|name| self.text(name))
            .collect();
        let medium = match self.text("rotational") {
            Some("1") => "disk",
            _ => "solid state",
        };
        if words.is_empty() { medium.to_owned() } else { format!("{}, {medium}", words.join(" ")) }
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![(
            "blocks",
            format!(
                "{} logical, {} physical; least {}, best {}",
                self.bytes("logical_block_size"),
                self.bytes("physical_block_size"),
                self.bytes("minimum_io_size"),
                self.bytes("optimal_io_size")
            ),
        )];
        let queues = match self.number(HARDWARE_QUEUES) {
            0 => String::new(),
            count => format!(", {}", iolab_text::counted(count, "hardware queue")),
        };
        let most = format_bytes(self.number("max_sectors_kb") * 1024);
        let hardware = format_bytes(self.number("max_hw_sectors_kb") * 1024);
        facts.push(("requests", format!("at most {most} (the hardware: {hardware})")));
        let scheduler = self.text("scheduler").unwrap_or("none");
        facts.push(("queue", format!("{} requests{queues}, scheduler {scheduler}", self.number("nr_requests"))));
        let fua = if self.text("fua") == Some("1") { "with" } else { "without" };
        facts.push(("cache", format!("{}, {fua} FUA", self.text("write_cache").unwrap_or("unknown"))));
        let discard = match self.number("discard_max_bytes") {
            0 => "none".to_owned(),
            most => format!("up to {}, {} at a time", format_bytes(most), self.bytes("discard_granularity")),
        };
        facts.push(("discard", discard));
        if self.text("atomic_write_max_bytes").is_some() {
            let atomic = match self.number("atomic_write_unit_max_bytes") {
                0 => "none".to_owned(),
                most => format!("{} to {}", self.bytes("atomic_write_unit_min_bytes"), format_bytes(most)),
            };
            facts.push(("atomic writes", atomic));
        }
        if let Some(zoned) = self.text("zoned").filter(|zoned| *zoned != "none") {
            let zone = format_bytes(self.number("chunk_sectors") * 512);
            facts.push(("zones", format!("{zoned}, {} of {zone}", self.number("nr_zones"))));
        }
        facts
    }

    fn layer(&self) -> DeviceLayer {
        DeviceLayer {
            name: self.name.clone(),
            kind: self.kind(),
            size_bytes: self.number("size") * 512,
            parts: self.parts.clone(),
            facts: self.facts(),
        }
    }

    fn checks(&self) -> Vec<Check> {
        let name = &self.name;
        let mut checks = Vec::new();
        let mut limited = |found: &str, consequence: &str, mend: &str| {
            checks.push(Check::new(CheckStatus::Limited, name, found, consequence, mend));
        };
        if self.number("md/degraded") > 0 {
            let found = format!("{} of {} disks missing", self.number("md/degraded"), self.number("md/raid_disks"));
            limited(&found, "the array is not as fast as when it is whole", "mdadm --add");
        }
        if let Some(action) = self.text("md/sync_action").filter(|action| *action != "idle") {
            limited(&format!("{action} is going on"), "the array works for itself, too", "cat /proc/mdstat");
        }
        if self.text("loop/dio") == Some("0") {
            let mend = format!("losetup --direct-io=on /dev/{name}");
            limited("its file is in the page cache", "direct I/O measures memory", &mend);
        }
        if self.number("alignment_offset") != 0 {
            let found = format!("blocks begin {} bytes beside the physical ones", self.number("alignment_offset"));
            limited(&found, "each write changes two physical blocks", "");
        }
        if self.text("ro") == Some("1") {
            limited("it is read-only", "jobs that write fail", &format!("blockdev --setrw /dev/{name}"));
        }
        if self.text("iostats") == Some("0") {
            let mend = format!("echo 1 > /sys/block/{name}/queue/iostats");
            limited("requests are not counted", "results cannot be checked against the device", &mend);
        }
        checks
    }
}

#[cfg(test)]
mod tests {
    use iolab_observe::Fixture;

    use super::*;

    #[test]
    fn layers_are_told_down_to_the_disks() {
        let mut fixture = Fixture::new();
        fixture.disk("md0", "9:0").disk("sda", "8:0").disk("sdb", "8:16").place("/dev/md0", "9:0");
        fixture.slave("md0", "sda").slave("md0", "sdb");
        for (name, text) in [
            ("md0/md/level", "raid1"),
            ("md0/md/raid_disks", "2"),
            ("md0/md/degraded", "1"),
            ("md0/md/sync_action", "recover"),
            ("md0/size", "2048"),
            ("md0/queue/logical_block_size", "512"),
            ("sda/device/vendor", "ATA"),
            ("sda/device/model", "Disk 9000"),
            ("sda/queue/rotational", "1"),
            ("sda/queue/discard_max_bytes", "1048576"),
            ("sda/queue/discard_granularity", "4096"),
            ("sda/mq/0/cpu_list", "0"),
            ("sdb/queue/zoned", "host-managed"),
            ("sdb/queue/nr_zones", "7"),
            ("sdb/queue/chunk_sectors", "524288"),
            ("sdb/ro", "1"),
        ] {
            fixture.file(&format!("sys/block/{name}"), text);
        }
        let report = of_device(&fixture.system(), Path::new("/dev/md0")).unwrap();
        let text = report.text();
        for part in [
            "md0: software RAID, raid1 of 2 disks, 1m",
            "below it       sda, sdb",
            "sda: ATA Disk 9000, disk",
            "1 hardware queue,",
            "discard        up to 1m, 4k at a time",
            "sdb: solid state",
            "zones          host-managed, 7 of 256m",
        ] {
            assert!(text.contains(part), "{part} in\n{text}");
        }
        let told: Vec<(&str, &str)> =
            report.checks.iter().map(|check| (check.topic.as_str(), check.found.as_str())).collect();
        assert_eq!(told, [("md0", "1 of 2 disks missing"), ("md0", "recover is going on"), ("sdb", "it is read-only")]);
        assert!(of_device(&fixture.system(), Path::new("/dev/none")).is_none());
    }
}
