//! Attributes and names as text and as JSON.

use iolab_logfs::{Attributes, InodeId, InodeKind, Layout, Volume};
use serde_json::{Value, json};

pub(crate) use iolab_text::size_text;

/// A name or path for people: escapes characters that a terminal would not show.
pub(crate) fn shown(name: &[u8]) -> String {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '\\' => text.push_str("\\\\"),
                _ if character.is_control() => text.extend(character.escape_default()),
                _ => text.push(character),
            }
        }
        text.extend(chunk.invalid().escape_ascii().map(char::from));
    }
    text
}

/// `drwxr-xr-x`, as ls(1) shows it.
pub(crate) fn mode_text(kind: InodeKind, mode: u16) -> String {
    let letter = match kind {
        InodeKind::File => '-',
        InodeKind::Directory => 'd',
        InodeKind::Symlink => 'l',
        InodeKind::Fifo => 'p',
        InodeKind::Socket => 's',
        InodeKind::CharacterDevice => 'c',
        InodeKind::BlockDevice => 'b',
    };
    let mut text = String::from(letter);
    // For each of user, group and others: the special bit, and its letter.
    for (shift, special, mark) in [(6, 0o4000, 's'), (3, 0o2000, 's'), (0, 0o1000, 't')] {
        let bits = mode >> shift;
        text.push(if bits & 4 != 0 { 'r' } else { '-' });
        text.push(if bits & 2 != 0 { 'w' } else { '-' });
        text.push(match (bits & 1 != 0, mode & special != 0) {
            (true, true) => mark,
            (false, true) => mark.to_ascii_uppercase(),
            (true, false) => 'x',
            (false, false) => '-',
        });
    }
    text
}

/// How an image is cleaned by default; `None` if it does not say.
pub(crate) fn cleaning_text(layout: &Layout) -> Option<String> {
    let policy = layout.cleaning.policy.map(|policy| policy.to_string());
    let memory = layout.cleaning.memory_bytes.map(|bytes| format!("memory {}", size_text(bytes)));
    let request = |bytes: u32| format!("a request costs as much as reading {}", size_text(u64::from(bytes)));
    let reading = layout.cleaning.reading.map(|reading| request(reading.request_bytes()));
    let parts: Vec<String> = [policy, memory, reading].into_iter().flatten().collect();
    if parts.is_empty() { None } else { Some(parts.join(", ")) }
}

/// A point in time, UTC.
pub(crate) fn time_text(unix_ns: u64) -> String {
    iolab_report::iso_text(unix_ns / 1_000_000_000)
}

pub(crate) fn kind_text(kind: InodeKind) -> &'static str {
    match kind {
        InodeKind::File => "file",
        InodeKind::Directory => "directory",
        InodeKind::Symlink => "symlink",
        InodeKind::Fifo => "fifo",
        InodeKind::Socket => "socket",
        InodeKind::CharacterDevice => "character device",
        InodeKind::BlockDevice => "block device",
    }
}

/// The target, if it is a link.
pub(crate) async fn target(fs: &Volume, inode: InodeId, kind: InodeKind) -> Option<Vec<u8>> {
    match kind {
        InodeKind::Symlink => Some(fs.read_link(inode).await.unwrap_or_default()),
        _ => None,
    }
}

/// Everything about an inode; a name that is not UTF-8 is also included in hexadecimal.
pub(crate) fn as_json(path: &[u8], inode: InodeId, attributes: &Attributes, stored_bytes: u64) -> Value {
    let mut value = json!({
        "path": String::from_utf8_lossy(path),
        "inode": inode.0,
        "kind": kind_text(attributes.kind),
        "mode": attributes.mode,
        "links": attributes.links,
        "uid": attributes.uid,
        "gid": attributes.gid,
        "size": attributes.size,
        "stored_bytes": stored_bytes,
        "accessed_ns": attributes.accessed_ns,
        "modified_ns": attributes.modified_ns,
        "changed_ns": attributes.changed_ns,
        "born_ns": attributes.born_ns,
    });
    if std::str::from_utf8(path).is_err() {
        value["path_hex"] = Value::from(hex(path));
    }
    value
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_and_names() {
        for (kind, mode, expected) in [
            (InodeKind::File, 0o644, "-rw-r--r--"),
            (InodeKind::Directory, 0o1777, "drwxrwxrwt"),
            (InodeKind::Symlink, 0o777, "lrwxrwxrwx"),
            (InodeKind::File, 0o6754, "-rwsr-sr--"),
            (InodeKind::File, 0o7000, "---S--S--T"),
        ] {
            assert_eq!(mode_text(kind, mode), expected);
        }
        assert_eq!(shown("a\n\u{e4}\\".as_bytes()), "a\\n\u{e4}\\\\");
        assert_eq!(shown(b"\xff\x1b"), "\\xff\\u{1b}");
    }
}
