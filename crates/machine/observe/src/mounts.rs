//! Parses `/proc/self/mountinfo` and `/proc/swaps` (proc_pid_mountinfo(5), proc_swaps(5)).
//!
//! Both are text with spaces escaped in octal. Lines of an unknown form are skipped.

use std::path::PathBuf;

use crate::{DeviceNumber, System};

/// One mount of the program's mount namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountEntry {
    /// Device of the file system (`st_dev`); anonymous (major 0) for btrfs, overlay, tmpfs, ….
    pub device: DeviceNumber,
    /// The folder of the file system that appears at the mount point; `/` unless only a part of it
    /// was mounted.
    pub root: PathBuf,
    /// The mount point.
    pub mount_point: PathBuf,
    /// File system type, e.g. `ext4`.
    pub fs_type: String,
    /// The mount source, e.g. `/dev/sda1`; any word for file systems without a device.
    pub source: String,
    /// Options of the file system, e.g. `rw,cpu,cpuacct`.
    pub options: String,
}

/// One active swap area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// Its device node or file.
    pub path: PathBuf,
    /// Whether it is a file rather than a partition.
    pub is_file: bool,
}

impl System {
    /// All mounts visible to the program.
    pub fn mounts(&self) -> Vec<MountEntry> {
        let text = self.read("proc/self/mountinfo").unwrap_or_default();
        text.lines().filter_map(parse_mount).collect()
    }

    /// All active swap areas.
    pub fn swaps(&self) -> Vec<Swap> {
        let text = self.read("proc/swaps").unwrap_or_default();
        text.lines().skip(1).filter_map(parse_swap).collect()
    }
}

/// `36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw`
fn parse_mount(line: &str) -> Option<MountEntry> {
    let (before, after) = line.split_once(" - ")?;
    let fields: Vec<&str> = before.split(' ').collect();
    let mut tail = after.split(' ');
    Some(MountEntry {
        device: DeviceNumber::parse(fields.get(2)?)?,
        root: PathBuf::from(unescape(fields.get(3)?)),
        mount_point: PathBuf::from(unescape(fields.get(4)?)),
        fs_type: tail.next()?.to_owned(),
        source: unescape(tail.next()?),
        options: tail.next().unwrap_or_default().to_owned(),
    })
}

/// `/dev/sda2   partition   8388604   0   -2`
fn parse_swap(line: &str) -> Option<Swap> {
    let mut fields = line.split_whitespace();
    let path = PathBuf::from(unescape(fields.next()?));
    Some(Swap { path, is_file: fields.next()? == "file" })
}

/// Undoes the kernel's `\040` escapes.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let octal = text.get(at + 1..at + 4).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match (bytes[at], octal) {
            (b'\\', Some(byte)) => {
                out.push(byte);
                at += 4;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mount_lines() {
        let line = "36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 shared:2 - ext3 /dev/root rw,errors=continue";
        let mount = parse_mount(line).unwrap();
        assert_eq!(mount.device, DeviceNumber { major: 98, minor: 0 });
        assert_eq!(mount.mount_point, PathBuf::from("/mnt 2"));
        assert_eq!(mount.root, PathBuf::from("/mnt1"));
        assert_eq!((mount.fs_type.as_str(), mount.source.as_str()), ("ext3", "/dev/root"));
        assert_eq!(mount.options, "rw,errors=continue");
        assert_eq!(parse_mount("36 35 98:0"), None);
        assert_eq!(parse_mount("36 35 none / / rw - a b c"), None);
    }

    #[test]
    fn swap_lines() {
        let swap = parse_swap("/swap\\040file\t\t\t\tfile\t\t1048572\t\t0\t\t-2").unwrap();
        assert_eq!(swap, Swap { path: PathBuf::from("/swap file"), is_file: true });
        assert!(!parse_swap("/dev/sda2 partition 1 0 -2").unwrap().is_file);
        assert_eq!(parse_swap(""), None);
    }

    #[test]
    fn escapes() {
        for (input, expected) in [("a", "a"), ("a\\040b", "a b"), ("\\134", "\\"), ("\\9", "\\9"), ("ä\\011", "ä\t")]
        {
            assert_eq!(unescape(input), expected, "{input}");
        }
    }

    #[test]
    fn the_live_machine_has_a_root_mount() {
        let mounts = System::live().mounts();
        assert!(mounts.iter().any(|mount| mount.mount_point.as_os_str() == "/"), "{mounts:?}");
    }
}
