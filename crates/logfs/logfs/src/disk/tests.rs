//! The order in which requests of different urgency reach a device.

use std::task::Waker;

use iolab_disk::ActionKind;

use super::large::{PIECE_BYTES, PIECE_BYTES_ALONE};
use super::requests::TURNS_BETWEEN;
use super::*;

/// A device that takes a number of requests, and completes them when told, in the order that
/// they came.
#[derive(Clone)]
struct Slow(Rc<RefCell<Vec<DiskRequest>>>, usize);

impl BlockDevice for Slow {
    fn geometry(&self) -> Geometry {
        Geometry { size_bytes: 1 << 20, block_bytes: 512 }
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let mut taken = self.0.borrow_mut();
        if taken.len() == self.1 {
            return Err(request);
        }
        taken.push(request);
        Ok(())
    }

    fn reap(&mut self, _wait: bool, done: &mut Vec<DiskCompletion>) {
        let mut taken = self.0.borrow_mut();
        if !taken.is_empty() {
            let DiskRequest { tag, action } = taken.remove(0);
            done.push(DiskCompletion { tag, buffer: action.into_buffer(), result: Ok(()) });
        }
    }
}

/// A device that completes everything at the next call, and counts the calls that wait; whether it
/// says that it transfers during submission.
#[derive(Clone, Default)]
struct Prompt(Rc<RefCell<(Vec<DiskRequest>, usize)>>, bool);

impl BlockDevice for Prompt {
    fn geometry(&self) -> Geometry {
        Geometry { size_bytes: 1 << 20, block_bytes: 512 }
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        self.0.borrow_mut().0.push(request);
        Ok(())
    }

    fn reap(&mut self, wait: bool, done: &mut Vec<DiskCompletion>) {
        let (taken, waits) = &mut *self.0.borrow_mut();
        *waits += usize::from(wait);
        for DiskRequest { tag, action } in taken.drain(..) {
            done.push(DiskCompletion { tag, buffer: action.into_buffer(), result: Ok(()) });
        }
    }

    fn is_synchronous(&self) -> bool {
        self.1
    }
}

fn places(device: &Slow) -> Vec<u64> {
    let place = |request: &DiskRequest| match request.action {
        Action::Read { at, .. } | Action::Write { at, .. } => at,
        _ => panic!("{:?}", ActionKind::Flush),
    };
    device.0.borrow().iter().map(place).collect()
}

#[test]
fn one_background_request_at_a_time_is_sent_beside_others() {
    let device = Slow(Rc::default(), 64);
    let mut disk = Disk::new(device.clone());
    let background = disk.at(Urgency::Background);
    let user = disk.read(1 << 12, 512);
    let moved: Vec<Transfer> = (2..5).map(|at| background.read(at << 12, 512)).collect();
    assert_eq!(places(&device), [1 << 12, 2 << 12]);
    // The user's request is done: nothing holds the others back.
    disk.turn(false);
    assert_eq!(places(&device), [2 << 12, 3 << 12, 4 << 12]);
    // A new one of the user waits for none that is not sent yet.
    let held_back = background.read(9 << 12, 512);
    let later = disk.read(6 << 12, 512);
    let more = background.read(7 << 12, 512);
    assert_eq!(places(&device), [2 << 12, 3 << 12, 4 << 12, 9 << 12, 6 << 12]);
    for _ in 0..4 {
        disk.turn(false);
    }
    assert_eq!(places(&device), [6 << 12, 7 << 12], "one is always sent: background work goes on");
    drop((user, moved, held_back, later, more));
}

#[test]
fn the_log_comes_first_when_the_device_is_full() {
    let device = Slow(Rc::default(), 1);
    let mut disk = Disk::new(device.clone());
    let bulk: Vec<Transfer> = (1..4).map(|at| disk.write(at << 12, Buffer::zeroed(512))).collect();
    let frame = disk.at(Urgency::Log).write(9 << 12, Buffer::zeroed(512));
    disk.turn(false);
    assert_eq!(places(&device), [9 << 12]);
    disk.turn(false);
    assert_eq!(places(&device), [2 << 12]);
    drop((bulk, frame));
}

#[test]
fn background_transfers_are_cut_into_pieces() {
    let device = Slow(Rc::default(), 64);
    let disk = Disk::new(device.clone());
    let whole = disk.read_in_pieces(0, 3 * BACKGROUND_BYTES);
    assert_eq!(places(&device).len(), 1);
    let background = disk.at(Urgency::Background).read_in_pieces(0, 3 * BACKGROUND_BYTES - 512);
    assert_eq!((background.reads.len(), places(&device).len()), (3, 2));
    drop((whole, background));
}

#[test]
fn large_reads_that_complete_together_are_delivered_one_by_one() {
    let device = Prompt::default();
    let mut disk = Disk::new(device.clone());
    let ask = |bytes: usize| Box::pin(disk.read(0, bytes));
    let mut large: Vec<_> = (0..3).map(|_| ask(LARGE_READ_BYTES)).collect();
    let mut small: Vec<_> = (0..2).map(|_| ask(LARGE_READ_BYTES - 512)).collect();
    let abandoned = ask(LARGE_READ_BYTES);
    let mut context = Context::from_waker(Waker::noop());
    let mut count = |reads: &mut Vec<Pin<Box<Transfer>>>| {
        reads.retain_mut(|read| read.as_mut().poll(&mut context).is_pending());
        reads.len()
    };
    assert_eq!((count(&mut large), count(&mut small)), (3, 2));
    disk.turn(true);
    assert_eq!((count(&mut large), count(&mut small)), (2, 0));
    // What follows the first is with the device before the second is delivered.
    let next = disk.read(0, LARGE_READ_BYTES);
    disk.turn(true);
    assert_eq!((count(&mut large), device.0.borrow().0.len()), (1, 0));
    assert_eq!(device.0.borrow().1, 1, "the device is not waited for while something can be delivered");
    // A read that nobody waits for any more holds up none of the others.
    drop((abandoned, next));
    disk.turn(false);
    assert_eq!((count(&mut large), disk.under_way()), (0, 2));
    disk.turn(false);
    assert_eq!(disk.under_way(), 0);
}

#[test]
fn a_device_in_place_gets_one_background_request_for_so_many_bytes_of_others() {
    let mut disk = Disk::new(Prompt(Rc::default(), true));
    let background = disk.at(Urgency::Background).read_in_pieces(0, 8 * BACKGROUND_BYTES_IN_PLACE);
    // The number of requests left after a turn in which this number of bytes is written.
    let mut left = |bytes: usize, wait: bool| {
        drop((bytes > 0).then(|| disk.write(0, Buffer::zeroed(bytes))));
        disk.turn(wait);
        disk.under_way()
    };
    // There is no reason to wait with the first.
    assert_eq!(left(0, false), 7);
    let half = BACKGROUND_BYTES_IN_PLACE / 2;
    assert_eq!([left(half, false), left(half, false), left(half, false)], [7, 6, 6]);
    // Much at once does not let much of the background through, and waiting lets one through.
    assert_eq!([left(8 * half, false), left(0, false), left(0, true), left(0, true)], [5, 5, 4, 3]);
    // Nor does it wait for ever while others do nothing.
    let turns = (1..).find(|_| left(0, false) == 2);
    assert_eq!(turns, Some(TURNS_BETWEEN as usize));
    drop(background);
}

/// A device that transfers during submission: fills reads with the number of the request, takes one
/// request at a time, and fails at a place.
#[derive(Clone, Default)]
struct InPlace(Rc<RefCell<Seen>>, Option<u64>);

/// Where requests were, with their lengths, and the completion that was not fetched yet.
type Seen = (Vec<(u64, usize)>, Option<DiskCompletion>);

impl BlockDevice for InPlace {
    fn geometry(&self) -> Geometry {
        Geometry { size_bytes: 1 << 30, block_bytes: 512 }
    }

    fn submit(&mut self, request: DiskRequest) -> Result<(), DiskRequest> {
        let (seen, done) = &mut *self.0.borrow_mut();
        if done.is_some() {
            return Err(request);
        }
        let (at, bytes) = request.action.range();
        seen.push((at, bytes as usize));
        let is_read = request.action.kind() == ActionKind::Read;
        let mut buffer = request.action.into_buffer();
        buffer.iter_mut().filter(|_| is_read).for_each(|buffer| buffer.fill(seen.len() as u8));
        let result = if self.1 == Some(at) { Err(DeviceError::Failed(5)) } else { Ok(()) };
        *done = Some(DiskCompletion { tag: request.tag, buffer, result });
        Ok(())
    }

    fn reap(&mut self, _wait: bool, done: &mut Vec<DiskCompletion>) {
        done.extend(self.0.borrow_mut().1.take());
    }

    fn is_synchronous(&self) -> bool {
        true
    }
}

/// The result of a transfer that is over.
fn result_of(transfer: Transfer) -> Poll<Result<Buffer, DeviceError>> {
    Box::pin(transfer).as_mut().poll(&mut Context::from_waker(Waker::noop()))
}

#[test]
fn small_requests_to_a_device_in_place_pass_large_ones() {
    let device = InPlace::default();
    let mut disk = Disk::new(device.clone());
    let first = disk.read(0, 2 * PIECE_BYTES + 512);
    let second = disk.write(8 << 20, Buffer::zeroed(PIECE_BYTES + 512));
    let whole = disk.write(16 << 20, Buffer::zeroed(PIECE_BYTES));
    let small: Vec<Transfer> = (1..20)
        .map(|number| {
            let small = disk.read(number << 30, 512);
            disk.turn(true);
            small
        })
        .collect();
    while disk.under_way() > 0 {
        disk.turn(true);
    }
    drop(small);
    let large = |(at, _): &&(u64, usize)| *at < 1 << 30;
    let seen: Vec<(u64, usize)> = device.0.borrow().0.iter().filter(large).copied().collect();
    let pieces = [(0, PIECE_BYTES), (PIECE_BYTES as u64, PIECE_BYTES), (2 * PIECE_BYTES as u64, 512)];
    let later = [(8 << 20, PIECE_BYTES), ((8 << 20) + PIECE_BYTES as u64, 512)];
    assert_eq!(seen, [&[(16 << 20, PIECE_BYTES)], &pieces[..], &later[..]].concat());
    // Small ones were done before the large ones ended.
    let last = device.0.borrow().0.iter().position(|request| *request == later[1]);
    let passed = device.0.borrow().0.iter().position(|request| *request == (1 << 30, 512));
    assert!(passed < last && passed.is_some());
    let Poll::Ready(Ok(content)) = result_of(first) else { panic!("the read has failed") };
    // All pieces of it are in one buffer.
    assert_eq!(content.len(), 2 * PIECE_BYTES + 512);
    let marks = [content[0], content[PIECE_BYTES], content[2 * PIECE_BYTES]];
    assert!(marks[0] > 0 && marks.is_sorted_by(|before, after| before < after));
    assert!(matches!(result_of(second), Poll::Ready(Ok(buffer)) if buffer.len() == PIECE_BYTES + 512));
    assert!(matches!(result_of(whole), Poll::Ready(Ok(_))));
}

#[test]
fn a_large_request_ends_at_the_piece_that_fails() {
    let device = InPlace(Rc::default(), Some(PIECE_BYTES as u64));
    let mut disk = Disk::new(device.clone());
    let failing = disk.write(0, Buffer::zeroed(3 * PIECE_BYTES));
    disk.turn(false);
    disk.turn(false);
    // What nobody waits for any more is done to its end, and faster when there is nothing else.
    drop(disk.read(8 << 20, PIECE_BYTES_ALONE + 512));
    while disk.under_way() > 0 {
        disk.turn(true);
    }
    let rest = ((8 << 20) + PIECE_BYTES_ALONE as u64, 512);
    let pieces = [(0, PIECE_BYTES), (PIECE_BYTES as u64, PIECE_BYTES), (8 << 20, PIECE_BYTES_ALONE), rest];
    assert_eq!(device.0.borrow().0, pieces);
    assert!(matches!(result_of(failing), Poll::Ready(Err(DeviceError::Failed(5)))));
}
