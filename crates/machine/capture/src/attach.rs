//! The capture of a running program, by perf tracepoints: its calls, its requests of io_uring, and
//! those of its threads and children.
//!
//! ```text
//!  raw_syscalls/sys_enter, sys_exit       ─┐  a ring for each CPU, read by us every few milliseconds, brought
//!  io_uring/io_uring_submit_req, complete ─┴▶ into one order by time ─▶ Followed (followed.rs) ─▶ Recorder
//! ```
//! The program is never stopped, not even for a moment, and continues when the capture ends. A
//! record holds the arguments of a call as numbers: the memory that they point to is not read.
//! Paths are looked up in procfs when a descriptor is first used. Positions start from those in
//! procfs, and are tracked from then on. Records for which a ring had no room are counted and
//! reported in the trace.

mod clients;
mod family;
mod followed;
mod number_filter;
mod processors;
mod programs;
mod watched;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use iolab_clock::Clock;
use iolab_perf_events::{Ring, RingRecord, RingSize, RingTarget, Tracepoint, TracepointLayout};
use iolab_process::INTERRUPTS;
use iolab_trace::{End, Facts, Writer};

use crate::calls;
use crate::capture::Recorder;
use family::{family, threads_of};
use followed::{Event, Followed, What};
use number_filter::number_filter;
use processors::Processors;
use programs::Programs;
use watched::Watched;

/// Time between two passes over the rings, ns.
const LOOK_EVERY_NS: u64 = 5_000_000;
/// After this number of records in one pass, the next pass follows at once.
const BUSY: usize = 10_000;
/// Records passed on before the rings are read again.
const BETWEEN_READS: usize = 1 << 11;
/// The most records that wait in memory; further ones stay in the rings.
const MOST_WAITING: usize = 1 << 20;
/// A record younger than this may still be preceded by one of another CPU, ns.
const SETTLES_NS: u64 = 2_000_000;

/// What to capture, and where to write the trace.
pub struct AttachRequest<'a> {
    /// The process.
    pub process: i32,
    /// Whether processes that it has made and makes are captured, too.
    pub children: bool,
    /// How long, ns; `None`: until the program ends or the user ends the capture.
    pub for_ns: Option<u64>,
    /// The trace.
    pub output: Box<dyn Write + 'a>,
    /// Whether paths and names are hidden.
    pub anonymous: bool,
}

/// Why a running program cannot be captured.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// It is not there.
    #[error("there is no process {0}")]
    NoProcess(i32),
    /// The kernel's descriptions of its tracepoints cannot be read.
    #[error("cannot read tracefs ({path}: {source}): as root, run `mount -t tracefs none /sys/kernel/tracing`")]
    Tracefs {
        /// What was looked for.
        path: PathBuf,
        /// The kernel's answer.
        source: io::Error,
    },
    /// Tracepoints cannot be opened.
    #[error("cannot open tracepoints: {0}; they need root or CAP_PERFMON (perf_event_open(2))")]
    Open(io::Error),
    /// The trace cannot be written.
    #[error("the trace cannot be written: {0}")]
    Output(io::Error),
}

/// The result of a capture.
#[derive(Debug)]
pub struct Attached {
    /// The end of the trace.
    pub end: End,
    /// Bytes of the trace.
    pub bytes: u64,
    /// Records that the kernel had no room for.
    pub lost: u64,
}

/// The tracepoints, by their numbers.
struct Points {
    enter: (u64, usize, usize),
    exit: (u64, usize, usize),
    /// Number; offsets of the request, of its kind or result. `None` on kernels without them.
    submit: Option<(u64, usize, usize)>,
    complete: Option<(u64, usize, usize)>,
    /// Number; offsets of the new thread and of its maker.
    fork: Option<(u64, usize, usize)>,
}

/// Captures a running program until it ends, the time is up, or the user ends the capture (signals
/// must be counted: [`iolab_process::count_signals`]).
///
/// # Errors
/// The program does not exist, tracepoints are not available, or the trace cannot be written. The
/// program continues in any case.
pub fn attach(request: AttachRequest<'_>) -> Result<Attached, AttachError> {
    let clock = Clock::monotonic();
    let process = request.process;
    if !Path::new(&format!("/proc/{process}")).exists() {
        return Err(AttachError::NoProcess(process));
    }
    let points = Points::find()?;
    let facts = Facts {
        source: Facts::PERF.to_owned(),
        command: vec![format!("process {process}")],
        started_unix_ns: clock.unix_ns(),
        anonymous: request.anonymous,
        has_durations: true,
        ..Facts::default()
    };
    let begin = if request.anonymous { Writer::anonymous } else { Writer::new };
    let mut recorder = Recorder::new(begin(request.output, &facts).map_err(AttachError::Output)?).with_devices();
    let processes = if request.children { family(process) } else { vec![process] };
    // The positions as they are now; if they move before the tracepoints are open, they are
    // slightly wrong.
    let mut watched = Watched::new(&processes, request.children.then_some(process));
    let start_ns = clock.now_ns();
    let mut followed = Followed::new(&mut recorder, start_ns);
    processes.iter().for_each(|one| followed.look_at(*one));
    let mut rings = points.open(&processes, request.children).map_err(|error| match error.raw_os_error() {
        Some(libc::ESRCH) => AttachError::NoProcess(process),
        _ => AttachError::Open(error),
    })?;
    let mut reading = Reading { points, events: Vec::new(), ready: Vec::new(), lost: 0 };
    let interrupts = INTERRUPTS.load(std::sync::atomic::Ordering::Relaxed);
    let mut processors = Processors::new(Programs::of(&processes, request.children));
    loop {
        let now_ns = clock.now_ns();
        reading.read_all(&mut rings, &mut followed);
        let is_busy = reading.events.len() > BUSY;
        reading.hand_over(now_ns.saturating_sub(SETTLES_NS), &mut rings, &mut followed);
        let is_over = request.for_ns.is_some_and(|for_ns| now_ns >= start_ns.saturating_add(for_ns))
            || INTERRUPTS.load(std::sync::atomic::Ordering::Relaxed) != interrupts;
        let is_last = watched.ask(now_ns, is_over) || is_over;
        processors.look(now_ns.saturating_sub(start_ns), is_last);
        if is_last {
            break;
        }
        if !is_busy {
            clock.sleep_until(now_ns + LOOK_EVERY_NS, 0);
        }
    }
    reading.read_all(&mut rings, &mut followed);
    // No more records are taken: later operations of the program are after the end of the capture.
    reading.hand_over(u64::MAX, &mut [], &mut followed);
    let (samples, mut beside) = processors.into_samples();
    if request.anonymous {
        beside.clear();
    }
    let (ended, counted) = (watched.have_ended(), watched.counted());
    let mut unseen = followed.finish();
    if reading.lost > 0 {
        let what = "records that came faster than they could be taken: their calls are not here".to_owned();
        unseen.insert(0, iolab_trace::Unseen { what, count: Some(reading.lost), bytes: None });
    }
    let end = End {
        elapsed_ns: clock.now_ns().saturating_sub(start_ns),
        operations: 0,
        devices: Vec::new(),
        processors: samples,
        beside,
        read_bytes: counted.map(|counted| (counted.read, recorder.seen.read)),
        written_bytes: counted.map(|counted| (counted.written, recorder.seen.written)),
        unseen,
        outcome: if ended { "ended".to_owned() } else { "goes on: it was only watched".to_owned() },
    };
    let (end, bytes) = recorder.finish(end).map_err(AttachError::Output)?;
    Ok(Attached { end, bytes, lost: reading.lost })
}

impl Points {
    fn find() -> Result<Points, AttachError> {
        let layout = |event: &str| {
            TracepointLayout::read(Path::new("/"), event)
                .map_err(|(path, source)| AttachError::Tracefs { path, source })
        };
        let fields = |event: &str, one: (&str, usize), other: (&str, usize)| {
            let layout = layout(event)?;
            let lacks = || {
                AttachError::Open(io::Error::other(format!("{event} has other fields than {} and {}", one.0, other.0)))
            };
            let places = layout.offset_of(one.0, one.1).zip(layout.offset_of(other.0, other.1));
            let (one, other) = places.ok_or_else(lacks)?;
            Ok((layout.id(), one, other))
        };
        let submit = fields("io_uring/io_uring_submit_req", ("req", 8), ("opcode", 1));
        let submit = submit.or_else(|_| fields("io_uring/io_uring_submit_sqe", ("req", 8), ("opcode", 1)));
        Ok(Points {
            enter: fields("raw_syscalls/sys_enter", ("id", 8), ("args", 48))?,
            exit: fields("raw_syscalls/sys_exit", ("id", 8), ("ret", 8))?,
            submit: submit.ok(),
            complete: fields("io_uring/io_uring_complete", ("req", 8), ("res", 4)).ok(),
            fork: fields("sched/sched_process_fork", ("child_pid", 4), ("parent_pid", 4)).ok(),
        })
    }

    fn open(&self, processes: &[i32], children: bool) -> io::Result<Vec<Ring>> {
        let filter = number_filter(calls::all().map(|(number, _)| number as u64));
        let mut points = Vec::new();
        for (id, ..) in [self.enter, self.exit] {
            points.push(Tracepoint { id, filter: &filter });
        }
        for (id, ..) in [self.submit, self.complete, self.fork].into_iter().flatten() {
            points.push(Tracepoint { id, filter: "" });
        }
        let threads: Vec<i32> = processes.iter().flat_map(|process| threads_of(*process)).collect();
        let target = RingTarget::Threads { ids: &threads, children };
        cpus().into_iter().map(|cpu| Ring::open(cpu, &points, target, RingSize::Large)).collect()
    }
}

/// Records that were read and not yet passed on.
struct Reading {
    points: Points,
    events: Vec<Event>,
    /// Records being passed on.
    ready: Vec<Event>,
    lost: u64,
}

impl Reading {
    fn read_all(&mut self, rings: &mut [Ring], followed: &mut Followed<'_, '_>) {
        let known = self.events.len();
        rings.iter_mut().for_each(|ring| self.read(ring));
        self.events[known..].iter().for_each(|event| followed.comes(event));
    }

    fn read(&mut self, ring: &mut Ring) {
        let Reading { points, events, lost, .. } = self;
        ring.drain(|record| match record {
            RingRecord::Lost(count) => *lost += count,
            RingRecord::Event(sample) => {
                let id = sample.id();
                let long = |at: usize| sample.long(at).unwrap_or(0);
                let word = |at: usize| {
                    sample.raw.get(at..at + 4).and_then(|part| part.try_into().ok()).map_or(0, i32::from_le_bytes)
                };
                let what = if id == points.enter.0 {
                    let arguments = std::array::from_fn(|place| long(points.enter.2 + 8 * place));
                    What::Begins { call: long(points.enter.1), arguments }
                } else if id == points.exit.0 {
                    What::Ends { call: long(points.exit.1), result: long(points.exit.2) as i64 }
                } else if let Some((_, request, kind)) = points.submit.filter(|point| point.0 == id) {
                    What::Submits { request: long(request), opcode: sample.raw.get(kind).copied().unwrap_or(0) }
                } else if let Some((_, request, result)) = points.complete.filter(|point| point.0 == id) {
                    What::Completes { request: long(request), result: i64::from(word(result)) }
                } else if let Some((_, child, _)) = points.fork.filter(|point| point.0 == id) {
                    What::Makes { child: word(child) }
                } else {
                    return;
                };
                events.push(Event { time_ns: sample.time_ns, process: sample.process, thread: sample.thread, what });
            }
        });
    }

    /// Passes on records older than this, in the order in which they happened. That takes longer
    /// than reading, so the rings are read meanwhile to prevent an overflow.
    fn hand_over(&mut self, until_ns: u64, rings: &mut [Ring], followed: &mut Followed<'_, '_>) {
        self.events.sort_by_key(|event| event.time_ns);
        let count = self.events.partition_point(|event| event.time_ns <= until_ns);
        let mut ready = std::mem::take(&mut self.ready);
        ready.extend(self.events.drain(..count));
        for events in ready.chunks(BETWEEN_READS) {
            events.iter().for_each(|event| followed.take(event));
            if self.events.len() < MOST_WAITING {
                self.read_all(rings, followed);
            }
        }
        ready.clear();
        self.ready = ready;
    }
}

/// Numbers of the CPUs online.
fn cpus() -> Vec<usize> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        if let (Ok(first), Ok(last)) = (first.parse::<usize>(), last.parse::<usize>()) {
            cpus.extend(first..=last);
        }
    }
    if cpus.is_empty() { vec![0] } else { cpus }
}
