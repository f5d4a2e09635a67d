//! `iolab io500`: each phase is a run of one job on all ranks; then the score.

use std::fs;
use std::path::{Path, PathBuf};

use iolab_hosts::LaunchWay;
use iolab_io500::{Io500Phase, PHASES, PhaseResult, PhaseSizes, STONEWALL_SECONDS};
use iolab_resolve::Mode;
use iolab_units::NS_PER_SECOND;

use super::arguments::own_path;
use super::clients::recording_of;
use super::host_list::hosts;
use super::launching::{asked, started};
use crate::durations::at_most_a_day_ns;
use crate::exit::{ExitFailure, FAILED, INTERRUPTED};
use crate::outcomes::show_outcomes;
use crate::output::print_for_people;

/// Where, on which hosts, for how long.
#[derive(Debug, clap::Args)]
pub(crate) struct Io500Arguments {
    /// A folder that this machine and all hosts see; a folder is made in it for the phases
    pub(crate) folder: PathBuf,
    /// Hosts, as for `iolab hosts run`
    #[arg(long, value_name = "LIST", conflicts_with = "ranks")]
    pub(crate) hosts: Option<String>,
    /// Ranks on this machine, if no hosts are named
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) ranks: u32,
    /// Remote shell; it gets the host and a command line
    #[arg(long, value_name = "COMMAND", default_value = "ssh -o BatchMode=yes")]
    pub(crate) rsh: String,
    /// This program on the hosts; without it, where it is here
    #[arg(long, value_name = "PATH")]
    pub(crate) program: Option<PathBuf>,
    /// Let each phase write for this long, seconds or with a unit; without it, for the 300 s of the
    /// rules
    #[arg(long, value_name = "TIME", value_parser = at_most_a_day_ns)]
    pub(crate) stonewall: Option<u64>,
    /// Let each phase write for 3 seconds: not a valid score
    #[arg(long, conflicts_with = "stonewall")]
    pub(crate) quick: bool,
    /// Folder for the recording and the report of each phase
    #[arg(long, value_name = "FOLDER", default_value = "io500")]
    pub(crate) results: PathBuf,
    /// Leave the files of the phases where they are
    #[arg(long)]
    pub(crate) keep: bool,
    /// Print the job of each phase that writes, and do nothing
    #[arg(long)]
    pub(crate) show: bool,
}

/// The folder of the phases below the user's.
const FOLDER: &str = "iolab-io500";
/// How long phases write when it has to be quick, s.
const QUICK_SECONDS: u64 = 3;

/// Runs all phases and prints the score.
pub(crate) fn io500(arguments: &Io500Arguments) -> Result<u8, ExitFailure> {
    let ranks = match &arguments.hosts {
        Some(list) => hosts(list)?,
        None => vec![iolab_observe::host_name(); arguments.ranks as usize],
    };
    let folder = arguments.folder.canonicalize().map_err(|error| {
        let shown = arguments.folder.display();
        ExitFailure::mistake(format!("iolab: {shown}: {error}; name a folder that this machine and all hosts see"))
    })?;
    let own = folder.join(FOLDER);
    let per_host = ranks.chunk_by(|one, other| one == other).next().map_or(1, <[String]>::len) as u64;
    let stonewall_ns = arguments
        .stonewall
        .unwrap_or_else(|| NS_PER_SECOND * if arguments.quick { QUICK_SECONDS } else { STONEWALL_SECONDS });
    let mut sizes = PhaseSizes::new(&own.to_string_lossy(), ranks.len() as u64, per_host, stonewall_ns);
    if arguments.show {
        for phase in PHASES.iter().filter(|phase| phase.writes()) {
            print_for_people(&format!("{}: {}\n", phase.name, phase.words(&sizes).join(" ")))?;
        }
        return Ok(0);
    }
    let made = OwnFolder::make(own, &sizes, arguments.keep)?;
    let results_folder = &arguments.results;
    fs::create_dir_all(results_folder)
        .map_err(|error| ExitFailure::failed(format!("iolab: {}: {error}", results_folder.display())))?;
    let mut results = Vec::new();
    print_for_people(&iolab_io500::title_line())?;
    for phase in PHASES {
        let Some(result) = run(phase, &sizes, arguments, &ranks, &folder)? else { return Ok(INTERRUPTED) };
        phase.note_written(result.most_operations, &mut sizes);
        print_for_people(&iolab_io500::phase_line(&result))?;
        let has_failed = result.flaws.iter().any(|flaw| flaw == "it failed");
        results.push(result);
        if has_failed {
            return Ok(FAILED);
        }
    }
    drop(made);
    if let Some(score) = iolab_io500::score(&results) {
        print_for_people(&iolab_io500::score_text(&score))?;
    }
    Ok(0)
}

/// Runs one phase; `None` if the user ended it.
fn run(
    phase: Io500Phase,
    sizes: &PhaseSizes,
    arguments: &Io500Arguments,
    ranks: &[String],
    folder: &Path,
) -> Result<Option<PhaseResult>, ExitFailure> {
    let mut words = phase.words(sizes);
    let kept = |ending: &str| arguments.results.join(format!("{}.{ending}", phase.name));
    words.push(format!("--record={}", kept("iolab").display()));
    words.push(format!("--output={}", kept("txt").display()));
    let asked = asked(&words)?;
    let program = arguments.program.clone().map_or_else(own_path, Ok)?;
    let shell = match arguments.hosts {
        Some(_) => arguments.rsh.split_whitespace().map(str::to_owned).collect(),
        // A shell of this machine in place of a remote one: it gets the name of the host as $0.
        None => ["sh", "-c", "exec sh -c \"$1\""].map(str::to_owned).to_vec(),
    };
    let way = LaunchWay::Shell { words: shell, program };
    let started = started(&asked, ranks.to_vec(), way, folder.to_owned())?;
    let Some(recording) = recording_of(started, &asked, Mode::Iolab)? else { return Ok(None) };
    if recording.interrupted {
        show_outcomes(&recording, "iolab");
        return Ok(None);
    }
    let result = PhaseResult::of(phase, sizes, &recording);
    if recording.workers.iter().any(|worker| worker.has_failed()) {
        show_outcomes(&recording, "iolab");
    }
    Ok(Some(result))
}

/// The folder of the phases, which is removed with all that is in it.
struct OwnFolder {
    path: PathBuf,
    keep: bool,
}

impl OwnFolder {
    fn make(path: PathBuf, sizes: &PhaseSizes, keep: bool) -> Result<OwnFolder, ExitFailure> {
        let failed =
            |path: &Path, error: std::io::Error| ExitFailure::failed(format!("iolab: {}: {error}", path.display()));
        match fs::create_dir(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let shown = path.display();
                let reason =
                    format!("iolab: {shown} is there already, from an earlier run: look what it holds, and remove it");
                return Err(ExitFailure::mistake(reason));
            }
            made => made.map_err(|error| failed(&path, error))?,
        }
        let own = OwnFolder { path, keep };
        for folder in sizes.folders() {
            fs::create_dir(&folder).map_err(|error| failed(Path::new(&folder), error))?;
        }
        Ok(own)
    }
}

impl Drop for OwnFolder {
    fn drop(&mut self) {
        if self.keep {
            return;
        }
        // It was not there before this program made it.
        if let Err(error) = fs::remove_dir_all(&self.path) {
            eprintln!("iolab: warning: {}: {error}: remove it by hand", self.path.display());
        }
    }
}
