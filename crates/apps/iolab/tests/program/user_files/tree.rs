//! The folder of a user: files of all kinds, some with names like those of a job's files, links,
//! pipes, images.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// Names of regular files in the tree, with their content.
pub(crate) const FILES: [(&str, &str); 17] = [
    ("precious.txt", "years of work"),
    ("libcrypto.so.1.1", "\u{7f}ELF of somebody"),
    ("vmlinuz-6.1.0", "a kernel"),
    ("backup.2026.11", "a backup"),
    ("disk.img.1.1", "an image"),
    ("try.0.0", "named as a job's file, and not one"),
    ("w.1.0", "another one"),
    ("big.0.0", "and another"),
    ("report.json", "{\"mine\": true}\n"),
    ("notes.iolab", "not a recording at all\n"),
    ("page.html", "<p>a page of my own</p>\n"),
    ("table.csv", "a,b\n1,2\n"),
    ("x_bw.1.log", "my own log\n"),
    ("j.fio", "[j]\nsize=4k\nrw=write\nioengine=psync\n"),
    ("deep/er/thesis.txt", "more years"),
    ("deep/try.0.0", "below"),
    ("script.sh", "#!/bin/sh\n"),
];

/// Other entries; [`Tree::new`] makes them.
pub(crate) const OTHERS: [&str; 9] =
    ["empty.txt", "empty.0.0", "soft.0.0", "hard.0.0", "dangling.0.0", "way", "hollow", "pipe", "xfs.img"];

/// The state of one entry of the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Thing {
    mode: u32,
    inode: u64,
    links: u64,
    content: Content,
}

#[derive(Clone, PartialEq, Eq)]
enum Content {
    Bytes(Vec<u8>),
    Link(PathBuf),
    None,
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Bytes(bytes) => {
                let start = String::from_utf8_lossy(&bytes[..bytes.len().min(24)]).into_owned();
                write!(f, "{} bytes from {start:?}", bytes.len())
            }
            Content::Link(to) => write!(f, "a link to {}", to.display()),
            Content::None => f.write_str("no content"),
        }
    }
}

/// The tree, and its original state.
pub(crate) struct Tree {
    folder: TempDir,
    before: BTreeMap<PathBuf, Thing>,
}

impl Tree {
    pub(crate) fn new() -> Tree {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let mut tree = Tree { folder, before: BTreeMap::new() };
        fs::create_dir_all(tree.path("deep/er")).unwrap();
        fs::create_dir_all(tree.path("../outside")).unwrap();
        fs::create_dir_all(tree.path("hollow")).unwrap();
        for (name, content) in FILES {
            fs::write(tree.path(name), content).unwrap();
        }
        fs::set_permissions(tree.path("script.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(tree.path("empty.txt"), "").unwrap();
        fs::hard_link(tree.path("empty.txt"), tree.path("empty.0.0")).unwrap();
        fs::hard_link(tree.path("precious.txt"), tree.path("hard.0.0")).unwrap();
        symlink("precious.txt", tree.path("soft.0.0")).unwrap();
        symlink("../outside/new", tree.path("dangling.0.0")).unwrap();
        symlink("../outside", tree.path("way")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, tree.path("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        // An image that contains a file system, as its first bytes say, and is large enough to look
        // like a disk.
        let mut image = vec![0_u8; 1 << 20];
        image[..4].copy_from_slice(b"XFSB");
        fs::write(tree.path("xfs.img"), image).unwrap();
        tree.before = tree.look();
        tree
    }

    /// A path in the user's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("user").join(name)
    }

    /// A path beside the user's folder, for files of the tests themselves.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// What has changed, except `named`.
    ///
    /// `outside`: whether something new beside the folder counts, too.
    pub(crate) fn differences(&self, named: &[String], outside: bool) -> Vec<String> {
        let now = self.look();
        let excused = self.inodes(named);
        let gone = self.before.iter().filter(|(_, thing)| !excused.contains(&thing.inode));
        let gone = gone.filter_map(|(path, thing)| match now.get(path) {
            Some(found) if found == thing => None,
            Some(found) => Some(format!("{}: {thing:?} became {found:?}", path.display())),
            None => Some(format!("{}: gone: {thing:?}", path.display())),
        });
        // Nothing may be created where the user keeps something else.
        let strange = now.keys().filter(|path| outside && path.starts_with("outside"));
        let strange = strange.filter(|path| !self.before.contains_key(*path));
        let strange = strange.map(|path| format!("{}: new", path.display()));
        gone.chain(strange).collect()
    }

    /// Which of `named` have changed.
    pub(crate) fn changed(&self, named: &[String]) -> Vec<PathBuf> {
        let now = self.look();
        let inodes = self.inodes(named);
        let of_named = self.before.iter().filter(|(_, thing)| inodes.contains(&thing.inode));
        of_named.filter(|(path, thing)| now.get(*path) != Some(thing)).map(|(path, _)| path.clone()).collect()
    }

    /// Restores the original state if any of `named` has changed; otherwise removes what the runs
    /// have made.
    pub(crate) fn restore(&mut self, named: &[String]) {
        if !self.changed(named).is_empty() {
            *self = Tree::new();
            return;
        }
        let now = self.look();
        for path in now.keys().rev().filter(|path| !self.before.contains_key(*path)) {
            let path = self.folder.path().join(path);
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
        }
    }

    /// The inodes of names; links are followed, and another name for an inode is the same file.
    fn inodes(&self, named: &[String]) -> Vec<u64> {
        let known = |name: &String| {
            let at = Path::new("user").join(name);
            match self.before.get(&at) {
                Some(Thing { content: Content::Link(to), .. }) => self.before.get(&Path::new("user").join(to)),
                other => other,
            }
        };
        named.iter().filter_map(known).map(|thing| thing.inode).collect()
    }

    fn look(&self) -> BTreeMap<PathBuf, Thing> {
        let mut found = BTreeMap::new();
        for name in ["user", "outside"] {
            self.collect(Path::new(name), &mut found);
        }
        found
    }

    fn collect(&self, relative: &Path, found: &mut BTreeMap<PathBuf, Thing>) {
        let path = self.folder.path().join(relative);
        let Ok(metadata) = fs::symlink_metadata(&path) else { return };
        if metadata.is_dir() {
            for entry in fs::read_dir(&path).unwrap() {
                self.collect(&relative.join(entry.unwrap().file_name()), found);
            }
        }
        found.insert(relative.to_owned(), thing(&path, &metadata));
    }
}

fn thing(path: &Path, metadata: &Metadata) -> Thing {
    let content = if metadata.is_file() {
        Content::Bytes(fs::read(path).unwrap())
    } else if metadata.is_symlink() {
        Content::Link(fs::read_link(path).unwrap())
    } else {
        Content::None
    };
    // The link count of a folder depends on the folders in it.
    let links = if metadata.is_dir() { 0 } else { metadata.nlink() };
    Thing { mode: metadata.mode(), inode: metadata.ino(), links, content }
}
