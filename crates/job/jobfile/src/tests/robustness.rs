//! Arbitrary input must never cause a panic, neither when it is parsed nor when its errors are
//! rendered.

use proptest::prelude::*;

use crate::test_surroundings::Fixed;
use crate::values::{NumberRules, canonical, parse_value};
use crate::{Diagnostic, DiagnosticSeverity, OPTIONS, fuzz_entry, render};

/// Pieces of which nearly valid job files are made.
const PIECES: &[&str] = &[
    "[",
    "]",
    "global",
    "a",
    "\n",
    "\r\n",
    "=",
    " ",
    ",",
    ":",
    "/",
    "-",
    "%",
    "(",
    ")",
    "*",
    "^",
    "$ncpus",
    "${SIZE}",
    "${",
    "}",
    "8q",
    "4k",
    "bs",
    "rw",
    "bssplit",
    "ioengine",
    "io_uring",
    "hipri",
    "include ",
    "loop.inc",
    ";",
    "#",
    "\"",
    "0x",
    "z",
    "é",
    "\u{feff}",
    "--",
    "name",
    "99999999999999999999",
    "random_distribution",
    "zoned",
    "\0",
    "\t",
];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        fuzz_entry(&bytes, &Fixed);
    }

    #[test]
    fn nearly_right_texts_never_panic(picks in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let text: String = picks.into_iter().map(|pick| PIECES[pick]).collect();
        fuzz_entry(text.as_bytes(), &Fixed);
    }

    #[test]
    fn values_never_panic_and_print_what_they_are(
        option in 0..OPTIONS.len(),
        picks in proptest::collection::vec(0..PIECES.len(), 1..8),
        bare_arithmetic in any::<bool>(),
    ) {
        let text: String = picks.into_iter().map(|pick| PIECES[pick]).collect();
        let rules = NumberRules { bare_arithmetic, ..NumberRules::default() };
        match parse_value(&OPTIONS[option].kind, Some(&text), rules) {
            Ok(value) => { let _ = canonical(&value); }
            Err(error) => {
                prop_assert!(error.range.0 <= error.range.1 && error.range.1 <= text.len());
                prop_assert!(text.is_char_boundary(error.range.0) && text.is_char_boundary(error.range.1));
            }
        }
    }

    #[test]
    fn any_place_can_be_rendered(text in ".{0,80}", begin in 0..120_usize, end in 0..120_usize, color in any::<bool>()) {
        let finding = Diagnostic {
            severity: DiagnosticSeverity::Warning, source: 0, span: (begin, end), reason: text.clone(), suggestion: Some(text.clone()),
        };
        let _ = render(&[finding], &[("x".to_owned(), format!("{text}\n{text}\n"))], color);
    }
}

#[test]
fn huge_lines_and_deep_nesting_are_survived() {
    let huge = format!("[a]\nfilename={}\nbs={}\n", "x".repeat(1 << 20), "9".repeat(1 << 16));
    fuzz_entry(huge.as_bytes(), &Fixed);
    fuzz_entry("[a]\nnonsense\n".repeat(3_000).as_bytes(), &Fixed);
    fuzz_entry("[a\nx=1;y\n".repeat(3_000).as_bytes(), &Fixed);
    fuzz_entry(format!("[a]\nbs={}1{}\n", "(".repeat(100_000), ")".repeat(100_000)).as_bytes(), &Fixed);
    fuzz_entry(format!("[a]\nbs=({}1)\n", "-".repeat(100_000)).as_bytes(), &Fixed);
    fuzz_entry(format!("[a]\nsize=(2{})\n", "^2".repeat(100_000)).as_bytes(), &Fixed);
}
