//! Writing the log files a plan asks for, from the entries the workers spooled.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, ErrorKind, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result};
use iolab_plan::{Direction, LogKind, WorkerPlan};
use iolab_recording::{BlockHeader, LogEntry, Recording, SpoolBlock, SpooledRecord};
use iolab_report::{LogText, OperationLines};

/// Writes every worker's logs. Workers that share a file (`per_job_logs=0`) append to it in plan order.
pub(crate) fn write(recording: &Recording, spools: &[Option<File>]) -> Result<()> {
    let mut begun = HashSet::new();
    for (worker, spool) in recording.plan.workers.iter().zip(spools) {
        write_worker(recording, worker, spool.as_ref(), &mut begun)
            .with_context(|| format!("writing the logs of job {}", worker.job))?;
    }
    Ok(())
}

fn write_worker(
    recording: &Recording,
    worker: &WorkerPlan,
    spool: Option<&File>,
    begun: &mut HashSet<String>,
) -> Result<()> {
    let mut logs: Vec<LogFile> = Vec::new();
    for (kind, name) in iolab_report::log_file_names(&worker.logs, worker) {
        let file = open(&name, begun.insert(name.clone()))?;
        match kind {
            Some(kind) => logs.push(LogFile { kind, file, text: LogText::new(TEXT_BYTES) }),
            None => write_histogram_log(recording, worker, &mut BufWriter::new(file))?,
        }
    }
    let Some(mut spool) = spool else { return Ok(()) };
    spool.rewind()?;
    let mut lines = OperationLines::new(&worker.logs);
    let mut block = Box::new([0; SpoolBlock::MOST_BYTES]);
    while let Some(header) = next_header(&mut spool)? {
        let length = read_up_to(&mut spool, &mut block[..header.length()])?;
        write_block(&header, &block[..length], worker, &mut lines, &mut logs)?;
    }
    logs.iter_mut().try_for_each(LogFile::flush)
}

/// Text that is written at once. More would not stay in the processor's cache.
const TEXT_BYTES: usize = 128 << 10;

/// One log of one worker.
struct LogFile {
    kind: LogKind,
    file: File,
    text: LogText,
}

impl LogFile {
    fn flush(&mut self) -> Result<()> {
        self.file.write_all(self.text.as_bytes())?;
        self.text.clear();
        Ok(())
    }

    #[inline]
    fn flush_if_full(&mut self) -> Result<()> {
        if self.text.is_full() { self.flush() } else { Ok(()) }
    }
}

fn write_block(
    header: &BlockHeader,
    bytes: &[u8],
    worker: &WorkerPlan,
    lines: &mut OperationLines,
    logs: &mut [LogFile],
) -> Result<()> {
    for record in header.records(bytes) {
        match record {
            SpooledRecord::Operation(operation) => {
                lines.begin(&operation);
                for log in logs.iter_mut().filter(|log| log.kind != LogKind::Slat || header.has_slat()) {
                    lines.add_to(&mut log.text, log.kind);
                    log.flush_if_full()?;
                }
            }
            SpooledRecord::Window(entry) => write_window(&entry, worker, logs)?,
        }
    }
    Ok(())
}

fn write_window(entry: &LogEntry, worker: &WorkerPlan, logs: &mut [LogFile]) -> Result<()> {
    let mut line = String::new();
    iolab_report::write_log_line(&mut line, entry, &worker.logs);
    for log in logs.iter_mut().filter(|log| log.kind == entry.kind) {
        log.text.push_str(&line);
        log.flush_if_full()?;
    }
    Ok(())
}

/// The header of the next block; `None` at the end of the spool, or where a worker was killed as it wrote.
fn next_header(spool: &mut &File) -> Result<Option<BlockHeader>> {
    let mut header = [0; BlockHeader::BYTES];
    let length = read_up_to(spool, &mut header)?;
    Ok(if length == header.len() { BlockHeader::decode(&header) } else { None })
}

/// Fills `bytes` unless the file ends before. Returns how many there were.
fn read_up_to(file: &mut &File, bytes: &mut [u8]) -> Result<usize> {
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

fn write_histogram_log(recording: &Recording, worker: &WorkerPlan, writer: &mut impl Write) -> Result<()> {
    let coarseness = worker.logs.histogram.as_ref().map_or(0, |log| log.coarseness);
    let measured = recording.workers.iter().filter(|measured| measured.number == worker.number);
    for entry in measured.flat_map(|measured| &measured.histogram_log) {
        writeln!(writer, "{}", iolab_report::histogram_log_line(entry, coarseness).trim_end())?;
    }
    Ok(writer.flush()?)
}

/// Writes the sums over all jobs that `--bandwidth-log` asks for.
pub(crate) fn write_aggregate(recording: &Recording) -> Result<()> {
    for direction in Direction::ALL {
        let used = recording.workers.iter().any(|worker| worker.directions[direction.index()].ios > 0);
        if used {
            let (name, text) = iolab_report::aggregate_bandwidth_log(recording, direction);
            open(&name, true)?.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

fn open(name: &str, first: bool) -> Result<File> {
    if let Some(folder) = Path::new(name).parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    }
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(first).append(!first);
    options.open(name).with_context(|| format!("opening {name}"))
}
