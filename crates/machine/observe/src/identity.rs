//! What a block device is, beside the settings of its queue: model, the parameters of layers (loop,
//! device mapper, software RAID, zram), hardware queues.
//!
//! Serial numbers are not among it: what is found here is kept in recordings, which people share.

use std::collections::BTreeMap;
use std::fs;

use iolab_order::Gather;

use crate::System;

/// Files below `/sys/block/NAME` (Documentation/ABI/stable/sysfs-block, admin-guide/md,
/// sysfs-block-dm, sysfs-block-loop, sysfs-block-zram).
const FILES: [&str; 25] = [
    "alignment_offset",
    "cache_type",
    "comp_algorithm",
    "device/firmware_rev",
    "device/model",
    "device/rev",
    "device/state",
    "device/transport",
    "device/vendor",
    "discard_alignment",
    "disksize",
    "dm/name",
    "dm/uuid",
    "loop/backing_file",
    "loop/dio",
    "loop/offset",
    "md/array_state",
    "md/chunk_size",
    "md/consistency_policy",
    "md/degraded",
    "md/level",
    "md/raid_disks",
    "md/sync_action",
    "removable",
    "ro",
];

/// The key of the number of hardware queues.
pub const HARDWARE_QUEUES: &str = "hardware_queues";

impl System {
    /// What is known of a whole block device, by the names of the files below `/sys/block/NAME`,
    /// and [`HARDWARE_QUEUES`].
    pub fn identity(&self, name: &str) -> BTreeMap<String, String> {
        let folder = self.path(&format!("sys/block/{name}"));
        let mut found: BTreeMap<String, String> = FILES
            .iter()
            .filter_map(|file| {
                let text = fs::read_to_string(folder.join(file)).ok()?;
                let text = text.trim();
                (!text.is_empty()).then(|| ((*file).to_owned(), text.to_owned()))
            })
            .gather();
        let queues = fs::read_dir(folder.join("mq")).map_or(0, Iterator::count);
        if queues > 0 {
            found.insert(HARDWARE_QUEUES.to_owned(), queues.to_string());
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use crate::system::fixtures::Fixture;

    #[test]
    fn what_is_there_is_found_and_serial_numbers_are_not() {
        let mut fixture = Fixture::new();
        fixture.disk("md0", "9:0");
        fixture.file("sys/block/md0/md/level", "raid5\n").file("sys/block/md0/md/chunk_size", "65536\n");
        fixture.file("sys/block/md0/serial", "SECRET\n").file("sys/block/md0/device/model", "  \n");
        fixture.file("sys/block/md0/mq/0/cpu_list", "0\n").file("sys/block/md0/mq/1/cpu_list", "1\n");
        let found = fixture.system().identity("md0");
        let found: Vec<_> = found.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(found, [("hardware_queues", "2"), ("md/chunk_size", "65536"), ("md/level", "raid5")]);
        assert!(fixture.system().identity("sda").is_empty());
    }
}
