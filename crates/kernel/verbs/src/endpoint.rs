//! A reliable connection to a peer: sends messages from its memory and receives into its memory.
//!
//! ```text
//! send_memory     | message 0 | message 1 | …      begin_send(index, bytes) … post()
//! receive_memory  | room 0    | room 1    | …      poll: Arrival::Message { room, bytes }, then give_back(room)
//! ```
#![allow(unsafe_code, reason = "island: calls of verbs with pointers into registered memory")]

use std::ffi::{c_int, c_uint};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use iolab_memory::SharedBytes;

use crate::abi::{
    ConnParam, IBV_QPT_RC, IBV_SEND_SIGNALED, IBV_WC_SUCCESS, IBV_WR_SEND, Qp, QpCap, QpInitAttr, RecvWr, SendWr, Sge,
    Wc, cm_event,
};
use crate::adapter::{Adapter, Open, Registration};
use crate::completions::Completions;
use crate::error::VerbsError;
use crate::event::{Event, Identifier, wait_readable};

/// The most completions returned by one call.
const BATCH: usize = 32;
/// Distinguishes completions of receives from those of sends.
const RECEIVE: u64 = 1 << 32;

/// A request for a connection.
#[derive(Debug, Clone)]
pub struct ConnectRequest {
    /// The peer.
    pub at: SocketAddr,
    /// Private data sent with the request; at most 56 bytes.
    pub private_data: Vec<u8>,
    /// Messages that can be in transit to the peer, and bytes of each.
    pub sends: (u16, usize),
    /// Receive buffers for messages, and bytes of each.
    pub receives: (u16, usize),
    /// How long each step may take.
    pub timeout: Duration,
}

/// An arrival on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arrival {
    /// A message was sent, and its memory can be used again.
    Sent {
        /// Its index.
        index: u16,
    },
    /// A message is in this receive buffer.
    Message {
        /// The index of the buffer.
        room: u16,
        /// Its length.
        bytes: usize,
    },
    /// The connection has broken.
    Broken(String),
}

/// A connection.
#[derive(Debug)]
pub struct Endpoint {
    // Declared in the order of dropping; `drop` destroys the queue pair first.
    completions: Completions,
    identifier: Identifier,
    sends: Messages,
    receives: Messages,
    /// Begun sends, by their position in the next list.
    begun: Vec<(u16, u32)>,
    elements: Box<[Sge]>,
    requests: Box<[SendWr]>,
    private_data: Vec<u8>,
    _adapter: Arc<Open>,
}

// SAFETY: any thread may use the objects of the libraries, one at a time.
unsafe impl Send for Endpoint {}

/// Memory for messages.
#[derive(Debug)]
struct Messages {
    registration: Registration,
    count: u16,
    stride: usize,
}

impl Messages {
    fn new(adapter: &Adapter, (count, bytes): (u16, usize)) -> Result<Messages, VerbsError> {
        let stride = bytes.next_multiple_of(64);
        let memory = SharedBytes::anonymous((usize::from(count) * stride).next_multiple_of(4096))
            .map_err(|error| VerbsError::failed("memory for messages", error))?;
        Ok(Messages { registration: adapter.register(&memory)?, count, stride })
    }

    /// The position of a message, which is within the memory.
    #[inline]
    fn element(&self, index: u16, bytes: u32) -> Sge {
        assert!(index < self.count && bytes as usize <= self.stride, "a message outside of its memory");
        let addr = self.registration.address() + (usize::from(index) * self.stride) as u64;
        Sge { addr, length: bytes, lkey: self.registration.local_key }
    }
}

impl Adapter {
    /// Connects to a peer.
    ///
    /// # Errors
    /// It does not answer, or refuses; or there is no room for the queues.
    pub fn connect(&self, request: &ConnectRequest) -> Result<Endpoint, VerbsError> {
        let (libraries, timeout) = (self.open.libraries(), request.timeout);
        let identifier = Identifier::towards(libraries, request.at, timeout)?;
        if identifier.context() != self.open.context() {
            return Err(VerbsError::failed(format!("connecting to {}", request.at), "another adapter reaches it now"));
        }
        identifier.resolve_route(timeout)?;
        let (sends, receives) = (Messages::new(self, request.sends)?, Messages::new(self, request.receives)?);
        let entries = u32::from(sends.count) + u32::from(receives.count);
        let completions = Completions::new(&self.open, entries + 1)?;
        let mut attributes = QpInitAttr {
            qp_context: std::ptr::null_mut(),
            send_cq: completions.queue,
            recv_cq: completions.queue,
            srq: std::ptr::null_mut(),
            cap: QpCap {
                max_send_wr: sends.count.into(),
                max_recv_wr: receives.count.into(),
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: IBV_QPT_RC,
            sq_sig_all: 0,
        };
        // SAFETY: the identifier has a route, and the domain and the queues belong to its adapter.
        // The attributes are read and written before the call returns.
        let made = unsafe { (libraries.manager.rdma_create_qp)(identifier.id, self.open.domain, &raw mut attributes) };
        if made != 0 {
            return Err(VerbsError::last("a queue pair"));
        }
        let nothing = SendWr {
            wr_id: 0,
            next: std::ptr::null_mut(),
            sg_list: std::ptr::null_mut(),
            num_sge: 1,
            opcode: IBV_WR_SEND,
            send_flags: IBV_SEND_SIGNALED,
            imm_data: 0,
            wr: [0; 4],
            qp_type: 0,
            rest: [0; 6],
        };
        let mut endpoint = Endpoint {
            begun: Vec::with_capacity(sends.count.into()),
            elements: vec![Sge::default(); sends.count.into()].into(),
            requests: vec![nothing; sends.count.into()].into(),
            completions,
            identifier,
            sends,
            receives,
            private_data: Vec::new(),
            _adapter: Arc::clone(&self.open),
        };
        for room in 0..endpoint.receives.count {
            endpoint.give_back(room)?;
        }
        endpoint.establish(request, self.open.most_reads)?;
        Ok(endpoint)
    }
}

impl Endpoint {
    fn establish(&mut self, request: &ConnectRequest, most_reads: u8) -> Result<(), VerbsError> {
        let to = format!("connecting to {}", request.at);
        let mut parameters = ConnParam {
            private_data: request.private_data.as_ptr().cast(),
            private_data_len: request.private_data.len().min(56) as u8,
            responder_resources: most_reads,
            initiator_depth: 0,
            flow_control: 1,
            retry_count: 7,
            rnr_retry_count: 7,
            srq: 0,
            qp_num: 0,
        };
        let libraries = self.identifier.libraries;
        // SAFETY: the identifier has a queue pair; the parameters are copied before the call
        // returns.
        if unsafe { (libraries.manager.rdma_connect)(self.identifier.id, &raw mut parameters) } != 0 {
            return Err(VerbsError::last(to));
        }
        match self.identifier.next(request.timeout)? {
            Some(Event { kind: cm_event::ESTABLISHED, private_data, .. }) => {
                self.private_data = private_data;
                Ok(())
            }
            Some(Event { kind: cm_event::REJECTED, status, private_data }) => {
                Err(VerbsError::Refused { status, private_data })
            }
            Some(event) => Err(VerbsError::failed(to, libraries.event_text(event.kind))),
            None => Err(VerbsError::failed(to, "no answer in time")),
        }
    }

    /// The private data that the peer sent when it accepted.
    pub fn private_data(&self) -> &[u8] {
        &self.private_data
    }

    /// The memory of messages to send, each at its index times [`Endpoint::send_stride`].
    #[inline]
    pub fn send_memory(&self) -> &SharedBytes {
        self.sends.registration.memory()
    }

    /// Bytes from one message to send to the next.
    #[inline]
    pub fn send_stride(&self) -> usize {
        self.sends.stride
    }

    /// The key with which the peer may read the messages to send.
    pub fn send_key(&self) -> u32 {
        self.sends.registration.remote_key()
    }

    /// The memory of received messages, each at its buffer index times
    /// [`Endpoint::receive_stride`].
    #[inline]
    pub fn receive_memory(&self) -> &SharedBytes {
        self.receives.registration.memory()
    }

    /// Bytes from one receive buffer to the next.
    #[inline]
    pub fn receive_stride(&self) -> usize {
        self.receives.stride
    }

    fn pair(&self) -> *mut Qp {
        // SAFETY: the identifier belongs to this library.
        unsafe { (*self.identifier.id).qp }
    }

    /// Begins to send a message, whose memory holds this many bytes. [`Endpoint::post`] sends it.
    #[inline]
    pub fn begin_send(&mut self, index: u16, bytes: u32) {
        assert!(self.begun.len() < usize::from(self.sends.count), "more messages than there is memory for");
        self.begun.push((index, bytes));
    }

    /// Sends all begun messages.
    ///
    /// # Errors
    /// The connection has broken.
    #[inline]
    pub fn post(&mut self) -> Result<(), VerbsError> {
        if self.begun.is_empty() {
            return Ok(());
        }
        let count = self.begun.len();
        let (elements, first) = (self.elements.as_mut_ptr(), self.requests.as_mut_ptr());
        for (place, (index, bytes)) in self.begun.drain(..).enumerate() {
            let next = if place + 1 == count { std::ptr::null_mut() } else { first.wrapping_add(place + 1) };
            // SAFETY: `begin_send` does not allow more begun messages than both lists have places.
            unsafe {
                elements.add(place).write(self.sends.element(index, bytes));
                let request = &mut *first.add(place);
                (request.wr_id, request.sg_list, request.next) = (index.into(), elements.add(place), next);
            }
        }
        let mut bad = std::ptr::null_mut();
        let pair = self.pair();
        // SAFETY: the context of the queue pair has the function. The list is in memory of this
        // object and is read before the call returns. Each element is in registered memory that
        // stays registered.
        let posted = unsafe { ((*(*pair).context).ops.post_send)(pair, first, &raw mut bad) };
        if posted != 0 {
            return Err(VerbsError::failed("sending", std::io::Error::from_raw_os_error(posted.abs())));
        }
        Ok(())
    }

    /// Returns the receive buffer of a message that was read.
    ///
    /// # Errors
    /// The connection has broken.
    #[inline]
    pub fn give_back(&mut self, room: u16) -> Result<(), VerbsError> {
        let mut element = self.receives.element(room, self.receives.stride as u32);
        let mut request = RecvWr {
            wr_id: RECEIVE | u64::from(room),
            next: std::ptr::null_mut(),
            sg_list: &raw mut element,
            num_sge: 1,
        };
        let mut bad = std::ptr::null_mut();
        let pair = self.pair();
        // SAFETY: as in `post`. A message is written to registered memory to which nothing has a
        // reference.
        let posted = unsafe { ((*(*pair).context).ops.post_recv)(pair, &raw mut request, &raw mut bad) };
        if posted != 0 {
            return Err(VerbsError::failed("receiving", std::io::Error::from_raw_os_error(posted.abs())));
        }
        Ok(())
    }

    /// Calls `each` with the arrivals. Returns their number.
    #[inline]
    pub fn poll(&mut self, mut each: impl FnMut(&mut Endpoint, Arrival)) -> usize {
        let mut found = [Wc::default(); BATCH];
        let queue = self.completions.queue;
        // SAFETY: the queue belongs to this library, its context has the function, and there is
        // room for as many.
        let count = unsafe { ((*(*queue).context).ops.poll_cq)(queue, BATCH as c_int, found.as_mut_ptr()) };
        let Ok(count) = usize::try_from(count) else {
            each(self, Arrival::Broken("the queue of completions cannot be read".to_owned()));
            return 1;
        };
        for one in &found[..count.min(BATCH)] {
            let arrival = if one.status != IBV_WC_SUCCESS {
                Arrival::Broken(self.failure(one.status))
            } else if one.wr_id & RECEIVE != 0 {
                let bytes = (one.byte_len as usize).min(self.receives.stride);
                Arrival::Message { room: one.wr_id as u16, bytes }
            } else {
                Arrival::Sent { index: one.wr_id as u16 }
            };
            each(self, arrival);
        }
        count
    }

    #[cold]
    fn failure(&self, status: c_uint) -> String {
        self.identifier.libraries.status_text(status)
    }

    /// Why the connection has ended, if it has.
    pub fn ended(&self) -> Option<String> {
        match self.identifier.next(Duration::ZERO) {
            Ok(None) => None,
            Ok(Some(event)) if event.kind == cm_event::TIMEWAIT_EXIT => None,
            Ok(Some(event)) => Some(self.identifier.libraries.event_text(event.kind)),
            Err(error) => Some(error.to_string()),
        }
    }

    /// Requests a signal for the next completion. A thread that sleeps must poll once more after
    /// this.
    pub fn arm(&self) {
        self.completions.take_signals();
        self.completions.arm();
    }

    /// Sleeps until a completion comes that [`Endpoint::arm`] has requested; `false` if none came
    /// within the time.
    pub fn sleep(&self, at_most: Duration) -> bool {
        let came = wait_readable(self.completions.descriptor(), at_most);
        self.completions.take_signals();
        came
    }
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        // SAFETY: the identifier belongs to this library. It is not an error if the connection has
        // already ended. Without the queue pair, the adapter can no longer access the memory of
        // messages.
        unsafe {
            (self.identifier.libraries.manager.rdma_disconnect)(self.identifier.id);
            if !self.pair().is_null() {
                (self.identifier.libraries.manager.rdma_destroy_qp)(self.identifier.id);
            }
        }
    }
}
