//! State shared by a host and a device, under a model checker (loom): rings, doorbells, shadow
//! doorbells and the mailboxes between the device's own threads. The checker tries every order in
//! which two threads can access them, and every value that a weakly ordered processor may read.
//!
//! The sources of the driver and the device are compiled again here, over memory that consists of
//! loom's atomics. In the canaries these atomics provide no ordering.

#![allow(missing_docs, reason = "nobody is outside of a test")]

// The sources import memory from the crate of this name, which is this crate here.
extern crate iolab_pci_device as real_pci_device;
extern crate self as iolab_pci_device;

mod memory;
mod sync;

#[path = "../../../driver/src/pcie/device.rs"]
#[allow(dead_code, reason = "nothing is called by way of the device")]
mod device;
#[path = "../../../driver/src/pcie/doorbell.rs"]
#[allow(dead_code, reason = "not all of it is modelled")]
mod doorbell;
#[path = "../../src/mailbox.rs"]
mod mailbox;
#[path = "../../src/pcie/queue.rs"]
#[allow(dead_code, unused_imports, reason = "not all of it is modelled")]
mod queue;
#[path = "../../../driver/src/pcie/ring.rs"]
#[allow(dead_code, unreachable_pub, reason = "not all of it is modelled, and nobody is outside of a test")]
mod ring;
#[path = "../../src/pcie/dispatcher/shadow.rs"]
#[allow(dead_code, reason = "not all of it is modelled")]
mod shadow;

pub use iolab_memory::MappingAccess;
pub use memory::{HostMemory, PciDevice, SharedBytes, SharedWord};
pub use real_pci_device::DmaFault;

use doorbell::{Doorbell, ShadowDoorbell};
use iolab_nvme_spec::registers::DoorbellStride;
use iolab_nvme_spec::{CompletionEntry, Status, SubmissionEntry};
use loom::sync::Arc;
use mailbox::Mailbox;
use memory::{Host, Registers};
use queue::{CompletionQueue, CompletionSpec, SubmissionQueue, SubmissionSpec};
use ring::{CompletionRing, SubmissionRing};
use shadow::{ShadowAddresses, ShadowDoorbells};
use sync::{model, model_without_order};

/// Entries of a ring, and the queue.
const ENTRIES: u32 = 2;
const QUEUE: u16 = 1;
/// Where the rings and the buffers of shadow doorbells are in the host's memory.
const COMMANDS: u64 = 0x1000;
const ANSWERS: u64 = 0x2000;
const VALUES: u64 = 0x3000;
const EVENTS: u64 = 0x4000;
/// Bytes of these buffers, with the doorbells of two queues.
const SHADOW_BYTES: usize = 16;

const STRIDE: DoorbellStride = DoorbellStride(0);

/// A command with the same number in every word, so that a torn command is detected.
fn command(number: u64) -> SubmissionEntry {
    SubmissionEntry { words: [number * 0x0001_0001_0001_0001; 8] }
}

/// A host with one queue pair, and the device's view of it.
struct Pair {
    host: Host,
    registers: SharedBytes,
    commands: SubmissionRing,
    answers: CompletionRing,
}

impl Pair {
    fn new() -> Pair {
        let (commands, answers) = (SharedBytes::of_rows(128), SharedBytes::of_rows(32));
        let registers = SharedBytes::of_words(32);
        Pair {
            host: Host::new(&[(COMMANDS, &commands), (ANSWERS, &answers)]),
            registers,
            commands: SubmissionRing::new(commands, ENTRIES),
            answers: CompletionRing::new(answers, ENTRIES, 1),
        }
    }

    fn device(&self) -> Device {
        let mut memory = self.host.clone();
        let completions = CompletionSpec { id: QUEUE, base: ANSWERS, entries: ENTRIES, vector: None };
        let completions = CompletionQueue::new(&mut memory, completions);
        let spec = SubmissionSpec { id: QUEUE, completion: QUEUE, base: COMMANDS, entries: ENTRIES };
        let doorbell = self.registers.word(0).unwrap();
        let submissions = SubmissionQueue::new(&mut memory, spec, 0, doorbell);
        Device { memory, submissions, completions }
    }
}

/// The part of a dispatcher that processes rings.
struct Device {
    memory: Host,
    submissions: SubmissionQueue,
    completions: CompletionQueue,
}

impl Device {
    /// Fetches and answers available commands.
    fn poll(&mut self) {
        let tail = self.submissions.rung();
        assert!(self.submissions.set_tail(tail));
        while self.submissions.waiting() > 0 {
            let fetched = self.submissions.fetch(&mut self.memory).unwrap();
            assert_eq!(fetched.words, command(1).words, "a command is half written");
            self.submissions.advance();
            let answer = CompletionEntry::new(QUEUE, 1, Status::SUCCESS);
            self.completions.post(&mut self.memory, answer).unwrap();
        }
    }
}

/// A host submits a command with a plain doorbell, and polls for the answer.
fn a_command_and_its_answer() {
    let mut pair = Pair::new();
    let mut device = pair.device();
    let registers = Registers(pair.registers.clone());
    let polling = loom::thread::spawn(move || {
        device.poll();
        device
    });
    let handle = device::DeviceHandle::new(Box::new(registers.clone()));
    let mut doorbell = Doorbell::new(&registers, 0, None);
    pair.commands.push(pair.commands.room().unwrap(), command(1).words);
    doorbell.ring(&handle, pair.commands.take_unrung().unwrap());
    let expected = CompletionEntry::new(QUEUE, 1, Status::SUCCESS).with_phase(true);
    let whole = |answer: CompletionEntry| assert_eq!(answer, expected, "an answer is half written");
    if let Some(answer) = pair.answers.peek() {
        whole(answer);
    }
    let mut device = polling.join().unwrap();
    device.poll();
    whole(pair.answers.peek().expect("the command is answered"));
}

#[test]
fn commands_and_answers_are_seen_whole() {
    model(a_command_and_its_answer);
}

/// The canary of the test above: without ordering, the checker must find an error.
#[test]
#[should_panic = "half written"]
fn rings_without_order_are_found_out() {
    model_without_order(a_command_and_its_answer);
}

/// A host submits a command with a shadow doorbell, while the device requests the doorbell, polls
/// once more, and sleeps.
fn a_command_for_a_device_that_goes_to_sleep() {
    let (values, events) = (SharedBytes::of_words(SHADOW_BYTES), SharedBytes::of_words(SHADOW_BYTES));
    let mut host = Host::new(&[(VALUES, &values), (EVENTS, &events)]);
    let registers = Registers(SharedBytes::of_words(32));
    let addresses = ShadowAddresses { doorbells: VALUES, events: EVENTS };
    let shadow = ShadowDoorbells::new(&mut host, addresses, SHADOW_BYTES).unwrap();
    shadow.set_event(QUEUE, 0, false);
    let sleeping = loom::thread::spawn(move || {
        shadow.set_event(QUEUE, 0, true);
        shadow.tail(QUEUE) == 0
    });
    let offset = STRIDE.shadow_submission_tail(QUEUE) as usize;
    let words = [values, events].map(|buffer| buffer.window(offset, 4).unwrap());
    let [value, event] = words;
    let handle = device::DeviceHandle::new(Box::new(registers.clone()));
    let mut doorbell = Doorbell::new(&registers, 0, Some(ShadowDoorbell { value, event, last: 0 }));
    doorbell.ring(&handle, 1);
    let sleeps = sleeping.join().unwrap();
    let is_rung = registers.0.word(0).unwrap().load(sync::Ordering::Relaxed) == 1;
    assert!(!sleeps || is_rung, "the device sleeps, and nobody rings");
}

#[test]
fn a_device_that_sleeps_is_rung() {
    model(a_command_for_a_device_that_goes_to_sleep);
}

/// The canary of the test above.
#[test]
#[should_panic = "the device sleeps, and nobody rings"]
fn shadow_doorbells_without_order_are_found_out() {
    model_without_order(a_command_for_a_device_that_goes_to_sleep);
}

/// Two threads send while one polls.
fn messages() {
    let mailbox = Arc::new(Mailbox::default());
    let send = |numbers: [u8; 2]| {
        let mailbox = mailbox.clone();
        loom::thread::spawn(move || numbers.into_iter().for_each(|number| mailbox.send(number)))
    };
    let senders = [send([0, 1]), send([10, 11])];
    let mut taken: Vec<u8> = mailbox.take().into_iter().collect();
    for sender in senders {
        sender.join().unwrap();
    }
    taken.extend(std::iter::from_fn(|| mailbox.take()));
    for sent in [[0, 1], [10, 11]] {
        let of_one: Vec<u8> = taken.iter().copied().filter(|number| sent.contains(number)).collect();
        assert_eq!(of_one, sent, "each once, and in order");
    }
    assert!(!mailbox.has_messages());
}

#[test]
fn messages_arrive_once_and_in_order() {
    model(messages);
}

/// The canary of the test above.
#[test]
#[should_panic = "Causality violation"]
fn a_lock_that_lets_everybody_in_is_found_out() {
    model_without_order(messages);
}
