//! The page of a trace.

use std::path::Path;

use iolab_html::{TraceReport, trace_page};
use iolab_outputs::OutputKind;
use iolab_trace_summary::{Picture, Summary};

use super::trace_file::{next, open, warn_of_damage};
use crate::exit::ExitFailure;
use crate::{output, outputs};

pub(super) fn write(trace: &Path, page: &Path, force: bool) -> Result<u8, ExitFailure> {
    let mut outputs = outputs::beside(force, [(trace, "the trace")]);
    let place = outputs.place(page, OutputKind::Report, "the page (-o)")?;
    let mut reader = open(trace)?;
    let (mut summary, mut picture) = (Summary::default(), Picture::default());
    while let Some(operation) = next(&mut reader, trace)? {
        summary.add(&operation, &reader);
        picture.add(&operation, &reader);
    }
    let name = trace.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let paths: Vec<String> = reader.files().iter().map(|file| file.path.clone()).collect();
    let report = TraceReport {
        title: &format!("Trace {name}"),
        text: &summary.text(&reader),
        picture: &picture,
        paths: &paths,
        again: &output::command_line(),
        version: env!("CARGO_PKG_VERSION"),
    };
    place.write(trace_page(&report).html.as_bytes())?;
    warn_of_damage(&reader, trace);
    Ok(0)
}
