//! Inode numbers, and what `stat(2)` reports of an inode.

/// Number of an inode: the domain in the upper 16 bits, a serial number in the others. Never
/// reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeId(pub u64);

impl InodeId {
    /// The root directory.
    pub const ROOT: InodeId = InodeId(1);

    /// Bits of the serial.
    const SERIAL_BITS: u32 = 48;

    /// The first inode number of a domain; in the first domain that of the root directory.
    pub(crate) fn first(domain: u32) -> InodeId {
        InodeId(u64::from(domain) << InodeId::SERIAL_BITS | 1)
    }

    /// The domain that the inode belongs to. The root directory belongs to all; its number says the
    /// first.
    pub fn domain(self) -> u32 {
        (self.0 >> InodeId::SERIAL_BITS) as u32
    }
}

/// The type of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum InodeKind {
    /// A regular file.
    File = 1,
    /// A directory.
    Directory = 2,
    /// A symbolic link.
    Symlink = 3,
    /// A named pipe.
    Fifo = 4,
    /// A Unix domain socket.
    Socket = 5,
    /// A character device.
    CharacterDevice = 6,
    /// A block device.
    BlockDevice = 7,
}

impl InodeKind {
    pub(crate) fn from_byte(byte: u8) -> Option<InodeKind> {
        let files = [InodeKind::File, InodeKind::Directory, InodeKind::Symlink];
        let special = [InodeKind::Fifo, InodeKind::Socket, InodeKind::CharacterDevice, InodeKind::BlockDevice];
        files.into_iter().chain(special).find(|kind| *kind as u8 == byte)
    }

    /// Whether the kernel gives the inode a meaning beyond what is stored: a pipe, a socket, a
    /// device.
    pub fn is_special(self) -> bool {
        self >= InodeKind::Fifo
    }
}

/// What `stat(2)` reports of an inode. Times are ns since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// The type.
    pub kind: InodeKind,
    /// Permission bits, with set-user-id, set-group-id and sticky.
    pub mode: u16,
    /// User ID of the owner.
    pub uid: u32,
    /// Group ID.
    pub gid: u32,
    /// Number of names; for a directory 2, and one more for each directory in it.
    pub links: u32,
    /// Bytes of a file or of a link's target; entries of a directory.
    pub size: u64,
    /// Time of the last access as set by a caller: reading does not update it.
    pub accessed_ns: u64,
    /// Last change of content.
    pub modified_ns: u64,
    /// Last change of content or attributes.
    pub changed_ns: u64,
    /// Time of creation.
    pub born_ns: u64,
}
