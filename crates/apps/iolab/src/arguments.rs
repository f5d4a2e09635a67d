//! `iolab`'s subcommands and their arguments.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Command, CommandFactory, Parser, Subcommand};

use crate::exit::{self, MISTAKE};
use crate::subcommands::bench::BenchArguments;
use crate::subcommands::capture::CaptureArguments;
use crate::subcommands::compare::CompareArguments;
use crate::subcommands::db::DbAction;
use crate::subcommands::demo::DemoArguments;
use crate::subcommands::device::DeviceAction;
use crate::subcommands::doctor::DoctorArguments;
use crate::subcommands::fs::FsAction;
use crate::subcommands::kv::KvAction;
use crate::subcommands::study::StudyAction;
use crate::subcommands::watch::WatchArguments;
use crate::{run_options, subcommands};

/// Measures storage: runs fio's job files, checks its own results, saves everything it measured.
#[derive(Debug, Parser)]
#[command(name = "iolab", version, arg_required_else_help = true, disable_help_subcommand = true)]
struct Iolab {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
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
        /// `iodepth`, `clat`, `util`, …, or the file of a recording
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
    /// Watch block devices: iostat's columns and more
    Watch(WatchArguments),
    /// Run one job with several settings and say which differences are real
    #[command(subcommand)]
    Study(StudyAction),
    /// Compare two sets of runs and say which differences are real
    Compare(CompareArguments),
    /// List, show, tag and export saved runs and studies
    #[command(subcommand)]
    Db(DbAction),
    /// Drive NVMe devices with SPDK perf's command line
    Perf(PerfArguments),
    /// Measure how fast a folder, file or device is, without a job file
    Bench(BenchArguments),
    /// Load key-value stores: RocksDB's db_bench, on any store
    #[command(subcommand)]
    Kv(KvAction),
    /// Compare psync, libaio and io_uring on a temporary file
    Demo(DemoArguments),
    /// Check what this machine can and cannot do, and print the commands that fix it
    Doctor(DoctorArguments),
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
    /// Command: `run`, `fs mkfs`; the page of iolab itself without one
    pub(crate) command: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    pub(crate) folder: Option<PathBuf>,
    /// Let the pages replace files that iolab did not write
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
    /// Recording (`.iolab`), the rest of a killed run (`.iolab.partial`), or the folder of a
    /// study
    pub(crate) recording: PathBuf,
    /// `normal`, `terse`, `json`, `json+`, several with commas; or `html`, as for an output that
    /// ends in `.html`; of a study `normal`, `json` or `html`
    #[arg(long, default_value = "normal", value_delimiter = ',')]
    pub(crate) output_format: Vec<String>,
    /// Version of the terse format, 2 to 5
    #[arg(long, default_value_t = 3)]
    pub(crate) terse_version: u32,
    /// The intervals instead: `json`, a line for each interval, job and direction; or `table`
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "json",
          value_parser = ["json", "table"], conflicts_with = "output_format")]
    pub(crate) intervals: Option<String>,
    /// Application, block layer and machine on one time axis instead: `table`, or `json` lines
    #[arg(long, value_name = "FORM", num_args = 0..=1, require_equals = true, default_missing_value = "table",
          value_parser = ["json", "table"], conflicts_with_all = ["output_format", "intervals"])]
    pub(crate) watch: Option<String>,
    /// File instead of standard output
    #[arg(short, long)]
    pub(crate) output: Option<String>,
    /// Folder for every figure of the HTML report, as SVG and CSV
    #[arg(long, value_name = "FOLDER")]
    pub(crate) figures: Option<PathBuf>,
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
        /// `0000:06:00.0`, or a device as job files name it
        device: String,
    },
    /// The SMART / health log
    Smart {
        /// `0000:06:00.0`, or a device as job files name it
        device: String,
    },
    /// Write a greeting to the first block, read it back, put the old data back
    Hello {
        /// `0000:06:00.0`, or a device as job files name it
        device: String,
        /// Write to a real device; its first block is lost if the machine stops in the middle
        #[arg(long)]
        allow_destroy: bool,
    },
    /// Bind a controller to vfio-pci, or back to the kernel's driver with --restore
    Bind {
        /// `0000:06:00.0`
        address: String,
        /// Bind it back to the kernel's NVMe driver
        #[arg(long)]
        restore: bool,
        /// Even if its namespaces are in use
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
    /// Pattern
    #[arg(short = 'w', long = "io-pattern",
          value_parser = ["read", "write", "randread", "randwrite", "rw", "randrw", "trim", "randtrim"])]
    pub(crate) pattern: String,
    /// Percentage of reads in `rw` and `randrw`
    #[arg(short = 'M', long = "rwmixread", value_parser = clap::value_parser!(u32).range(0..=100))]
    pub(crate) read_share: Option<u32>,
    /// Length of the run, seconds
    #[arg(short = 't', long = "time")]
    pub(crate) seconds: Option<u64>,
    /// Warm-up before the measured part, seconds
    #[arg(short = 'a', long = "warmup-time")]
    pub(crate) warm_up: Option<u64>,
    /// Cores, one worker on each: a mask (`0x3`) or a list (`[0,1]`)
    #[arg(short = 'c', long, default_value = "0x1")]
    pub(crate) core_mask: String,
    /// A device: `trtype:PCIe traddr:0000:06:00.0 ns:1`, `trtype:VIRT traddr:NAME`, `trtype:VIRT
    /// model:nand size:8G`; may be given several times
    #[arg(short = 'r', long = "transport")]
    pub(crate) transports: Vec<String>,
    /// Queue pairs on each namespace and core
    #[arg(short = 'P', long = "num-qpairs", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub(crate) queue_pairs: u32,
    /// Entries of each queue
    #[arg(long = "io-queue-size")]
    pub(crate) queue_size: Option<u32>,
    /// Print percentiles after the table; twice: also histograms
    #[arg(short = 'L', long = "enable-sw-latency-tracking", action = clap::ArgAction::Count)]
    pub(crate) latency: u8,
    /// Operations on each namespace and core, instead of -t
    #[arg(short = 'd', long = "number-ios")]
    pub(crate) io_count: Option<u64>,
    /// Zipf distribution of random offsets, with this theta
    #[arg(short = 'F', long)]
    pub(crate) zipf: Option<f64>,
    /// For kernel devices: io_uring instead of libaio
    #[arg(short = 'R', long = "enable-uring")]
    pub(crate) uring: bool,
    /// Open loop: send this many operations a second on each core, whatever the device does
    #[arg(long)]
    pub(crate) rate: Option<u64>,
    /// Space the operations of the open loop at random (Poisson) instead of evenly
    #[arg(long, requires = "rate")]
    pub(crate) poisson: bool,
    /// Seed of everything random
    #[arg(long)]
    pub(crate) seed: Option<u64>,
    /// Flush after this many writes
    #[arg(long)]
    pub(crate) flush_every: Option<u64>,
    /// Block sizes and their shares instead of one size (`4k/70:64k/30`)
    #[arg(long, value_name = "BSSPLIT")]
    pub(crate) block_mix: Option<String>,
    /// Length of the intervals of the time series in the recording (`100ms`)
    #[arg(long)]
    pub(crate) interval: Option<String>,
    /// JSON instead of the table
    #[arg(long)]
    pub(crate) json: bool,
    /// File for the recording
    #[arg(long)]
    pub(crate) record: Option<PathBuf>,
    /// Allow the recording to replace a file that iolab did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Device that may be overwritten, whatever is on it; may be repeated
    #[arg(long, value_name = "TARGET")]
    pub(crate) allow_destroy: Vec<String>,
    /// Kernel devices and files, driven with libaio
    #[arg(value_name = "DEVICE")]
    pub(crate) paths: Vec<String>,
}

/// Runs the subcommand that the arguments name.
pub(crate) fn dispatch(arguments: &[String]) -> ExitCode {
    let parsed = match Iolab::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            if error.use_stderr() {
                crate::printing::complain(&error.render().ansi().to_string());
                return ExitCode::from(MISTAKE);
            }
            // Help is ours, and clap knows where its colours are welcome. Where it cannot be
            // printed, there is nobody to tell.
            let _ = error.print();
            return ExitCode::from(0);
        }
    };
    exit::code(match parsed.action {
        Action::Run(arguments) => subcommands::run::main(&arguments.words),
        Action::Plan(arguments) => subcommands::plan::main(&arguments.words),
        Action::Report(arguments) => subcommands::report::main(&arguments),
        Action::Engines { engine } => subcommands::engines::main(engine.as_deref()),
        Action::Explain { term } => subcommands::explain::main(&term),
        Action::Device(action) => subcommands::device::main(&action),
        Action::Nvme(action) => subcommands::nvme::main(&action),
        Action::Fs(action) => subcommands::fs::main(&action),
        Action::Capture(arguments) => subcommands::capture::main(&arguments),
        Action::Watch(arguments) => subcommands::watch::main(&arguments),
        Action::Study(action) => subcommands::study::main(&action),
        Action::Compare(arguments) => subcommands::compare::main(&arguments),
        Action::Db(action) => subcommands::db::main(&action),
        Action::Perf(arguments) => subcommands::perf::main(&arguments),
        Action::Doctor(arguments) => subcommands::doctor::main(&arguments),
        Action::Bench(arguments) => subcommands::bench::main(&arguments),
        Action::Kv(action) => subcommands::kv::main(&action),
        Action::Demo(arguments) => subcommands::demo::main(&arguments),
        Action::Completions { shell } => subcommands::completions::main(shell),
        Action::Man(arguments) => subcommands::man::main(&arguments),
        Action::Help { words } => return help(arguments, &words),
        Action::InternalDocs { folder } => subcommands::internal_docs::main(&folder),
    })
}

/// `iolab help X` is `iolab X --help`.
fn help(arguments: &[String], words: &[String]) -> ExitCode {
    let program = arguments.first().cloned().unwrap_or_default();
    // An option in the place of a command would be obeyed.
    let words = words.iter().filter(|word| !word.starts_with('-') && *word != "help");
    let asked: Vec<String> = std::iter::once(program).chain(words.cloned()).chain(["--help".to_owned()]).collect();
    dispatch(&asked)
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
