//! The lane: each operation is one request, from beginning to end.
//!
//! Unsafe because it makes slices of slots, which are the lane's while it performs an operation.
#![allow(unsafe_code, reason = "island: slots as slices for the duration of an operation")]

use iolab_clock::Clock;
use iolab_engine::{
    CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission, Wait,
};

use crate::exchange::{Exchange, HttpAnswer, Sent, Trouble};
use crate::object::{append_number, append_path};
use crate::options::Asked;
use crate::request::{Heads, Wanted};
use crate::response::errno;

/// The most notes of a lane: one for each kind of trouble, and not for ever.
const MOST_NOTES: usize = 8;

/// A lane on the objects of a server.
#[derive(Debug)]
pub struct HttpLane {
    asked: Asked,
    heads: Heads,
    exchange: Exchange,
    /// The path of each file, as it is sent.
    files: Box<[HttpFile]>,
    view: PoolView,
    done: CompletionRow,
    head: String,
    path: String,
    noted: Vec<i32>,
    notes: Vec<String>,
    clock: Clock,
}

#[derive(Debug)]
struct HttpFile {
    path: String,
    /// Whether the object may be replaced: it was not there, or is iolab's.
    may_replace: bool,
}

impl HttpLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<HttpLane, OpenError> {
        let asked = Asked::of(request.options).map_err(|message| OpenError { message, errno: Some(libc::EINVAL) })?;
        let mut exchange = Exchange::new(&asked);
        exchange.connect().map_err(|Trouble { errno, why }| OpenError {
            message: format!("http_host={}: {why}", asked.authority),
            errno: Some(errno),
        })?;
        let file = |name: &std::path::Path| {
            let mut path = String::new();
            append_path(&mut path, &name.to_string_lossy());
            HttpFile { path, may_replace: false }
        };
        Ok(HttpLane {
            heads: Heads::new(&asked),
            exchange,
            files: request.files.iter().map(|target| file(&target.path)).collect(),
            view: request.buffers,
            done: CompletionRow::with_depth(1),
            head: String::with_capacity(1024),
            path: String::with_capacity(256),
            noted: Vec::with_capacity(MOST_NOTES),
            notes: Vec::new(),
            clock: Clock::best().0,
            asked,
        })
    }

    /// One request and its answer.
    fn round(&mut self, wanted: &Wanted<'_>, to: &mut [u8]) -> Result<HttpAnswer, i32> {
        let seconds = self.clock.unix_ns() / 1_000_000_000;
        self.heads.write(&mut self.head, wanted, seconds);
        let content = wanted.content.unwrap_or_default();
        let sent = Sent { head: &self.head, content, has_body: wanted.method != "HEAD" };
        match self.exchange.round(&sent, to) {
            Ok(answer) => Ok(answer),
            Err(Trouble { errno, why }) => {
                self.note(errno, || why);
                Err(errno)
            }
        }
    }

    /// Keeps the first trouble of each kind.
    fn note(&mut self, kind: i32, what: impl FnOnce() -> String) {
        if self.noted.len() < MOST_NOTES && !self.noted.contains(&kind) {
            self.noted.push(kind);
            let host = &self.asked.authority;
            self.notes.push(format!("http_host={host}: {}", what()));
        }
    }

    /// The errno of an answer that is none of those that were hoped for.
    fn refused(&mut self, wanted: &Wanted<'_>, answer: &HttpAnswer) -> i32 {
        let HttpAnswer { status, text, .. } = answer;
        self.note(i32::from(*status), || {
            let colon = if text.is_empty() { "" } else { ": " };
            format!("{} {}: status {status}{colon}{text}", wanted.method, wanted.path)
        });
        errno(*status)
    }

    fn execute(&mut self, op: &Op, path: &str) -> Result<i32, i32> {
        if op.kind.is_sync() {
            return Ok(0);
        }
        let slot = self.view.range_ptr(usize::from(op.slot), op.buffer_offset as usize, op.length as usize);
        let slot = slot.ok_or(libc::EFAULT)?;
        let bytes = op.length as usize;
        let wanted = Wanted { method: "GET", path, range: None, content: None };
        match op.kind {
            OpKind::Write => {
                if self.asked.ranges {
                    self.check_replacing(op.file as usize, path)?;
                }
                // SAFETY: the bytes lie in the slot (`range_ptr`), whose pool outlives the lane;
                // the slot is the lane's until the operation is done, and nobody writes to it.
                let content = unsafe { std::slice::from_raw_parts(slot, bytes) };
                let wanted = Wanted { method: "PUT", content: Some(content), ..wanted };
                let answer = self.round(&wanted, &mut [])?;
                match answer.status {
                    200 | 201 | 204 => Ok(op.length as i32),
                    _ => Err(self.refused(&wanted, &answer)),
                }
            }
            OpKind::Read => {
                // SAFETY: as above; nobody else reads or writes the slot meanwhile.
                let to = unsafe { std::slice::from_raw_parts_mut(slot, bytes) };
                let range = self.asked.ranges.then_some((op.offset, op.length));
                let wanted = Wanted { range, ..wanted };
                let answer = self.round(&wanted, to)?;
                match answer.status {
                    200 | 206 if answer.body_bytes == u64::from(op.length) => Ok(op.length as i32),
                    200 | 206 => {
                        let came = answer.body_bytes;
                        self.note(0, || format!("GET {path}: {came} bytes came where {bytes} were asked for"));
                        Err(libc::EIO)
                    }
                    _ => Err(self.refused(&wanted, &answer)),
                }
            }
            _ => {
                let wanted = Wanted { method: "DELETE", ..wanted };
                let answer = self.round(&wanted, &mut [])?;
                match answer.status {
                    // What is not there is trimmed.
                    200 | 202 | 204 | 404 => Ok(0),
                    _ => Err(self.refused(&wanted, &answer)),
                }
            }
        }
    }

    /// Whether the object of a file may be made anew. Asks once.
    fn check_replacing(&mut self, file: usize, path: &str) -> Result<(), i32> {
        if self.files[file].may_replace {
            return Ok(());
        }
        let wanted = Wanted { method: "HEAD", path, range: None, content: None };
        let answer = self.round(&wanted, &mut [])?;
        match answer.status {
            404 => {}
            200 | 204 if answer.is_marked => {}
            200 | 204 => {
                self.note(libc::EPERM, || format!("{path} is there and not iolab's; remove it, or name another"));
                return Err(libc::EPERM);
            }
            _ => return Err(self.refused(&wanted, &answer)),
        }
        self.files[file].may_replace = true;
        Ok(())
    }
}

impl Lane for HttpLane {
    const SYNCHRONOUS: bool = true;

    fn submit(&mut self, op: &Op) -> Submission {
        if self.done.is_full() {
            return Submission::Full;
        }
        let Some(file) = self.files.get(op.file as usize) else { return Submission::Refused(libc::EBADF) };
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        path.push_str(&file.path);
        if !self.asked.ranges {
            path.push('_');
            append_number(&mut path, op.offset);
            path.push('_');
            append_number(&mut path, u64::from(op.length));
        }
        let result = self.execute(op, &path);
        self.path = path;
        // What the server refuses is a completion like that of a device.
        self.done.take(op.slot, Ok(result.unwrap_or_else(|errno| -errno)))
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        Ok(self.done.drain_into(out))
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
