//! Writing the iologs of a run (`write_iolog`), from the operations that the workers noted: version
//! 3 of fio's form (fio(1), "Trace file format"), which fio and iolab replay.
//!
//! Workers that name the same file are merged by time. A worker hands its operations over one after
//! the other, so that its notes are in order, and one record of each is held at a time.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, Write};
use std::path::Path;

use iolab_activity::{Failure, FailureContext};
use iolab_order::Gather;
use iolab_outputs::{OutputKind, Outputs};
use iolab_plan::{Plan, WorkerPlan};
use iolab_recording::NotedOperation;

/// What messages call an iolog.
pub const IOLOG: &str = "the iolog (write_iolog)";

/// The iologs that a plan asks for, each once.
pub fn names(plan: &Plan) -> Vec<&str> {
    let names: BTreeSet<&str> = plan.workers.iter().filter_map(|worker| worker.logs.operations.as_deref()).gather();
    names.into_iter().collect()
}

/// Writes all iologs from the notes of the workers, in plan order.
///
/// # Errors
/// One cannot be written.
pub fn write(outputs: &mut Outputs, plan: &Plan, notes: &[Option<&File>]) -> Result<(), Failure> {
    for name in names(plan) {
        let mut sources = Vec::new();
        for (worker, file) in plan.workers.iter().zip(notes) {
            if let (Some(file), true) = (file, worker.logs.operations.as_deref() == Some(name)) {
                sources.push(Source::open(worker, file).with_context(|| format!("writing {name}"))?);
            }
        }
        let mut output = outputs.place(Path::new(name), OutputKind::Report, IOLOG)?.begin()?;
        let mut text = BufWriter::new(&mut output);
        let written = merge(&mut sources, &mut text).and_then(|()| text.flush());
        drop(text);
        written.with_context(|| format!("writing {name}"))?;
        output.finish()?;
    }
    Ok(())
}

/// The notes of one worker.
struct Source<'a> {
    worker: &'a WorkerPlan,
    file: BufReader<&'a File>,
    next: Option<NotedOperation>,
}

impl<'a> Source<'a> {
    fn open(worker: &'a WorkerPlan, mut file: &'a File) -> std::io::Result<Source<'a>> {
        file.rewind()?;
        let mut source = Source { worker, file: BufReader::new(file), next: None };
        source.advance()?;
        Ok(source)
    }

    /// Reads the next record; a worker that was killed may have left a part of one.
    fn advance(&mut self) -> std::io::Result<()> {
        let mut record = [0; NotedOperation::BYTES];
        self.next = match self.file.read_exact(&mut record) {
            Ok(()) => NotedOperation::decode(&record),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => None,
            Err(error) => return Err(error),
        };
        Ok(())
    }

    fn path(&self, file: u32) -> String {
        let file = self.worker.files.get(file as usize);
        file.map_or_else(|| self.worker.job.clone(), |file| file.path.display().to_string())
    }
}

fn merge(sources: &mut [Source<'_>], text: &mut impl Write) -> std::io::Result<()> {
    writeln!(text, "fio version 3 iolog")?;
    let paths: Vec<Vec<String>> = sources
        .iter()
        .map(|source| (0..source.worker.files.len().max(1) as u32).map(|file| source.path(file)).collect())
        .collect();
    let all: BTreeSet<&String> = paths.iter().flatten().gather();
    for path in &all {
        writeln!(text, "0 {path} add\n0 {path} open")?;
    }
    let mut last_us = 0;
    loop {
        let waiting = sources.iter().enumerate();
        let first = waiting.filter_map(|(place, source)| Some((source.next?.begun_ns, place))).min();
        let Some((begun_ns, place)) = first else { break };
        let source = &mut sources[place];
        if let Some(noted) = source.next {
            last_us = begun_ns / 1_000;
            let path = paths[place].get(noted.file as usize).map_or(source.worker.job.as_str(), String::as_str);
            writeln!(text, "{last_us} {path} {} {} {}", noted.action.word(), noted.offset, noted.length)?;
        }
        source.advance()?;
    }
    for path in &all {
        writeln!(text, "{last_us} {path} close")?;
    }
    Ok(())
}
