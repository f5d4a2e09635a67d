//! Writing the log files a plan asks for, from the entries the workers spooled.
//!
//! This may take longer than the run. A user who interrupts twice gets what is written by then.

use std::cell::Cell;
use std::collections::HashMap;
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, Write};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use iolab_activity::{Console, Failure, FailureContext};
use iolab_outputs::{CompressedOutput, Output, OutputError, OutputKind, Outputs};
use iolab_plan::{Direction, LogKind, WorkerPlan};
use iolab_process::INTERRUPTS;
use iolab_recording::{BlockHeader, LogEntry, Recording, SpoolBlock, SpooledRecord};
use iolab_report::{LogText, OperationLines};

/// What messages call a log.
pub const LOG: &str = "a log";

/// The result of saving logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Saved {
    /// All entries are in their logs.
    Whole,
    /// The user interrupted: logs are incomplete.
    CutShort,
}

/// Writes every worker's logs. Workers that share a file (`per_job_logs=0`) append to it in plan
/// order.
///
/// # Errors
/// The first log that could not be written.
pub fn write(
    outputs: &mut Outputs,
    recording: &Recording,
    spools: &[Option<&File>],
    console: &dyn Console,
) -> Result<Saved, Failure> {
    let workers = &recording.plan.workers;
    let mut logs =
        Logs { outputs, uses: HashMap::new(), open: HashMap::new(), patience: Rc::new(Patience::new(console)) };
    for name in workers.iter().flat_map(names) {
        *logs.uses.entry(name).or_default() += 1;
    }
    let mut written = Ok(());
    for (worker, spool) in workers.iter().zip(spools) {
        written = logs
            .write_worker(recording, worker, *spool)
            .with_context(|| format!("writing the logs of job {}", worker.job));
        if written.is_err() || logs.patience.is_over() {
            break;
        }
    }
    // Entries that were written are kept in any case.
    for output in std::mem::take(&mut logs.open).into_values() {
        let finished = output.finish().context("writing the logs");
        written = written.and(finished);
    }
    written?;
    if logs.patience.is_over() {
        console.note("interrupted again: the logs are incomplete");
        return Ok(Saved::CutShort);
    }
    Ok(Saved::Whole)
}

fn names(worker: &WorkerPlan) -> impl Iterator<Item = String> {
    iolab_report::log_file_names(&worker.logs, worker).into_iter().map(|(_, name)| name)
}

/// Whether the user has interrupted again since the run ended.
struct Patience<'o> {
    interrupts: u32,
    is_told: Cell<bool>,
    console: &'o dyn Console,
}

impl<'o> Patience<'o> {
    /// The first interrupt, in the run or now, means to end and save. Interrupts that ended the run
    /// do not count again.
    fn new(console: &'o dyn Console) -> Patience<'o> {
        let interrupts = INTERRUPTS.load(Ordering::Relaxed);
        Patience { interrupts: interrupts.max(1), is_told: Cell::new(false), console }
    }

    fn is_over(&self) -> bool {
        let interrupts = INTERRUPTS.load(Ordering::Relaxed);
        if interrupts > 0 && !self.is_told.replace(true) {
            self.console.note("the run has ended and its logs are being written; press Ctrl-C again to skip the rest");
        }
        interrupts > self.interrupts
    }
}

/// The logs of a run. A log stays open while other workers still write to it.
struct Logs<'o> {
    outputs: &'o mut Outputs,
    /// Workers that have not written to a file yet.
    uses: HashMap<String, usize>,
    open: HashMap<String, LogOutput>,
    patience: Rc<Patience<'o>>,
}

impl<'o> Logs<'o> {
    fn write_worker(
        &mut self,
        recording: &Recording,
        worker: &WorkerPlan,
        spool: Option<&File>,
    ) -> Result<(), Failure> {
        let mut logs: Vec<LogFile<'o>> = Vec::new();
        for (kind, name) in iolab_report::log_file_names(&worker.logs, worker) {
            let output = match self.open.remove(&name) {
                Some(output) => output,
                None => {
                    let output = self.outputs.place(Path::new(&name), OutputKind::Log, LOG)?.begin()?;
                    LogOutput::new(output, worker.logs.compressed)
                }
            };
            let mut log =
                LogFile { kind, name, output, text: LogText::new(TEXT_BYTES), patience: self.patience.clone() };
            if kind.is_none() {
                histogram_log(recording, worker, &mut log)?;
            }
            logs.push(log);
        }
        let mut written = spool.map_or(Ok(()), |spool| self.copy(spool, worker, &mut logs));
        // On a full disk, the part that fits is kept.
        for mut log in logs {
            let flushed = log.flush();
            let finished = self.put_away(log.name, log.output);
            written = written.and(flushed).and(finished);
        }
        written
    }

    fn copy(&self, mut spool: &File, worker: &WorkerPlan, logs: &mut [LogFile<'_>]) -> Result<(), Failure> {
        spool.rewind()?;
        let mut lines = OperationLines::new(&worker.logs);
        let mut block = Box::new([0; SpoolBlock::MOST_BYTES]);
        while let Some(header) = next_header(&mut spool)? {
            let length = read_up_to(&mut spool, &mut block[..header.length()])?;
            write_block(&header, &block[..length], worker, &mut lines, logs)?;
            if self.patience.is_over() {
                break;
            }
        }
        Ok(())
    }

    /// Finishes a log if no other worker writes to it.
    fn put_away(&mut self, name: String, output: LogOutput) -> Result<(), Failure> {
        let left = self.uses.entry(name.clone()).or_default();
        *left = left.saturating_sub(1);
        if *left == 0 {
            return Ok(output.finish()?);
        }
        self.open.insert(name, output);
        Ok(())
    }
}

/// Bytes per write. More would not fit into the processor's cache.
const TEXT_BYTES: usize = 128 << 10;

/// A log that is being written, as text or compressed.
enum LogOutput {
    Text(Output),
    Compressed(Box<CompressedOutput>),
}

impl LogOutput {
    fn new(output: Output, compressed: bool) -> LogOutput {
        if compressed {
            return LogOutput::Compressed(Box::new(CompressedOutput::new(output)));
        }
        LogOutput::Text(output)
    }

    /// Writes as long as `goes_on` returns true.
    fn write_while(&mut self, bytes: &[u8], goes_on: impl Fn() -> bool) -> std::io::Result<()> {
        match self {
            LogOutput::Text(output) => output.write_while(bytes, goes_on).map(drop),
            LogOutput::Compressed(output) if goes_on() => output.write_all(bytes),
            LogOutput::Compressed(_) => Ok(()),
        }
    }

    fn finish(self) -> Result<(), OutputError> {
        match self {
            LogOutput::Text(output) => output.finish(),
            LogOutput::Compressed(output) => output.finish(),
        }
    }
}

/// One log of one worker.
struct LogFile<'o> {
    /// None for the log of histograms, which no operation writes to.
    kind: Option<LogKind>,
    name: String,
    output: LogOutput,
    text: LogText,
    patience: Rc<Patience<'o>>,
}

impl LogFile<'_> {
    fn flush(&mut self) -> Result<(), Failure> {
        self.output.write_while(self.text.as_bytes(), || !self.patience.is_over())?;
        self.text.clear();
        Ok(())
    }

    #[inline]
    fn flush_if_full(&mut self) -> Result<(), Failure> {
        if self.text.is_full() { self.flush() } else { Ok(()) }
    }
}

fn write_block(
    header: &BlockHeader,
    bytes: &[u8],
    worker: &WorkerPlan,
    lines: &mut OperationLines,
    logs: &mut [LogFile<'_>],
) -> Result<(), Failure> {
    for record in header.records(bytes) {
        match record {
            SpooledRecord::Operation(operation) => {
                lines.begin(&operation);
                for log in logs.iter_mut().filter(|log| log.kind != Some(LogKind::Slat) || header.has_slat()) {
                    let Some(kind) = log.kind else { continue };
                    lines.add_to(&mut log.text, kind);
                    log.flush_if_full()?;
                }
            }
            SpooledRecord::Window(entry) => write_window(&entry, worker, logs)?,
        }
    }
    Ok(())
}

fn write_window(entry: &LogEntry, worker: &WorkerPlan, logs: &mut [LogFile<'_>]) -> Result<(), Failure> {
    let mut line = String::new();
    iolab_report::write_log_line(&mut line, entry, &worker.logs);
    for log in logs.iter_mut().filter(|log| log.kind == Some(entry.kind)) {
        log.text.push_str(&line);
        log.flush_if_full()?;
    }
    Ok(())
}

/// The header of the next block; `None` at the end of the spool, or where a worker was killed as it
/// wrote.
fn next_header(spool: &mut &File) -> Result<Option<BlockHeader>, Failure> {
    let mut header = [0; BlockHeader::BYTES];
    let length = read_up_to(spool, &mut header)?;
    Ok(if length == header.len() { BlockHeader::decode(&header) } else { None })
}

/// Fills `bytes` unless the file ends before. Returns how many there were.
fn read_up_to(file: &mut &File, bytes: &mut [u8]) -> Result<usize, Failure> {
    let mut length = 0;
    while length < bytes.len() {
        match file.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(length)
}

fn histogram_log(recording: &Recording, worker: &WorkerPlan, log: &mut LogFile<'_>) -> Result<(), Failure> {
    let coarseness = worker.logs.histogram.as_ref().map_or(0, |log| log.coarseness);
    let measured = recording.workers.iter().filter(|measured| measured.number == worker.number);
    for entry in measured.flat_map(|measured| &measured.histogram_log) {
        let line = iolab_report::histogram_log_line(entry, coarseness);
        log.output.write_while(format!("{}\n", line.trim_end()).as_bytes(), || true)?;
    }
    Ok(())
}

/// Writes the sums over all jobs that `--bandwidth-log` asks for.
///
/// # Errors
/// One cannot be written.
pub fn write_aggregate(outputs: &mut Outputs, recording: &Recording) -> Result<(), Failure> {
    for direction in Direction::ALL {
        let used = recording.workers.iter().any(|worker| worker.directions[direction.index()].ios > 0);
        if used {
            let (name, text) = iolab_report::aggregate_bandwidth_log(recording, direction);
            outputs.place(Path::new(&name), OutputKind::Log, LOG)?.write(text.as_bytes())?;
        }
    }
    Ok(())
}
