//! A dispatcher: some of a controller's I/O queue pairs, polled by one thread.
//!
//! ```text
//!  doorbells ─▶ fetch in batches ─▶ execute ─┬─▶ answer now ─────────────────▶ completion queue ─▶ one interrupt
//!                                            └─▶ delayed until its time ──────▶      per batch
//! ```
//!
//! If there are copiers, they copy the data (`copier.rs`).
//!
//! A submission queue belongs to the dispatcher of its completion queue, so that a queue pair has
//! one owner and needs no lock. The controller sends orders, such as new queues, through a mailbox.
//!
//! Guarantees: commands of one submission queue are executed in order. Their completions are posted
//! when they are due, earliest first. No allocation per command once the number of delayed commands
//! has reached its maximum. A queue that becomes unreachable is fatal for the controller
//! (CSTS.CFS), never for the process.
//!
//! A dispatcher has no priorities among queues (CAP.AMS promises round robin), and does not wait.

mod answers;
mod coalescing;
mod copies;
mod delayed;
mod orders;
mod shadow;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use iolab_nvme_spec::{IoOpcode, Status, SubmissionEntry};
use iolab_pci_device::HostMemory;

use crate::admin::Coalescing;
use crate::command_error::{CommandError, place};
use crate::controller_record::{Answer, Notice};
use crate::fault::{FaultKind, PlannedFaults};
use crate::io::{ExecutionStep, IoExecutor};
use crate::mailbox::Mailbox;
use crate::pcie::controller::ControllerShared;
use crate::pcie::copier::Port;
use crate::pcie::data::PcieData;
use crate::pcie::queue::{CompletionQueue, SubmissionQueue};
use crate::pcie::registers::Registers;
use crate::subsystem::Subsystem;

use answers::entry;
use delayed::{DelayQueue, DelayedCompletion};
pub(crate) use orders::Order;
pub(crate) use shadow::ShadowAddresses;
use shadow::ShadowDoorbells;

/// The most commands fetched from one queue before the others get their turn.
const BURST: u32 = 64;

/// Some queue pairs of a controller.
#[derive(Debug)]
pub struct Dispatcher<M> {
    shared: Arc<ControllerShared>,
    subsystem: Arc<Subsystem>,
    orders: Arc<Mailbox<Order>>,
    executor: IoExecutor<PcieData<M>>,
    generation: u64,
    completions: Vec<Option<CompletionQueue>>,
    submissions: Vec<Option<SubmissionQueue>>,
    delayed: DelayQueue,
    ports: Vec<Port>,
    shadow: Option<ShadowDoorbells>,
    coalescing: Coalescing,
    /// Whether a completion queue may have a pending interrupt.
    has_unsignalled: bool,
    /// Whether a submission queue may wait for the medium.
    has_stalled: bool,
    is_armed: bool,
    /// Whether data is copied here, so that prefetching for the next command pays off.
    looks_ahead: bool,
    /// Whether commands are only executed: there are no faults, and no data is copied.
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
        let executor = IoExecutor::new(&subsystem, &shared.record, PcieData::new(memory));
        Dispatcher {
            generation: executor.data.memory.generation(),
            looks_ahead: !subsystem.media.is_null(),
            is_plain: subsystem.media.is_null() && subsystem.faults.is_none(),
            shared,
            subsystem,
            orders,
            executor,
            completions: Vec::new(),
            submissions: Vec::new(),
            delayed: DelayQueue::default(),
            ports: Vec::new(),
            shadow: None,
            coalescing: Coalescing::default(),
            has_unsignalled: false,
            has_stalled: false,
            is_armed: false,
            posted: 0,
        }
    }

    /// Does the work that is possible now. Returns whether there was any.
    #[inline]
    pub fn poll(&mut self, now_ns: u64) -> bool {
        let mut worked = self.take_orders(now_ns);
        if self.shared.is_fatal() {
            return worked;
        }
        let generation = self.executor.data.memory.generation();
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

    /// Executes the controller's orders.
    #[inline]
    pub(crate) fn take_orders(&mut self, now_ns: u64) -> bool {
        self.orders.has_messages() && self.execute_orders(now_ns)
    }

    /// Completions posted so far.
    #[inline]
    pub(crate) fn posted(&self) -> u64 {
        self.posted
    }

    /// Posts and signals due completions, without fetching new commands.
    #[inline]
    pub(crate) fn poll_due(&mut self, now_ns: u64) {
        if !self.shared.is_fatal() && self.generation == self.executor.data.memory.generation() {
            self.answer_due(now_ns);
            if self.has_unsignalled {
                self.signal(now_ns);
            }
        }
    }

    /// The next time at which [`Dispatcher::poll`] has work that does not depend on the host.
    #[inline]
    pub fn next_event_ns(&self) -> Option<u64> {
        let delayed = self.delayed.next_ns();
        if !self.has_stalled && !self.has_unsignalled {
            return delayed;
        }
        let stalls = self.submissions.iter().flatten().filter(|queue| queue.waiting() > 0);
        let stalls = stalls.map(|queue| queue.stalled_until_ns).filter(|until| *until > 0);
        let signals = self.coalescing.next_event_ns(&self.completions);
        stalls.chain(delayed).chain(signals).min()
    }

    /// Starts or stops requesting that hosts with shadow doorbells ring the real ones. A thread
    /// that wants to wait for a doorbell arms, polls once more, and waits.
    pub fn arm(&mut self, is_armed: bool) {
        self.is_armed = is_armed;
        if let Some(shadow) = &self.shadow {
            for queue in self.submissions.iter().flatten() {
                shadow.set_event(queue.spec.id, queue.tail(), is_armed);
            }
        }
    }

    /// Looks up every ring again after mappings have changed. If a ring is missing, this is noticed
    /// when it is needed.
    #[cold]
    fn look_up_again(&mut self, generation: u64) {
        self.generation = generation;
        let memory = &mut self.executor.data.memory;
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

    /// The free entries of a completion queue. The doorbell is read if there seem to be too few.
    #[inline]
    fn room(&mut self, place: usize, wanted: u32) -> u32 {
        match self.completions.get(place).and_then(Option::as_ref).map(CompletionQueue::room) {
            Some(room) if room >= wanted => room,
            _ => self.room_at_doorbell(place),
        }
    }

    /// A separate function, because hosts with large queues ring seldom.
    #[inline(never)]
    fn room_at_doorbell(&mut self, place: usize) -> u32 {
        let Some(queue) = self.completions.get_mut(place).and_then(Option::as_mut) else { return 0 };
        let id = queue.spec.id;
        let head = match &self.shadow {
            None => self.shared.registers.memory().load_u32(Registers::head_offset(id), Ordering::Acquire),
            Some(shadow) => shadow.head(id),
        };
        if !queue.set_head(head) && queue.refuse_head(head) {
            self.shared.record.inbox.send(Notice::InvalidDoorbellValue);
        }
        queue.room()
    }

    /// Executes the command at the head of a queue; `false` if the queue must wait.
    #[inline]
    fn step(&mut self, place: usize, now_ns: u64) -> bool {
        let Some(queue) = &mut self.submissions[place] else { return false };
        let Ok(command) = queue.fetch(&mut self.executor.data.memory) else {
            self.shared.fail();
            return false;
        };
        let queue_id = queue.spec.id;
        if queue.is_outstanding(command.cid()) {
            return self.refuse_conflict(place, &command, now_ns);
        }
        let faults = if self.is_plain {
            PlannedFaults::default()
        } else {
            prepare(&self.subsystem, queue, &command, self.looks_ahead)
        };
        if let Some(kind) = faults.at_fetch {
            return self.fail_at_fetch(place, &command, kind);
        }
        let (at_ns, answer) = match self.executor.execute(&self.subsystem, queue_id, &command, now_ns) {
            Ok(ExecutionStep::Done { at_ns, result }) => (at_ns, Answer::success(result)),
            Ok(ExecutionStep::Stall { not_before_ns }) => {
                queue.stalled_until_ns = not_before_ns.max(now_ns + 1);
                self.has_stalled = true;
                return false;
            }
            Err(error) => (now_ns, self.shared.record.log_failure(queue_id, &command, error)),
        };
        queue.advance();
        if let Some(copy) = self.executor.deferred.take() {
            self.hand_over(at_ns, DelayedCompletion::new(place, command.cid(), answer, faults.at_completion), copy);
            return true;
        }
        match faults.at_completion {
            None if at_ns <= now_ns => {
                let Some(completions) = self.completions.get_mut(queue.completion_index).and_then(Option::as_mut)
                else {
                    return true;
                };
                let entry = entry(queue, command.cid(), answer);
                if completions.post(&mut self.executor.data.memory, entry).is_err() {
                    self.shared.fail();
                    return false;
                }
                self.posted += 1;
                if completions.spec.vector.is_some() {
                    completions.note_unsignalled(now_ns);
                    self.has_unsignalled = true;
                }
            }
            Some(fault) if at_ns <= now_ns => {
                let completion = DelayedCompletion::new(place, command.cid(), answer, None);
                self.complete_with_fault(fault, completion, now_ns);
            }
            fault => self.delay(place, command.cid(), answer, at_ns, fault),
        }
        true
    }

    /// Handles an identifier that belongs to another unanswered command of the queue (Base, section
    /// 4.2). The host must find out which of the two commands an answer belongs to.
    #[cold]
    fn refuse_conflict(&mut self, place: usize, command: &SubmissionEntry, now_ns: u64) -> bool {
        if let Some(queue) = &mut self.submissions[place] {
            let error = CommandError::permanent(Status::COMMAND_ID_CONFLICT).at(place::CID, 0);
            let answer = self.shared.record.log_failure(queue.spec.id, command, error);
            queue.advance();
            self.answer(place, command.cid(), answer, now_ns);
        }
        true
    }

    /// Applies a fault planned for the fetch of a command.
    #[cold]
    fn fail_at_fetch(&mut self, place: usize, command: &SubmissionEntry, kind: FaultKind) -> bool {
        match kind {
            FaultKind::Fatal => self.shared.fail(),
            FaultKind::Removal => self.shared.remove(),
            _ => {
                if let Some(queue) = &mut self.submissions[place] {
                    queue.advance();
                }
                self.delay(place, command.cid(), Answer::success(0), u64::MAX, None);
                return true;
            }
        }
        false
    }
}

/// Prefetches for the next command, and finds the faults planned for this one.
#[inline(never)]
fn prepare(
    subsystem: &Subsystem,
    queue: &SubmissionQueue,
    command: &SubmissionEntry,
    looks_ahead: bool,
) -> PlannedFaults {
    if looks_ahead && let Some((opcode, namespace, lba)) = queue.peek_next() {
        subsystem.prefetch(IoOpcode(opcode), namespace, lba);
    }
    if subsystem.faults.is_none() { PlannedFaults::default() } else { subsystem.planned_faults(queue.spec.id, command) }
}

/// Takes a new tail. An invalid value is reported to the host once.
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
        shared.record.inbox.send(Notice::InvalidDoorbellValue);
    }
}
