//! The arguments of `iolab device`.

use std::path::PathBuf;

use clap::Subcommand;
use iolab_nvme_authentication::{DhGroup, HashFunction};
use iolab_nvme_tcp::SocketLoop;

/// What to do with virtual SSDs.
#[derive(Debug, Subcommand)]
pub(crate) enum DeviceAction {
    /// Define a new device; `iolab device serve` runs it
    Create {
        /// Device name
        name: String,
        #[command(flatten)]
        parameters: DeviceParameters,
    },
    /// List all devices
    List,
    /// Show everything about a device
    Info {
        /// Device name
        name: String,
    },
    /// Show statistics of a served device: commands, bytes, write amplification
    Stats {
        /// Device name
        name: String,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// Change how hosts reach a served device, and notify them
    Set {
        /// Device name
        name: String,
        /// `ana=optimized`, `non-optimized`, `inaccessible`, `persistent-loss` or `change`
        #[arg(value_name = "ana=STATE")]
        change: String,
        /// Only for hosts that connect at this address (`127.0.0.1:4420`) of `serve --listen`;
        /// without it, for all hosts
        #[arg(long, value_name = "ADDRESS")]
        listen: Option<String>,
    },
    /// Remove a device
    Destroy {
        /// Device name
        name: String,
        /// Also remove the file with its data
        #[arg(long)]
        data: bool,
    },
    /// Serve a device to drivers in other processes until interrupted
    Serve(ServeArguments),
    /// Attach a device to the kernel as a file (FUSE) or a block device (ublk) until interrupted
    Attach(AttachArguments),
    /// List all parameters of a device
    Parameters,
    /// Restore kernel device settings (`device.scheduler`, …) that a killed run left changed
    Restore,
}

/// What a virtual SSD is like.
#[derive(Debug, clap::Args)]
pub(crate) struct DeviceParameters {
    /// Timing model: `ideal` (no delay), `simple` (parallel units with fixed delays), `nand` (flash
    /// with a translation layer), `zoned` (flash with zones)
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// Use the parameters of a known drive: `970pro`, `optane`, `zn540`, …
    #[arg(long)]
    pub(crate) preset: Option<String>,
    /// Size of each namespace (`8G`)
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// Where data is stored: `ram`, `null` (nowhere) or `file:PATH`
    #[arg(long)]
    pub(crate) media: Option<String>,
    /// Inject a fault (`media-error:op=read,lba=100+8,times=3`); may be repeated
    #[arg(long)]
    pub(crate) fault: Vec<String>,
    /// Allow overwriting this file, named by --media, although iolab did not create it
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_destroy: Vec<PathBuf>,
    /// Other parameters (`iolab device parameters` lists them)
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) more: Vec<String>,
}

/// How a device is served.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArguments {
    /// Device name; with --null, --file or --device, the name that it has while it is served (for
    /// `stats`, `set`, and jobs on this machine)
    #[arg(required_unless_present_any = ["null", "file", "device"])]
    pub(crate) name: Option<String>,
    /// Also serve hosts on the network, by NVMe/TCP: `tcp://127.0.0.1:4420`, `tcp://[::]:4420`;
    /// virtual machines and programs here, by vfio-user: `vfio-user:/run/fast.sock`; or clients of
    /// NBD: `nbd://127.0.0.1:10809`, `nbd+unix:///?socket=/run/disk.nbd`; may be given several
    /// times. `tcp://ADDRESS:PORT,ana=STATE`: hosts that connect there see this asymmetric access
    #[arg(long, value_name = "URL")]
    pub(crate) listen: Vec<String>,
    /// Hosts that may connect by --listen tcp://, by their NVMe names (`cat /etc/nvme/hostnqn`);
    /// without it, all
    #[arg(long, value_name = "NQN", value_delimiter = ',', requires = "listen")]
    pub(crate) hosts: Vec<String>,
    #[command(flatten)]
    pub(crate) authentication: AuthenticationArguments,
    /// How to wait for network sockets
    #[arg(long, default_value = "auto", value_parser = SocketLoop::WORDS, requires = "listen")]
    pub(crate) sockets: String,
    /// Keep looking for commands from the network without ever sleeping; each dispatcher takes a
    /// whole CPU
    #[arg(long, requires = "listen")]
    pub(crate) busy_poll: bool,
    /// NVMe name of the subsystem on the network, instead of `nqn.2026-11.invalid.iolab:NAME`
    #[arg(long, value_name = "NQN", requires = "listen")]
    pub(crate) nqn: Option<String>,
    /// Instead of a created device, serve one of this size that keeps nothing and answers at once
    #[arg(long, value_name = "SIZE")]
    pub(crate) null: Option<String>,
    /// Instead of a created device, serve this file or block device, as it is
    #[arg(long, value_name = "PATH", conflicts_with = "null")]
    pub(crate) file: Option<PathBuf>,
    /// Instead of a created device, serve an NVMe device that iolab drives, as job files name it
    /// (`trtype=PCIe traddr=0000.06.00.0 ns=1`)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["null", "file"])]
    pub(crate) device: Option<String>,
    /// CPUs for its threads; dispatchers come first
    #[arg(long, value_delimiter = ',')]
    pub(crate) cpus: Vec<usize>,
    /// Threads that fetch commands
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) dispatchers: u16,
    /// Threads that copy data; with 0, dispatchers copy it
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=64))]
    pub(crate) workers: u16,
    /// Inject a fault, in addition to those the device was created with; those of links to hosts
    /// begin with `link-` (`link-drop:probability=0.01,seed=7`)
    #[arg(long)]
    pub(crate) fault: Vec<String>,
    /// Allow overwriting this data file, although iolab did not create it
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_destroy: Vec<PathBuf>,
}

impl ServeArguments {
    /// What is served instead of a created device.
    pub(crate) fn target(&self) -> Option<String> {
        self.device.clone().or_else(|| Some(self.file.as_ref()?.display().to_string()))
    }
}

/// What hosts on the network have to prove.
#[derive(Debug, clap::Args)]
pub(crate) struct AuthenticationArguments {
    /// Let hosts prove by DH-HMAC-CHAP that they know this secret (`DHHC-1:…`), or the one in this
    /// file
    #[arg(long, value_name = "SECRET|FILE", requires = "listen")]
    pub(crate) dhchap_secret: Option<String>,
    /// The secret with which the device proves to hosts who it is, or the file with it
    #[arg(long, value_name = "SECRET|FILE", requires = "dhchap_secret")]
    pub(crate) dhchap_ctrl_secret: Option<String>,
    /// Hosts with secrets of their own: a file with a line for each, `NQN SECRET`, or `NQN SECRET
    /// SECRET` with that of the device for this host
    #[arg(long, value_name = "FILE", requires = "listen")]
    pub(crate) dhchap_hosts: Option<PathBuf>,
    /// Hash functions to take, the best first
    #[arg(long, value_name = "HASH", value_delimiter = ',', value_parser = HashFunction::WORDS, requires = "listen")]
    pub(crate) dhchap_hash: Vec<String>,
    /// Diffie-Hellman groups to take, the best first
    #[arg(long, value_name = "GROUP", value_delimiter = ',', value_parser = DhGroup::WORDS, requires = "listen")]
    pub(crate) dhchap_dhgroup: Vec<String>,
}

/// How a device is shown to the kernel.
#[derive(Debug, clap::Args)]
pub(crate) struct AttachArguments {
    /// Device name, or a device as in job files (`trtype=VIRT model=nand size=8G`)
    pub(crate) name: String,
    /// Empty folder where the file appears; not needed for ublk
    pub(crate) mount_point: Option<PathBuf>,
    /// Kernel interface
    #[arg(long, default_value = "fuse", value_parser = ["fuse", "fuse-classic", "fuse-uring", "ublk"])]
    pub(crate) by: String,
    /// Requests in flight per queue
    #[arg(long, default_value_t = 64)]
    pub(crate) depth: u16,
    /// Number of queues; each has its own thread and queue pair
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) queues: u16,
    /// CPUs for the serving threads, assigned in turn; programs pinned to the same CPU get the
    /// fastest answers
    #[arg(long, value_delimiter = ',')]
    pub(crate) cpu: Vec<usize>,
    /// Allow overwriting this data file, although iolab did not create it
    #[arg(long, value_name = "FILE")]
    pub(crate) allow_destroy: Vec<PathBuf>,
}
