//! The reference: a file system that is a map, simple enough to be right.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use iolab_logfs::{Error, InodeId, InodeKind, LogFs, Volume};

/// What is visible at every path.
pub(crate) type Snapshot = BTreeMap<Vec<u8>, Seen>;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) inode: InodeId,
    pub(crate) links: u32,
    pub(crate) content: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum What {
    File(Vec<u8>),
    Directory,
    Symlink(Vec<u8>),
}

#[derive(Debug, Clone)]
enum Node {
    File { content: Vec<u8>, links: u32 },
    Directory(BTreeMap<Vec<u8>, InodeId>),
    Symlink { target: Vec<u8>, links: u32 },
}

#[derive(Debug, Clone)]
pub(crate) struct Model {
    root: InodeId,
    nodes: BTreeMap<InodeId, Node>,
}

type Done = Result<(), Error>;

impl Model {
    pub(crate) fn new() -> Model {
        Model::below(InodeId::ROOT)
    }

    /// A model of what is below this directory, which is empty.
    pub(crate) fn below(root: InodeId) -> Model {
        Model { root, nodes: BTreeMap::from([(root, Node::Directory(BTreeMap::new()))]) }
    }

    fn names(&self, directory: InodeId) -> Result<&BTreeMap<Vec<u8>, InodeId>, Error> {
        match self.nodes.get(&directory) {
            Some(Node::Directory(names)) => Ok(names),
            Some(_) => Err(Error::NotDirectory),
            None => Err(Error::NotFound),
        }
    }

    pub(crate) fn lookup(&self, directory: InodeId, name: &[u8]) -> Option<InodeId> {
        self.names(directory).ok()?.get(name).copied()
    }

    fn names_mut(&mut self, directory: InodeId) -> &mut BTreeMap<Vec<u8>, InodeId> {
        match self.nodes.get_mut(&directory) {
            Some(Node::Directory(names)) => names,
            _ => panic!("checked before"),
        }
    }

    fn file(&self, inode: InodeId) -> Result<&Vec<u8>, Error> {
        match self.nodes.get(&inode) {
            Some(Node::File { content, .. }) => Ok(content),
            Some(Node::Directory(_)) => Err(Error::IsDirectory),
            Some(Node::Symlink { .. }) => Err(Error::Invalid("a symbolic link has no content")),
            None => Err(Error::NotFound),
        }
    }

    fn content(&mut self, inode: InodeId) -> Result<&mut Vec<u8>, Error> {
        self.file(inode)?;
        match self.nodes.get_mut(&inode) {
            Some(Node::File { content, .. }) => Ok(content),
            _ => Err(Error::NotFound),
        }
    }

    /// The expected result of creating something; if it succeeded, adds it to the model.
    pub(crate) fn make(&mut self, directory: InodeId, name: &[u8], made: &Result<InodeId, Error>, what: What) -> Done {
        if self.names(directory)?.contains_key(name) {
            return Err(Error::Exists);
        }
        // Only the file system knows whether there is space.
        let inode = made.clone()?;
        let node = match what {
            What::File(content) => Node::File { content, links: 1 },
            What::Directory => Node::Directory(BTreeMap::new()),
            What::Symlink(target) => Node::Symlink { target, links: 1 },
        };
        assert!(self.nodes.insert(inode, node).is_none(), "an inode number was given twice");
        self.names_mut(directory).insert(name.to_vec(), inode);
        Ok(())
    }

    pub(crate) fn link(&mut self, inode: InodeId, directory: InodeId, name: &[u8]) -> Done {
        match self.nodes.get(&inode) {
            None => return Err(Error::NotFound),
            Some(Node::Directory(_)) => return Err(Error::IsDirectory),
            Some(Node::File { links: 0, .. } | Node::Symlink { links: 0, .. }) => return Err(Error::NotFound),
            Some(_) => {}
        }
        if self.names(directory)?.contains_key(name) {
            return Err(Error::Exists);
        }
        self.names_mut(directory).insert(name.to_vec(), inode);
        self.count(inode, 1);
        Ok(())
    }

    fn count(&mut self, inode: InodeId, by: i32) {
        if let Some(Node::File { links, .. } | Node::Symlink { links, .. }) = self.nodes.get_mut(&inode) {
            *links = links.checked_add_signed(by).unwrap();
        }
        self.drop_if_unused(inode);
    }

    fn drop_if_unused(&mut self, inode: InodeId) {
        let nameless =
            matches!(self.nodes.get(&inode), Some(Node::File { links: 0, .. } | Node::Symlink { links: 0, .. }));
        if nameless {
            self.nodes.remove(&inode);
        }
    }

    pub(crate) fn unlink(&mut self, directory: InodeId, name: &[u8]) -> Done {
        let inode = *self.names(directory)?.get(name).ok_or(Error::NotFound)?;
        if self.names(inode).is_ok() {
            return Err(Error::IsDirectory);
        }
        self.names_mut(directory).remove(name);
        self.count(inode, -1);
        Ok(())
    }

    pub(crate) fn remove_directory(&mut self, directory: InodeId, name: &[u8]) -> Done {
        let inode = *self.names(directory)?.get(name).ok_or(Error::NotFound)?;
        if !self.names(inode)?.is_empty() {
            return Err(Error::NotEmpty);
        }
        self.names_mut(directory).remove(name);
        self.nodes.remove(&inode);
        Ok(())
    }

    fn is_above(&self, inode: InodeId, below: InodeId) -> bool {
        inode == below
            || self.names(inode).is_ok_and(|names| {
                names.values().any(|child| self.names(*child).is_ok() && self.is_above(*child, below))
            })
    }

    pub(crate) fn rename(&mut self, from: (InodeId, &[u8]), to: (InodeId, &[u8])) -> Done {
        let inode = *self.names(from.0)?.get(from.1).ok_or(Error::NotFound)?;
        let old = self.names(to.0)?.get(to.1).copied();
        let is_directory = self.names(inode).is_ok();
        if is_directory && self.is_above(inode, to.0) {
            return Err(Error::Invalid("a directory cannot be moved into itself"));
        }
        if let Some(old) = old {
            if old == inode {
                return Ok(());
            }
            match (is_directory, self.names(old)) {
                (true, Err(_)) => return Err(Error::NotDirectory),
                (false, Ok(_)) => return Err(Error::IsDirectory),
                (true, Ok(names)) if !names.is_empty() => return Err(Error::NotEmpty),
                _ => {}
            }
        }
        self.names_mut(from.0).remove(from.1);
        self.names_mut(to.0).insert(to.1.to_vec(), inode);
        match old {
            Some(old) if is_directory => drop(self.nodes.remove(&old)),
            Some(old) => self.count(old, -1),
            None => {}
        }
        Ok(())
    }

    pub(crate) fn exchange(&mut self, from: (InodeId, &[u8]), to: (InodeId, &[u8])) -> Done {
        let one = *self.names(from.0)?.get(from.1).ok_or(Error::NotFound)?;
        let target = self.names(to.0)?.get(to.1).copied();
        if self.names(one).is_ok() && self.is_above(one, to.0) {
            return Err(Error::Invalid("a directory cannot be moved into itself"));
        }
        let other = target.ok_or(Error::NotFound)?;
        if one == other {
            return Ok(());
        }
        if self.names(other).is_ok() && self.is_above(other, from.0) {
            return Err(Error::Invalid("a directory cannot be moved into itself"));
        }
        self.names_mut(from.0).insert(from.1.to_vec(), other);
        self.names_mut(to.0).insert(to.1.to_vec(), one);
        Ok(())
    }

    pub(crate) fn write(&mut self, inode: InodeId, offset: u64, bytes: &[u8]) -> Done {
        let content = self.content(inode)?;
        let end = offset as usize + bytes.len();
        if !bytes.is_empty() && content.len() < end {
            content.resize(end, 0);
        }
        if !bytes.is_empty() {
            content[offset as usize..end].copy_from_slice(bytes);
        }
        Ok(())
    }

    pub(crate) fn size(&self, inode: InodeId) -> Result<u64, Error> {
        self.file(inode).map(|content| content.len() as u64)
    }

    pub(crate) fn truncate(&mut self, inode: InodeId, size: u64) -> Done {
        self.content(inode)?.resize(size as usize, 0);
        Ok(())
    }

    pub(crate) fn punch(&mut self, inode: InodeId, offset: u64, length: u64) -> Done {
        let content = self.content(inode)?;
        let end = (offset + length).min(content.len() as u64);
        if offset < end {
            content[offset as usize..end as usize].fill(0);
        }
        Ok(())
    }

    pub(crate) fn allocate(&mut self, inode: InodeId, end: u64) -> Done {
        let content = self.content(inode)?;
        let size = content.len().max(end as usize);
        content.resize(size, 0);
        Ok(())
    }

    pub(crate) fn read(&self, inode: InodeId, offset: u64, length: usize) -> Result<Vec<u8>, Error> {
        let content = self.file(inode)?;
        let from = (offset as usize).min(content.len());
        Ok(content[from..(from + length).min(content.len())].to_vec())
    }

    /// Any inode, for loads that pick one.
    pub(crate) fn inodes(&self) -> Vec<InodeId> {
        self.nodes.keys().copied().collect()
    }

    /// Takes over the inode numbers of a snapshot that is otherwise the same.
    pub(crate) fn renumber(&mut self, found: &Snapshot) {
        let own = self.snapshot();
        let new: BTreeMap<InodeId, InodeId> = own.iter().map(|(path, seen)| (seen.inode, found[path].inode)).collect();
        self.nodes = std::mem::take(&mut self.nodes).into_iter().map(|(inode, node)| (new[&inode], node)).collect();
        for node in self.nodes.values_mut() {
            if let Node::Directory(names) = node {
                names.values_mut().for_each(|inode| *inode = new[inode]);
            }
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        let mut seen = Snapshot::new();
        self.look(self.root, b"", &mut seen);
        seen
    }

    fn look(&self, directory: InodeId, path: &[u8], seen: &mut Snapshot) {
        let names = self.names(directory).unwrap();
        let below = |inode: &&InodeId| self.names(**inode).is_ok();
        let links = 2 + names.values().filter(below).count() as u32;
        seen.insert(path.to_vec(), Seen { inode: directory, links, content: What::Directory });
        for (name, inode) in names {
            let path = [path, b"/", name].concat();
            match &self.nodes[inode] {
                Node::Directory(_) => self.look(*inode, &path, seen),
                Node::File { content, links } => {
                    seen.insert(path, Seen { inode: *inode, links: *links, content: What::File(content.clone()) });
                }
                Node::Symlink { target, links } => {
                    seen.insert(path, Seen { inode: *inode, links: *links, content: What::Symlink(target.clone()) });
                }
            }
        }
    }
}

/// Without inode numbers, which change when inodes change their domain.
pub(crate) fn unnumbered(seen: &Snapshot) -> Snapshot {
    let without = |seen: &Seen| Seen { inode: InodeId(0), ..seen.clone() };
    seen.iter().map(|(path, seen)| (path.clone(), without(seen))).collect()
}

/// The snapshot of a file system.
pub(crate) async fn snapshot(fs: &LogFs) -> Snapshot {
    let mut seen = Snapshot::new();
    let root = fs.stat(InodeId::ROOT).unwrap();
    seen.insert(Vec::new(), Seen { inode: InodeId::ROOT, links: root.links, content: What::Directory });
    for (path, entry) in fs.tree() {
        let attributes = fs.stat(entry.inode).unwrap();
        assert_eq!(attributes.kind, entry.kind, "{}", path.escape_ascii());
        let content = match entry.kind {
            InodeKind::Directory => What::Directory,
            InodeKind::Symlink => What::Symlink(fs.read_link(entry.inode).unwrap()),
            InodeKind::File => {
                let content = fs.read(entry.inode, 0, usize::MAX / 2).await.unwrap();
                assert_eq!(content.len() as u64, attributes.size);
                What::File(content)
            }
            kind => panic!("no load makes a {kind:?}"),
        };
        seen.insert(path, Seen { inode: entry.inode, links: attributes.links, content });
    }
    seen
}

/// The snapshot of all domains, as one core sees them.
pub(crate) async fn snapshot_all(fs: &Volume) -> Snapshot {
    let mut seen = Snapshot::new();
    let root = fs.stat(InodeId::ROOT).await.unwrap();
    seen.insert(Vec::new(), Seen { inode: InodeId::ROOT, links: root.links, content: What::Directory });
    for (path, entry) in fs.tree().await {
        let attributes = fs.stat(entry.inode).await.unwrap();
        assert_eq!(attributes.kind, entry.kind, "{}", path.escape_ascii());
        let content = match entry.kind {
            InodeKind::Directory => What::Directory,
            InodeKind::Symlink => What::Symlink(fs.read_link(entry.inode).await.unwrap()),
            InodeKind::File => What::File(fs.read(entry.inode, 0, usize::MAX / 2).await.unwrap()),
            kind => panic!("no load makes a {kind:?}"),
        };
        seen.insert(path, Seen { inode: entry.inode, links: attributes.links, content });
    }
    seen
}

/// A digest of a snapshot.
pub(crate) fn digest(seen: &Snapshot) -> u64 {
    let mut hasher = DefaultHasher::new();
    seen.hash(&mut hasher);
    hasher.finish()
}

/// The part of a snapshot below a path, in the form of a snapshot of a model of that path.
pub(crate) fn below(seen: &Snapshot, path: &[u8]) -> Snapshot {
    let part = |(full, seen): (&Vec<u8>, &Seen)| {
        let rest = full.strip_prefix(path).filter(|rest| rest.is_empty() || rest[0] == b'/')?;
        Some((rest.to_vec(), seen.clone()))
    };
    seen.iter().filter_map(part).collect()
}

/// A description of the first difference.
pub(crate) fn difference(found: &Snapshot, expected: &Snapshot) -> Option<String> {
    let show = |seen: Option<&Seen>| match seen {
        None => "nothing".to_owned(),
        Some(Seen { inode, links, content: What::File(content) }) => {
            let sum = iolab_checksum::crc32c(content);
            format!("file {} with {links} links, {} bytes, sum {sum:x}", inode.0, content.len())
        }
        Some(other) => format!("{other:?}"),
    };
    let paths = found.keys().chain(expected.keys());
    let differs = |path: &&Vec<u8>| found.get(*path) != expected.get(*path);
    paths.clone().find(differs).map(|path| {
        format!("{}: {} instead of {}", path.escape_ascii(), show(found.get(path)), show(expected.get(path)))
    })
}
