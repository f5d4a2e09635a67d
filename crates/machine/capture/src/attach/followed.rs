//! The effects of calls, as far as their arguments show: descriptors and positions of each process,
//! and the resulting operations.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use iolab_trace::{Call, File, FileKind, Flags, NO_FILE, Operation, Thread, Unseen};

use crate::by_number::ByNumber;
use crate::calls::{self, Shape};
use crate::capture::Recorder;
use crate::descriptors::{self, Table};
use crate::open_file::{Open, SharedOpen};

/// Something that happened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Event {
    pub(super) time_ns: u64,
    pub(super) process: i32,
    pub(super) thread: i32,
    pub(super) what: What,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum What {
    Begins {
        call: u64,
        arguments: [u64; 6],
    },
    Ends {
        call: u64,
        result: i64,
    },
    Submits {
        request: u64,
        opcode: u8,
    },
    Completes {
        request: u64,
        result: i64,
    },
    /// A thread, or a process by its first thread.
    Makes {
        child: i32,
    },
}

/// A call that has begun.
struct BegunCall {
    number: u64,
    arguments: [u64; 6],
    time_ns: u64,
}

/// A request of io_uring that has been submitted.
struct SubmittedRequest {
    call: Call,
    time_ns: u64,
    thread: u32,
}

/// A call or request that has ended, with the event of its end.
#[derive(Clone, Copy)]
struct Ended<'e> {
    call: Call,
    begin_ns: u64,
    result: i64,
    event: &'e Event,
}

/// Where in which file a call works.
struct Place {
    file: u32,
    offset: Option<u64>,
    flags: Flags,
}

impl Place {
    /// Of a call without a file.
    const NOWHERE: Place = Place { file: NO_FILE, offset: None, flags: Flags(0) };
}

/// Largest number of io_uring requests in flight; older ones were lost.
const MOST_REQUESTS: usize = 1 << 17;

/// The processes that are followed.
pub(super) struct Followed<'r, 'w> {
    recorder: &'r mut Recorder<'w>,
    start_ns: u64,
    tables: ByNumber<i32, Table>,
    /// Open files of processes when they ran another program, if procfs has them no more.
    before_exec: ByNumber<i32, Table>,
    /// How many closes of each descriptor of a process were read as records but not yet handled.
    closes: HashMap<(i32, i32), u32>,
    numbers: ByNumber<i32, u32>,
    calls: ByNumber<i32, BegunCall>,
    requests: ByNumber<u64, SubmittedRequest>,
    maps: u64,
    aio: u64,
    without_place: u64,
    without_begin: u64,
}

impl<'r, 'w> Followed<'r, 'w> {
    pub(super) fn new(recorder: &'r mut Recorder<'w>, start_ns: u64) -> Followed<'r, 'w> {
        Followed {
            recorder,
            start_ns,
            tables: ByNumber::default(),
            before_exec: ByNumber::default(),
            closes: HashMap::new(),
            numbers: ByNumber::default(),
            calls: ByNumber::default(),
            requests: ByNumber::default(),
            maps: 0,
            aio: 0,
            without_place: 0,
            without_begin: 0,
        }
    }

    /// Reads the open files of a process.
    pub(super) fn look_at(&mut self, process: i32) {
        let entries = std::fs::read_dir(format!("/proc/{process}/fd"));
        let numbers =
            entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        for fd in numbers {
            if let Some(open) = descriptors::look_up(self.recorder, process, fd) {
                self.tables.entry(process).or_default().insert(fd, open);
            }
        }
    }

    /// A record was read, and will be handled later.
    pub(super) fn comes(&mut self, event: &Event) {
        if let What::Begins { call, arguments: [fd, ..] } = event.what
            && call == libc::SYS_close as u64
        {
            *self.closes.entry((event.process, fd as i32)).or_default() += 1;
        }
    }

    /// The record of a close is handled: procfs shows the descriptor as it is after that.
    fn close_is_taken(&mut self, process: i32, fd: i32) {
        if let Entry::Occupied(mut closes) = self.closes.entry((process, fd)) {
            *closes.get_mut() -= 1;
            if *closes.get() == 0 {
                closes.remove();
            }
        }
    }

    pub(super) fn take(&mut self, event: &Event) {
        match event.what {
            What::Begins { call, arguments } => {
                if call == libc::SYS_close as u64 {
                    self.close_is_taken(event.process, arguments[0] as i32);
                }
                self.calls.insert(event.thread, BegunCall { number: call, arguments, time_ns: event.time_ns });
            }
            What::Ends { call, result } => match self.calls.remove(&event.thread) {
                Some(begun) if begun.number == call => self.call(&begun, event, result),
                // It began before the capture did, or its beginning was lost.
                _ => self.without_begin += 1,
            },
            What::Makes { child } => {
                // A process inherits the descriptors of its parent; a thread is never looked up
                // under its own number.
                let table = self.tables.get(&event.process).cloned().unwrap_or_default();
                self.tables.insert(child, table);
                self.before_exec.remove(&child);
                self.calls.remove(&child);
                self.numbers.remove(&child);
            }
            What::Submits { request, opcode } => {
                let Some(call) = call_of(opcode) else { return };
                if self.requests.len() >= MOST_REQUESTS {
                    self.requests.clear();
                }
                let thread = self.number(event);
                self.requests.insert(request, SubmittedRequest { call, time_ns: event.time_ns, thread });
            }
            What::Completes { request, result } => {
                let Some(SubmittedRequest { call, time_ns, thread }) = self.requests.remove(&request) else { return };
                self.without_place += u64::from(call.moves_data());
                let ended = Ended { call, begin_ns: time_ns, result, event };
                self.write(thread, ended, Place::NOWHERE, result.max(0) as u64);
            }
        }
    }

    fn number(&mut self, event: &Event) -> u32 {
        if let Some(number) = self.numbers.get(&event.thread) {
            return *number;
        }
        let (process, thread) = (event.process, event.thread);
        let name = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/comm")).unwrap_or_default();
        let name = name.trim_end().to_owned();
        let number = self.recorder.thread(Thread { process: process as u32, id: thread as u32, name });
        self.numbers.insert(thread, number);
        number
    }

    fn open(&mut self, process: i32, fd: u64) -> Option<SharedOpen> {
        let fd = Some(fd as i32).filter(|fd| *fd >= 0)?;
        if let Some(open) = self.tables.get(&process).and_then(|table| table.get(fd)) {
            return Some(open);
        }
        // A descriptor that was closed since may refer to another file now.
        let is_current = !self.closes.contains_key(&(process, fd));
        let now = is_current.then(|| descriptors::look_up(self.recorder, process, fd)).flatten();
        let before = || self.before_exec.get(&process).and_then(|table| table.get(fd));
        let open = now.or_else(before).unwrap_or_else(|| {
            // It is closed, or the process has ended: it may not have been a file.
            let path = format!("descriptor {fd} of process {process}, closed before it was looked up");
            let file = self.recorder.file(0, 0, File { path, ..File::default() });
            let (kind, position, flags) = (FileKind::Unknown, 0, Flags::default());
            Rc::new(std::cell::RefCell::new(Open { file, kind, position, flags }))
        });
        self.tables.entry(process).or_default().insert(fd, open.clone());
        Some(open)
    }

    fn write(&mut self, thread: u32, ended: Ended<'_>, place: Place, length: u64) {
        let Place { file, offset, flags } = place;
        let Ended { call, begin_ns, result, event } = ended;
        let time_ns = begin_ns.saturating_sub(self.start_ns);
        let duration_ns = event.time_ns.saturating_sub(begin_ns);
        self.recorder.operation(&Operation { time_ns, duration_ns, thread, call, file, offset, length, result, flags });
    }

    /// A transfer at a place, or at the position of the descriptor.
    fn transfer(&mut self, ended: Ended<'_>, fd: u64, at: Option<u64>, length: u64) {
        let thread = self.number(ended.event);
        let Some(open) = self.open(ended.event.process, fd) else { return };
        let mut open = open.borrow_mut();
        let is_storage = open.kind.is_storage();
        let offset = at.or_else(|| is_storage.then_some(open.position));
        if at.is_none() && is_storage {
            open.position = open.position.saturating_add(ended.result.max(0) as u64);
        }
        let place = Place { file: open.file, offset: offset.filter(|_| is_storage), flags: open.flags };
        drop(open);
        self.write(thread, ended, place, length);
    }

    fn call(&mut self, begun: &BegunCall, event: &Event, result: i64) {
        let Some(shape) = calls::shape_of(begun.number) else { return };
        let [a, b, c, d, e, _] = begun.arguments;
        let process = event.process;
        let moved = result.max(0) as u64;
        let ended = |call| Ended { call, begin_ns: begun.time_ns, result, event };
        match shape {
            Shape::Plain(call) => self.transfer(ended(call), a, None, c),
            Shape::Positioned(call) => self.transfer(ended(call), a, Some(d), c),
            // The vector cannot be read: the moved bytes count as the requested ones.
            Shape::Vector(call) => self.transfer(ended(call), a, None, moved),
            Shape::PositionedVector(call) => {
                let at = Some(d).filter(|offset| *offset != u64::MAX);
                self.transfer(ended(call), a, at, moved);
            }
            Shape::Move(from, to) => {
                for (call, fd, pointer) in [(from, a, b), (to, c, d)] {
                    self.side(ended(call), fd, pointer, e);
                }
            }
            Shape::Sendfile => {
                self.side(ended(Call::SendfileRead), b, c, d);
                self.side(ended(Call::SendfileWrite), a, 0, d);
            }
            Shape::Sync(call) => self.on_file(ended(call), a, None, 0),
            Shape::SyncRange => self.on_file(ended(Call::SyncFileRange), a, Some(b), c),
            Shape::Allocate => self.on_file(ended(Call::Fallocate), a, Some(c), d),
            Shape::Resize => self.on_file(ended(Call::Ftruncate), a, Some(b), 0),
            Shape::Seek => {
                if let (Some(open), Ok(position)) = (self.open(process, a), u64::try_from(result)) {
                    open.borrow_mut().position = position;
                }
                let ended = Ended { result: result.min(0), ..ended(Call::Lseek) };
                self.on_file(ended, a, u64::try_from(result).ok(), 0);
            }
            Shape::SyncAll => {
                let thread = self.number(event);
                self.write(thread, ended(Call::Sync), Place::NOWHERE, 0);
            }
            Shape::Open | Shape::OpenAt | Shape::OpenAt2 | Shape::Create => self.opened(ended(Call::Open)),
            Shape::Close => {
                if self.tables.get(&process).is_some_and(|table| table.get(a as i32).is_some()) {
                    self.on_file(ended(Call::Close), a, None, 0);
                }
                self.forget(process, a as i32);
            }
            Shape::CloseRange => self.tables.entry(process).or_default().close_range(a, b),
            Shape::Dup => self.copied(process, a, result),
            Shape::DupTo => self.copied(process, a, result),
            Shape::Control if [libc::F_DUPFD, libc::F_DUPFD_CLOEXEC].contains(&(b as i32)) => {
                self.copied(process, a, result);
            }
            // Flags may have changed: they are looked up again.
            Shape::Control if b as i32 == libc::F_SETFL => {
                let position = self.tables.get(&process).and_then(|table| Some(table.get(a as i32)?.borrow().position));
                self.tables.entry(process).or_default().close(a as i32);
                if let (Some(position), Some(open)) = (position, self.open(process, a)) {
                    open.borrow_mut().position = position;
                }
            }
            Shape::Map if result >= 0 && (e as i32) >= 0 => self.maps += 1,
            Shape::AioSubmit => self.aio += result.max(0) as u64,
            Shape::Exec if result == 0 => self.keep_before_exec(process),
            _ => {}
        }
    }

    /// One side of a call that moves data between two files: at an offset in memory, which is not
    /// visible, or at the position.
    fn side(&mut self, ended: Ended<'_>, fd: u64, pointer: u64, length: u64) {
        if pointer == 0 {
            return self.transfer(ended, fd, None, length);
        }
        let has_file = self.open(ended.event.process, fd).is_some();
        self.without_place += u64::from(has_file);
        self.on_file(ended, fd, None, length);
    }

    fn on_file(&mut self, ended: Ended<'_>, fd: u64, offset: Option<u64>, length: u64) {
        let thread = self.number(ended.event);
        let Some(open) = self.open(ended.event.process, fd) else { return };
        let (file, flags) = (open.borrow().file, open.borrow().flags);
        self.write(thread, ended, Place { file, offset, flags }, length);
    }

    fn opened(&mut self, ended: Ended<'_>) {
        let Ok(fd) = u64::try_from(ended.result) else { return };
        let process = ended.event.process;
        // The number may have meant another file before.
        self.forget(process, fd as i32);
        self.on_file(Ended { result: 0, ..ended }, fd, None, 0);
        if let Some(open) = self.open(process, fd) {
            // Reads since then have moved the position that procfs reports.
            open.borrow_mut().position = 0;
        }
    }

    fn forget(&mut self, process: i32, fd: i32) {
        for tables in [&mut self.tables, &mut self.before_exec] {
            tables.entry(process).or_default().close(fd);
        }
    }

    /// Exec closes some descriptors. procfs shows which, unless the process ends before it is read.
    fn keep_before_exec(&mut self, process: i32) {
        if let Some(table) = self.tables.remove(&process) {
            self.before_exec.insert(process, table);
        }
    }

    fn copied(&mut self, process: i32, fd: u64, result: i64) {
        if let (Ok(to), Some(_)) = (i32::try_from(result), self.open(process, fd)) {
            self.tables.entry(process).or_default().copy(fd as i32, to);
        }
    }

    /// Counts of unseen operations.
    pub(super) fn finish(self) -> Vec<Unseen> {
        let under_way = self.requests.len() as u64 + self.calls.len() as u64;
        [
            (self.maps, "mappings of files: what is read and written through memory is not here"),
            (
                self.aio,
                "control blocks of native AIO: a tracepoint does not show them (capture the program from its start)",
            ),
            (
                self.without_place,
                "transfers whose place in the file a tracepoint does not show (io_uring, offsets in memory)",
            ),
            (self.without_begin, "calls that had begun before the capture, or whose beginning was lost"),
            (under_way, "calls and requests that had not ended when the capture did"),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| Unseen { what: what.to_owned(), count: Some(count), bytes: None })
        .collect()
    }
}

/// The operations of io_uring that a trace knows, by their codes (io_uring_enter(2)).
fn call_of(opcode: u8) -> Option<Call> {
    match opcode {
        1 | 4 | 22 => Some(Call::UringRead),
        2 | 5 | 23 => Some(Call::UringWrite),
        3 => Some(Call::UringFsync),
        8 => Some(Call::UringSyncFileRange),
        17 => Some(Call::UringFallocate),
        55 => Some(Call::UringFtruncate),
        _ => None,
    }
}
