//! `iolab fs cluster-reading`: finds the share of live content above which reading a whole cluster
//! is faster.

use std::path::PathBuf;

use iolab_fs_commands::{
    cluster_reading_json, cluster_reading_text, read_clusters_of, reading_way, store_reading_cost,
};
use iolab_logfs_bench::{ReadingOptions, ReadingWay};

use crate::exit::ExitFailure;
use crate::output;

/// What to try, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A folder (gets a temporary file), or a file or device to read (nothing is written to it)
    target: PathBuf,
    /// Cluster size
    #[arg(long, value_parser = super::size, default_value = "1m")]
    cluster_size: u64,
    /// Numbers of live ranges to try
    #[arg(long, value_delimiter = ',', default_values_t = [1_u64, 2, 4, 8, 16, 32, 64])]
    counts: Vec<u64>,
    /// Range lengths to try
    #[arg(long, value_delimiter = ',', value_parser = super::size, default_values = ["4k", "16k", "64k", "256k"])]
    lengths: Vec<u64>,
    /// Ways to read: `ranges` (each live range), `whole` (the whole cluster), `planned` (as
    /// cleaning does, with neighbouring ranges merged)
    #[arg(long, value_delimiter = ',', value_parser = reading_way, default_values = ["ranges", "whole", "planned"])]
    ways: Vec<ReadingWay>,
    /// Clusters to read per case and way
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    samples: u32,
    /// Size of the temporary file
    #[arg(long, value_parser = super::size, default_value = "1g")]
    file_size: u64,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Store the result in TARGET, an image of logfs that is not in use: its cleaning then plans
    /// reads for this device
    #[arg(long)]
    store: bool,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

pub(crate) fn main(arguments: &Arguments) -> Result<u8, ExitFailure> {
    let options = ReadingOptions {
        ways: arguments.ways.clone(),
        cluster_bytes: arguments.cluster_size,
        counts: arguments.counts.clone(),
        lengths: arguments.lengths.clone(),
        samples: arguments.samples,
        file_bytes: arguments.file_size,
        seed: arguments.seed,
    };
    let found = read_clusters_of(&arguments.target, &options)?;
    output::print(&match arguments.json {
        true => format!("{:#}\n", cluster_reading_json(&found)),
        false => cluster_reading_text(&options, &found),
    })?;
    if arguments.store {
        let stored = store_reading_cost(&arguments.target, &found)?;
        if !arguments.json {
            output::print(&stored)?;
        }
    }
    Ok(0)
}
