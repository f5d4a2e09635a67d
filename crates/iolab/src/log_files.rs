//! Writing the log files a plan asks for, from the entries the workers spooled.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, Read, Seek, Write};
use std::path::Path;

use anyhow::{Context, Result};
use iolab_plan::{Direction, LogKind, WorkerPlan};
use iolab_recording::{LogEntry, Recording};

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
    let mut writers: Vec<(LogKind, BufWriter<File>)> = Vec::new();
    for (kind, name) in iolab_report::log_file_names(&worker.logs, worker) {
        let mut writer = BufWriter::with_capacity(1 << 18, open(&name, begun.insert(name.clone()))?);
        match kind {
            Some(kind) => writers.push((kind, writer)),
            None => write_histogram_log(recording, worker, &mut writer)?,
        }
    }
    let Some(mut spool) = spool else { return Ok(()) };
    spool.rewind()?;
    let mut reader = BufReader::with_capacity(1 << 20, spool);
    let (mut encoded, mut line) = ([0; LogEntry::ENCODED_BYTES], String::new());
    while reader.read_exact(&mut encoded).is_ok() {
        let Some(entry) = LogEntry::decode(&encoded) else { continue };
        if let Some((_, writer)) = writers.iter_mut().find(|(kind, _)| *kind == entry.kind) {
            line.clear();
            iolab_report::write_log_line(&mut line, &entry, &worker.logs);
            writer.write_all(line.as_bytes())?;
        }
    }
    for (_, mut writer) in writers {
        writer.flush()?;
    }
    Ok(())
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
