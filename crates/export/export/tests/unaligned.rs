//! Requests of any offset and length, many at once, compared with a plain byte array.
//!
//! The lane behaves irregularly: it transfers only part of what is asked, completes out of order,
//! and has room for fewer operations than there are slots. A request must have the same effect as
//! the same change of the array.

use iolab_engine::{Completion, Completions, Lane, LaneError, Op, OpKind, Submission, Wait};
use iolab_export::{ExportRequest, Exporter, Finished, LaneLimits, RamLane, RequestKind, Size, slot_bytes};
use iolab_memory::{Backing, SlotPool};
use iolab_random::Lcg;
use proptest::prelude::*;

const DEVICE_BYTES: u64 = 64 << 10;
const PAYLOAD: usize = 8 << 10;
const SLOTS: usize = 6;

/// Does what it is asked, but with delays, in parts and out of order.
struct Moody {
    ram: RamLane,
    held: Vec<Op>,
    room: usize,
    random: Lcg,
    block: u32,
}

impl Moody {
    fn draw(&mut self, below: u64) -> u64 {
        (self.random.next() >> 33) % below
    }

    fn perform(&mut self, mut op: Op) -> Completion {
        let blocks = u64::from(op.length / self.block);
        if op.kind.moves_data() && blocks > 1 {
            op.length = (1 + self.draw(blocks)) as u32 * self.block;
        }
        assert_eq!(self.ram.submit(&op), Submission::Accepted);
        let mut one = Completions::with_room(1);
        self.ram.reap(Wait::POLL, &mut one).unwrap();
        one.as_slice()[0]
    }
}

impl Lane for Moody {
    const SYNCHRONOUS: bool = false;

    fn submit(&mut self, op: &Op) -> Submission {
        assert!(self.held.iter().all(|held| held.slot != op.slot), "one operation per slot");
        assert!(self.held.len() < SLOTS);
        if self.held.len() == self.room {
            return Submission::Full;
        }
        self.held.push(*op);
        Submission::Accepted
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        let count = 1 + self.draw(self.held.len() as u64);
        for _ in 0..count {
            let place = self.draw(self.held.len() as u64) as usize;
            let op = self.held.swap_remove(place);
            let completion = self.perform(op);
            out.push(completion);
        }
        Ok(count as usize)
    }
}

fn requests() -> impl Strategy<Value = ExportRequest> {
    let kind = prop_oneof![
        4 => Just(RequestKind::Read),
        6 => Just(RequestKind::Write),
        2 => Just(RequestKind::Zero),
        1 => Just(RequestKind::Discard),
        1 => Just(RequestKind::Flush),
    ];
    // Close together, so that they touch the same blocks; sometimes whole blocks; sometimes beyond
    // the end.
    let offset = prop_oneof![0..20_000u64, (0..30u64).prop_map(|at| at * 512), DEVICE_BYTES - 3000..DEVICE_BYTES + 100];
    let length = prop_oneof![1..3000u64, (1..16u64).prop_map(|blocks| blocks * 512), Just(PAYLOAD as u64)];
    (kind, offset, length).prop_map(|(kind, offset, length)| ExportRequest { kind, offset, length })
}

fn overlaps(a: &ExportRequest, b: &ExportRequest) -> bool {
    a.offset < b.offset + b.length && b.offset < a.offset + a.length
}

/// The expected state of the device.
struct Reference {
    bytes: Vec<u8>,
    block: u64,
}

impl Reference {
    fn cut(&self, request: &ExportRequest) -> (usize, usize) {
        let end = (request.offset + request.length).min(DEVICE_BYTES);
        (request.offset.min(DEVICE_BYTES) as usize, end as usize)
    }

    fn apply(&mut self, request: &ExportRequest, fill: u8) {
        let (start, end) = self.cut(request);
        match request.kind {
            RequestKind::Write => self.bytes[start..end].fill(fill),
            RequestKind::Zero => self.bytes[start..end].fill(0),
            RequestKind::Discard => {
                let (start, end) = (start.next_multiple_of(self.block as usize), end & !(self.block as usize - 1));
                if start < end {
                    self.bytes[start..end].fill(0);
                }
            }
            RequestKind::Read | RequestKind::Flush => {}
        }
    }

    fn check(&self, done: &Finished, asked: &ExportRequest, payload: &[u8]) {
        let (start, end) = self.cut(asked);
        let moved = (end - start) as i32;
        match asked.kind {
            RequestKind::Read => {
                assert_eq!(done.result, moved, "{asked:?}");
                assert_eq!(payload[..end - start], self.bytes[start..end], "{asked:?}");
            }
            RequestKind::Write if moved == 0 => assert_eq!(done.result, -libc::ENOSPC, "{asked:?}"),
            RequestKind::Write => assert_eq!(done.result, moved, "{asked:?}"),
            _ => assert_eq!(done.result, 0, "{asked:?}"),
        }
    }
}

/// Runs the requests with as many in flight as there are slots. Requests whose bytes overlap are
/// serialised, because their order is not guaranteed; their blocks may overlap, which is what is
/// tested.
fn run(requests: &[ExportRequest], (block, trim_zeroes, transfer_bytes): (u32, bool, u32), seed: u64) {
    let mut pool = SlotPool::new(SLOTS, slot_bytes(PAYLOAD), 0, &Backing::Anonymous).unwrap();
    let size = Size::new(DEVICE_BYTES, block).unwrap();
    let ram = RamLane::new(size, pool.view()).unwrap();
    let lane = Moody { ram, held: Vec::new(), room: 1 + seed as usize % SLOTS, random: Lcg::new(seed), block };
    let mut exporter = Exporter::new(lane, &mut pool, size, LaneLimits { transfer_bytes, trim_zeroes }).unwrap();
    let mut reference = Reference { bytes: vec![0; DEVICE_BYTES as usize], block: u64::from(block) };
    let mut flying: [Option<ExportRequest>; SLOTS] = [None; SLOTS];
    let mut answered = 0;
    for (number, request) in requests.iter().enumerate() {
        loop {
            let free = flying.iter().position(Option::is_none);
            let clear = !flying.iter().flatten().any(|other| overlaps(other, request));
            if let Some(slot) = free.filter(|_| clear) {
                let fill = (number % 255) as u8 + 1;
                exporter.payload(slot as u16)[..request.length as usize].fill(fill);
                reference.apply(request, fill);
                flying[slot] = Some(*request);
                exporter.start(slot as u16, *request);
                break;
            }
            answered += collect(&mut exporter, &mut flying, &reference);
        }
    }
    while flying.iter().any(Option::is_some) {
        answered += collect(&mut exporter, &mut flying, &reference);
    }
    assert_eq!(answered, requests.len());
    assert!(!exporter.is_busy());
    read_back(&mut exporter, &reference);
}

fn collect(exporter: &mut Exporter<'_, Moody>, flying: &mut [Option<ExportRequest>], reference: &Reference) -> usize {
    exporter.advance(Wait { at_least: 1, timeout_ns: u64::MAX }).unwrap();
    let mut answered = 0;
    while let Some(done) = exporter.next_finished() {
        let asked = flying[usize::from(done.slot)].take().expect("answered twice");
        reference.check(&done, &asked, exporter.payload(done.slot));
        answered += 1;
    }
    answered
}

fn read_back(exporter: &mut Exporter<'_, Moody>, reference: &Reference) {
    for offset in (0..DEVICE_BYTES).step_by(PAYLOAD) {
        let all = ExportRequest { kind: RequestKind::Read, offset, length: PAYLOAD as u64 };
        exporter.start(0, all);
        let done = loop {
            exporter.advance(Wait { at_least: 1, timeout_ns: u64::MAX }).unwrap();
            if let Some(done) = exporter.next_finished() {
                break done;
            }
        };
        reference.check(&done, &all, exporter.payload(0));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn any_mixture_leaves_what_an_array_would_hold(
        requests in prop::collection::vec(requests(), 1..80),
        block in prop_oneof![Just(512u32), Just(4096u32)],
        trim_zeroes: bool,
        transfer_bytes in prop_oneof![Just(0u32), Just(4096u32), Just(5000u32)],
        seed: u64,
    ) {
        run(&requests, (block, trim_zeroes, transfer_bytes), seed);
    }
}

#[test]
fn writes_in_part_of_one_block_do_not_lose_each_other() {
    let requests: Vec<ExportRequest> =
        (0..64).map(|at| ExportRequest { kind: RequestKind::Write, offset: at * 64, length: 64 }).collect();
    for seed in 0..32 {
        run(&requests, (4096, true, 0), seed);
    }
}

#[test]
fn refusals_and_errors_are_answers() {
    struct Broken;
    impl Lane for Broken {
        const SYNCHRONOUS: bool = false;
        fn submit(&mut self, op: &Op) -> Submission {
            if op.kind == OpKind::Read { Submission::Accepted } else { Submission::Refused(libc::EOPNOTSUPP) }
        }
        fn flush(&mut self) -> Result<(), LaneError> {
            Ok(())
        }
        fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
            out.push(Completion { slot: 0, result: -libc::EIO });
            Ok(1)
        }
    }
    let mut pool = SlotPool::new(1, slot_bytes(PAYLOAD), 0, &Backing::Anonymous).unwrap();
    let size = Size::new(DEVICE_BYTES, 512).unwrap();
    let mut exporter = Exporter::new(Broken, &mut pool, size, LaneLimits::default()).unwrap();
    let answers = [
        (RequestKind::Read, 0, -libc::EIO),
        (RequestKind::Write, 0, -libc::EOPNOTSUPP),
        (RequestKind::Write, 100, -libc::EIO),
        (RequestKind::Discard, 0, -libc::EOPNOTSUPP),
        (RequestKind::Flush, 0, -libc::EOPNOTSUPP),
    ];
    for (kind, offset, result) in answers {
        exporter.start(0, ExportRequest { kind, offset, length: 512 });
        exporter.advance(Wait { at_least: 1, timeout_ns: u64::MAX }).unwrap();
        let done = exporter.next_finished().unwrap();
        assert_eq!((done.slot, done.result), (0, result), "{kind:?}");
    }
    assert_eq!(exporter.tally().failures, answers.len() as u64);
}
