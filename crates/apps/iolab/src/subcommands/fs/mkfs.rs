//! `iolab fs mkfs`.

use std::path::{Path, PathBuf};

use iolab_clock::Clock;
use iolab_image::{Access, Image, Objection, make_file, objections};
use iolab_logfs::{Layout, MkfsOptions};

use super::facts::{hex, size_text};
use crate::exit::Failure;
use crate::output;

/// How to make a file system.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Regular file or block device
    image: PathBuf,
    /// Size of the file, which is made when it does not exist (`1g`)
    #[arg(long, value_parser = super::size)]
    size: Option<u64>,
    /// Unit in which space is given away: a power of two from 16k to 16m
    #[arg(long, value_parser = super::size, default_value = "1m")]
    cluster_size: u64,
    /// Unit of every write: a power of two from 512 to 64k
    #[arg(long, value_parser = super::size, default_value = "4k")]
    block_size: u64,
    /// Writes up to this length go into the metadata log; one byte less than a block unless told
    #[arg(long, value_parser = super::size)]
    small: Option<u64>,
    /// Parts of the disk for one thread each, or `cores`: one for each processor. A file cannot be
    /// longer than its part
    #[arg(long, value_parser = domains, default_value = "1")]
    domains: u32,
    /// The file system's id, 32 hexadecimal digits, which no file system on this disk ever had;
    /// random unless told
    #[arg(long, value_parser = id)]
    id: Option<[u8; 16]>,
    /// Overwrite what the file or device holds
    #[arg(long, short)]
    force: bool,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    let path = arguments.image.as_path();
    refuse_objections(path, arguments.force)?;
    let is_new = make_missing(path, arguments.size)?;
    let made = make(arguments);
    if made.is_err() && is_new {
        // Nothing was in it: what could not be made leaves nothing behind.
        let _gone = std::fs::remove_file(path);
    }
    let layout = made?;
    output::print(&if arguments.json { as_json(path, &layout) } else { as_text(path, &layout) })?;
    Ok(0)
}

fn make(arguments: &Arguments) -> Result<Layout, Failure> {
    let path = arguments.image.as_path();
    let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let id = arguments.id.map_or_else(random_id, Ok)?;
    let options = MkfsOptions {
        block_bytes: narrow(arguments.block_size),
        cluster_bytes: narrow(arguments.cluster_size),
        small_max_bytes: narrow(arguments.small.unwrap_or(arguments.block_size.saturating_sub(1))),
        domains: arguments.domains,
        ..MkfsOptions::new(id, Clock::monotonic().unix_ns())
    };
    let mut image = Image::open(path, Access::Write)?;
    let made = image.run(async |disk, _| iolab_logfs::mkfs(&disk, &options).await)?;
    made.map_err(|error| {
        let message = format!("iolab: {}: {error}", path.display());
        let mistaken = matches!(error, iolab_logfs::Error::Unusable(_));
        if mistaken { Failure::mistake(message) } else { Failure::failed(message) }
    })
}

/// Refuses what would be lost unless `force`, and what is in use in any case.
pub(super) fn refuse_objections(path: &Path, force: bool) -> Result<(), Failure> {
    let found = objections(path)?;
    let counts = |objection: &&Objection| !force || matches!(objection, Objection::InUse(_));
    let counting: Vec<&Objection> = found.iter().filter(counts).collect();
    if counting.is_empty() {
        return Ok(());
    }
    let mut message: Vec<String> = counting.iter().map(|objection| format!("iolab: {objection}")).collect();
    message.push(if counting.iter().any(|objection| matches!(objection, Objection::InUse(_))) {
        "iolab: nothing was changed; unmount or stop what uses it first".to_owned()
    } else {
        "iolab: nothing was changed; --force overwrites it".to_owned()
    });
    Err(Failure::refused(message.join("\n")))
}

/// Makes the file when there is none; says whether it did.
fn make_missing(path: &Path, size: Option<u64>) -> Result<bool, Failure> {
    match (path.exists(), size) {
        (false, Some(size)) => make_file(path, size).map(|()| true).map_err(Failure::from),
        (false, None) => {
            let text = format!("iolab: {}: no such file or device; add --size=SIZE to create a file", path.display());
            Err(Failure::mistake(text))
        }
        (true, None) => Ok(false),
        (true, Some(size)) => {
            let is_as_long = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == size);
            let text = || format!("iolab: {}: the file exists and has another size; remove --size", path.display());
            if is_as_long { Ok(false) } else { Err(Failure::mistake(text())) }
        }
    }
}

fn id(text: &str) -> Result<[u8; 16], String> {
    let digits: String = text.chars().filter(|character| *character != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32);
    number.map(u128::to_be_bytes).ok_or_else(|| "32 hexadecimal digits are needed".to_owned())
}

fn domains(text: &str) -> Result<u32, String> {
    match text {
        "cores" => Ok(super::targets::processors()),
        _ => text.parse().map_err(|_| "a number, or cores".to_owned()),
    }
}

pub(super) fn random_id() -> Result<[u8; 16], Failure> {
    let mut id = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| std::io::Read::read_exact(&mut file, &mut id));
    read.map(|()| id).map_err(|error| Failure::failed(format!("iolab: /dev/urandom: {error}; --id gives an id")))
}

fn as_text(path: &Path, layout: &Layout) -> String {
    let (cluster, block) = (u64::from(layout.cluster_bytes), u64::from(layout.block_bytes));
    format!(
        "{}: a logfs file system of {} was made\nid        {}\nclusters  {} of {}\nblocks    {}\nsmall     up to {} bytes are written to the \
         metadata log\ndomains   {}\n",
        path.display(),
        size_text(u64::from(layout.clusters) * cluster),
        hex(&layout.id),
        layout.clusters,
        size_text(cluster),
        size_text(block),
        layout.small_max_bytes,
        layout.domains,
    )
}

fn as_json(path: &Path, layout: &Layout) -> String {
    let value = serde_json::json!({ "image": path.to_string_lossy(), "layout": super::info::layout_json(layout) });
    format!("{value:#}\n")
}
