//! The options of a run, typed.

/// Options of the command line that apply to the run, not to a job. `None` and empty mean that the
/// option was not given.
///
/// The type is deliberately not comparable: a field that only a comparison reads has no effect.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunOptions {
    /// `--output`: file for the report.
    pub(crate) output: Option<String>,
    /// `--output-format`, in order; empty: the normal report.
    pub(crate) output_formats: Vec<OutputFormat>,
    /// `--terse-version` (2 to 5).
    pub(crate) terse_version: Option<u32>,
    /// `--minimal`: the terse report.
    pub(crate) minimal: bool,
    /// `--append-terse`: the terse report after the normal one.
    pub(crate) append_terse: bool,
    /// `--eta`.
    pub(crate) eta: EtaWhen,
    /// `--eta-newline`, nanoseconds: a new status line this often.
    pub(crate) eta_newline_ns: Option<u64>,
    /// `--eta-interval`, nanoseconds: update the status line this often.
    pub(crate) eta_interval_ns: Option<u64>,
    /// `--status-interval`, nanoseconds: print a full report this often.
    pub(crate) status_interval_ns: Option<u64>,
    /// `--readonly`: refuse jobs that write.
    pub(crate) readonly: bool,
    /// `--section`, in order: only these sections of job files.
    pub(crate) sections: Vec<String>,
    /// `--merge-blktrace-only`.
    pub(crate) merge_blktrace_only: bool,
    /// `--debug`, in order: lists of what is told of.
    pub(crate) debug: Vec<String>,
    /// `--parse-only`.
    pub(crate) parse_only: bool,
    /// `--showcmd`.
    pub(crate) showcmd: bool,
    /// `--cmdhelp[=NAME]`: the name of an option; `all` if the value is missing or `all`.
    pub(crate) cmdhelp: Option<String>,
    /// `--enghelp[=ENGINE[,OPTION]]`: empty if the value is missing.
    pub(crate) enghelp: Option<String>,
    /// `--version`.
    pub(crate) version: bool,
    /// `--help`.
    pub(crate) help: bool,
    /// `--max-jobs`.
    pub(crate) max_jobs: Option<u32>,
    /// `--warnings-fatal`.
    pub(crate) warnings_fatal: bool,
    /// `--aux-path`: directory of log files with relative names.
    pub(crate) aux_path: Option<String>,
    /// `--bandwidth-log`: write aggregate bandwidth logs.
    pub(crate) bandwidth_log: bool,
    /// `--trigger-file`: when this file appears, the jobs end and the trigger runs.
    pub(crate) trigger_file: Option<String>,
    /// `--trigger-timeout`, nanoseconds: the same after this time.
    pub(crate) trigger_timeout_ns: Option<u64>,
    /// `--trigger`: a shell command line.
    pub(crate) trigger: Option<String>,
    /// `--idle-prof`.
    pub(crate) idle_profile: Option<IdleProfile>,
    /// `--server[=ADDRESS]`: empty when nothing was said.
    pub(crate) server: Option<String>,
    /// `--daemonize`: file for the number of the server's process.
    pub(crate) daemonize: Option<String>,
    /// `--client`, in order: servers, or files that list them.
    pub(crate) clients: Vec<String>,
    /// `--remote-config`, in order: job files of servers.
    pub(crate) remote_config: Vec<String>,
    /// `--secret`: file with the secret that server and clients share.
    pub(crate) secret: Option<String>,
    /// `--allow`, in order: what jobs of clients may touch.
    pub(crate) allow: Vec<String>,
    /// `--allow-host`, in order: hosts whose clients are served.
    pub(crate) allow_host: Vec<String>,
    /// `--rank=RANK/RANKS`: which of several ranks this run is.
    pub(crate) rank: Option<(u32, u32)>,
    /// `--start-at`, ns since the Unix epoch.
    pub(crate) start_at_unix_ns: Option<u64>,
    /// `--cpuclock-test`.
    pub(crate) cpuclock_test: bool,
    /// `--crctest[=TYPES]`: empty if the value is missing.
    pub(crate) crctest: Option<String>,
    /// `--inflate-log`: a compressed log.
    pub(crate) inflate_log: Option<String>,
    /// `--memcpytest[=TYPES]`: empty when nothing was said.
    pub(crate) memcpytest: Option<String>,
    /// `--allow-destroy`, in order: devices that may be overwritten.
    pub(crate) allow_destroy: Vec<String>,
    /// `--record`: file for the recording.
    pub(crate) record: Option<String>,
    /// `--beside`: a shell command line that runs beside the job.
    pub(crate) beside: Option<String>,
    /// `--live`: the run is shown on the whole terminal.
    pub(crate) live: bool,
    /// `--web`: the run is shown on a page.
    pub(crate) web: bool,
    /// `--metrics`: textfile that is kept up to date.
    pub(crate) metrics: Option<String>,
    /// `--events`: file for events.
    pub(crate) events: Option<String>,
    /// `--no-db`: the run is not listed in the database.
    pub(crate) no_database: bool,
    /// `--force`: outputs may replace files of the user.
    pub(crate) force: bool,
    /// `--keep-secrets`: saved results include the values of environment variables.
    pub(crate) keep_secrets: bool,
    /// Options that make a study of the run.
    pub(crate) study: StudyWords,
}

/// Options of the command line that describe a study: one job under several settings, in blocks.
/// Their values are kept as text.
#[derive(Debug, Clone, Default)]
pub(crate) struct StudyWords {
    /// `--vary`, in order.
    pub(crate) vary: Vec<VaryWords>,
    /// `--repeat` or `--blocks`: a number, or `auto`.
    pub(crate) blocks: Option<String>,
    /// `--ladder`: a target for response times, or `none`.
    pub(crate) ladder: Option<String>,
    /// `--precondition`: `snia`, `fill` or a job file.
    pub(crate) precondition: Option<String>,
    /// `--steady`: `auto`.
    pub(crate) steady: Option<String>,
    /// `--drive-profile`.
    pub(crate) profile: Option<String>,
    /// `--folder`: where the trials are kept.
    pub(crate) folder: Option<String>,
}

impl StudyWords {
    /// Whether the run is a study.
    pub(crate) fn is_asked_for(&self) -> bool {
        !self.vary.is_empty() || [&self.blocks, &self.ladder, &self.precondition].iter().any(|words| words.is_some())
    }
}

/// One `--vary`.
#[derive(Debug, Clone)]
pub(crate) struct VaryWords {
    /// `OPTION=VALUES`.
    pub(crate) text: String,
    /// Byte range in the command line.
    pub(crate) span: (usize, usize),
}

/// A report format of `--output-format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// For people.
    Normal,
    /// Semicolon-separated.
    Terse,
    /// JSON.
    Json,
    /// JSON with full histograms.
    JsonPlus,
    /// Metrics for Prometheus.
    OpenMetrics,
}

/// Every format and its word.
pub(crate) const OUTPUT_FORMATS: [(&str, OutputFormat); 5] = [
    ("normal", OutputFormat::Normal),
    ("terse", OutputFormat::Terse),
    ("json", OutputFormat::Json),
    ("json+", OutputFormat::JsonPlus),
    ("openmetrics", OutputFormat::OpenMetrics),
];

impl OutputFormat {
    /// The format of a word; fio accepts `minimal` for `terse`, too.
    pub(crate) fn parse(word: &str) -> Option<OutputFormat> {
        let word = if word == "minimal" { "terse" } else { word };
        OUTPUT_FORMATS.iter().find(|(known, _)| *known == word).map(|(_, format)| *format)
    }

    /// All words, for messages and help.
    pub(crate) const WORDS: &'static str = "normal, terse, json, json+, openmetrics";
}

/// When the status line is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum EtaWhen {
    /// Only on a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What `--idle-prof` measures of idle processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdleProfile {
    /// How long a unit of work takes, without a run.
    Calibrate,
    /// The idleness of all together.
    System,
    /// And of each.
    PerCpu,
}
