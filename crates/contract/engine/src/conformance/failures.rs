//! What a lane returns when an operation fails, and that it works afterwards.

use super::ConformanceSetup;
use super::rig::{Access, BLOCK, BLOCKS, Rig};
use crate::{Engine, FileUse, Op, OpKind, Submission};

/// `EBADF` and `EACCES` (errno(3)): the descriptor does not permit this; the latter is the error of
/// mmap(2).
const NOT_PERMITTED: [i32; 2] = [9, 13];

/// Operations that a descriptor does not permit fail alone, with their errno; those around them
/// succeed.
///
/// An engine that touches the files when it opens (as mapping them does) may fail there, with the
/// errno.
pub fn errors_are_negative_errnos<E: Engine>(setup: &ConformanceSetup) {
    let capabilities = E::DESCRIPTION.capabilities;
    if capabilities.files != FileUse::Descriptors || !capabilities.moves_data {
        return;
    }
    let cases = [
        (Access::WriteOnly, OpKind::Read),
        (Access::ReadOnly, OpKind::Write),
        (Access::Missing, OpKind::Read),
        (Access::Missing, OpKind::Write),
    ];
    for (access, kind) in cases {
        let size = (BLOCK * BLOCKS) as u64;
        let mut rig = match Rig::<E>::with_files(setup, 8, &[(size, Access::ReadWrite), (size, access)]) {
            Ok(rig) => rig,
            Err(error) => {
                let errno = error.errno.unwrap_or_else(|| panic!("{access:?}: {} (without errno)", error.message));
                assert!(NOT_PERMITTED.contains(&errno), "{access:?}: {}", error.message);
                continue;
            }
        };
        let bad = |op: Op| Op { file: 1, ..op };
        let alone = bad(rig.op(kind, 0, 0));
        assert_not_permitted(rig.perform(&alone), access, kind);
        // First, last and adjacent in a batch, among valid operations.
        let ops: Vec<Op> = (0..24)
            .map(|index| {
                let op = rig.op(OpKind::Read, index % 8, index);
                if matches!(index, 0 | 3 | 4 | 15 | 23) { bad(Op { kind, ..op }) } else { op }
            })
            .collect();
        for (op, result) in ops.iter().zip(rig.perform_all(&ops)) {
            if op.file == 1 { assert_not_permitted(result, access, kind) } else { rig.assert_done(result) }
        }
        for slot in 0..8 {
            let good = rig.op(OpKind::Read, slot, slot);
            let result = rig.perform(&good);
            rig.assert_done(result);
        }
    }
}

fn assert_not_permitted(result: i32, access: Access, kind: OpKind) {
    assert!(NOT_PERMITTED.contains(&-result), "{kind:?} on a descriptor that is {access:?} gives {result}");
}

/// A refused operation leaves its slot with the loop: no completion comes, and the slot can be used
/// at once.
pub fn refusals_leave_the_slot<E: Engine>(setup: &ConformanceSetup) {
    let mut rig = Rig::<E>::new(setup, 2);
    for kind in [OpKind::Trim, OpKind::Sync, OpKind::DataSync, OpKind::SyncFileRange] {
        let op = rig.op(kind, 1, 1);
        if let Submission::Refused(_) = rig.submit(&op) {
            rig.flush();
            assert!(rig.reap(crate::Wait::POLL).is_empty(), "{kind:?} was refused and completed all the same");
        } else {
            rig.drain();
        }
        let read = rig.probe(1, 1);
        let result = rig.perform(&read);
        rig.assert_done(result);
    }
}
