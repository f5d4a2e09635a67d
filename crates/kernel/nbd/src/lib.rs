//! NBD, the network block device protocol, as bytes.
//!
//! ```text
//! uri          nbd://HOST:PORT/NAME, nbd+unix:///NAME?socket=PATH, and nbds for TLS
//! options      what both ends say before an export is chosen
//! connecting   the client's end of the handshake        welcoming   the server's
//! request      a header of 28 bytes, after it the data of a write
//! reply        simple replies, and the chunks of structured ones
//! ```
//!
//! The rules are those of the NBD project's `doc/proto.md` and `doc/uri.md`: the newstyle handshake
//! with its fixed part, `NBD_OPT_STARTTLS`, `NBD_OPT_GO`, structured replies. Every length that a
//! peer sends is bounded before anything is allocated or read. Deliberately not here: sockets,
//! time, TLS itself, block status, extended headers, the oldstyle handshake.

mod connecting;
mod errors;
mod options;
mod reply;
mod request;
mod uri;
mod welcoming;

pub use connecting::{NbdExport, NbdGreeting, ask_for_tls, choose_export, choose_secured, leave};
pub use errors::{NbdHandshakeError, NbdStreamError, errno_of_wire, wire_of_errno};
pub use options::{NbdFlags, NbdSizes};
pub use reply::{
    CHUNK_BYTES, DATA_CHUNK_BYTES, NbdChunk, NbdReply, SIMPLE_REPLY_BYTES, data_chunk, done_chunk, error_chunk,
    simple_reply,
};
pub use request::{NbdCommand, NbdRequest, REQUEST_BYTES, command_flags};
pub use uri::{DEFAULT_PORT, NbdAddress, NbdTls, NbdUri, NbdUriError};
pub use welcoming::{NbdAgreement, NbdClientFlags, NbdOffer, welcome, welcome_secured, welcome_to_tls};
