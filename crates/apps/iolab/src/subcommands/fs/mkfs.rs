//! `iolab fs mkfs`.

use std::path::PathBuf;

use iolab_fs_commands::{MakeRequest, make_image, processors};
use iolab_logfs::{CleaningDefaults, ReadingCost};

use super::targets::CleaningArguments;
use crate::exit::ExitFailure;
use crate::output;
use crate::printing::StandardError;

/// How to make a file system.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Image: a regular file or block device
    image: PathBuf,
    /// Create the file with this size (`1g`)
    #[arg(long, value_parser = super::size)]
    size: Option<u64>,
    /// Allocation unit: a power of two from 16k to 16m
    #[arg(long, value_parser = super::size, default_value = "1m")]
    cluster_size: u64,
    /// Write unit: a power of two from 512 to 64k
    #[arg(long, value_parser = super::size, default_value = "4k")]
    block_size: u64,
    /// Store writes up to this length in the metadata log; by default one byte less than a block
    #[arg(long, value_parser = super::size)]
    small: Option<u64>,
    /// Number of domains (parts of the disk, one thread each), or `cores` for one per processor. A
    /// file cannot be larger than its domain
    #[arg(long, value_parser = domains, default_value = "1")]
    domains: u32,
    /// File system ID: 32 hexadecimal digits never used before on this disk; random by default
    #[arg(long, value_parser = id)]
    id: Option<[u8; 16]>,
    #[command(flatten)]
    cleaning: CleaningArguments,
    /// What a read request costs cleaning on this device, as bytes that could be read instead (12k
    /// by default; `iolab fs cluster-reading --store` measures it)
    #[arg(long, value_name = "SIZE", value_parser = super::size)]
    request_cost: Option<u64>,
    /// Overwrite the current contents of the file or device
    #[arg(long, short)]
    force: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let request = MakeRequest {
        image: &arguments.image,
        size_bytes: arguments.size,
        cluster_bytes: arguments.cluster_size,
        block_bytes: arguments.block_size,
        small_bytes: arguments.small,
        domains: arguments.domains,
        id: arguments.id,
        cleaning: CleaningDefaults {
            policy: arguments.cleaning.policy,
            memory_bytes: arguments.cleaning.memory,
            reading: arguments.request_cost.map(ReadingCost::of_bytes),
        },
        force: arguments.force,
        json: arguments.json,
    };
    let made = make_image(&request, &StandardError)?;
    output::print(&made)?;
    Ok(0)
}

fn id(text: &str) -> Result<[u8; 16], String> {
    let digits: String = text.chars().filter(|character| *character != '-').collect();
    let number = u128::from_str_radix(&digits, 16).ok().filter(|_| digits.len() == 32);
    number.map(u128::to_be_bytes).ok_or_else(|| "expected 32 hexadecimal digits".to_owned())
}

fn domains(text: &str) -> Result<u32, String> {
    match text {
        "cores" => Ok(processors()),
        _ => text.parse().map_err(|_| "a number, or cores".to_owned()),
    }
}
