//! The table of run options: name, argument, help, effect, and meaning in a study.

use super::readings::{Refusal, add, blocks, count, eta, formats, idle, number, rank, refusal, start_at, time, vary};
use super::values::{RunOptions, StudyWords};
use iolab_jobfile::command_line::{Argument, ProgramOption};

/// Stores a value in the options.
type Take = fn(RunOptions, &str) -> Result<RunOptions, Refusal>;

/// How far an option is supported.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Support {
    /// It does what its summary says.
    Full(Take),
    /// Its value is checked; its summary says why it has no effect.
    NothingToDo(fn(&str) -> Result<(), Refusal>),
    /// It is refused, for this reason. In fio mode it is ignored with a warning, because load and
    /// report stay the same.
    Harmless(&'static str),
    /// It is refused, for this reason.
    Missing(&'static str),
}

/// One option of the run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunOption {
    /// What distinguishes it from job options; the letter is fio's.
    pub(crate) shape: ProgramOption,
    /// The placeholder of the value in help.
    pub(crate) value_name: &'static str,
    /// One line for help.
    pub(crate) summary: &'static str,
    pub(crate) support: Support,
    /// What to do instead, if it is useless in a study.
    pub(crate) not_in_study: Option<&'static str>,
}

const fn option(name: &'static str, summary: &'static str, support: Support) -> RunOption {
    let shape = ProgramOption { name, letter: None, argument: Argument::None };
    RunOption { shape, value_name: "", summary, support, not_in_study: None }
}

const fn switch(name: &'static str, summary: &'static str, take: Take) -> RunOption {
    option(name, summary, Support::Full(take))
}

const fn valued(name: &'static str, value_name: &'static str, summary: &'static str, take: Take) -> RunOption {
    switch(name, summary, take).with_value(value_name)
}

impl RunOption {
    /// Whether the option does what its summary says, or has nothing to do.
    pub(crate) fn is_supported(&self) -> bool {
        matches!(self.support, Support::Full(_) | Support::NothingToDo(_))
    }

    const fn with_value(self, value_name: &'static str) -> RunOption {
        let shape = ProgramOption { argument: Argument::Required, ..self.shape };
        RunOption { shape, value_name, ..self }
    }

    const fn letter(self, letter: char) -> RunOption {
        let shape = ProgramOption { letter: Some(letter), ..self.shape };
        RunOption { shape, ..self }
    }

    const fn optional(self) -> RunOption {
        let shape = ProgramOption { argument: Argument::Optional, ..self.shape };
        RunOption { shape, ..self }
    }

    const fn not_in_study(self, instead: &'static str) -> RunOption {
        RunOption { not_in_study: Some(instead), ..self }
    }
}

/// Advice for options of single runs in a study.
const EACH_TRIAL: &str = "a study runs the job many times: try the job alone first with `iolab run JOB`";
const REPORTS: &str = "use `iolab study show FOLDER` to print the results, or `iolab report FOLDER -o PAGE.html`";
const SERVERS: &str = "studies run on this machine only: run the job with --client alone";
const PROGRESS: &str = "a study always shows its progress";

/// Shortest interval of the status line, as in fio.
const SHORTEST_ETA_NS: u64 = 250_000_000;

const NO_REMOTE: Support = Support::Missing(
    "a server runs no commands for its clients; --trigger=COMMAND runs here, after the jobs of all servers have ended",
);

// The compiler counts assigning a field as reading it, so these build a new struct. (Appending to a
// list reads it: lists have tests of their effect.)
macro_rules! on {
    ($field:ident) => {
        |run, _| Ok(RunOptions { $field: true, ..run })
    };
}
macro_rules! word {
    ($field:ident) => {
        |run, text| Ok(RunOptions { $field: Some(text.to_owned()), ..run })
    };
}
macro_rules! time {
    ($field:ident) => {
        |run, text| Ok(RunOptions { $field: Some(time(text)?), ..run })
    };
}
macro_rules! of_study {
    ($field:ident) => {
        |run, text| {
            let study = StudyWords { $field: Some(text.to_owned()), ..run.study };
            Ok(RunOptions { study, ..run })
        }
    };
}

/// Every run option.
pub(crate) static RUN_OPTIONS: &[RunOption] = &[
    switch("help", "Print this page", on!(help)).letter('h'),
    switch("version", "Print the version", on!(version)).letter('v'),
    valued("output", "FILE", "Write the report to a file", word!(output)).letter('o').not_in_study(REPORTS),
    valued("output-format", "LIST", "Report formats: normal, terse, json, json+, openmetrics", formats)
        .letter('F')
        .not_in_study("`iolab study show FOLDER --json` has its figures as JSON"),
    valued("terse-version", "N", "Version of the terse report, 2 to 5", |run, text| {
        Ok(RunOptions { terse_version: Some(number(text, 2, 5)?), ..run })
    })
    .letter('V')
    .not_in_study(REPORTS),
    switch("minimal", "Terse report", on!(minimal)).optional().letter('m').not_in_study(REPORTS),
    switch("append-terse", "Print a terse report after the normal one", on!(append_terse))
        .optional()
        .letter('f')
        .not_in_study(REPORTS),
    valued("eta", "WHEN", "Show the status line: always, never or auto", eta).letter('e').not_in_study(PROGRESS),
    valued("eta-newline", "TIME", "Start a new status line this often", time!(eta_newline_ns))
        .letter('E')
        .not_in_study(PROGRESS),
    valued("eta-interval", "TIME", "Update the status line this often", |run, text| {
        let ns = time(text)?;
        if ns < SHORTEST_ETA_NS {
            return Err(refusal("less than 250ms would flood the terminal"));
        }
        Ok(RunOptions { eta_interval_ns: Some(ns), ..run })
    })
    .letter('O')
    .not_in_study(PROGRESS),
    valued("status-interval", "TIME", "Print a full report this often", time!(status_interval_ns))
        .letter('L')
        .not_in_study(PROGRESS),
    switch("readonly", "Refuse jobs that write", on!(readonly)).letter('r').not_in_study(EACH_TRIAL),
    valued("section", "NAME", "Run only this section of the job files; may be repeated", |mut run, text| {
        add(&mut run.sections, text)?;
        Ok(run)
    })
    .letter('x')
    .not_in_study("remove the other sections from the job file"),
    switch("parse-only", "Check the jobs without running them", on!(parse_only))
        .letter('P')
        .not_in_study("`iolab plan` with the same words checks a study and says what it would run"),
    switch("showcmd", "Print the jobs as a command line", on!(showcmd)).letter('s').not_in_study(EACH_TRIAL),
    valued("cmdhelp", "OPTION", "Explain a job option, or list all", |run, text| {
        Ok(RunOptions { cmdhelp: Some(if text.is_empty() { "all" } else { text }.to_owned()), ..run })
    })
    .optional()
    .letter('c'),
    valued("enghelp", "ENGINE[,OPTION]", "List the engines, or explain one or its option", word!(enghelp))
        .optional()
        .letter('i'),
    valued("max-jobs", "N", "Limit the number of workers", |run, text| {
        // As in fio, 0 means no limit.
        Ok(RunOptions { max_jobs: Some(number(text, 0, u32::MAX)?).filter(|most| *most > 0), ..run })
    })
    .letter('j')
    .not_in_study(EACH_TRIAL),
    valued(
        "debug",
        "LIST",
        "Tell what jobs do: parse, random, io, verify, rate, steadystate; help",
        |mut run, text| {
            add(&mut run.debug, text)?;
            Ok(run)
        },
    )
    .letter('d')
    .not_in_study(EACH_TRIAL),
    switch("warnings-fatal", "Treat warnings as errors", on!(warnings_fatal)).letter('w').not_in_study(EACH_TRIAL),
    valued("aux-path", "DIRECTORY", "Folder for logs with relative names", word!(aux_path))
        .letter('K')
        .not_in_study(EACH_TRIAL),
    option(
        "alloc-size",
        "Accepted for compatibility; memory is allocated as needed",
        Support::NothingToDo(|text| count(text, 0, i64::MAX).map(|_| ())),
    )
    .with_value("KIB")
    .letter('a'),
    switch("bandwidth-log", "Write aggregate bandwidth logs", on!(bandwidth_log)).letter('b').not_in_study(EACH_TRIAL),
    option("latency-log", "Write aggregate latency logs", NO_LATENCY_LOG).with_value("PREFIX").letter('l'),
    valued("idle-prof", "WHAT", "Measure how idle the CPUs are: system, percpu, or calibrate (without a run)", idle)
        .letter('I')
        .not_in_study(EACH_TRIAL),
    valued("trigger-file", "FILE", "End the jobs and run the trigger when this file appears", word!(trigger_file))
        .letter('W')
        .not_in_study(EACH_TRIAL),
    valued("trigger-timeout", "TIME", "End the jobs and run the trigger after this time", time!(trigger_timeout_ns))
        .letter('B')
        .not_in_study(EACH_TRIAL),
    valued("trigger", "COMMAND", "Shell command that the trigger runs", word!(trigger))
        .letter('H')
        .not_in_study(EACH_TRIAL),
    option("trigger-remote", "Command of the trigger on servers", NO_REMOTE).with_value("COMMAND").letter('J'),
    valued("inflate-log", "FILE", "Print a log that log_store_compressed has written", word!(inflate_log)).letter('X'),
    switch("merge-blktrace-only", "Write the merged traces of merge_blktrace_file, and end", on!(merge_blktrace_only))
        .letter('A')
        .not_in_study(EACH_TRIAL),
    valued("server", "ADDRESS", "Run the jobs of clients: HOST,PORT, ip6:HOST,PORT or sock:PATH", word!(server))
        .optional()
        .letter('S')
        .not_in_study(SERVERS),
    valued("daemonize", "FILE", "Serve in the background, and write the process ID to a file", word!(daemonize))
        .letter('D')
        .not_in_study(SERVERS),
    valued("client", "HOST", "Run the job files that follow on this server, or on a list of them", |mut run, text| {
        add(&mut run.clients, text)?;
        Ok(run)
    })
    .letter('C')
    .not_in_study(SERVERS),
    valued("remote-config", "FILE", "Job file on the server, for the preceding --client", |mut run, text| {
        add(&mut run.remote_config, text)?;
        Ok(run)
    })
    .letter('R')
    .not_in_study(SERVERS),
    valued("secret", "FILE", "File with the secret that server and clients share", word!(secret)).not_in_study(SERVERS),
    valued(
        "allow",
        "PATH",
        "File, device or folder that jobs of clients may touch; may be repeated",
        |mut run, text| {
            add(&mut run.allow, text)?;
            Ok(run)
        },
    )
    .not_in_study(SERVERS),
    valued(
        "allow-host",
        "HOST",
        "Host or network (10.0.0.0/8) whose clients are served; may be repeated",
        |mut run, text| {
            add(&mut run.allow_host, text)?;
            Ok(run)
        },
    )
    .not_in_study(SERVERS),
    valued("rank", "RANK/RANKS", "Run the part of one of several ranks, which launchers start (0/4 to 3/4)", rank)
        .not_in_study("a study runs on one machine: run the job alone"),
    valued(
        "start-at",
        "TIME",
        "Begin the first operations then: seconds since 1970, or 2026-11-27T09:30:00 (UTC)",
        start_at,
    )
    .not_in_study("a study runs on one machine: run the job alone"),
    switch("cpuclock-test", "Test the processor's clock", on!(cpuclock_test)).letter('T'),
    valued("crctest", "TYPES", "Measure how fast checksums are: all, or these", word!(crctest)).optional().letter('G'),
    valued("memcpytest", "TYPES", "Measure how fast memory is copied: all, or these", word!(memcpytest))
        .optional()
        .letter('M'),
    valued("allow-destroy", "TARGET", "Allow overwriting this device; may be repeated", |mut run, text| {
        add(&mut run.allow_destroy, text)?;
        Ok(run)
    }),
    valued("record", "FILE", "Write the recording to a file", word!(record))
        .not_in_study("its folder keeps the recording of each trial"),
    valued("beside", "COMMAND", "Run this shell command while the job runs, and end it with the job", word!(beside))
        .not_in_study("start the command beside the study by yourself"),
    switch("live", "Show rates, latencies and devices on the whole terminal while the job runs", on!(live))
        .not_in_study(PROGRESS),
    switch("web", "Serve a page that shows the run while it lasts; its address is printed", on!(web)),
    valued(
        "metrics",
        "FILE",
        "Keep this file up to date with metrics, in the text form of OpenMetrics",
        word!(metrics),
    ),
    valued("events", "FILE", "Write what happens to this file as lines of JSON while it happens", word!(events))
        .not_in_study("its folder keeps the recording of each trial"),
    switch("no-db", "Do not add the run to the database", on!(no_database)),
    switch("force", "Allow outputs to replace files that iolab did not write", on!(force))
        .not_in_study("name a new folder with --folder=FOLDER"),
    switch("keep-secrets", "Keep the values of ${VARIABLES} in recording and database", on!(keep_secrets)),
    valued(
        "vary",
        "OPTION=VALUES",
        "Compare these values of an option (iodepth=1,4,16; bs=4k..1M:x2); may be repeated",
        vary,
    ),
    valued(
        "repeat",
        "N",
        "Run each configuration N times and report how certain the results are; auto, the default with --vary, stops when a 10 % difference can be seen",
        blocks,
    ),
    valued("blocks", "N", "The same as --repeat", blocks),
    valued(
        "ladder",
        "TARGET",
        "Measure latency at rising load, and the highest load that meets a target (p99<=1ms; none)",
        of_study!(ladder),
    ),
    valued(
        "precondition",
        "HOW",
        "Prepare the drive before the trials: snia, fill, or a job file",
        of_study!(precondition),
    ),
    valued("steady", "auto", "Leave the warm-up of each trial out of the results", of_study!(steady)),
    valued("drive-profile", "NAME", "Use study settings that suit a kind of drive: nand, optane", of_study!(profile)),
    valued("folder", "FOLDER", "Folder for the trials of a study", of_study!(folder)),
];

const NO_LATENCY_LOG: Support = Support::Harmless(
    "there is no latency log of all jobs together; the job option write_lat_log=PREFIX writes each job's",
);
