//! The processes and threads of a capture, and the calls they are in.

use iolab_clock::Clock;
use iolab_trace::{Operation, Thread, Unseen};

use crate::aio::{self, Aio, Control};
use crate::by_number::ByNumber;
use crate::calls::{self, Shape};
use crate::capture::Recorder;
use crate::descriptors::{self, Table};
use crate::kernel_counts::Counts;
use crate::memory;
use crate::open_file::SharedOpen;
use crate::tracee::{self, Resume};
use crate::uring::{Entry, SharedRing};

/// `IORING_ENTER_REGISTERED_RING`: the descriptor is the number of a registered ring.
const ENTER_REGISTERED: u64 = 1 << 4;

/// A thread.
#[derive(Debug, Default)]
struct Task {
    process: i32,
    /// Its number in the trace, once it has one.
    number: Option<u32>,
    in_call: Option<InCall>,
    /// Its parent has reported it.
    is_known: bool,
    /// It stopped for the first time before its parent reported it.
    waits: bool,
    /// Descriptors of rings by the number they are registered under.
    registered_rings: ByNumber<u32, i32>,
}

/// What the threads of a process share.
#[derive(Debug, Default)]
pub(crate) struct Process {
    pub(crate) table: Table,
    pub(crate) aio: Aio,
}

/// A call that has begun.
#[derive(Debug)]
pub(crate) struct InCall {
    pub(crate) shape: Shape,
    pub(crate) arguments: [u64; 6],
    pub(crate) time_ns: u64,
    /// The open files of its first and second descriptor.
    pub(crate) open: [Option<SharedOpen>; 2],
    /// The offsets that it names in memory.
    pub(crate) offsets: [Option<u64>; 2],
    pub(crate) controls: Vec<Control>,
    pub(crate) entries: Vec<Entry>,
    pub(crate) ring: Option<SharedRing>,
    /// For exec: the kernel's counts before it.
    pub(crate) counts: Counts,
}

/// When and how a call ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallEnd {
    pub(crate) time_ns: u64,
    /// What it returned: a negative error number if it failed.
    pub(crate) result: i64,
}

impl InCall {
    pub(crate) fn at(shape: Shape, arguments: [u64; 6], time_ns: u64) -> InCall {
        InCall {
            shape,
            arguments,
            time_ns,
            open: [None, None],
            offsets: [None, None],
            controls: Vec::new(),
            entries: Vec::new(),
            ring: None,
            counts: Counts::default(),
        }
    }
}

/// Counts of events that a trace cannot represent.
#[derive(Debug, Default)]
pub(crate) struct NotSeen {
    /// Mappings that can change a file.
    pub(crate) writable_maps: u64,
    /// Mappings for reading, of files that are not programs.
    pub(crate) readable_maps: u64,
    /// Rings that the kernel polls.
    pub(crate) polled_rings: u64,
    /// Entries of rings and control blocks that are neither transfers nor syncs.
    pub(crate) other_entries: u64,
    /// Operations whose end was not seen.
    pub(crate) ends: u64,
    /// Entries that were handed over and could not be read.
    pub(crate) unread_entries: u64,
}

/// All of them.
pub(crate) struct Processes<'r, 'w> {
    pub(crate) clock: &'r Clock,
    pub(crate) recorder: &'r mut Recorder<'w>,
    start_ns: u64,
    tasks: ByNumber<i32, Task>,
    processes: ByNumber<i32, Process>,
    counts: Counts,
    /// Bytes that the kernel counted and that belong to no call of the command.
    not_of_calls: Counts,
    pub(crate) not_seen: NotSeen,
    /// Whether a program was executed.
    pub(crate) ran: bool,
}

impl<'r, 'w> Processes<'r, 'w> {
    pub(crate) fn new(clock: &'r Clock, recorder: &'r mut Recorder<'w>, root: i32) -> Processes<'r, 'w> {
        let tasks = ByNumber::from_iter([(root, Task { process: root, is_known: true, ..Task::default() })]);
        let processes = ByNumber::from_iter([(root, Process::default())]);
        let (counts, not_of_calls, not_seen) = (Counts::default(), Counts::default(), NotSeen::default());
        let start_ns = clock.now_ns();
        Processes { clock, recorder, start_ns, tasks, processes, counts, not_of_calls, not_seen, ran: false }
    }

    /// Time since the capture began, ns.
    pub(crate) fn elapsed_ns(&self) -> u64 {
        self.clock.now_ns().saturating_sub(self.start_ns)
    }

    pub(crate) fn process_of(&self, thread: i32) -> i32 {
        self.tasks.get(&thread).map_or(thread, |task| task.process)
    }

    /// The state shared by the threads of a thread's process.
    pub(crate) fn shared(&mut self, thread: i32) -> &mut Process {
        let process = self.process_of(thread);
        self.processes.entry(process).or_default()
    }

    /// The open file of a thread's descriptor.
    pub(crate) fn open(&mut self, thread: i32, fd: u64) -> Option<SharedOpen> {
        let fd = Some(fd as i32).filter(|fd| *fd >= 0)?;
        if let Some(open) = self.shared(thread).table.get(fd) {
            return Some(open);
        }
        let open = descriptors::look_up(self.recorder, thread, fd)?;
        self.shared(thread).table.insert(fd, open.clone());
        Some(open)
    }

    /// The number of a thread in the trace.
    pub(crate) fn number(&mut self, thread: i32) -> u32 {
        let process = self.process_of(thread);
        if let Some(number) = self.tasks.get(&thread).and_then(|task| task.number) {
            return number;
        }
        let name = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/comm")).unwrap_or_default();
        let name = name.trim_end().to_owned();
        let number = self.recorder.thread(Thread { process: process as u32, id: thread as u32, name });
        if let Some(task) = self.tasks.get_mut(&thread) {
            task.number = Some(number);
        }
        number
    }

    /// How to resume a thread after a stop.
    pub(crate) fn way_on(&self, thread: i32) -> Resume {
        match self.tasks.get(&thread) {
            Some(Task { in_call: Some(_), .. }) => Resume::ToEndOfCall,
            _ => Resume::On,
        }
    }

    /// A thread made another one, or a process.
    pub(crate) fn made(&mut self, parent: i32, made: i32) {
        let process = thread_group(made).unwrap_or(made);
        let of_parent = self.process_of(parent);
        if process == made && process != of_parent {
            let table = self.shared(parent).table.clone();
            self.processes.insert(process, Process { table, ..Process::default() });
        }
        let task = self.tasks.entry(made).or_default();
        task.process = process;
        task.is_known = true;
        if std::mem::take(&mut task.waits) {
            tracee::resume(made, Resume::On, 0);
        }
    }

    /// Whether a thread that stopped for no reason of its own may run: a new one waits until its
    /// parent has reported it.
    pub(crate) fn may_begin(&mut self, thread: i32) -> bool {
        let task = self.tasks.entry(thread).or_default();
        task.waits = !task.is_known;
        task.is_known
    }

    /// A process runs another program: only this thread of it is left, under the number of the
    /// process.
    pub(crate) fn runs(&mut self, thread: i32, before: i32) {
        let mut task = self.tasks.remove(&before).unwrap_or_default();
        let process = if task.process == 0 { thread } else { task.process };
        self.tasks.retain(|_, other| other.process != process);
        if let Some(call) = task.in_call.take() {
            let read_by_exec = Counts::of(process, thread).unwrap_or_default().since(call.counts);
            // The kernel reads the program file; this is counted for the thread, though it made no
            // call.
            self.not_of_calls.add(read_by_exec);
            if !self.ran {
                self.not_of_calls.add(call.counts);
            }
        }
        self.ran = true;
        (task.number, task.process, task.is_known) = (None, process, true);
        task.registered_rings.clear();
        self.tasks.insert(thread, task);
        let shared = self.processes.entry(process).or_default();
        shared.table.after_exec(process);
        shared.aio = Aio::default();
    }

    /// A thread is about to end: the last look at its counts and at what is in flight.
    pub(crate) fn ends(&mut self, thread: i32) {
        let process = self.process_of(thread);
        if let Some(counts) = Counts::of(process, thread) {
            self.counts.add(counts);
        }
        if let Some(task) = self.tasks.get_mut(&thread) {
            task.in_call = None;
        }
        let is_last = self.tasks.iter().all(|(other, task)| task.process != process || *other == thread);
        if is_last {
            self.collect_all(thread);
        }
    }

    /// A thread is gone.
    pub(crate) fn gone(&mut self, thread: i32) {
        let process = self.process_of(thread);
        self.tasks.remove(&thread);
        if self.tasks.values().all(|task| task.process != process) {
            self.give_up(process);
            self.processes.remove(&process);
        }
    }

    /// Before a call: reads what its arguments refer to, while they are valid. Returns the kind of
    /// the call.
    pub(crate) fn call_begins(&mut self, thread: i32) -> Option<Shape> {
        let (number, arguments) = tracee::call_that_begins(thread)?;
        let shape = calls::shape_of(number)?;
        if shape == Shape::Affinity {
            return Some(shape);
        }
        self.tasks.entry(thread).or_insert_with(|| Task { process: thread, is_known: true, ..Task::default() });
        let mut call = InCall::at(shape, arguments, 0);
        let [a, b, c, d, ..] = arguments;
        let process = self.process_of(thread);
        match shape {
            Shape::Move(..) => {
                call.open = [self.open(thread, a), self.open(thread, c)];
                call.offsets = [pointed(thread, b), pointed(thread, d)];
            }
            Shape::Sendfile => {
                call.open = [self.open(thread, b), self.open(thread, a)];
                call.offsets = [pointed(thread, c), None];
            }
            Shape::Map => call.open = [self.open(thread, arguments[4]), None],
            Shape::AioSubmit => {
                self.shared(thread).aio.knows(thread, a);
                self.collect_aio(thread, a, true);
                call.controls = aio::controls(thread, b, c);
            }
            Shape::AioCollect => self.collect_aio(thread, a, true),
            Shape::RingEnter => {
                call.ring = self.ring(thread, a, d & ENTER_REGISTERED != 0);
                if let Some(ring) = call.ring.clone() {
                    self.collect_ring(thread, &ring, true);
                    call.entries = ring.borrow().entries(thread, b as u32);
                }
            }
            Shape::RingRegister => call.ring = self.ring(thread, a, false),
            Shape::Exec => call.counts = Counts::of(process, thread).unwrap_or_default(),
            Shape::Open | Shape::OpenAt | Shape::OpenAt2 | Shape::Create | Shape::ResizePath => {}
            Shape::SyncAll | Shape::MemorySync | Shape::RingSetup | Shape::CloseRange | Shape::Affinity => {}
            _ => call.open = [self.open(thread, a), None],
        }
        call.time_ns = self.elapsed_ns();
        if let Some(task) = self.tasks.get_mut(&thread) {
            task.in_call = Some(call);
        }
        Some(shape)
    }

    /// After a call.
    pub(crate) fn call_ends(&mut self, thread: i32) {
        let end_ns = self.elapsed_ns();
        let Some(call) = self.tasks.get_mut(&thread).and_then(|task| task.in_call.take()) else { return };
        if let Some(result) = tracee::result_of_call(thread) {
            self.take_call(thread, &call, CallEnd { time_ns: end_ns, result });
        }
    }

    fn ring(&mut self, thread: i32, fd: u64, registered: bool) -> Option<SharedRing> {
        let number = fd as u32;
        let fd = match registered {
            true => *self.tasks.get(&thread)?.registered_rings.get(&number)?,
            false => number as i32,
        };
        self.shared(thread).table.ring(fd)
    }

    /// A thread registered the descriptor of a ring under a number.
    pub(crate) fn register_ring(&mut self, thread: i32, number: u32, fd: i32) {
        if let Some(task) = self.tasks.get_mut(&thread) {
            task.registered_rings.insert(number, fd);
        }
    }

    /// Takes completions of native AIO.
    pub(crate) fn collect_aio(&mut self, thread: i32, context: u64, late: bool) {
        let now_ns = self.elapsed_ns();
        let done = self.shared(thread).aio.completed(thread, context, now_ns, late);
        done.iter().for_each(|operation| self.recorder.operation(operation));
    }

    /// Takes completions of a ring.
    pub(crate) fn collect_ring(&mut self, thread: i32, ring: &SharedRing, late: bool) {
        let done = ring.borrow_mut().completed(thread, self.elapsed_ns(), late);
        done.iter().for_each(|operation| self.recorder.operation(operation));
    }

    fn collect_all(&mut self, thread: i32) {
        for context in self.shared(thread).aio.contexts() {
            self.collect_aio(thread, context, true);
        }
        let rings: Vec<SharedRing> = self.shared(thread).table.rings().cloned().collect();
        rings.iter().for_each(|ring| self.collect_ring(thread, ring, true));
    }

    fn give_up(&mut self, process: i32) {
        let Some(shared) = self.processes.get_mut(&process) else { return };
        let mut unended = shared.aio.give_up();
        // Rings that a fork copied are given up with the last process.
        let last = shared.table.rings().filter(|ring| std::rc::Rc::strong_count(ring) == 1);
        unended.extend(last.flat_map(|ring| ring.borrow_mut().give_up()));
        unended.iter().for_each(|operation| self.unended(operation));
    }

    /// Writes an operation whose end was not seen.
    pub(crate) fn unended(&mut self, operation: &Operation) {
        self.not_seen.ends += 1;
        let flags = operation.flags.and(iolab_trace::Flags::END_UNSEEN);
        self.recorder.operation(&Operation { flags, ..*operation });
    }

    /// The kernel's counters, and the counts of unseen events.
    pub(crate) fn end(mut self) -> (Counts, Vec<Unseen>) {
        let left: Vec<i32> = self.processes.keys().copied().collect();
        left.into_iter().for_each(|process| self.give_up(process));
        // The counters of threads that remain when a capture gives up have not been added yet.
        for (thread, task) in &self.tasks {
            if let Some(counts) = Counts::of(task.process, *thread) {
                self.counts.add(counts);
            }
        }
        (self.counts.since(self.not_of_calls), self.not_seen.into_list())
    }
}

impl NotSeen {
    fn into_list(self) -> Vec<Unseen> {
        [
            (self.writable_maps, "writable shared mappings: changes through memory are missing"),
            (self.readable_maps, "read-only mappings of data files: reads through memory are missing"),
            (self.polled_rings, "io_uring rings polled by a kernel thread (SQPOLL): their operations are missing"),
            (self.other_entries, "asynchronous operations other than reads, writes and syncs"),
            (self.unread_entries, "entries of io_uring that could not be read"),
            (
                self.ends,
                "asynchronous operations whose completion was not seen: their requested size is shown as result",
            ),
        ]
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| Unseen { what: what.to_owned(), count: Some(count), bytes: None })
        .collect()
    }
}

/// The offset that an argument points to; `None` if the pointer is invalid.
fn pointed(thread: i32, address: u64) -> Option<u64> {
    if address == 0 { None } else { memory::long(thread, address) }
}

/// The process of a thread.
fn thread_group(thread: i32) -> Option<i32> {
    let text = std::fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("Tgid:")?.trim().parse().ok())
}
