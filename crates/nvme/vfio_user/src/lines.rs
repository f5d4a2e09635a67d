//! The interrupts of a function, as connected by a client: INTx, MSI and MSI-X by eventfds.
//!
//! A controller signals vectors of one table. The kinds that the client has connected decide which
//! eventfds are in it: MSI-X before MSI before INTx, which all vectors share. INTx is signalled
//! with every completion instead of being held until the host acknowledges it, because a client
//! treats eventfds as edges.

use std::os::fd::OwnedFd;

use iolab_pci_device::{Interrupt, InterruptTable};
use rustix::io::Errno;

use crate::config_space::MSI_VECTORS;
use crate::protocol::{InterruptAction, InterruptData, InterruptInfo, InterruptSet};

const INTX: usize = 0;
const MSI: usize = 1;
const MSIX: usize = 2;

/// One interrupt of a kind.
#[derive(Debug, Clone, Default)]
struct Line {
    event: Option<Interrupt>,
    is_masked: bool,
}

/// All interrupts of a function.
#[derive(Debug)]
pub(crate) struct Lines {
    table: InterruptTable,
    /// INTx, MSI, MSI-X, and errors, which a client connects but this function never signals.
    kinds: [Vec<Line>; 4],
    has_intx: bool,
}

impl Lines {
    /// Interrupts that signal the vectors of `table`.
    pub(crate) fn new(table: InterruptTable) -> Lines {
        let count = table.count();
        let lines = |count: u16| vec![Line::default(); usize::from(count)];
        Lines { table, kinds: [lines(1), lines(MSI_VECTORS.min(count)), lines(count), lines(1)], has_intx: true }
    }

    /// The number of interrupts of a kind.
    pub(crate) fn info(&self, index: u32) -> InterruptInfo {
        let count = self.kinds.get(index as usize).map_or(0, Vec::len) as u32;
        InterruptInfo { is_maskable: true, index, count }
    }

    /// Whether INTx may be signalled.
    pub(crate) fn enable_intx(&mut self, has_intx: bool) {
        if self.has_intx != has_intx {
            self.has_intx = has_intx;
            self.connect();
        }
    }

    /// Executes a request of a client.
    pub(crate) fn set(&mut self, set: &InterruptSet<'_>, descriptors: Vec<OwnedFd>) -> Result<(), Errno> {
        let lines = self.kinds.get_mut(set.index as usize).ok_or(Errno::INVAL)?;
        let is_whole = set.count == 0 && set.start == 0 && set.data == InterruptData::None;
        let (start, count) = if is_whole { (0, lines.len()) } else { (set.start as usize, set.count as usize) };
        let lines = start.checked_add(count).and_then(|end| lines.get_mut(start..end)).ok_or(Errno::INVAL)?;
        match (set.action, set.data) {
            (InterruptAction::Trigger, InterruptData::Eventfd) => {
                if !descriptors.is_empty() && descriptors.len() != lines.len() {
                    return Err(Errno::INVAL);
                }
                let events: Result<Vec<_>, _> = descriptors.into_iter().map(Interrupt::of_eventfd).collect();
                let mut events = events.map_err(|_| Errno::INVAL)?.into_iter();
                lines.iter_mut().for_each(|line| line.event = events.next());
            }
            (InterruptAction::Trigger, InterruptData::None) if is_whole => {
                lines.iter_mut().for_each(|line| line.event = None);
            }
            // Notification of masking is for a kernel driver; here only the client masks.
            (_, InterruptData::Eventfd) => return Err(Errno::NOTSUP),
            (action, data) => {
                for (number, line) in lines.iter_mut().enumerate() {
                    if !matches!(data, InterruptData::Bool(wanted) if wanted.get(number).is_none_or(|byte| *byte == 0))
                    {
                        line.act(action);
                    }
                }
            }
        }
        self.connect();
        Ok(())
    }

    /// Puts the selected eventfds into the table.
    fn connect(&self) {
        let [intx, msi, msix, _] = &self.kinds;
        let is_used = |lines: &[Line]| lines.iter().any(|line| line.event.is_some());
        let kind = if is_used(msix) {
            MSIX
        } else if is_used(msi) {
            MSI
        } else {
            INTX
        };
        for vector in 0..self.table.count() {
            let line = match kind {
                MSIX => msix.get(usize::from(vector)),
                MSI => msi.get(usize::from(vector)),
                _ => intx.first().filter(|_| self.has_intx),
            };
            let event = line.filter(|line| !line.is_masked).and_then(|line| line.event.clone());
            self.table.connect(vector, event);
        }
    }

    /// Every eventfd that may be signalled.
    pub(crate) fn events(&self) -> Vec<Interrupt> {
        self.kinds.iter().flatten().filter_map(|line| line.event.clone()).collect()
    }
}

impl Line {
    fn act(&mut self, action: InterruptAction) {
        let signal = |line: &Line| line.event.iter().for_each(Interrupt::signal);
        match action {
            InterruptAction::Trigger => signal(self),
            InterruptAction::Mask => self.is_masked = true,
            // Signals during the masking were not recorded: the host is signalled, and may find
            // nothing.
            InterruptAction::Unmask if self.is_masked => {
                self.is_masked = false;
                signal(self);
            }
            InterruptAction::Unmask => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    fn events(count: usize) -> (Vec<Interrupt>, Vec<OwnedFd>) {
        let near: Vec<_> = (0..count).map(|_| Interrupt::new().unwrap()).collect();
        let far = near.iter().map(|event| event.as_fd().try_clone_to_owned().unwrap()).collect();
        (near, far)
    }

    fn change(
        action: InterruptAction,
        data: InterruptData<'_>,
        index: u32,
        start: u32,
        count: u32,
    ) -> InterruptSet<'_> {
        InterruptSet { action, data, index, start, count }
    }

    const TRIGGER: InterruptAction = InterruptAction::Trigger;

    #[test]
    fn msix_comes_before_msi_and_before_intx() {
        let table = InterruptTable::with_vectors(40);
        let mut lines = Lines::new(table.clone());
        assert_eq!([0, 1, 2, 3, 4].map(|index| lines.info(index).count), [1, 32, 40, 1, 0]);
        let (near, far) = events(1);
        lines.set(&change(TRIGGER, InterruptData::Eventfd, 0, 0, 1), far).unwrap();
        table.signal(39);
        assert!(near[0].take(), "INTx is for all");
        lines.enable_intx(false);
        table.signal(39);
        assert!(!near[0].take());
        lines.enable_intx(true);
        let (msi, far) = events(2);
        lines.set(&change(TRIGGER, InterruptData::Eventfd, 1, 30, 2), far).unwrap();
        (0..40).for_each(|vector| table.signal(vector));
        assert!(!near[0].take() && msi[0].take() && msi[1].take());
        let (msix, far) = events(1);
        lines.set(&change(TRIGGER, InterruptData::Eventfd, 2, 30, 1), far).unwrap();
        table.signal(30);
        assert!(!msi[0].take() && msix[0].take());
        lines.set(&change(TRIGGER, InterruptData::None, 2, 0, 0), Vec::new()).unwrap();
        lines.set(&change(TRIGGER, InterruptData::Eventfd, 1, 30, 2), Vec::new()).unwrap();
        table.signal(30);
        assert!(near[0].take() && !msi[0].take() && !msix[0].take());
    }

    #[test]
    fn masked_interrupts_are_signalled_when_they_no_longer_are() {
        let table = InterruptTable::with_vectors(2);
        let mut lines = Lines::new(table.clone());
        let (near, far) = events(2);
        lines.set(&change(TRIGGER, InterruptData::Eventfd, 2, 0, 2), far).unwrap();
        lines.set(&change(InterruptAction::Mask, InterruptData::Bool(&[0, 1]), 2, 0, 2), Vec::new()).unwrap();
        table.signal(0);
        table.signal(1);
        assert!(near[0].take() && !near[1].take());
        lines.set(&change(InterruptAction::Unmask, InterruptData::None, 2, 0, 2), Vec::new()).unwrap();
        assert!(!near[0].take() && near[1].take());
        lines.set(&change(TRIGGER, InterruptData::None, 2, 0, 1), Vec::new()).unwrap();
        assert!(near[0].take());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut lines = Lines::new(InterruptTable::with_vectors(4));
        let refused = |lines: &mut Lines, index, start, count, descriptors| {
            lines.set(&change(TRIGGER, InterruptData::Eventfd, index, start, count), descriptors).is_err()
        };
        assert!(refused(&mut lines, 2, 3, 2, events(2).1), "beyond the last one");
        assert!(refused(&mut lines, 2, u32::MAX, u32::MAX, Vec::new()));
        assert!(refused(&mut lines, 4, 0, 1, events(1).1), "no such kind");
        assert!(refused(&mut lines, 2, 0, 4, events(3).1), "fewer than said");
        let (pipe, _writer) = rustix::pipe::pipe().unwrap();
        assert!(refused(&mut lines, 2, 0, 1, vec![pipe]), "not an eventfd");
        let mask = change(InterruptAction::Mask, InterruptData::Eventfd, 0, 0, 1);
        assert_eq!(lines.set(&mask, events(1).1), Err(Errno::NOTSUP));
    }
}
