//! The client: operations to connections, poll(2) waits for all of them, `nfs_service` calls back.
//!
//! Unsafe code: calls of the library with slots, which it reads until it calls back.

use std::ffi::c_void;

use iolab_engine::waiting::poll_for;
use iolab_engine::{CompletionRow, LaneClient, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView};
use rustix::event::{PollFd, PollFlags};

use crate::desk::{DeskHandle, Flight, landed};
use crate::mount::Mount;
use crate::options::{Asked, MOST_CONNECTIONS};

/// A client of files of an export.
#[derive(Debug)]
pub struct NfsClient {
    /// Dropped first: the contexts know addresses of the desk. `None` is one that was given up.
    mounts: Box<[Option<Mount>]>,
    /// The errno with which each connection was given up.
    broken: Box<[Option<i32>]>,
    desk: DeskHandle,
    view: PoolView,
    names: Box<[String]>,
    done: CompletionRow,
    /// Whether why an operation failed has been told.
    is_failure_told: bool,
    notes: Vec<String>,
}

// SAFETY: the contexts and the desk belong to the lane, and one thread at a time uses it.
unsafe impl Send for NfsClient {}

impl NfsClient {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<NfsClient, OpenError> {
        let asked =
            Asked::of(request.options).map_err(|what| OpenError { message: what, errno: Some(libc::EINVAL) })?;
        let names: Box<[String]> =
            request.files.iter().map(|target| target.path.to_string_lossy().into_owned()).collect();
        let mut mounts = Vec::new();
        for _ in 0..asked.connections {
            let mut mount = Mount::open(&asked, names.len())?;
            for (number, name) in names.iter().enumerate() {
                match mount.open_file(number, name, false) {
                    // The first write makes it.
                    Err(error) if error.errno == Some(libc::ENOENT) => {}
                    other => other?,
                }
            }
            mounts.push(Some(mount));
        }
        Ok(NfsClient {
            broken: vec![None; mounts.len()].into(),
            desk: DeskHandle::new(request.depth, mounts.len()),
            mounts: mounts.into(),
            view: request.buffers,
            names,
            done: CompletionRow::with_depth(request.depth),
            is_failure_told: false,
            notes: Vec::new(),
        })
    }

    /// Opens a file that was not there when the lane was opened; makes it for a write.
    #[cold]
    fn open_late(&mut self, connection: usize, file: usize, make: bool) -> Result<*mut c_void, i32> {
        let name = &self.names[file];
        let Some(mount) = &mut self.mounts[connection] else { return Err(libc::ENOTCONN) };
        match mount.open_file(file, name, make) {
            Ok(()) => mount.handles[file].ok_or(libc::ENOENT),
            Err(error) => {
                self.tell_failure(|| error.message);
                Err(error.errno.unwrap_or(libc::EIO))
            }
        }
    }

    /// Makes a note of the first failure.
    fn tell_failure(&mut self, what: impl FnOnce() -> String) {
        if !self.is_failure_told {
            self.is_failure_told = true;
            self.notes.push(what());
        }
    }

    /// Gives a connection up, and all operations that it owes.
    #[cold]
    fn give_up(&mut self, connection: usize, errno: i32, why: &str) {
        self.broken[connection] = Some(errno);
        let desk = self.desk.desk();
        desk.cut_off_as.set(errno);
        if let Some(mount) = self.mounts[connection].take() {
            self.notes.push(mount.note(why));
            // Destroying the context calls back for what it has.
            drop(mount);
        }
        desk.end_all(connection, errno);
        desk.cut_off_as.set(0);
    }

    /// Waits until a socket is ready, at most for so long, and lets the library work.
    fn turn(&mut self, timeout_ns: u64) -> Result<(), LaneError> {
        let mut ready = [PollFlags::empty(); MOST_CONNECTIONS];
        let mut numbers = [0; MOST_CONNECTIONS];
        let mut count = 0;
        let mut closed = None;
        {
            let owes = &self.desk.desk().owes;
            let mut places: [Option<PollFd<'_>>; MOST_CONNECTIONS] = [const { None }; MOST_CONNECTIONS];
            for (number, mount) in self.mounts.iter().enumerate() {
                let Some(mount) = mount else { continue };
                if owes[number].get() == 0 {
                    continue;
                }
                match mount.waits_for() {
                    Some(place) => {
                        (places[count], numbers[count]) = (Some(place), number);
                        count += 1;
                    }
                    None => closed = Some(number),
                }
            }
            if let (Some(first), None) = (places[0].clone(), closed) {
                // What is left of the list is the first one again.
                let mut list: [PollFd<'_>; MOST_CONNECTIONS] =
                    std::array::from_fn(|place| places[place].take().unwrap_or_else(|| first.clone()));
                poll_for(&mut list[..count], timeout_ns)?;
                for (ready, place) in ready.iter_mut().zip(&list[..count]) {
                    *ready = place.revents();
                }
            }
        }
        if let Some(number) = closed {
            self.give_up(number, libc::ECONNRESET, "it is closed");
            return Ok(());
        }
        for (number, ready) in numbers[..count].iter().zip(&ready[..count]) {
            if !ready.is_empty() {
                self.serve(*number, *ready);
            }
        }
        Ok(())
    }

    fn serve(&mut self, number: usize, ready: PollFlags) {
        let Some(mount) = &mut self.mounts[number] else { return };
        let before = self.desk.desk().owes[number].get();
        let answer = mount.serve(ready);
        if self.desk.desk().owes[number].get() < before {
            mount.silent_since_ns = None;
        }
        if let Err(errno) = answer {
            self.give_up(number, errno, "the server has closed it");
        }
        let failure = self.desk.desk().failure.take();
        if let Some(why) = failure {
            self.tell_failure(|| format!("nfs: {why}"));
        }
    }
}

impl LaneClient for NfsClient {
    const WAITS_AT_END: bool = false;

    fn offer(&mut self, op: &Op) -> Result<(), i32> {
        let file = op.file as usize;
        if file >= self.names.len() {
            return Err(libc::EBADF);
        }
        let connection = usize::from(op.slot) % self.mounts.len();
        if let Some(errno) = self.broken[connection] {
            return Err(errno);
        }
        let bytes = if op.kind.moves_data() { op.length } else { 0 };
        let slot = self.view.range_ptr(usize::from(op.slot), op.buffer_offset as usize, bytes as usize);
        let slot = slot.ok_or(libc::EFAULT)?;
        if op.kind == OpKind::Trim {
            return Err(libc::EOPNOTSUPP);
        }
        let handle = match self.mounts[connection].as_ref().and_then(|mount| mount.handles[file]) {
            Some(handle) => handle,
            None => self.open_late(connection, file, op.kind == OpKind::Write)?,
        };
        let Some(mount) = &self.mounts[connection] else { return Err(libc::ENOTCONN) };
        let flight = self.desk.desk().begin(op.slot, connection).ok_or(libc::EBUSY)?;
        flight.to.set(if op.kind == OpKind::Read { slot } else { std::ptr::null_mut() });
        flight.bytes.set(bytes);
        let private = std::ptr::from_ref::<Flight>(flight).cast_mut().cast::<c_void>();
        let (functions, context, length) = (&mount.functions, mount.context, u64::from(bytes));
        // SAFETY: an open context and its handle; the bytes lie in the slot (`range_ptr`), which is
        // the lane's until the callback; the flight stays until the context is destroyed.
        let status = unsafe {
            match op.kind {
                OpKind::Read => (functions.nfs_pread_async)(context, handle, op.offset, length, landed, private),
                OpKind::Write => {
                    (functions.nfs_pwrite_async)(context, handle, op.offset, length, slot.cast(), landed, private)
                }
                _ => (functions.nfs_fsync_async)(context, handle, landed, private),
            }
        };
        if status != 0 {
            self.desk.desk().cancel(op.slot);
            return Err(libc::ENOMEM);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LaneError> {
        for number in 0..self.mounts.len() {
            if self.mounts[number].as_ref().is_some_and(Mount::has_unsent) {
                self.serve(number, PollFlags::OUT);
            }
        }
        Ok(())
    }

    fn take(&mut self) -> Result<(), LaneError> {
        let done = &mut self.done;
        self.desk.desk().mail.take(|completion| done.push(completion));
        Ok(())
    }

    fn done(&mut self) -> &mut CompletionRow {
        &mut self.done
    }

    fn wait(&mut self, timeout_ns: u64) -> Result<(), LaneError> {
        if self.desk.desk().owes.iter().any(|owes| owes.get() > 0) { self.turn(timeout_ns) } else { Ok(()) }
    }

    fn poke(&mut self) -> Result<(), LaneError> {
        self.turn(0)
    }

    fn give_up_silent(&mut self, now_ns: u64) -> u64 {
        let mut next_ns = u64::MAX;
        for number in 0..self.mounts.len() {
            let owes = self.desk.desk().owes[number].get();
            let Some(mount) = &mut self.mounts[number] else { continue };
            if owes == 0 {
                mount.silent_since_ns = None;
                continue;
            }
            let end_ns = mount.silent_since_ns.get_or_insert(now_ns).saturating_add(mount.timeout_ns);
            if now_ns >= end_ns {
                self.give_up(number, libc::ETIMEDOUT, "the server is silent");
            } else {
                next_ns = next_ns.min(end_ns);
            }
        }
        next_ns
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
