//! After a call: its operations, and its changes to descriptors.

use iolab_trace::{Call, FileKind, Flags, NO_FILE, Operation, Role};

use crate::calls::{Shape, flags_of_transfer};
use crate::descriptors;
use crate::memory;
use crate::open_file::SharedOpen;
use crate::processes::{CallEnd, InCall, Processes};
use crate::uring::Ring;

/// The call will be restarted, or was interrupted so that it can be (`ERESTARTSYS` and similar,
/// include/linux/errno.h of Linux).
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;

const REGISTER_FILES: u64 = 2;
const REGISTER_FILES_UPDATE: u64 = 6;
const REGISTER_FILES2: u64 = 13;
const REGISTER_FILES_UPDATE2: u64 = 14;
const REGISTER_RINGS: u64 = 20;
/// Most files and rings that are registered at once.
const MOST_REGISTERED: u64 = 1 << 15;

/// What a call asked for.
struct Action {
    call: Call,
    /// `None` for the position of the descriptor, or where the call has no offset.
    offset: Option<u64>,
    length: u64,
    flags: Flags,
}

impl Action {
    fn new(call: Call) -> Action {
        Action { call, offset: None, length: 0, flags: Flags::default() }
    }
}

impl Processes<'_, '_> {
    /// Takes a call that has ended.
    pub(crate) fn take_call(&mut self, thread: i32, call: &InCall, end: CallEnd) {
        let result = end.result;
        if RESTARTS.contains(&result) {
            return;
        }
        let [a, b, c, d, _, f] = call.arguments;
        match call.shape {
            Shape::Plain(kind) => self.transfer(thread, call, &Action { length: c, ..Action::new(kind) }, end),
            Shape::Positioned(kind) => {
                let action = Action { length: c, offset: Some(d), ..Action::new(kind) };
                self.transfer(thread, call, &action, end);
            }
            Shape::Vector(kind) => {
                let length = memory::vector_length(thread, b, c);
                self.transfer(thread, call, &Action { length, ..Action::new(kind) }, end);
            }
            Shape::PositionedVector(kind) => {
                let has_flags = matches!(kind, Call::Preadv2 | Call::Pwritev2);
                let flags = if has_flags { flags_of_transfer(f) } else { Flags::default() };
                let offset = Some(d).filter(|offset| !has_flags || *offset != u64::MAX);
                let length = memory::vector_length(thread, b, c);
                self.transfer(thread, call, &Action { call: kind, offset, length, flags }, end);
            }
            Shape::Sync(kind) => self.record(thread, call, &Action::new(kind), end),
            Shape::SyncAll => self.record(thread, call, &Action::new(Call::Sync), end),
            Shape::SyncRange => {
                let action = Action { offset: Some(b), length: c, ..Action::new(Call::SyncFileRange) };
                self.record(thread, call, &action, end);
            }
            Shape::MemorySync => self.record(thread, call, &Action { length: b, ..Action::new(Call::Msync) }, end),
            Shape::Resize => self.record(thread, call, &Action { length: b, ..Action::new(Call::Ftruncate) }, end),
            Shape::ResizePath => self.record(thread, call, &Action { length: b, ..Action::new(Call::Truncate) }, end),
            Shape::Allocate => {
                let flags = Flags::default().and_if(b & !1 != 0, Flags::CHANGES_RANGE);
                let action = Action { call: Call::Fallocate, offset: Some(c), length: d, flags };
                self.record(thread, call, &action, end);
            }
            Shape::Seek => self.seek(thread, call, end),
            Shape::Map => self.map(thread, call, end),
            Shape::Move(..) | Shape::Sendfile => self.moved(thread, call, end),
            Shape::Open | Shape::OpenAt | Shape::OpenAt2 | Shape::Create => self.opened(thread, call, end),
            Shape::Close => {
                self.record(thread, call, &Action::new(Call::Close), end);
                self.shared(thread).table.close(a as i32);
            }
            Shape::CloseRange => {
                // With CLOSE_RANGE_CLOEXEC, descriptors are closed only at exec.
                if result == 0 && c & 4 == 0 {
                    self.shared(thread).table.close_range(u64::from(a as u32), u64::from(b as u32));
                }
            }
            Shape::Dup => self.copied(thread, call, end),
            Shape::DupTo => self.copied(thread, call, end),
            Shape::Control if b as i32 == libc::F_SETFL => {
                if let (0, Some(open)) = (result, &call.open[0]) {
                    // Flags that F_SETFL cannot change are kept: of the flags of a trace, the
                    // syncs.
                    let kept = Flags(open.borrow().flags.0 & (Flags::DATA_SYNC.0 | Flags::FILE_SYNC.0));
                    open.borrow_mut().flags = descriptors::flags_of_open(c as i32 & !libc::O_SYNC).and(kept);
                }
            }
            Shape::Control => self.copied(thread, call, end),
            Shape::AioSubmit => self.aio_submitted(thread, call, end),
            Shape::AioCollect => self.collect_aio(thread, a, false),
            Shape::RingSetup => {
                if let (Ok(fd), Some(ring)) = (i32::try_from(result), Ring::made(thread, b)) {
                    self.not_seen.polled_rings += u64::from(ring.kernel_polls());
                    self.shared(thread).table.insert_ring(fd, std::rc::Rc::new(std::cell::RefCell::new(ring)));
                }
            }
            Shape::RingEnter => self.ring_entered(thread, call, end),
            Shape::RingRegister => self.registered(thread, call, result),
            // Only a failed one ends here.
            Shape::Exec | Shape::Affinity => {}
        }
    }

    fn operation(&mut self, thread: i32, call: &InCall, action: &Action, end: CallEnd) -> Operation {
        let open = call.open[0].as_ref().map(|open| open.borrow());
        let file = open.as_ref().map_or(NO_FILE, |open| open.file);
        let flags = open.as_ref().map_or(action.flags, |open| open.flags.and(action.flags));
        drop(open);
        Operation {
            time_ns: call.time_ns,
            duration_ns: end.time_ns.saturating_sub(call.time_ns),
            thread: self.number(thread),
            call: action.call,
            file,
            offset: action.offset,
            length: action.length,
            result: if action.call.moves_data() { end.result } else { end.result.min(0) },
            flags,
        }
    }

    fn record(&mut self, thread: i32, call: &InCall, action: &Action, end: CallEnd) {
        let operation = self.operation(thread, call, action, end);
        self.recorder.operation(&operation);
    }

    /// A read or write, at an offset or at the position.
    fn transfer(&mut self, thread: i32, call: &InCall, action: &Action, end: CallEnd) {
        let mut offset = None;
        if let Some(open) = call.open[0].as_ref().filter(|open| has_places(open)) {
            let appends = action.call.effect() == iolab_trace::Effect::Write
                && open.borrow().flags.and(action.flags).has(Flags::APPEND);
            offset = match action.offset {
                None => Some(advance(thread, open, call.arguments[0], end.result, appends)),
                // The kernel appends regardless of the offset (pwrite(2)).
                Some(_) if appends => None,
                given => given,
            };
        }
        self.record(thread, call, &Action { offset, ..*action }, end);
    }

    /// Data moved between two descriptors: an operation for each side.
    fn moved(&mut self, thread: i32, call: &InCall, end: CallEnd) {
        let (kinds, length) = match call.shape {
            Shape::Move(source, target) => ([source, target], call.arguments[4]),
            _ => ([Call::SendfileRead, Call::SendfileWrite], call.arguments[3]),
        };
        for (side, kind) in kinds.into_iter().enumerate() {
            let Some(open) = call.open[side].clone() else { continue };
            let fd = match (call.shape, side) {
                (Shape::Move(..), 0) | (Shape::Sendfile, 1) => call.arguments[0],
                (Shape::Move(..), _) => call.arguments[2],
                _ => call.arguments[1],
            };
            let given = call.offsets[side];
            let place =
                has_places(&open).then(|| given.unwrap_or_else(|| advance(thread, &open, fd, end.result, false)));
            let one = InCall { open: [Some(open), None], ..in_call_like(call) };
            self.record(thread, &one, &Action { offset: place, length, ..Action::new(kind) }, end);
        }
    }

    fn seek(&mut self, thread: i32, call: &InCall, end: CallEnd) {
        let place = u64::try_from(end.result).ok();
        if let (Some(place), Some(open)) = (place, &call.open[0]) {
            open.borrow_mut().position = place;
        }
        self.record(thread, call, &Action { offset: place, ..Action::new(Call::Lseek) }, end);
    }

    /// `mmap(address, length, protection, how, fd, offset)`.
    fn map(&mut self, thread: i32, call: &InCall, end: CallEnd) {
        let [_, length, protection, how, fd, offset] = call.arguments;
        if let (Some(ring), Ok(address)) = (self.shared(thread).table.ring(fd as i32), u64::try_from(end.result)) {
            ring.borrow_mut().mapped(offset, address);
            return;
        }
        let is_shared = how & 3 != 2;
        let is_read_only = protection & 2 == 0;
        let is_data = call.open[0].as_ref().is_some_and(|open| open.borrow().kind.is_storage());
        let flags = Flags::default().and_if(is_shared, Flags::SHARED).and_if(is_read_only, Flags::READ_ONLY);
        let action = Action { call: Call::Mmap, offset: Some(offset), length, flags };
        let operation = self.operation(thread, call, &action, end);
        self.recorder.operation(&operation);
        if is_data && end.result >= 0 {
            let is_program = protection & 4 != 0 || self.recorder.role(operation.file) == Role::Program;
            self.not_seen.writable_maps += u64::from(is_shared && !is_read_only);
            self.not_seen.readable_maps += u64::from(!is_program && (!is_shared || is_read_only));
        }
    }

    fn opened(&mut self, thread: i32, call: &InCall, end: CallEnd) {
        let [_, b, c, ..] = call.arguments;
        let how = match call.shape {
            Shape::Open => b,
            Shape::OpenAt => c,
            Shape::OpenAt2 => memory::long(thread, c).unwrap_or(0),
            _ => (libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC) as u64,
        } as i32;
        let flags = Flags::default()
            .and_if(how & libc::O_CREAT != 0, Flags::CREATES)
            .and_if(how & libc::O_TRUNC != 0, Flags::EMPTIES)
            .and_if(how & libc::O_ACCMODE == libc::O_RDONLY, Flags::READ_ONLY);
        let fd = i32::try_from(end.result).ok().filter(|fd| *fd >= 0);
        if let Some(fd) = fd {
            self.shared(thread).table.close(fd);
        }
        let open = fd.and_then(|fd| self.open(thread, fd as u64));
        let one = InCall { open: [open, None], ..in_call_like(call) };
        self.record(thread, &one, &Action { flags, ..Action::new(Call::Open) }, end);
    }

    fn copied(&mut self, thread: i32, call: &InCall, end: CallEnd) {
        let fd = call.arguments[0] as i32;
        if let Some(to) = i32::try_from(end.result).ok().filter(|to| *to >= 0 && *to != fd) {
            self.shared(thread).table.copy(fd, to);
        }
        self.record(thread, call, &Action::new(Call::Dup), end);
    }

    fn aio_submitted(&mut self, thread: i32, call: &InCall, end: CallEnd) {
        let taken = usize::try_from(end.result).unwrap_or(0);
        for control in call.controls.iter().take(taken) {
            let Some(kind) = control.call else {
                self.not_seen.other_entries += 1;
                continue;
            };
            let open = self.open(thread, control.fd as u64);
            let one = InCall { open: [open, None], ..in_call_like(call) };
            let offset = Some(control.offset).filter(|_| kind.moves_data());
            let action = Action { call: kind, offset, length: control.length, flags: control.flags };
            let asked = CallEnd { result: control.length as i64, ..end };
            let operation = self.operation(thread, &one, &action, asked);
            let missed = self.shared(thread).aio.submitted(control.address, operation);
            missed.iter().for_each(|operation| self.unended(operation));
        }
        self.collect_aio(thread, call.arguments[0], false);
    }

    fn ring_entered(&mut self, thread: i32, call: &InCall, end: CallEnd) {
        let Some(ring) = call.ring.clone() else { return };
        let taken = usize::try_from(end.result).unwrap_or(0);
        if !ring.borrow().kernel_polls() {
            self.not_seen.unread_entries += taken.saturating_sub(call.entries.len()) as u64;
        }
        for entry in call.entries.iter().take(taken) {
            let Some(kind) = entry.call else {
                self.not_seen.other_entries += 1;
                continue;
            };
            let open = match entry.is_registered {
                true => ring.borrow().files.get(entry.fd as usize).cloned().flatten(),
                false => self.open(thread, entry.fd as u64),
            };
            let at_position = entry.offset == u64::MAX;
            let position = open.as_ref().filter(|open| at_position && has_places(open));
            let position = position.map(|open| advance(thread, open, entry.fd as u64, entry.length as i64, false));
            let ranges = kind.moves_data() || matches!(kind, Call::UringSyncFileRange | Call::UringFallocate);
            let offset = if at_position { position } else { Some(entry.offset).filter(|_| ranges) };
            let one = InCall { open: [open, None], ..in_call_like(call) };
            let action = Action { call: kind, offset, length: entry.length, flags: entry.flags };
            let asked = CallEnd { result: entry.length as i64, ..end };
            let operation = self.operation(thread, &one, &action, asked);
            ring.borrow_mut().submitted(entry.user_data, operation);
        }
        self.collect_ring(thread, &ring, false);
    }

    /// `io_uring_register(ring, what, argument, number)`.
    fn registered(&mut self, thread: i32, call: &InCall, result: i64) {
        let [_, what, argument, number, ..] = call.arguments;
        let Some(ring) = call.ring.clone() else { return };
        let words = |address: u64, count: u64| -> Vec<i32> {
            let count = count.min(MOST_REGISTERED);
            (0..count).map_while(|index| memory::word(thread, address + 4 * index)).map(|word| word as i32).collect()
        };
        let (first, fds) = match what {
            REGISTER_FILES if result == 0 => (0, words(argument, number)),
            REGISTER_FILES2 if result == 0 => {
                let (count, at) = (memory::word(thread, argument), memory::long(thread, argument + 16));
                (0, words(at.unwrap_or(0), u64::from(count.unwrap_or(0))))
            }
            REGISTER_FILES_UPDATE | REGISTER_FILES_UPDATE2 if result > 0 => {
                let (first, at) = (memory::word(thread, argument), memory::long(thread, argument + 8));
                (first.unwrap_or(0) as usize, words(at.unwrap_or(0), result as u64))
            }
            REGISTER_RINGS => {
                for index in 0..u64::try_from(result).unwrap_or(0).min(MOST_REGISTERED) {
                    let entry = argument + index * 16;
                    if let (Some(number), Some(fd)) = (memory::word(thread, entry), memory::word(thread, entry + 8)) {
                        self.register_ring(thread, number, fd as i32);
                    }
                }
                return;
            }
            _ => return,
        };
        let open: Vec<Option<SharedOpen>> = fds.into_iter().map(|fd| self.open(thread, fd as u64)).collect();
        let files = &mut ring.borrow_mut().files;
        let end = (first + open.len()).min(MOST_REGISTERED as usize);
        if files.len() < end {
            files.resize(end, None);
        }
        files.iter_mut().skip(first).zip(open).for_each(|(file, open)| *file = open);
    }
}

/// Whether offsets mean something there.
fn has_places(open: &SharedOpen) -> bool {
    matches!(open.borrow().kind, FileKind::Regular | FileKind::BlockDevice)
}

/// The place of a transfer at the position of a descriptor, which moves on.
fn advance(thread: i32, open: &SharedOpen, fd: u64, result: i64, appends: bool) -> u64 {
    let mut open = open.borrow_mut();
    let moved = u64::try_from(result).unwrap_or(0);
    if appends && let Some((after, _)) = descriptors::position_and_flags(thread, fd as i32) {
        open.position = after.saturating_sub(moved);
    }
    let place = open.position;
    open.position = place.saturating_add(moved);
    place
}

/// A call with the same time and arguments.
fn in_call_like(call: &InCall) -> InCall {
    InCall::at(call.shape, call.arguments, call.time_ns)
}
