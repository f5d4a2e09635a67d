//! Tests of the table and of what is made from it: every entry is parsed, shown, and distinct from
//! the others.

use std::collections::BTreeSet;

use iolab_jobfile::command_line::{self, Argument};
use iolab_resolve::Mode;

use super::*;
use crate::pipeline::here;

fn line(arguments: &[&str]) -> CommandLine {
    let words: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
    command_line::parse(&words, &shapes(), &here()).expect("a well-formed line")
}

fn good(arguments: &[&str]) -> RunOptions {
    read(&line(arguments), Mode::Iolab).unwrap_or_else(|errors| panic!("{arguments:?}: {errors:?}")).run
}

/// A valid value for each option that takes one.
fn example(option: &RunOption) -> &'static str {
    match option.shape.name {
        "output-format" => "json",
        "terse-version" | "max-jobs" | "repeat" | "blocks" => "3",
        "eta" => "always",
        "eta-newline" | "eta-interval" | "status-interval" | "trigger-timeout" => "2s",
        "alloc-size" => "16k",
        "idle-prof" => "system",
        "rank" => "1/4",
        "start-at" => "1795324917.5",
        "vary" => "iodepth=1,2",
        _ => "word",
    }
}

fn with_example(option: &RunOption) -> String {
    match option.shape.argument {
        Argument::None => format!("--{}", option.shape.name),
        _ if option.value_name.is_empty() => format!("--{}", option.shape.name),
        _ => format!("--{}={}", option.shape.name, example(option)),
    }
}

/// Each entry sets a field of its own. That the field is read is checked by the compiler.
#[test]
fn every_supported_option_sets_something_and_every_other_one_is_refused() {
    let nothing = format!("{:?}", RunOptions::default());
    let mut seen = BTreeSet::new();
    for option in RUN_OPTIONS {
        let text = with_example(option);
        let result = read(&line(&[&text]), Mode::Iolab);
        match option.support {
            Support::Full(_) => {
                let set = format!("{:?}", result.expect(&text).run);
                assert_ne!(set, nothing, "{text} sets nothing");
                assert!(seen.insert(set) || option.shape.name == "blocks", "{text} sets what another option sets");
            }
            Support::NothingToDo(_) => assert_eq!(format!("{:?}", result.expect(&text).run), nothing),
            Support::Harmless(_) | Support::Missing(_) => {
                assert!(result.expect_err(&text)[0].reason.contains("is not supported yet: "), "{text}");
            }
        }
    }
}

#[test]
fn as_fio_what_changes_nothing_is_said_and_left_out() {
    let found = read(&line(&["--alloc-size=16k", "--latency-log=l"]), Mode::Fio).expect("harmless");
    assert_eq!(found.warnings.len(), 1);
    assert!(found.warnings[0].reason.contains("write_lat_log"), "{:?}", found.warnings);
    assert_eq!(read(&line(&["--trigger-remote=x"]), Mode::Fio).expect_err("missing").len(), 1);
}

#[test]
fn names_and_letters_stand_for_one_option() {
    let mut names = BTreeSet::new();
    let mut letters = BTreeSet::new();
    for option in RUN_OPTIONS {
        assert!(names.insert(option.shape.name), "--{} twice", option.shape.name);
        assert!(option.shape.letter.is_none_or(|letter| letters.insert(letter)), "-{:?} twice", option.shape.letter);
        assert!(iolab_jobfile::find_option(option.shape.name).is_none(), "--{} is a job option", option.shape.name);
        assert_eq!(
            option.shape.argument == Argument::None,
            option.value_name.is_empty() && option.shape.name != "minimal" && option.shape.name != "append-terse"
        );
    }
}

#[test]
fn help_completions_and_manual_have_every_supported_option() {
    let page = usage(RUN, 100);
    let tree = crate::arguments::command_tree();
    tree.clone().debug_assert();
    for option in RUN_OPTIONS {
        let name = option.shape.name;
        assert_eq!(page.lines().any(|line| is_about(line, name)), option.is_supported(), "--{name} in help");
        for command in ["run", "plan"] {
            let command = tree.find_subcommand(command).expect("a subcommand");
            let known = command.get_arguments().any(|argument| argument.get_long() == Some(name));
            assert_eq!(known, option.is_supported(), "--{name} in the tree");
        }
    }
}

/// Whether a line of the help begins with `--name`, or with its letter and `--name`.
fn is_about(line: &str, name: &str) -> bool {
    let form = line.get(6..).and_then(|form| form.strip_prefix("--")).unwrap_or_default();
    form.split([' ', '=', '[']).next() == Some(name)
}

#[test]
fn values_are_typed() {
    let run = good(&[
        "--output=r.txt",
        "--output-format=json+,terse",
        "--terse-version=5",
        "--eta=never",
        "--eta-newline=1500ms",
        "--eta-interval=1",
        "--status-interval",
        "10",
        "--section=a",
        "--section",
        "b",
        "--max-jobs=64",
        "--allow-destroy",
        "/dev/x",
        "--allow-destroy=/dev/y",
        "--cmdhelp",
        "--enghelp",
    ]);
    assert_eq!(run.output.as_deref(), Some("r.txt"));
    assert_eq!(run.output_formats, [OutputFormat::JsonPlus, OutputFormat::Terse]);
    assert_eq!((run.terse_version, run.max_jobs), (Some(5), Some(64)));
    assert_eq!((run.eta, run.eta_newline_ns), (EtaWhen::Never, Some(1_500_000_000)));
    assert_eq!((run.eta_interval_ns, run.status_interval_ns), (Some(1_000_000_000), Some(10_000_000_000)));
    assert_eq!((run.sections.join("+"), run.allow_destroy.join("+")), ("a+b".into(), "/dev/x+/dev/y".into()));
    assert_eq!((run.cmdhelp.as_deref(), run.enghelp.as_deref()), (Some("all"), Some("")));
}

#[test]
fn formats_are_the_same_in_messages_and_help() {
    let words = super::values::OUTPUT_FORMATS.map(|(word, _)| word);
    assert_eq!(words.join(", "), OutputFormat::WORDS);
    let entry = RUN_OPTIONS.iter().find(|entry| entry.shape.name == "output-format").unwrap();
    assert!(entry.summary.ends_with(OutputFormat::WORDS), "{}", entry.summary);
    assert_eq!(OutputFormat::parse("minimal"), Some(OutputFormat::Terse));
}

#[test]
fn mistakes_are_refused_where_they_stand() {
    for (argument, marked, reason, advice) in [
        ("--output-format=json,foo", "json,foo", "not a report format", "json+"),
        ("--eta=xx", "xx", "xx", "auto"),
        ("--eta-interval=1ms", "1ms", "flood", ""),
        ("--max-jobs=many", "many", "not a number", ""),
        ("--terse-version=9", "9", "is not between", ""),
        ("--alloc-size=much", "much", "not a number", ""),
        ("--status-interval=soon", "soon", "not a number", ""),
        ("--vary=iodepth", "iodepth", "has no values", "iodepth=1,4,16"),
        ("--rank=4/4", "4/4", "is not a rank", "0/4 to 3/4"),
        ("--rank=1", "1", "is not a rank", "0/4 to 3/4"),
        ("--repeat=0", "0", "is not between", ""),
    ] {
        let line = line(&[argument]);
        let finding = read(&line, Mode::Iolab).expect_err(argument).remove(0);
        assert_eq!(&line.source.1[finding.span.0..finding.span.1], marked, "{argument}");
        assert!(finding.reason.contains(reason), "{argument}: {finding:?}");
        assert!(finding.suggestion.unwrap_or_default().contains(advice), "{argument}");
    }
}

#[test]
fn words_of_a_study_need_one_and_others_do_not_go_with_it() {
    for word in ["--steady=auto", "--drive-profile=nand", "--folder=f"] {
        let alone = line(&["--name=a", word]);
        let finding = refuse_without_a_study(&alone, &good(&[word])).expect_err(word);
        assert!(finding.suggestion.is_some_and(|advice| advice.contains("--vary")), "{word}");
        let with = ["--repeat=2", word];
        assert!(refuse_without_a_study(&line(&with), &good(&with)).is_ok(), "{word}");
        assert!(refuse_beside_a_study(&line(&with)).is_ok(), "{word}");
    }
    for word in ["--readonly", "--record=r", "--parse-only", "--force"] {
        assert!(refuse_beside_a_study(&line(&["--repeat=2", word])).is_err(), "{word}");
    }
    assert!(refuse_beside_a_study(&line(&["--vary=iodepth=1,2", "--no-db", "--allow-destroy=/dev/x"])).is_ok());
}
