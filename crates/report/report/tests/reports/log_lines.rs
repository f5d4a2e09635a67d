//! The fast formatting of log lines gives the same bytes as the plain one.

use iolab_plan::{Direction, LogKind, LogPlan};
use iolab_recording::{LogEntry, LoggedOperation, OperationTraits};
use iolab_report::{LogText, OperationLines, write_log_line};
use proptest::prelude::*;

use crate::fixture;

const KINDS: [LogKind; 5] = [LogKind::Lat, LogKind::Clat, LogKind::Slat, LogKind::Bw, LogKind::Iops];

/// The line of one log, formatted the plain way.
fn plainly(operation: &LoggedOperation, kind: LogKind, plan: &LogPlan) -> String {
    let OperationTraits { bytes, priority, direction } = operation.traits;
    let value = match kind {
        LogKind::Lat => operation.lat_ns,
        LogKind::Clat => operation.clat_ns,
        LogKind::Slat => operation.slat_ns,
        LogKind::Bw => u64::from(bytes) * 1_000_000 / operation.lat_ns.max(1),
        LogKind::Iops => 1,
    };
    let entry = LogEntry {
        time_ns: operation.time_ns,
        value,
        maximum: value,
        offset: operation.offset,
        issue_ns: operation.issue_ns,
        bytes,
        priority,
        kind,
        direction,
    };
    let mut line = String::new();
    write_log_line(&mut line, &entry, plan);
    line
}

fn number() -> impl Strategy<Value = u64> {
    let round = (0..20_u32, 0..3_u64).prop_map(|(digits, more)| (10_u64.pow(digits) + more).wrapping_sub(1));
    prop_oneof![
        Just(0),
        round,
        (0..65_u32, any::<u64>()).prop_map(|(bits, any)| any.checked_shr(64 - bits).unwrap_or(0))
    ]
}

fn traits() -> impl Strategy<Value = OperationTraits> {
    let any = (any::<u32>(), any::<u16>(), 0..3_usize);
    prop_oneof![Just((4096, 0, 0)), any].prop_map(|(bytes, priority, direction)| OperationTraits {
        bytes,
        priority,
        direction: Direction::ALL[direction],
    })
}

/// Neighbours in time, and some that are not.
fn operations() -> impl Strategy<Value = Vec<LoggedOperation>> {
    let one = (prop_oneof![3 => 0..3_000_000_u64, 1 => number()], number(), number(), number(), number(), traits());
    prop::collection::vec(one, 1..40).prop_map(|all| {
        let mut time_ns = 0_u64;
        let mut step = |by: u64| {
            time_ns = time_ns.wrapping_add(by);
            time_ns
        };
        let all = all.into_iter().map(|(by, lat_ns, clat_ns, slat_ns, offset, traits)| {
            let time_ns = step(by);
            LoggedOperation {
                time_ns,
                issue_ns: time_ns.wrapping_sub(lat_ns),
                lat_ns,
                clat_ns,
                slat_ns,
                offset,
                traits,
            }
        });
        all.collect()
    })
}

proptest! {
    #[test]
    fn both_ways_write_the_same(operations in operations(), offset: bool, priority: bool, issue_time: bool) {
        let plan = LogPlan { offset, priority, issue_time, ..fixture::logs() };
        let mut lines = OperationLines::new(&plan);
        for kind in KINDS {
            let mut text = LogText::new(100);
            let (mut found, mut expected) = (Vec::new(), String::new());
            for operation in &operations {
                lines.begin(operation);
                if text.is_full() {
                    found.extend_from_slice(text.as_bytes());
                    text.clear();
                }
                lines.add_to(&mut text, kind);
                expected.push_str(&plainly(operation, kind, &plan));
            }
            found.extend_from_slice(text.as_bytes());
            prop_assert_eq!(String::from_utf8(found).expect("text"), expected);
        }
    }
}

#[test]
fn a_text_is_full_before_a_line_finds_no_room() {
    let plan = LogPlan { offset: true, priority: true, issue_time: true, ..fixture::logs() };
    let longest = LoggedOperation {
        time_ns: u64::MAX,
        issue_ns: u64::MAX,
        lat_ns: u64::MAX,
        clat_ns: u64::MAX,
        slat_ns: u64::MAX,
        offset: u64::MAX,
        traits: OperationTraits { bytes: u32::MAX, priority: u16::MAX, direction: Direction::Trim },
    };
    let (mut lines, mut text, mut count) = (OperationLines::new(&plan), LogText::new(1000), 0);
    lines.begin(&longest);
    while !text.is_full() {
        lines.add_to(&mut text, LogKind::Clat);
        count += 1;
    }
    assert!(count > 5);
    assert_eq!(text.as_bytes(), plainly(&longest, LogKind::Clat, &plan).repeat(count).as_bytes());
}
