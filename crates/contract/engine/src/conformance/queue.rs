//! How a lane queues: depth, ownership of slots, waiting, and being dropped.

use iolab_random::{GOLDEN_GAMMA, Lcg};

use super::ConformanceSetup;
use super::rig::{BLOCK, BLOCKS, PATIENCE_NS, Rig, holds_data};
use crate::{Engine, Lane, Op, OpKind, Submission, Wait};

/// Waits for `at_least` completions.
const fn for_at_least(at_least: usize) -> Wait {
    Wait { at_least, timeout_ns: PATIENCE_NS }
}

/// Submits one read on each of the first slots: `count` of them, or one if the lane is synchronous.
fn fill<E: Engine>(rig: &mut Rig<E>, count: usize) -> usize {
    let count = if E::Lane::SYNCHRONOUS { 1 } else { count };
    for slot in 0..count {
        let read = rig.probe(slot, slot % BLOCKS);
        rig.accept(&read);
    }
    count
}

/// An asynchronous lane accepts an operation on each of its slots before any is flushed or reaped,
/// and is never full while a slot is free; a synchronous lane accepts one.
pub fn depth_is_held<E: Engine>(setup: &ConformanceSetup) {
    for &depth in setup.depths {
        let mut rig = Rig::<E>::new(setup, depth);
        for _round in 0..3 {
            let accepted = fill(&mut rig, depth);
            let done = rig.drain();
            assert_eq!(done.len(), accepted);
            done.iter().for_each(|done| rig.assert_done(done.result));
        }
        if E::Lane::SYNCHRONOUS || depth == 1 {
            continue;
        }
        // One slot at a time becomes free, and there is room for its next operation at once.
        fill(&mut rig, depth);
        rig.flush();
        for turn in 0..2 * depth {
            let done = rig.reap(for_at_least(1));
            assert!(!done.is_empty(), "an operation in flight never completed");
            for done in done {
                let read = rig.probe(done.slot as usize, turn % BLOCKS);
                rig.accept(&read);
            }
            rig.flush();
        }
        rig.drain();
    }
}

/// Every accepted operation gives one completion, whatever the mixture of batches and waits.
pub fn slots_come_back_exactly_once<E: Engine>(setup: &ConformanceSetup) {
    for &depth in setup.depths {
        let mut rig = Rig::<E>::new(setup, depth);
        let (mut accepted, mut completed, mut free) = (0, 0, (0..depth).collect::<Vec<usize>>());
        let mut random = Lcg::new(GOLDEN_GAMMA);
        let rounds = if holds_data(E::DESCRIPTION.capabilities.files) { 200 } else { 20 };
        for _ in 0..rounds {
            let dice = (random.next() >> 33) as usize;
            for _ in 0..=dice % depth {
                let Some(slot) = free.pop() else { break };
                let kind = if dice & 0x100 == 0 { setup.probe } else { OpKind::Write };
                let op = rig.op(kind, slot, dice % BLOCKS);
                match rig.submit(&op) {
                    Submission::Accepted => accepted += 1,
                    Submission::Full => {
                        assert!(E::Lane::SYNCHRONOUS && rig.in_flight() > 0, "Full while slot {slot} is free");
                        free.push(slot);
                        break;
                    }
                    Submission::Refused(_) => free.push(slot),
                }
            }
            let at_least = (dice >> 4) % (rig.in_flight() + 1);
            let done = match dice & 0x600 {
                0 => rig.flush_and_reap(Wait::POLL),
                0x200 => rig.flush_and_reap(for_at_least(at_least)),
                0x400 => {
                    rig.flush();
                    rig.reap(Wait::POLL)
                }
                _ => {
                    rig.flush();
                    rig.reap(for_at_least(at_least))
                }
            };
            completed += done.len();
            free.extend(done.iter().map(|done| done.slot as usize));
        }
        completed += rig.drain().len();
        assert_eq!(completed, accepted);
    }
}

/// Polling an idle lane returns nothing; polling a busy one returns, and all operations complete in
/// the end.
pub fn polling_returns<E: Engine>(setup: &ConformanceSetup) {
    let mut rig = Rig::<E>::new(setup, 4);
    assert!(rig.reap(Wait::POLL).is_empty(), "a completion of nothing");
    assert!(rig.flush_and_reap(Wait::POLL).is_empty(), "a completion of nothing");
    let mut left = fill(&mut rig, 4);
    left -= rig.reap(Wait::POLL).len();
    rig.flush();
    // Polling alone must complete them: the kernel may have task work that only runs during reap.
    let mut polls = 0_u64;
    while left > 0 {
        left -= rig.reap(Wait::POLL).len();
        polls += 1;
        assert!(polls < 20_000_000, "polling alone never brings the completions");
        std::thread::yield_now();
    }
    assert!(rig.reap(Wait::POLL).is_empty(), "a completion came twice");
}

/// A wait without a timeout returns only with `at_least` completions.
pub fn at_least_is_honoured<E: Engine>(setup: &ConformanceSetup) {
    for &depth in setup.depths {
        let mut rig = Rig::<E>::new(setup, depth);
        for at_least in [1, depth / 2, depth] {
            let accepted = fill(&mut rig, depth);
            let at_least = at_least.clamp(1, accepted);
            rig.flush();
            let done = rig.reap(for_at_least(at_least)).len();
            assert!(done >= at_least, "{done} of at least {at_least}");
            assert_eq!(done + rig.drain().len(), accepted);
        }
    }
}

/// No more completions are returned than there is room for, and none is lost.
pub fn room_is_respected<E: Engine>(setup: &ConformanceSetup) {
    let mut rig = Rig::<E>::new(setup, 8);
    let accepted = fill(&mut rig, 8);
    rig.set_room(1);
    rig.flush();
    let mut done = 0;
    while done < accepted {
        let some = rig.reap(for_at_least(1)).len();
        assert_eq!(some, 1);
        done += some;
    }
    assert!(rig.reap(Wait::POLL).is_empty(), "more completions than operations");
}

/// A wait for completions that cannot come returns after its timeout, or at once if that is zero.
pub fn timeouts_return<E: Engine>(setup: &ConformanceSetup) {
    let mut rig = Rig::<E>::new(setup, 2);
    for timeout_ns in [0, 1, 1_000_000] {
        assert!(rig.reap(Wait { at_least: 1, timeout_ns }).is_empty(), "a completion of nothing");
        assert!(rig.flush_and_reap(Wait { at_least: 1, timeout_ns }).is_empty(), "a completion of nothing");
    }
    let accepted = fill(&mut rig, 2);
    rig.flush();
    let mut done = rig.reap(Wait { at_least: accepted, timeout_ns: 1 }).len();
    done += rig.drain().len();
    assert_eq!(done, accepted);
}

/// `flush_and_reap` alone is enough to run operations.
pub fn flush_and_reap_does_both<E: Engine>(setup: &ConformanceSetup) {
    for &depth in setup.depths {
        let mut rig = Rig::<E>::new(setup, depth);
        for at_least in [1, depth] {
            let accepted = fill(&mut rig, depth);
            let wanted = at_least.min(accepted);
            let first = rig.flush_and_reap(for_at_least(wanted)).len();
            assert!(first >= wanted, "{first} of at least {wanted}");
            let mut done = first;
            while done < accepted {
                let some = rig.flush_and_reap(for_at_least(1)).len();
                assert!(some > 0, "{} operations in flight never completed", accepted - done);
                done += some;
            }
            assert_eq!(done, accepted);
        }
    }
}

/// After draining, the lane holds nothing, stays silent and can be used again.
pub fn nothing_is_left_after_draining<E: Engine>(setup: &ConformanceSetup) {
    let mut rig = Rig::<E>::new(setup, 4);
    for _ in 0..3 {
        let accepted = fill(&mut rig, 4);
        assert_eq!(rig.drain().len(), accepted);
        assert!(rig.reap(Wait::POLL).is_empty(), "a leftover");
        rig.flush();
        assert!(rig.reap(Wait { at_least: 1, timeout_ns: 1000 }).is_empty(), "a leftover");
    }
}

/// A lane can be dropped in any state: when drop returns, the loop owns its buffers again, and they
/// stay untouched.
pub fn dropping_with_operations_in_flight<E: Engine>(setup: &ConformanceSetup) {
    for &depth in setup.depths {
        let mut rig = Rig::<E>::new(setup, depth);
        if holds_data(E::DESCRIPTION.capabilities.files) {
            rig.scratch.write_behind(0, &vec![0xaa; BLOCK * BLOCKS]);
        }
        for flushed in [false, true] {
            fill(&mut rig, depth);
            if flushed {
                rig.flush();
            }
            rig.drop_lane();
            (0..depth).for_each(|slot| rig.pool.slot_mut(slot).fill(0x55));
            rig.reopen(setup);
            let again: Vec<Op> = (0..depth).map(|slot| rig.op(OpKind::Write, slot, slot % BLOCKS)).collect();
            rig.perform_all(&again).iter().for_each(|&result| rig.assert_done(result));
            for slot in 0..depth {
                let untouched = rig.pool.slot_mut(slot).iter().all(|&byte| byte == 0x55);
                assert!(untouched, "the dropped lane wrote to slot {slot}");
            }
        }
    }
}
