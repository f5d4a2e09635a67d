//! What the program needs of the limits it was started under (`ulimit`), before it does anything.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::exit::Failure;

/// Stack that every command has enough of, with room to spare.
const STACK_BYTES: u64 = 4 << 20;

/// Address space below which the program itself and a few small jobs do not fit.
const ADDRESSES_BYTES: u64 = 128 << 20;

/// Makes room, or says that there is none: the program would be ended by a signal, without a word.
///
/// # Errors
/// A limit is lower than what is needed, and may not be raised.
pub(crate) fn make() -> Result<(), Failure> {
    iolab_process::survive_size_limits();
    if let Some(bytes) = getrlimit(Resource::As).current.filter(|bytes| *bytes < ADDRESSES_BYTES) {
        return Err(Failure::mistake(format!(
            "iolab: the address space is limited to {} MiB: raise the limit to {} MiB or more (ulimit -v)",
            bytes >> 20,
            ADDRESSES_BYTES >> 20
        )));
    }
    make_stack()
}

/// The kernel asks for the limit whenever the stack grows.
fn make_stack() -> Result<(), Failure> {
    let now = getrlimit(Resource::Stack);
    let Some(current) = now.current.filter(|current| *current < STACK_BYTES) else { return Ok(()) };
    let within = now.maximum.is_none_or(|most| most >= STACK_BYTES);
    let maximum = if within { now.maximum } else { Some(STACK_BYTES) };
    setrlimit(Resource::Stack, Rlimit { current: Some(STACK_BYTES), maximum }).map_err(|_| {
        Failure::mistake(format!(
            "iolab: the stack is limited to {} KiB: raise the limit to {} KiB or more (ulimit -s)",
            current >> 10,
            STACK_BYTES >> 10
        ))
    })
}
