//! The storage that a run reached, as far as its engines report it and its devices are known.
//!
//! Two runs on the same storage have the same list, however they reached it: a loop device counts
//! as the disk beneath it. Nothing here knows an engine by its name.

use std::fmt;

use iolab_order::Arrange;
use iolab_plan::Reach;
use iolab_recording::{DeviceUse, Recording};
use serde::{Deserialize, Serialize};

/// Something that holds data, or takes its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReachedStorage {
    /// A block device of the kernel that is made of no others, by its name.
    BlockDevice(String),
    /// Files without a known block device beneath them: tmpfs, an overlay, a file system of the
    /// network.
    NoBlockDevice,
    /// A device that an engine drives itself, by its name in the job.
    Driven(String),
    /// Storage within the process, by the engine that has it.
    Private(String),
    /// None: operations end in the engine.
    Nothing,
}

impl fmt::Display for ReachedStorage {
    fn fmt(&self, text: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReachedStorage::BlockDevice(name) => write!(text, "block device {name}"),
            ReachedStorage::NoBlockDevice => text.write_str("files with no block device beneath"),
            ReachedStorage::Driven(name) => write!(text, "a device driven by the engine ({name})"),
            ReachedStorage::Private(engine) => write!(text, "memory of the engine {engine}"),
            ReachedStorage::Nothing => text.write_str("no storage"),
        }
    }
}

/// The storage that a run reached, sorted and without duplicates; empty if it is unknown, because
/// an engine did not say or the devices were not sampled.
pub fn targets(recording: &Recording) -> Vec<ReachedStorage> {
    let mut all = Vec::new();
    for worker in &recording.plan.workers {
        match worker.engine.traits().reach {
            Reach::Unknown => return Vec::new(),
            Reach::Processor | Reach::Programs | Reach::Network | Reach::Nothing => all.push(ReachedStorage::Nothing),
            Reach::Device => {
                all.extend(worker.files.iter().map(|file| ReachedStorage::Driven(file.path.display().to_string())));
            }
            Reach::Private if recording.devices.is_empty() => {
                all.push(ReachedStorage::Private(worker.engine.name.clone()))
            }
            Reach::BlockLayer | Reach::Names | Reach::Private => {
                if !worker.measurement.disk_util {
                    return Vec::new();
                }
                all.extend(leaves(recording));
            }
        }
    }
    all.arrange();
    all.dedup();
    all
}

/// Block devices that are made of no other device of the run.
pub(crate) fn leaf_devices(recording: &Recording) -> impl Iterator<Item = &DeviceUse> {
    let devices = &recording.devices;
    let is_known = |device: &DeviceUse, part: &String| {
        devices.iter().any(|other| other.host == device.host && other.name == *part)
    };
    devices.iter().filter(move |device| !device.parts.iter().any(|part| is_known(device, part)))
}

fn leaves(recording: &Recording) -> Vec<ReachedStorage> {
    let found: Vec<ReachedStorage> =
        leaf_devices(recording).map(|device| ReachedStorage::BlockDevice(device.name.clone())).collect();
    if found.is_empty() { vec![ReachedStorage::NoBlockDevice] } else { found }
}

#[cfg(test)]
mod tests {
    use iolab_plan::{EngineTraits, PageCache};

    use super::*;

    fn recording(name: &str) -> Recording {
        let path = format!("{}/../recording/tests/corpus/{name}.json", env!("CARGO_MANIFEST_DIR"));
        Recording::from_json(&std::fs::read_to_string(&path).expect(&path)).expect(name)
    }

    fn reaching(reach: Reach) -> Recording {
        let mut made = recording("1-8-traits");
        for worker in &mut made.plan.workers {
            let page_cache = PageCache::Never;
            worker.engine.traits = Some(EngineTraits { reach, page_cache, ..EngineTraits::UNKNOWN });
        }
        made
    }

    #[test]
    fn engines_say_what_they_reach_and_devices_are_those_at_the_bottom() {
        let told = |made: &Recording| targets(made).iter().map(ReachedStorage::to_string).collect::<Vec<_>>();
        let mut on_disk = reaching(Reach::BlockLayer);
        let below = DeviceUse { name: "sda".to_owned(), parts: Vec::new(), ..on_disk.devices[0].clone() };
        on_disk.devices =
            vec![DeviceUse { name: "loop3".to_owned(), parts: vec!["sda".to_owned()], ..below.clone() }, below];
        assert_eq!(told(&on_disk), ["block device sda"]);
        on_disk.devices.clear();
        assert_eq!(told(&on_disk), ["files with no block device beneath"]);
        on_disk.plan.workers.iter_mut().for_each(|worker| worker.measurement.disk_util = false);
        assert!(told(&on_disk).is_empty(), "nobody looked");
        let mut driven = reaching(Reach::Device);
        for worker in &mut driven.plan.workers {
            worker.files.truncate(1);
            worker.files[0].path = "trtype=VIRT ns=1".into();
        }
        assert_eq!(told(&driven), ["a device driven by the engine (trtype=VIRT ns=1)"]);
        assert_eq!(told(&reaching(Reach::Nothing)), ["no storage"]);
        assert!(told(&reaching(Reach::Unknown)).is_empty());
    }
}
