//! Translates the calls of strace's text into operations.

use std::io::Write;

use iolab_trace::{Call as Kind, Flags, NO_FILE, Operation};

use super::arguments::numbers_of;
use super::descriptors::{Descriptors, Known};
use super::line::Call;
use crate::sink::ImportError;
use crate::sink::{Imported, Sink};

/// Takes calls one by one.
pub(super) struct Calls<W> {
    pub(super) sink: Sink<W>,
    descriptors: Descriptors,
    /// When the last call ended, ns.
    pub(super) last_end_ns: u64,
    ring_entries: u64,
    mappings: u64,
    aio: u64,
    no_durations: bool,
}

/// A call on one descriptor, and which of its arguments are its offset and its length.
struct OnDescriptor {
    name: &'static str,
    call: Kind,
    offset_at: Option<usize>,
    length_at: Option<usize>,
}

impl OnDescriptor {
    const fn new(name: &'static str, call: Kind, offset_at: Option<usize>, length_at: Option<usize>) -> OnDescriptor {
        OnDescriptor { name, call, offset_at, length_at }
    }
}

/// Reads and writes. Without a length argument, the length is the sum over the vector.
const TRANSFERS: [OnDescriptor; 10] = [
    OnDescriptor::new("read", Kind::Read, None, Some(2)),
    OnDescriptor::new("write", Kind::Write, None, Some(2)),
    OnDescriptor::new("pread64", Kind::Pread, Some(3), Some(2)),
    OnDescriptor::new("pwrite64", Kind::Pwrite, Some(3), Some(2)),
    OnDescriptor::new("readv", Kind::Readv, None, None),
    OnDescriptor::new("writev", Kind::Writev, None, None),
    OnDescriptor::new("preadv", Kind::Preadv, Some(3), None),
    OnDescriptor::new("pwritev", Kind::Pwritev, Some(3), None),
    OnDescriptor::new("preadv2", Kind::Preadv2, Some(3), None),
    OnDescriptor::new("pwritev2", Kind::Pwritev2, Some(3), None),
];

/// Other calls on one descriptor.
const OTHERS: [OnDescriptor; 8] = [
    OnDescriptor::new("fsync", Kind::Fsync, None, None),
    OnDescriptor::new("fdatasync", Kind::Fdatasync, None, None),
    OnDescriptor::new("syncfs", Kind::Syncfs, None, None),
    OnDescriptor::new("sync_file_range", Kind::SyncFileRange, Some(1), Some(2)),
    OnDescriptor::new("ftruncate", Kind::Ftruncate, None, Some(1)),
    OnDescriptor::new("fallocate", Kind::Fallocate, Some(2), Some(3)),
    OnDescriptor::new("close", Kind::Close, None, None),
    OnDescriptor::new("lseek", Kind::Lseek, None, None),
];

/// A call that moves data between two descriptors, and the meaning of its arguments. The source
/// comes first.
struct Between {
    calls: [Kind; 2],
    descriptors_at: [usize; 2],
    offsets_at: [Option<usize>; 2],
    length_at: usize,
}

impl Between {
    fn of(name: &str) -> Option<Between> {
        let both = |calls| Between { calls, descriptors_at: [0, 2], offsets_at: [Some(1), Some(3)], length_at: 4 };
        match name {
            "copy_file_range" => Some(both([Kind::CopyRead, Kind::CopyWrite])),
            "splice" => Some(both([Kind::SpliceRead, Kind::SpliceWrite])),
            "sendfile" => Some(Between {
                calls: [Kind::SendfileRead, Kind::SendfileWrite],
                descriptors_at: [1, 0],
                offsets_at: [Some(2), None],
                length_at: 3,
            }),
            _ => None,
        }
    }
}

/// A call, its thread, and its time.
struct Made<'c> {
    thread: u32,
    time_ns: u64,
    call: &'c Call<'c>,
}

/// The effect of a call on a file.
struct Action {
    call: Kind,
    file: u32,
    offset: Option<u64>,
    length: u64,
    flags: Flags,
}

impl Action {
    /// The action of a call that has no offset in a file.
    fn new(call: Kind, file: u32) -> Action {
        Action { call, file, offset: None, length: 0, flags: Flags::default() }
    }
}

impl<W: Write> Calls<W> {
    pub(super) fn new(sink: Sink<W>) -> Calls<W> {
        let descriptors = Descriptors::default();
        Calls { sink, descriptors, last_end_ns: 0, ring_entries: 0, mappings: 0, aio: 0, no_durations: false }
    }

    pub(super) fn finish(mut self) -> Result<Imported, ImportError> {
        self.sink.unseen("entries of io_uring, which strace does not show", self.ring_entries);
        self.sink.unseen("mapped files: reads and writes through memory are missing", self.mappings);
        self.sink.unseen("native AIO operations whose completion strace does not show", self.aio);
        self.sink
            .unseen("the text has no durations (strace -T): they are 0 in the trace", u64::from(self.no_durations));
        self.sink.finish("lines")
    }

    pub(super) fn take(&mut self, thread: u32, time_ns: u64, call: &Call<'_>, line: u64) -> Result<(), ImportError> {
        let time_ns = time_ns.min(1 << 58);
        self.last_end_ns = time_ns.saturating_add(call.duration_ns.unwrap_or(0));
        self.no_durations |= call.duration_ns.is_none() && call.result.is_some();
        // Nothing is known about a call that did not return.
        let Some(result) = call.result else { return Ok(()) };
        let made = Made { thread, time_ns, call };
        if let Some(transfer) = TRANSFERS.iter().find(|transfer| transfer.name == call.name) {
            return self.transfer(&made, transfer);
        }
        if let Some(other) = OTHERS.iter().find(|other| other.name == call.name) {
            return self.on_descriptor(&made, other);
        }
        if let Some(between) = Between::of(call.name) {
            return self.moved(&made, &between);
        }
        match call.name {
            "open" | "openat" | "openat2" | "creat" => self.opened(&made),
            "dup" | "dup2" | "dup3" | "fcntl" | "fcntl64" => {
                let is_copy = call.name != "fcntl" || call.has(1, "F_DUPFD") || call.has(1, "F_DUPFD_CLOEXEC");
                if let (Some((fd, path)), Ok(to), true) =
                    (call.descriptor(0), i32::try_from(result), is_copy && result >= 0)
                {
                    let known = self.descriptors.known(thread, fd, path).clone();
                    self.descriptors.table(thread).insert(to, known);
                }
                Ok(())
            }
            "clone" | "clone3" | "fork" | "vfork" => {
                let flags = call.arguments.join(",");
                let shares = flags.contains("CLONE_FILES");
                u32::try_from(result).into_iter().for_each(|child| self.descriptors.made(thread, child, shares));
                Ok(())
            }
            "sync" => self.emit(&made, Action::new(Kind::Sync, NO_FILE)),
            "msync" => self.emit(&made, Action { length: call.number(1), ..Action::new(Kind::Msync, NO_FILE) }),
            "mmap" => {
                self.mappings += u64::from(result != -1 && call.descriptor(4).is_some_and(|(fd, _)| fd >= 0));
                Ok(())
            }
            "io_submit" => self.submitted(&made, line),
            "io_uring_enter" => {
                self.ring_entries += u64::try_from(result).unwrap_or(0).min(call.number(1));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Writes an operation of a call.
    fn emit(&mut self, made: &Made<'_>, action: Action) -> Result<(), ImportError> {
        let Action { call, file, offset, length, flags } = action;
        let thread = self.sink.thread(made.thread, made.thread, "")?;
        let result = made.call.result.unwrap_or(0);
        self.sink.operation(&Operation {
            time_ns: made.time_ns,
            duration_ns: made.call.duration_ns.unwrap_or(0),
            thread,
            call,
            file,
            offset,
            length,
            result: if call.moves_data() { result } else { result.min(0) },
            flags,
        })
    }

    fn transfer(&mut self, made: &Made<'_>, transfer: &OnDescriptor) -> Result<(), ImportError> {
        let call = made.call;
        let Some((fd, path)) = call.descriptor(0) else { return Ok(()) };
        let moved = call.result.and_then(|result| u64::try_from(result).ok()).unwrap_or(0);
        let vector =
            || call.arguments.get(1).map_or(0, |vector| numbers_of(vector, "iov_len").fold(0, u64::saturating_add));
        let length = transfer.length_at.map_or_else(vector, |at| call.number(at)).max(moved);
        let known = self.descriptors.known(made.thread, fd, path);
        let appends = known.flags.has(Flags::APPEND) && transfer.call.effect() == iolab_trace::Effect::Write;
        let given = transfer.offset_at.map(|at| call.number(at)).filter(|offset| *offset != u64::MAX);
        let offset = if appends { None } else { given.or(known.position) };
        if given.is_none() {
            known.position = known.position.filter(|_| !appends).map(|position| position.saturating_add(moved));
        }
        let flags = known.flags.and_if(call.has(4, "RWF_DSYNC"), Flags::DATA_SYNC);
        let path = known.path.clone();
        let file = self.sink.file(&path)?;
        self.emit(made, Action { call: transfer.call, file, offset, length, flags })
    }

    fn on_descriptor(&mut self, made: &Made<'_>, other: &OnDescriptor) -> Result<(), ImportError> {
        let (call, kind) = (made.call, other.call);
        let Some((fd, path)) = call.descriptor(0) else { return Ok(()) };
        let known = self.descriptors.known(made.thread, fd, path);
        let mut offset = other.offset_at.map(|at| call.number(at));
        if kind == Kind::Lseek {
            known.position = call.result.and_then(|result| u64::try_from(result).ok());
            offset = known.position;
        }
        let changes = kind == Kind::Fallocate && !matches!(call.arguments.get(1), Some(&"0" | &"FALLOC_FL_KEEP_SIZE"));
        let flags = known.flags.and_if(changes, Flags::CHANGES_RANGE);
        let path = known.path.clone();
        if kind == Kind::Close {
            self.descriptors.table(made.thread).remove(&fd);
        }
        let file = self.sink.file(&path)?;
        let length = other.length_at.map_or(0, |at| call.number(at));
        self.emit(made, Action { call: kind, file, offset, length, flags })
    }

    fn opened(&mut self, made: &Made<'_>) -> Result<(), ImportError> {
        let call = made.call;
        let how = match call.name {
            "open" => 1,
            "creat" => usize::MAX,
            _ => 2,
        };
        let has = |word: &str| match call.name {
            "openat2" => call.arguments.get(2).is_some_and(|how| how.contains(word)),
            _ => call.has(how, word),
        };
        let creates = how == usize::MAX;
        let of_descriptor = Flags::default()
            .and_if(has("O_DIRECT"), Flags::DIRECT)
            .and_if(has("O_SYNC"), Flags::FILE_SYNC)
            .and_if(has("O_DSYNC"), Flags::DATA_SYNC)
            .and_if(has("O_APPEND"), Flags::APPEND);
        let flags = of_descriptor
            .and_if(creates || has("O_CREAT"), Flags::CREATES)
            .and_if(creates || has("O_TRUNC"), Flags::EMPTIES)
            .and_if(has("O_RDONLY"), Flags::READ_ONLY);
        let name = call.arguments.get(usize::from(call.name.starts_with("openat"))).copied().unwrap_or("");
        let named = name.trim_end_matches("...").trim_matches('"');
        let path = call.result_path.unwrap_or(named);
        let mut file = NO_FILE;
        if let Some(fd) = call.result.and_then(|result| i32::try_from(result).ok()).filter(|fd| *fd >= 0) {
            file = self.sink.file(path)?;
            let known = Known { path: path.to_owned(), position: Some(0), flags: of_descriptor };
            self.descriptors.table(made.thread).insert(fd, known);
        }
        self.emit(made, Action { flags, ..Action::new(Kind::Open, file) })
    }

    /// Data moved between two descriptors: one operation for each.
    fn moved(&mut self, made: &Made<'_>, between: &Between) -> Result<(), ImportError> {
        let call = made.call;
        let moved = call.result.and_then(|result| u64::try_from(result).ok()).unwrap_or(0);
        let arguments = between.descriptors_at.into_iter().zip(between.offsets_at);
        for ((side, offset_at), kind) in arguments.zip(between.calls) {
            let Some((fd, path)) = call.descriptor(side) else { continue };
            // `[0]`, or `[0] => [4096]`: before and after.
            let given = offset_at.and_then(|at| call.arguments.get(at)).and_then(|word| word.strip_prefix('['));
            let given =
                given.and_then(|word| super::arguments::number(word.split(']').next()?)).map(|offset| offset as u64);
            let known = self.descriptors.known(made.thread, fd, path);
            let offset = given.or(known.position);
            if given.is_none() {
                known.position = known.position.map(|position| position.saturating_add(moved));
            }
            let (flags, path) = (known.flags, known.path.clone());
            let file = self.sink.file(&path)?;
            let length = call.number(between.length_at);
            self.emit(made, Action { call: kind, file, offset, length, flags })?;
        }
        Ok(())
    }

    /// Control blocks of native AIO, in strace's older and newer notation.
    fn submitted(&mut self, made: &Made<'_>, line: u64) -> Result<(), ImportError> {
        let call = made.call;
        let taken = call.result.and_then(|result| usize::try_from(result).ok()).unwrap_or(0);
        let list = call.arguments.get(2).copied().unwrap_or("");
        let blocks: Vec<&str> = list.split("aio_data").skip(1).take(taken).collect();
        if blocks.len() < taken {
            self.sink.puzzled(line);
        }
        for block in blocks {
            let is = |word: &str| block.contains(word);
            let kind = match () {
                () if is("CMD_PREAD") || is("_pread") => Kind::AioRead,
                () if is("CMD_PWRITE") || is("_pwrite") => Kind::AioWrite,
                () if is("CMD_FDSYNC") => Kind::AioFdatasync,
                () if is("CMD_FSYNC") => Kind::AioFsync,
                () => continue,
            };
            let first = |key: &'static str| numbers_of(block, key).next();
            let Some(fd) = first("aio_fildes").and_then(|fd| i32::try_from(fd).ok()) else { continue };
            let named = block
                .split_once("aio_fildes=")
                .and_then(|(_, rest)| super::arguments::descriptor(&rest[..rest.find(", ").unwrap_or(rest.len())]));
            let known = self.descriptors.known(made.thread, fd, named.and_then(|(_, path)| path));
            let (flags, path) = (known.flags.and(Flags::END_UNSEEN), known.path.clone());
            let vector = numbers_of(block, "iov_len").fold(0, u64::saturating_add);
            let length = if vector > 0 { vector } else { first("aio_nbytes").unwrap_or(0) };
            let file = self.sink.file(&path)?;
            let whole = Call {
                name: call.name,
                arguments: Vec::new(),
                result: i64::try_from(length).ok(),
                result_path: None,
                duration_ns: call.duration_ns,
            };
            self.aio += 1;
            let made = Made { thread: made.thread, time_ns: made.time_ns, call: &whole };
            self.emit(&made, Action { call: kind, file, offset: first("aio_offset"), length, flags })?;
        }
        Ok(())
    }
}
