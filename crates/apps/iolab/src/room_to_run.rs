//! What the program needs of the limits it was started under (`ulimit`), before it does anything.
//! A small stack (`ulimit -s`) is none of them: the program brings its own.

use rustix::process::{Resource, getrlimit};

use crate::exit::ExitFailure;

/// Address space below which the program itself and a few small jobs do not fit.
const ADDRESSES_BYTES: u64 = 128 << 20;

/// Makes room, or says that there is none: the program would be ended by a signal, without a word.
///
/// # Errors
/// A limit is lower than what is needed, and may not be raised.
pub(crate) fn make() -> Result<(), ExitFailure> {
    iolab_process::survive_size_limits();
    if let Some(bytes) = getrlimit(Resource::As).current.filter(|bytes| *bytes < ADDRESSES_BYTES) {
        return Err(ExitFailure::mistake(format!(
            "iolab: the address space limit of {} MiB is too low: raise it to {} MiB or more (ulimit -v)",
            bytes >> 20,
            ADDRESSES_BYTES >> 20
        )));
    }
    Ok(())
}
