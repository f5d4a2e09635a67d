//! Samples the machine repeatedly during a run: counters of block devices, and of the machine as a
//! whole.
//!
//! Files are opened once and read from the beginning each time into one buffer, so that a sample
//! costs one system call for each file and allocates nothing. A file that cannot be opened or read
//! is left out: its figures are absent or 0, and a device that vanishes has no further samples. The
//! caller owns the clock.

use std::collections::BTreeMap;
use std::fs::{self, File};

use iolab_order::Gather;
use iolab_recording::{DeviceSample, DeviceSeries, HostSample};

use crate::block_tree::folder_names;
use crate::system::{BUFFER_BYTES, read_again};
use crate::throttling::OpenThrottling;
use crate::{BlockDeviceFacts, System, counters};

/// The open files of an observed machine.
#[derive(Debug)]
pub struct Sampler {
    devices: Vec<OpenDevice>,
    host: OpenHost,
    buffer: Box<[u8; BUFFER_BYTES]>,
}

#[derive(Debug)]
struct OpenDevice {
    stat: Option<File>,
    in_flight: Option<File>,
}

#[derive(Debug)]
struct OpenHost {
    tick_ns: u64,
    stat: Option<File>,
    meminfo: Option<File>,
    io_pressure: Option<File>,
    cpu_pressure: Option<File>,
    memory_pressure: Option<File>,
    throttling: OpenThrottling,
}

impl System {
    /// A device as in a recording: its parts, its current settings and its identity, without
    /// samples.
    pub fn series_of(&self, device: &BlockDeviceFacts) -> DeviceSeries {
        let name = device.name.clone();
        let mut settings = self.queue_settings(&name);
        settings.extend(self.identity(&name));
        DeviceSeries { parts: device.parts.clone(), settings, name, ..Default::default() }
    }

    /// The readable files of `/sys/block/NAME/queue`, and the `size` of the device in sectors of
    /// 512 bytes.
    pub fn queue_settings(&self, name: &str) -> BTreeMap<String, String> {
        let folder = self.path(&format!("sys/block/{name}"));
        let queue = folder.join("queue");
        let files = folder_names(&queue).into_iter().map(|file| (queue.join(&file), file));
        let files = files.chain([(folder.join("size"), "size".to_owned())]);
        files.filter_map(|(path, file)| Some((file, fs::read_to_string(path).ok()?.trim().to_owned()))).gather()
    }
}

impl Sampler {
    /// Opens the counters of the block devices or partitions with these kernel names, and those of
    /// the machine.
    pub fn open<'a>(system: &System, names: impl IntoIterator<Item = &'a str>) -> Sampler {
        let open = |relative: &str| File::open(system.path(relative)).ok();
        let device = |name: &str| OpenDevice {
            stat: open(&system.statistics_path(name)),
            in_flight: open(&system.statistics_path(name).replace("/stat", "/inflight")),
        };
        Sampler {
            devices: names.into_iter().map(device).collect(),
            host: OpenHost {
                tick_ns: System::tick_ns(),
                stat: open("proc/stat"),
                meminfo: open("proc/meminfo"),
                io_pressure: open("proc/pressure/io"),
                cpu_pressure: open("proc/pressure/cpu"),
                memory_pressure: open("proc/pressure/memory"),
                throttling: OpenThrottling::open(system),
            },
            buffer: Box::new([0; BUFFER_BYTES]),
        }
    }

    /// Samples the device with this index in the names that were opened; `None` if it is no longer
    /// there.
    pub fn device(&mut self, place: usize, at_ns: u64) -> Option<DeviceSample> {
        let device = self.devices.get(place)?;
        let Some(counters) = read(&device.stat, &mut self.buffer).and_then(counters::device_counters) else {
            // The name may come back as another device, whose counters do not continue these.
            self.devices[place] = OpenDevice { stat: None, in_flight: None };
            return None;
        };
        let (reads_in_flight, writes_in_flight) =
            read(&device.in_flight, &mut self.buffer).and_then(counters::in_flight).unwrap_or_default();
        Some(DeviceSample { at_ns, counters, reads_in_flight, writes_in_flight })
    }

    /// Samples the machine; `None` if not even the CPU times can be read.
    pub fn host(&mut self, at_ns: u64) -> Option<HostSample> {
        let (host, buffer) = (&self.host, &mut self.buffer);
        let mut sample = HostSample { at_ns, ..HostSample::default() };
        counters::cpu_times(read(&host.stat, buffer)?, host.tick_ns, &mut sample)?;
        (sample.io_some_ns, sample.io_full_ns) = pressure(&host.io_pressure, buffer);
        sample.cpu_some_ns = pressure(&host.cpu_pressure, buffer).0;
        sample.memory_some_ns = pressure(&host.memory_pressure, buffer).0;
        if let Some(text) = read(&host.meminfo, buffer) {
            sample.cached_bytes = counters::meminfo_bytes(text, "Cached:").unwrap_or(0);
            sample.dirty_bytes = counters::meminfo_bytes(text, "Dirty:").unwrap_or(0);
        }
        sample.quota = host.throttling.quota(buffer);
        sample.thermal_events = host.throttling.thermal_events(buffer);
        Some(sample)
    }
}

fn pressure(file: &Option<File>, buffer: &mut [u8; BUFFER_BYTES]) -> (Option<u64>, Option<u64>) {
    read(file, buffer).map(counters::pressure_ns).unwrap_or_default()
}

/// Reads the beginning of a kernel file, whose text is generated anew for each read at 0.
fn read<'a>(file: &Option<File>, buffer: &'a mut [u8; BUFFER_BYTES]) -> Option<&'a str> {
    read_again(file.as_ref()?, buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    fn machine() -> Fixture {
        let mut fixture = Fixture::new();
        fixture.disk("sda", "8:0").disk("sdb", "8:16");
        fixture.file("sys/block/sda/stat", "1 0 8 0 0 0 0 0 0 0 0").file("sys/block/sda/inflight", "2 3\n");
        fixture.file("sys/block/sdb/stat", "7 0 8 0 0 0 0 0 4 0 0").file("sys/block/sda/size", "2048\n");
        fixture.file("sys/block/sda/queue/scheduler", "[none] kyber\n").file("sys/block/sda/queue/nomerges", "0\n");
        fixture.file("sys/block/sda/queue/iosched/quantum", "8\n");
        fixture.file("proc/stat", "cpu  1 1 1 1 1 1 1 1 0 0\n").file("proc/meminfo", "Cached: 3 kB\nDirty: 2 kB\n");
        fixture.file("proc/pressure/io", "some avg10=0.00 total=5\nfull avg10=0.00 total=4\n");
        fixture
    }

    #[test]
    fn settings_are_those_of_the_queue_and_the_size() {
        let fixture = machine();
        let device = BlockDeviceFacts { name: "sda".into(), parts: vec!["sdb".into()] };
        let series = fixture.system().series_of(&device);
        let settings: Vec<_> = series.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(settings, [("nomerges", "0"), ("scheduler", "[none] kyber"), ("size", "2048")]);
        assert_eq!((series.name.as_str(), series.parts), ("sda", vec!["sdb".to_owned()]));
    }

    #[test]
    fn each_look_sees_the_counters_of_now() {
        let mut fixture = machine();
        let mut sampler = Sampler::open(&fixture.system(), ["sda", "sdb"]);
        let first = sampler.device(0, 10).unwrap();
        assert_eq!((first.at_ns, first.counters.read_ios), (10, 1));
        assert_eq!((first.reads_in_flight, first.writes_in_flight), (2, 3));
        assert_eq!(sampler.device(1, 10).unwrap().counters.in_flight, 4);
        // The open file is rewritten, as the kernel does.
        fixture.file("sys/block/sda/stat", "9 0 8 0 0 0 0 0 0 0 0");
        assert_eq!(sampler.device(0, 20).unwrap().counters.read_ios, 9);
        assert_eq!(sampler.device(2, 20), None);
    }

    #[test]
    fn a_device_that_vanishes_does_not_come_back() {
        let mut fixture = machine();
        let mut sampler = Sampler::open(&fixture.system(), ["sda"]);
        fixture.file("sys/block/sda/stat", "");
        assert_eq!(sampler.device(0, 1), None);
        fixture.file("sys/block/sda/stat", "1 0 8 0 0 0 0 0 0 0 0");
        assert_eq!(sampler.device(0, 2), None);
    }

    #[test]
    fn a_machine_tells_what_it_can() {
        let fixture = machine();
        let sample = Sampler::open(&fixture.system(), []).host(5).unwrap();
        assert_eq!((sample.at_ns, sample.cached_bytes, sample.dirty_bytes), (5, 3 << 10, 2 << 10));
        assert_eq!((sample.io_some_ns, sample.io_full_ns, sample.cpu_some_ns), (Some(5000), Some(4000), None));
        assert_eq!(Sampler::open(&Fixture::new().system(), []).host(5), None);
    }

    #[test]
    fn the_live_machine_has_cpus_and_memory() {
        let sample = Sampler::open(&System::live(), []).host(0).unwrap();
        assert!(sample.idle_ns + sample.user_ns > 0 && sample.cached_bytes > 0);
    }
}
