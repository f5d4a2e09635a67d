//! Operations on names over all domains, and operations by path.

use std::rc::Rc;

use super::master::{Fresh, Move};
use super::volume::{Answered, Volume};
use super::worker::Worker;
use crate::names::{DirectoryEntry, Occupied, Owner};
use crate::record::{InodeId, InodeKind};
use crate::{Error, LogFs};

impl Volume {
    /// As [`LogFs::lookup`].
    ///
    /// # Errors
    /// As [`LogFs::lookup`].
    pub fn lookup<'a>(&'a self, directory: InodeId, name: &'a [u8]) -> Answered<'a, Result<DirectoryEntry, Error>> {
        Box::pin(async move {
            if directory == InodeId::ROOT {
                let name = name.to_vec();
                if name == b".." {
                    return Ok(DirectoryEntry { name, inode: InodeId::ROOT, kind: InodeKind::Directory });
                }
                let (inode, kind) = self.worker.root.borrow().get(&name).ok_or(Error::NotFound)?;
                return Ok(DirectoryEntry { name, inode, kind });
            }
            let name = name.to_vec();
            self.with_owner(directory, async move |fs: LogFs| fs.lookup(directory, &name)).await
        })
    }

    /// As [`LogFs::read_directory`].
    ///
    /// # Errors
    /// As [`LogFs::read_directory`].
    pub fn read_directory<'a>(
        &'a self,
        directory: InodeId,
        after: &'a [u8],
        most: usize,
    ) -> Answered<'a, Result<Vec<DirectoryEntry>, Error>> {
        Box::pin(async move {
            if directory == InodeId::ROOT {
                return Ok(self.worker.root.borrow().after(after, most));
            }
            let after = after.to_vec();
            self.with_owner(directory, async move |fs: LogFs| fs.read_directory(directory, &after, most)).await
        })
    }

    /// As [`LogFs::create`].
    ///
    /// # Errors
    /// As [`LogFs::create`].
    pub fn create<'a>(
        &'a self,
        directory: InodeId,
        name: &'a [u8],
        owner: Owner,
    ) -> Answered<'a, Result<InodeId, Error>> {
        Box::pin(async move {
            let fresh = Fresh { name: name.to_vec(), kind: InodeKind::File, owner, target: Vec::new() };
            self.make(directory, fresh).await
        })
    }

    /// As [`LogFs::make_directory`].
    ///
    /// # Errors
    /// As [`LogFs::make_directory`].
    pub fn make_directory<'a>(
        &'a self,
        directory: InodeId,
        name: &'a [u8],
        owner: Owner,
    ) -> Answered<'a, Result<InodeId, Error>> {
        Box::pin(async move {
            let fresh = Fresh { name: name.to_vec(), kind: InodeKind::Directory, owner, target: Vec::new() };
            self.make(directory, fresh).await
        })
    }

    /// As [`LogFs::symlink`].
    ///
    /// # Errors
    /// As [`LogFs::symlink`].
    pub fn symlink<'a>(
        &'a self,
        directory: InodeId,
        name: &'a [u8],
        target: &'a [u8],
        owner: Owner,
    ) -> Answered<'a, Result<InodeId, Error>> {
        Box::pin(async move {
            crate::name_rules::check_target(target)?;
            let fresh = Fresh { name: name.to_vec(), kind: InodeKind::Symlink, owner, target: target.to_vec() };
            self.make(directory, fresh).await
        })
    }

    /// As [`LogFs::make_special`].
    ///
    /// # Errors
    /// As [`LogFs::make_special`].
    pub fn make_special<'a>(
        &'a self,
        directory: InodeId,
        name: &'a [u8],
        kind: InodeKind,
        number: u32,
        owner: Owner,
    ) -> Answered<'a, Result<InodeId, Error>> {
        Box::pin(async move {
            if !kind.is_special() {
                return Err(Error::Invalid("not a special file type"));
            }
            let fresh = Fresh { name: name.to_vec(), kind, owner, target: number.to_le_bytes().to_vec() };
            self.make(directory, fresh).await
        })
    }

    /// As [`LogFs::create_unnamed`].
    ///
    /// # Errors
    /// As [`LogFs::create_unnamed`].
    pub fn create_unnamed(&self, directory: InodeId, owner: Owner) -> Answered<'_, Result<InodeId, Error>> {
        Box::pin(async move {
            if directory == InodeId::ROOT {
                let asker = self.asker();
                return self.on_master(async move |first: Rc<Worker>| first.make_unnamed_top(owner, asker).await).await;
            }
            self.with_owner(directory, async move |fs: LogFs| fs.create_unnamed(directory, owner).await).await
        })
    }

    /// As [`LogFs::device_number`].
    ///
    /// # Errors
    /// As [`LogFs::device_number`].
    pub fn device_number(&self, inode: InodeId) -> Answered<'_, Result<u32, Error>> {
        Box::pin(async move { self.with_owner(inode, async move |fs: LogFs| fs.device_number(inode)).await })
    }

    async fn make(&self, directory: InodeId, fresh: Fresh) -> Result<InodeId, Error> {
        if directory == InodeId::ROOT {
            let asker = self.asker();
            return self.on_master(async move |first: Rc<Worker>| first.make_top(fresh, asker).await).await;
        }
        let make = async move |fs: LogFs| {
            let Fresh { name, kind, owner, target } = fresh;
            fs.make(directory, &name, kind, owner, &target).await
        };
        self.with_owner(directory, make).await
    }

    async fn on_master<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(Rc<Worker>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.worker.call(0, work).await
    }

    /// As [`LogFs::read_link`].
    ///
    /// # Errors
    /// As [`LogFs::read_link`].
    pub fn read_link(&self, inode: InodeId) -> Answered<'_, Result<Vec<u8>, Error>> {
        Box::pin(async move { self.with_owner(inode, async move |fs: LogFs| fs.read_link(inode)).await })
    }

    /// As [`LogFs::link`].
    ///
    /// # Errors
    /// As [`LogFs::link`], and [`Error::CrossDomain`].
    pub fn link<'a>(&'a self, inode: InodeId, directory: InodeId, name: &'a [u8]) -> Answered<'a, Result<(), Error>> {
        Box::pin(async move {
            let name = name.to_vec();
            if inode == InodeId::ROOT {
                return Err(Error::IsDirectory);
            }
            if directory == InodeId::ROOT {
                return self.on_master(async move |first: Rc<Worker>| first.link_top(inode, name).await).await;
            }
            if inode.domain() != directory.domain() {
                return Err(Error::CrossDomain);
            }
            self.with_owner(inode, async move |fs: LogFs| fs.link(inode, directory, &name).await).await
        })
    }

    /// As [`LogFs::unlink`].
    ///
    /// # Errors
    /// As [`LogFs::unlink`].
    pub fn unlink<'a>(&'a self, directory: InodeId, name: &'a [u8]) -> Answered<'a, Result<(), Error>> {
        Box::pin(async move {
            let name = name.to_vec();
            if directory == InodeId::ROOT {
                return self
                    .on_master(async move |first: Rc<Worker>| first.remove_top(name, InodeKind::File).await)
                    .await;
            }
            self.with_owner(directory, async move |fs: LogFs| fs.unlink(directory, &name).await).await
        })
    }

    /// As [`LogFs::remove_directory`].
    ///
    /// # Errors
    /// As [`LogFs::remove_directory`].
    pub fn remove_directory<'a>(&'a self, directory: InodeId, name: &'a [u8]) -> Answered<'a, Result<(), Error>> {
        Box::pin(async move {
            let name = name.to_vec();
            if directory == InodeId::ROOT {
                return self
                    .on_master(async move |first: Rc<Worker>| first.remove_top(name, InodeKind::Directory).await)
                    .await;
            }
            self.with_owner(directory, async move |fs: LogFs| fs.remove_directory(directory, &name).await).await
        })
    }

    /// As [`LogFs::rename`]. A rename over a top-level file of another domain is durable on return,
    /// and waits for that.
    ///
    /// # Errors
    /// As [`LogFs::rename`], and [`Error::CrossDomain`].
    pub fn rename<'a>(
        &'a self,
        from: (InodeId, &'a [u8]),
        to: (InodeId, &'a [u8]),
        occupied: Occupied,
    ) -> Answered<'a, Result<(), Error>> {
        Box::pin(async move {
            crate::name_rules::check_name(from.1)?;
            crate::name_rules::check_name(to.1)?;
            let wanted = Move { from: (from.0, from.1.to_vec()), to: (to.0, to.1.to_vec()), occupied };
            if from.0 == InodeId::ROOT || to.0 == InodeId::ROOT {
                return self.on_master(async move |first: Rc<Worker>| first.rename_top(wanted).await).await;
            }
            if from.0.domain() != to.0.domain() {
                return Err(Error::CrossDomain);
            }
            let rename = async move |fs: LogFs| {
                let Move { from, to, occupied } = wanted;
                fs.rename((from.0, &from.1), (to.0, &to.1), occupied).await
            };
            self.with_owner(from.0, rename).await
        })
    }

    /// As [`LogFs::resolve`].
    ///
    /// # Errors
    /// As [`LogFs::resolve`].
    pub fn resolve<'a>(&'a self, path: &'a [u8]) -> Answered<'a, Result<InodeId, Error>> {
        Box::pin(async move {
            let mut inode = InodeId::ROOT;
            for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".") {
                inode = self.lookup(inode, name).await?.inode;
            }
            Ok(inode)
        })
    }

    /// As [`LogFs::resolve_parent`].
    ///
    /// # Errors
    /// As [`LogFs::resolve_parent`].
    pub async fn resolve_parent<'a>(&self, path: &'a [u8]) -> Result<(InodeId, &'a [u8]), Error> {
        let (parent, name) = crate::paths::split_last(path)?;
        Ok((self.resolve(parent).await?, name))
    }

    /// As [`LogFs::tree`].
    pub fn tree(&self) -> Answered<'_, Vec<(Vec<u8>, DirectoryEntry)>> {
        Box::pin(async move {
            let mut found = Vec::new();
            let mut open = vec![(Vec::new(), InodeId::ROOT)];
            while let Some((path, directory)) = open.pop() {
                for entry in self.read_directory(directory, b"", usize::MAX).await.unwrap_or_default() {
                    let path = [&path[..], b"/", &entry.name].concat();
                    if entry.kind == InodeKind::Directory {
                        open.push((path.clone(), entry.inode));
                    }
                    found.push((path, entry));
                }
            }
            found
        })
    }
}
