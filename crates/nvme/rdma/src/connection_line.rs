//! A connection, and the arrivals that have not been taken yet.

use std::collections::VecDeque;
use std::time::Duration;

use iolab_nvme_spec::{CompletionEntry, FromBytes};
use iolab_verbs::{Arrival, Endpoint, VerbsError};

/// Bytes of a command in a capsule, and of a response.
pub(crate) const COMMAND_BYTES: usize = 64;
const RESPONSE_BYTES: usize = 16;
/// Polls without an arrival before the connection itself is checked.
const IDLE_LOOKS: u32 = 4096;

/// A connection with its inbox.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) endpoint: Endpoint,
    /// Messages whose memory can be used again.
    pub(crate) sent: VecDeque<u16>,
    pub(crate) answers: VecDeque<CompletionEntry>,
    /// The message of Keep Alive, and whether it is being sent.
    pub(crate) keep_alive: (u16, bool),
    /// Why the connection is no longer usable.
    pub(crate) broken: Option<String>,
    idle: u32,
}

impl Line {
    pub(crate) fn new(endpoint: Endpoint) -> Line {
        let (sent, answers) = (VecDeque::new(), VecDeque::new());
        Line { endpoint, sent, answers, keep_alive: (u16::MAX, false), broken: None, idle: 0 }
    }

    /// Copies a command, and the data after it, into the memory of a message, and begins to send
    /// it.
    #[inline]
    pub(crate) fn begin(&mut self, index: u16, entry: &[u64; 8], follow: usize) {
        let mut bytes = [0; COMMAND_BYTES];
        for (to, word) in bytes.chunks_exact_mut(8).zip(entry) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        self.endpoint.send_memory().write(self.place(index), &bytes);
        self.endpoint.begin_send(index, (COMMAND_BYTES + follow) as u32);
    }

    /// Where a message is in the memory of messages.
    #[inline]
    pub(crate) fn place(&self, index: u16) -> usize {
        usize::from(index) * self.endpoint.send_stride()
    }

    /// The address of the data after the command of a message, for the target.
    pub(crate) fn data_address(&self, index: u16) -> u64 {
        self.endpoint.send_memory().as_ptr() as u64 + (self.place(index) + COMMAND_BYTES) as u64
    }

    /// Sends all begun messages.
    #[inline]
    pub(crate) fn post(&mut self) {
        if let Err(error) = self.endpoint.post() {
            self.note(&error);
        }
    }

    #[cold]
    fn note(&mut self, error: &VerbsError) {
        self.broken.get_or_insert_with(|| error.to_string());
    }

    /// Moves arrivals into the inbox.
    pub(crate) fn drain(&mut self) {
        let Line { endpoint, sent, answers, keep_alive, broken, idle } = self;
        let count = endpoint.poll(|endpoint, arrival| match arrival {
            Arrival::Sent { index } if index == keep_alive.0 => keep_alive.1 = false,
            Arrival::Sent { index } => sent.push_back(index),
            Arrival::Message { room, bytes } => {
                let mut response = [0; RESPONSE_BYTES];
                endpoint.receive_memory().read(usize::from(room) * endpoint.receive_stride(), &mut response);
                match CompletionEntry::read_from_bytes(&response[..]) {
                    Ok(entry) if bytes == RESPONSE_BYTES => answers.push_back(entry),
                    _ => *broken = Some(format!("the target sent a response of {bytes} bytes")),
                }
                if let Err(error) = endpoint.give_back(room) {
                    broken.get_or_insert_with(|| error.to_string());
                }
            }
            Arrival::Broken(reason) => {
                broken.get_or_insert(reason);
            }
        });
        *idle = if count > 0 { 0 } else { *idle + 1 };
        if *idle >= IDLE_LOOKS {
            self.look();
        }
    }

    /// Checks whether the connection still exists.
    #[cold]
    pub(crate) fn look(&mut self) {
        self.idle = 0;
        if let Some(event) = self.endpoint.ended() {
            self.broken.get_or_insert_with(|| format!("the connection has ended: {event}"));
        }
    }

    fn has_something(&self) -> bool {
        !self.sent.is_empty() || !self.answers.is_empty() || self.broken.is_some()
    }

    /// Waits at most `at_most` for an arrival. Returns whether there was one.
    pub(crate) fn wait(&mut self, at_most: Duration) -> bool {
        if self.has_something() {
            return true;
        }
        self.endpoint.arm();
        // Arrivals before the signal was requested do not cause one.
        self.drain();
        if !self.has_something() && self.endpoint.sleep(at_most) {
            self.drain();
        }
        if !self.has_something() {
            self.look();
        }
        self.has_something()
    }
}
