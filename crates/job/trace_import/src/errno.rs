//! Names of errors and their numbers (errno(3), as on x86-64 and aarch64).

/// The number of an error; 1 for a name that is not known.
pub(crate) fn number(name: &str) -> i64 {
    const NUMBERS: [(&str, i64); 32] = [
        ("EPERM", 1),
        ("ENOENT", 2),
        ("EINTR", 4),
        ("EIO", 5),
        ("ENXIO", 6),
        ("EBADF", 9),
        ("ECHILD", 10),
        ("EAGAIN", 11),
        ("ENOMEM", 12),
        ("EACCES", 13),
        ("EFAULT", 14),
        ("EBUSY", 16),
        ("EEXIST", 17),
        ("EXDEV", 18),
        ("ENODEV", 19),
        ("ENOTDIR", 20),
        ("EISDIR", 21),
        ("EINVAL", 22),
        ("ENFILE", 23),
        ("EMFILE", 24),
        ("ENOTTY", 25),
        ("ETXTBSY", 26),
        ("EFBIG", 27),
        ("ENOSPC", 28),
        ("ESPIPE", 29),
        ("EROFS", 30),
        ("EPIPE", 32),
        ("ENOSYS", 38),
        ("ELOOP", 40),
        ("EOPNOTSUPP", 95),
        ("ETIME", 62),
        ("ESTALE", 116),
    ];
    NUMBERS.iter().find(|(known, _)| *known == name).map_or(1, |(_, number)| *number)
}
