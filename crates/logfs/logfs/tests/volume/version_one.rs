//! Images of version 1 of the format, made by the last program that wrote it, are read, checked,
//! and upgraded to the current version.
//!
//! `vectors/v1-closed.bin` and `vectors/v1-crashed.bin` (left after a sync, without closing) are
//! lists of the blocks that are not all zeroes: the block's number, 2 bytes, then pieces until it
//! is full. A piece is a length, 2 bytes, and that number of bytes; if the highest bit of the
//! length is set, one byte, repeated.

use iolab_disk::RamDisk;
use iolab_executor::ReadyOrder;
use iolab_logfs::{ContentReport, Error, InodeId, LogFs, Owner, Repair, check_content};

use crate::rig::{BLOCK, Bench, CLUSTER, small_memory};

const CLUSTERS: usize = 64;
const IMAGES: [(&str, &[u8]); 2] =
    [("closed", include_bytes!("vectors/v1-closed.bin")), ("crashed", include_bytes!("vectors/v1-crashed.bin"))];

/// Takes a little-endian number off the front.
fn number(list: &mut &[u8]) -> usize {
    let (number, rest) = list.split_first_chunk::<2>().expect("two bytes");
    *list = rest;
    usize::from(u16::from_le_bytes(*number))
}

fn image(mut list: &[u8]) -> Vec<u8> {
    let mut image = vec![0; CLUSTERS * CLUSTER as usize];
    while !list.is_empty() {
        let mut block = &mut image[number(&mut list) * BLOCK as usize..][..BLOCK as usize];
        while !block.is_empty() {
            let length = number(&mut list);
            let is_run = length & 0x8000 != 0;
            let (piece, rest) = block.split_at_mut(length & 0x7fff);
            let bytes = list.split_off(..if is_run { 1 } else { piece.len() }).expect("a piece");
            if is_run {
                piece.fill(bytes[0])
            } else {
                piece.copy_from_slice(bytes)
            }
            block = rest;
        }
    }
    image
}

fn content(seed: u32, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 512) as u8 ^ seed as u8 ^ u8::from(at % 512 == 17)).collect()
}

/// All files that were written, with their content.
fn expected() -> Vec<(String, Vec<u8>)> {
    let mut big: Vec<u8> = (1..=4).flat_map(|seed| content(seed, 10_000)).collect();
    big.truncate(35_000);
    big[5_000..11_000].fill(0);
    let odd = [vec![0; 30_000], content(77, 1_234)].concat();
    let small = |number: u32| (format!("/directory/small{number}"), content(number, 300 + number as usize));
    let mut all: Vec<_> = (0..24).map(small).collect();
    all.extend([("/big".to_owned(), big), ("/directory/odd".to_owned(), odd.clone()), ("/second".to_owned(), odd)]);
    all.sort();
    all
}

fn files(bench: &mut Bench, fs: &LogFs) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for (path, entry) in fs.tree() {
        if let Ok(content) = bench.run(fs.read(entry.inode, 0, 1 << 20)) {
            found.push((String::from_utf8(path).unwrap(), content));
        }
    }
    found.sort();
    found
}

fn content_of(bench: &mut Bench) -> ContentReport {
    let disk = bench.disk.clone();
    bench.run(check_content(&disk)).unwrap()
}

fn versions(disk: &RamDisk) -> [u32; 2] {
    disk.with(|bytes| {
        let copy = bytes.len() - BLOCK as usize;
        [0, copy].map(|at| u32::from_le_bytes(*bytes[at + 8..].first_chunk().unwrap()))
    })
}

#[test]
fn an_image_of_version_1_is_read_checked_and_brought_up_to_date() {
    for (name, list) in IMAGES {
        let disk = RamDisk::with_contents(image(list), BLOCK);
        assert_eq!(versions(&disk), [1, 1], "{name}");
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
        let before = disk.with(|bytes| bytes.to_vec());
        let report = bench.fsck(Repair::No).unwrap();
        assert!(report.is_sound(), "{name}: {report:?}");
        let looked = content_of(&mut bench);
        assert!(
            looked.bad.is_empty() && looked.good_bytes == 0 && looked.unproven_bytes > 30_000,
            "{name}: {looked:?}"
        );
        assert_eq!(disk.with(|bytes| bytes.to_vec()), before, "{name}: looking changes nothing");

        let (fs, recovery) = bench.try_open(small_memory()).unwrap();
        assert_eq!((recovery.closed, recovery.dropped_frames), (name == "closed", 0), "{name}");
        assert_eq!(versions(&disk), [2, 2], "{name}: opening for changes says the version that is written");
        assert_eq!(files(&mut bench, &fs), expected(), "{name}");
        let new = bench.run(fs.create(InodeId::ROOT, b"new", Owner::default())).unwrap();
        bench.run(fs.write(new, 0, &content(5, 9_000))).unwrap();
        for _ in 0..2 {
            bench.run(fs.create(InodeId::ROOT, b"passing", Owner::default())).unwrap();
            fs.want_checkpoint();
            bench.run(fs.unlink(InodeId::ROOT, b"passing")).unwrap();
            bench.run(fs.sync()).unwrap();
        }
        bench.run(fs.close()).unwrap();

        let report = bench.fsck(Repair::No).unwrap();
        assert!(report.is_sound(), "{name}, brought up to date: {report:?}");
        let looked = content_of(&mut bench);
        assert!(looked.bad.is_empty() && looked.good_bytes >= 9_000 && looked.unproven_bytes > 0, "{name}: {looked:?}");
        let fs = bench.open();
        let mut all = expected();
        all.push(("/new".to_owned(), content(5, 9_000)));
        all.sort();
        assert_eq!(files(&mut bench, &fs), all, "{name}");
    }
}

#[test]
fn a_crash_between_the_two_bootstrap_records_leaves_one_of_each_version() {
    let (_, list) = IMAGES[1];
    let new = {
        let disk = RamDisk::with_contents(image(list), BLOCK);
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
        let fs = bench.open();
        bench.run(fs.close()).unwrap();
        disk.with(|bytes| bytes.to_vec())
    };
    for at in [0, new.len() - BLOCK as usize] {
        let mut half = image(list);
        half[at..at + BLOCK as usize].copy_from_slice(&new[at..at + BLOCK as usize]);
        let disk = RamDisk::with_contents(half, BLOCK);
        let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
        let fs = bench.open();
        assert_eq!(files(&mut bench, &fs), expected(), "the new record at {at}");
        bench.run(fs.close()).unwrap();
        assert_eq!(versions(&disk), [2, 2], "the new record at {at}");
        assert!(bench.fsck(Repair::No).unwrap().is_sound());
    }
}

#[test]
fn a_version_that_nobody_knows_is_refused() {
    let mut unknown = image(IMAGES[0].1);
    for at in [0, unknown.len() - BLOCK as usize] {
        unknown[at + 8] = 3;
    }
    let mut bench = Bench::new(RamDisk::with_contents(unknown, BLOCK), ReadyOrder::Fair);
    let refused = bench.try_open(small_memory()).unwrap_err();
    assert!(matches!(&refused, Error::Unusable(why) if why.contains("format version 3")), "{refused}");
}
