//! A dispatcher: some of a controller's I/O queue pairs, polled by one thread.
//!
//! ```text
//!  doorbells ─▶ fetch in batches ─▶ execute ─┬─▶ answer now ─────────────────▶ completion queue ─▶ one interrupt
//!                                            └─▶ parked until its time ──────▶      per batch
//! ```
//!
//! With copiers, the copying of data is theirs (`copier.rs`).
//!
//! A submission queue belongs to the dispatcher of its completion queue, so that a queue pair has one owner and needs no
//! lock. New queues and other rare orders come through a mailbox.
//!
//! Guarantees: commands of one submission queue are executed in order; their completions are posted when their time has
//! come, earliest first. No allocation per command once the parked commands have reached their greatest number.
//! A queue that cannot be reached any more is fatal for the controller (CSTS.CFS), never for the process.
//!
//! Deliberately not here: priorities among queues (round robin is what CAP.AMS promises), and waiting.

mod answers;
mod coalescing;
mod copies;
mod obey;
mod parked;
mod shadow;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use iolab_nvme_spec::{IoOpcode, Status, SubmissionEntry};
use iolab_pci_device::HostMemory;

use crate::controller::{ControllerShared, Notice};
use crate::copier::Port;
use crate::fault::{FaultKind, Seam, Subject};
use crate::io::{Execution, Step, Workbench};
use crate::mailbox::Mailbox;
use crate::namespace::Namespace;
use crate::queue::{CompletionQueue, SubmissionQueue};
use crate::refusal::Refusal;
use crate::registers::Registers;
use crate::subsystem::Subsystem;

use answers::entry;
pub(crate) use coalescing::Coalescing;
pub(crate) use obey::Order;
pub(crate) use parked::Answer;
use parked::{Parked, ParkingLot};
use shadow::ShadowDoorbells;

/// Most commands that are fetched from one queue before the others get their turn.
const BURST: u32 = 64;

/// Some queue pairs of a controller.
#[derive(Debug)]
pub struct Dispatcher<M> {
    shared: Arc<ControllerShared>,
    subsystem: Arc<Subsystem>,
    orders: Arc<Mailbox<Order>>,
    bench: Workbench<M>,
    generation: u64,
    completions: Vec<Option<CompletionQueue>>,
    submissions: Vec<Option<SubmissionQueue>>,
    parked: ParkingLot,
    ports: Vec<Port>,
    shadow: Option<ShadowDoorbells>,
    coalescing: Coalescing,
    /// Whether a completion queue may have an interrupt outstanding.
    has_unsignalled: bool,
    /// Whether a submission queue may wait for the medium.
    has_stalled: bool,
    is_armed: bool,
    /// Whether data is copied here, so that it pays to look at the next command before this one.
    looks_ahead: bool,
    /// Whether commands need nothing but to be executed: no faults are planned, and no data is copied.
    is_plain: bool,
    posted: u64,
}

impl<M: HostMemory> Dispatcher<M> {
    pub(crate) fn new(
        shared: Arc<ControllerShared>,
        subsystem: Arc<Subsystem>,
        orders: Arc<Mailbox<Order>>,
        memory: M,
    ) -> Dispatcher<M> {
        let bench = Workbench::new(memory, shared.id, subsystem.health.counters());
        Dispatcher {
            generation: bench.memory.generation(),
            looks_ahead: !subsystem.media.is_null(),
            is_plain: subsystem.media.is_null() && subsystem.faults.is_none(),
            shared,
            subsystem,
            orders,
            bench,
            completions: Vec::new(),
            submissions: Vec::new(),
            parked: ParkingLot::default(),
            ports: Vec::new(),
            shadow: None,
            coalescing: Coalescing::default(),
            has_unsignalled: false,
            has_stalled: false,
            is_armed: false,
            posted: 0,
        }
    }

    /// Does what can be done now; whether there was anything.
    #[inline]
    pub fn poll(&mut self, now_ns: u64) -> bool {
        let mut worked = self.take_orders(now_ns);
        if self.shared.is_fatal() {
            return worked;
        }
        let generation = self.bench.memory.generation();
        if generation != self.generation {
            self.look_up_again(generation);
        }
        if !self.ports.is_empty() {
            worked |= self.take_copies(now_ns);
        }
        worked |= self.answer_due(now_ns);
        self.has_stalled = false;
        for place in 0..self.submissions.len() {
            worked |= self.serve(place, now_ns);
        }
        if self.has_unsignalled {
            self.signal(now_ns);
        }
        worked
    }

    /// Obeys what the controller has ordered.
    #[inline]
    pub(crate) fn take_orders(&mut self, now_ns: u64) -> bool {
        self.orders.has_mail() && self.obey(now_ns)
    }

    /// Completions posted so far.
    #[inline]
    pub(crate) fn posted(&self) -> u64 {
        self.posted
    }

    /// Posts what is due and signals it, without looking for new commands.
    #[inline]
    pub(crate) fn poll_due(&mut self, now_ns: u64) {
        if !self.shared.is_fatal() && self.generation == self.bench.memory.generation() {
            self.answer_due(now_ns);
            if self.has_unsignalled {
                self.signal(now_ns);
            }
        }
    }

    /// The next time at which [`Dispatcher::poll`] has something to do by itself, without the host.
    #[inline]
    pub fn next_event_ns(&self) -> Option<u64> {
        let parked = self.parked.next_ns();
        if !self.has_stalled && !self.has_unsignalled {
            return parked;
        }
        let stalls = self.submissions.iter().flatten().filter(|queue| queue.waiting() > 0);
        let stalls = stalls.map(|queue| queue.stalled_until_ns).filter(|until| *until > 0);
        let signals = self.coalescing.next_event_ns(&self.completions);
        stalls.chain(parked).chain(signals).min()
    }

    /// Asks hosts with shadow doorbells to ring the real ones from now on, or no longer to. A thread that wants to wait
    /// for a doorbell arms, polls once more, and waits.
    pub fn arm(&mut self, is_armed: bool) {
        self.is_armed = is_armed;
        if let Some(shadow) = &self.shadow {
            for queue in self.submissions.iter().flatten() {
                shadow.set_event(queue.spec.id, queue.tail(), is_armed);
            }
        }
    }

    /// Mappings have changed: every ring is looked up again. One that is gone is noticed when it is needed.
    #[cold]
    fn look_up_again(&mut self, generation: u64) {
        self.generation = generation;
        let memory = &mut self.bench.memory;
        self.submissions.iter_mut().flatten().for_each(|queue| queue.look_up(memory));
        self.completions.iter_mut().flatten().for_each(|queue| queue.look_up(memory));
        if self.shadow.as_mut().is_some_and(|shadow| !shadow.look_up(memory)) {
            self.shared.fail();
        }
    }

    /// Fetches and executes commands of one submission queue.
    #[inline]
    fn serve(&mut self, place: usize, now_ns: u64) -> bool {
        let Some(queue) = &mut self.submissions[place] else { return false };
        let tail = match &self.shadow {
            None => queue.rung(),
            Some(shadow) => shadow.tail(queue.spec.id),
        };
        if tail != queue.tail() {
            take_tail(queue, tail, &self.shared, self.shadow.as_ref().map(|shadow| (shadow, self.is_armed)));
        }
        let waiting = queue.waiting();
        if waiting == 0 {
            return false;
        }
        if queue.stalled_until_ns != 0 {
            if now_ns < queue.stalled_until_ns {
                self.has_stalled = true;
                return false;
            }
            queue.stalled_until_ns = 0;
        }
        let completion = queue.completion_index;
        let room = self.room(completion, waiting.min(BURST));
        let batch = waiting.min(BURST).min(room);
        for _ in 0..batch {
            if !self.step(place, now_ns) {
                break;
            }
        }
        batch > 0
    }

    /// Entries of a completion queue that are free, looked up at the doorbell if they seem too few.
    #[inline]
    fn room(&mut self, place: usize, wanted: u32) -> u32 {
        match self.completions.get(place).and_then(Option::as_ref).map(CompletionQueue::room) {
            Some(room) if room >= wanted => room,
            _ => self.room_at_doorbell(place),
        }
    }

    /// Apart, because a host with large queues rings seldom.
    #[inline(never)]
    fn room_at_doorbell(&mut self, place: usize) -> u32 {
        let Some(queue) = self.completions.get_mut(place).and_then(Option::as_mut) else { return 0 };
        let id = queue.spec.id;
        let head = match &self.shadow {
            None => self.shared.registers.memory().load_u32(Registers::head_offset(id), Ordering::Acquire),
            Some(shadow) => shadow.head(id),
        };
        if !queue.set_head(head) && queue.refuse_head(head) {
            self.shared.inbox.send(Notice::InvalidDoorbellValue);
        }
        queue.room()
    }

    /// Takes the command at the head of a queue; `false` when the queue must wait.
    #[inline]
    fn step(&mut self, place: usize, now_ns: u64) -> bool {
        let Some(queue) = &mut self.submissions[place] else { return false };
        let Ok(command) = queue.fetch(&mut self.bench.memory) else {
            self.shared.fail();
            return false;
        };
        let queue_id = queue.spec.id;
        if queue.is_outstanding(command.cid()) {
            return self.refuse_conflict(place, &command, now_ns);
        }
        let fate =
            if self.is_plain { Fate::default() } else { foresee(&self.subsystem, queue, &command, self.looks_ahead) };
        if let Some(kind) = fate.at_fetch {
            return self.suffer(place, &command, kind);
        }
        let mut execution = Execution {
            bench: &mut self.bench,
            subsystem: &self.subsystem,
            command: &command,
            queue: queue_id,
            now_ns,
        };
        let (at_ns, answer) = match execution.run() {
            Ok(Step::Done { at_ns, result }) => (at_ns, Answer::success(result)),
            Ok(Step::Stall { not_before_ns }) => {
                queue.stalled_until_ns = not_before_ns.max(now_ns + 1);
                self.has_stalled = true;
                return false;
            }
            Err(refusal) => (now_ns, self.shared.log_failure(queue_id, &command, refusal)),
        };
        queue.advance();
        if let Some(copy) = self.bench.deferred.take() {
            self.hand_over(at_ns, Parked::new(place, command.cid(), answer, fate.at_complete), copy);
            return true;
        }
        match fate.at_complete {
            None if at_ns <= now_ns => {
                let Some(completions) = self.completions.get_mut(queue.completion_index).and_then(Option::as_mut)
                else {
                    return true;
                };
                let entry = entry(queue, command.cid(), answer);
                if completions.post(&mut self.bench.memory, entry).is_err() {
                    self.shared.fail();
                    return false;
                }
                self.posted += 1;
                if completions.spec.vector.is_some() {
                    completions.note_unsignalled(now_ns);
                    self.has_unsignalled = true;
                }
            }
            Some(fault) if at_ns <= now_ns => self.answer_with(fault, place, (command.cid(), answer), now_ns),
            fault => self.park(place, command.cid(), answer, at_ns, fault),
        }
        true
    }

    /// The identifier is that of another command of the queue that has not been answered (Base, section 4.2). Which of the
    /// two an answer means, the host has to find out.
    #[cold]
    fn refuse_conflict(&mut self, place: usize, command: &SubmissionEntry, now_ns: u64) -> bool {
        if let Some(queue) = &mut self.submissions[place] {
            let refusal = Refusal::lasting(Status::COMMAND_ID_CONFLICT).at(crate::refusal::place::CID, 0);
            let answer = self.shared.log_failure(queue.spec.id, command, refusal);
            queue.advance();
            self.answer(place, command.cid(), answer, now_ns);
        }
        true
    }

    /// A fault strikes when a command is fetched.
    #[cold]
    fn suffer(&mut self, place: usize, command: &SubmissionEntry, kind: FaultKind) -> bool {
        match kind {
            FaultKind::Fatal => self.shared.fail(),
            FaultKind::Removal => self.shared.remove(),
            _ => {
                if let Some(queue) = &mut self.submissions[place] {
                    queue.advance();
                }
                self.park(place, command.cid(), Answer::success(0), u64::MAX, None);
                return true;
            }
        }
        false
    }
}

/// What is to be done before a command, and what faults have in store for it.
#[inline(never)]
fn foresee(subsystem: &Subsystem, queue: &SubmissionQueue, command: &SubmissionEntry, looks_ahead: bool) -> Fate {
    if looks_ahead {
        look_ahead(subsystem, queue);
    }
    if subsystem.faults.is_none() { Fate::default() } else { fate(subsystem, queue.spec.id, command) }
}

/// Starts to fetch the data of the next command while that of this one is copied.
fn look_ahead(subsystem: &Subsystem, queue: &SubmissionQueue) {
    /// As much as the processor does not find by itself: it follows an access within a page.
    const BYTES: usize = 4096;
    if let Some((opcode, namespace, lba)) = queue.peek_next()
        && matches!(IoOpcode(opcode), IoOpcode::READ | IoOpcode::WRITE)
        && let Some(namespace) = subsystem.namespace(namespace)
    {
        let offset = lba.checked_mul(1 << namespace.lba_shift()).and_then(|bytes| bytes.checked_add(namespace.base));
        subsystem.media.prefetch(offset.unwrap_or(u64::MAX), BYTES);
    }
}

/// What faults have in store for a command.
#[derive(Debug, Clone, Copy, Default)]
struct Fate {
    at_fetch: Option<FaultKind>,
    at_complete: Option<FaultKind>,
}

/// What faults do to a command as a whole, or to its completion.
#[cold]
fn fate(subsystem: &Subsystem, queue: u16, command: &SubmissionEntry) -> Fate {
    let Some(faults) = &subsystem.faults else { return Fate::default() };
    let namespace = subsystem.namespace(command.nsid());
    let subject = Subject::of(queue, command, namespace.map_or(9, Namespace::lba_shift));
    let at_fetch = faults.strike(Seam::Fetch, &subject);
    let at_complete = if at_fetch.is_none() { faults.strike(Seam::Complete, &subject) } else { None };
    Fate { at_fetch, at_complete }
}

/// Takes in a new tail; a value that is none is told to the host once.
#[inline]
fn take_tail(
    queue: &mut SubmissionQueue,
    tail: u32,
    shared: &ControllerShared,
    shadow: Option<(&ShadowDoorbells, bool)>,
) {
    if queue.set_tail(tail) {
        if let Some((shadow, is_armed)) = shadow {
            shadow.set_event(queue.spec.id, tail, is_armed);
        }
    } else if queue.refuse_tail(tail) {
        shared.inbox.send(Notice::InvalidDoorbellValue);
    }
}
