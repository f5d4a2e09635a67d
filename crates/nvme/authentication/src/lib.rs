//! DH-HMAC-CHAP: host and controller prove to each other that they know a secret, without sending
//! it (Base, section 8.13.5).
//!
//! ```text
//! host                                              controller
//! HostExchange ── negotiate: hashes, groups ──────▶ ControllerExchange
//!              ◀─ challenge: hash, group, C1, g^x ─
//!              ── reply: R1, C2, g^y ─────────────▶  R1 wrong ─▶ failure1
//!              ◀─ success1: R2 ───────────────────
//!  R2 wrong ─▶ failure2;   success2 ──────────────▶
//! ```
//!
//! Guarantees: decoding is total, whatever a peer sends; responses are compared in constant time;
//! only [`Secret::text`] outputs a secret. Not included: the commands that carry the messages, the
//! source of random bytes ([`Entropy`] is passed in), TLS and its keys.
#![forbid(unsafe_code)]

mod controller;
mod group;
mod hash;
mod host;
mod message;
mod response;
mod secret;

pub use controller::{ControllerExchange, ExchangeRefusal, ExchangeStage, Preferences};
pub use group::DhGroup;
pub use hash::HashFunction;
pub use host::{AuthenticationLine, HostSecrets, LineError, authenticate};
pub use message::{AuthenticationFailure, MOST_MESSAGE_BYTES};
pub use response::{ENTROPY_BYTES, Entropy};
pub use secret::{Secret, SecretError};
