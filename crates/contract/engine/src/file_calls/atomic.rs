//! What untorn writes a file or device supports: `STATX_WRITE_ATOMIC` of statx(2), Linux 6.11.
//!
//! Unsafe because the kernel fills a structure by pointer.

use std::os::fd::RawFd;

/// `STATX_WRITE_ATOMIC` (linux/stat.h).
const WRITE_ATOMIC: u32 = 0x0001_0000;

/// `struct statx`, as far as it is read here (linux/stat.h).
#[repr(C)]
struct Statx {
    mask: u32,
    before: [u32; 41],
    /// `stx_atomic_write_unit_min`, bytes.
    atomic_least: u32,
    /// `stx_atomic_write_unit_max`, bytes.
    atomic_most: u32,
    after: [u32; 20],
}

const _: () = assert!(size_of::<Statx>() == 256 && std::mem::offset_of!(Statx, atomic_least) == 168);

/// The shortest and the longest write that cannot be torn, bytes, both powers of two; `None` if
/// there is none.
pub fn atomic_write_limits(fd: RawFd) -> Option<(u32, u32)> {
    let mut answer = Statx { mask: 0, before: [0; 41], atomic_least: 0, atomic_most: 0, after: [0; 20] };
    let (empty, address) = (c"".as_ptr(), &raw mut answer);
    // SAFETY: statx(2) reads an empty string, which ends with its NUL, and writes one structure of
    // 256 bytes, the size of this one.
    let result = unsafe { libc::syscall(libc::SYS_statx, fd, empty, libc::AT_EMPTY_PATH, WRITE_ATOMIC, address) };
    let supported = result == 0 && answer.mask & WRITE_ATOMIC != 0 && answer.atomic_most > 0;
    supported.then_some((answer.atomic_least, answer.atomic_most))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn limits_are_powers_of_two_or_absent() {
        let file = tempfile::tempfile().unwrap();
        if let Some((least, most)) = atomic_write_limits(file.as_raw_fd()) {
            assert!(least.is_power_of_two() && most.is_power_of_two() && least <= most, "{least} {most}");
        }
        assert_eq!(atomic_write_limits(-1), None);
    }
}
