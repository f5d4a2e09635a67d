//! Converts the output of other programs to traces, and traces to formats of other programs.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use iolab_activity::{ProgressUnit, watched};
use iolab_outputs::OutputKind;
use iolab_text::{counted, grouped};
use iolab_trace_import::{Form, ImportError, Imported, blktrace, iolog, strace};

use super::trace_file::{open, unreadable};
use super::{CaptureArguments, read_to_end};
use crate::exit::ExitFailure;
use crate::outputs;
use crate::printing::{StandardError, complain_for_people};

type Input = BufReader<Box<dyn Read>>;

pub(super) fn import(arguments: &CaptureArguments) -> Result<u8, ExitFailure> {
    let from = &arguments.from;
    let mut outputs = outputs::beside(arguments.force, from.iter().map(|path| (path.as_path(), "an imported file")));
    let mut output = outputs.place(&arguments.output, OutputKind::Trace, "the trace (-o)")?.begin()?;
    let names: Vec<String> = from.iter().map(|path| path.display().to_string()).collect();
    let (read, total) = (Arc::<AtomicU64>::default(), total_bytes(from));
    let mut inputs = Vec::new();
    for path in from {
        inputs.push(input(path, &read)?);
    }
    let form = inputs.first().map_or(Form::Strace, |(form, _)| *form);
    if form != Form::Blktrace && inputs.len() > 1 {
        let reason = "only the files of blktrace, one of each CPU, make one trace: import others one by one";
        return Err(ExitFailure::mistake(format!("iolab: capture --from: {reason}")));
    }
    let what = format!("importing {}", names.join(", "));
    let imported = watched(&StandardError, what, ProgressUnit::Bytes, total, &read, || {
        converted(form, inputs, names, arguments.anonymize, BufWriter::new(&mut output))
    });
    imported.map_err(|error| match error {
        ImportError::Output(_) => ExitFailure::failed(format!("iolab: {error}")),
        _ => unreadable(&from[0], error),
    })?;
    output.finish()?;
    let reader = read_to_end(&arguments.output)?;
    let operations = reader.end().map_or(0, |end| end.operations);
    complain_for_people(&iolab_trace_summary::coverage(&reader, operations));
    let path = arguments.output.display();
    eprintln!("{path}: {}; `iolab capture stat {path}` prints a summary", counted(operations, "operation"));
    Ok(0)
}

/// The size of all files together, in bytes; `None` if one of them has no size.
fn total_bytes(paths: &[std::path::PathBuf]) -> Option<u64> {
    paths.iter().map(|path| std::fs::metadata(path).ok().map(|facts| facts.len())).sum()
}

/// A file whose bytes are counted as they are read.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// Opens a file and determines its form from its first bytes.
fn input(path: &Path, read: &Arc<AtomicU64>) -> Result<(Form, Input), ExitFailure> {
    const HEAD_BYTES: u64 = 64;
    let file = iolab_bounded_read::open(path).map_err(|error| unreadable(path, error))?;
    let mut file = Counted { file, read: Arc::clone(read) };
    let mut head = Vec::new();
    Read::by_ref(&mut file).take(HEAD_BYTES).read_to_end(&mut head).map_err(|error| unreadable(path, error))?;
    let form = Form::of(&head);
    let whole: Box<dyn Read> = Box::new(std::io::Cursor::new(head).chain(file));
    Ok((form, BufReader::with_capacity(1 << 16, whole)))
}

fn converted(
    form: Form,
    mut inputs: Vec<(Form, Input)>,
    names: Vec<String>,
    anonymous: bool,
    output: impl Write,
) -> Result<Imported, ImportError> {
    match (form, inputs.as_mut_slice()) {
        (Form::Iolog, [(_, one)]) => iolog::import(one, output, names, anonymous),
        (Form::Strace, [(_, one)]) => strace::import(one, output, names, anonymous),
        _ => blktrace::import(inputs.into_iter().map(|(_, input)| input).collect(), output, names, anonymous),
    }
}

pub(super) fn export(trace: &Path, path: &Path, version: u8, force: bool) -> Result<u8, ExitFailure> {
    let mut outputs = outputs::beside(force, [(trace, "the trace")]);
    let mut reader: iolab_trace::Reader<BufReader<File>> = open(trace)?;
    let mut output = outputs.place(path, OutputKind::Report, "the iolog (-o)")?.begin()?;
    let version = if version == 2 { iolog::Version::Two } else { iolog::Version::Three };
    let mut buffered = BufWriter::new(&mut output);
    let exported = iolog::export(&mut reader, version, &mut buffered).and_then(|exported| {
        buffered.flush()?;
        Ok(exported)
    });
    drop(buffered);
    let exported = exported.map_err(|error| ExitFailure::failed(format!("iolab: {}: {error}", path.display())))?;
    output.finish()?;
    super::trace_file::warn_of_damage(&reader, trace);
    let left_out = match exported.left_out {
        0 => String::new(),
        count => format!("; skipped: {} that failed or whose offset is unknown", grouped(count)),
    };
    eprintln!("{}: {}{left_out}", path.display(), counted(exported.lines, "operation"));
    Ok(0)
}
