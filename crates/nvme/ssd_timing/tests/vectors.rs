//! In the compatible fidelity, the model equals NVMeVirt to the nanosecond on every recorded line:
//! see `vectors/README.md`.
#![allow(missing_docs, reason = "a test has no public documentation")]

use iolab_ssd_timing::study::ClosedLoop;
use iolab_ssd_timing::{Capacity, CompletionTime, Preset, TimedCommand, TimingModel};

/// Recorded commands and their completion times.
const RECORDED: &[u8] = include_bytes!("vectors/nand-970pro-4g.bin");

struct Phase {
    name: String,
    is_read: bool,
    length_bytes: u64,
    /// Time of submission, offset in bytes, completion time.
    lines: Vec<(u64, u64, u64)>,
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let (head, tail) = self.0.split_at(count);
        self.0 = tail;
        head.to_vec()
    }

    fn number(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.bytes(1)[0];
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn column(&mut self, count: usize) -> Vec<u64> {
        (0..count).map(|_| self.number()).collect()
    }
}

fn phases() -> Vec<Phase> {
    let mut reader = Reader(RECORDED);
    assert_eq!(reader.bytes(15), b"iolab-timing-1\n");
    let count = reader.number();
    let mut now_ns = 0;
    let mut phase = || {
        let length = reader.number() as usize;
        let name = String::from_utf8(reader.bytes(length)).unwrap();
        let is_read = reader.bytes(1) == b"R";
        let blocks = reader.number();
        let count = reader.number() as usize;
        let (places, waits, takes) = (reader.column(count), reader.column(count), reader.column(count));
        let mut expected = 0_i64;
        let lines = (0..count).map(|line| {
            let jump = (places[line] >> 1) as i64 ^ -((places[line] & 1) as i64);
            let block = expected + 8 * jump;
            expected = block + blocks as i64;
            now_ns += waits[line];
            (now_ns, block as u64 * 512, now_ns + takes[line])
        });
        Phase { name, is_read, length_bytes: blocks * 512, lines: lines.collect() }
    };
    let phases: Vec<_> = (0..count).map(|_| phase()).collect();
    assert!(reader.0.is_empty(), "bytes are left");
    phases
}

fn drive() -> TimingModel {
    let parameters = Preset::named("970pro-nvmevirt").unwrap().parameters();
    TimingModel::build(&parameters, Capacity::Flash(4 << 30)).unwrap()
}

fn request(phase: &Phase, offset_bytes: u64) -> TimedCommand {
    let make = if phase.is_read { TimedCommand::read } else { TimedCommand::write };
    make(offset_bytes, phase.length_bytes)
}

#[test]
fn every_target_is_equal() {
    let mut drive = drive();
    let phases = phases();
    for phase in &phases {
        for (line, (now_ns, offset_bytes, target_ns)) in phase.lines.iter().enumerate() {
            let verdict = drive.schedule(*now_ns, &request(phase, *offset_bytes));
            assert_eq!(
                verdict,
                CompletionTime::At(*target_ns),
                "{} line {line} at {now_ns}, {offset_bytes}",
                phase.name
            );
        }
    }
    assert_eq!(phases.iter().map(|phase| phase.lines.len()).sum::<usize>(), 133_324);
    let statistics = drive.statistics();
    assert!(statistics.collected_lines > 1000, "the drive was aged: {statistics:?}");
}

/// The times of submission are also reproduced, from the depth and the refusals of the write
/// buffer.
#[test]
fn a_closed_loop_issues_when_the_recorded_one_did() {
    let mut drive = drive();
    for phase in &phases() {
        let depth = phase.name.split('-').find_map(|word| word.strip_prefix("qd")?.parse().ok()).unwrap();
        let mut host = ClosedLoop::new(depth, phase.lines[0].0);
        for (line, (now_ns, offset_bytes, target_ns)) in phase.lines.iter().enumerate() {
            let times = host.issue(&mut drive, &request(phase, *offset_bytes));
            assert_eq!(times, (*now_ns, *target_ns), "{} line {line}", phase.name);
        }
    }
    assert!(drive.statistics().refused > 1000, "the buffer was full: {:?}", drive.statistics());
}
