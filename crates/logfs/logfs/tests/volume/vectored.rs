//! Several buffers: content that is scattered over the disk or damaged, and writes to several
//! places.

use iolab_disk::{Buffer, RamDisk};
use iolab_executor::ReadyOrder;
use iolab_logfs::{Error, InodeId, LogFs, Owner, Span};

use crate::rig::load::{bytes, joined};
use crate::rig::{BLOCK, Bench, CLUSTER, Random, empty_image};

const BLOCKS: usize = 24;
const LENGTH: usize = BLOCKS * BLOCK as usize;

/// Buffers of this number of blocks, the last one shorter if necessary.
fn cut(content: &[u8], blocks: usize) -> Vec<Buffer> {
    content.chunks(blocks * BLOCK as usize).map(|piece| Buffer::padded(piece, 1)).collect()
}

/// A file whose blocks lie beside those of another file, not beside each other.
fn scattered(bench: &mut Bench, fs: &LogFs) -> InodeId {
    let [file, other] =
        [&b"file"[..], b"other"].map(|name| bench.run(fs.create(InodeId::ROOT, name, Owner::default())).unwrap());
    let content = bytes(1, LENGTH);
    for (number, block) in content.chunks(BLOCK as usize).enumerate() {
        let at = (number * BLOCK as usize) as u64;
        bench.run(fs.write(file, at, block)).unwrap();
        bench.run(fs.write(other, at, block)).unwrap();
    }
    assert!(fs.fragments(file).unwrap() > BLOCKS as u64 / 2);
    file
}

#[test]
fn buffers_are_filled_whatever_lies_between_their_blocks_on_the_disk() {
    let disk = RamDisk::with_contents(empty_image(40), BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let fs = bench.open();
    let file = scattered(&mut bench, &fs);
    let blank = vec![0xa5; LENGTH];
    for blocks in 1..=5 {
        let (count, pieces) = bench.run(fs.read_vectored(file, 0, cut(&blank, blocks))).unwrap();
        let lengths: Vec<usize> = pieces.iter().map(|piece| piece.len()).collect();
        assert_eq!(lengths, cut(&blank, blocks).iter().map(|piece| piece.len()).collect::<Vec<_>>());
        assert!(count == LENGTH && joined(&pieces) == bytes(1, LENGTH), "pieces of {blocks} blocks");
    }
    // Over the end, and from a hole.
    let hole = LENGTH as u64 + 3 * u64::from(BLOCK);
    bench.run(fs.write(file, hole, &[7; 10])).unwrap();
    let (count, pieces) = bench.run(fs.read_vectored(file, LENGTH as u64, cut(&blank, 2))).unwrap();
    assert_eq!(count, 3 * BLOCK as usize + 10);
    let expected: Vec<u8> = [vec![0; 3 * BLOCK as usize], vec![7; 10]].concat();
    assert!(joined(&pieces)[..count] == expected);
}

#[test]
fn damage_to_one_of_several_buffers_is_reported() {
    let disk = RamDisk::with_contents(empty_image(40), BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let fs = bench.open();
    let file = scattered(&mut bench, &fs);
    let wanted = &bytes(1, LENGTH)[5 * BLOCK as usize..6 * BLOCK as usize];
    let damaged = disk.with(|all| {
        let block = all.chunks_mut(BLOCK as usize).find(|block| *block == wanted);
        block.map(|block| block[9] ^= 1).is_some()
    });
    assert!(damaged, "the block is on the disk");
    for blocks in [1, 4] {
        let answer = bench.run(fs.read_vectored(file, 0, cut(&[0; LENGTH], blocks)));
        assert!(matches!(answer, Err(Error::Content { .. })));
    }
    let behind = bench.run(fs.read_vectored(file, 6 * u64::from(BLOCK), cut(&[0; LENGTH], 1)));
    assert_eq!(behind.map(|(count, _)| count), Ok(LENGTH - 6 * BLOCK as usize));
}

#[test]
fn spans_anywhere_in_a_file_are_written_in_their_order() {
    let disk = RamDisk::with_contents(empty_image(60), BLOCK);
    let mut bench = Bench::new(disk, ReadyOrder::Fair);
    let fs = bench.open();
    let file = bench.run(fs.create(InodeId::ROOT, b"file", Owner::default())).unwrap();
    let (mut random, mut expected) = (Random(5), Vec::new());
    for round in 0..200_u64 {
        // Whole blocks, which are one change, and sometimes others, which are not.
        let unit = if round % 4 == 3 { 100 } else { u64::from(BLOCK) };
        let span = |random: &mut Random| Span { offset: random.below(60) * unit, length: (random.below(3) + 1) * unit };
        let spans: Vec<Span> = (0..random.below(20) + 1).map(|_| span(&mut random)).collect();
        let content = bytes(round as u8, spans.iter().map(|span| span.length as usize).sum());
        assert!(content.len() < 4 * CLUSTER as usize, "shorter than the longest change");
        let piece = (random.below(5) + 1) * unit;
        let buffers = content.chunks(piece as usize).map(|piece| Buffer::padded(piece, 1)).collect();
        bench.run(fs.write_vectored(file, &spans, buffers)).unwrap();
        let mut rest = &content[..];
        for span in spans {
            let (now, later) = rest.split_at(span.length as usize);
            let (from, end) = (span.offset as usize, (span.offset + span.length) as usize);
            expected.resize(expected.len().max(end), 0);
            expected[from..end].copy_from_slice(now);
            rest = later;
        }
        assert!(bench.run(fs.read(file, 0, 1 << 20)).unwrap() == expected, "round {round}");
    }
    let wrong = bench.run(fs.write_vectored(file, &[Span { offset: 0, length: 5 }], cut(&[0; 512], 1)));
    assert!(matches!(wrong, Err(Error::Invalid(_))));
    let far = [Span { offset: i64::MAX as u64 / 512 * 512, length: 512 }];
    assert_eq!(bench.run(fs.write_vectored(file, &far, cut(&[0; 512], 1))), Err(Error::TooLarge));
    bench.run(fs.close()).unwrap();
    let fs = bench.open();
    assert!(bench.run(fs.read(file, 0, 1 << 20)).unwrap() == expected, "after the next opening");
}
