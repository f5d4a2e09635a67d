//! Compares the dump with what opening reads, and dumps damaged images.

use iolab_disk::RamDisk;
use iolab_executor::{Executor, ReadyOrder};

use super::*;
use crate::bytes::Take;
use crate::hostile::sample;
use crate::record::Record;

fn dump(image: Vec<u8>) -> Result<Vec<DumpLine>, Error> {
    let disk = Disk::new(RamDisk::with_contents(image, 512));
    let mut lines = Vec::new();
    let ended = Executor::new(ReadyOrder::Fair)
        .run(&mut disk.clone(), async { dump_log(&disk, 0, &mut |line| lines.push(line)).await });
    ended.unwrap().map(|()| lines)
}

fn field<'a>(line: &'a DumpLine, name: &str) -> &'a DumpValue {
    let found = line.fields.iter().find(|(known, _)| *known == name);
    &found.unwrap_or_else(|| panic!("no {name} in {line:?}")).1
}

fn count(lines: &[DumpLine], kind: &str) -> usize {
    lines.iter().filter(|line| line.kind == kind).count()
}

#[test]
fn a_sound_log_is_told_to_its_last_record() {
    let lines = dump(sample()).unwrap();
    assert_eq!((count(&lines, "bootstrap"), count(&lines, "anchor"), count(&lines, "damage")), (2, 2, 0));
    let records: Vec<&DumpLine> = lines.iter().filter(|line| line.kind == "record").collect();
    for wanted in
        ["checkpoint begins", "node", "entries", "extents", "inline", "rename", "truncate", "punch", "write extent"]
    {
        assert!(records.iter().any(|line| *field(line, "type") == word(wanted)), "{wanted} is missing");
    }
    let named = |line: &&&DumpLine| line.fields.contains(&("to_name", DumpValue::Name(b"renamed".to_vec())));
    assert_eq!(records.iter().filter(named).count(), 1);
    let last = lines.last().unwrap();
    assert_eq!((last.kind, field(last, "verdict")), ("end", &word("nothing indicates that there was more")));
}

#[test]
fn the_table_agrees_with_what_opening_reads() {
    let image = sample();
    let layout = Layout::decode(&image).unwrap();
    let mut compared = 0;
    for start in (0..image.len()).step_by(512) {
        let Some(found) = crate::frame::parse(&image[start..], &layout) else { continue };
        let (mut take, mut rest) = (Take(found.payload), found.payload);
        while !take.0.is_empty() {
            assert!(Record::decode(&mut take).is_some());
            let table::Parsed::Record { length, .. } = table::parse_record(rest) else { panic!("{rest:?}") };
            rest = &rest[length..];
            assert_eq!(rest.len(), take.0.len());
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn damage_is_told_with_place_and_reason() {
    let image = sample();
    let lines = dump(image.clone()).unwrap();
    let frames: Vec<&DumpLine> = lines.iter().filter(|line| line.kind == "frame").collect();
    let number = |line: &DumpLine, name: &str| match field(line, name) {
        DumpValue::Number(number) => *number as usize,
        other => panic!("{other:?}"),
    };
    let second = frames[1];
    let cluster_bytes = Layout::decode(&image).unwrap().cluster_bytes as usize;
    let at = number(second, "cluster") * cluster_bytes + number(second, "offset");
    for (place, byte, why) in [
        (at, 0, "no frame starts there: the bytes are \\x00FFR"),
        (at + 70, 0xff, "torn, damaged or from another domain"),
        (at + 9, 0xff, "a frame of another file system"),
        (at + 42, 0xff, "does not fit into the cluster"),
    ] {
        let mut damaged = image.clone();
        damaged[place] = byte;
        let lines = dump(damaged).unwrap();
        let ends: Vec<&DumpLine> = lines.iter().filter(|line| line.kind == "end").collect();
        assert_eq!(number(ends[0], "offset"), number(second, "offset"));
        assert!(matches!(field(ends[0], "why"), DumpValue::Word(text) if text.contains(why)), "{:?}", ends[0]);
        // The damage lies before the newest checkpoint, which is dumped with everything after it.
        let newest = number(&lines[2], "first_sequence");
        let told: Vec<usize> =
            lines.iter().filter(|line| line.kind == "frame").map(|line| number(line, "sequence")).collect();
        assert!(told.contains(&newest) && ends.len() == 2, "{told:?}");
    }
    let mut without = image.clone();
    without[512..1536].fill(1);
    let lines = dump(without).unwrap();
    assert_eq!(field(&lines[2], "state"), &word("damaged"));
    assert_eq!(lines.last().unwrap().kind, "end");
    assert!(matches!(dump(vec![0; 1 << 20]), Err(Error::Unusable(_))));
}

#[test]
fn records_that_are_none_are_damage() {
    for (bytes, why) in [
        (&b"\x01\x08"[..], "header of a record is cut off"),
        (b"\x01\x08\0\0\x01", "longer than its frame"),
        (b"\x77\x01\0\0\x01", "the unknown type 77"),
        (b"\x01\x01\0\0\x01", "do not fit its length"),
        (b"\x14\x09\x00\x00123456789", "do not fit its length"),
    ] {
        assert!(
            matches!(table::parse_record(bytes), table::Parsed::Damaged { why: said, .. } if said.contains(why)),
            "{why}"
        );
    }
}
