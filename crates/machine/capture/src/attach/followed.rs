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

/// Largest number of io_uring requests in flight; older ones were lost.
const MOST_REQUESTS: usize = 1 << 17;

/// The processes that are followed.
pub(super) struct Followed<'r, 'w> {
    recorder: &'r mut Recorder<'w>,
    start_ns: u64,
    tables: ByNumber<i32, Table>,
    /// What processes had open when they ran another program, where procfs can tell no more.
    before_exec: ByNumber<i32, Table>,
    /// How often each descriptor of a process is closed by records that have been read, and not taken.
    closes: HashMap<(i32, i32), u32>,
    numbers: ByNumber<i32, u32>,
    calls: ByNumber<i32, (u64, [u64; 6], u64)>,
    requests: ByNumber<u64, (Call, u64, u32)>,
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

    /// Looks at what a process has open.
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

    /// A record has been read, and will be taken later.
    pub(super) fn comes(&mut self, event: &Event) {
        if let What::Begins { call, arguments: [fd, ..] } = event.what
            && call == libc::SYS_close as u64
        {
            *self.closes.entry((event.process, fd as i32)).or_default() += 1;
        }
    }

    /// The record of a close is taken: procfs tells of the descriptor as it is after that.
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
                self.calls.insert(event.thread, (call, arguments, event.time_ns));
            }
            What::Ends { call, result } => match self.calls.remove(&event.thread) {
                Some((begun, arguments, time_ns)) if begun == call => {
                    self.call(event, (call, arguments), (time_ns, result));
                }
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
                self.requests.insert(request, (call, event.time_ns, thread));
            }
            What::Completes { request, result } => {
                let Some((call, time_ns, thread)) = self.requests.remove(&request) else { return };
                self.without_place += u64::from(call.moves_data());
                let times = (time_ns, event.time_ns);
                self.write(call, (thread, times), (NO_FILE, None), (result.max(0) as u64, result), Flags::default());
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
        // What has been closed since may stand for something else now.
        let is_current = !self.closes.contains_key(&(process, fd));
        let now = is_current.then(|| descriptors::look_up(self.recorder, process, fd)).flatten();
        let before = || self.before_exec.get(&process).and_then(|table| table.get(fd));
        let open = now.or_else(before).unwrap_or_else(|| {
            // It is closed, or the process has ended: it may not have been a file.
            let path = format!("descriptor {fd} of process {process}, closed before it was looked up");
            let file = self.recorder.file((0, 0), File { path, ..File::default() });
            let (kind, position, flags) = (FileKind::Unknown, 0, Flags::default());
            Rc::new(std::cell::RefCell::new(Open { file, kind, position, flags }))
        });
        self.tables.entry(process).or_default().insert(fd, open.clone());
        Some(open)
    }

    fn write(
        &mut self,
        call: Call,
        (thread, (begin_ns, end_ns)): (u32, (u64, u64)),
        (file, offset): (u32, Option<u64>),
        (length, result): (u64, i64),
        flags: Flags,
    ) {
        let time_ns = begin_ns.saturating_sub(self.start_ns);
        let duration_ns = end_ns.saturating_sub(begin_ns);
        self.recorder.operation(&Operation { time_ns, duration_ns, thread, call, file, offset, length, result, flags });
    }

    /// A transfer at a place, or at the position of the descriptor.
    fn transfer(
        &mut self,
        call: Call,
        event: &Event,
        times: (u64, u64),
        (fd, at): (u64, Option<u64>),
        (length, result): (u64, i64),
    ) {
        let thread = self.number(event);
        let Some(open) = self.open(event.process, fd) else { return };
        let mut open = open.borrow_mut();
        let is_storage = open.kind.is_storage();
        let offset = at.or_else(|| is_storage.then_some(open.position));
        if at.is_none() && is_storage {
            open.position = open.position.saturating_add(result.max(0) as u64);
        }
        let (file, flags) = (open.file, open.flags);
        drop(open);
        self.write(call, (thread, times), (file, offset.filter(|_| is_storage)), (length, result), flags);
    }

    fn call(&mut self, event: &Event, (number, arguments): (u64, [u64; 6]), (begin_ns, result): (u64, i64)) {
        let Some(shape) = calls::shape_of(number) else { return };
        let [a, b, c, d, e, _] = arguments;
        let (times, process) = ((begin_ns, event.time_ns), event.process);
        let moved = (result.max(0) as u64, result);
        match shape {
            Shape::Plain(call) => self.transfer(call, event, times, (a, None), (c, result)),
            Shape::Positioned(call) => self.transfer(call, event, times, (a, Some(d)), (c, result)),
            // The vector cannot be read: the moved bytes count as the requested ones.
            Shape::Vector(call) => self.transfer(call, event, times, (a, None), moved),
            Shape::PositionedVector(call) => {
                let at = Some(d).filter(|offset| *offset != u64::MAX);
                self.transfer(call, event, times, (a, at), moved);
            }
            Shape::Move(from, to) => {
                for (call, fd, pointer) in [(from, a, b), (to, c, d)] {
                    self.side(call, event, times, (fd, pointer), (e, result));
                }
            }
            Shape::Sendfile => {
                self.side(Call::SendfileRead, event, times, (b, c), (d, result));
                self.side(Call::SendfileWrite, event, times, (a, 0), (d, result));
            }
            Shape::Sync(call) => self.on_file(call, event, times, a, (None, 0, result)),
            Shape::SyncRange => self.on_file(Call::SyncFileRange, event, times, a, (Some(b), c, result)),
            Shape::Allocate => self.on_file(Call::Fallocate, event, times, a, (Some(c), d, result)),
            Shape::Resize => self.on_file(Call::Ftruncate, event, times, a, (Some(b), 0, result)),
            Shape::Seek => {
                if let (Some(open), Ok(position)) = (self.open(process, a), u64::try_from(result)) {
                    open.borrow_mut().position = position;
                }
                self.on_file(Call::Lseek, event, times, a, (u64::try_from(result).ok(), 0, result.min(0)));
            }
            Shape::SyncAll => {
                let thread = self.number(event);
                self.write(Call::Sync, (thread, times), (NO_FILE, None), (0, result), Flags::default());
            }
            Shape::Open | Shape::OpenAt | Shape::OpenAt2 | Shape::Create => self.opened(event, times, result),
            Shape::Close => {
                if self.tables.get(&process).is_some_and(|table| table.get(a as i32).is_some()) {
                    self.on_file(Call::Close, event, times, a, (None, 0, result));
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

    /// One side of a call that moves data between two files: at a place in memory, which is not seen,
    /// or at the position.
    fn side(&mut self, call: Call, event: &Event, times: (u64, u64), (fd, pointer): (u64, u64), amounts: (u64, i64)) {
        if pointer == 0 {
            return self.transfer(call, event, times, (fd, None), amounts);
        }
        let thread = self.number(event);
        let Some(open) = self.open(event.process, fd) else { return };
        let (file, flags) = (open.borrow().file, open.borrow().flags);
        self.without_place += 1;
        self.write(call, (thread, times), (file, None), amounts, flags);
    }

    fn on_file(
        &mut self,
        call: Call,
        event: &Event,
        times: (u64, u64),
        fd: u64,
        (offset, length, result): (Option<u64>, u64, i64),
    ) {
        let thread = self.number(event);
        let Some(open) = self.open(event.process, fd) else { return };
        let (file, flags) = (open.borrow().file, open.borrow().flags);
        self.write(call, (thread, times), (file, offset), (length, result), flags);
    }

    fn opened(&mut self, event: &Event, times: (u64, u64), result: i64) {
        let Ok(fd) = u64::try_from(result) else { return };
        // The number may have meant another file before.
        self.forget(event.process, fd as i32);
        self.on_file(Call::Open, event, times, fd, (None, 0, 0));
        if let Some(open) = self.open(event.process, fd) {
            // Reads since then have moved the position that procfs reports.
            open.borrow_mut().position = 0;
        }
    }

    fn forget(&mut self, process: i32, fd: i32) {
        for tables in [&mut self.tables, &mut self.before_exec] {
            tables.entry(process).or_default().close(fd);
        }
    }

    /// Exec closes some descriptors; which, procfs tells, unless the process ends before it is asked.
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

    /// What was not seen.
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
