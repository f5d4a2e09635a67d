//! `iolab hosts run --mpi`: the line that starts the ranks, in the words of the launcher that is
//! here. Open MPI and Hydra, the launcher of MPICH, Intel MPI and MVAPICH, have different ones.

use std::os::unix::process::CommandExt;
use std::process::Command;

use super::arguments::{LaunchArguments, own_path};
use crate::exit::ExitFailure;
use crate::output::print;

/// The program that MPI starts.
const MPI_PROGRAM: &str = "iolab-rank";
/// How long Open MPI waits between asking ranks to end and killing them, s: they save their results
/// meanwhile. Hydra lets them end by themselves.
const MPI_PATIENCE: &str = "3";

/// The kinds of launchers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MpiLauncher {
    OpenMpi,
    Hydra,
}

impl MpiLauncher {
    /// By what it says of its version.
    fn of(version: &str) -> Option<MpiLauncher> {
        let says = |word: &str| version.contains(word);
        if says("Open MPI") || says("OpenRTE") {
            Some(MpiLauncher::OpenMpi)
        } else if says("HYDRA") || says("Intel(R) MPI") {
            Some(MpiLauncher::Hydra)
        } else {
            None
        }
    }

    fn name(self) -> &'static str {
        match self {
            MpiLauncher::OpenMpi => "Open MPI",
            MpiLauncher::Hydra => "Hydra (MPICH)",
        }
    }

    /// The words before the program. `slots` is as `a:1,b:2`.
    fn words(self, slots: &str, ranks: usize, folder: Option<&str>) -> Vec<String> {
        let ranks = ranks.to_string();
        let (mut words, working_folder) = match self {
            MpiLauncher::OpenMpi => {
                // It would bind each rank, with all its workers, to a few processors.
                let free = ["--bind-to", "none"];
                let patient = ["--mca", "odls_base_sigkill_timeout", MPI_PATIENCE];
                ([&["--host", slots, "-np", &ranks], &free[..], &patient].concat(), "--wdir")
            }
            MpiLauncher::Hydra => (vec!["-hosts", slots, "-n", &ranks], "-wdir"),
        };
        if let Some(folder) = folder {
            words.extend([working_folder, folder]);
        }
        words.into_iter().map(str::to_owned).collect()
    }
}

/// Becomes the launcher.
pub(super) fn launch(arguments: &LaunchArguments, hosts: &[String]) -> Result<u8, ExitFailure> {
    let mut command = arguments.mpi.mpirun.split_whitespace();
    let program = command.next().unwrap_or("mpirun");
    let first: Vec<&str> = command.collect();
    let found = find(program);
    if arguments.show {
        let launcher = found.as_ref().copied().unwrap_or(MpiLauncher::OpenMpi);
        match &found {
            Ok(launcher) => eprintln!("iolab: {program} is of {}", launcher.name()),
            Err(failure) => eprintln!("{}; this line is for Open MPI", failure.message),
        }
        print(&format!("{} {}\n", arguments.mpi.mpirun, words(launcher, arguments, hosts)?.join(" ")))?;
        return Ok(0);
    }
    let launcher = found?;
    eprintln!("iolab: {program} of {} starts the ranks", launcher.name());
    let error = Command::new(program).args(first).args(words(launcher, arguments, hosts)?).exec();
    Err(ExitFailure::failed(format!("iolab: {program}: {error}")))
}

/// Asks the launcher what it is.
fn find(program: &str) -> Result<MpiLauncher, ExitFailure> {
    let told = Command::new(program).arg("--version").output().map_err(|error| {
        ExitFailure::failed(format!(
            "iolab: {program}: {error}; install MPI, name its launcher with --mpirun=COMMAND, or leave out --mpi to use a remote shell"
        ))
    })?;
    MpiLauncher::of(&String::from_utf8_lossy(&told.stdout)).ok_or_else(|| {
        ExitFailure::mistake(format!(
            "iolab: {program} is a launcher neither of Open MPI nor with Hydra (MPICH): start `{MPI_PROGRAM} run JOB` with it by hand"
        ))
    })
}

/// What follows the launcher.
fn words(launcher: MpiLauncher, arguments: &LaunchArguments, hosts: &[String]) -> Result<Vec<String>, ExitFailure> {
    let slots: Vec<String> =
        hosts.chunk_by(|one, other| one == other).map(|run| format!("{}:{}", run[0], run.len())).collect();
    let program = match &arguments.shell.program {
        Some(program) => program.clone(),
        None => own_path()?
            .parent()
            .map(|folder| folder.join(MPI_PROGRAM))
            .filter(|path| path.exists())
            .unwrap_or_else(|| MPI_PROGRAM.into()),
    };
    let folder = arguments.shell.dir.as_ref().map(|folder| folder.display().to_string());
    let mut words = launcher.words(&slots.join(","), hosts.len(), folder.as_deref());
    let action = if arguments.plan { "plan" } else { "run" };
    words.extend([program.display().to_string(), action.to_owned()]);
    words.extend(arguments.words.iter().cloned());
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_known_by_what_they_say() {
        for (said, launcher) in [
            ("mpirun (Open MPI) 4.1.4\n\nReport bugs to", Some(MpiLauncher::OpenMpi)),
            ("mpirun (Open MPI) 5.0.7", Some(MpiLauncher::OpenMpi)),
            ("HYDRA build details:\n    Version:                                 4.0.2\n", Some(MpiLauncher::Hydra)),
            ("Intel(R) MPI Library for Linux* OS, Version 2021.11", Some(MpiLauncher::Hydra)),
            ("slurm 22.05.8", None),
            ("", None),
        ] {
            assert_eq!(MpiLauncher::of(said), launcher, "{said}");
        }
    }

    #[test]
    fn each_gets_its_own_words() {
        for (launcher, folder, line) in [
            (MpiLauncher::OpenMpi, None, "--host a:1,b:2 -np 3 --bind-to none --mca odls_base_sigkill_timeout 3"),
            (
                MpiLauncher::OpenMpi,
                Some("/d"),
                "--host a:1,b:2 -np 3 --bind-to none --mca odls_base_sigkill_timeout 3 --wdir /d",
            ),
            (MpiLauncher::Hydra, None, "-hosts a:1,b:2 -n 3"),
            (MpiLauncher::Hydra, Some("/d"), "-hosts a:1,b:2 -n 3 -wdir /d"),
        ] {
            assert_eq!(launcher.words("a:1,b:2", 3, folder).join(" "), line);
        }
    }
}
