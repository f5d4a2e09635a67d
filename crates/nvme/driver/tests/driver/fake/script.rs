//! The script of the fake device: the ways in which it misbehaves.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use iolab_nvme_spec::SubmissionEntry;
use iolab_nvme_spec::{CompletionEntry, Status};

/// What the device does with one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    /// Executes and answers the command correctly.
    Well,
    /// Executes the command and never answers.
    Silent,
    /// Neither executes nor answers the command.
    Drop,
    /// Answers with an error.
    Fail(Status),
    /// Executes the command and answers twice.
    Twice,
    /// Executes the command, and answers with these words combined by exclusive or.
    Garbled(CompletionEntry),
    /// Sets CSTS.CFS and stops.
    Fatal,
    /// Makes all registers read as ones from now on.
    Vanish,
}

/// Shared between a test and its device.
#[derive(Debug, Clone, Default)]
pub(crate) struct Script {
    io: Arc<Mutex<VecDeque<Act>>>,
    admin: Arc<Mutex<VecDeque<(u8, Act)>>>,
    log: Arc<Mutex<Vec<SubmissionEntry>>>,
    admin_log: Arc<Mutex<Vec<SubmissionEntry>>>,
    /// The controller never becomes ready again.
    pub(crate) never_ready: Arc<AtomicBool>,
    /// The device has SGLs, shadow doorbells, mapped doorbells.
    pub(crate) no_mapping: Arc<AtomicBool>,
    pub(crate) shadow: Arc<AtomicBool>,
    pub(crate) sgl: Arc<AtomicBool>,
    /// Doorbell registers written by the driver for I/O queues.
    pub(crate) doorbells: Arc<AtomicU32>,
    /// The device reports this event when it works next.
    pub(crate) event: Arc<AtomicU32>,
}

impl Script {
    /// What to do with the next I/O commands; later ones succeed.
    pub(crate) fn io(&self, acts: &[Act]) {
        self.io.lock().unwrap().extend(acts);
    }

    /// What to do with the next admin commands of an opcode.
    pub(crate) fn admin(&self, opcode: u8, act: Act) {
        self.admin.lock().unwrap().push_back((opcode, act));
    }

    pub(crate) fn next(&self, queue: u16, entry: &SubmissionEntry) -> Act {
        if queue != 0 {
            self.log.lock().unwrap().push(*entry);
            return self.io.lock().unwrap().pop_front().unwrap_or(Act::Well);
        }
        self.admin_log.lock().unwrap().push(*entry);
        let mut admin = self.admin.lock().unwrap();
        match admin.front() {
            Some((opcode, act)) if *opcode == entry.opc() => {
                let act = *act;
                admin.pop_front();
                act
            }
            _ => Act::Well,
        }
    }

    /// I/O commands that the device has fetched so far.
    pub(crate) fn fetched(&self) -> Vec<SubmissionEntry> {
        self.log.lock().unwrap().clone()
    }

    /// Admin commands that the device has fetched so far.
    pub(crate) fn admin_fetched(&self) -> Vec<SubmissionEntry> {
        self.admin_log.lock().unwrap().clone()
    }

    pub(crate) fn is_set(flag: &AtomicBool) -> bool {
        flag.load(Ordering::Relaxed)
    }

    pub(crate) fn set(flag: &AtomicBool) {
        flag.store(true, Ordering::Relaxed);
    }
}
