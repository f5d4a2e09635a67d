//! TLS 1.2 and 1.3 on stream sockets.
//!
//! ```text
//! trust     whom a client believes, and who it is     ▶ TlsClient ─┐
//! identity  who a server is, and whom it lets in      ▶ TlsServer ─┤
//! channel   StreamSocket ▶ StreamChannel: plain ─ handshake ───────┴─▶ secured
//! ```
//!
//! A channel moves bytes as its socket would: pieces of memory without waiting, or reads and writes
//! that wait. The protocol and the cryptography are those of rustls with ring. Deliberately not
//! here: early data, pre-shared keys, the kernel's TLS, and what the bytes mean.

mod channel;
mod identity;
mod sealed;
mod trust;

pub use channel::StreamChannel;
pub use identity::TlsServer;
pub use trust::{TlsClient, TlsFileError, TlsTrust};
