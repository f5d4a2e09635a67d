//! Options of a run as a whole, typed.

/// What the command line says of the run rather than of a job. `None` and empty mean: not said.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// `--output`: file for the report.
    pub output: Option<String>,
    /// `--output-format`, in order; empty: the normal report.
    pub output_formats: Vec<OutputFormat>,
    /// `--terse-version` (2 to 5).
    pub terse_version: Option<u32>,
    /// `--minimal`: the terse report.
    pub minimal: bool,
    /// `--append-terse`: the terse report after the normal one.
    pub append_terse: bool,
    /// `--eta`.
    pub eta: EtaWhen,
    /// `--eta-newline`, nanoseconds: a new status line this often.
    pub eta_newline_ns: Option<u64>,
    /// `--eta-interval`, nanoseconds: update the status line this often.
    pub eta_interval_ns: Option<u64>,
    /// `--status-interval`, nanoseconds: print a full report this often.
    pub status_interval_ns: Option<u64>,
    /// `--readonly`: refuse jobs that write.
    pub readonly: bool,
    /// `--section`, in order: only these sections of job files.
    pub section: Vec<String>,
    /// `--parse-only`.
    pub parse_only: bool,
    /// `--showcmd`.
    pub showcmd: bool,
    /// `--cmdhelp[=NAME]`: an option's name; `all` when nothing or `all` was said.
    pub cmdhelp: Option<String>,
    /// `--enghelp[=ENGINE[,OPTION]]`: empty when nothing was said.
    pub enghelp: Option<String>,
    /// `--version`.
    pub version: bool,
    /// `--help`.
    pub help: bool,
    /// `--max-jobs`.
    pub max_jobs: Option<u32>,
    /// `--debug`, in order.
    pub debug: Vec<String>,
    /// `--warnings-fatal`.
    pub warnings_fatal: bool,
    /// `--aux-path`: directory of state files.
    pub aux_path: Option<String>,
    /// `--alloc-size`, KiB.
    pub alloc_size_kib: Option<u64>,
    /// `--bandwidth-log`: write aggregate bandwidth logs.
    pub bandwidth_log: bool,
    /// `--latency-log`: prefix of aggregate latency logs.
    pub latency_log: Option<String>,
    /// `--idle-prof`.
    pub idle_prof: Option<IdleProfile>,
    /// `--trigger-file`.
    pub trigger_file: Option<String>,
    /// `--trigger-timeout`, nanoseconds.
    pub trigger_timeout_ns: Option<u64>,
    /// `--trigger`: command to run when triggered.
    pub trigger: Option<String>,
    /// `--trigger-remote`.
    pub trigger_remote: Option<String>,
    /// `--inflate-log`: compressed log to print.
    pub inflate_log: Option<String>,
    /// `--merge-blktrace-only`.
    pub merge_blktrace_only: bool,
    /// `--server[=ADDRESS]`.
    pub server: Option<String>,
    /// `--daemonize`: file for the server's process id.
    pub daemonize: Option<String>,
    /// `--client`, in order.
    pub client: Vec<String>,
    /// `--remote-config`.
    pub remote_config: Option<String>,
    /// `--cpuclock-test`.
    pub cpuclock_test: bool,
    /// `--crctest[=TYPE]`.
    pub crctest: Option<String>,
    /// `--memcpytest[=TYPE]`.
    pub memcpytest: Option<String>,
    /// `--allow-destroy`, in order: devices that may be overwritten.
    pub allow_destroy: Vec<String>,
    /// `--record`: file for the recording.
    pub record: Option<String>,
    /// `--no-db`: the run is not listed in the database.
    pub no_database: bool,
    /// `--force`: outputs replace files of the user's.
    pub force: bool,
    /// `--keep-secrets`: what is kept holds the values of environment variables.
    pub keep_secrets: bool,
    /// Options that make a study of the run.
    pub study: StudyWords,
}

/// What the command line says of a study: one job under several settings, in blocks. Unread but for its shape.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StudyWords {
    /// `--vary`, in order.
    pub vary: Vec<VaryWords>,
    /// `--repeat` or `--blocks`: a number, or `auto`.
    pub blocks: Option<String>,
    /// `--ladder`: a target for response times, or `none`.
    pub ladder: Option<String>,
    /// `--precondition`: `snia`, `fill` or a job file.
    pub precondition: Option<String>,
    /// `--steady`: `auto`.
    pub steady: Option<String>,
    /// `--drive-profile`.
    pub profile: Option<String>,
    /// `--folder`: where its trials are kept.
    pub folder: Option<String>,
}

impl StudyWords {
    /// Whether the run is a study.
    pub fn is_asked_for(&self) -> bool {
        !self.vary.is_empty() || [&self.blocks, &self.ladder, &self.precondition].iter().any(|words| words.is_some())
    }
}

/// One `--vary`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaryWords {
    /// `OPTION=VALUES`.
    pub text: String,
    /// Byte range in the command line.
    pub span: (usize, usize),
}

/// A report format of `--output-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// For people.
    Normal,
    /// Semicolon-separated.
    Terse,
    /// JSON.
    Json,
    /// JSON with full histograms.
    JsonPlus,
}

/// When the status line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EtaWhen {
    /// Only on a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// `--idle-prof`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleProfile {
    /// Idleness of the whole system.
    System,
    /// Idleness of each CPU.
    PerCpu,
    /// Calibrate only.
    Calibrate,
}
