//! The location of `/proc`, `/sys` and `/dev`: the live ones, or those of a fixture tree.
//!
//! Guarantees that no other file of this crate names those folders, so that every reader can be
//! tested without hardware. Caches nothing: each call reads the current state.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::DeviceNumber;

/// The machine to observe.
#[derive(Debug, Clone)]
pub struct System {
    root: PathBuf,
    /// For fixtures, the devices of their paths; empty for the live system.
    placed: BTreeMap<PathBuf, DeviceNumber>,
}

impl Default for System {
    fn default() -> Self {
        System::live()
    }
}

impl System {
    /// The machine the program runs on.
    pub fn live() -> System {
        System { root: PathBuf::from("/"), placed: BTreeMap::new() }
    }

    /// A tree with `proc`, `sys` and `dev` folders, for tests. `placed` gives the device of a path
    /// (its `st_dev`, or its `st_rdev` for a device node), which a fixture cannot express.
    pub fn fixture(root: &Path, placed: BTreeMap<PathBuf, DeviceNumber>) -> System {
        System { root: root.to_owned(), placed }
    }

    /// Whether this is the live machine, where device nodes may be opened.
    pub fn is_live(&self) -> bool {
        self.root == Path::new("/")
    }

    /// A path below the root: `path("proc/swaps")`.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Text of a file below the root; `None` if it cannot be read.
    pub fn read(&self, relative: &str) -> Option<String> {
        fs::read_to_string(self.path(relative)).ok()
    }

    /// The device that a file is stored on (`st_dev`); for a missing file, that of the nearest
    /// existing parent.
    pub(crate) fn device_holding(&self, path: &Path) -> Option<DeviceNumber> {
        if let Some(number) = self.placed.get(path) {
            return Some(*number);
        }
        let mut nearest = if path.is_absolute() { path.to_owned() } else { Path::new(".").join(path) };
        loop {
            match fs::metadata(&nearest) {
                Ok(metadata) => return Some(DeviceNumber::from_raw(metadata.dev())),
                Err(_) if !nearest.pop() => return None,
                Err(_) => {}
            }
        }
    }

    /// The block device of a node such as `/dev/sda`; `None` for anything else.
    pub fn device_of_node(&self, path: &Path) -> Option<DeviceNumber> {
        if let Some(number) = self.placed.get(path) {
            return Some(*number);
        }
        let beneath = self.root.join(path.strip_prefix("/").unwrap_or(path));
        let path = if self.is_live() { path } else { beneath.as_path() };
        block_node(path)
    }
}

/// `st_rdev` of a block device node.
pub(crate) fn block_node(path: &Path) -> Option<DeviceNumber> {
    use std::os::unix::fs::FileTypeExt;
    let metadata = fs::metadata(path).ok()?;
    metadata.file_type().is_block_device().then(|| DeviceNumber::from_raw(metadata.rdev()))
}

/// Buffer size for files that are read whole; the first line of `/proc/stat` fits.
pub(crate) const BUFFER_BYTES: usize = 4096;

/// Reads the beginning of an open kernel file, whose text is generated anew for each read at 0.
pub(crate) fn read_again<'a>(file: &File, buffer: &'a mut [u8; BUFFER_BYTES]) -> Option<&'a str> {
    let length = file.read_at(buffer, 0).ok()?;
    std::str::from_utf8(&buffer[..length]).ok()
}

#[cfg(any(test, feature = "fixtures"))]
pub(crate) mod fixtures {
    //! A builder of sysfs and procfs trees.

    use std::os::unix::fs::symlink;

    use super::*;

    /// A machine being built.
    #[derive(Debug)]
    pub struct Fixture {
        folder: tempfile::TempDir,
        placed: BTreeMap<PathBuf, DeviceNumber>,
    }

    impl Default for Fixture {
        fn default() -> Fixture {
            Fixture::new()
        }
    }

    impl Fixture {
        /// An empty machine.
        pub fn new() -> Fixture {
            let folder = tempfile::tempdir().unwrap();
            for name in ["proc/self", "sys/block", "sys/dev/block", "sys/devices", "dev"] {
                fs::create_dir_all(folder.path().join(name)).unwrap();
            }
            Fixture { folder, placed: BTreeMap::new() }
        }

        /// The machine in its current state.
        pub fn system(&self) -> System {
            System::fixture(self.folder.path(), self.placed.clone())
        }

        /// A file of `/proc` or `/sys`.
        pub fn file(&mut self, relative: &str, text: &str) -> &mut Fixture {
            let path = self.folder.path().join(relative);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
            self
        }

        /// A whole disk: its folder, and the two links to it.
        pub fn disk(&mut self, name: &str, number: &str) -> &mut Fixture {
            let device = self.folder.path().join("sys/devices").join(name);
            fs::create_dir_all(device.join("slaves")).unwrap();
            fs::create_dir_all(device.join("holders")).unwrap();
            symlink(&device, self.folder.path().join("sys/block").join(name)).unwrap();
            symlink(&device, self.folder.path().join("sys/dev/block").join(number)).unwrap();
            self
        }

        /// A partition of a disk.
        pub fn partition(&mut self, disk: &str, name: &str, number: &str) -> &mut Fixture {
            let device = self.folder.path().join("sys/devices").join(disk).join(name);
            fs::create_dir_all(device.join("holders")).unwrap();
            fs::write(device.join("partition"), "1\n").unwrap();
            symlink(&device, self.folder.path().join("sys/dev/block").join(number)).unwrap();
            self
        }

        /// Makes `part` (a path below `sys/devices`) a part of the disk `whole`.
        pub fn slave(&mut self, whole: &str, part: &str) -> &mut Fixture {
            let devices = self.folder.path().join("sys/devices");
            let name = Path::new(part).file_name().unwrap();
            symlink(devices.join(part), devices.join(whole).join("slaves").join(name)).unwrap();
            symlink(devices.join(whole), devices.join(part).join("holders").join(whole)).unwrap();
            self
        }

        /// Sets the device that a path is, or is on.
        pub fn place(&mut self, path: &str, number: &str) -> &mut Fixture {
            self.placed.insert(PathBuf::from(path), DeviceNumber::parse(number).unwrap());
            self
        }
    }
}
