//! Valid and invalid command lines, alone and with job files.

use super::*;
use crate::test_surroundings::Fixed;
use crate::{Input, JobSet, ParseRequest};

const fn option(name: &'static str, letter: char, argument: Argument) -> ProgramOption {
    ProgramOption { name, letter: Some(letter), argument }
}

/// Options of a made-up program.
const PROGRAM: &[ProgramOption] = &[
    option("help", 'h', Argument::None),
    option("version", 'v', Argument::None),
    option("readonly", 'r', Argument::None),
    option("output", 'o', Argument::Required),
    option("output-format", 'F', Argument::Required),
    option("section", 'x', Argument::Required),
    option("status-interval", 'L', Argument::Required),
    option("bandwidth-log", 'b', Argument::None),
    option("minimal", 'm', Argument::Optional),
    option("cmdhelp", 'c', Argument::Optional),
    ProgramOption { name: "no-db", letter: None, argument: Argument::None },
];

fn line(arguments: &[&str]) -> Result<CommandLine, ParseFailure> {
    let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
    parse(&arguments, PROGRAM, &Fixed)
}

/// The program's options of a line, as `name` and `name=value`.
fn program(arguments: &[&str]) -> Vec<String> {
    let text = |setting: &ProgramSetting| match &setting.value {
        Some(value) => format!("{}={value}", setting.name),
        None => setting.name.to_owned(),
    };
    good(arguments).program.iter().map(text).collect()
}

fn good(arguments: &[&str]) -> CommandLine {
    line(arguments).unwrap_or_else(|failure| panic!("{arguments:?}: {:?}", failure.diagnostics))
}

/// `(marked text, reason, suggestion)` of the first finding.
fn refused(arguments: &[&str]) -> (String, String, String) {
    let failure = line(arguments).expect_err("must be refused");
    let finding = &failure.diagnostics[0];
    let marked = failure.sources[0].1[finding.span.0..finding.span.1].to_owned();
    (marked, finding.reason.clone(), finding.suggestion.clone().unwrap_or_default())
}

fn jobs(arguments: &[&str], files: &[&str]) -> JobSet {
    let line = good(arguments);
    let files: Vec<Input> =
        files.iter().map(|text| Input { name: "f.fio".to_owned(), bytes: text.as_bytes().to_vec() }).collect();
    crate::parse(&ParseRequest { command_line: Some(&line), files: &files, sections: &[] }, &Fixed)
        .unwrap_or_else(|failure| panic!("{:?}", failure.diagnostics))
}

#[test]
fn every_form_of_an_option_means_the_same() {
    for form in [&["--iodepth=8"][..], &["-iodepth=8"], &["--iodepth", "8"], &["-iodepth", "8"], &["--iodepth=(2*4)"]] {
        let arguments: Vec<&str> = ["--name=a"].iter().chain(form).copied().collect();
        assert_eq!(jobs(&arguments, &[]).jobs[0].settings.integer("iodepth"), Some(8), "{form:?}");
    }
    assert_eq!(
        jobs(&["--name", "x", "--time_based", "--runtime", "5"], &[]).jobs[0].settings.flag("time_based"),
        Some(true)
    );
}

#[test]
fn names_may_be_cut_short() {
    let set = jobs(&["--name=a", "--runt=5", "--status=10"], &[]);
    assert_eq!(set.jobs[0].settings.time_ns("runtime"), Some(5_000_000_000));
    assert_eq!(program(&["-h", "-v", "--status=10"]), ["help", "version", "status-interval=10"]);
}

#[test]
fn jobs_begin_at_name_and_globals_stand_before() {
    let set = jobs(&["--bs=8k", "--name=a", "--iodepth=2", "--name=b", "--rw=write"], &[]);
    let names: Vec<&str> = set.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(set.jobs[1].settings.sizes("bs"), Some([Some(8192); 3]));
    assert_eq!(set.jobs[1].settings.integer("iodepth"), None);
    assert_eq!(set.jobs[0].own.text("name"), Some("a"));
    assert_eq!(
        set.sources[0],
        ("command line".to_owned(), "--bs=8k --name=a --iodepth=2 --name=b --rw=write".to_owned())
    );
}

#[test]
fn global_options_hold_for_the_first_file_and_do_not_override_it() {
    let file = "[global]\niodepth=4\n[one]\nruntime=3\n[two]\n";
    let set = jobs(&["--runtime=1", "x.fio", "--bs=8k"], &[file, "[three]\n"]);
    let seconds: Vec<_> =
        set.jobs.iter().map(|job| job.settings.time_ns("runtime").map(|ns| ns / 1_000_000_000)).collect();
    assert_eq!(seconds, [Some(3), Some(1), None]);
    assert_eq!(set.jobs[1].settings.sizes("bs"), Some([Some(8192); 3]));
    assert_eq!(set.jobs[1].settings.integer("iodepth"), Some(4));
    assert!(set.jobs[2].begins_file && !set.jobs[0].begins_file);
}

#[test]
fn jobs_of_the_command_line_come_first_and_keep_their_options() {
    let set = jobs(&["--size=1m", "f.fio", "--name=x", "--bs=8k"], &["[a]\n"]);
    assert_eq!(set.jobs[0].name, "x");
    assert_eq!((set.jobs[1].settings.has("bs"), set.jobs[1].settings.has("size")), (false, true));
}

#[test]
fn an_option_that_the_job_file_sets_for_every_job_is_named() {
    let warnings = |arguments: &[&str], texts: &[&str]| {
        let (line, set) = (good(arguments), jobs(arguments, texts));
        let text = |finding: &crate::Diagnostic| line.source.1[finding.span.0..finding.span.1].to_owned();
        crate::without_effect(&line, &set).iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(
        warnings(&["--runtime=2", "--bs=8k", "f.fio"], &["[global]\nruntime=1\n[a]\n[b]\nbs=4k\n"]),
        ["--runtime"]
    );
    assert_eq!(warnings(&["f.fio", "--runtime=2"], &["[a]\nruntime=1\n"]), ["--runtime"]);
    let engine = ["--ioengine=io_uring", "--hipri=0", "f.fio"];
    assert_eq!(warnings(&engine, &["[a]\nhipri=1\n"]), ["--hipri"]);
    // A job that takes the option, a job of the command line, a second file that has its own.
    assert!(warnings(&["--runtime=2", "f.fio"], &["[a]\nruntime=1\n[b]\n"]).is_empty());
    assert!(warnings(&["--runtime=2", "f.fio", "--name=x"], &["[a]\nruntime=1\n"]).is_empty());
    assert!(warnings(&["--runtime=2", "f.fio", "g.fio"], &["[a]\n", "[b]\nruntime=1\n"]).is_empty());
}

#[test]
fn options_of_the_program_are_handed_over_as_they_are_written() {
    let line = good(&["--output=r.txt", "--readonly", "--name=a", "--section", "b", "a.fio", "-", "--", "--odd.fio"]);
    let text = |setting: &ProgramSetting| line.source.1[setting.span.0..setting.span.1].to_owned();
    assert_eq!(line.program.iter().map(text).collect::<Vec<_>>(), ["r.txt", "--readonly", "b"]);
    assert_eq!(line.program[1], ProgramSetting { name: "readonly", value: None, span: (15, 25) });
    assert_eq!(line.files, ["a.fio", "-", "--odd.fio"]);
    assert!(line.defines_jobs() && !good(&["--readonly"]).defines_jobs());
}

#[test]
fn optional_values_stand_behind_the_equals_sign_only() {
    let line = good(&["--cmdhelp", "--minimal", "bs"]);
    assert!(line.program.iter().all(|setting| setting.value.is_none()));
    assert_eq!(line.files, ["bs"]);
    assert_eq!(program(&["--cmdhelp=bs", "-cbs"]), ["cmdhelp=bs", "cmdhelp=bs"]);
}

#[test]
fn engine_options_may_stand_anywhere() {
    for arguments in
        [&["--name=a", "--hipri", "--ioengine=io_uring"][..], &["--ioengine", "uring", "--hipri", "--name=a"]]
    {
        assert_eq!(jobs(arguments, &[]).jobs[0].engine_settings.flag("hipri"), Some(true), "{arguments:?}");
    }
    let set = jobs(&["--name=a", "--cmd_type", "nvme", "--ioengine=io_uring"], &[]);
    assert_eq!(set.jobs[0].engine_settings.text("cmd_type"), Some("nvme"));
    let set = jobs(&["--cmd_type", "nvme", "--hipri", "f.fio"], &["[a]\nioengine=io_uring\n"]);
    assert_eq!(set.jobs[0].engine_settings.text("cmd_type"), Some("nvme"));
    assert_eq!(set.jobs[0].engine_settings.flag("hipri"), Some(true));
}

#[test]
fn sections_are_selected() {
    let file = "[global]\niodepth=2\n[a]\n[b]\nbs=8q\n[c]\n";
    let line = good(&["--section=a", "--section=c", "--name=x"]);
    let files = [Input { name: "f.fio".to_owned(), bytes: file.as_bytes().to_vec() }];
    let sections = ["a".to_owned(), "c".to_owned()];
    let request = ParseRequest { command_line: Some(&line), files: &files, sections: &sections };
    let set = crate::parse(&request, &Fixed).expect("sections that are there");
    let names: Vec<&str> = set.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["x", "a", "c"]);
    let line = good(&["--section=aa"]);
    let files = [Input { name: "f".to_owned(), bytes: b"[a1]\n".to_vec() }];
    let failure =
        crate::parse(&ParseRequest { command_line: Some(&line), files: &files, sections: &["aa".to_owned()] }, &Fixed)
            .expect_err("no such section");
    assert!(failure.diagnostics[0].reason.contains("`aa`"));
}

#[test]
fn mistakes_are_refused_where_they_stand() {
    let cases: &[(&[&str], &str, &str, &str)] = &[
        (&["--blob=1"], "--blob", "not an option", ""),
        (&["--iodeph=4"], "--iodeph", "not an option", "`--iodepth`"),
        (&["--out=x"], "--out", "ambiguous", "--output-format"),
        (&["--buffered"], "--buffered", "needs a value", "--buffered="),
        (&["--output"], "--output", "needs a value", ""),
        (&["--readonly=1"], "1", "takes no value", ""),
        (&["--help=3"], "3", "takes no value", ""),
        (&["--name=a", "--filename=a b", "--q uote"], "'--q uote'", "not an option", ""),
    ];
    for (arguments, marked, reason, advice) in cases {
        let found = refused(arguments);
        assert_eq!(found.0, *marked, "{arguments:?}: {found:?}");
        assert!(found.1.contains(reason) && found.2.contains(advice), "{arguments:?}: {found:?}");
    }
}

#[test]
fn values_are_checked_with_the_place_on_the_command_line() {
    let line = good(&["--name=a", "--bs=4k,8q"]);
    let failure =
        crate::parse(&ParseRequest { command_line: Some(&line), ..ParseRequest::default() }, &Fixed).expect_err("8q");
    let (begin, end) = failure.diagnostics[0].span;
    assert_eq!((failure.diagnostics[0].source, &failure.sources[0].1[begin..end]), (0, "8q"));
    let line = good(&["--name=a", "--bs", "4k, 8q"]);
    let failure =
        crate::parse(&ParseRequest { command_line: Some(&line), ..ParseRequest::default() }, &Fixed).expect_err("8q");
    let (begin, end) = failure.diagnostics[0].span;
    assert_eq!(&failure.sources[0].1[begin..end], "'4k, 8q'");
}

#[test]
fn one_letter_names_are_fios() {
    let arguments = ["-o", "r.txt", "-Fjson", "-r", "-x", "a", "-xb", "-L=1", "-m"];
    let expected =
        ["output=r.txt", "output-format=json", "readonly", "section=a", "section=b", "status-interval=1", "minimal"];
    assert_eq!(program(&arguments), expected);
    // `-bs` is a name, not `-b s`; two dashes never introduce a letter.
    assert_eq!(jobs(&["--name=a", "-bs", "8k"], &[]).jobs[0].settings.sizes("bs"), Some([Some(8192); 3]));
    assert!(refused(&["--v"]).1.contains("ambiguous"));
}

#[test]
fn a_name_that_begins_with_global_is_no_job() {
    let set = jobs(&["--name=global", "--bs=8k", "--name=a", "--name=globals", "--iodepth=2", "--name=b"], &[]);
    let names: Vec<&str> = set.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert!(set.jobs.iter().all(|job| job.settings.sizes("bs") == Some([Some(8192); 3])));
    assert_eq!(set.jobs.iter().map(|job| job.settings.integer("iodepth")).collect::<Vec<_>>(), [None, Some(2)]);
}
