//! What an inode is called and what `stat(2)` tells of it.

/// Number of an inode: the domain in the upper 16 bits, a serial in the others. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InodeId(pub u64);

impl InodeId {
    /// The root directory.
    pub const ROOT: InodeId = InodeId(1);

    /// Bits of the serial.
    const SERIAL_BITS: u32 = 48;

    /// The number that counting begins with in a domain; that of the root directory in the first.
    pub(crate) fn first(domain: u32) -> InodeId {
        InodeId(u64::from(domain) << InodeId::SERIAL_BITS | 1)
    }

    /// The domain that it belongs to. The root directory belongs to all; this says the first.
    pub fn domain(self) -> u32 {
        (self.0 >> InodeId::SERIAL_BITS) as u32
    }
}

/// What an inode is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum InodeKind {
    /// Bytes.
    File = 1,
    /// Names.
    Directory = 2,
    /// A path to look at instead.
    Symlink = 3,
    /// A named pipe.
    Fifo = 4,
    /// Where a socket is bound.
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

    /// Whether the kernel makes of it something else than what is stored: a pipe, a socket, a
    /// device.
    pub fn is_special(self) -> bool {
        self >= InodeKind::Fifo
    }
}

/// What `stat(2)` tells of an inode. Times are ns since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attributes {
    /// What it is.
    pub kind: InodeKind,
    /// Permission bits, with set-user-id, set-group-id and sticky.
    pub mode: u16,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Names; for directories 2 and one for each directory in it.
    pub links: u32,
    /// Bytes of a file or of a link's target; entries of a directory.
    pub size: u64,
    /// Last read, as far as anybody says so: reading does not set it.
    pub accessed_ns: u64,
    /// Last change of content.
    pub modified_ns: u64,
    /// Last change of content or attributes.
    pub changed_ns: u64,
    /// When it was made.
    pub born_ns: u64,
}
