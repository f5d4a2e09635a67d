//! Zoned block devices, as sysfs describes them (Documentation/ABI/stable/sysfs-block).

use std::path::Path;

use crate::System;

/// The zones of a block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZonedDisk {
    /// Distance between the starts of two zones, bytes.
    pub zone_bytes: u64,
    /// Most zones that may be written to at a time; 0 for no limit.
    pub most_open: u32,
}

impl System {
    /// The zones of the block device with this node; `None` if it is no block device or not zoned.
    pub fn zones(&self, node: &Path) -> Option<ZonedDisk> {
        let folder = self.device_folder(self.device_of_node(node)?)?;
        // A partition has the queue of its disk.
        let queue = [folder.join("queue"), folder.parent()?.join("queue")].into_iter().find(|queue| queue.is_dir())?;
        let read = |name: &str| std::fs::read_to_string(queue.join(name)).ok().map(|text| text.trim().to_owned());
        let number = |name: &str| read(name)?.parse::<u64>().ok();
        if read("zoned")? == "none" {
            return None;
        }
        let zone_bytes = number("chunk_sectors").filter(|sectors| *sectors > 0)? * 512;
        // A zone that is written to is open and active. These files are absent before Linux 5.9.
        let limits = ["max_open_zones", "max_active_zones"].into_iter().filter_map(number);
        let most_open = limits.filter(|most| *most > 0).min().unwrap_or(0);
        Some(ZonedDisk { zone_bytes, most_open: u32::try_from(most_open).unwrap_or(u32::MAX) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    #[test]
    fn the_zones_of_a_disk_are_those_of_its_queue() {
        let mut fixture = Fixture::new();
        fixture.disk("sda", "8:0").place("/dev/sda", "8:0");
        let system = fixture.system();
        assert_eq!(system.zones(Path::new("/dev/sda")), None);
        for (zoned, open, active, most_open) in
            [("none", "0", "0", None), ("host-managed", "0", "0", Some(0)), ("host-managed", "16", "14", Some(14))]
        {
            for (name, text) in [("zoned", zoned), ("chunk_sectors", "2048"), ("max_open_zones", open)] {
                fixture.file(&format!("sys/block/sda/queue/{name}"), text);
            }
            fixture.file("sys/block/sda/queue/max_active_zones", active);
            let expected = most_open.map(|most_open| ZonedDisk { zone_bytes: 1 << 20, most_open });
            assert_eq!(fixture.system().zones(Path::new("/dev/sda")), expected, "{zoned} {open} {active}");
        }
        assert_eq!(system.zones(Path::new("/dev/absent")), None);
    }
}
