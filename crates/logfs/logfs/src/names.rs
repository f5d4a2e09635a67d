//! Operations on names. They lock the directories shared and the names exclusively, wait for space,
//! check, and commit; there is no await between the checks and the commit.

mod renaming;

use crate::locks::{Held, Key, Mode};
use crate::name_rules::{check_name, check_target};
use crate::record::{Attributes, InodeId, InodeKind, Node, Record, Spot};
use crate::space::Need;
use crate::tree::{Inode, Names, Tree};
use crate::{Error, LogFs};
pub use renaming::Occupied;

/// Last serial of an inode number: the bits above it hold the domain.
const LAST_SERIAL: u64 = (1 << 48) - 1;
/// Most hard links to a file.
const MOST_LINKS: u32 = 65_000;

/// An entry of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Its name.
    pub name: Vec<u8>,
    /// The inode that it names.
    pub inode: InodeId,
    /// The kind of that inode.
    pub kind: InodeKind,
}

/// Owner and permissions of a new inode.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Owner {
    /// Permission bits.
    pub mode: u16,
    /// User ID.
    pub uid: u32,
    /// Group ID.
    pub gid: u32,
}

fn names(tree: &Tree, directory: InodeId) -> Result<&Names, Error> {
    let node = tree.get(directory).ok_or(Error::NotFound)?;
    // A removed directory that is still held takes no new names.
    node.names().ok_or(Error::NotDirectory)
}

fn names_for_new(tree: &Tree, directory: InodeId) -> Result<&Names, Error> {
    let names = names(tree, directory)?;
    let is_removed = tree.get(directory).is_some_and(|node| node.attributes.links == 0);
    if is_removed { Err(Error::NotFound) } else { Ok(names) }
}

impl LogFs {
    /// Looks up a name.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotDirectory`].
    pub fn lookup(&self, directory: InodeId, name: &[u8]) -> Result<DirectoryEntry, Error> {
        let state = self.0.state.borrow();
        if name == b".." {
            let node = state.tree.get(directory).ok_or(Error::NotFound)?;
            return Ok(DirectoryEntry { name: name.to_vec(), inode: node.parent, kind: InodeKind::Directory });
        }
        let (inode, kind) = names(&state.tree, directory)?.get(name).ok_or(Error::NotFound)?;
        Ok(DirectoryEntry { name: name.to_vec(), inode, kind })
    }

    /// Up to `most` entries after the name `after` (from the first for the empty name), in byte
    /// order, without `.` and `..`.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotDirectory`].
    pub fn read_directory(&self, directory: InodeId, after: &[u8], most: usize) -> Result<Vec<DirectoryEntry>, Error> {
        let state = self.0.state.borrow();
        let is_shown = |(name, ..): &(&[u8], InodeId, InodeKind)| name.first() != Some(&crate::name_rules::HIDDEN);
        let entries = names(&state.tree, directory)?.after(after).filter(is_shown).take(most);
        Ok(entries.map(|(name, inode, kind)| DirectoryEntry { name: name.to_vec(), inode, kind }).collect())
    }

    /// Creates an empty file.
    ///
    /// # Errors
    /// [`Error::Exists`], [`Error::NotFound`], [`Error::NotDirectory`], [`Error::NameTooLong`],
    /// [`Error::NoSpace`].
    pub async fn create(&self, directory: InodeId, name: &[u8], owner: Owner) -> Result<InodeId, Error> {
        self.make(directory, name, InodeKind::File, owner, b"").await
    }

    /// Creates an empty directory.
    ///
    /// # Errors
    /// As [`LogFs::create`].
    pub async fn make_directory(&self, directory: InodeId, name: &[u8], owner: Owner) -> Result<InodeId, Error> {
        self.make(directory, name, InodeKind::Directory, owner, b"").await
    }

    /// Creates a symbolic link.
    ///
    /// # Errors
    /// As [`LogFs::create`].
    pub async fn symlink(
        &self,
        directory: InodeId,
        name: &[u8],
        target: &[u8],
        owner: Owner,
    ) -> Result<InodeId, Error> {
        check_target(target)?;
        self.make(directory, name, InodeKind::Symlink, owner, target).await
    }

    /// Creates a pipe, a socket, or a device with this number (`mknod(2)`).
    ///
    /// # Errors
    /// [`Error::Invalid`] for another kind, and as [`LogFs::create`].
    pub async fn make_special(
        &self,
        directory: InodeId,
        name: &[u8],
        kind: InodeKind,
        number: u32,
        owner: Owner,
    ) -> Result<InodeId, Error> {
        if !kind.is_special() {
            return Err(Error::Invalid("not a special file type"));
        }
        self.make(directory, name, kind, owner, &number.to_le_bytes()).await
    }

    /// The number of a device; 0 for other inodes.
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn device_number(&self, inode: InodeId) -> Result<u32, Error> {
        let state = self.0.state.borrow();
        match state.tree.get(inode).ok_or(Error::NotFound)?.content {
            crate::tree::Content::Special(number) => Ok(number),
            _ => Ok(0),
        }
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::Invalid`] for another kind of inode.
    pub fn read_link(&self, inode: InodeId) -> Result<Vec<u8>, Error> {
        let state = self.0.state.borrow();
        match &state.tree.get(inode).ok_or(Error::NotFound)?.content {
            crate::tree::Content::Symlink(target) => Ok(target.clone()),
            _ => Err(Error::Invalid("not a symbolic link")),
        }
    }

    /// Creates an inode of a kind; `target` is that of a symbolic link.
    pub(crate) async fn make(
        &self,
        directory: InodeId,
        name: &[u8],
        kind: InodeKind,
        owner: Owner,
        target: &[u8],
    ) -> Result<InodeId, Error> {
        check_name(name)?;
        let _held = self.lock_names(&[(directory, name)]).await;
        self.0.admit(|_| Need::Clusters(0)).await?;
        let (spot, node) = {
            let mut state = self.0.state.borrow_mut();
            if names_for_new(&state.tree, directory)?.get(name).is_some() {
                return Err(Error::Exists);
            }
            let mut node = fresh(&mut state.tree, kind, owner, self.0.now())?;
            node.target = target.to_vec();
            if kind == InodeKind::Directory {
                node.parent = directory;
            }
            (Spot { directory, name: name.to_vec() }, node)
        };
        let inode = node.inode;
        self.0.commit(&[Record::Create { spot, node }])?;
        Ok(inode)
    }

    /// Makes a file without a name, in the domain of a directory (`O_TMPFILE`), and holds it.
    /// [`LogFs::link`] gives it a name; without one it goes with the last [`LogFs::release`], or
    /// in a crash.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotDirectory`], [`Error::NoSpace`].
    pub async fn create_unnamed(&self, directory: InodeId, owner: Owner) -> Result<InodeId, Error> {
        let _held = self.0.locks.take(std::iter::once((Key::Inode(directory), Mode::Shared))).await;
        self.0.admit(|_| Need::Clusters(0)).await?;
        let mut state = self.0.state.borrow_mut();
        let spot = Spot { directory, name: free_name(names_for_new(&state.tree, directory)?) };
        let before = state.tree.get(directory).ok_or(Error::NotFound)?.attributes;
        let time = self.0.now();
        let node = fresh(&mut state.tree, InodeKind::File, owner, time)?;
        drop(state);
        let inode = node.inode;
        // One group: nobody sees the name, and the directory stays as it was.
        self.0.commit(&[
            Record::Create { spot: spot.clone(), node },
            Record::Unlink { spot, inode, kind: InodeKind::File, time },
            Record::Attributes { inode: directory, attributes: before },
        ])?;
        self.hold(inode)?;
        if let Some(node) = self.0.state.borrow_mut().tree.get_mut(inode) {
            node.may_be_named = true;
        }
        Ok(inode)
    }

    /// Gives a file one more name, or the first one to what [`LogFs::create_unnamed`] made.
    ///
    /// # Errors
    /// [`Error::IsDirectory`], [`Error::TooManyLinks`], and as [`LogFs::create`].
    /// [`Error::NotFound`] for a file that has lost its last name.
    pub async fn link(&self, inode: InodeId, directory: InodeId, name: &[u8]) -> Result<(), Error> {
        check_name(name)?;
        let _held = self.lock_names(&[(directory, name)]).await;
        self.0.admit(|_| Need::Clusters(0)).await?;
        let kind = self.kind_to_link(inode)?;
        if names_for_new(&self.0.state.borrow().tree, directory)?.get(name).is_some() {
            return Err(Error::Exists);
        }
        let spot = Spot { directory, name: name.to_vec() };
        self.0.commit(&[Record::Link { spot, inode, kind, time: self.0.now() }])?;
        if let Some(node) = self.0.state.borrow_mut().tree.get_mut(inode) {
            node.may_be_named = false;
        }
        Ok(())
    }

    /// The kind of an inode that may get one more name.
    pub(crate) fn kind_to_link(&self, inode: InodeId) -> Result<InodeKind, Error> {
        let state = self.0.state.borrow();
        let node = state.tree.get(inode).ok_or(Error::NotFound)?;
        if node.names().is_some() {
            return Err(Error::IsDirectory);
        }
        match node.attributes.links {
            0 if !node.may_be_named => Err(Error::NotFound),
            MOST_LINKS.. => Err(Error::TooManyLinks),
            _ => Ok(node.attributes.kind),
        }
    }

    /// Removes a name of a file. The file is deleted with its last name, or when it is no longer
    /// held.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::IsDirectory`].
    pub async fn unlink(&self, directory: InodeId, name: &[u8]) -> Result<(), Error> {
        self.remove(directory, name, |node| if node.names().is_some() { Err(Error::IsDirectory) } else { Ok(()) }).await
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// [`Error::NotFound`], [`Error::NotDirectory`], [`Error::NotEmpty`].
    pub async fn remove_directory(&self, directory: InodeId, name: &[u8]) -> Result<(), Error> {
        let check = |node: &Inode| match node.names() {
            None => Err(Error::NotDirectory),
            Some(names) if !names.is_empty() => Err(Error::NotEmpty),
            Some(_) => Ok(()),
        };
        self.remove(directory, name, check).await
    }

    async fn remove(
        &self,
        directory: InodeId,
        name: &[u8],
        check: impl Fn(&Inode) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let _held = self.lock_names(&[(directory, name)]).await;
        self.0.admit(|_| Need::Nothing).await?;
        let records = {
            let state = self.0.state.borrow();
            let (inode, kind) = names(&state.tree, directory)?.get(name).ok_or(Error::NotFound)?;
            let node = state.tree.get(inode).ok_or_else(|| dangling(inode))?;
            check(node)?;
            let spot = Spot { directory, name: name.to_vec() };
            let mut records = vec![Record::Unlink { spot, inode, kind, time: self.0.now() }];
            records.extend(deletion(inode, node));
            records
        };
        self.0.commit(&records).map(drop)
    }

    pub(crate) async fn lock_names(&self, spots: &[(InodeId, &[u8])]) -> Held {
        let directories = spots.iter().map(|(directory, _)| (Key::Inode(*directory), Mode::Shared));
        let names = spots.iter().map(|(directory, name)| (Key::Name(*directory, name.to_vec()), Mode::Exclusive));
        self.0.locks.take(directories.chain(names)).await
    }
}

/// Something new, without a parent and a target. Its number is taken at once, so that no other
/// creation gets the same; a creation that fails leaves a gap.
fn fresh(tree: &mut Tree, kind: InodeKind, owner: Owner, time: u64) -> Result<Node, Error> {
    if tree.serial & LAST_SERIAL == LAST_SERIAL {
        return Err(Error::NoSpace);
    }
    tree.serial += 1;
    let attributes = Tree::root(owner.mode & 0o7777, time).attributes;
    let links = if kind == InodeKind::Directory { 2 } else { 1 };
    let attributes = Attributes { kind, links, uid: owner.uid, gid: owner.gid, ..attributes };
    Ok(Node { inode: InodeId(tree.serial), attributes, parent: InodeId(0), target: Vec::new() })
}

/// A name that no entry of the directory has.
fn free_name(names: &Names) -> Vec<u8> {
    let mut candidates = (0_u64..).map(|number| format!(".{number}").into_bytes());
    candidates.find(|name| names.get(name).is_none()).unwrap_or_default()
}

/// The record that deletes an inode which is about to lose a name, if that is its last and the
/// inode is not held.
fn deletion(inode: InodeId, node: &Inode) -> Option<Record> {
    let loses_all = node.names().is_some() || node.attributes.links <= 1;
    (loses_all && node.holders == 0).then_some(Record::Delete { inode })
}

fn dangling(inode: InodeId) -> Error {
    Error::Corrupt(format!("a name leads to inode {}, which does not exist", inode.0))
}
