//! The child's part: writes operations, and acknowledges each when it is done.

use std::io::{Read, Write};

use iolab_kv::{Access, Batch, StoreError};

use crate::Shape;

/// The child's acknowledgement of an operation that has returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledged {
    /// Its number.
    pub number: u64,
    /// Whether it was synced.
    pub is_synced: bool,
}

impl Acknowledged {
    /// Bytes of an acknowledgement: the number, little-endian, and one byte for the sync.
    const BYTES: usize = 9;

    fn bytes(self) -> [u8; Acknowledged::BYTES] {
        let mut bytes = [self.is_synced.into(); Acknowledged::BYTES];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        bytes
    }

    /// The next one of a pipe; `None` at its end.
    ///
    /// # Errors
    /// Those of reading.
    pub fn read(from: &mut impl Read) -> std::io::Result<Option<Acknowledged>> {
        let mut bytes = [0; Acknowledged::BYTES];
        match from.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let [number @ .., is_synced] = bytes;
        Ok(Some(Acknowledged { number: u64::from_le_bytes(number), is_synced: is_synced != 0 }))
    }
}

/// Writes the operations of a round from `first` on, until the reader is gone.
///
/// # Errors
/// Those of the store.
pub fn load(
    store: &dyn Access,
    shape: &Shape,
    round: u64,
    first: u64,
    tell: &mut impl Write,
) -> Result<(), StoreError> {
    let mut batch = Batch::new();
    for number in first.. {
        let operation = shape.operation(round, number);
        operation.put_into(&mut batch);
        store.write(&batch, operation.durability())?;
        let acknowledged = Acknowledged { number, is_synced: operation.is_synced };
        // In one call: a pipe takes so few bytes either whole or not at all (pipe(7), PIPE_BUF).
        if tell.write_all(&acknowledged.bytes()).and_then(|()| tell.flush()).is_err() {
            break;
        }
    }
    Ok(())
}
