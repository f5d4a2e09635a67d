//! A compressed log that is being written (`log_store_compressed`).

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::ZlibEncoder;

use crate::{Output, OutputError};

/// A compressed log that is being written.
#[derive(Debug)]
pub struct CompressedOutput {
    encoder: ZlibEncoder<Output>,
}

impl CompressedOutput {
    /// Compresses what is written into `output`.
    pub fn new(output: Output) -> CompressedOutput {
        CompressedOutput { encoder: ZlibEncoder::new(output, Compression::default()) }
    }

    /// Writes the end of the stream, and finishes the output.
    ///
    /// # Errors
    /// As [`Output::finish`], or the end cannot be written.
    pub fn finish(self) -> Result<(), OutputError> {
        let path = self.encoder.get_ref().path().to_owned();
        let output = self.encoder.finish().map_err(|error| OutputError::io("writing", &path, error))?;
        output.finish()
    }
}

impl Write for CompressedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.encoder.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.encoder.flush()
    }
}
