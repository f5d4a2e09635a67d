//! The traffic of the block devices beneath the traced files during a trace, by all programs,
//! compared with the bytes that the traced program's calls moved.
//!
//! Users want to see the difference: the page cache answers reads and delays writes, file systems
//! write for themselves, and other programs use the device, too.

use std::collections::HashMap;
use std::path::PathBuf;

use iolab_observe::{DeviceSampler, System};
use iolab_trace::{DeviceBytes, File, FileKind};

use crate::kernel_counts::Counts;

/// The unit of the kernel's counters (Documentation/block/stat.rst).
const SECTOR_BYTES: u64 = 512;

/// Samples all block devices at the beginning of a capture.
pub(crate) fn begin() -> DeviceSampler {
    DeviceSampler::start_all(&System::live(), 0)
}

/// The file systems and devices that a program uses.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// By the number of the file system, or the path of a device's node.
    known: HashMap<(u64, String), usize>,
    /// A path on each, and the bytes that calls moved.
    moved: Vec<(PathBuf, Counts)>,
}

impl Places {
    /// The place of a file that is on the device with this number; `None` for what is not storage.
    pub(crate) fn of(&mut self, device: u64, file: &File) -> Option<usize> {
        let key = match file.kind {
            FileKind::Regular => (device, String::new()),
            FileKind::BlockDevice => (0, file.path.clone()),
            _ => return None,
        };
        let next = self.moved.len();
        let place = *self.known.entry(key).or_insert(next);
        if place == next {
            self.moved.push((PathBuf::from(&file.path), Counts::default()));
        }
        Some(place)
    }

    /// Adds the bytes of a call.
    pub(crate) fn add(&mut self, place: usize, bytes: Counts) {
        if let Some((_, moved)) = self.moved.get_mut(place) {
            moved.add(bytes);
        }
    }

    /// The devices beneath, with what reached them since `begun`.
    pub(crate) fn end(&self, begun: DeviceSampler, system: &System) -> Vec<DeviceBytes> {
        let mut devices: Vec<DeviceBytes> = Vec::new();
        let uses = begun.finish(0);
        for (path, moved) in &self.moved {
            for device in system.devices_under(std::slice::from_ref(path)) {
                let Some(used) = uses.iter().find(|used| used.name == device.name) else { continue };
                let bytes = |sectors: fn(&iolab_recording::DeviceCounters) -> u64| {
                    sectors(&used.after).saturating_sub(sectors(&used.before)).saturating_mul(SECTOR_BYTES)
                };
                let at = devices.iter().position(|known| known.name == device.name).unwrap_or_else(|| {
                    let (read, written) =
                        (bytes(|counters| counters.read_sectors), bytes(|counters| counters.write_sectors));
                    devices.push(DeviceBytes {
                        name: device.name,
                        parts: device.parts,
                        read,
                        written,
                        ..DeviceBytes::default()
                    });
                    devices.len() - 1
                });
                devices[at].calls_read = devices[at].calls_read.saturating_add(moved.read);
                devices[at].calls_written = devices[at].calls_written.saturating_add(moved.written);
            }
        }
        devices
    }
}

#[cfg(test)]
mod tests {
    use iolab_observe::Fixture;

    use super::*;

    #[test]
    fn bytes_of_devices_stand_beside_those_of_calls() {
        let mut fixture = Fixture::new();
        fixture.disk("sda", "8:0").disk("sdb", "8:16").disk("sdc", "8:32");
        fixture.place("/a", "8:0").place("/a/file", "8:0").place("/dev/b", "8:16");
        for name in ["sda", "sdb", "sdc"] {
            fixture.file(&format!("sys/block/{name}/stat"), "1 0 8 0 1 0 16 0 0 0 0");
        }
        let system = fixture.system();
        let begun = DeviceSampler::start_all(&system, 0);
        let mut places = Places::default();
        let file = |path: &str, kind| File { path: path.to_owned(), kind, ..File::default() };
        let on_a = places.of(7, &file("/a/file", FileKind::Regular)).unwrap();
        assert_eq!(places.of(7, &file("/a/other", FileKind::Regular)), Some(on_a));
        let on_b = places.of(9, &file("/dev/b", FileKind::BlockDevice)).unwrap();
        assert_eq!(places.of(9, &file("pipe:[1]", FileKind::Pipe)), None);
        places.add(on_a, Counts { read: 100, written: 5000 });
        places.add(on_b, Counts { read: 1, written: 0 });
        fixture.file("sys/block/sda/stat", "1 0 8 0 1 0 26 0 0 0 0");
        fixture.file("sys/block/sdb/stat", "1 0 9 0 1 0 16 0 0 0 0");
        let found: Vec<_> = places
            .end(begun, &system)
            .into_iter()
            .map(|one| (one.name, one.read, one.written, one.calls_read, one.calls_written))
            .collect();
        assert_eq!(found, [("sda".to_owned(), 0, 5120, 100, 5000), ("sdb".to_owned(), 512, 0, 1, 0)]);
    }
}
