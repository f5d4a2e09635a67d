//! Mistakes that fio silently accepts or misattributes: each must be refused, with the caret on the
//! mistake.

use super::{bad, parse_texts};
use crate::test_surroundings::Fixed;
use crate::{Input, ParseRequest, parse, render};

#[test]
fn nonsense_is_refused_where_it_stands() {
    let cases: &[(&str, &str, &str)] = &[
        ("[a]\nbs=8q\n", "8q", "not a unit of size"),
        ("[a]\nbs=4k,8q\n", "8q", "not a unit of size"),
        ("[a\nbs=4k\n", "[a", "closing `]`"),
        ("[]\n", "[]", "no name"),
        ("[a]junk\n", "junk", "unexpected text after"),
        ("[a]\ninclude missing.inc\n", "missing.inc", "cannot be included"),
        ("[a]\ninclude loop.inc\n", "loop.inc", "nested too deeply"),
        ("[a]\ninclude section.inc\n", "[inner]", "must not begin a section"),
        ("[a]\ninclude bad.inc\n", "8q", "not a unit of size"),
        ("[a]\niodepth=5000000\n", "5000000", "above the largest value"),
        ("[a]\nbssplit=4k/60:8k/60\n", "4k/60:8k/60", "add up to 120"),
        ("[a]\nbssplit=4k/50:8k/50,2k/101\n", "101", "not a whole percentage"),
        ("[a]\nbuffered\n", "buffered", "a value is missing"),
        ("[a]\nbs=\n", "bs=", "the value is empty"),
        ("[a]\nrw=Read\n", "Read", "is not a known value"),
        ("[a]\ndirect=yes\n", "yes", "neither 0 nor 1"),
        ("bs=4k\n[a]\n", "bs=4k", "outside any section"),
        ("[a]\nioedpth=4\n", "ioedpth", "neither a job option"),
        ("[a]\ngarbage line\n", "garbage line", "neither a job option"),
        ("[a]\n=4\n", "", "neither a job option"),
        ("[a]\nsize=${UNSET}\n", "${UNSET}", "the value is empty"),
        ("[a]\nsize=10*1k\n", "10*1k", "not a unit of size"),
        ("[a]\nsize=(1/0)\n", "(1/0)", "division by zero"),
        ("[a]\nnumjobs=$ncpus-9\n", "$ncpus-9", "below the smallest value"),
        ("[a]\nruntime=(2s*3s)\n", "(2s*3s)", "the result of the expression is not a time"),
        ("[a]\nrwmixread=101\n", "101", "above the largest value"),
        ("[a]\npercentile_list=50:99:abc\n", "abc", "is not a number"),
        ("[a]\ncpus_allowed=4-2\n", "4-2", "is reversed"),
        ("[a]\nrandom_distribution=zoned:60/10:50/90\n", "60/10:50/90", "add up to 110"),
    ];
    for (text, marked, reason) in cases {
        let found = bad(text);
        assert_eq!(found[0].0, *marked, "{text:?}: {found:?}");
        assert!(found[0].1.contains(reason), "{text:?}: {found:?}");
    }
}

#[test]
fn suggestions_help() {
    let cases = [
        ("[a]\nioedpth=4\n", "`iodepth`"),
        ("[a]\nrw=radnread\n", "`randread`"),
        ("[a]\nsize=10*1k\n", "parentheses"),
        ("[a]\nsize=${UNSET}\n", "UNSET is not set"),
        ("[a]\nbsrange=4k\n", "min-max"),
        ("[a]\nbs=\"4k\"\n", "without quotes"),
    ];
    for (text, advice) in cases {
        let found = bad(text);
        assert!(found[0].2.contains(advice), "{text:?}: {found:?}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let found = bad("[global]\nbs=8q\n[a]\nrw=nothing\nfoo=1\n[b\niodepth=0\n");
    let marked: Vec<&str> = found.iter().map(|finding| finding.0.as_str()).collect();
    assert_eq!(marked, ["8q", "nothing", "foo", "[b", "0"]);
}

#[test]
fn names_are_limited_to_255_bytes() {
    let name = |length: usize| format!("[{}]\n", "n".repeat(length));
    assert!(parse_texts(&[&name(255)]).is_ok());
    assert!(bad(&name(256))[0].1.contains("longer than 255"));
}

#[test]
fn binary_files_are_refused_with_the_place() {
    let cases: [(&[u8], &str); 3] = [
        (b"\x7fELF\x02\x01\x00\x00", "binary file"),
        (b"[a]\nbs=4k\n\x00", "line 3"),
        (b"[a]\ndescription=caf\xe9\n", "byte 0xe9 in line 2 is not UTF-8"),
    ];
    for (bytes, reason) in cases {
        let files = [Input { name: "x".to_owned(), bytes: bytes.to_vec() }];
        let failure = parse(&ParseRequest { files: &files, ..ParseRequest::default() }, &Fixed).expect_err(reason);
        assert_eq!(failure.diagnostics.len(), 1);
        assert!(failure.diagnostics[0].reason.contains(reason), "{:?}", failure.diagnostics);
    }
}

#[test]
fn a_rendered_error_has_place_reason_and_help() {
    let failure = parse_texts(&["[global]\nioengine=null\n\n[a]\nbs=4k,8q\n"]).expect_err("8q");
    let text = render(&failure.diagnostics, &failure.sources, false);
    for part in ["job0.fio:5:7", "bs=4k,8q", "^^", "`q` is not a unit of size"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(render(&failure.diagnostics, &failure.sources, true).contains('\u{1b}'));
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let failure = crate::command_line::parse(&["--bs\u{1b}[31m=4k".to_owned()], &[], &Fixed).expect_err("escape");
    assert!(!render(&failure.diagnostics, &failure.sources, false).contains('\u{1b}'));
}
