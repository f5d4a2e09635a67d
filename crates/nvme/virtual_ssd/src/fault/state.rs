//! Faults of a running device: which commands they hit, and how many they have hit.
//!
//! Guarantees: all dispatchers share the counts, so `times=1` hits one command of the device.

use std::sync::atomic::{AtomicU64, Ordering};

use iolab_nvme_spec::{IoOpcode, SubmissionEntry};

use super::{Fault, FaultKind, FaultOperation};

/// When a fault is applied to a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FaultPoint {
    Fetch,
    Execute,
    Complete,
}

/// What is known about a command at that point.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Subject {
    pub(crate) queue: u16,
    pub(crate) opcode: u8,
    pub(crate) namespace: u32,
    pub(crate) lba: u64,
    pub(crate) blocks: u64,
    pub(crate) lba_shift: u32,
    pub(crate) is_read: bool,
    pub(crate) is_write: bool,
}

impl Subject {
    /// The fields of an entry that has not been checked.
    pub(crate) fn of(queue: u16, command: &SubmissionEntry, lba_shift: u32) -> Subject {
        let opcode = IoOpcode(command.opc());
        let is_read = matches!(opcode, IoOpcode::READ | IoOpcode::COMPARE | IoOpcode::VERIFY);
        let is_write = matches!(opcode, IoOpcode::WRITE | IoOpcode::WRITE_ZEROES | IoOpcode::ZONE_APPEND);
        let has_blocks = (is_read || is_write) && queue != 0;
        Subject {
            queue,
            opcode: command.opc(),
            namespace: command.nsid(),
            lba: if has_blocks { command.slba() } else { 0 },
            blocks: if has_blocks { u64::from(command.cdw(12) as u16) + 1 } else { 0 },
            lba_shift,
            is_read: is_read && queue != 0,
            is_write: is_write && queue != 0,
        }
    }
}

/// The plan, with its counts.
#[derive(Debug)]
pub(crate) struct FaultState {
    faults: Vec<(Fault, AtomicU64)>,
}

impl FaultState {
    /// `None` if there are no faults.
    pub(crate) fn new(faults: &[Fault]) -> Option<FaultState> {
        let faults: Vec<_> = faults.iter().map(|fault| (*fault, AtomicU64::new(0))).collect();
        (!faults.is_empty()).then_some(FaultState { faults })
    }

    /// The first fault that hits the command at this point.
    pub(crate) fn strike(&self, point: FaultPoint, subject: &Subject) -> Option<FaultKind> {
        let here = self.faults.iter().filter(|(fault, _)| point_of(fault.kind) == point && hits(fault, subject));
        here.filter(|(fault, met)| {
            let before = met.fetch_add(1, Ordering::Relaxed);
            before >= fault.after && before - fault.after < fault.times
        })
        .map(|(fault, _)| fault.kind)
        .next()
    }
}

fn point_of(kind: FaultKind) -> FaultPoint {
    match kind {
        FaultKind::Timeout | FaultKind::Fatal | FaultKind::Removal => FaultPoint::Fetch,
        FaultKind::MediaError | FaultKind::Slow { .. } | FaultKind::NoAccess => FaultPoint::Execute,
        _ => FaultPoint::Complete,
    }
}

fn hits(fault: &Fault, subject: &Subject) -> bool {
    let is_meant = match fault.operation {
        FaultOperation::Any => true,
        FaultOperation::Read => subject.is_read,
        FaultOperation::Write => subject.is_write,
    };
    // Only faults that name the admin queue hit admin commands.
    let queue = fault.queue.map_or(subject.queue != 0, |queue| queue == subject.queue);
    let needs_media = matches!(fault.kind, FaultKind::MediaError) && !subject.is_read && !subject.is_write;
    is_meant
        && queue
        && !needs_media
        && fault.opcode.is_none_or(|opcode| opcode == subject.opcode)
        && fault.namespace.is_none_or(|namespace| namespace == subject.namespace)
        && fault.blocks.is_none_or(|(first, count)| {
            subject.lba < first.saturating_add(count) && first < subject.lba.saturating_add(subject.blocks)
        })
        && touches_stripe(fault, subject)
}

fn touches_stripe(fault: &Fault, subject: &Subject) -> bool {
    let Some(stripe) = fault.stripe else { return true };
    if subject.blocks == 0 {
        return false;
    }
    let first = (u128::from(subject.lba) << subject.lba_shift) / u128::from(stripe.bytes);
    let end = u128::from(subject.lba) + u128::from(subject.blocks);
    let last = ((end << subject.lba_shift) - 1) / u128::from(stripe.bytes);
    let units = u128::from(stripe.units);
    let distance = (u128::from(stripe.unit) + units - first % units) % units;
    first + distance <= last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn struck(text: &str, point: FaultPoint, subjects: &[Subject]) -> Vec<bool> {
        let state = FaultState::new(&[text.parse().unwrap()]).unwrap();
        subjects.iter().map(|subject| state.strike(point, subject).is_some()).collect()
    }

    const READ: Subject =
        Subject { queue: 1, opcode: 2, namespace: 1, lba: 8, blocks: 8, lba_shift: 9, is_read: true, is_write: false };

    #[test]
    fn selectors_choose_commands() {
        let write = Subject { opcode: 1, is_read: false, is_write: true, ..READ };
        let flush = Subject { opcode: 0, is_read: false, blocks: 0, lba: 0, ..READ };
        let admin = Subject { queue: 0, ..flush };
        let cases = [
            ("media-error", [true, true, false, false]),
            ("media-error:op=read", [true, false, false, false]),
            ("media-error:op=write", [false, true, false, false]),
            ("media-error:opcode=1", [false, true, false, false]),
            ("media-error:lba=15", [true, true, false, false]),
            ("media-error:lba=16", [false; 4]),
            ("media-error:lba=7", [false; 4]),
            ("media-error:ns=2", [false; 4]),
            ("media-error:queue=2", [false; 4]),
            ("slow:extra=1ms,lun=1/2,stripe=4k", [true, true, false, false]),
            ("slow:extra=1ms,lun=0/2,stripe=4k", [false; 4]),
            ("slow:extra=1ms,lun=0/2,stripe=2k", [true, true, false, false]),
            ("slow:extra=1ms", [true, true, true, false]),
            ("slow:extra=1ms,queue=0", [false, false, false, true]),
        ];
        for (text, expected) in cases {
            assert_eq!(struck(text, FaultPoint::Execute, &[READ, write, flush, admin]), expected, "{text}");
        }
        assert_eq!(struck("media-error", FaultPoint::Fetch, &[READ]), [false]);
        assert_eq!(struck("timeout", FaultPoint::Fetch, &[READ]), [true]);
        assert_eq!(struck("drop", FaultPoint::Complete, &[READ]), [true]);
    }

    #[test]
    fn counts_choose_which_of_them() {
        assert_eq!(struck("drop:times=2", FaultPoint::Complete, &[READ; 4]), [true, true, false, false]);
        assert_eq!(struck("drop:after=1,times=1", FaultPoint::Complete, &[READ; 4]), [false, true, false, false]);
        assert_eq!(struck("drop:after=2", FaultPoint::Complete, &[READ; 4]), [false, false, true, true]);
    }
}
