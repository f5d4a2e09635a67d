//! The options of `iolab watch`: the letters of iostat(1), and long names for iolab's own.
//!
//! `-h` is iostat's, so help is only `--help`. iostat's `-f` and `+f` (counters in a folder) are
//! not supported: `-f` selects the full screen.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, Error};

/// What is shown, of which devices, how often.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct WatchArguments {
    #[command(flatten)]
    pub(super) tables: TableArguments,
    /// Show only devices
    #[arg(short = 'd')]
    pub(super) devices_only: bool,
    /// Show only CPUs, unless -d or -x is given
    #[arg(short = 'c')]
    pub(super) cpu_only: bool,
    /// Print the time before each report (UTC)
    #[arg(short = 't')]
    pub(super) timestamps: bool,
    /// Skip the first report, which covers the time since boot
    #[arg(short = 'y')]
    pub(super) skip_first: bool,
    /// Skip devices without activity
    #[arg(short = 'z')]
    pub(super) omit_idle: bool,
    /// Include partitions: of these devices (comma-separated), of all used devices, or `ALL`
    #[arg(short = 'p', value_name = "DEVICES", num_args = 0..=1, default_missing_value = "")]
    pub(super) partitions: Option<String>,
    #[command(flatten)]
    pub(super) groups: GroupArguments,
    /// Use device-mapper names (LVM, dm-crypt) instead of dm-0
    #[arg(short = 'N', conflicts_with = "persistent")]
    pub(super) mapper_names: bool,
    /// Use persistent names: ID, LABEL, PATH, UUID or any other type in /dev/disk; implies --pretty
    #[arg(short = 'j', value_name = "TYPE")]
    pub(super) persistent: Option<String>,
    /// Print iostat's JSON: one document that ends when watching ends
    #[arg(short = 'o', value_name = "JSON", value_parser = ["JSON"], conflicts_with = "json")]
    pub(super) output: Option<String>,
    /// Print JSON lines: at each interval one object per device and one for the machine
    #[arg(long)]
    pub(super) json: bool,
    /// Show more than iostat: requests in flight, settings, request latencies and sizes (from
    /// tracepoints, as root), pressure, page cache
    #[arg(long)]
    pub(super) more: bool,
    /// Keep this file up to date with metrics of the devices, or with those of the program of
    /// --record, in the text form of OpenMetrics
    #[arg(long, value_name = "FILE", conflicts_with = "full_screen")]
    pub(super) metrics: Option<PathBuf>,
    /// Use the full terminal: a table with sorting and selection, and charts of the selected
    /// device; `?` shows the keys
    #[arg(short = 'f', long, conflicts_with_all = ["output", "json"])]
    pub(super) full_screen: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Devices, or `ALL`; then the interval in seconds (`1`, `0.2`) and the number of reports
    #[arg(value_name = "DEVICE | INTERVAL | COUNT")]
    pub(super) words: Vec<String>,
    #[command(flatten)]
    pub(super) program: ProgramArguments,
}

/// What is recorded, in place of printing reports.
#[derive(Debug, clap::Args)]
pub(super) struct ProgramArguments {
    /// Record the command behind `--`, or the process of --pid, with devices and machine, in this
    /// file; `iolab report` reads it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "json", "full_screen", "more"])]
    pub(super) record: Option<PathBuf>,
    /// With --record: watch a running process (also -p PID)
    #[arg(long, value_name = "PID", requires = "record", conflicts_with = "command")]
    pub(super) pid: Option<i32>,
    /// With --record: end after this time (30s, 5m)
    #[arg(long = "for", value_name = "TIME", requires = "record", value_parser = super::duration_ns)]
    pub(super) for_ns: Option<u64>,
    /// Allow the recording to replace a file that iolab did not write
    #[arg(long, requires = "record")]
    pub(super) force: bool,
    /// The command and its arguments; iolab exits with the command's exit code
    #[arg(last = true, value_name = "COMMAND", requires = "record")]
    pub(super) command: Vec<String>,
}

/// How the tables look.
#[derive(Debug, clap::Args)]
pub(super) struct TableArguments {
    /// Show all columns
    #[arg(short = 'x')]
    pub(super) extended: bool,
    /// Short report for 80-column terminals: reads, writes and discards combined
    #[arg(short = 's')]
    pub(super) short: bool,
    /// Show kilobytes (the default)
    #[arg(short = 'k', conflicts_with = "megabytes")]
    kilobytes: bool,
    /// Show megabytes
    #[arg(short = 'm')]
    pub(super) megabytes: bool,
    /// Same as --human --pretty
    #[arg(short = 'h')]
    pub(super) for_people: bool,
    /// Print sizes with a unit letter (1.2M) and percentages with %
    #[arg(long)]
    pub(super) human: bool,
    /// Print the device name on the right, and the columns of -x in four tables
    #[arg(long)]
    pub(super) pretty: bool,
    /// With --pretty, keep the columns of -x on one line
    #[arg(long)]
    pub(super) compact: bool,
    /// Number of decimals, 0 to 2
    #[arg(long = "dec", value_name = "DIGITS", default_value = "2", hide_default_value = true, value_parser = parse_decimals)]
    pub(super) decimals: usize,
}

fn parse_decimals(text: &str) -> Result<usize, String> {
    let digits = text.parse::<usize>().ok().filter(|digits| *digits <= 2);
    digits.ok_or_else(|| "the number of decimals is 0, 1 or 2".to_owned())
}

const GROUP: &str = "group";
const ONLY_GROUPS: &str = "only_groups";

/// The groups of the command line, in order: for each one its name and the words up to the next
/// option.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupArguments {
    pub(super) given: Vec<Vec<String>>,
    pub(super) only_groups: bool,
}

impl clap::FromArgMatches for GroupArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<GroupArguments, Error> {
        let given = matches.get_occurrences::<String>(GROUP).into_iter().flatten();
        let given = given.map(|words| words.cloned().collect()).collect();
        Ok(GroupArguments { given, only_groups: matches.get_flag(ONLY_GROUPS) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = GroupArguments::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for GroupArguments {
    fn augment_args(command: Command) -> Command {
        let group = Arg::new(GROUP).short('g').value_name("NAME DEVICES").num_args(1..).action(ArgAction::Append);
        let only = Arg::new(ONLY_GROUPS).short('H').action(ArgAction::SetTrue).requires(GROUP);
        command
            .arg(group.help(
                "Group these devices (all that follow, or all used devices) and add a line with their sum \
                        under this name",
            ))
            .arg(only.help("With -g: show only the sums"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        GroupArguments::augment_args(command)
    }
}
