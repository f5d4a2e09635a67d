//! The `http` engine: objects of S3, WebDAV and Swift servers.
//!
//! ```text
//! op ─ object: which path ─ request: head, signed ▶ exchange ▶ socket          one at a time, on one
//!                                                    response ◀ status, body   connection that stays open
//! ```
//!
//! HTTP/1.1, with TLS or without. Data moves between the connection and the slot; what came with
//! the head of a response is copied. Deliberately not here: redirects, multipart uploads, listing.

mod exchange;
mod lane;
mod object;
mod options;
mod request;
mod response;
mod signature;
#[cfg(test)]
mod tests;

use iolab_engine::{Capabilities, Engine, EngineDescription, FileUse, LaneRequest, OpenError};

pub use lane::HttpLane;

/// The engine.
#[derive(Debug, Clone, Copy)]
pub struct Http;

impl Engine for Http {
    type Lane = HttpLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "http",
        aliases: &[],
        summary: "Objects of S3, WebDAV and Swift servers: GET, PUT and DELETE over HTTP/1.1",
        details: "A read is a GET, a write a PUT, a trim a DELETE, one at a time on a connection that stays open: more \
            at once need numjobs. Each block is an object, FILENAME_OFFSET_LENGTH (http_object_mode=block), or reads \
            are ranges of the object FILENAME (range). Requests to S3 are signed (version 4), with the checksum of \
            the data. A PUT that was answered is stored, so fsync has nothing to do. https=on secures the connection by TLS.",
        options: &options::OPTIONS,
        capabilities: Capabilities {
            synchronous: true,
            extends_files: true,
            ..Capabilities::own_storage(FileUse::Nothing)
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<HttpLane, OpenError> {
        HttpLane::open(request)
    }
}
