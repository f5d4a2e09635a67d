//! The verifier's demands on an interval, and the answers of threads that examine it.

use std::ops::Range;

use iolab_plan::VerifyPolicy;
use iolab_verify::{CrashBound, Expected, WantedContent};

use super::Verifier;
use crate::verification::judge::{Demand, ReadCopy};

impl Verifier<'_> {
    /// The demand on an interval that was read; `None` if it is not checked.
    #[inline]
    pub(super) fn demand(&self, file: u32, interval: usize, expected: Expected) -> Option<Demand> {
        let bound = || self.maps[file as usize].bound(interval);
        match self.policy {
            VerifyPolicy::Completed => self.wanted(expected).map(Demand::Content),
            VerifyPolicy::Fsynced => match bound() {
                CrashBound::MustBeNew { discarded: true, .. } => Some(Demand::Content(WantedContent::Zeroes)),
                CrashBound::MustBeNew { generation, .. } => {
                    Some(Demand::Content(WantedContent::EarlierRun(u32::from(generation))))
                }
                _ => None,
            },
            VerifyPolicy::Durable => Some(Demand::Aftermath(bound())).filter(|_| bound() != CrashBound::Unknown),
        }
    }

    #[cold]
    pub(super) fn complain(&mut self, slot: u16, text: String) {
        match self.complaints.iter_mut().find(|complaint| complaint.0 == slot) {
            Some(complaint) => {
                complaint.1.push_str("; ");
                complaint.1.push_str(&text);
            }
            None => self.complaints.push((slot, text)),
        }
    }

    /// Takes the answers of threads so far; with `waits`, waits for the next read that they have.
    pub(super) fn take_answers(&mut self, mut waits: bool) {
        let Some(threads) = &mut self.threads else { return };
        while let Some(read) = threads.next(std::mem::take(&mut waits)) {
            for (demand, answer, bytes) in read.answers() {
                match answer {
                    Ok(held) => self.damages.checked(demand, *held),
                    Err(mismatch) => {
                        self.damages.checked(demand, None);
                        self.late.push(self.damages.mismatch(&self.judge.recipe, mismatch, bytes));
                    }
                }
            }
            threads.give_back(read);
        }
    }

    /// A place for a read that threads are to examine, if there are any.
    pub(super) fn place_for_copy(&mut self) -> Option<ReadCopy> {
        self.threads.as_ref()?;
        self.take_answers(false);
        loop {
            if let Some(free) = self.threads.as_mut()?.free() {
                return Some(free);
            }
            self.take_answers(true);
        }
    }

    /// An operation that changes intervals is complete.
    #[inline]
    pub(super) fn note_completed(&mut self, file: u32, range: Range<usize>, is_write: bool) {
        let Some(unflushed) = &mut self.unflushed else { return };
        let map = &self.maps[file as usize];
        for interval in range {
            map.limit_distance(interval);
            unflushed.note(map.completed(file, interval), is_write, map);
        }
    }
}
