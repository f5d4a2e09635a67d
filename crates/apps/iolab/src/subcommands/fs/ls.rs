//! `iolab fs ls`.

use std::ffi::OsString;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use iolab_logfs::{Attributes, Entry, Kind, Volume};

use super::facts::{as_json, mode_text, shown, target, time_text};
use super::{inside, look};
use crate::exit::Failure;
use crate::output;

/// What to list.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Regular file or block device
    image: PathBuf,
    /// Path inside of the image
    #[arg(default_value = "/")]
    path: OsString,
    /// Kind, mode, links, owner, group, size and time of each
    #[arg(short = 'l', long)]
    long: bool,
    /// What is in directories, too
    #[arg(short = 'R', long)]
    recursive: bool,
    /// A JSON object for each, on a line of its own
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    let path = arguments.path.as_bytes();
    let text =
        look(&arguments.image, async |fs: &Volume| list(fs, arguments).await.map_err(inside(&arguments.image, path)))?;
    output::print(&text)?;
    Ok(0)
}

async fn list(fs: &Volume, arguments: &Arguments) -> Result<String, iolab_logfs::Error> {
    let path = trimmed(arguments.path.as_bytes());
    let inode = fs.resolve(path).await?;
    let attributes = fs.stat(inode).await?;
    let mut text = String::new();
    if attributes.kind != Kind::Directory {
        let entry = Entry { name: path.to_vec(), inode, kind: attributes.kind };
        row(fs, arguments, (&entry, path), &attributes, &mut text).await?;
        return Ok(text);
    }
    let mut open = vec![(path.to_vec(), inode)];
    while let Some((path, directory)) = open.pop() {
        if arguments.recursive && !arguments.json {
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}:", if path.is_empty() { "/".to_owned() } else { shown(&path) });
        }
        let mut below = Vec::new();
        for entry in fs.read_directory(directory, b"", usize::MAX).await? {
            let full = [&path, &b"/"[..], &entry.name].concat();
            row(fs, arguments, (&entry, &full), &fs.stat(entry.inode).await?, &mut text).await?;
            if arguments.recursive && entry.kind == Kind::Directory {
                below.push((full, entry.inode));
            }
        }
        open.extend(below.into_iter().rev());
    }
    Ok(text)
}

async fn row(
    fs: &Volume,
    arguments: &Arguments,
    (entry, path): (&Entry, &[u8]),
    attributes: &Attributes,
    text: &mut String,
) -> Result<(), iolab_logfs::Error> {
    let target = target(fs, entry.inode, entry.kind).await;
    if arguments.json {
        let mut value = as_json(path, entry.inode, attributes, fs.stored_bytes(entry.inode).await?);
        if let Some(target) = target {
            value["target"] = String::from_utf8_lossy(&target).into();
        }
        let _ = writeln!(text, "{value}");
        return Ok(());
    }
    let Attributes { kind, mode, links, uid, gid, size, modified_ns, .. } = attributes;
    if arguments.long {
        let mode = mode_text(*kind, *mode);
        let _ = write!(text, "{mode} {links:>3} {uid:>5} {gid:>5} {size:>12} {} ", time_text(*modified_ns));
    }
    text.push_str(&shown(&entry.name));
    if let Some(target) = target.filter(|_| arguments.long) {
        let _ = write!(text, " -> {}", shown(&target));
    }
    text.push('\n');
    Ok(())
}

/// A path without the slashes at its end; the root is empty.
fn trimmed(path: &[u8]) -> &[u8] {
    let end = path.iter().rposition(|byte| *byte != b'/').map_or(0, |last| last + 1);
    &path[..end]
}
