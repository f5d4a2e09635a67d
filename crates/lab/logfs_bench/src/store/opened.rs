//! The target of a load's operations: a domain opened separately, or a file system whose domains
//! are served by cores that forward to each other.

use iolab_disk::Buffer;
use iolab_logfs::{Activity, Error, InodeId, LogFs, Owner, Volume};

#[derive(Debug, Clone)]
pub(super) enum Opened {
    Alone(LogFs),
    AsCore(Volume),
}

impl Opened {
    /// Makes a file of the domain `number` in the domain `place`.
    pub(super) async fn make(&self, number: usize, place: usize, file: usize) -> Result<InodeId, Error> {
        // All domains share one root directory, where names are unique.
        let name = format!("file{number}.{file}");
        let owner = Owner { mode: 0o644, ..Owner::default() };
        match self {
            Opened::Alone(fs) => fs.create(InodeId::ROOT, name.as_bytes(), owner).await,
            Opened::AsCore(volume) => {
                let folder = folder(volume, number, place).await?;
                volume.create(folder, name.as_bytes(), owner).await
            }
        }
    }

    pub(super) async fn write_buffer(
        &self,
        inode: InodeId,
        offset: u64,
        buffer: Buffer,
    ) -> (Result<(), Error>, Option<Buffer>) {
        match self {
            Opened::Alone(fs) => fs.write_buffer(inode, offset, buffer).await,
            Opened::AsCore(volume) => volume.write_buffer(inode, offset, buffer).await,
        }
    }

    pub(super) async fn read_into(
        &self,
        inode: InodeId,
        offset: u64,
        buffer: Buffer,
    ) -> (Result<usize, Error>, Option<Buffer>) {
        match self {
            Opened::Alone(fs) => fs.read_into(inode, offset, buffer).await,
            Opened::AsCore(volume) => volume.read_into(inode, offset, buffer).await,
        }
    }

    pub(super) async fn truncate(&self, inode: InodeId, size: u64) -> Result<(), Error> {
        match self {
            Opened::Alone(fs) => fs.truncate(inode, size).await,
            Opened::AsCore(volume) => volume.truncate(inode, size).await,
        }
    }

    pub(super) async fn sync(&self) -> Result<(), Error> {
        match self {
            Opened::Alone(fs) => fs.sync().await,
            // The others sync theirs.
            Opened::AsCore(volume) => {
                for fs in volume.domains_here() {
                    fs.sync().await?;
                }
                Ok(())
            }
        }
    }

    /// Of the domains of this thread.
    pub(super) fn activity(&self) -> Activity {
        match self {
            Opened::Alone(fs) => fs.activity(),
            Opened::AsCore(volume) => {
                volume.domains_here().fold(Activity::default(), |sum, fs| sum.and(&fs.activity()))
            }
        }
    }

    /// All that is open.
    pub(super) async fn close(self) -> Result<(), Error> {
        match self {
            Opened::Alone(fs) => fs.close().await,
            Opened::AsCore(volume) => volume.close().await,
        }
    }
}

/// The directory at top level of a core, in a domain of its own: made by that core, and found by
/// the others.
pub(crate) async fn folder(volume: &Volume, number: usize, place: usize) -> Result<InodeId, Error> {
    let name = format!("core{place}");
    loop {
        match volume.lookup(InodeId::ROOT, name.as_bytes()).await {
            Ok(entry) => return Ok(entry.inode),
            Err(Error::NotFound) if place == number => {
                let owner = Owner { mode: 0o755, ..Owner::default() };
                return volume.make_directory(InodeId::ROOT, name.as_bytes(), owner).await;
            }
            // A message goes to every core and back between two attempts.
            Err(Error::NotFound) => drop(volume.stat(InodeId::ROOT).await?),
            Err(error) => return Err(error),
        }
    }
}
