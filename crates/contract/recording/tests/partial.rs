//! Partial recordings: whole entries are read, damage is reported, and a killed run is rebuilt.

use iolab_histogram::{Baseline, Histogram};
use iolab_plan::{Direction, Plan};
use iolab_recording::partial::{self, EntryBuffer, GrowingRecording, LoggedLatency, Partial, PartialError};
use iolab_recording::{
    DeviceCounters, DeviceSample, DeviceSeries, FORMAT, HostFacts, HostSample, NetworkSeries, Observations, PeerSample,
    Recording, SampleSeries, WorkerOutcome, WorkerRecording,
};

use proptest::prelude::*;

/// A recording before anything is measured. Its plan has no workers: they are the business of other
/// tests.
fn empty() -> Recording {
    Recording {
        iolab_recording: FORMAT,
        iolab_version: "0".to_owned(),
        plan: Plan {
            sources: Vec::new(),
            rank: None,
            global_options: Default::default(),
            workers: Vec::new(),
            warnings: Vec::new(),
        },
        host: HostFacts::default(),
        hosts: Vec::new(),
        calibration: None,
        started_unix_ns: 7,
        elapsed_ns: 0,
        workers: Vec::new(),
        devices: Vec::new(),
        observations: None,
        idleness: None,
        agreed_start_unix_ns: None,
        findings: Vec::new(),
        warnings: Vec::new(),
        interrupted: false,
    }
}

fn file() -> Vec<u8> {
    [partial::start(&empty()), partial::begun(1000), partial::begun(2000), partial::begun(3000)].concat()
}

/// A look at one device and the machine, as a run adds it; only the first names settings.
fn look(at_ns: u64, read_ios: u64, first: bool) -> Observations {
    let settings = first.then(|| ("scheduler".to_owned(), "[none]".to_owned()));
    let counters = DeviceCounters { read_ios, ..DeviceCounters::default() };
    Observations {
        interval_ns: if first { 100 } else { 0 },
        devices: vec![DeviceSeries {
            name: "sda".to_owned(),
            settings: settings.into_iter().collect(),
            samples: vec![DeviceSample { at_ns, counters, ..DeviceSample::default() }],
            ..DeviceSeries::default()
        }],
        host: vec![HostSample { at_ns, io_some_ns: Some(at_ns), ..HostSample::default() }],
        network: vec![NetworkSeries {
            peers: vec![SampleSeries {
                name: "10.0.0.2:10809".to_owned(),
                about: if first { "eth0".to_owned() } else { String::new() },
                samples: vec![PeerSample { at_ns, received_bytes: read_ios, ..PeerSample::default() }],
            }],
            ..NetworkSeries::default()
        }],
        looking_ns: 7,
    }
}

#[test]
fn what_was_seen_of_the_machine_is_put_together() {
    let looks = [look(0, 5, true), look(100, 25, false), look(200, 35, false)];
    let whole = [partial::start(&empty()), looks.iter().flat_map(partial::observed).collect()].concat();
    let recording = Partial::read(&whole).expect("it begins well").into_recording();
    let seen = recording.observations.expect("it was looked at");
    assert_eq!((seen.interval_ns, seen.devices.len(), seen.host.len()), (100, 1, 3));
    assert_eq!(seen.devices[0].settings["scheduler"], "[none]");
    let times: Vec<u64> = seen.devices[0].samples.iter().map(|sample| sample.at_ns).collect();
    assert_eq!(times, [0, 100, 200]);
    assert_eq!(seen.looking_ns, 21);
    let peer = &seen.network[0].peers[0];
    let received: Vec<u64> = peer.samples.iter().map(|sample| sample.received_bytes).collect();
    assert_eq!((seen.network.len(), peer.about.as_str(), received), (1, "eth0", vec![5, 25, 35]));
    let device = &recording.devices[0];
    assert_eq!((device.before.read_ios, device.after.read_ios, device.elapsed_ns), (5, 35, 200));
    // The last look was cut off.
    let cut = Partial::read(&whole[..whole.len() - 1]).expect("it begins well");
    assert!(cut.damage.is_some());
    assert_eq!(cut.into_recording().devices[0].after.read_ios, 25);
}

#[test]
fn every_cut_keeps_what_is_whole() {
    let whole = file();
    let (start, entry) = (partial::start(&empty()).len(), partial::begun(1000).len());
    for length in 0..=whole.len() {
        let read = Partial::read(&whole[..length]);
        if length == 0 {
            assert_eq!(read, Err(PartialError::Mark));
        } else if length < start {
            assert!(matches!(read, Err(PartialError::Start(_))), "{length}");
        } else {
            let partial = read.expect("the beginning is whole");
            let complete = (length - start) / entry;
            let damage = partial.damage;
            assert_eq!(damage.is_some(), !(length - start).is_multiple_of(entry), "{length}");
            if let Some(damage) = damage {
                assert_eq!((damage.at_byte, damage.of_bytes), ((start + complete * entry) as u64, length as u64));
                assert!(damage.to_string().contains("middle of an entry"), "{damage}");
            }
            let recording = partial.into_recording();
            assert_eq!(recording.started_unix_ns, [7, 1000, 2000, 3000][complete], "{length}");
            assert!(recording.interrupted);
        }
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let whole = file();
    let start = partial::start(&empty()).len();
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match Partial::read(&flipped) {
            Err(_) => assert!(bit / 8 < start, "bit {bit} spoils the beginning"),
            Ok(partial) => {
                let damage = partial.damage.expect("a flipped bit is damage");
                assert!(damage.at_byte <= (bit / 8) as u64 && damage.at_byte >= start as u64, "bit {bit}: {damage}");
                let recording = partial.into_recording();
                assert!(recording.warnings.iter().any(|warning| warning.contains("damaged")), "bit {bit}");
            }
        }
    }
}

#[test]
fn other_files_are_told_apart() {
    for (bytes, expected) in [
        (&b"{\"iolab_recording\":1}"[..], PartialError::Mark),
        (b"", PartialError::Mark),
        (b"iolab partial 2\n", PartialError::Format),
        (b"iolab partial 1\n", PartialError::Start("it ends in the middle of an entry")),
    ] {
        assert_eq!(Partial::read(bytes), Err(expected));
    }
    let entries_only = [partial::MARK.as_slice(), &partial::begun(1)].concat();
    assert_eq!(Partial::read(&entries_only), Err(PartialError::Start("its first entry is no plan")));
    let stranger = WorkerRecording { number: 3, ..WorkerRecording::default() };
    let strange = Partial::read(&[partial::start(&empty()), partial::worker(&stranger)].concat()).unwrap();
    assert_eq!(strange.damage.unwrap().reason, "a worker that is not planned");
}

fn values() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let latency = (18_u32..64, any::<u64>()).prop_map(|(shift, bits)| bits >> shift);
    prop::collection::vec((latency, 1_u64..1000), 0..30)
}

proptest! {
    /// What a worker appends while it runs is what its running histograms hold in the end.
    #[test]
    fn intervals_add_up_to_the_worker(
        stretches in prop::collection::vec((values(), values(), any::<bool>()), 1..8),
    ) {
        let mut running: [[Histogram; 3]; 2] = Default::default();
        let mut baselines: [[Baseline; 3]; 2] = Default::default();
        let (mut bytes, mut buffer) = (partial::start(&empty()), EntryBuffer::new());
        let mut ios = [0_u64; 2];
        for (number, (reads, writes, same)) in stretches.iter().enumerate() {
            buffer.clear();
            buffer.begin(0, number as u64 * 100, 100);
            for (index, (direction, values)) in [(Direction::Read, reads), (Direction::Write, writes)].iter().enumerate() {
                let [lat, clat, response] = &mut running[index];
                for (value, times) in *values {
                    lat.add_many(*value, *times);
                    clat.add_many(if *same { *value } else { value / 2 }, *times);
                    response.add_many(value + 1, *times);
                }
                let completed: u64 = values.iter().map(|value| value.1).sum();
                ios[index] += completed;
                buffer.direction(*direction, completed, completed * 512);
                let [of_lat, of_clat, of_response] = &mut baselines[index];
                buffer.latency(LoggedLatency::Lat, lat, of_lat);
                buffer.latency(LoggedLatency::Clat, clat, of_clat);
                buffer.latency(LoggedLatency::Response, response, of_response);
            }
            buffer.end();
            bytes.extend_from_slice(buffer.as_bytes());
        }
        let mut partial = read_of_worker(&bytes);
        let intervals = partial.take_intervals(0);
        prop_assert_eq!(intervals.len(), stretches.len());
        let json = serde_json::to_string(&intervals).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Vec<iolab_recording::IntervalLatencies>>(&json).unwrap(), &intervals);
        let worker = partial::worker_from(0, intervals);
        prop_assert_eq!(worker.outcome, WorkerOutcome::Interrupted);
        prop_assert_eq!((worker.started_ns, worker.runtime_ns), (0, stretches.len() as u64 * 100));
        for (index, [lat, clat, response]) in running.iter().enumerate() {
            let direction = &worker.directions[index];
            prop_assert_eq!((direction.ios, direction.bytes), (ios[index], ios[index] * 512));
            prop_assert_eq!(&direction.lat, &lat.to_sparse());
            prop_assert_eq!(&direction.clat, &clat.to_sparse());
            prop_assert_eq!(&direction.response, &response.to_sparse());
        }
    }
}

/// Reads entries of worker 0, which the plan of [`empty`] does not know, by a plan that does.
fn read_of_worker(bytes: &[u8]) -> Partial {
    let start = partial::start(&empty()).len();
    let worker = serde_json::from_str(include_str!("worker_plan.json")).expect("a worker's plan");
    let planned = Recording { plan: Plan { workers: vec![worker], ..empty().plan }, ..empty() };
    let partial = Partial::read(&[&partial::start(&planned), &bytes[start..]].concat()).expect("a beginning");
    assert_eq!(partial.damage, None);
    partial
}

/// A partial recording of a run with one worker; `intervals` of a second each.
fn of_one_worker(intervals: u64) -> Vec<u8> {
    let mut recording = empty();
    let worker = serde_json::from_str(include_str!("worker_plan.json")).expect("a worker's plan");
    recording.plan = Plan { workers: vec![worker], ..recording.plan };
    let mut bytes = [partial::start(&recording), partial::begun(1000)].concat();
    let second_ns = 1_000_000_000;
    for second in 0..intervals {
        let (mut buffer, mut histogram, mut baseline) = (EntryBuffer::new(), Histogram::new(), Baseline::default());
        histogram.add_many(1000 + second, 3);
        buffer.begin(0, second * second_ns, second_ns);
        buffer.direction(Direction::Read, 3, 12288);
        buffer.latency(LoggedLatency::Lat, &mut histogram, &mut baseline);
        buffer.end();
        bytes.extend_from_slice(buffer.as_bytes());
        bytes.extend(partial::observed(&look(second * second_ns, second, second == 0)));
    }
    bytes
}

#[test]
fn a_growing_recording_is_the_same_however_it_comes() {
    let bytes = of_one_worker(20);
    let whole = Partial::read(&bytes).expect("it begins well").into_recording();
    for step in [1, 7, 4096, bytes.len()] {
        let mut growing = GrowingRecording::default();
        assert!(growing.recording().is_none());
        for chunk in bytes.chunks(step) {
            growing.feed(chunk).expect("good bytes");
        }
        let mut recording = growing.recording().expect("a recording");
        assert!(!recording.interrupted && recording.warnings.is_empty(), "it goes on: {:?}", recording.warnings);
        assert_eq!(recording.workers[0].outcome, WorkerOutcome::Finished);
        assert_eq!(growing.latest()[0].1.start_ns, 19_000_000_000);
        assert_eq!(growing.begun_unix_ns(), Some(1000));
        recording.interrupted = true;
        recording.warnings.clone_from(&whole.warnings);
        recording.workers[0].outcome = WorkerOutcome::Interrupted;
        assert_eq!(recording, whole, "in steps of {step}");
    }
}

#[test]
fn a_long_run_keeps_its_sums_in_bounded_memory() {
    let mut growing = GrowingRecording::default();
    growing.feed(&of_one_worker(5000)).expect("good bytes");
    let recording = growing.recording().expect("a recording");
    let worker = &recording.workers[0];
    let intervals = &worker.interval_latencies;
    assert!((200..=512).contains(&intervals.len()), "{}", intervals.len());
    assert_eq!(intervals.iter().map(|interval| interval.length_ns).sum::<u64>(), 5_000_000_000_000);
    let read = &worker.directions[Direction::Read.index()];
    assert_eq!((read.ios, read.bytes, read.lat.count), (15_000, 15_000 * 4096, 15_000));
    assert_eq!((read.lat.min, read.lat.max), (1000, 5999));
    // The short form has the same sums, and leaves out only the course.
    let totals = growing.totals().expect("a recording");
    assert_eq!((&totals.workers[0].directions, totals.elapsed_ns), (&worker.directions, recording.elapsed_ns));
    assert_eq!((totals.workers[0].interval_latencies.len(), totals.observations), (2, None));
    let seen = recording.observations.expect("samples");
    assert!(seen.devices[0].samples.len() <= 513 && seen.host.len() <= 513, "{}", seen.host.len());
    assert_eq!(seen.devices[0].samples[0].at_ns, 0);
    assert_eq!(seen.devices[0].samples.last().map(|sample| sample.counters.read_ios), Some(4999));
}

#[test]
fn a_growing_recording_stops_at_damage_and_refuses_other_files() {
    let bytes = of_one_worker(3);
    let mut damaged = bytes.clone();
    let last = damaged.len() - 3;
    damaged[last] ^= 0xff;
    let mut growing = GrowingRecording::default();
    growing.feed(&damaged).expect("it begins well");
    growing.feed(&bytes).expect("what comes after is not read");
    let warnings = growing.recording().expect("a recording").warnings;
    assert!(warnings.iter().any(|warning| warning.contains("checksum")), "{warnings:?}");
    assert_eq!(GrowingRecording::default().feed(b"{\"iolab_recording\": 1}"), Err(PartialError::Mark));
    assert_eq!(GrowingRecording::default().feed(b"iolab partial 9\nxxxx"), Err(PartialError::Format));
}
