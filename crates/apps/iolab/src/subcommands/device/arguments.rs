//! The arguments of `iolab device`.

use std::path::PathBuf;

use clap::Subcommand;

/// What to do with virtual SSDs.
#[derive(Debug, Subcommand)]
pub(crate) enum DeviceAction {
    /// Describe a new device; `iolab device serve` brings it to life
    Create {
        /// Its name
        name: String,
        #[command(flatten)]
        parameters: DeviceParameters,
    },
    /// All devices
    List,
    /// Everything about a device
    Info {
        /// Its name
        name: String,
    },
    /// What a served device has done: commands, bytes, write amplification
    Stats {
        /// Its name
        name: String,
        /// JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// Forget a device
    Destroy {
        /// Its name
        name: String,
        /// Remove the file that keeps its data, too
        #[arg(long)]
        data: bool,
    },
    /// Serve a device to drivers in other processes until interrupted
    Serve(ServeArguments),
    /// Show a device to the kernel as a file (FUSE) or a block device (ublk) until interrupted
    Attach(AttachArguments),
    /// Every parameter a device can be given
    Parameters,
    /// Put back the settings of kernel devices (`device.scheduler`, …) that a killed run has left
    Restore,
}

/// What a virtual SSD is like.
#[derive(Debug, clap::Args)]
pub(crate) struct DeviceParameters {
    /// Timing: `ideal` answers at once, `simple` has units with a delay, `nand` is flash behind a
    /// translation layer, `zoned` flash in zones
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// A known drive's parameters: `970pro`, `optane`, `zn540`, …
    #[arg(long)]
    pub(crate) preset: Option<String>,
    /// Size of each namespace (`8G`)
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// What keeps the data: `ram`, `null` or `file:PATH`
    #[arg(long)]
    pub(crate) media: Option<String>,
    /// Something that goes wrong (`media-error:op=read,lba=100+8,times=3`); may be given several
    /// times
    #[arg(long)]
    pub(crate) fault: Vec<String>,
    /// A file named by --media that somebody else has made and whose contents may be lost
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_destroy: Vec<PathBuf>,
    /// Any other parameter (`iolab device parameters` lists them)
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) more: Vec<String>,
}

/// How a device is served.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArguments {
    /// Its name
    pub(crate) name: String,
    /// CPUs for its threads, dispatchers first
    #[arg(long, value_delimiter = ',')]
    pub(crate) cpus: Vec<usize>,
    /// Threads that fetch commands
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) dispatchers: u16,
    /// Threads that move data; without them dispatchers do
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=64))]
    pub(crate) workers: u16,
    /// Something that goes wrong, besides the faults the device was created with
    #[arg(long)]
    pub(crate) fault: Vec<String>,
    /// A file for its data that somebody else has made and whose contents may be lost
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_destroy: Vec<PathBuf>,
}

/// How a device is shown to the kernel.
#[derive(Debug, clap::Args)]
pub(crate) struct AttachArguments {
    /// Its name, or a device as job files name it (`trtype=VIRT model=nand size=8G`)
    pub(crate) name: String,
    /// Where the file appears: an empty folder. Not needed for ublk
    pub(crate) mount_point: Option<PathBuf>,
    /// The kernel's way to it
    #[arg(long, default_value = "fuse", value_parser = ["fuse", "fuse-classic", "fuse-uring", "ublk"])]
    pub(crate) by: String,
    /// Requests at once on each queue
    #[arg(long, default_value_t = 64)]
    pub(crate) depth: u16,
    /// Queues, each served by a thread of its own over a queue pair of its own
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) queues: u16,
    /// CPUs for the threads that serve, in turn; programs pinned to the same one are answered
    /// fastest
    #[arg(long, value_delimiter = ',')]
    pub(crate) cpu: Vec<usize>,
    /// A file for its data that somebody else has made and whose contents may be lost
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_destroy: Vec<PathBuf>,
}
