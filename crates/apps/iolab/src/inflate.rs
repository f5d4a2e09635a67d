//! `--inflate-log`: prints the text of a compressed log.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::exit::ExitFailure;
use crate::printing::print_to_reader;

/// Prints a log that `log_store_compressed` has written.
///
/// # Errors
/// The file cannot be read, or is no such log.
pub(crate) fn print_log(path: &Path) -> Result<(), ExitFailure> {
    let file = iolab_bounded_read::open(path).map_err(|error| ExitFailure::mistake(format!("iolab: {error}")))?;
    match iolab_outputs::inflate(file, &mut Printed) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(ExitFailure::failed(format!(
            "iolab: {}: {error}: it is no log that log_store_compressed=1 of iolab has written, or it is cut off",
            path.display()
        ))),
    }
}

/// Standard output, for text that comes in pieces.
struct Printed;

impl Write for Printed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match print_to_reader(&String::from_utf8_lossy(bytes)) {
            Ok(true) => Ok(bytes.len()),
            Ok(false) => Err(ErrorKind::BrokenPipe.into()),
            Err(error) => Err(io::Error::other(error)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
