//! What operations do to data: reads, writes, syncs and trims of real files.
//!
//! It applies to engines that move data to open descriptors; for others, the checks return at once.

use super::ConformanceSetup;
use super::rig::{Access, BLOCK, BLOCKS, Rig, holds_data};
use crate::{Engine, FileUse, Op, OpKind, Submission};

/// `-EOPNOTSUPP`: the result of a trim on a file system without holes (errno(3)).
const NOT_SUPPORTED: i32 = -95;

fn moves_file_data<E: Engine>() -> bool {
    let capabilities = E::DESCRIPTION.capabilities;
    capabilities.moves_data && holds_data(capabilities.files)
}

/// Bytes that differ by block and position, so that a swapped buffer or offset is detected.
fn content(block: usize) -> Vec<u8> {
    (0..BLOCK).map(|at| (block.wrapping_mul(131) ^ at ^ (at >> 8)) as u8 ^ 0x5a).collect()
}

/// Data written through each slot is in the file, and reads through each slot find it.
pub fn data_reads_back_through_every_slot<E: Engine>(setup: &ConformanceSetup) {
    if !moves_file_data::<E>() {
        return;
    }
    for &depth in setup.depths {
        let mut rig = Rig::<E>::new(setup, depth);
        // Strides by an odd number visit all blocks in an order that is not sequential.
        let blocks: Vec<usize> = (0..BLOCKS).map(|index| index * 37 % BLOCKS).collect();
        for batch in blocks.chunks(depth) {
            batch.iter().enumerate().for_each(|(slot, &block)| {
                rig.pool.slot_mut(slot)[..BLOCK].copy_from_slice(&content(block));
            });
            let writes: Vec<Op> =
                batch.iter().enumerate().map(|(slot, &block)| rig.op(OpKind::Write, slot, block)).collect();
            rig.perform_all(&writes).iter().for_each(|&result| rig.assert_done(result));
        }
        for block in 0..BLOCKS {
            assert!(rig.scratch.read_back((block * BLOCK) as u64, BLOCK) == content(block), "block {block} on disk");
        }
        for (batch_number, batch) in blocks.chunks(depth).enumerate() {
            let slot_of = |index: usize| (index + batch_number) % depth;
            (0..depth).for_each(|slot| rig.pool.slot_mut(slot).fill(0));
            let reads: Vec<Op> =
                batch.iter().enumerate().map(|(index, &block)| rig.op(OpKind::Read, slot_of(index), block)).collect();
            rig.perform_all(&reads).iter().for_each(|&result| rig.assert_done(result));
            for (index, &block) in batch.iter().enumerate() {
                assert!(rig.pool.slot_mut(slot_of(index))[..BLOCK] == content(block), "block {block} read back");
            }
        }
    }
}

/// `buffer_offset` displaces the transfer within the slot, and bytes outside it stay as they were.
pub fn only_the_named_part_of_a_slot_is_used<E: Engine>(setup: &ConformanceSetup) {
    if !moves_file_data::<E>() {
        return;
    }
    let mut rig = Rig::<E>::new(setup, 2);
    rig.scratch.write_behind(3 * BLOCK as u64, &content(3));
    rig.pool.slot_mut(1).fill(0xee);
    let read = Op { buffer_offset: BLOCK as u32, ..rig.op(OpKind::Read, 1, 3) };
    assert_eq!(rig.perform(&read), BLOCK as i32);
    assert!(rig.pool.slot_mut(1)[..BLOCK].iter().all(|&byte| byte == 0xee), "bytes before the transfer");
    assert!(rig.pool.slot_mut(1)[BLOCK..] == content(3), "bytes of the transfer");

    rig.pool.slot_mut(0)[..BLOCK].fill(0xee);
    rig.pool.slot_mut(0)[BLOCK..].copy_from_slice(&content(5));
    let write = Op { buffer_offset: BLOCK as u32, ..rig.op(OpKind::Write, 0, 5) };
    assert_eq!(rig.perform(&write), BLOCK as i32);
    assert!(rig.scratch.read_back(5 * BLOCK as u64, BLOCK) == content(5), "bytes on disk");
}

/// A read across the end of the file returns the number of bytes before the end, and a read past
/// the end returns zero. Devices refuse such reads.
pub fn short_reads_are_short<E: Engine>(setup: &ConformanceSetup) {
    if !moves_file_data::<E>() || E::DESCRIPTION.capabilities.files.is_devices() {
        return;
    }
    let half = BLOCK / 2;
    let size = (2 * BLOCK + half) as u64;
    let mut rig = Rig::<E>::with_files(setup, 1, &[(size, Access::ReadWrite)])
        .unwrap_or_else(|error| panic!("a file that does not end on a block: {}", error.message));
    rig.scratch.write_behind(2 * BLOCK as u64, &content(2)[..half]);
    let over_the_end = rig.op(OpKind::Read, 0, 2);
    assert_eq!(rig.perform(&over_the_end), half as i32, "a read of which half is past the end");
    assert!(rig.pool.slot_mut(0)[..half] == content(2)[..half], "the half that is there");
    let past_the_end = rig.op(OpKind::Read, 0, 3);
    assert_eq!(rig.perform(&past_the_end), 0, "a read of which all is past the end");
    let whole = rig.op(OpKind::Read, 0, 0);
    assert_eq!(rig.perform(&whole), BLOCK as i32, "a read after a short one");
}

/// The three syncs complete with zero, alone and among writes; an engine without them refuses them.
pub fn syncs_complete_with_zero<E: Engine>(setup: &ConformanceSetup) {
    if E::DESCRIPTION.capabilities.files == FileUse::Paths {
        return;
    }
    for kind in [OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange] {
        let mut rig = Rig::<E>::new(setup, 4);
        let sync = rig.op(kind, 0, 0);
        if !E::DESCRIPTION.capabilities.syncs {
            let refused = !matches!(rig.submit(&sync), Submission::Accepted);
            assert!(refused || rig.drain()[0].result < 0, "{kind:?} succeeds though the engine has no syncs");
            continue;
        }
        assert_eq!(rig.perform(&sync), 0, "{kind:?} alone");
        let ops: Vec<Op> =
            (0..12).map(|index| rig.op(if index % 3 == 2 { kind } else { OpKind::Write }, index % 4, index)).collect();
        for (op, result) in ops.iter().zip(rig.perform_all(&ops)) {
            if op.kind == kind { assert_eq!(result, 0, "{kind:?} among writes") } else { rig.assert_done(result) }
        }
    }
}

/// A trimmed range reads as zeroes and its neighbours stay; an engine without trims refuses them.
pub fn trimmed_ranges_read_as_zeroes<E: Engine>(setup: &ConformanceSetup) {
    let capabilities = E::DESCRIPTION.capabilities;
    if capabilities.files == FileUse::Paths {
        return;
    }
    let mut rig = Rig::<E>::new(setup, 2);
    let trim = Op { length: 2 * BLOCK as u32, ..rig.op(OpKind::Trim, 1, 2) };
    if holds_data(capabilities.files) {
        (1..5).for_each(|block| rig.scratch.write_behind((block * BLOCK) as u64, &content(block)));
    }
    let result = rig.perform(&trim);
    if !capabilities.trims {
        assert!(result < 0, "a trim succeeds though the engine has none");
        return;
    }
    if result == NOT_SUPPORTED && capabilities.files == FileUse::Descriptors {
        return; // The temporary folder's file system has no holes, and the engine says so.
    }
    assert_eq!(result, 0, "a trim");
    if moves_file_data::<E>() && setup.trims_to_zeroes {
        assert!(rig.scratch.read_back(2 * BLOCK as u64, 2 * BLOCK).iter().all(|&byte| byte == 0), "trimmed blocks");
        for block in [1, 4] {
            assert!(rig.scratch.read_back((block * BLOCK) as u64, BLOCK) == content(block), "block {block} beside it");
        }
        let read = rig.op(OpKind::Read, 0, 3);
        rig.pool.slot_mut(0).fill(1);
        assert_eq!(rig.perform(&read), BLOCK as i32);
        assert!(rig.pool.slot_mut(0)[..BLOCK].iter().all(|&byte| byte == 0), "a trimmed block read by the lane");
    }
}
