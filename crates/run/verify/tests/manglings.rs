//! Every kind of verification finds every kind of damage, at the right place, and nothing else.

use iolab_plan::{BufferContent, BufferPlan, VerifyKind, VerifyPattern, VerifyPlan};
use iolab_verify::{BlockDamage, Interval, Recipe, WantedContent};

const BLOCK: usize = 8192;
const BLOCKS: usize = 8;
const DAMAGED: usize = 5;

fn plan(kind: VerifyKind, header_offset_bytes: u64) -> VerifyPlan {
    VerifyPlan {
        header_offset_bytes,
        pattern: Some(VerifyPattern { bytes: [&[0; 8][..], b"\xde\xad\xbe\xef\x01"].concat(), offsets_at: vec![0] }),
        seed: 99,
        ..VerifyPlan::new(kind, BLOCK as u64)
    }
}

fn buffers(content: BufferContent) -> BufferPlan {
    BufferPlan::new(BLOCK as u64, content)
}

fn at(block: usize) -> Interval {
    Interval { file: 0, offset: (block * BLOCK) as u64 }
}

/// A file after this number of writes.
fn file(recipe: &Recipe, generation: u32) -> Vec<u8> {
    let mut bytes = vec![0; BLOCK * BLOCKS];
    for (block, piece) in bytes.chunks_mut(BLOCK).enumerate() {
        recipe.fill(at(block), generation, (block as u64 + 8) * u64::from(generation), 1, piece);
    }
    bytes
}

/// A kind of damage to the block `DAMAGED` between write and check.
struct Mangling {
    name: &'static str,
    /// Receives the file and its content one generation before.
    how: fn(&mut [u8], &[u8]),
    /// The expected diagnosis of a block with a header and stamps.
    taken_for: fn(&BlockDamage) -> bool,
}

fn block(file: &[u8], number: usize) -> &[u8] {
    &file[number * BLOCK..][..BLOCK]
}

fn damaged(file: &mut [u8]) -> &mut [u8] {
    &mut file[DAMAGED * BLOCK..][..BLOCK]
}

const MANGLINGS: [Mangling; 12] = [
    Mangling {
        name: "a bit of the data",
        how: |file, _| damaged(file)[3000] ^= 0x10,
        taken_for: |damage| *damage == BlockDamage::BitFlips { bits: 1, at: 3000 },
    },
    Mangling {
        name: "a byte of the header",
        how: |file, _| damaged(file)[18] ^= 0xff,
        taken_for: |damage| matches!(damage, BlockDamage::BitFlips { .. } | BlockDamage::Header),
    },
    Mangling {
        name: "zeroes",
        how: |file, _| damaged(file).fill(0),
        taken_for: |damage| *damage == BlockDamage::Zeroes(0..BLOCK),
    },
    Mangling {
        name: "zeroes in the second half",
        how: |file, _| damaged(file)[4096..].fill(0),
        taken_for: |damage| {
            matches!(damage, BlockDamage::Torn { at: 4096, with, .. } if matches!(**with, BlockDamage::Zeroes(_)))
                || *damage == BlockDamage::Zeroes(4096..BLOCK)
        },
    },
    Mangling {
        name: "the write before the last",
        how: |file, old| damaged(file).copy_from_slice(block(old, DAMAGED)),
        taken_for: |damage| *damage == BlockDamage::Stale { generation: 1, earlier_run: false },
    },
    Mangling {
        name: "another block",
        how: |file, _| {
            let other = block(file, 2).to_vec();
            damaged(file).copy_from_slice(&other);
        },
        taken_for: |damage| *damage == BlockDamage::OtherOffset { offset: 2 * BLOCK as u64 },
    },
    Mangling {
        name: "torn behind the first sector",
        how: |file, old| damaged(file)[512..].copy_from_slice(&block(old, DAMAGED)[512..]),
        taken_for: |damage| {
            let stale = Box::new(BlockDamage::Stale { generation: 1, earlier_run: false });
            *damage == BlockDamage::Torn { at: 512, wrong: 512..BLOCK, with: stale }
        },
    },
    Mangling {
        name: "torn in the middle, the new half behind",
        how: |file, old| damaged(file)[..4096].copy_from_slice(&block(old, DAMAGED)[..4096]),
        taken_for: |damage| {
            let stale = Box::new(BlockDamage::Stale { generation: 1, earlier_run: false });
            *damage == BlockDamage::Torn { at: 4096, wrong: 0..4096, with: stale }
        },
    },
    Mangling {
        name: "a sector of another block",
        how: |file, _| {
            let other = block(file, 3)[1024..1536].to_vec();
            damaged(file)[2048..2560].copy_from_slice(&other);
        },
        taken_for: |damage| {
            let from = Box::new(BlockDamage::OtherOffset { offset: 3 * BLOCK as u64 + 1024 });
            *damage == BlockDamage::Torn { at: 2048, wrong: 2048..2560, with: from }
        },
    },
    Mangling {
        name: "shifted by a byte",
        how: |file, _| damaged(file).copy_within(..BLOCK - 1, 1),
        taken_for: |damage| matches!(damage, BlockDamage::Foreign(_)),
    },
    Mangling {
        name: "foreign bytes at the end",
        how: |file, _| {
            let foreign = damaged(file)[BLOCK - 600..].iter_mut().enumerate();
            foreign.for_each(|(index, byte)| *byte ^= (index * 7 + 1) as u8 | 1);
        },
        taken_for: |damage| matches!(damage, BlockDamage::Foreign(range) if range.end == BLOCK),
    },
    Mangling {
        name: "two sectors in each other's place",
        how: |file, _| {
            let (one, other) = damaged(file).split_at_mut(4096);
            one[512..1024].swap_with_slice(&mut other[512..1024]);
        },
        taken_for: |damage| matches!(damage, BlockDamage::Foreign(_) | BlockDamage::Torn { .. }),
    },
];

#[test]
fn every_kind_finds_every_damage_where_it_is() {
    for kind in VerifyKind::ALL.iter().copied().filter(|kind| *kind != VerifyKind::Null) {
        for header_offset in [0, 40] {
            let recipe = Recipe::new(&plan(kind, header_offset), &buffers(BufferContent::Random), 1, 1000);
            let (old, new) = (file(&recipe, 1), file(&recipe, 2));
            for mangling in &MANGLINGS {
                let mut mangled = new.clone();
                (mangling.how)(&mut mangled, &old);
                // A pattern is the same in every generation.
                let differs = mangled != new;
                assert!(differs || kind == VerifyKind::Pattern || kind == VerifyKind::PatternHdr, "{}", mangling.name);
                for number in [2, DAMAGED] {
                    let answer = recipe.check(at(number), WantedContent::Generation(2), block(&mangled, number));
                    let context = format!("{kind:?}, header at {header_offset}, {}", mangling.name);
                    match answer {
                        Ok(()) => assert!(number != DAMAGED || !differs, "{context}: not found"),
                        Err(mismatch) => {
                            assert_eq!((number, mismatch.interval), (DAMAGED, at(DAMAGED)), "{context}");
                            let has_stamps = !matches!(kind, VerifyKind::Pattern | VerifyKind::PatternHdr);
                            let damage = &mismatch.damage;
                            let right = (mangling.taken_for)(damage) || !has_stamps || header_offset != 0;
                            assert!(right, "{context}: taken for {damage:?}: {mismatch}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn what_was_written_is_found_right_by_every_reader() {
    for kind in VerifyKind::ALL.iter().copied() {
        for content in [BufferContent::Random, BufferContent::Zero, BufferContent::Pattern(b"xyz".to_vec())] {
            let recipe = Recipe::new(&plan(kind, 0), &buffers(content), 1, 1000);
            let bytes = file(&recipe, 7);
            for number in 0..BLOCKS {
                for wanted in [WantedContent::Generation(7), WantedContent::EarlierRun(7), WantedContent::Valid] {
                    let answer = recipe.check(at(number), wanted, block(&bytes, number));
                    assert!(answer.is_ok(), "{kind:?}: {}", answer.unwrap_err());
                }
            }
        }
        // A later run, another job, other buffers: a reader needs only the same kind and interval.
        let writer = Recipe::new(&plan(kind, 0), &buffers(BufferContent::Random), 1, 1000);
        let bytes = file(&writer, 7);
        let reader = Recipe::new(&VerifyPlan { seed: 4, ..plan(kind, 0) }, &buffers(BufferContent::Zero), 9, 5000);
        assert!(
            (0..BLOCKS).all(|number| reader.check(at(number), WantedContent::Valid, block(&bytes, number)).is_ok())
        );
    }
}

#[test]
fn a_block_of_an_earlier_run_is_known_as_such() {
    let earlier = Recipe::new(&plan(VerifyKind::Crc32c, 0), &buffers(BufferContent::Random), 1, 1000);
    let own = Recipe::new(&plan(VerifyKind::Crc32c, 0), &buffers(BufferContent::Random), 1, 2000);
    let bytes = file(&earlier, 1);
    let mismatch = own.check(at(4), WantedContent::Generation(1), block(&bytes, 4)).unwrap_err();
    assert_eq!(mismatch.damage, BlockDamage::Stale { generation: 1, earlier_run: true });
    // If the order of writes is not checked, only the data are.
    let lenient = VerifyPlan { checks_sequence: false, ..plan(VerifyKind::Crc32c, 0) };
    let lenient = Recipe::new(&lenient, &buffers(BufferContent::Random), 1, 2000);
    assert!(lenient.check(at(4), WantedContent::Generation(1), block(&bytes, 4)).is_ok());
    assert!(lenient.check(at(3), WantedContent::Generation(1), block(&bytes, 4)).is_err());
}

#[test]
fn what_must_be_there_is_made_again_byte_for_byte() {
    for kind in VerifyKind::ALL.iter().copied().filter(|kind| *kind != VerifyKind::Null) {
        let recipe = Recipe::new(&plan(kind, 0), &buffers(BufferContent::Random), 1, 1000);
        let bytes = file(&recipe, 2);
        let mut mangled = block(&bytes, 3).to_vec();
        mangled[5000] ^= 1;
        let must = recipe.must_be(at(3), WantedContent::Generation(2), &mangled).unwrap();
        assert_eq!(must, block(&bytes, 3), "{kind:?}");
    }
    let recipe = Recipe::new(&plan(VerifyKind::Md5, 0), &buffers(BufferContent::Random), 1, 1000);
    assert_eq!(recipe.must_be(at(3), WantedContent::Zeroes, &[1; 64]).unwrap(), [0; 64]);
    assert!(recipe.check(at(3), WantedContent::Zeroes, &[0; 64]).is_ok());
    assert!(recipe.check(at(3), WantedContent::Zeroes, &[1; 64]).is_err());
}
