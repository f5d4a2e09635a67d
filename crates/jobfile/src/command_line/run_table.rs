//! The table of run options: name, argument, help, and what each sets.

use iolab_units::{KbBase, NS_PER_SECOND, parse_count, parse_ns};

use super::{EtaWhen, IdleProfile, OutputFormat, RunOptions, VaryWords};
use crate::ValueError;
use crate::values::Piece;

/// Whether an option takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// Never.
    None,
    /// Behind `=` only.
    Optional,
    /// Behind `=`, or as the next argument.
    Required,
}

/// One option of the run.
#[derive(Debug, Clone, Copy)]
pub struct RunOption {
    /// Name without dashes.
    pub name: &'static str,
    /// fio's one-letter name, behind one dash.
    pub letter: Option<char>,
    /// Whether it takes a value.
    pub argument: Argument,
    /// What the value is called in help.
    pub value_name: &'static str,
    /// One line for help.
    pub summary: &'static str,
    /// Why it is not supported, if it is not.
    pub unsupported: Option<&'static str>,
    pub(super) apply: fn(&mut RunOptions, &str) -> Result<(), ValueError>,
}

const fn switch(
    name: &'static str,
    summary: &'static str,
    apply: fn(&mut RunOptions, &str) -> Result<(), ValueError>,
) -> RunOption {
    RunOption { name, letter: None, argument: Argument::None, value_name: "", summary, unsupported: None, apply }
}

const fn valued(
    name: &'static str,
    value_name: &'static str,
    summary: &'static str,
    apply: fn(&mut RunOptions, &str) -> Result<(), ValueError>,
) -> RunOption {
    RunOption { name, letter: None, argument: Argument::Required, value_name, summary, unsupported: None, apply }
}

impl RunOption {
    const fn letter(self, letter: char) -> RunOption {
        RunOption { letter: Some(letter), ..self }
    }

    const fn optional(self) -> RunOption {
        RunOption { argument: Argument::Optional, ..self }
    }

    const fn unsupported(self, reason: &'static str) -> RunOption {
        RunOption { unsupported: Some(reason), ..self }
    }
}

/// Shortest interval of the status line, as in fio.
const SHORTEST_ETA_NS: u64 = 250_000_000;

const NO_REMOTE: &str = "jobs run on this machine only";
const NO_TRIGGER: &str = "there are no triggers";

/// Every run option.
pub static RUN_OPTIONS: &[RunOption] = &[
    switch("help", "Print this page", |run, _| on(&mut run.help)).letter('h'),
    switch("version", "Print the version", |run, _| on(&mut run.version)).letter('v'),
    valued("output", "FILE", "Write the report to a file", |run, text| put(&mut run.output, text)).letter('o'),
    valued("output-format", "LIST", "Report formats: normal, terse, json, json+", formats).letter('F'),
    valued("terse-version", "N", "Version of the terse report, 2 to 5", |run, text| {
        run.terse_version = u32::try_from(number(text, 2, 5)?).ok();
        Ok(())
    })
    .letter('V'),
    switch("minimal", "Terse report", |run, _| on(&mut run.minimal)).optional().letter('m'),
    switch("append-terse", "Terse report after the normal one", |run, _| on(&mut run.append_terse))
        .optional()
        .letter('f'),
    valued("eta", "WHEN", "Show the status line: always, never or auto", eta).letter('e'),
    valued("eta-newline", "TIME", "Begin a new status line this often", |run, text| {
        time(&mut run.eta_newline_ns, text)
    })
    .letter('E'),
    valued("eta-interval", "TIME", "Update the status line this often", |run, text| {
        time(&mut run.eta_interval_ns, text)?;
        match run.eta_interval_ns {
            Some(ns) if ns < SHORTEST_ETA_NS => {
                Err(Piece::whole(text).refuse("less than 250ms would flood the terminal"))
            }
            _ => Ok(()),
        }
    })
    .letter('O'),
    valued("status-interval", "TIME", "Print a full report this often", |run, text| {
        time(&mut run.status_interval_ns, text)
    })
    .letter('L'),
    switch("readonly", "Refuse jobs that write", |run, _| on(&mut run.readonly)).letter('r'),
    valued("section", "NAME", "Run only this section of the job files; may be repeated", |run, text| {
        add(&mut run.section, text)
    })
    .letter('x'),
    switch("parse-only", "Check the jobs without running them", |run, _| on(&mut run.parse_only)).letter('P'),
    switch("showcmd", "Print the jobs as a command line", |run, _| on(&mut run.showcmd)).letter('s'),
    valued("cmdhelp", "OPTION", "Explain a job option, or list all", |run, text| {
        put(&mut run.cmdhelp, if text.is_empty() { "all" } else { text })
    })
    .optional()
    .letter('c'),
    valued("enghelp", "ENGINE[,OPTION]", "List the engines, or explain one or its option", |run, text| {
        put(&mut run.enghelp, text)
    })
    .optional()
    .letter('i'),
    valued("max-jobs", "N", "Most workers", |run, text| {
        run.max_jobs = u32::try_from(number(text, 1, i64::from(u32::MAX))?).ok();
        Ok(())
    })
    .letter('j'),
    valued("debug", "LIST", "Print what happens inside", debug).letter('d'),
    switch("warnings-fatal", "Treat warnings as errors", |run, _| on(&mut run.warnings_fatal)).letter('w'),
    valued("aux-path", "DIRECTORY", "Where state files go", |run, text| put(&mut run.aux_path, text)).letter('K'),
    valued("alloc-size", "KIB", "Accepted for compatibility; memory is allocated as needed", |run, text| {
        run.alloc_size_kib = u64::try_from(number(text, 0, i64::MAX)?).ok();
        Ok(())
    })
    .letter('a'),
    switch("bandwidth-log", "Write aggregate bandwidth logs", |run, _| on(&mut run.bandwidth_log)).letter('b'),
    valued("latency-log", "PREFIX", "Write aggregate latency logs", |run, text| put(&mut run.latency_log, text))
        .letter('l'),
    valued("idle-prof", "WHAT", "Measure CPU idleness: system, percpu or calibrate", idle_profile)
        .unsupported("idleness is not measured")
        .letter('I'),
    valued("trigger-file", "FILE", "Run the trigger when this file appears", |run, text| {
        put(&mut run.trigger_file, text)
    })
    .unsupported(NO_TRIGGER)
    .letter('W'),
    valued("trigger-timeout", "TIME", "Run the trigger after this time", |run, text| {
        time(&mut run.trigger_timeout_ns, text)
    })
    .unsupported(NO_TRIGGER)
    .letter('B'),
    valued("trigger", "COMMAND", "Command of the trigger", |run, text| put(&mut run.trigger, text))
        .unsupported(NO_TRIGGER)
        .letter('H'),
    valued("trigger-remote", "COMMAND", "Command of the trigger on servers", |run, text| {
        put(&mut run.trigger_remote, text)
    })
    .unsupported(NO_TRIGGER)
    .letter('J'),
    valued("inflate-log", "FILE", "Print a compressed log", |run, text| put(&mut run.inflate_log, text))
        .unsupported("logs are not compressed")
        .letter('X'),
    switch("merge-blktrace-only", "Merge traces and end", |run, _| on(&mut run.merge_blktrace_only))
        .unsupported("traces are not merged")
        .letter('A'),
    valued("server", "ADDRESS", "Serve jobs to clients", |run, text| put(&mut run.server, text))
        .optional()
        .unsupported(NO_REMOTE)
        .letter('S'),
    valued("daemonize", "FILE", "Serve in the background", |run, text| put(&mut run.daemonize, text))
        .unsupported(NO_REMOTE)
        .letter('D'),
    valued("client", "HOST", "Run the jobs on a server", |run, text| add(&mut run.client, text))
        .unsupported(NO_REMOTE)
        .letter('C'),
    valued("remote-config", "FILE", "Job file on the server", |run, text| put(&mut run.remote_config, text))
        .unsupported(NO_REMOTE)
        .letter('R'),
    switch("cpuclock-test", "Test the processor's clock", |run, _| on(&mut run.cpuclock_test))
        .unsupported("the clock is checked whenever it is used")
        .letter('T'),
    valued("crctest", "TYPE", "Measure checksums", |run, text| put(&mut run.crctest, text))
        .optional()
        .unsupported("checksums are not measured")
        .letter('G'),
    valued("memcpytest", "TYPE", "Measure copying of memory", |run, text| put(&mut run.memcpytest, text))
        .optional()
        .unsupported("copying is not measured")
        .letter('M'),
    valued("allow-destroy", "TARGET", "Device that may be overwritten; may be repeated", |run, text| {
        add(&mut run.allow_destroy, text)
    }),
    valued("record", "FILE", "Write the recording to a file", |run, text| put(&mut run.record, text)),
    switch("no-db", "Do not list the run in the database", |run, _| on(&mut run.no_database)),
    switch("force", "Let outputs replace files that iolab did not write", |run, _| on(&mut run.force)),
    switch("keep-secrets", "Keep the values of ${VARIABLES} in recording and database", |run, _| {
        on(&mut run.keep_secrets)
    }),
    valued("vary", "OPTION=VALUES", "Try each of these values, in blocks (iodepth=1,4,16; bs=4k..1M:x2)", vary),
    valued(
        "repeat",
        "N",
        "Try each configuration this often, and say how sure the figures are; auto ends by itself",
        blocks,
    ),
    valued("blocks", "N", "The same as --repeat", blocks),
    valued(
        "ladder",
        "TARGET",
        "Latency against load, and the load that keeps a target (p99<=1ms; none)",
        |run, text| put(&mut run.study.ladder, text),
    ),
    valued("precondition", "HOW", "Before the trials: snia, fill, or a job file", |run, text| {
        put(&mut run.study.precondition, text)
    }),
    valued("steady", "auto", "Leave out the warm-up of each trial of a study", |run, text| {
        put(&mut run.study.steady, text)
    }),
    valued(
        "drive-profile",
        "NAME",
        "Begin a study from settings that suit a kind of drive: nand, optane",
        |run, text| put(&mut run.study.profile, text),
    ),
    valued("folder", "FOLDER", "Where the trials of a study are kept", |run, text| put(&mut run.study.folder, text)),
];

fn vary(run: &mut RunOptions, text: &str) -> Result<(), ValueError> {
    if !text.contains('=') {
        let reason = format!("`{text}` has no values");
        return Err(Piece::whole(text).refuse_with(reason, "an option and its values, as in iodepth=1,4,16"));
    }
    // Where it stands, whoever takes the command line apart knows.
    run.study.vary.push(VaryWords { text: text.to_owned(), span: (0, 0) });
    Ok(())
}

fn blocks(run: &mut RunOptions, text: &str) -> Result<(), ValueError> {
    if text != "auto" {
        number(text, 1, i64::from(u32::MAX))?;
    }
    put(&mut run.study.blocks, text)
}

fn on(flag: &mut bool) -> Result<(), ValueError> {
    *flag = true;
    Ok(())
}

fn put(place: &mut Option<String>, text: &str) -> Result<(), ValueError> {
    *place = Some(text.to_owned());
    Ok(())
}

fn add(place: &mut Vec<String>, text: &str) -> Result<(), ValueError> {
    if text.is_empty() {
        return Err(Piece::whole(text).refuse("the value is empty"));
    }
    place.push(text.to_owned());
    Ok(())
}

fn time(place: &mut Option<u64>, text: &str) -> Result<(), ValueError> {
    let ns = parse_ns(text, NS_PER_SECOND).map_err(|error| Piece::whole(text).refuse(error.to_string()))?;
    *place = Some(ns);
    Ok(())
}

fn number(text: &str, min: i64, max: i64) -> Result<i64, ValueError> {
    let piece = Piece::whole(text);
    let number = parse_count(text, KbBase::K1024).map_err(|error| piece.refuse(error.to_string()))?;
    if (min..=max).contains(&number) {
        Ok(number)
    } else {
        Err(piece.refuse(format!("{number} is not within {min} to {max}")))
    }
}

fn formats(run: &mut RunOptions, text: &str) -> Result<(), ValueError> {
    for part in Piece::whole(text).split(',') {
        let format = match part.text {
            "normal" => OutputFormat::Normal,
            "terse" | "minimal" => OutputFormat::Terse,
            "json" => OutputFormat::Json,
            "json+" => OutputFormat::JsonPlus,
            other => {
                let reason = format!("`{other}` is not a report format");
                return Err(part.refuse_with(reason, "one of: normal, terse, json, json+"));
            }
        };
        if !run.output_formats.contains(&format) {
            run.output_formats.push(format);
        }
    }
    Ok(())
}

fn eta(run: &mut RunOptions, text: &str) -> Result<(), ValueError> {
    run.eta = match text {
        "auto" => EtaWhen::Auto,
        "always" => EtaWhen::Always,
        "never" => EtaWhen::Never,
        other => {
            return Err(
                Piece::whole(text).refuse_with(format!("`{other}` is no time to show it"), "always, never or auto")
            );
        }
    };
    Ok(())
}

fn idle_profile(run: &mut RunOptions, text: &str) -> Result<(), ValueError> {
    run.idle_prof = Some(match text {
        "system" => IdleProfile::System,
        "percpu" => IdleProfile::PerCpu,
        "calibrate" => IdleProfile::Calibrate,
        other => {
            return Err(
                Piece::whole(text).refuse_with(format!("`{other}` is not known"), "system, percpu or calibrate")
            );
        }
    });
    Ok(())
}

/// Subjects of `--debug`; `job:N` limits it to one worker.
const DEBUG: &[&str] = &[
    "process",
    "file",
    "io",
    "mem",
    "blktrace",
    "verify",
    "random",
    "parse",
    "diskutil",
    "job",
    "mutex",
    "profile",
    "time",
    "net",
    "rate",
    "compress",
    "steadystate",
    "helperthread",
    "zbd",
    "fdp",
    "sprandom",
    "all",
];

fn debug(run: &mut RunOptions, text: &str) -> Result<(), ValueError> {
    for part in Piece::whole(text).split(',') {
        let subject = part.text.split_once(':').map_or(part.text, |(subject, _)| subject);
        if !DEBUG.contains(&subject) {
            let reason = format!("`{}` is nothing that can be watched", part.text);
            return Err(part.refuse_with(reason, format!("one of: {}", DEBUG.join(", "))));
        }
        run.debug.push(part.text.to_owned());
    }
    Ok(())
}
