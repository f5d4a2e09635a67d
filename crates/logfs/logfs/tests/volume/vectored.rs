//! Reads of several buffers whose content is scattered over the disk or damaged.

use iolab_disk::{Buffer, RamDisk};
use iolab_executor::ReadyOrder;
use iolab_logfs::{Error, InodeId, LogFs, Owner};

use crate::rig::load::bytes;
use crate::rig::{BLOCK, Bench, empty_image};

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
        let found: Vec<u8> = pieces.iter().flat_map(|piece| piece.to_vec()).collect();
        assert!(count == LENGTH && found == bytes(1, LENGTH), "pieces of {blocks} blocks");
    }
    // Over the end, and from a hole.
    let hole = LENGTH as u64 + 3 * u64::from(BLOCK);
    bench.run(fs.write(file, hole, &[7; 10])).unwrap();
    let (count, pieces) = bench.run(fs.read_vectored(file, LENGTH as u64, cut(&blank, 2))).unwrap();
    assert_eq!(count, 3 * BLOCK as usize + 10);
    let found: Vec<u8> = pieces.iter().flat_map(|piece| piece.to_vec()).collect();
    let expected: Vec<u8> = [vec![0; 3 * BLOCK as usize], vec![7; 10]].concat();
    assert!(found[..count] == expected);
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
