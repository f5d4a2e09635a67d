//! `iolab`'s subcommands and their arguments.

use std::path::PathBuf;

use clap::{Command, CommandFactory, Parser, Subcommand};

use crate::hosts::{HostsAction, Io500Arguments};
use crate::metrics_file::FollowArguments;
use crate::run_options;
use crate::subcommands::bench::BenchArguments;
use crate::subcommands::capture::CaptureArguments;
use crate::subcommands::compare::CompareArguments;
use crate::subcommands::config::ConfigArguments;
use crate::subcommands::db::DbAction;
use crate::subcommands::demo::DemoArguments;
use crate::subcommands::device::DeviceAction;
use crate::subcommands::doctor::DoctorArguments;
use crate::subcommands::fs::FsAction;
use crate::subcommands::kv::KvAction;
use crate::subcommands::perf::SpdkWords;
use crate::subcommands::replay::ReplayArguments;
use crate::subcommands::schema::SchemaArguments;
use crate::subcommands::study::StudyAction;
use crate::subcommands::synthesize::SynthesizeArguments;
use crate::subcommands::validate::ValidateArguments;
use crate::subcommands::verify::VerifyArguments;
use crate::subcommands::watch::WatchArguments;
use crate::subcommands::web::WebArguments;

/// Measures storage: runs fio's job files, checks its own results, saves everything it measured.
#[derive(Debug, Parser)]
#[command(name = "iolab", version, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Iolab {
    #[command(subcommand)]
    pub(crate) action: Action,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Run job files, or a job described by fio-style options
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Run(JobArguments),
    /// Show what a job would do, with every default filled in, without running it
    #[command(disable_help_flag = true, disable_version_flag = true)]
    Plan(JobArguments),
    /// Print a report of a saved recording
    Report(ReportArguments),
    /// List the I/O engines, or describe one with its options
    Engines {
        /// Engine to describe
        engine: Option<String>,
    },
    /// Explain an option, a report column, or what limited a run
    Explain {
        /// An option (`iodepth`), a report column (`clat`, `util`), a finding, a verdict or an
        /// engine; or a recording or study folder
        term: String,
    },
    /// Create, serve, inspect and remove virtual NVMe SSDs
    #[command(subcommand)]
    Device(DeviceAction),
    /// Inspect NVMe devices and bind them for use from user space
    #[command(subcommand)]
    Nvme(NvmeAction),
    /// Make, check, inspect and change logfs file systems (iolab's own)
    #[command(subcommand)]
    Fs(FsAction),
    /// Trace what a command does to storage; show and summarize traces
    Capture(CaptureArguments),
    /// Derive a job from a trace, so that it loads storage as the traced program did
    Synthesize(SynthesizeArguments),
    /// Compare a job with the application that it models, and score the match
    Validate(ValidateArguments),
    /// Replay a trace on files or devices, in its time and order
    Replay(ReplayArguments),
    /// Check verified data after a loss of power or a kill
    Verify(VerifyArguments),
    /// Run a job on several hosts at one moment; merge the recordings of ranks or hosts
    #[command(subcommand)]
    Hosts(HostsAction),
    /// Run the phases of IO500 on one folder, here or on several hosts, and compute its score
    Io500(Io500Arguments),
    /// Watch block devices: iostat's columns and more
    Watch(WatchArguments),
    /// Serve pages: running and past runs, live charts, comparisons, a form that starts jobs
    Web(WebArguments),
    /// Run one job with several settings and say which differences are real
    #[command(subcommand)]
    Study(StudyAction),
    /// Compare two sets of runs and say which differences are real
    Compare(CompareArguments),
    /// List, show, tag and export saved runs and studies
    #[command(subcommand)]
    Db(DbAction),
    /// Drive NVMe devices with SPDK perf's command line
    Perf(Box<PerfArguments>),
    /// Measure how fast a folder, file or device is, without a job file
    Bench(BenchArguments),
    /// Load key-value stores: RocksDB's db_bench, on any store
    #[command(subcommand)]
    Kv(KvAction),
    /// Compare psync, libaio and io_uring on a temporary file
    Demo(DemoArguments),
    /// Show the user's defaults and where each comes from
    Config(ConfigArguments),
    /// Check what this machine can and cannot do, and print the commands that fix it
    Doctor(DoctorArguments),
    /// Print the JSON Schema of what iolab writes for other programs
    Schema(SchemaArguments),
    /// Print a shell's completion script
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Print a manual page (roff)
    Man(ManArguments),
    /// Print the help of a command: `iolab help run`, `iolab help fs mkfs`
    Help {
        /// Command
        words: Vec<String>,
    },
    /// Run one job of a client, for the server that started this process
    #[command(hide = true)]
    InternalHostJob,
    /// Serve one rank of a run on several hosts, over standard input and output
    #[command(hide = true)]
    InternalRank,
    /// Check that a command line is one of this program, without doing anything
    #[command(hide = true)]
    InternalParse {
        /// The command line, without the name of the program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<String>,
    },
    /// Keep a textfile of metrics up to date for the program that started this one
    #[command(hide = true)]
    InternalMetrics(FollowArguments),
    /// Write the generated reference pages into a folder
    #[command(hide = true)]
    InternalDocs {
        /// Folder
        folder: PathBuf,
    },
}

/// Which manual pages, and where they go.
#[derive(Debug, clap::Args)]
pub(crate) struct ManArguments {
    /// Command, such as `run` or `fs mkfs`; without one, the page of iolab itself
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    pub(crate) folder: Option<PathBuf>,
    /// Allow the pages to replace files that iolab did not write
    #[arg(long, requires = "folder")]
    pub(crate) force: bool,
}

/// Job files and fio-style options, taken apart by the job language.
#[derive(Debug, clap::Args)]
pub(crate) struct JobArguments {
    /// Job files and fio options: `job.fio`, `--name=x --rw=randread --bs=4k …`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "JOB FILE | --OPTION=VALUE")]
    pub(crate) words: Vec<String>,
}

/// What to render, how, where to.
#[derive(Debug, clap::Args)]
pub(crate) struct ReportArguments {
    /// A recording (`.iolab`), the partial recording of a killed run (`.iolab.partial`), or a study
    /// folder
    pub(crate) recording: PathBuf,
    /// Format: `normal`, `terse`, `json`, `json+`, `openmetrics` (several separated by commas) or
    /// `html`; for a study `normal`, `json` or `html`. An output file that ends in `.html` implies
    /// `html`
    #[arg(long, default_value = "normal", value_delimiter = ',')]
    pub(crate) output_format: Vec<String>,
    /// Version of the terse format, 2 to 5
    #[arg(long, default_value_t = 3)]
    pub(crate) terse_version: u32,
    /// Print the intervals instead: `json` prints one line per interval, job and direction; `table`
    /// prints a table
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "json",
          value_parser = ["json", "table"], conflicts_with = "output_format")]
    pub(crate) intervals: Option<String>,
    /// Print application, block layer and machine on one time axis instead: as a `table`, or as
    /// `json` lines
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "table",
          value_parser = ["json", "table"], conflicts_with_all = ["output_format", "intervals"])]
    pub(crate) watch: Option<String>,
    /// Write to this file instead of standard output
    #[arg(short, long)]
    pub(crate) output: Option<String>,
    /// Write every figure of the HTML report into this folder, as SVG and CSV
    #[arg(long, value_name = "FOLDER")]
    pub(crate) figures: Option<PathBuf>,
    /// Write the latencies into this folder as files of HdrHistogram: `.hgrm` for plotters, `.hlog`
    /// with every interval
    #[arg(long, value_name = "FOLDER")]
    pub(crate) hdr: Option<PathBuf>,
    /// Allow output and figures to replace files that iolab did not write
    #[arg(long)]
    pub(crate) force: bool,
}

/// What to do with NVMe devices.
#[derive(Debug, Subcommand)]
pub(crate) enum NvmeAction {
    /// List NVMe controllers, on the PCI bus and virtual, with their drivers
    List,
    /// Show what a controller and its namespaces report about themselves
    Identify {
        /// PCI address (`0000:06:00.0`), name of a served device, address of a target with one
        /// subsystem (`192.168.1.5:4420`), or a device name as in job files
        device: String,
    },
    /// List the subsystems of a target on the network
    Discover {
        /// `192.168.1.5`, `192.168.1.5:4420`, or `trtype=TCP traddr=192.168.1.5 trsvcid=4420
        /// hostnqn=…`
        target: String,
    },
    /// Show the SMART / health log
    Smart {
        /// PCI address (`0000:06:00.0`), name of a served device, address of a target with one
        /// subsystem (`192.168.1.5:4420`), or a device name as in job files
        device: String,
    },
    /// Write a test text to the first block, read it back, then restore the old data
    Hello {
        /// PCI address (`0000:06:00.0`), name of a served device, address of a target with one
        /// subsystem (`192.168.1.5:4420`), or a device name as in job files
        device: String,
        /// Write to a real device; its first block is lost if the machine stops in the middle
        #[arg(long)]
        allow_destroy: bool,
    },
    /// Generate a secret for DH-HMAC-CHAP in nvme-cli's format
    GenDhchapKey {
        /// Hash that makes the key of the secret: 0 none, 1 SHA-256, 2 SHA-384, 3 SHA-512
        #[arg(short = 'm', long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=3))]
        hmac: u8,
        /// Bytes: 32, 48 or 64; by default those of the hash, or 32
        #[arg(short = 'l', long, value_name = "BYTES")]
        key_length: Option<usize>,
        /// The secret itself, as hexadecimal digits, instead of random bytes
        #[arg(short = 's', long, value_name = "HEX")]
        secret: Option<String>,
        /// Write it to this new file, which only its owner may read
        #[arg(short = 'o', long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Bind a controller to vfio-pci, or back to the kernel's driver with --restore
    Bind {
        /// PCI address, such as `0000:06:00.0`
        address: String,
        /// Bind it back to the kernel's NVMe driver
        #[arg(long)]
        restore: bool,
        /// Bind it even if its namespaces are in use
        #[arg(long)]
        force: bool,
    },
}

/// What `iolab perf` drives, with what; the letters are those of `spdk_nvme_perf`.
#[derive(Debug, clap::Args)]
pub(crate) struct PerfArguments {
    /// Operations in flight on each queue pair
    #[arg(short = 'q', long = "io-depth")]
    pub(crate) depth: u32,
    /// Size of an operation (`4096`, `4k`)
    #[arg(short = 'o', short_alias = 's', long, default_value = "4096")]
    pub(crate) io_size: String,
    /// Access pattern
    #[arg(short = 'w', long = "io-pattern",
          value_parser = ["read", "write", "randread", "randwrite", "rw", "randrw", "trim", "randtrim"])]
    pub(crate) pattern: String,
    /// Percentage of reads in `rw` and `randrw`
    #[arg(short = 'M', long = "rwmixread", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) read_share: Option<u32>,
    /// Run time, seconds
    #[arg(short = 't', long = "time")]
    pub(crate) seconds: Option<u64>,
    /// Warm-up time before measuring, seconds
    #[arg(short = 'a', long = "warmup-time")]
    pub(crate) warm_up: Option<u64>,
    /// CPU cores, one worker per core: a mask (`0x3`) or a list (`[0,1]`). Devices are distributed
    /// over the cores; a single one is driven by all
    #[arg(short = 'c', long, default_value = "0x1")]
    pub(crate) core_mask: String,
    /// Drive every device from every core
    #[arg(long)]
    pub(crate) use_every_core: bool,
    /// A device: `trtype:PCIe traddr:0000:06:00.0 ns:1`,
    /// `trtype:TCP traddr:192.168.1.5 trsvcid:4420`, `trtype:VFIOUSER traddr:/run/fast.sock`,
    /// `trtype:VIRT traddr:NAME` or the NAME alone, `trtype:VIRT model:nand size:8G`; may be given
    /// several times
    #[arg(short = 'r', long = "transport")]
    pub(crate) transports: Vec<String>,
    /// Queue pairs per namespace and core
    #[arg(short = 'P', long = "num-qpairs", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) queue_pairs: u32,
    /// Entries per queue
    #[arg(long = "io-queue-size")]
    pub(crate) queue_size: Option<u32>,
    /// Collect at most this many completions at a time
    #[arg(short = 'C', long = "max-completion-per-poll", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) most_completions: Option<u32>,
    /// Sleep until the device's interrupt instead of polling
    #[arg(short = 'E', long = "enable-interrupt")]
    pub(crate) interrupt: bool,
    /// NVMe/TCP: header digests
    #[arg(short = 'H', long)]
    pub(crate) enable_tcp_hdgst: bool,
    /// NVMe/TCP: data digests
    #[arg(short = 'I', long)]
    pub(crate) enable_tcp_ddgst: bool,
    /// NVMe/TCP: file with the secret that authenticates this host (DH-HMAC-CHAP)
    #[arg(long, value_name = "FILE")]
    pub(crate) dhchap_key: Option<PathBuf>,
    /// NVMe/TCP: file with the secret that authenticates the controller
    #[arg(long, value_name = "FILE", requires = "dhchap_key")]
    pub(crate) dhchap_ctrlr_key: Option<PathBuf>,
    /// Count errors of operations and go on
    #[arg(short = 'Q', long, num_args = 0..=1, default_missing_value = "1", value_name = "N")]
    pub(crate) continue_on_error: Option<u32>,
    /// Print percentiles after the table; twice: also histograms
    #[arg(short = 'L', long = "enable-sw-latency-tracking", action = clap::ArgAction::Count)]
    pub(crate) latency: u8,
    /// Run this many operations per namespace and core, instead of -t
    #[arg(short = 'd', long = "number-ios")]
    pub(crate) io_count: Option<u64>,
    /// Choose random offsets by a Zipf distribution with this theta
    #[arg(short = 'F', long)]
    pub(crate) zipf: Option<f64>,
    /// Use io_uring instead of libaio for block devices and files
    #[arg(short = 'R', long = "enable-uring")]
    pub(crate) uring: bool,
    /// Open loop: send this many operations per second on each core, without waiting for
    /// completions
    #[arg(long)]
    pub(crate) rate: Option<u64>,
    /// Space the operations of the open loop at random (Poisson) instead of evenly
    #[arg(long, requires = "rate")]
    pub(crate) poisson: bool,
    /// Seed of all random numbers
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Flush after this many writes
    #[arg(long)]
    pub(crate) flush_every: Option<u64>,
    /// Use several block sizes with these shares (`4k/70:64k/30`)
    #[arg(long, value_name = "BSSPLIT")]
    pub(crate) block_mix: Option<String>,
    /// Interval of the time series in the recording (`100ms`)
    #[arg(long)]
    pub(crate) interval: Option<String>,
    /// Print JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// Write the recording to this file
    #[arg(long)]
    pub(crate) record: Option<PathBuf>,
    /// Allow the recording to replace a file that iolab did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Allow overwriting this device, whatever it holds; may be repeated
    #[arg(long, value_name = "TARGET")]
    pub(crate) allow_destroy: Vec<String>,
    #[command(flatten)]
    pub(crate) spdk: SpdkWords,
    /// Block devices and files, driven with libaio
    #[arg(value_name = "DEVICE")]
    pub(crate) paths: Vec<String>,
}

/// The command tree, with run and job options as options of `run` and `plan`, for completions and
/// the manual page.
pub(crate) fn command_tree() -> Command {
    let mut tree = Iolab::command();
    for name in ["run", "plan"] {
        tree = tree.mut_subcommand(name, |command| {
            let command = command.args(run_options::arguments());
            iolab_jobfile::OPTIONS.iter().fold(command, |command, option| {
                command.arg(clap::Arg::new(option.name).long(option.name).help(option.summary).value_name("VALUE"))
            })
        });
    }
    tree
}
