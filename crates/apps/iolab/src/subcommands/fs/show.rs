//! `iolab fs stat`, `cat` and `tree`.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use iolab_logfs::{InodeId, Kind, Volume};

use super::facts::{as_json, kind_text, mode_text, shown, size_text, target, time_text};
use super::{inside, look};
use crate::exit::Failure;
use crate::output;

/// Bytes that are read at once.
const PIECE_BYTES: u64 = 4 << 20;

/// What to describe.
#[derive(Debug, clap::Args)]
pub(crate) struct StatArguments {
    /// Regular file or block device
    image: PathBuf,
    /// Path inside of the image
    path: OsString,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn stat(arguments: &StatArguments) -> Result<u8, Failure> {
    let path = arguments.path.as_bytes();
    let text = look(&arguments.image, async |fs: &Volume| {
        stat_text(fs, path, arguments.json).await.map_err(inside(&arguments.image, path))
    })?;
    output::print(&text)?;
    Ok(0)
}

async fn stat_text(fs: &Volume, path: &[u8], json: bool) -> Result<String, iolab_logfs::Error> {
    let inode = fs.resolve(path).await?;
    let (attributes, stored_bytes) = (fs.stat(inode).await?, fs.stored_bytes(inode).await?);
    let target = target(fs, inode, attributes.kind).await;
    if json {
        let mut value = as_json(path, inode, &attributes, stored_bytes);
        if let Some(target) = target {
            value["target"] = String::from_utf8_lossy(&target).into();
        }
        return Ok(format!("{value:#}\n"));
    }
    let mut text = String::new();
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<9} {value}");
    };
    row("path", shown(path));
    row("inode", inode.0.to_string());
    row("kind", kind_text(attributes.kind).to_owned());
    if let Some(target) = target {
        row("target", shown(&target));
    }
    row("mode", format!("{:04o} ({})", attributes.mode, mode_text(attributes.kind, attributes.mode)));
    row("owner", format!("{} group {}", attributes.uid, attributes.gid));
    row("links", attributes.links.to_string());
    row("size", format!("{} ({})", attributes.size, size_text(attributes.size)));
    row("stored", format!("{stored_bytes} ({})", size_text(stored_bytes)));
    for (name, time) in [
        ("accessed", attributes.accessed_ns),
        ("modified", attributes.modified_ns),
        ("changed", attributes.changed_ns),
        ("born", attributes.born_ns),
    ] {
        row(name, format!("{}.{:09} UTC", time_text(time), time % 1_000_000_000));
    }
    Ok(text)
}

/// What to write to standard output.
#[derive(Debug, clap::Args)]
pub(crate) struct CatArguments {
    /// Regular file or block device
    image: PathBuf,
    /// Paths inside of the image
    #[arg(required = true)]
    paths: Vec<OsString>,
    /// First byte
    #[arg(long, value_parser = super::size, default_value = "0")]
    offset: u64,
    /// Bytes; all that follow unless told
    #[arg(long, value_parser = super::size)]
    length: Option<u64>,
}

pub(crate) fn cat(arguments: &CatArguments) -> Result<u8, Failure> {
    look(&arguments.image, async |fs: &Volume| {
        for path in &arguments.paths {
            let path = path.as_bytes();
            let wrong = inside(&arguments.image, path);
            let inode = fs.resolve(path).await.map_err(&wrong)?;
            let mut at = arguments.offset;
            let end = at.saturating_add(arguments.length.unwrap_or(u64::MAX));
            loop {
                let piece = fs.read(inode, at, PIECE_BYTES.min(end - at) as usize).await.map_err(&wrong)?;
                if piece.is_empty() || !pass_on(&piece)? {
                    break;
                }
                at += piece.len() as u64;
            }
        }
        Ok(0)
    })
}

/// False when nobody reads any more.
fn pass_on(bytes: &[u8]) -> Result<bool, Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::failed(format!("iolab: writing to standard output: {error}"))),
    }
}

/// What to draw.
#[derive(Debug, clap::Args)]
pub(crate) struct TreeArguments {
    /// Regular file or block device
    image: PathBuf,
    /// Directory inside of the image
    #[arg(default_value = "/")]
    path: OsString,
    /// Size of each file
    #[arg(short, long)]
    size: bool,
}

pub(crate) fn tree(arguments: &TreeArguments) -> Result<u8, Failure> {
    let path = arguments.path.as_bytes();
    let text = look(&arguments.image, async |fs: &Volume| {
        let mut drawing =
            Drawing { fs, size: arguments.size, text: format!("{}\n", shown(path)), directories: 0, files: 0 };
        let root = fs.resolve(path).await.map_err(inside(&arguments.image, path))?;
        drawing.below(root).await.map_err(inside(&arguments.image, path))?;
        let Drawing { text, directories, files, .. } = drawing;
        Ok::<_, Failure>(format!("{text}\n{directories} directories, {files} files\n"))
    })?;
    output::print(&text)?;
    Ok(0)
}

struct Drawing<'a> {
    fs: &'a Volume,
    size: bool,
    text: String,
    directories: u64,
    files: u64,
}

impl Drawing<'_> {
    /// Draws what is below a directory; deep trees are no recursion here.
    async fn below(&mut self, root: InodeId) -> Result<(), iolab_logfs::Error> {
        let entries = self.fs.read_directory(root, b"", usize::MAX).await?;
        let mut open = vec![(String::new(), entries.into_iter().peekable())];
        while let Some((indent, rest)) = open.last_mut() {
            let Some(entry) = rest.next() else {
                open.pop();
                continue;
            };
            let is_last = rest.peek().is_none();
            let attributes = self.fs.stat(entry.inode).await?;
            let branch = if is_last { "└── " } else { "├── " };
            let _ = write!(self.text, "{indent}{branch}{}", shown(&entry.name));
            if let Some(target) = target(self.fs, entry.inode, entry.kind).await {
                let _ = write!(self.text, " -> {}", shown(&target));
            } else if self.size && entry.kind == Kind::File {
                let _ = write!(self.text, "  {}", size_text(attributes.size));
            }
            self.text.push('\n');
            if entry.kind == Kind::Directory {
                self.directories += 1;
                let deeper = format!("{indent}{}", if is_last { "    " } else { "│   " });
                let below = self.fs.read_directory(entry.inode, b"", usize::MAX).await?.into_iter().peekable();
                open.push((deeper, below));
            } else {
                self.files += 1;
            }
        }
        Ok(())
    }
}
