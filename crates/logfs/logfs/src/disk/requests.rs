//! The requests of a disk, and the order in which they are sent.

use std::collections::VecDeque;
use std::task::Waker;

use iolab_disk::{BlockDevice, DiskCompletion, DiskRequest};

use super::large::Large;

/// The largest background request, bytes: a request of a user waits for one at most.
pub(super) const BACKGROUND_BYTES: usize = 256 << 10;
/// The same for a device that transfers during submission: nobody gets a turn meanwhile.
pub(super) const BACKGROUND_BYTES_IN_PLACE: usize = 32 << 10;
/// Bytes of large requests let the background transfer so many times less than others do: what is
/// written in small requests has to be moved soon, but little of what is written in large ones.
const LARGE_COUNTS_LESS: u64 = 8;
/// Turns after which such a device gets a background request, however little others transfer.
pub(super) const TURNS_BETWEEN: u32 = 16;

/// How urgent the requests of a handle are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    /// Frames of the log and flushes: every sync waits for them.
    Log,
    /// Operations of users, and what they wait for.
    User,
    /// What nobody waits for: one request at a time while requests of others are in flight.
    Background,
}

pub(super) struct Inner {
    pub(super) device: Box<dyn BlockDevice>,
    /// Indexed by the requests' tags; places are reused.
    pub(super) places: Vec<Place>,
    pub(super) free: Vec<usize>,
    pub(super) under_way: usize,
    /// Requests in the device or in the backlog, by [`Urgency`].
    sent: [usize; 3],
    /// Requests that the device had no room for, by [`Urgency`].
    backlog: [VecDeque<DiskRequest>; 3],
    /// Background requests that are held back.
    held_back: VecDeque<DiskRequest>,
    /// Large requests of users to a device that transfers during submission. The first is done
    /// piece by piece, then the next.
    large: VecDeque<Large>,
    /// Whether a piece of the first is in the device.
    piece_is_sent: bool,
    /// For a device that transfers during submission: bytes of other requests and turns since the
    /// last background request.
    other_bytes: u64,
    turns: u32,
    pub(super) done: Vec<DiskCompletion>,
    /// Large reads that have completed and are not delivered yet.
    pub(super) arrived: VecDeque<DiskCompletion>,
}

/// Where a request's completion waits for the task that made it.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) completion: Option<DiskCompletion>,
    pub(super) urgency: Urgency,
    pub(super) is_large_read: bool,
    /// Waker of the task that waits, or waited here last: usually the same task.
    pub(super) waker: Option<Waker>,
    pub(super) is_waited_for: bool,
    /// No task waits for the completion any more.
    pub(super) is_abandoned: bool,
}

impl Inner {
    pub(super) fn new(device: Box<dyn BlockDevice>) -> Inner {
        Inner {
            device,
            places: Vec::new(),
            free: Vec::new(),
            under_way: 0,
            sent: [0; 3],
            backlog: Default::default(),
            held_back: VecDeque::new(),
            large: VecDeque::new(),
            piece_is_sent: false,
            other_bytes: 0,
            turns: TURNS_BETWEEN,
            done: Vec::new(),
            arrived: VecDeque::new(),
        }
    }

    /// Sends a request, or keeps it until its turn comes.
    pub(super) fn start(&mut self, urgency: Urgency, request: DiskRequest) {
        if urgency == Urgency::Background && (!self.held_back.is_empty() || self.holds_back()) {
            self.held_back.push_back(request);
        } else if urgency == Urgency::User && self.device.is_synchronous() {
            match Large::new(request) {
                Ok(large) => self.large.push_back(large),
                Err(request) => self.send(urgency, request),
            }
        } else {
            self.send(urgency, request);
        }
    }

    /// Counts a turn of the device. One that may wait lets a background request through: no task is
    /// ready. Sends a piece of a large request.
    pub(super) fn next_turn(&mut self, wait: bool) {
        self.turns = if wait && self.large.is_empty() { TURNS_BETWEEN } else { self.turns.saturating_add(1) };
        if !self.piece_is_sent
            && let Some(large) = self.large.front_mut()
        {
            let is_alone = wait && self.sent == [0; 3];
            let piece = large.next_piece(is_alone);
            self.piece_is_sent = true;
            self.send(Urgency::User, piece);
        }
    }

    /// Whether another background request has to wait.
    fn holds_back(&self) -> bool {
        let [log, user, background] = self.sent;
        if self.device.is_synchronous() {
            // One request for so many bytes of others.
            let is_due = self.other_bytes >= BACKGROUND_BYTES_IN_PLACE as u64 || self.turns >= TURNS_BETWEEN;
            return background > 0 || !is_due;
        }
        background > 0 && log + user > 0
    }

    /// Whether a request in the device is a piece of a large one.
    fn is_piece(&self, tag: u64) -> bool {
        self.large.front().is_some_and(|large| large.tag == tag)
    }

    fn send(&mut self, urgency: Urgency, request: DiskRequest) {
        if urgency == Urgency::Background {
            (self.other_bytes, self.turns) = (0, 0);
        } else {
            let (_, bytes) = request.action.range();
            self.other_bytes += if self.is_piece(request.tag) { bytes / LARGE_COUNTS_LESS } else { bytes };
        }
        self.sent[urgency as usize] += 1;
        // Requests in the backlog that are as urgent go first.
        let is_first = self.backlog[..=urgency as usize].iter().all(VecDeque::is_empty);
        let later = if is_first { self.device.submit(request).err() } else { Some(request) };
        self.backlog[urgency as usize].extend(later);
    }

    /// Sends what had to wait, as far as the device has room and the order allows.
    pub(super) fn submit_waiting(&mut self) {
        for urgency in 0..self.backlog.len() {
            while let Some(request) = self.backlog[urgency].pop_front() {
                if let Err(refused) = self.device.submit(request) {
                    self.backlog[urgency].push_front(refused);
                    return;
                }
            }
        }
        while !self.holds_back()
            && let Some(request) = self.held_back.pop_front()
        {
            self.send(Urgency::Background, request);
        }
    }

    /// Stores a completion for the task that waits for it, and wakes that task. Returns whether it
    /// woke one.
    pub(super) fn deliver(&mut self, completion: DiskCompletion) -> bool {
        let number = completion.tag as usize;
        let is_piece = self.is_piece(completion.tag);
        let Some(place) = self.places.get_mut(number) else { return false };
        self.sent[place.urgency as usize] -= 1;
        let completion = if is_piece {
            self.piece_is_sent = false;
            let Some(whole) = self.large.pop_front_if(|large| large.is_over(&completion)) else { return false };
            whole.completion(completion)
        } else {
            completion
        };
        self.under_way -= 1;
        if std::mem::take(&mut place.is_abandoned) {
            self.free.push(number);
            return false;
        }
        place.completion = Some(completion);
        let waker = place.waker.as_ref().filter(|_| place.is_waited_for);
        waker.inspect(|waker| waker.wake_by_ref()).is_some()
    }

    /// Delivers large reads until one has woken a task, or until none is left: the owner may sleep
    /// after a turn that woke nobody.
    pub(super) fn deliver_large_read(&mut self) {
        while let Some(completion) = self.arrived.pop_front() {
            if self.deliver(completion) {
                return;
            }
        }
    }
}
