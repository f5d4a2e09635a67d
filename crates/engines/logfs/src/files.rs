//! The job's files inside the file system: found or created, and laid out before the job begins.

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use iolab_disk::Buffer;
use iolab_engine::TargetFile;
use iolab_logfs::{Error, InodeId, InodeKind};
use iolab_random::{SplitMix64, fill_random};

use crate::opened::Opened;

/// Bytes per write while a file is laid out.
const STEP_BYTES: usize = 1 << 20;

/// The inodes of the files, in order, laid out up to `layout_bytes` or to the size that the job
/// requests.
pub(crate) async fn prepare(
    fs: &Opened,
    files: &[TargetFile],
    layout_bytes: Option<u64>,
    seed: u64,
) -> Result<Vec<InodeId>, (String, Error)> {
    let mut inodes = Vec::with_capacity(files.len());
    for (file, number) in files.iter().zip(0_u64..) {
        let wrong = |error| (file.path.display().to_string(), error);
        let inode = find_or_make(fs, &file.path).await.map_err(wrong)?;
        let wanted = layout_bytes.map_or(file.size_bytes, |bytes| bytes.min(file.size_bytes));
        lay_out(fs, inode, wanted, seed ^ number << 48).await.map_err(wrong)?;
        inodes.push(inode);
    }
    // Existing data is made durable, so that the job's first sync only pays for the job's own
    // writes.
    fs.sync().await.map_err(|error| ("the files".to_owned(), error))?;
    Ok(inodes)
}

/// The file at this path, created with its parent folders if missing. Paths start at the root of
/// the file system.
async fn find_or_make(fs: &Opened, path: &Path) -> Result<InodeId, Error> {
    let normal = |part: Component<'_>| if let Component::Normal(name) = part { Some(name.to_owned()) } else { None };
    let names: Vec<_> = path.components().filter_map(normal).collect();
    let Some((last, folders)) = names.split_last() else { return Err(Error::Invalid("a file without a name")) };
    let mut folder = InodeId::ROOT;
    for name in folders {
        let name = name.as_bytes();
        folder = match fs.look_up(folder, name).await? {
            Some((inode, InodeKind::Directory)) => inode,
            Some(_) => return Err(Error::NotDirectory),
            None => match fs.make_directory(folder, name).await {
                // Another worker was faster.
                Err(Error::Exists) => fs.look_up(folder, name).await?.ok_or(Error::NotFound)?.0,
                made => made?,
            },
        };
    }
    let last = last.as_bytes();
    match fs.look_up(folder, last).await? {
        Some((inode, InodeKind::File)) => Ok(inode),
        Some((_, InodeKind::Directory)) => Err(Error::IsDirectory),
        Some((_, InodeKind::Symlink)) => Err(Error::Invalid("a symbolic link")),
        Some(_) => Err(Error::Invalid("a pipe, socket or device")),
        None => match fs.create(folder, last).await {
            Err(Error::Exists) => Ok(fs.look_up(folder, last).await?.ok_or(Error::NotFound)?.0),
            made => made,
        },
    }
}

/// Writes from the end of the file to `wanted`, with random numbers that no device can compress.
async fn lay_out(fs: &Opened, inode: InodeId, wanted: u64, seed: u64) -> Result<(), Error> {
    let mut at = fs.size(inode).await?;
    let mut random = SplitMix64::new(seed);
    let mut buffer = Buffer::zeroed(STEP_BYTES);
    while at < wanted {
        let length = (wanted - at).min(STEP_BYTES as u64) as usize;
        fill_random(random.next(), &mut buffer);
        buffer = if length == buffer.len() {
            let (result, back) = fs.write_buffer(inode, at, buffer).await;
            result?;
            back.unwrap_or_else(|| Buffer::zeroed(STEP_BYTES))
        } else {
            fs.write(inode, at, &buffer[..length]).await?;
            buffer
        };
        at += length as u64;
    }
    Ok(())
}
