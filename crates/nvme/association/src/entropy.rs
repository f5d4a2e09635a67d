//! Random bytes from the kernel, for challenges and private exponents.

use std::io;

use iolab_nvme_authentication::{ENTROPY_BYTES, Entropy};
use rustix::rand::{GetRandomFlags, getrandom};

/// As many bytes as one side of one authentication needs.
///
/// # Errors
/// The kernel has no random bytes.
pub fn draw_entropy() -> io::Result<Entropy> {
    let mut bytes = [0; ENTROPY_BYTES];
    // The kernel returns this few bytes in one call (getrandom(2)).
    let drawn = getrandom(&mut bytes[..], GetRandomFlags::empty())?;
    if drawn < ENTROPY_BYTES {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Entropy(bytes))
}
