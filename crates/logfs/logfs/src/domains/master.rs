//! The master of the root directory, on the first core. It grants every change of a top-level name,
//! has the domain concerned carry it out, and informs every core.
//!
//! Locks of top-level names are taken here, before any lock of a domain: this extends the order of
//! [`crate::locks`] across cores.

use std::rc::Rc;

use iolab_order::Arrange;

use super::root::Change;
use super::worker::Worker;
use crate::locks::{Held, Key, Mode};
use crate::names::{DirectoryEntry, Occupied, Owner};
use crate::record::{InodeId, InodeKind};
use crate::{Error, LogFs, Space};

/// Given-up names to remember before all domains are synced so that these names can be forgotten.
const MOST_DEPARTED: usize = 4096;

/// Which domain a new top-level file or directory belongs to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Placement {
    /// A domain of the core that creates it; round robin if that core serves several or none.
    #[default]
    CreatingCore,
    /// The domains in turn.
    RoundRobin,
    /// The domain with the largest share of free space; among those about equally free, the one
    /// with the fewest inodes.
    LeastFull,
}

/// The smaller value is the emptier domain. Compares coarsely, so that new directories do not all
/// go to a domain that has one more free cluster than the others.
fn emptiness(space: Space) -> (std::cmp::Reverse<u64>, u64) {
    const STEPS: u64 = 16;
    let free = space.free_bytes.saturating_mul(STEPS) / space.total_bytes.max(1);
    (std::cmp::Reverse(free), space.inodes)
}

/// A file, directory or link to be created at top level.
#[derive(Debug, Clone)]
pub(super) struct Fresh {
    pub(super) name: Vec<u8>,
    pub(super) kind: InodeKind,
    pub(super) owner: Owner,
    /// Target of a symbolic link.
    pub(super) target: Vec<u8>,
}

/// A rename with one end at top level.
#[derive(Debug, Clone)]
pub(super) struct Move {
    pub(super) from: (InodeId, Vec<u8>),
    pub(super) to: (InodeId, Vec<u8>),
    pub(super) occupied: Occupied,
}

impl Move {
    fn spots(&self) -> [(InodeId, &[u8]); 2] {
        [(self.from.0, &self.from.1), (self.to.0, &self.to.1)]
    }
}

/// What a core tells the master about itself when it asks to create something.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asker {
    pub(super) core: usize,
    pub(super) placement: Placement,
}

impl Worker {
    async fn lock_top<'a>(&self, names: impl IntoIterator<Item = &'a [u8]>) -> Held {
        let keys = names.into_iter().map(|name| (Key::Name(InodeId::ROOT, name.to_vec()), Mode::Exclusive));
        self.master.locks.take(keys).await
    }

    async fn tell_all(self: &Rc<Self>, changes: Vec<Change>) -> Result<(), Error> {
        self.on_every_core(async move |worker: Rc<Worker>| {
            worker.root.borrow_mut().apply(changes);
            Ok(())
        })
        .await
    }

    /// Waits until, after a crash, no other domain can come back with a name that it gave up.
    async fn await_departure(self: &Rc<Self>, name: &[u8], domain: u32) -> Result<(), Error> {
        let other = self.master.departed.borrow().get(name).copied();
        if let Some(other) = other.filter(|other| *other != domain) {
            self.in_domain(other, async |fs: LogFs| fs.sync().await).await?;
        }
        self.master.departed.borrow_mut().remove(name);
        Ok(())
    }

    async fn departs(self: &Rc<Self>, name: &[u8], domain: u32) {
        let is_full = self.master.departed.borrow().len() >= MOST_DEPARTED;
        if is_full {
            let before: Vec<Vec<u8>> = self.master.departed.borrow().keys().cloned().collect();
            let synced = self.in_every_domain(async |fs: LogFs| fs.sync().await).await;
            // A domain that cannot be synced makes no more changes, but the names that it gave up
            // must not be forgotten.
            if synced.iter().all(Result::is_ok) {
                let mut departed = self.master.departed.borrow_mut();
                departed.retain(|name, _| before.binary_search(name).is_err());
            }
        }
        self.master.departed.borrow_mut().insert(name.to_vec(), domain);
    }

    /// Domains to try, the preferred one first: if one is full, another may not be.
    async fn choose(self: &Rc<Self>, asker: Asker) -> Vec<u32> {
        let domains = self.layout.domains;
        let turn = self.master.turn.replace(self.master.turn.get().wrapping_add(1));
        let own: Vec<u32> = (0..domains).filter(|domain| *domain as usize % self.cores() == asker.core).collect();
        let mut order: Vec<u32> = (0..domains).map(|step| (turn % domains + step) % domains).collect();
        match asker.placement {
            Placement::RoundRobin => {}
            Placement::CreatingCore => order.arrange_by_key(|domain| !own.contains(domain)),
            Placement::LeastFull => {
                let spaces = self.in_every_domain(async |fs: LogFs| Ok(fs.space())).await;
                let space = |domain: u32| spaces.get(domain as usize).and_then(|space| space.clone().ok());
                // A domain that does not answer comes last.
                order.arrange_by_key(|domain| {
                    space(*domain).map_or((true, None), |space| (false, Some(emptiness(space))))
                });
            }
        }
        order
    }

    /// Creates something at top level.
    pub(super) async fn make_top(self: Rc<Self>, fresh: Fresh, asker: Asker) -> Result<InodeId, Error> {
        let _held = self.lock_top([&fresh.name[..]]).await;
        if self.root.borrow().get(&fresh.name).is_some() {
            return Err(Error::Exists);
        }
        let mut answer = Err(Error::NoSpace);
        for domain in self.choose(asker).await {
            self.await_departure(&fresh.name, domain).await?;
            let wanted = fresh.clone();
            let make = async move |fs: LogFs| {
                let Fresh { name, kind, owner, target } = wanted;
                fs.make(InodeId::ROOT, &name, kind, owner, &target).await
            };
            answer = self.in_domain(domain, make).await;
            if answer != Err(Error::NoSpace) {
                break;
            }
        }
        let inode = answer?;
        self.tell_all(vec![Change::Leads(fresh.name, inode, fresh.kind)]).await?;
        Ok(inode)
    }

    /// Makes a file without a name, which may get one at top level.
    pub(super) async fn make_unnamed_top(self: Rc<Self>, owner: Owner, asker: Asker) -> Result<InodeId, Error> {
        let mut answer = Err(Error::NoSpace);
        for domain in self.choose(asker).await {
            let make = async move |fs: LogFs| fs.create_unnamed(InodeId::ROOT, owner).await;
            answer = self.in_domain(domain, make).await;
            if answer != Err(Error::NoSpace) {
                break;
            }
        }
        answer
    }

    /// Gives an inode a top-level name.
    pub(super) async fn link_top(self: Rc<Self>, inode: InodeId, name: Vec<u8>) -> Result<(), Error> {
        let _held = self.lock_top([&name[..]]).await;
        if self.root.borrow().get(&name).is_some_and(|(other, _)| other.domain() != inode.domain()) {
            self.in_domain(inode.domain(), async move |fs: LogFs| fs.kind_to_link(inode)).await?;
            return Err(Error::Exists);
        }
        self.await_departure(&name, inode.domain()).await?;
        let wanted = name.clone();
        let link = async move |fs: LogFs| {
            fs.link(inode, InodeId::ROOT, &wanted).await?;
            Ok(fs.lookup(InodeId::ROOT, &wanted)?.kind)
        };
        let kind = self.in_domain(inode.domain(), link).await?;
        self.tell_all(vec![Change::Leads(name, inode, kind)]).await
    }

    /// Removes a top-level name of a file, or an empty directory.
    pub(super) async fn remove_top(self: Rc<Self>, name: Vec<u8>, removed: InodeKind) -> Result<(), Error> {
        let _held = self.lock_top([&name[..]]).await;
        let (inode, _) = self.root.borrow().get(&name).ok_or(Error::NotFound)?;
        let wanted = name.clone();
        let remove = async move |fs: LogFs| match removed {
            InodeKind::Directory => fs.remove_directory(InodeId::ROOT, &wanted).await,
            _ => fs.unlink(InodeId::ROOT, &wanted).await,
        };
        self.in_domain(inode.domain(), remove).await?;
        self.departs(&name, inode.domain()).await;
        self.tell_all(vec![Change::Gone(name)]).await
    }

    /// Renames to, from or within the top level.
    pub(super) async fn rename_top(self: Rc<Self>, wanted: Move) -> Result<(), Error> {
        let top = |spot: &(InodeId, Vec<u8>)| (spot.0 == InodeId::ROOT).then(|| spot.1.clone());
        let (old_name, new_name) = (top(&wanted.from), top(&wanted.to));
        let _held = self.lock_top([&old_name, &new_name].into_iter().flatten().map(|name| &name[..])).await;
        let look = |name: &Option<Vec<u8>>| name.as_ref().and_then(|name| self.root.borrow().get(name));
        let domain = match (look(&old_name), &old_name) {
            (Some((inode, _)), _) => inode.domain(),
            (None, Some(_)) => return Err(Error::NotFound),
            (None, None) => wanted.from.0.domain(),
        };
        let target = look(&new_name);
        match (target, &new_name) {
            (None, None) if wanted.to.0.domain() != domain => return Err(Error::CrossDomain),
            (Some((replaced, kind)), Some(name)) if replaced.domain() != domain => {
                return self.rename_top_over(wanted.clone(), domain, name.clone(), replaced, kind).await;
            }
            _ => {}
        }
        if let Some(name) = &new_name {
            self.await_departure(name, domain).await?;
        }
        let (moved, spot) = (wanted.clone(), new_name.clone());
        let rename = async move |fs: LogFs| {
            let [from, to] = moved.spots();
            fs.rename(from, to, moved.occupied).await?;
            // Look up both names again: the old name still exists after an exchange, and when both
            // are names of one file, because such a rename does nothing.
            let new = spot.map(|name| fs.lookup(InodeId::ROOT, &name)).transpose()?;
            Ok((fs.lookup(from.0, from.1).ok(), new))
        };
        let (old, new) = self.in_domain(domain, rename).await?;
        let mut changes = Vec::new();
        let leads = |entry: DirectoryEntry| Change::Leads(entry.name, entry.inode, entry.kind);
        match (old_name, old) {
            (Some(_), Some(entry)) => changes.push(leads(entry)),
            (Some(name), None) => {
                self.departs(&name, domain).await;
                changes.push(Change::Gone(name));
            }
            (None, _) => {}
        }
        changes.extend(new.map(leads));
        self.tell_all(changes).await
    }

    /// Renames over a top-level name of another domain: see `docs/logfs/durability.md`, "Several
    /// domains".
    async fn rename_top_over(
        self: &Rc<Self>,
        wanted: Move,
        domain: u32,
        name: Vec<u8>,
        replaced: InodeId,
        kind: InodeKind,
    ) -> Result<(), Error> {
        let from = wanted.from.clone();
        let source = self.in_domain(domain, async move |fs: LogFs| fs.lookup(from.0, &from.1)).await?;
        match (wanted.occupied, source.kind == InodeKind::Directory, kind == InodeKind::Directory) {
            (Occupied::Refuse, ..) => return Err(Error::Exists),
            (Occupied::Exchange, ..) => return Err(Error::CrossDomain),
            (_, true, false) => return Err(Error::NotDirectory),
            (_, false, true) => return Err(Error::IsDirectory),
            (_, true, true) => return Err(Error::CrossDomain),
            (_, false, false) => {}
        }
        // This keeps the order with what the other domain did before, and the inode number that the
        // intent names is never reused.
        self.in_domain(replaced.domain(), async |fs: LogFs| fs.sync().await).await?;
        let (from, over) = (wanted.from.clone(), name.clone());
        let renamed = self
            .in_domain(domain, async move |fs: LogFs| fs.rename_over((from.0, &from.1), &over, replaced).await)
            .await;
        let (intent, inode, kind) = renamed?;
        let lost = name.clone();
        let dropped = self
            .in_domain(replaced.domain(), async move |fs: LogFs| {
                fs.lose_name(&lost, replaced).await?;
                fs.sync().await
            })
            .await;
        let mut changes = vec![Change::Leads(name, inode, kind)];
        if wanted.from.0 == InodeId::ROOT {
            self.departs(&wanted.from.1, domain).await;
            changes.push(Change::Gone(wanted.from.1));
        }
        self.tell_all(changes).await?;
        // The intent stays until the other domain's log durably says the same; after a failure, the
        // next opening carries it out.
        dropped?;
        self.in_domain(domain, async move |fs: LogFs| fs.unlink(InodeId::ROOT, &intent.link).await).await
    }
}
