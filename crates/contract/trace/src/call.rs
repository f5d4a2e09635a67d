//! The calls that a trace knows, as one table: the number in the file, the name, the effect.
//!
//! A number is never given to another call. A call that moves data between two files is represented
//! by two operations of the same time, one for each side.

/// The effect of a call on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Takes data out of it.
    Read,
    /// Puts data into it.
    Write,
    /// Waits until data is durable, or begins to make it so.
    Sync,
    /// Frees ranges of a device.
    Discard,
    /// Anything else.
    Other,
}

macro_rules! calls {
    ($($number:literal $name:ident $text:literal $effect:ident,)*) => {
        /// A call, or a request of the block layer.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Call {
            $(#[doc = concat!("`", $text, "`.")] $name = $number,)*
        }

        impl Call {
            /// All calls, by number.
            pub const ALL: &[Call] = &[$(Call::$name,)*];

            /// The call of a number, if there is one.
            pub fn of_number(number: u8) -> Option<Call> {
                match number {
                    $($number => Some(Call::$name),)*
                    _ => None,
                }
            }

            /// As tables and texts show it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Call::$name => $text,)*
                }
            }

            /// What it does.
            pub fn effect(self) -> Effect {
                match self {
                    $(Call::$name => Effect::$effect,)*
                }
            }
        }
    };
}

calls! {
    1 Read "read" Read,
    2 Write "write" Write,
    3 Pread "pread64" Read,
    4 Pwrite "pwrite64" Write,
    5 Readv "readv" Read,
    6 Writev "writev" Write,
    7 Preadv "preadv" Read,
    8 Pwritev "pwritev" Write,
    9 Preadv2 "preadv2" Read,
    10 Pwritev2 "pwritev2" Write,
    16 Fsync "fsync" Sync,
    17 Fdatasync "fdatasync" Sync,
    18 SyncFileRange "sync_file_range" Sync,
    19 Sync "sync" Sync,
    20 Syncfs "syncfs" Sync,
    21 Msync "msync" Sync,
    32 Open "open" Other,
    33 Close "close" Other,
    34 Dup "dup" Other,
    35 Lseek "lseek" Other,
    36 Fallocate "fallocate" Other,
    37 Ftruncate "ftruncate" Other,
    38 Truncate "truncate" Other,
    39 Mmap "mmap" Other,
    48 CopyRead "copy_file_range (source)" Read,
    49 CopyWrite "copy_file_range (target)" Write,
    50 SpliceRead "splice (source)" Read,
    51 SpliceWrite "splice (target)" Write,
    52 SendfileRead "sendfile (source)" Read,
    53 SendfileWrite "sendfile (target)" Write,
    64 AioRead "io_submit read" Read,
    65 AioWrite "io_submit write" Write,
    66 AioFsync "io_submit fsync" Sync,
    67 AioFdatasync "io_submit fdatasync" Sync,
    80 UringRead "io_uring read" Read,
    81 UringWrite "io_uring write" Write,
    82 UringFsync "io_uring fsync" Sync,
    83 UringFdatasync "io_uring fdatasync" Sync,
    84 UringSyncFileRange "io_uring sync_file_range" Sync,
    85 UringFallocate "io_uring fallocate" Other,
    86 UringFtruncate "io_uring ftruncate" Other,
    96 BlockRead "block read" Read,
    97 BlockWrite "block write" Write,
    98 BlockFlush "block flush" Sync,
    99 BlockDiscard "block discard" Discard,
    112 JobRead "read of a job" Read,
    113 JobWrite "write of a job" Write,
    114 JobTrim "trim of a job" Discard,
}

impl Call {
    /// Whether it is the other side of the operation before it: one call moves data from a file to
    /// another, and both have its duration.
    pub fn is_second_side(self) -> bool {
        matches!(self, Call::CopyWrite | Call::SendfileWrite | Call::SpliceWrite)
    }

    /// Whether it moves data: its result is a count of bytes.
    pub fn moves_data(self) -> bool {
        matches!(self.effect(), Effect::Read | Effect::Write | Effect::Discard)
    }

    /// The call of a name, if there is one.
    pub fn of_name(name: &str) -> Option<Call> {
        Call::ALL.iter().copied().find(|call| call.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_lead_back() {
        for call in Call::ALL {
            assert_eq!(Call::of_number(*call as u8), Some(*call));
            assert_eq!(Call::of_name(call.name()), Some(*call));
        }
        assert_eq!(Call::of_number(0), None);
        assert_eq!(Call::of_number(255), None);
    }
}
