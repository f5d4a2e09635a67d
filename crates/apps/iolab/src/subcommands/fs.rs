//! `iolab fs`: logfs from the command line. Each command has a file with its arguments; the crate
//! `fs_commands` does the work.

mod change;
mod cluster_reading;
mod cp;
mod defrag;
mod dump_log;
mod fsck;
mod info;
mod io_tester;
mod ls;
mod mkfs;
mod mount;
mod perf;
mod qualify;
mod resize_cores;
mod show;
mod targets;
mod umount;

use iolab_fs_commands::FsError;

use crate::exit::ExitFailure;
use crate::output;

/// What to do with a file system.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum FsAction {
    /// Create an empty file system in a file or on a block device
    Mkfs(mkfs::Arguments),
    /// Check a file system, and repair it with --repair; exit codes as in fsck(8)
    Fsck(fsck::Arguments),
    /// Show sizes, free space, cluster use and the result of log recovery
    Info(info::Arguments),
    /// Mount a file system
    Mount(mount::Arguments),
    /// Unmount a file system and wait until its image is closed
    Umount(umount::Arguments),
    /// List a directory of an image
    Ls(ls::Arguments),
    /// Show the attributes of a file in an image
    Stat(show::StatArguments),
    /// Print files of an image to standard output
    Cat(show::CatArguments),
    /// Print a directory of an image as a tree
    Tree(show::TreeArguments),
    /// Copy files into or out of an image
    Cp(cp::Arguments),
    /// Create directories in an image
    Mkdir(change::MkdirArguments),
    /// Remove files from an image
    Rm(change::RmArguments),
    /// Rename or move a file in an image
    Mv(change::MvArguments),
    /// Measure appends, reads and truncates on images and on folders of other file systems
    Perf(Box<perf::Arguments>),
    /// Run the jobs of Seastar's io_tester on an image or a folder of another file system
    IoTester(io_tester::Arguments),
    /// Measure when cleaning should read a whole cluster instead of its live ranges
    ClusterReading(cluster_reading::Arguments),
    /// Find out which operations of a file system are asynchronous
    Qualify(qualify::Arguments),
    /// Change the number of domains (one per processor core); data stays in place
    ResizeCores(resize_cores::Arguments),
    /// Defragment files
    Defrag(defrag::Arguments),
    /// Print every frame and record of the metadata log
    DumpLog(dump_log::Arguments),
}

pub(crate) fn main(action: &FsAction) -> Result<u8, ExitFailure> {
    match action {
        FsAction::Mkfs(arguments) => mkfs::main(arguments),
        FsAction::Info(arguments) => info::main(arguments),
        FsAction::Mount(arguments) => mount::main(arguments),
        FsAction::Umount(arguments) => umount::main(arguments),
        FsAction::Ls(arguments) => ls::main(arguments),
        FsAction::Fsck(arguments) => fsck::main(arguments),
        FsAction::Stat(arguments) => show::stat(arguments),
        FsAction::Cat(arguments) => show::cat(arguments),
        FsAction::Tree(arguments) => show::tree(arguments),
        FsAction::Cp(arguments) => cp::main(arguments),
        FsAction::Mkdir(arguments) => change::mkdir(arguments),
        FsAction::Rm(arguments) => change::rm(arguments),
        FsAction::Mv(arguments) => change::mv(arguments),
        FsAction::Perf(arguments) => perf::main(arguments),
        FsAction::IoTester(arguments) => io_tester::main(arguments),
        FsAction::ClusterReading(arguments) => cluster_reading::main(arguments),
        FsAction::Qualify(arguments) => qualify::main(arguments),
        FsAction::ResizeCores(arguments) => resize_cores::main(arguments),
        FsAction::Defrag(arguments) => defrag::main(arguments),
        FsAction::DumpLog(arguments) => dump_log::main(arguments),
    }
}

impl From<FsError> for ExitFailure {
    fn from(error: FsError) -> ExitFailure {
        iolab_activity::Failure::from(error).into()
    }
}

/// Prints a report to standard output from within a command.
fn say(text: &str) -> Result<(), iolab_activity::Failure> {
    output::print(text).map_err(|error| iolab_activity::Failure::failed(format!("{error:#}")))
}

/// Parses a size on the command line: `4k`, `1g`.
fn size(text: &str) -> Result<u64, String> {
    iolab_units::parse_bytes(text, iolab_units::KbBase::K1024).map_err(|error| error.to_string())
}
