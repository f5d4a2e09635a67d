//! Spooled records are read as they were written, for any records and any end of the file.

use iolab_plan::{Direction, LogKind};
use iolab_recording::{BlockHeader, LogEntry, LoggedOperation, OperationTraits, SpoolBlock, SpooledRecord};
use proptest::prelude::*;

fn traits() -> impl Strategy<Value = OperationTraits> {
    let any = (any::<u32>(), any::<u16>(), 0..3_usize);
    let any = any.prop_map(|(bytes, priority, direction)| (bytes, priority, Direction::ALL[direction]));
    let usual = Just((4096, 0, Direction::Read));
    prop_oneof![4 => usual, 1 => any].prop_map(|(bytes, priority, direction)| OperationTraits {
        bytes,
        priority,
        direction,
    })
}

/// Numbers of every length, and those around the limits of the lengths.
fn number() -> impl Strategy<Value = u64> {
    let limit =
        (0..9_u32, -2..3_i64).prop_map(|(bytes, by)| 1_u64.checked_shl(8 * bytes).unwrap_or(0).wrapping_add_signed(by));
    prop_oneof![
        Just(0),
        (0..65_u32, any::<u64>()).prop_map(|(bits, any)| any.checked_shr(64 - bits).unwrap_or(0)),
        limit
    ]
}

/// Operations whose stamps follow from each other, as they do, and some whose do not.
fn operation(last_ns: u64) -> impl Strategy<Value = LoggedOperation> {
    (number(), number(), number(), number(), traits(), 0..8_u8).prop_map(
        move |(delta, clat, slat, offset, traits, odd)| {
            let time_ns = last_ns.wrapping_add(delta);
            let lat_ns = clat.wrapping_add(slat);
            let mut operation = LoggedOperation {
                time_ns,
                issue_ns: time_ns.wrapping_sub(lat_ns),
                lat_ns,
                clat_ns: clat,
                slat_ns: slat,
                offset,
                traits,
            };
            match odd {
                0 => operation.issue_ns = offset,
                1 => operation.lat_ns = offset,
                _ => {}
            }
            operation
        },
    )
}

fn window(time_ns: u64) -> LogEntry {
    LogEntry {
        time_ns,
        value: 1,
        maximum: 2,
        offset: 3,
        issue_ns: 4,
        bytes: 5,
        priority: 6,
        kind: LogKind::Bw,
        direction: Direction::Trim,
    }
}

fn records() -> impl Strategy<Value = Vec<SpooledRecord>> {
    let record = prop_oneof![
        9 => number().prop_flat_map(operation).prop_map(SpooledRecord::Operation),
        1 => number().prop_map(|time_ns| SpooledRecord::Window(window(time_ns)))
    ];
    prop::collection::vec(record, 0..40)
}

fn put(block: &mut SpoolBlock, record: &SpooledRecord) {
    match record {
        SpooledRecord::Operation(operation) => block.operation(operation),
        SpooledRecord::Window(entry) => block.window(entry),
    }
}

fn read(block: &[u8]) -> Vec<SpooledRecord> {
    let (header, rest) = block.split_first_chunk().expect("a header");
    let header = BlockHeader::decode(header).expect("a possible header");
    assert!(rest.len() <= header.length());
    header.records(rest).collect()
}

proptest! {
    #[test]
    fn records_come_back(records in records(), offsets in any::<bool>(), cut in 0..40_usize) {
        let mut block = SpoolBlock::new(offsets, true);
        let seen = |record: &SpooledRecord| match *record {
            // A full record holds the offset anyway.
            SpooledRecord::Operation(operation) if !offsets => {
                SpooledRecord::Operation(LoggedOperation { offset: 0, ..operation })
            }
            other => other,
        };
        let mut ends = vec![BlockHeader::BYTES];
        let second = cut.min(records.len());
        for (part, begin) in [(&records[..second], 0), (&records[second..], second)] {
            for record in part {
                prop_assert!(!block.is_full());
                put(&mut block, record);
                if begin == 0 {
                    ends.push(block.seal().len());
                }
            }
            let bytes = block.seal().to_vec();
            let found = read(&bytes);
            prop_assert_eq!(found.iter().map(seen).collect::<Vec<_>>(), part.iter().map(seen).collect::<Vec<_>>());
            if begin == 0 {
                for at in BlockHeader::BYTES..bytes.len() {
                    let whole = ends.iter().filter(|end| **end <= at).count() - 1;
                    prop_assert_eq!(&read(&bytes[..at])[..], &found[..whole], "cut at {}", at);
                }
            }
            block.clear();
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 24..400), length in any::<u8>(), flags in 0..8_u8) {
        let mut bytes = bytes;
        bytes[..4].copy_from_slice(&[length, 0, 0, 0]);
        bytes[5..8].fill(0);
        bytes[16] = flags;
        let (header, rest) = bytes.split_first_chunk().expect("a header");
        let Some(header) = BlockHeader::decode(header) else {
            prop_assert!(flags > 3);
            return Ok(());
        };
        // What was read can be written and is read again.
        let mut block = SpoolBlock::new(flags & 1 != 0, false);
        let found: Vec<_> = header.records(rest).collect();
        found.iter().for_each(|record| put(&mut block, record));
        let offset = |record: &SpooledRecord| match *record {
            SpooledRecord::Operation(operation) if flags & 1 == 0 => {
                SpooledRecord::Operation(LoggedOperation { offset: 0, ..operation })
            }
            other => other,
        };
        let again: Vec<_> = read(block.seal()).iter().map(offset).collect();
        prop_assert_eq!(again, found.iter().map(offset).collect::<Vec<_>>());
    }
}

#[test]
fn a_block_takes_the_longest_records_until_it_is_full() {
    let mut block = SpoolBlock::new(true, true);
    let odd = LoggedOperation { lat_ns: u64::MAX, issue_ns: 7, offset: 9, ..LoggedOperation::default() };
    while !block.is_full() {
        block.operation(&odd);
    }
    let (operations, windows) = block.records();
    let bytes = block.seal();
    assert!(bytes.len() <= SpoolBlock::MOST_BYTES && bytes.len() > SpoolBlock::MOST_BYTES - 128);
    assert_eq!(read(bytes), vec![SpooledRecord::Operation(odd); operations as usize]);
    assert_eq!(windows, 0);
}

#[test]
fn an_operation_like_the_one_before_takes_a_few_bytes() {
    let mut block = SpoolBlock::new(false, true);
    let traits = OperationTraits { bytes: 4096, priority: 0, direction: Direction::Write };
    let mut add = |time_ns: u64, clat_ns: u64, slat_ns: u64| {
        let lat_ns = clat_ns + slat_ns;
        block.operation(&LoggedOperation {
            time_ns,
            issue_ns: time_ns - lat_ns,
            lat_ns,
            clat_ns,
            slat_ns,
            offset: 1 << 40,
            traits,
        });
        block.seal().len()
    };
    let mut end = add(100_000, 50, 0);
    for (time_ns, clat_ns, slat_ns, bytes) in [(100_100, 90, 0, 3), (100_200, 90, 10, 4), (200_000, 90_000, 900, 11)] {
        let before = std::mem::replace(&mut end, add(time_ns, clat_ns, slat_ns));
        assert_eq!(end - before, bytes);
    }
}

#[test]
fn headers_that_no_block_has_are_refused() {
    let mut good = [0; BlockHeader::BYTES];
    assert!(BlockHeader::decode(&good).is_some());
    good[16] = 4;
    assert_eq!(BlockHeader::decode(&good), None);
    good[16] = 3;
    good[2] = 1;
    assert_eq!(BlockHeader::decode(&good), None);
}
