//! The order in which requests of different urgency reach a device.

use super::*;
use iolab_disk::ActionKind;

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
