//! Recognises the content of a device by its first bytes: partition tables, file systems, parts of
//! volumes.
//!
//! For devices that the kernel does not know, so that it cannot say what is in use. The signatures
//! are those that blkid(8) checks first; a device without any of them may still contain data.
//! Performs no I/O: bytes in, names out.

/// The number of bytes from the start of a device that [`signatures`] examines.
pub const SIGNATURE_BYTES: usize = 72 << 10;

struct Known {
    name: &'static str,
    offset: usize,
    magic: &'static [u8],
}

const fn known(name: &'static str, offset: usize, magic: &'static [u8]) -> Known {
    Known { name, offset, magic }
}

/// Each with its source; little-endian numbers as bytes.
const TABLE: &[Known] = &[
    // UEFI, section 5.3.2: in the second logical block.
    known("a GPT partition table", 512, b"EFI PART"),
    known("a GPT partition table", 4096, b"EFI PART"),
    // UEFI, section 5.2.1; boot sectors of FAT and NTFS end in the same way.
    known("an MBR partition table or a boot sector", 510, &[0x55, 0xaa]),
    // The kernel's Documentation/filesystems/ext4: s_magic.
    known("an ext2, ext3 or ext4 file system", 1024 + 0x38, &[0x53, 0xef]),
    known("an XFS file system", 0, b"XFSB"),
    known("a btrfs file system", 0x1_0040, b"_BHRfS_M"),
    known("an F2FS file system", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    known("an NTFS file system", 3, b"NTFS    "),
    known("an exFAT file system", 3, b"EXFAT   "),
    // An LVM label is in one of the first four sectors.
    known("an LVM physical volume", 24, b"LVM2 001"),
    known("an LVM physical volume", 512 + 24, b"LVM2 001"),
    known("an LVM physical volume", 1024 + 24, b"LVM2 001"),
    known("an LVM physical volume", 1536 + 24, b"LVM2 001"),
    known("a LUKS volume", 0, b"LUKS\xba\xbe"),
    // mkswap(8): the end of the first page.
    known("a swap area", 4096 - 10, b"SWAPSPACE2"),
    known("a swap area", 65536 - 10, b"SWAPSPACE2"),
    // md(4): versions 1.1 and 1.2 of the superblock.
    known("a part of a RAID (md)", 0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    known("a part of a RAID (md)", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    known("a part of a bcache", 4096 + 24, &[0xc6, 0x85, 0x73, 0xf6, 0x4e, 0x1a, 0x45, 0xca]),
    // docs/logfs/format.md, bootstrap record.
    known("a logfs file system", 0, b"IOLABLFS"),
    known("a BlueStore device of Ceph", 0, b"bluestore block device"),
];

/// The content found in `start`, the first [`SIGNATURE_BYTES`] of a device or all of a shorter one,
/// without duplicates.
pub fn signatures(start: &[u8]) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    for Known { name, offset, magic } in TABLE {
        let is_there = start.get(*offset..).is_some_and(|rest| rest.starts_with(magic));
        if is_there && !found.contains(name) {
            found.push(name);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_is_found_where_it_belongs_and_nowhere_else() {
        for Known { name, offset, magic } in TABLE {
            let mut start = vec![0; SIGNATURE_BYTES];
            start[*offset..offset + magic.len()].copy_from_slice(magic);
            assert_eq!(signatures(&start), [*name]);
            start.copy_within(*offset..offset + magic.len(), offset + 1);
            start[*offset] = !magic[0];
            assert_eq!(signatures(&start), [""; 0], "{name} one byte too far");
            assert_eq!(signatures(&start[..*offset]), [""; 0], "a device that ends before it");
        }
    }

    #[test]
    fn several_are_all_told_once() {
        let mut start = vec![0; SIGNATURE_BYTES];
        start[510..512].copy_from_slice(&[0x55, 0xaa]);
        start[512..520].copy_from_slice(b"EFI PART");
        start[4096..4104].copy_from_slice(b"EFI PART");
        assert_eq!(signatures(&start), ["a GPT partition table", "an MBR partition table or a boot sector"]);
        assert_eq!(signatures(&[0; SIGNATURE_BYTES]), [""; 0]);
        assert_eq!(signatures(&[]), [""; 0]);
    }
}
