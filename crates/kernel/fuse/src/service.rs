//! The interface of the service that answers requests: slots for payloads, and answers.
//!
//! A request and its answer use the same slot, so that data need not be copied between them. A
//! service is used by one thread.

use crate::FuseError;
use crate::channel::Message;

/// An answer that is ready: its body is the start of the slot's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The slot of the request and of the body.
    pub slot: u16,
    /// The identifier of the request.
    pub unique: u64,
    /// 0 or a negative errno.
    pub error: i32,
    /// Bytes of the body.
    pub body_bytes: usize,
}

/// The result of passing a message to the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The answer is ready.
    Reply(Reply),
    /// There will be an answer later.
    Started,
    /// There will be no answer; the slot is free.
    Silence,
}

/// Answers requests.
pub trait Service {
    /// Why the service ends early.
    type Error: From<FuseError>;

    /// The number of slots, and the bytes of payload in each.
    fn shape(&self) -> (usize, usize);

    /// The payload of a slot that no request in progress uses.
    fn payload(&mut self, slot: u16) -> &mut [u8];

    /// The address of a slot's payload in memory, which does not change while the service lives.
    fn payload_address(&self, slot: u16) -> u64;

    /// Takes a message whose payload is in `slot`.
    fn take(&mut self, slot: u16, message: &Message) -> Taken;

    /// Works on started requests, without waiting. `arrived` says whether there were messages since
    /// the last call.
    ///
    /// # Errors
    /// The service is broken, so the connection must end.
    fn work(&mut self, arrived: bool) -> Result<(), Self::Error>;

    /// The next answer to a started request.
    fn next_reply(&mut self) -> Option<Reply>;

    /// Whether [`Service::work`] must be called again soon, even if no message arrives and no
    /// descriptor becomes readable.
    fn is_busy(&self) -> bool;
}
