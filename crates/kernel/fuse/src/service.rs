//! What a transport needs of whoever answers requests: slots for their payloads, and answers.
//!
//! Requests and answers use the same slot, so that data need not be copied between them. A service
//! is used by one thread.

use crate::FuseError;
use crate::channel::Message;

/// An answer that is ready: its body is the start of the slot's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Where the request was, and the body is.
    pub slot: u16,
    /// The request's.
    pub unique: u64,
    /// 0 or a negative errno.
    pub error: i32,
    /// Bytes of the body.
    pub body_bytes: usize,
}

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The answer is ready.
    Reply(Reply),
    /// There will be one.
    Started,
    /// There will be none; the slot is free.
    Silence,
}

/// Answers requests.
pub trait Service {
    /// Why it ends early.
    type Error: From<FuseError>;

    /// How many slots there are, and the bytes of payload in each.
    fn shape(&self) -> (usize, usize);

    /// The payload of a slot that no request in progress uses.
    fn payload(&mut self, slot: u16) -> &mut [u8];

    /// Where that is in memory; it stays there as long as the service lives.
    fn payload_address(&self, slot: u16) -> u64;

    /// Takes a message whose payload is in `slot`.
    fn take(&mut self, slot: u16, message: &Message) -> Taken;

    /// Works on what was started, without waiting; `arrived` says whether there were messages since
    /// the last time.
    ///
    /// # Errors
    /// The service is broken, and the connection has to end.
    fn work(&mut self, arrived: bool) -> Result<(), Self::Error>;

    /// The next answer to what was started.
    fn next_reply(&mut self) -> Option<Reply>;

    /// Whether [`Service::work`] wants to be called again soon although no message arrives and
    /// nothing wakes.
    fn is_busy(&self) -> bool;
}
