//! The lane of the engine `tree`: one operation, one item, inside `submit`.
//!
//! It makes the path of an item in memory of its own; after it has opened, it allocates nothing,
//! but for the first change below each root and for directories found by a walk.
//!
//! Unsafe: it lends the memory of slots to reads and writes.

use std::ffi::CStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use iolab_engine::{
    CompletionRow, Completions, Lane, LaneError, LaneRequest, Op, OpKind, OpenError, PoolView, Submission, TargetFile,
    Wait,
};

use crate::tree::calls::{self, Lent};
use crate::tree::owned;
use crate::tree::shape::Shape;
use crate::tree::walk::{Listing, Walk};

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item {
    File,
    Directory,
    /// The directories that the tree itself consists of.
    Node,
}

/// What a read does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Stat,
    Open,
    Find,
}

/// One root, and what is known of it.
#[derive(Debug)]
struct Root {
    target: TargetFile,
    /// Whether it was found to be iolab's, so that it may be changed.
    is_claimed: bool,
    walk: Walk,
}

/// A lane over trees.
#[derive(Debug)]
pub struct TreeLane {
    roots: Box<[Root]>,
    shape: Shape,
    item: Item,
    reading: Reading,
    /// Whether files hold data.
    has_data: bool,
    syncs: bool,
    buffers: PoolView,
    path: Vec<u8>,
    finished: CompletionRow,
}

/// The result of a read or write of an item that no tree of this shape has: no errno is that small.
const NOTHING_THERE: i32 = i32::MIN;

/// Longest path below a root: the kernel takes no longer one (`PATH_MAX`).
const PATH_BYTES: usize = 4096;

impl TreeLane {
    pub(crate) fn open(request: &LaneRequest<'_>) -> Result<TreeLane, OpenError> {
        let options = request.options;
        let number = |name: &str| options.integer(name).unwrap_or(0).max(0) as u64;
        let flag = |name: &str| options.flag(name).unwrap_or(false);
        let (branch, depth) = (number("tree_branch").max(1), number("tree_depth"));
        let shape = Shape::new(branch, depth as u32, number("tree_items"), flag("tree_leaves"));
        let shape = shape.ok_or_else(|| OpenError {
            message: format!("tree_branch={branch} and tree_depth={depth} are too many directories: use smaller ones"),
            errno: Some(libc::EINVAL),
        })?;
        let item = match options.choice("tree_item") {
            Some("directory") => Item::Directory,
            Some("node") => Item::Node,
            _ => Item::File,
        };
        let reading = match options.choice("tree_read") {
            Some("open") => Reading::Open,
            Some("find") => Reading::Find,
            _ => Reading::Stat,
        };
        if let Some(bad) = request.files.iter().find(|file| file.path.as_os_str().as_bytes().contains(&0)) {
            let message =
                format!("the name `{}` contains a zero byte, which no system call accepts", bad.path.display());
            return Err(OpenError { message, errno: Some(libc::EINVAL) });
        }
        let root = |file: &TargetFile| Root { target: file.clone(), is_claimed: false, walk: Walk::default() };
        Ok(TreeLane {
            roots: request.files.iter().map(root).collect(),
            shape,
            item,
            reading,
            has_data: flag("tree_data"),
            syncs: flag("tree_sync"),
            buffers: request.buffers,
            path: Vec::with_capacity(PATH_BYTES),
            finished: CompletionRow::with_depth(request.depth),
        })
    }

    /// Does the operation: bytes, 0 or a negative errno. `Err` is the errno to refuse it with.
    fn perform_one(&mut self, op: &Op) -> Result<i32, i32> {
        let (file, length) = (op.file as usize, op.length as usize);
        if file >= self.roots.len() {
            return Err(libc::ENOENT);
        }
        // The rest of an operation would be another item.
        let address = self.buffers.range_ptr(usize::from(op.slot), 0, length);
        if op.buffer_offset != 0 || op.length == 0 {
            return Err(libc::EINVAL);
        }
        // SAFETY: the range was found to lie within the slot, and the loop has lent the slot until
        // the operation is complete, which is before this returns.
        let data = address.map(|address| unsafe { Lent::new(address, length) });
        let number = op.offset / u64::from(op.length);
        let result = match op.kind {
            OpKind::Read => self.look(file, number, data)?,
            OpKind::Write => self.make(file, number, data)?,
            OpKind::Trim => self.remove(file, number),
            _ => return Err(libc::EOPNOTSUPP),
        };
        Ok(match (result, op.kind) {
            (NOTHING_THERE, _) => 0,
            (0, OpKind::Read | OpKind::Write) => op.length as i32,
            (result, _) => result,
        })
    }

    fn look(&mut self, file: usize, number: u64, data: Option<Lent>) -> Result<i32, i32> {
        if self.reading == Reading::Find {
            set_path(&mut self.path, &self.roots[file].target, |_| {});
            let found = self.roots[file].walk.look_up(c_path(&self.path), number);
            return Ok(match found {
                Ok(true) => 0,
                Ok(false) => NOTHING_THERE,
                Err(errno) => errno,
            });
        }
        if self.is_beyond(number) {
            return Ok(NOTHING_THERE);
        }
        self.name(file, number);
        let path = c_path(&self.path);
        Ok(match (self.reading, self.item) {
            (Reading::Open, Item::File) => calls::read(path, data.ok_or(libc::EINVAL)?),
            (Reading::Open, _) => list(path).map_or_else(|errno| errno, |_| 0),
            _ => calls::stat(path),
        })
    }

    fn make(&mut self, file: usize, number: u64, data: Option<Lent>) -> Result<i32, i32> {
        if self.is_beyond(number) {
            return Ok(NOTHING_THERE);
        }
        let claimed = self.claim(file);
        if claimed < 0 || (self.item == Item::Node && number == 0) {
            return Ok(claimed);
        }
        let data = if self.has_data { Some(data.ok_or(libc::EINVAL)?) } else { None };
        self.name(file, number);
        let made = self.make_named(data);
        if made != -libc::ENOENT {
            return Ok(made);
        }
        let made = self.make_nodes(file, number);
        if made < 0 {
            return Ok(made);
        }
        self.name(file, number);
        Ok(self.make_named(data))
    }

    fn make_named(&self, data: Option<Lent>) -> i32 {
        let path = c_path(&self.path);
        match self.item {
            Item::File => calls::create(path, data, self.syncs),
            Item::Directory | Item::Node => calls::make_directory(path),
        }
    }

    /// Makes the nodes above an item.
    #[cold]
    fn make_nodes(&mut self, file: usize, number: u64) -> i32 {
        self.name(file, number);
        let root = self.roots[file].target.path.as_os_str().len();
        let ends: Vec<usize> = (root + 1..self.path.len()).filter(|at| self.path[*at] == b'/').collect();
        for end in ends {
            let mut above = self.path[..end].to_vec();
            above.push(0);
            let made = calls::make_directory(c_path(&above));
            if made < 0 && made != -libc::EEXIST {
                return made;
            }
        }
        0
    }

    fn remove(&mut self, file: usize, number: u64) -> i32 {
        if self.is_beyond(number) {
            return -libc::ENOENT;
        }
        // A claim makes the root; where there is none, there is nothing to remove.
        if !self.roots[file].is_claimed && self.roots[file].target.path.symlink_metadata().is_err() {
            return -libc::ENOENT;
        }
        let claimed = self.claim(file);
        if claimed < 0 {
            return claimed;
        }
        // Of nodes, the last goes first: a directory is removed after those below it.
        let number = if self.item == Item::Node { self.shape.nodes() - 1 - number } else { number };
        if self.item == Item::Node && number == 0 {
            self.roots[file].is_claimed = false;
            return owned::give_up(&self.roots[file].target.path);
        }
        self.name(file, number);
        let path = c_path(&self.path);
        if self.item == Item::File { calls::unlink(path) } else { calls::remove_directory(path) }
    }

    /// Whether there is no such node.
    fn is_beyond(&self, number: u64) -> bool {
        self.item == Item::Node && number >= self.shape.nodes()
    }

    /// Makes sure that the root may be changed.
    #[inline]
    fn claim(&mut self, file: usize) -> i32 {
        let root = &mut self.roots[file];
        if root.is_claimed {
            return 0;
        }
        let claimed = owned::claim(&root.target.path);
        root.is_claimed = claimed == 0;
        claimed
    }

    /// Makes the path of an item.
    #[inline]
    fn name(&mut self, file: usize, number: u64) {
        let (shape, item) = (self.shape, self.item);
        set_path(&mut self.path, &self.roots[file].target, |path| {
            let word = match item {
                Item::Node => return shape.push_node(number, path),
                Item::File => "file",
                Item::Directory => "dir",
            };
            shape.push_node(shape.node_of(number), path);
            // Writing to memory cannot fail.
            let _ = write!(path, "/{word}.{number}");
        });
    }
}

fn set_path(path: &mut Vec<u8>, root: &TargetFile, below: impl FnOnce(&mut Vec<u8>)) {
    path.clear();
    path.extend_from_slice(root.path.as_os_str().as_bytes());
    below(path);
    path.push(0);
}

fn c_path(path: &[u8]) -> &CStr {
    CStr::from_bytes_with_nul(path)
        .expect("paths end with their only zero byte, which was checked when the lane opened")
}

/// Opens a directory, reads all its entries and closes it.
fn list(path: &CStr) -> Result<u64, i32> {
    Listing::open(libc::AT_FDCWD, path)?.read_all()
}

impl Lane for TreeLane {
    const SYNCHRONOUS: bool = true;

    #[inline]
    fn submit(&mut self, op: &Op) -> Submission {
        if self.finished.is_full() {
            return Submission::Full;
        }
        let outcome = self.perform_one(op);
        self.finished.take(op.slot, outcome)
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LaneError> {
        Ok(())
    }

    #[inline]
    fn reap(&mut self, _wait: Wait, out: &mut Completions) -> Result<usize, LaneError> {
        Ok(self.finished.drain_into(out))
    }

    /// A walk ends with the last entry, and so does a job on nodes with the last of them.
    fn ends(&self) -> bool {
        true
    }
}
