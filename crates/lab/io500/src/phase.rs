//! The phases, in their order, and the words of each.

use iolab_units::format_ns;

/// What a phase is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhaseKind {
    /// Bytes per second.
    Bandwidth,
    /// Operations per second.
    Metadata,
}

/// One phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Io500Phase {
    /// Its name in IO500.
    pub name: &'static str,
    /// What it is measured in.
    pub kind: PhaseKind,
    load: Load,
    step: Step,
}

/// Which of the four loads it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Load {
    /// A file for each rank, large transfers.
    IorEasy,
    /// One file of all, transfers of 47008 bytes in turn.
    IorHard,
    /// Empty files, a directory for each rank.
    MdtestEasy,
    /// Files of 3901 bytes, one directory of all.
    MdtestHard,
    /// Everything there is.
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Write,
    Read,
    Stat,
    Delete,
    Find,
}

const fn phase(name: &'static str, kind: PhaseKind, load: Load, step: Step) -> Io500Phase {
    Io500Phase { name, kind, load, step }
}

/// All, in the order of IO500.
pub const PHASES: [Io500Phase; 12] = [
    phase("ior-easy-write", PhaseKind::Bandwidth, Load::IorEasy, Step::Write),
    phase("mdtest-easy-write", PhaseKind::Metadata, Load::MdtestEasy, Step::Write),
    phase("ior-hard-write", PhaseKind::Bandwidth, Load::IorHard, Step::Write),
    phase("mdtest-hard-write", PhaseKind::Metadata, Load::MdtestHard, Step::Write),
    phase("find", PhaseKind::Metadata, Load::All, Step::Find),
    phase("ior-easy-read", PhaseKind::Bandwidth, Load::IorEasy, Step::Read),
    phase("mdtest-easy-stat", PhaseKind::Metadata, Load::MdtestEasy, Step::Stat),
    phase("ior-hard-read", PhaseKind::Bandwidth, Load::IorHard, Step::Read),
    phase("mdtest-hard-stat", PhaseKind::Metadata, Load::MdtestHard, Step::Stat),
    phase("mdtest-easy-delete", PhaseKind::Metadata, Load::MdtestEasy, Step::Delete),
    phase("mdtest-hard-read", PhaseKind::Metadata, Load::MdtestHard, Step::Read),
    phase("mdtest-hard-delete", PhaseKind::Metadata, Load::MdtestHard, Step::Delete),
];

/// Bytes of a transfer of the easy load of IOR, and of a rank at most.
const EASY_TRANSFER: u64 = 2 << 20;
const EASY_TRANSFERS: u64 = 4_960_000;
/// The same of the hard load.
const HARD_TRANSFER: u64 = 47_008;
const HARD_TRANSFERS: u64 = 10_000_000;
/// Files of a rank at most, and bytes in one of the hard load of mdtest.
const MOST_ITEMS: u64 = 1_000_000;
const HARD_ITEM: u64 = 3901;

/// What the words depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PhaseSizes {
    /// The folder, which the phases have for themselves.
    pub folder: String,
    /// How many ranks there are.
    pub ranks: u64,
    /// How many of them are on one host: a rank reads what one of another host wrote.
    pub ranks_per_host: u64,
    /// How long phases write, ns.
    pub stonewall_ns: u64,
    /// Operations of each rank in each load that was written, in the order of [`PHASES`].
    written: [u64; 4],
}

impl Load {
    const WRITTEN: [Load; 4] = [Load::IorEasy, Load::MdtestEasy, Load::IorHard, Load::MdtestHard];

    fn name(self) -> &'static str {
        match self {
            Load::IorEasy => "ior-easy",
            Load::IorHard => "ior-hard",
            Load::MdtestEasy => "mdtest-easy",
            Load::MdtestHard => "mdtest-hard",
            Load::All => "",
        }
    }

    /// Bytes of an operation; 1 where none move.
    fn block(self) -> u64 {
        match self {
            Load::IorEasy => EASY_TRANSFER,
            Load::IorHard => HARD_TRANSFER,
            Load::MdtestHard => HARD_ITEM,
            Load::MdtestEasy | Load::All => 1,
        }
    }

    /// Operations of a rank at most.
    fn most(self) -> u64 {
        match self {
            Load::IorEasy => EASY_TRANSFERS,
            Load::IorHard => HARD_TRANSFERS,
            Load::MdtestEasy | Load::MdtestHard => MOST_ITEMS,
            Load::All => 0,
        }
    }
}

impl PhaseSizes {
    /// Nothing has been written.
    pub fn new(folder: &str, ranks: u64, ranks_per_host: u64, stonewall_ns: u64) -> PhaseSizes {
        PhaseSizes { folder: folder.to_owned(), ranks: ranks.max(1), ranks_per_host, stonewall_ns, written: [0; 4] }
    }

    /// The folders that have to be there before the first phase.
    pub fn folders(&self) -> [String; 4] {
        Load::WRITTEN.map(|load| format!("{}/{}", self.folder, load.name()))
    }

    fn written_by_each(&self, load: Load) -> u64 {
        Load::WRITTEN.iter().position(|one| *one == load).map_or(0, |place| self.written[place])
    }

    /// Files and directories below the folder: what a find has to find. Folders of the four loads,
    /// a file or directory of each rank in the easy ones, the file of the hard one, and the items.
    pub fn entries(&self) -> u64 {
        let items = self.written_by_each(Load::MdtestEasy) + self.written_by_each(Load::MdtestHard);
        4 + 2 * self.ranks + 1 + self.ranks * items
    }

    /// The rank whose part a rank reads, this many farther.
    fn shift(&self) -> u64 {
        let other = self.ranks_per_host % self.ranks;
        if other == 0 { 1 % self.ranks } else { other }
    }
}

impl Io500Phase {
    /// Whether it writes until the stonewall, and so says how much there is for later phases.
    pub fn writes(&self) -> bool {
        self.step == Step::Write
    }

    /// Keeps how much each rank has written in this phase, if it is one that writes.
    pub fn note_written(&self, operations_of_each: u64, sizes: &mut PhaseSizes) {
        let place = Load::WRITTEN.iter().position(|load| *load == self.load);
        if let Some(place) = place.filter(|_| self.writes()) {
            sizes.written[place] = operations_of_each;
        }
    }

    /// Whether a rank has nothing more to write after so many operations: the phase was shorter
    /// than the rules want.
    pub fn is_exhausted(&self, operations_of_each: u64) -> bool {
        self.writes() && operations_of_each >= self.load.most()
    }

    /// The job, as words of a command line.
    pub fn words(&self, sizes: &PhaseSizes) -> Vec<String> {
        let (load, ranks) = (self.load, sizes.ranks);
        let (block, folder) = (load.block(), format!("{}/{}", sizes.folder, load.name()));
        let count = if self.writes() { load.most() } else { sizes.written_by_each(load) };
        let mut words = vec![("name", self.job_name().to_owned()), ("bs", block.to_string())];
        words.push(("rw", self.direction().to_owned()));
        match load {
            Load::IorEasy => {
                words.extend([("ioengine", "psync".to_owned()), ("directory", folder)]);
                words.push(("size", (count * block).to_string()));
            }
            Load::IorHard => {
                words.extend([("ioengine", "psync".to_owned()), ("filename", format!("{folder}/file"))]);
                words.extend([("offset_increment", block.to_string()), ("zonemode", "strided".to_owned())]);
                words.extend([("zonesize", block.to_string()), ("zoneskip", ((ranks - 1) * block).to_string())]);
                // From the first transfer of a rank to its last: not beyond the end of the file.
                let reach = (count * ranks).saturating_sub(ranks - 1);
                words.extend([("size", (reach * block).to_string()), ("io_size", (count * block).to_string())]);
            }
            Load::MdtestEasy => {
                words.extend([("ioengine", "tree".to_owned()), ("directory", folder)]);
                words.push(("size", (count * block).to_string()));
            }
            Load::MdtestHard => {
                words.extend([("ioengine", "tree".to_owned()), ("filename", folder), ("tree_data", "1".to_owned())]);
                words.push(("offset_increment", (load.most() * block).to_string()));
                words.push(("size", (count * block).to_string()));
            }
            Load::All => {
                let share = sizes.entries().div_ceil(ranks);
                words.extend([("ioengine", "tree".to_owned()), ("filename", sizes.folder.clone())]);
                words.extend([("offset_increment", share.to_string()), ("size", share.to_string())]);
            }
        }
        words.extend(self.step_words().into_iter().map(|(name, value)| (name, value.to_owned())));
        match self.step {
            Step::Write => words.push(("runtime", format_ns(sizes.stonewall_ns))),
            Step::Find => {}
            _ => words.push(("rank_shift", sizes.shift().to_string())),
        }
        // What iolab itself costs is not asked of every phase.
        words.push(("calibrate", "0".to_owned()));
        words.into_iter().map(|(name, value)| format!("--{name}={value}")).collect()
    }

    /// Names of files come from the name of the job, so all phases of a load have one.
    fn job_name(&self) -> &'static str {
        if self.load == Load::All { self.name } else { self.load.name() }
    }

    fn direction(&self) -> &'static str {
        match self.step {
            Step::Write => "write",
            Step::Delete => "trim",
            Step::Read | Step::Stat | Step::Find => "read",
        }
    }

    fn step_words(&self) -> Vec<(&'static str, &'static str)> {
        let moves_data = matches!(self.load, Load::IorEasy | Load::IorHard);
        match self.step {
            // As much as there is room for; the files are not made beforehand.
            Step::Write if moves_data => vec![("fill_device", "1"), ("end_fsync", "1"), ("wear_out", "1")],
            Step::Write => vec![("wear_out", "1")],
            Step::Read if !moves_data => vec![("tree_read", "open")],
            Step::Find => vec![("tree_read", "find")],
            _ => Vec::new(),
        }
    }
}
