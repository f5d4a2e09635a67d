//! How commands access the content of an image, and name it in errors.

use std::path::Path;

use iolab_image::{Image, ImageAccess};
use iolab_logfs::{InodeId, InodeKind, Volume};

use crate::FsError;

/// Opens the file system of an image for reading, without changing it.
pub(crate) fn look<T>(image: &Path, work: impl AsyncFnOnce(&Volume) -> Result<T, FsError>) -> Result<T, FsError> {
    Image::open(image, ImageAccess::Read)?.with_fs(work)
}

/// The directory at a path, if it is one.
pub(crate) async fn folder(fs: &Volume, path: &[u8]) -> Option<InodeId> {
    let inode = fs.resolve(path).await.ok()?;
    fs.stat(inode).await.is_ok_and(|found| found.kind == InodeKind::Directory).then_some(inode)
}

/// An error about a path inside of an image.
pub(crate) fn inside(image: &Path, path: &[u8]) -> impl Fn(iolab_logfs::Error) -> FsError {
    let (image, path) = (image.to_owned(), path.to_owned());
    move |source| FsError::Inside { image: image.clone(), path: path.clone(), source }
}
