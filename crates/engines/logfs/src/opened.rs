//! The target of operations: a domain used only by this worker, or the file system that all workers
//! share.

use iolab_disk::Buffer;
use iolab_logfs::{Error, InodeId, InodeKind, Layout, LogFs, Owner, Span, Volume};

/// Clones refer to the same file system.
#[derive(Debug, Clone)]
pub(crate) enum Opened {
    Own(LogFs),
    Shared(Volume),
}

/// The result of a call with a buffer, and the buffer.
type WithBuffer<T> = (Result<T, Error>, Option<Buffer>);

impl Opened {
    pub(crate) fn layout(&self) -> Layout {
        match self {
            Opened::Own(fs) => fs.layout(),
            Opened::Shared(volume) => volume.layout(),
        }
    }

    /// The inode of a name, if it exists.
    pub(crate) async fn look_up(&self, folder: InodeId, name: &[u8]) -> Result<Option<(InodeId, InodeKind)>, Error> {
        let found = match self {
            Opened::Own(fs) => fs.lookup(folder, name),
            Opened::Shared(volume) => volume.lookup(folder, name).await,
        };
        match found {
            Ok(entry) => Ok(Some((entry.inode, entry.kind))),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn make_directory(&self, folder: InodeId, name: &[u8]) -> Result<InodeId, Error> {
        match self {
            Opened::Own(fs) => fs.make_directory(folder, name, Owner::default()).await,
            Opened::Shared(volume) => volume.make_directory(folder, name, Owner::default()).await,
        }
    }

    pub(crate) async fn create(&self, folder: InodeId, name: &[u8]) -> Result<InodeId, Error> {
        match self {
            Opened::Own(fs) => fs.create(folder, name, Owner::default()).await,
            Opened::Shared(volume) => volume.create(folder, name, Owner::default()).await,
        }
    }

    pub(crate) async fn size(&self, inode: InodeId) -> Result<u64, Error> {
        let attributes = match self {
            Opened::Own(fs) => fs.stat(inode),
            Opened::Shared(volume) => volume.stat(inode).await,
        };
        attributes.map(|attributes| attributes.size)
    }

    pub(crate) async fn sync(&self) -> Result<(), Error> {
        match self {
            Opened::Own(fs) => fs.sync().await,
            Opened::Shared(volume) => volume.sync().await,
        }
    }

    pub(crate) async fn read(&self, inode: InodeId, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        match self {
            Opened::Own(fs) => fs.read(inode, offset, length).await,
            Opened::Shared(volume) => volume.read(inode, offset, length).await,
        }
    }

    pub(crate) async fn read_into(&self, inode: InodeId, offset: u64, buffer: Buffer) -> WithBuffer<usize> {
        match self {
            Opened::Own(fs) => fs.read_into(inode, offset, buffer).await,
            Opened::Shared(volume) => volume.read_into(inode, offset, buffer).await,
        }
    }

    pub(crate) async fn write(&self, inode: InodeId, offset: u64, content: &[u8]) -> Result<(), Error> {
        match self {
            Opened::Own(fs) => fs.write(inode, offset, content).await,
            Opened::Shared(volume) => volume.write(inode, offset, content).await,
        }
    }

    pub(crate) async fn write_buffer(&self, inode: InodeId, offset: u64, buffer: Buffer) -> WithBuffer<()> {
        match self {
            Opened::Own(fs) => fs.write_buffer(inode, offset, buffer).await,
            Opened::Shared(volume) => volume.write_buffer(inode, offset, buffer).await,
        }
    }

    pub(crate) async fn read_vectored(
        &self,
        inode: InodeId,
        offset: u64,
        buffers: Vec<Buffer>,
    ) -> Result<(usize, Vec<Buffer>), Error> {
        match self {
            Opened::Own(fs) => fs.read_vectored(inode, offset, buffers).await,
            Opened::Shared(volume) => volume.read_vectored(inode, offset, buffers).await,
        }
    }

    pub(crate) async fn write_vectored(
        &self,
        inode: InodeId,
        spans: &[Span],
        buffers: Vec<Buffer>,
    ) -> Result<(), Error> {
        match self {
            Opened::Own(fs) => fs.write_vectored(inode, spans, buffers).await,
            Opened::Shared(volume) => volume.write_vectored(inode, spans, buffers).await,
        }
    }

    pub(crate) async fn punch(&self, inode: InodeId, offset: u64, length: u64) -> Result<(), Error> {
        match self {
            Opened::Own(fs) => fs.punch(inode, offset, length).await,
            Opened::Shared(volume) => volume.punch(inode, offset, length).await,
        }
    }

    pub(crate) async fn fsync(&self, inode: InodeId, data_only: bool) -> Result<(), Error> {
        match (self, data_only) {
            (Opened::Own(fs), false) => fs.fsync(inode).await,
            (Opened::Own(fs), true) => fs.fdatasync(inode).await,
            (Opened::Shared(volume), false) => volume.fsync(inode).await,
            (Opened::Shared(volume), true) => volume.fdatasync(inode).await,
        }
    }
}
