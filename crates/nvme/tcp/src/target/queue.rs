//! The command queue of a connection: its head, its answers, and delayed answers.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_nvme_spec::sgl::{SglDescriptor, SglSubtype, SglType};
use iolab_nvme_spec::{CompletionEntry, Status, SubmissionEntry};
use iolab_sockets::{ParcelEnd, ParcelPart};
use iolab_virtual_ssd::Answer;

use super::controllers::Target;
use super::link_fault::{LinkFaultKind, LinkFaults};
use super::tally::Tally;
use super::transfers::Transfers;
use super::window::{Breakage, MOST_TRANSFER_BYTES, Source, Window};

/// A command that the medium could not accept yet.
#[derive(Debug)]
pub(super) struct Stalled {
    pub(super) not_before_ns: u64,
    pub(super) entry: SubmissionEntry,
    pub(super) data: Vec<u8>,
}

/// PDUs that are sent at a given time.
#[derive(Debug)]
struct Held {
    at_ns: u64,
    /// Their order of creation.
    number: u64,
    pdus: ParcelPart,
}

impl Held {
    fn order(&self) -> (u64, u64) {
        (self.at_ns, self.number)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Held) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Held) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Held) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// How the data of a command arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It is complete, or there is none.
    Now,
    /// This many bytes have to be requested.
    Asked(usize),
}

/// The state of a queue.
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) id: u16,
    entries: u32,
    head: u32,
    has_flow_control: bool,
    pub(super) transfers: Transfers,
    pub(super) stalled: VecDeque<Stalled>,
    held: BinaryHeap<Reverse<Held>>,
    held_bytes: usize,
    number: u64,
    /// The link faults and the clock; `None` for nearly all targets.
    links: Option<(Arc<LinkFaults>, Clock)>,
    pub(super) tally: Option<Arc<Tally>>,
}

/// The most bytes of answers that may be delayed at once.
const MOST_HELD_BYTES: usize = 32 << 20;

impl Queue {
    pub(super) fn new(id: u16, entries: u32, has_flow_control: bool, target: &Target) -> Queue {
        Queue {
            id,
            entries,
            head: 0,
            has_flow_control,
            transfers: Transfers::new(&target.budget),
            stalled: VecDeque::new(),
            held: BinaryHeap::new(),
            held_bytes: 0,
            number: 0,
            links: (!target.links.is_empty()).then(|| (Arc::clone(&target.links), target.clock.clone())),
            tally: None,
        }
    }

    /// Whether one more command may be taken. Every obstacle must disappear with time, so commands
    /// that wait for data of the host do not count.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.stalled.len() + self.held.len() < self.entries as usize && self.held_bytes < MOST_HELD_BYTES
    }

    /// Records that a command was taken from the queue.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.head += 1;
        if self.head == self.entries {
            self.head = 0;
        }
    }

    /// Finds the data that the host sends with a command. `in_capsule` bytes of it are at `offset`
    /// of the inbox.
    #[inline]
    pub(super) fn find_data(
        window: &mut Window,
        entry: &SubmissionEntry,
        gives_data: bool,
        (offset, in_capsule): (usize, usize),
    ) -> Result<Arrival, Status> {
        let descriptor: SglDescriptor = entry.sgl1();
        window.source = Source::Nowhere;
        if !gives_data {
            return Ok(Arrival::Now);
        }
        match (descriptor.kind(), descriptor.subtype()) {
            (SglType::DATA_BLOCK, SglSubtype::OFFSET) => {
                let start = descriptor.address();
                let bytes = u64::from(descriptor.length());
                if start.checked_add(bytes).is_none_or(|end| end > in_capsule as u64) {
                    return Err(Status::SGL_OFFSET_INVALID);
                }
                window.source = Source::Capsule { offset: offset + start as usize, bytes: bytes as usize };
                Ok(Arrival::Now)
            }
            (SglType::TRANSPORT_DATA_BLOCK, SglSubtype::TRANSPORT) => match descriptor.length() as usize {
                0 => Ok(Arrival::Now),
                bytes if bytes > MOST_TRANSFER_BYTES => Err(Status::INVALID_FIELD),
                bytes => Ok(Arrival::Asked(bytes)),
            },
            // A command without data has no descriptor.
            _ if descriptor.words == [0, 0] => Ok(Arrival::Now),
            _ => Err(Status::SGL_TYPE_INVALID),
        }
    }

    /// The completion entry of a command with the present head of the queue.
    #[inline]
    fn completion(&self, cid: u16, answer: Answer) -> CompletionEntry {
        let head = if self.has_flow_control { self.head as u16 } else { 0xffff };
        CompletionEntry::new(self.id, cid, answer.status).with_result(answer.result).with_sqhd(head)
    }

    /// Answers a command without data, or whose data is ready in the window. The answer is not sent
    /// before `at_ns`.
    #[inline]
    pub(super) fn answer(&mut self, window: &mut Window, cid: u16, answer: Answer, mut when: When) {
        let start = window.answer_start();
        if !answer.status.is_success() {
            window.drop_answer();
        }
        if let Some(tally) = &self.tally {
            tally.count(answer.status.is_success(), window.answer_bytes(), window.brought().len());
        }
        let has_data = window.answer_bytes() > 0;
        let is_told = window.finish_answer() && answer.result == 0;
        if !is_told {
            let completion = self.completion(cid, answer);
            window.framing.response(window.out.bytes(), &completion);
        }
        if self.links.is_some() {
            let digests = window.framing.digests;
            let ends_with_digest = digests.header || digests.data && has_data && is_told;
            when = self.meet_link_fault(window, (start, ends_with_digest), when);
        }
        if when.at_ns > when.now_ns {
            let pdus = window.out.parcel.split_off(start);
            self.number += 1;
            self.held_bytes += pdus.len();
            self.held.push(Reverse(Held { at_ns: when.at_ns, number: self.number, pdus }));
        }
    }

    /// Applies the planned faults to an answer. Returns when it is sent.
    #[cold]
    fn meet_link_fault(
        &mut self,
        window: &mut Window,
        (start, ends_with_digest): (ParcelEnd, bool),
        when: When,
    ) -> When {
        let Some((links, clock)) = &self.links else { return when };
        match links.strike(self.id) {
            None => {}
            Some(LinkFaultKind::Drop) => drop(window.out.parcel.split_off(start)),
            Some(LinkFaultKind::Delay { extra_ns }) => {
                let now_ns = clock.now_ns();
                return When { at_ns: when.at_ns.max(now_ns) + extra_ns, now_ns };
            }
            Some(LinkFaultKind::Corrupt) => {
                if let Some(last) = window.out.bytes().last_mut().filter(|_| ends_with_digest) {
                    *last ^= 1;
                }
            }
            Some(LinkFaultKind::HalfOpen) => window.breakage = Some(Breakage::HalfOpen),
            Some(LinkFaultKind::Reset) => window.breakage = Some(Breakage::Reset),
        }
        when
    }

    /// Puts due answers into the outbox. Returns whether there were any.
    #[inline]
    pub(super) fn release_due(&mut self, window: &mut Window, now_ns: u64) -> bool {
        let mut any = false;
        while self.held.peek().is_some_and(|Reverse(first)| first.at_ns <= now_ns) {
            if let Some(Reverse(first)) = self.held.pop() {
                self.held_bytes -= first.pdus.len();
                window.out.parcel.append(first.pdus);
                any = true;
            }
        }
        any
    }

    /// The time of work that does not depend on the host.
    #[inline]
    pub(super) fn next_event_ns(&self) -> Option<u64> {
        let held = self.held.peek().map(|Reverse(first)| first.at_ns);
        let stalled = self.stalled.front().map(|first| first.not_before_ns);
        match (held, stalled) {
            (Some(held), Some(stalled)) => Some(held.min(stalled)),
            (one, other) => one.or(other),
        }
    }
}

/// When an answer is due, and the current time.
#[derive(Debug, Clone, Copy)]
pub(super) struct When {
    pub(super) at_ns: u64,
    pub(super) now_ns: u64,
}

impl When {
    /// At once.
    pub(super) const NOW: When = When { at_ns: 0, now_ns: 0 };
}
