//! Requests that move data: READ, WRITE, FALLOCATE, COPY_FILE_RANGE.

use iolab_disk::Buffer;
use iolab_fuse::abi::{TransferArgs, u32_at, u64_at};
use iolab_fuse::channel::Message;
use iolab_logfs::{Error, InodeId, LocalVolume};

use crate::nodes::{MayBeCached, is_direct};
use crate::payloads::{Moved, write_out};
use crate::server::{Answer, Server, built};

/// `FUSE_WRITE_KILL_SUIDGID`.
const STRIP: u32 = 1 << 2;
/// `FUSE_WRITE_CACHE`: writeback of pages, with the flags of any open file.
const FROM_CACHE: u32 = 1 << 0;
/// Most bytes copied between two checks of the destination.
const COPIED_AT_ONCE: usize = 1 << 20;
/// Most bytes of one COPY_FILE_RANGE: the caller continues with the next.
const MOST_COPIED: u64 = 64 << 20;

/// READ into a buffer.
pub(crate) async fn read(server: Server, inode: InodeId, offset: u64, buffer: Buffer) -> Result<Moved, i32> {
    let (found, _) = server.fs.read_into(inode, offset, buffer).await;
    found.map(Moved::Read).map_err(|error| error.errno())
}

/// The arguments of WRITE: place, whether it strips privileges, and whether it bypasses the page
/// cache.
#[derive(Debug)]
pub(crate) struct Write {
    inode: InodeId,
    offset: u64,
    /// Bytes of the payload.
    pub(crate) size: usize,
    strip: bool,
    direct: bool,
}

impl Write {
    pub(crate) fn parse(message: &Message) -> Result<Write, i32> {
        let TransferArgs { offset, size } = TransferArgs::parse(message.args()).ok_or(libc::EINVAL)?;
        let word = |at| u32_at(message.args(), at).ok_or(libc::EINVAL);
        let (flags, open_flags) = (word(20)?, word(32)?);
        let size = size as usize;
        if size > message.data_bytes {
            return Err(libc::EINVAL);
        }
        let direct = flags & FROM_CACHE == 0 && is_direct(open_flags);
        let inode = InodeId(message.header.node);
        Ok(Write { inode, offset, size, strip: flags & STRIP != 0, direct })
    }

    pub(crate) async fn perform(self, server: Server, content: Buffer) -> Result<Moved, i32> {
        self.apply(&server, content).await.map_err(|error| error.errno())?;
        if self.direct {
            self.drop_pages(&server).await;
        }
        Ok(Moved::Written(self.size))
    }

    /// Has the kernel drop the pages that were written. All pages of a file that is not open for
    /// access through the page cache are dropped: the next write finds none, and does not wait.
    async fn drop_pages(&self, server: &Server) {
        let cached = server.nodes.borrow().may_be_cached(self.inode);
        let (offset, length) = match cached {
            MayBeCached::Nothing => return,
            MayBeCached::InUse => (self.offset, self.size as u64),
            MayBeCached::LeftBehind { .. } => (0, u64::MAX),
        };
        let sent = server.notices.borrow_mut().content_changed(self.inode, offset, length);
        if sent.await
            && let MayBeCached::LeftBehind { opens } = cached
        {
            server.nodes.borrow_mut().dropped(self.inode, opens);
        }
    }

    async fn apply(&self, server: &Server, content: Buffer) -> Result<(), Error> {
        if self.strip {
            server.strip_privileges(self.inode).await?;
        }
        server.fs.write_buffer(self.inode, self.offset, content).await.0
    }
}

/// FALLOCATE.
#[derive(Debug)]
pub(crate) struct Allocate {
    inode: InodeId,
    offset: u64,
    length: u64,
    mode: i32,
    /// A change by a user other than root strips the file's privileges.
    strip: bool,
}

impl Allocate {
    pub(crate) fn parse(message: &Message) -> Result<Allocate, i32> {
        let args = message.args();
        let (Some(offset), Some(length), Some(mode)) = (u64_at(args, 8), u64_at(args, 16), u32_at(args, 24)) else {
            return Err(libc::EINVAL);
        };
        let inode = InodeId(message.header.node);
        Ok(Allocate { inode, offset, length, mode: mode as i32, strip: message.header.uid != 0 })
    }

    /// Punches a hole. Modes that would reserve space are refused: a log writes every block to a
    /// new place, so that a reserved block helps no later write, and claiming otherwise would let a
    /// program rely on space that is not there. Programs then write zeroes (posix_fallocate(3)).
    pub(crate) async fn perform(self, server: Server) -> Answer {
        let Allocate { inode, offset, length, mode, strip } = self;
        if mode != libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE {
            return Err(libc::EOPNOTSUPP);
        }
        let punched = match server.fs.punch(inode, offset, length).await {
            Ok(()) if strip => server.strip_privileges(inode).await,
            other => other,
        };
        punched.map(|()| Vec::new()).map_err(|error| error.errno())
    }
}

/// COPY_FILE_RANGE: copies piece by piece, without passing the data through the kernel.
#[derive(Debug)]
pub(crate) struct Copy {
    from: (InodeId, u64),
    to: (InodeId, u64),
    length: u64,
    strip: bool,
}

impl Copy {
    pub(crate) fn parse(message: &Message) -> Result<Copy, i32> {
        let args = message.args();
        let long = |at| u64_at(args, at).ok_or(libc::EINVAL);
        Ok(Copy {
            from: (InodeId(message.header.node), long(8)?),
            to: (InodeId(long(16)?), long(32)?),
            length: long(40)?.min(MOST_COPIED),
            strip: message.header.uid != 0,
        })
    }

    pub(crate) async fn perform(self, server: Server) -> Answer {
        let fs = &server.fs;
        if self.strip {
            server.strip_privileges(self.to.0).await.map_err(|error| error.errno())?;
        }
        let mut done = 0;
        while done < self.length {
            let piece = (self.length - done).min(COPIED_AT_ONCE as u64) as usize;
            match self.piece(fs, done, piece).await {
                Ok(0) => break,
                Ok(bytes) => done += bytes,
                Err(error) if done == 0 => return Err(error.errno()),
                Err(_) => break,
            }
        }
        Ok(built(|body| write_out(body, done)))
    }

    async fn piece(&self, fs: &LocalVolume, done: u64, length: usize) -> Result<u64, Error> {
        let content = fs.read(self.from.0, self.from.1.saturating_add(done), length).await?;
        if !content.is_empty() {
            fs.write(self.to.0, self.to.1.saturating_add(done), &content).await?;
        }
        Ok(content.len() as u64)
    }
}
