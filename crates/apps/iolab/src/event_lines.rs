//! `--events`: what happens in a run, as lines of JSON while it happens.
//!
//! The schema of a line is `iolab schema event`. Secrets are left out of it as they are left out of
//! the recording.

use std::borrow::Cow;
use std::io::Write;
use std::path::Path;

use iolab_outputs::{Output, OutputError, OutputKind, Outputs};
use iolab_recording::{Event, Redaction};
use iolab_runner::{RunObserver, Start, Wish};

use crate::exit::ExitFailure;

/// What the file is, in messages.
const EVENTS: &str = "the events";

/// Begins the file, which has its name from now on.
///
/// # Errors
/// It must not be replaced, or cannot be made.
pub(crate) fn begin(outputs: &mut Outputs, path: &Path) -> Result<Output, OutputError> {
    let mut output = outputs.place(path, OutputKind::Report, EVENTS)?.begin()?;
    output.publish()?;
    Ok(output)
}

/// An observer that writes events and passes them on.
pub(crate) struct EventLines<'a> {
    output: Option<Output>,
    redaction: &'a Redaction,
    inner: &'a mut dyn RunObserver,
    /// Why a line could not be written; none follows it.
    trouble: Option<std::io::Error>,
}

impl<'a> EventLines<'a> {
    /// Writes events to `output`, if there is one, before `inner` gets them.
    pub(crate) fn new(output: Option<Output>, redaction: &'a Redaction, inner: &'a mut dyn RunObserver) -> Self {
        EventLines { output, redaction, inner, trouble: None }
    }

    /// Ends the file.
    ///
    /// # Errors
    /// It does not have all events.
    pub(crate) fn finish(self) -> Result<(), ExitFailure> {
        let Some(output) = self.output else { return Ok(()) };
        if let Some(error) = self.trouble {
            return Err(ExitFailure::failed(format!("iolab: {EVENTS} are not complete: {error}")));
        }
        Ok(output.finish()?)
    }

    fn write(&mut self, event: &Event<'_>) {
        let Some(output) = self.output.as_mut().filter(|_| self.trouble.is_none()) else { return };
        // Plain data with string keys: serialisation has no way to fail.
        let mut line = serde_json::to_vec(event).unwrap_or_default();
        line.push(b'\n');
        self.trouble = output.write_all(&line).err();
    }
}

impl RunObserver for EventLines<'_> {
    fn take(&mut self, event: &Event<'_>) -> Wish {
        match event {
            _ if self.output.is_none() => {}
            Event::Planned(recording) | Event::SoFar(recording) => {
                let mut kept = Cow::Borrowed(*recording);
                if !self.redaction.is_empty() {
                    self.redaction.recording(kept.to_mut());
                }
                match event {
                    Event::Planned(_) => self.write(&Event::Planned(&kept)),
                    _ => self.write(&Event::SoFar(&kept)),
                }
            }
            Event::WorkerEnded(worker) => {
                let mut kept = (*worker).clone();
                self.redaction.worker(&mut kept);
                self.write(&Event::WorkerEnded(&kept));
            }
            Event::LaidOut { path, done_bytes, total_bytes } => {
                let kept = self.redaction.text(&path.to_string_lossy());
                let path = Path::new(&kept);
                self.write(&Event::LaidOut { path, done_bytes: *done_bytes, total_bytes: *total_bytes });
            }
            _ => self.write(event),
        }
        self.inner.take(event)
    }

    fn follows_intervals(&self) -> bool {
        self.output.is_some() || self.inner.follows_intervals()
    }

    fn start(&mut self) -> Start {
        self.inner.start()
    }
}
