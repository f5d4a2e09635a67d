//! All domains of a file system as one: the operations of [`LogFs`], each sent to the domain of its
//! inode.
//!
//! Changes of the root directory go to its master ([`super::master`]); lookups and listings of it
//! are answered from this core's copy.

use std::pin::Pin;
use std::rc::Rc;

use super::master::{Asker, Placement};
use super::worker::Worker;
use crate::activity::Activity;
use crate::file_system::AttributeChange;
use crate::record::{Attributes, InodeId};
use crate::{Error, Layout, LogFs, Space};

/// The answer of a file system, later. It is boxed, so that the tasks of a volume, opening and
/// closing are compiled here and not once more in each crate that waits for them.
pub type Answered<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// An open file system of one or more domains, as one core sees it. Clones are handles to the same
/// core; every core has its own volume.
#[derive(Debug, Clone)]
pub struct Volume {
    pub(super) worker: Rc<Worker>,
    pub(super) placement: Placement,
}

/// The root directory's attributes, merged from those of its parts; the first domain's come first.
pub(super) fn root_of(parts: impl IntoIterator<Item = Result<Attributes, Error>>) -> Result<Attributes, Error> {
    let mut parts = parts.into_iter();
    let mut root = parts.next().unwrap_or(Err(Error::NotFound))?;
    for part in parts {
        let part = part?;
        root.links += part.links.saturating_sub(2);
        root.size += part.size;
        root.accessed_ns = root.accessed_ns.max(part.accessed_ns);
        root.modified_ns = root.modified_ns.max(part.modified_ns);
        root.changed_ns = root.changed_ns.max(part.changed_ns);
    }
    Ok(root)
}

/// The space of all domains.
pub(super) fn sum_of(block_bytes: u32, spaces: &[Space]) -> Space {
    let sum = |field: fn(&Space) -> u64| spaces.iter().map(field).sum::<u64>();
    Space {
        block_bytes,
        total_bytes: sum(|space| space.total_bytes),
        free_bytes: sum(|space| space.free_bytes),
        available_bytes: sum(|space| space.available_bytes),
        live_bytes: sum(|space| space.live_bytes),
        inline_bytes: sum(|space| space.inline_bytes),
        // The root directory is in every domain.
        inodes: sum(|space| space.inodes) - (spaces.len() as u64).saturating_sub(1),
    }
}

impl Volume {
    pub(super) fn new(worker: Rc<Worker>) -> Volume {
        Volume { worker, placement: Placement::default() }
    }

    /// The same volume with another rule for choosing the domain of what is created at top level
    /// through this handle.
    #[must_use]
    pub fn with_placement(self, placement: Placement) -> Volume {
        Volume { placement, ..self }
    }

    pub(super) fn asker(&self) -> Asker {
        Asker { core: self.worker.number, placement: self.placement }
    }

    /// Runs `work` in the domain that an inode belongs to, on the core that serves it. For the root
    /// directory that is the first domain.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is no such domain, [`Error::Closed`], and those of `work`.
    pub async fn with_owner<T: Send + 'static>(
        &self,
        inode: InodeId,
        work: impl AsyncFnOnce(LogFs) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.worker.in_domain(inode.domain(), work).await
    }

    /// Runs the same work in every domain at once, on the cores that serve them; the results are in
    /// the order of the domains.
    pub async fn in_every_domain<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(LogFs) -> Result<T, Error> + Clone + Send + 'static,
    ) -> Vec<Result<T, Error>> {
        self.worker.in_every_domain(work).await
    }

    /// The domain that an inode belongs to, if this core serves it.
    pub(super) fn here(&self, inode: InodeId) -> Option<&LogFs> {
        self.worker.domains.get(&inode.domain())
    }

    /// Whether this core serves the domain of an inode.
    pub fn serves(&self, inode: InodeId) -> bool {
        self.here(inode).is_some()
    }

    /// Whether other cores serve domains too.
    pub fn is_shared(&self) -> bool {
        self.worker.domains.len() < self.worker.layout.domains as usize
    }

    /// The domains that this core serves.
    pub fn domains_here(&self) -> impl Iterator<Item = &LogFs> {
        self.worker.domains.values()
    }

    /// Stores a value on this core; work that comes from other cores gets it through
    /// [`Volume::beside`].
    pub fn keep<K: 'static>(&self, value: Rc<K>) {
        self.worker.kept.borrow_mut().value = Some(value);
    }

    /// Drops the value stored on this core.
    pub fn keep_nothing(&self) {
        self.worker.kept.borrow_mut().value = None;
    }

    /// Runs `work` on the core that serves the domain of an inode, with the value stored there.
    ///
    /// # Errors
    /// [`Error::NotFound`] when there is no such domain, [`Error::Closed`] when no value of that
    /// type is stored there, and those of `work`.
    pub async fn beside<K: 'static, T: Send + 'static>(
        &self,
        inode: InodeId,
        work: impl AsyncFnOnce(Rc<K>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let core = self.worker.core_of(inode.domain())?;
        self.worker
            .call(core, async move |worker: Rc<Worker>| {
                let value = worker.kept.borrow().value.clone().ok_or(Error::Closed)?;
                work(value.downcast::<K>().map_err(|_other| Error::Closed)?).await
            })
            .await
    }

    /// What `stat(2)` reports of an inode. For the root directory, times are the latest of all
    /// domains, and links are added up.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn stat(&self, inode: InodeId) -> Answered<'_, Result<Attributes, Error>> {
        Box::pin(async move {
            if inode != InodeId::ROOT {
                return self.with_owner(inode, async move |fs: LogFs| fs.stat(inode)).await;
            }
            let parts = self.worker.in_every_domain(async |fs: LogFs| fs.stat(InodeId::ROOT)).await;
            root_of(parts)
        })
    }

    /// As [`LogFs::stored_bytes`].
    ///
    /// # Errors
    /// As [`LogFs::stored_bytes`].
    pub fn stored_bytes(&self, inode: InodeId) -> Answered<'_, Result<u64, Error>> {
        Box::pin(async move { self.with_owner(inode, async move |fs: LogFs| fs.stored_bytes(inode)).await })
    }

    /// As [`LogFs::set_attributes`]. Those of the root directory are set in every domain, one after
    /// the other.
    ///
    /// # Errors
    /// As [`LogFs::set_attributes`].
    pub fn set_attributes(&self, inode: InodeId, change: AttributeChange) -> Answered<'_, Result<Attributes, Error>> {
        Box::pin(async move {
            let set = async move |fs: LogFs| fs.set_attributes(inode, change).await;
            if inode != InodeId::ROOT {
                return self.with_owner(inode, set).await;
            }
            self.worker.in_every_domain(set).await.into_iter().collect::<Result<Vec<_>, Error>>()?;
            self.stat(inode).await
        })
    }

    /// As [`LogFs::hold`].
    ///
    /// # Errors
    /// As [`LogFs::hold`].
    pub fn hold(&self, inode: InodeId) -> Answered<'_, Result<(), Error>> {
        Box::pin(async move { self.with_owner(inode, async move |fs: LogFs| fs.hold(inode)).await })
    }

    /// As [`LogFs::release`].
    pub fn release(&self, inode: InodeId) -> Answered<'_, ()> {
        Box::pin(async move {
            let release = async move |fs: LogFs| {
                fs.release(inode);
                Ok(())
            };
            // A domain that is closed or gone holds no inodes.
            let _gone = self.with_owner(inode, release).await;
        })
    }

    /// Makes everything acknowledged before the call durable, in every domain.
    ///
    /// # Errors
    /// [`Error::Failed`] when the device fails; other domains may be durable.
    pub fn sync(&self) -> Answered<'_, Result<(), Error>> {
        Box::pin(
            async move { self.worker.in_every_domain(async |fs: LogFs| fs.sync().await).await.into_iter().collect() },
        )
    }

    /// As [`LogFs::fsync`]; for the root directory, in every domain.
    ///
    /// # Errors
    /// As [`LogFs::fsync`].
    pub fn fsync(&self, inode: InodeId) -> Answered<'_, Result<(), Error>> {
        Box::pin(async move {
            let sync = async move |fs: LogFs| fs.fsync(inode).await;
            if inode != InodeId::ROOT {
                return self.with_owner(inode, sync).await;
            }
            self.worker.in_every_domain(sync).await.into_iter().collect()
        })
    }

    /// As [`LogFs::fdatasync`]; for the root directory, in every domain.
    ///
    /// # Errors
    /// As [`LogFs::fdatasync`].
    pub fn fdatasync(&self, inode: InodeId) -> Answered<'_, Result<(), Error>> {
        Box::pin(async move {
            let sync = async move |fs: LogFs| fs.fdatasync(inode).await;
            if inode != InodeId::ROOT {
                return self.with_owner(inode, sync).await;
            }
            self.worker.in_every_domain(sync).await.into_iter().collect()
        })
    }

    /// Total and free space of all domains. A file can only grow into the free space of its own
    /// domain.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn space(&self) -> Answered<'_, Result<Space, Error>> {
        Box::pin(async move {
            let spaces = self.worker.in_every_domain(async |fs: LogFs| Ok(fs.space())).await;
            let spaces: Vec<Space> = spaces.into_iter().collect::<Result<_, Error>>()?;
            Ok(sum_of(self.worker.layout.block_bytes, &spaces))
        })
    }

    /// Background work in all domains since opening.
    ///
    /// # Errors
    /// [`Error::Closed`].
    pub fn activity(&self) -> Answered<'_, Result<Activity, Error>> {
        Box::pin(async move {
            let parts = self.worker.in_every_domain(async |fs: LogFs| Ok(fs.activity())).await;
            parts.into_iter().try_fold(Activity::default(), |sum, part| Ok(sum.and(&part?)))
        })
    }

    /// Sizes and numbers of the file system.
    pub fn layout(&self) -> Layout {
        self.worker.layout
    }

    /// As [`LogFs::want_checkpoint`], in every domain.
    pub fn want_checkpoint(&self) {
        let worker = Rc::clone(&self.worker);
        let want = async |fs: LogFs| {
            fs.want_checkpoint();
            Ok(())
        };
        // A domain that is closed needs no checkpoint.
        self.worker.spawner.spawn(async move { drop(worker.in_every_domain(want).await) });
    }

    /// Closes all domains, on all cores: see [`LogFs::close`].
    ///
    /// # Errors
    /// [`Error::Failed`] when the device fails; the other domains are closed anyway.
    pub fn close(self) -> Answered<'static, Result<(), Error>> {
        Box::pin(async move {
            let answers = self.worker.in_every_domain(async |fs: LogFs| fs.close().await).await;
            self.worker.stop_all();
            self.closed().await;
            answers.into_iter().collect()
        })
    }

    /// Waits until the file system is closed. For a core that only serves others.
    pub fn closed(&self) -> Answered<'_, ()> {
        Box::pin(async move {
            let worker = &self.worker;
            worker.stopped.until(|_| worker.is_stopped.get().then_some(())).await;
        })
    }
}
