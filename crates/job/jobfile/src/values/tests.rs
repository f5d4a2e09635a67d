//! Values by kind, beyond the examples of the table.

use iolab_options::{TimeUnit, Value, ValueKind};
use iolab_units::KbBase;

use super::*;

#[test]
fn expressions_count_exactly() {
    let cases: &[(&str, Option<i64>)] = &[
        ("(1+2*3)", Some(7)),
        ("((1+2)*3)", Some(9)),
        ("(2^3^2)", Some(512)),
        ("(7/2)", Some(3)),
        ("(7%4)", Some(3)),
        ("(-2)", Some(-2)),
        ("(4k)", Some(4096)),
        ("(2^3)k", Some(8192)),
        ("(0x10)", Some(16)),
        ("( 1 + 1 )", Some(2)),
        ("(1+)", None),
        ("(1", None),
        ("(1))", None),
        ("()", None),
        ("(1 2)", None),
        ("(9^99)", None),
        ("(2^-1)", None),
        ("(1/0)", None),
        ("(5%0)", None),
        ("(1.5)", None),
    ];
    let kind = ValueKind::Integer { min: i64::MIN, max: i64::MAX };
    for (text, expected) in cases {
        let value = parse_value(&kind, Some(text), NumberRules::default()).ok();
        assert_eq!(value, expected.map(Value::Integer), "{text}");
    }
}

#[test]
fn times_in_parentheses_count_in_microseconds() {
    let kind = ValueKind::Time { unit: TimeUnit::Seconds };
    let cases = [
        ("(10)", 10_000),
        ("(2*3s)", 6_000_000_000),
        ("(5s+100)", 5_000_100_000),
        ("(10s/2s)", 5_000),
        ("10", 10_000_000_000),
    ];
    for (text, ns) in cases {
        assert_eq!(parse_value(&kind, Some(text), NumberRules::default()), Ok(Value::Time(ns)), "{text}");
    }
    let bare = NumberRules { bare_arithmetic: true, kb_base: KbBase::K1024 };
    assert_eq!(parse_value(&kind, Some("2*5"), bare), Ok(Value::Time(10_000_000_000)));
}

#[test]
fn triples_inherit_as_the_manual_says() {
    let cases = [
        ("8k", [Some(8), Some(8), Some(8)]),
        ("8k,32k", [Some(8), Some(32), Some(32)]),
        ("8k,32k,", [Some(8), Some(32), None]),
        (",8k", [None, Some(8), Some(8)]),
        (",8k,", [None, Some(8), None]),
        (",,8k", [None, None, Some(8)]),
        ("8k,", [Some(8), None, None]),
    ];
    for (text, expected) in cases {
        let expected = expected.map(|kib: Option<u64>| kib.map(|kib| kib << 10));
        assert_eq!(
            parse_value(&ValueKind::Sizes, Some(text), NumberRules::default()),
            Ok(Value::Sizes(expected)),
            "{text}"
        );
    }
}

#[test]
fn refusals_point_at_the_part() {
    let cases: &[(ValueKind, &str, &str)] = &[
        (ValueKind::Splits, "4k/50:8q/50", "8q"),
        (ValueKind::Splits, "4k/50:8k/5x", "5x"),
        (ValueKind::SizeRanges, "1k-4k, 2k-8q", "8q"),
        (ValueKind::Distribution, "zipf:1.2:7", "7"),
        (ValueKind::CpuList, "0,x-3", "x"),
        (ValueKind::ErrorNumbers, "EIO,ENOSUCH", "ENOSUCH"),
        (ValueKind::BytePattern, "0xabq", "q"),
        (ValueKind::SizeOrPercent, "120%", "120"),
    ];
    for (kind, text, part) in cases {
        let error = parse_value(kind, Some(text), NumberRules::default()).expect_err(text);
        assert_eq!(&text[error.range.0..error.range.1], *part, "{text}: {}", error.reason);
    }
}

#[test]
fn only_switches_may_stand_alone() {
    assert_eq!(parse_value(&ValueKind::Switch, None, NumberRules::default()), Ok(Value::Flag(true)));
    let nothing = parse_value(&ValueKind::OptionalText, None, NumberRules::default());
    assert_eq!(nothing, Ok(Value::Text(String::new())));
    assert!(parse_value(&ValueKind::Bool, None, NumberRules::default()).is_err());
    assert!(parse_value(&ValueKind::Text, None, NumberRules::default()).is_err());
    assert!(parse_value(&ValueKind::Switch, Some(""), NumberRules::default()).is_err());
}
