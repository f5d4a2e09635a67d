//! The options of a mount, and the words of `-o`.

use std::path::PathBuf;

use iolab_fuse::{FuseTransport, MountFlags};

/// Mount options.
#[derive(Debug, Clone)]
pub struct Options {
    /// The directory to mount on; must exist.
    pub mount_point: PathBuf,
    /// The source shown in the list of mounts.
    pub source: String,
    /// The transport of requests.
    pub transport: FuseTransport,
    /// Requests in flight: per processor with io_uring, in total with the classic transport.
    pub depth: usize,
    /// The largest transfer, bytes; rounded to whole pages.
    pub transfer_bytes: usize,
    /// Flags of mount(2).
    pub flags: MountFlags,
    /// Whether the kernel may delay writes until a sync or its own writeback, instead of passing
    /// them on at once. Faster for small writes; the order of changes is then only kept between
    /// syncs.
    pub writeback: bool,
    /// Whether access control lists are kept, and judged by the kernel (acl(5)).
    pub acl: bool,
    /// Whether data that is read is compared with its checksum.
    pub verify: bool,
    /// Files that reads find in many small pieces are defragmented; this moves at most this share
    /// of the bytes read, in percent.
    pub defragment_percent: u32,
    /// Changes without a sync are made durable after this number of seconds; with 0, when the file
    /// system decides.
    pub commit_seconds: u32,
}

/// An unknown word of `-o`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mount option {0}; known options are {known}", known = KNOWN)]
pub struct UnknownWord(String);

const KNOWN: &str = "ro rw suid nosuid dev nodev exec noexec noatime relatime dirsync sync async writeback nowriteback acl noacl verify noverify \
                     commit=SECONDS defragment=PERCENT max_write=BYTES depth=N transport=auto|classic|io_uring";

impl Options {
    /// The defaults: no set-user-id programs, no devices, every write passed on at once, durable
    /// after 5 seconds.
    pub fn new(mount_point: impl Into<PathBuf>, source: impl Into<String>) -> Options {
        Options {
            mount_point: mount_point.into(),
            source: source.into(),
            transport: FuseTransport::Auto,
            depth: 64,
            transfer_bytes: 256 << 10,
            flags: MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOATIME,
            writeback: false,
            acl: true,
            verify: true,
            defragment_percent: 0,
            commit_seconds: 5,
        }
    }

    /// Whether the mount is read-only.
    pub fn is_read_only(&self) -> bool {
        self.flags.contains(MountFlags::RDONLY)
    }

    /// Applies the words of one `-o`, separated by commas; a later word overrides an earlier one.
    ///
    /// # Errors
    /// [`UnknownWord`], with everything before it applied.
    pub fn apply(&mut self, words: &str) -> Result<(), UnknownWord> {
        words.split(',').filter(|word| !word.is_empty()).try_for_each(|word| self.apply_word(word))
    }

    fn apply_word(&mut self, word: &str) -> Result<(), UnknownWord> {
        let unknown = || UnknownWord(word.to_owned());
        if let Some((name, value)) = word.split_once('=') {
            let number = || value.parse::<u32>().map_err(|_| unknown());
            match name {
                "commit" => self.commit_seconds = number()?,
                "defragment" => self.defragment_percent = number()?.min(100),
                "max_write" => self.transfer_bytes = number()? as usize,
                "depth" => self.depth = number()?.max(1) as usize,
                "transport" => {
                    let known = [FuseTransport::Auto, FuseTransport::Classic, FuseTransport::Uring];
                    self.transport = known.into_iter().find(|known| known.to_string() == value).ok_or_else(unknown)?;
                }
                _ => return Err(unknown()),
            }
            return Ok(());
        }
        let (flag, is_set) = match word {
            "ro" => (MountFlags::RDONLY, true),
            "rw" => (MountFlags::RDONLY, false),
            "nosuid" => (MountFlags::NOSUID, true),
            "suid" => (MountFlags::NOSUID, false),
            "nodev" => (MountFlags::NODEV, true),
            "dev" => (MountFlags::NODEV, false),
            "noexec" => (MountFlags::NOEXEC, true),
            "exec" => (MountFlags::NOEXEC, false),
            "sync" => (MountFlags::SYNCHRONOUS, true),
            "async" => (MountFlags::SYNCHRONOUS, false),
            "dirsync" => (MountFlags::DIRSYNC, true),
            // Reading never updates access times.
            "noatime" => (MountFlags::NOATIME, true),
            "relatime" => (MountFlags::NOATIME, false),
            "writeback" | "nowriteback" => {
                self.writeback = word == "writeback";
                return Ok(());
            }
            "acl" | "noacl" => {
                self.acl = word == "acl";
                return Ok(());
            }
            "verify" | "noverify" => {
                self.verify = word == "verify";
                return Ok(());
            }
            _ => return Err(unknown()),
        };
        self.flags.set(flag, is_set);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_applied_in_turn() {
        let mut options = Options::new("/mnt", "image");
        options.apply("ro,suid,,commit=30,writeback,transport=classic").unwrap();
        options.apply("rw,max_write=65536,nowriteback,defragment=20").unwrap();
        assert_eq!(options.defragment_percent, 20);
        assert_eq!(options.flags, MountFlags::NODEV | MountFlags::NOATIME);
        assert_eq!((options.commit_seconds, options.transfer_bytes, options.writeback), (30, 65536, false));
        assert_eq!(options.transport, FuseTransport::Classic);
        assert!(options.verify && options.acl);
        options.apply("noverify,noacl").unwrap();
        assert!(!options.verify && !options.acl);
        options.apply("noverify,verify").unwrap();
        assert!(options.verify);
        for bad in ["user_xattr", "commit=soon", "transport=pigeon", "ro=1"] {
            let refused = options.apply(bad).unwrap_err().to_string();
            assert!(refused.contains(bad) && refused.contains("nowriteback"), "{refused}");
        }
    }
}
