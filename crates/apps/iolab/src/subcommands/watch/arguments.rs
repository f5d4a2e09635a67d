//! The options of `iolab watch`: the letters of iostat(1), and iolab's own in full words.
//!
//! `-h` is iostat's, so that help is `--help` only. iostat's `-f` and `+f` (counters in a folder)
//! are not taken: `-f` is the full screen.

use clap::{Arg, ArgAction, ArgMatches, Command, Error};

/// What is shown, of which devices, how often.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct WatchArguments {
    #[command(flatten)]
    pub(super) tables: TableArguments,
    /// Devices only
    #[arg(short = 'd')]
    pub(super) devices_only: bool,
    /// CPUs only, unless -d or -x is given, too
    #[arg(short = 'c')]
    pub(super) cpu_only: bool,
    /// The time before each report (UTC)
    #[arg(short = 't')]
    pub(super) timestamps: bool,
    /// Leave out the first report, which is of the time since boot
    #[arg(short = 'y')]
    pub(super) skip_first: bool,
    /// Leave out devices that did nothing
    #[arg(short = 'z')]
    pub(super) omit_idle: bool,
    /// Partitions, too: of these devices (with commas), of all used ones, or `ALL`
    #[arg(short = 'p', value_name = "DEVICES", num_args = 0..=1, default_missing_value = "")]
    pub(super) partitions: Option<String>,
    #[command(flatten)]
    pub(super) groups: GroupArguments,
    /// Show and take names of the device mapper (LVM, dm-crypt) instead of dm-0
    #[arg(short = 'N', conflicts_with = "persistent")]
    pub(super) mapper_names: bool,
    /// Show and take persistent names: ID, LABEL, PATH, UUID or what else is in /dev/disk; --pretty
    /// is implied
    #[arg(short = 'j', value_name = "TYPE")]
    pub(super) persistent: Option<String>,
    /// iostat's JSON, a document that ends when watching ends
    #[arg(short = 'o', value_name = "JSON", value_parser = ["JSON"], conflicts_with = "json")]
    pub(super) output: Option<String>,
    /// JSON lines: an object for each device and one for the machine at each interval
    #[arg(long)]
    pub(super) json: bool,
    /// Lines of iolab's own: requests in flight, settings, latencies and sizes of requests (by
    /// tracepoints, as root), pressure, page cache
    #[arg(long)]
    pub(super) more: bool,
    /// The whole terminal: a table to sort and select in, and the course of the selected device;
    /// `?` shows the keys
    #[arg(short = 'f', long, conflicts_with_all = ["output", "json"])]
    pub(super) full_screen: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help)]
    help: Option<bool>,
    /// Devices, or `ALL`; then the interval in seconds (`1`, `0.2`) and how many reports
    #[arg(value_name = "DEVICE | INTERVAL | COUNT")]
    pub(super) words: Vec<String>,
}

/// How the tables look.
#[derive(Debug, clap::Args)]
pub(super) struct TableArguments {
    /// All columns
    #[arg(short = 'x')]
    pub(super) extended: bool,
    /// Few columns, for terminals of 80 characters: reads, writes and discards together
    #[arg(short = 's')]
    pub(super) short: bool,
    /// Kilobytes, which is what is shown anyway
    #[arg(short = 'k', conflicts_with = "megabytes")]
    kilobytes: bool,
    /// Megabytes
    #[arg(short = 'm')]
    pub(super) megabytes: bool,
    /// --human and --pretty
    #[arg(short = 'h')]
    pub(super) for_people: bool,
    /// Sizes with a letter (1.2M), shares with their sign
    #[arg(long)]
    pub(super) human: bool,
    /// The device's name on the right, the columns of -x in four tables
    #[arg(long)]
    pub(super) pretty: bool,
    /// The columns of -x on one line even so
    #[arg(long)]
    pub(super) compact: bool,
    /// Digits after the point, 0 to 2
    #[arg(long = "dec", value_name = "DIGITS", default_value = "2", hide_default_value = true, value_parser = parse_decimals)]
    pub(super) decimals: usize,
}

fn parse_decimals(text: &str) -> Result<usize, String> {
    let digits = text.parse::<usize>().ok().filter(|digits| *digits <= 2);
    digits.ok_or_else(|| "digits after the point are 0, 1 or 2".to_owned())
}

const GROUP: &str = "group";
const ONLY_GROUPS: &str = "only_groups";

/// What stands on the command line of groups, in its order: each time the name, and what follows up
/// to the next option.
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
            .arg(
                group
                    .help("These devices (all that follow, or all used ones), and a line of their sum under this name"),
            )
            .arg(only.help("With -g: the sums only"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        GroupArguments::augment_args(command)
    }
}
