//! Open directories, and reading them.
//!
//! The cookie of an entry is its position in what the handle has listed so far, so that it stays
//! valid whatever happens to the directory meanwhile. A handle lists names in order, on demand;
//! reading from the start again makes a new list.

use std::collections::HashMap;

use iolab_fuse::abi::Body;
use iolab_logfs::{DirectoryEntry, Error, InodeId, InodeKind, LocalVolume};

use crate::attributes::{KnownAttributes, entry_type};
use crate::nodes::Nodes;

/// Names fetched at once.
const FETCHED: usize = 256;

#[derive(Debug, Default)]
struct Handle {
    listed: Vec<DirectoryEntry>,
}

/// The open handles.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    open: HashMap<u64, Handle>,
    last: u64,
}

/// The arguments of READDIR and READDIRPLUS.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing {
    pub(crate) directory: InodeId,
    pub(crate) handle: u64,
    /// The cookie after which to continue.
    pub(crate) offset: u64,
    pub(crate) plus: bool,
}

impl Directories {
    pub(crate) fn open(&mut self) -> u64 {
        self.last += 1;
        self.open.insert(self.last, Handle::default());
        self.last
    }

    pub(crate) fn close(&mut self, handle: u64) {
        self.open.remove(&handle);
    }

    /// Fills `room` with entries; returns the number of bytes used.
    pub(crate) fn list(
        &mut self,
        fs: &LocalVolume,
        nodes: &mut Nodes,
        listing: Listing,
        room: &mut [u8],
    ) -> Result<usize, Error> {
        let handle = self.open.get_mut(&listing.handle).ok_or(Error::Invalid("the directory is not open"))?;
        if listing.offset == 0 {
            handle.listed.clear();
        }
        let mut used = 0;
        let mut at = listing.offset;
        while let Some(entry) = handle.entry(fs, listing.directory, at)? {
            let known = if listing.plus && at >= 2 { KnownAttributes::of(fs, entry.inode).ok() } else { None };
            let Some(length) = put(&entry, at + 1, listing.plus, known, &mut room[used..]) else { break };
            if known.is_some() {
                nodes.remember(fs, entry.inode)?;
            }
            used += length;
            at += 1;
        }
        Ok(used)
    }
}

impl Handle {
    /// The entry with this number; `.` and `..` come first.
    fn entry(&mut self, fs: &LocalVolume, directory: InodeId, number: u64) -> Result<Option<DirectoryEntry>, Error> {
        if number < 2 {
            let inode = if number == 0 { directory } else { fs.lookup(directory, b"..")?.inode };
            let name = if number == 0 { b".".to_vec() } else { b"..".to_vec() };
            return Ok(Some(DirectoryEntry { name, inode, kind: InodeKind::Directory }));
        }
        let index = (number - 2) as usize;
        while self.listed.len() <= index {
            let last = self.listed.last().map_or(&b""[..], |entry| &entry.name);
            let more = fs.read_directory(directory, last, FETCHED)?;
            if more.is_empty() {
                return Ok(None);
            }
            self.listed.extend(more);
        }
        Ok(self.listed.get(index).cloned())
    }
}

/// Writes a `struct fuse_dirent` or `struct fuse_direntplus`; returns its length, if it fits.
fn put(
    entry: &DirectoryEntry,
    cookie: u64,
    plus: bool,
    known: Option<KnownAttributes>,
    room: &mut [u8],
) -> Option<usize> {
    let body = Body::new(room);
    let body = match known {
        Some(known) => known.entry_out(body),
        // Without a node the kernel looks the entry up when it needs it, and notices when it is
        // gone.
        None if plus => body.zeroes(128),
        None => body,
    };
    let length = entry.name.len();
    let body = body.u64(entry.inode.0).u64(cookie).u32(length as u32).u32(entry_type(entry.kind)).raw(&entry.name);
    body.zeroes(length.next_multiple_of(8) - length).length()
}
