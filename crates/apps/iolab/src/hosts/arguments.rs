//! The arguments of `iolab hosts`, and those of studies on several hosts.

use std::path::PathBuf;

use clap::Subcommand;
use iolab_study::StudyHosts;

use super::host_list::hosts;
use crate::exit::ExitFailure;

/// What to do with the recordings of many hosts.
#[derive(Debug, Subcommand)]
pub(crate) enum HostsAction {
    /// Run one job on several hosts: the ranks begin at one moment and make one recording
    Run(LaunchArguments),
    /// Make one recording of the recordings of ranks or hosts, and print its report
    Merge(MergeArguments),
}

/// How ranks are started on their hosts.
#[derive(Debug, clap::Args)]
pub(crate) struct ShellArguments {
    /// Remote shell; it gets the host and a command line
    #[arg(long, value_name = "COMMAND", default_value = "ssh -o BatchMode=yes", requires = "hosts")]
    pub(crate) rsh: String,
    /// This program on the hosts; without it, where it is here
    #[arg(long, value_name = "PATH", requires = "hosts")]
    pub(crate) program: Option<PathBuf>,
    /// Folder of the jobs on the hosts; without it, the working folder here
    #[arg(long, value_name = "FOLDER", requires = "hosts")]
    pub(crate) dir: Option<PathBuf>,
}

/// The hosts of a study.
#[derive(Debug, clap::Args)]
pub(crate) struct StudyHostArguments {
    /// Run each trial on these hosts at once, as `iolab hosts run` does (`a,b,c:2`, or a file)
    #[arg(long, value_name = "LIST")]
    hosts: Option<String>,
    #[command(flatten)]
    shell: ShellArguments,
    #[command(flatten)]
    mpi: MpiArguments,
}

/// Whether MPI starts the ranks.
#[derive(Debug, clap::Args)]
pub(crate) struct MpiArguments {
    /// Let `mpirun` start the ranks; needs `iolab-rank` beside this program
    #[arg(long, requires = "hosts")]
    pub(super) mpi: bool,
    /// The launcher of `--mpi`, of Open MPI or with Hydra (MPICH and its kin)
    #[arg(long, value_name = "COMMAND", default_value = "mpirun", requires = "mpi")]
    pub(super) mpirun: String,
}

impl MpiArguments {
    /// The launcher, if there is one.
    pub(super) fn launcher(&self) -> Option<&str> {
        self.mpi.then_some(self.mpirun.as_str())
    }
}

impl StudyHostArguments {
    /// The hosts that are asked for.
    pub(crate) fn read(&self) -> Result<Option<StudyHosts>, ExitFailure> {
        self.hosts.as_deref().map(|list| self.shell.of_study(hosts(list)?, &self.mpi)).transpose()
    }
}

impl ShellArguments {
    /// The hosts of a study, reached in this way.
    pub(crate) fn of_study(&self, ranks: Vec<String>, mpi: &MpiArguments) -> Result<StudyHosts, ExitFailure> {
        let (shell, program) = (self.rsh.clone(), self.program.clone());
        let mpirun = mpi.launcher().map(str::to_owned);
        Ok(StudyHosts { ranks, shell, program, folder: self.folder()?, mpirun })
    }

    /// This program on the hosts.
    pub(super) fn program(&self) -> Result<PathBuf, ExitFailure> {
        self.program.clone().map_or_else(own_path, Ok)
    }

    /// The folder of the jobs.
    pub(crate) fn folder(&self) -> Result<PathBuf, ExitFailure> {
        self.dir.clone().map_or_else(
            || {
                std::env::current_dir()
                    .map_err(|error| ExitFailure::failed(format!("iolab: the working folder: {error}")))
            },
            Ok,
        )
    }
}

/// Where this program is.
pub(super) fn own_path() -> Result<PathBuf, ExitFailure> {
    std::env::current_exe()
        .map_err(|error| ExitFailure::failed(format!("iolab: its own path: {error}; name it with --program=PATH")))
}

/// Where ranks run, and how they are started.
#[derive(Debug, clap::Args)]
pub(crate) struct LaunchArguments {
    /// Hosts, each with the number of its ranks (`a,b,c:2`), or a file with one in each line
    #[arg(long, value_name = "LIST")]
    pub(crate) hosts: String,
    #[command(flatten)]
    pub(crate) shell: ShellArguments,
    #[command(flatten)]
    pub(super) mpi: MpiArguments,
    /// Print the commands that would start the ranks, and do nothing
    #[arg(long)]
    pub(crate) show: bool,
    /// Print the plan of all ranks, as JSON, and do nothing
    #[arg(long, conflicts_with = "show")]
    pub(crate) plan: bool,
    /// Reach the ranks through this socket, which `iolab-rank` serves
    #[arg(long, hide = true, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// Job files and options, as for `iolab run`
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        required = true,
        value_name = "JOB FILE | --OPTION=VALUE"
    )]
    pub(crate) words: Vec<String>,
}

/// What to merge, and where to.
#[derive(Debug, clap::Args)]
pub(crate) struct MergeArguments {
    /// The recording of each rank or host, whole (`.iolab`) or partial (`.iolab.partial`)
    #[arg(required = true)]
    pub(crate) parts: Vec<PathBuf>,
    /// Write the recording of all to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) record: PathBuf,
    /// Allow the recording to replace a file that iolab did not write
    #[arg(long)]
    pub(crate) force: bool,
}
