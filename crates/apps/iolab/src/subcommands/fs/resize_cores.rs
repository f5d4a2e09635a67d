//! `iolab fs resize-cores`.

use std::path::PathBuf;

use iolab_image::{Access, Image};
use iolab_logfs::{Error, Resized};
use serde_json::json;

use crate::exit::Failure;
use crate::output;

/// How many domains there shall be.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Regular file or block device
    image: PathBuf,
    /// Parts of the disk for one processor core each
    domains: u32,
    /// JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, Failure> {
    let mut image = Image::open(&arguments.image, Access::Write)?;
    let domains = arguments.domains;
    let resized = image.run(async |disk, _| iolab_logfs::resize_cores(&disk, domains).await)?;
    let place = arguments.image.display();
    let resized = resized.map_err(|error| match error {
        Error::Unusable(_) => Failure::mistake(format!("iolab: {place}: {error}; nothing was changed")),
        Error::Corrupt(_) => {
            Failure::failed(format!("iolab: {place}: {error}; nothing was changed (`iolab fs fsck {place}`)"))
        }
        Error::NoSpace => Failure::failed(format!("iolab: {place}: too full for so many domains; nothing was changed")),
        _ => Failure::failed(format!("iolab: {place}: {error}; the file system has either the old or the new number of domains")),
    })?;
    output::print(&if arguments.json { as_json(&resized) } else { as_text(arguments, &resized) })?;
    Ok(0)
}

fn as_text(arguments: &Arguments, resized: &Resized) -> String {
    let Resized { before, after, inodes, moved_inodes, moved_clusters } = resized;
    let image = arguments.image.display();
    format!(
        "{image}: {after} domains instead of {before}; {moved_inodes} of {inodes} inodes and {moved_clusters} clusters belong to another one\n"
    )
}

fn as_json(resized: &Resized) -> String {
    let value = json!({
        "domains_before": resized.before,
        "domains": resized.after,
        "inodes": resized.inodes,
        "moved_inodes": resized.moved_inodes,
        "moved_clusters": resized.moved_clusters,
    });
    format!("{value:#}\n")
}
