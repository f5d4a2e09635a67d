//! The lines of one partition: how many pages of each are valid, which lines are free, and which
//! one is emptied next.
//!
//! Guarantees: a line is free, open (being written), closed, or being collected, and the count of
//! free lines matches the free state. Closed lines with an invalid page are kept in a binary
//! min-heap by their valid pages. Among equal lines the heap's order decides, on which NVMeVirt's
//! results depend. NVMeVirt can run out of free lines and then stops (a defect known to its users);
//! here a line is added, which only the compatible fidelity ever needs. Which pages are valid is
//! not recorded here.

use std::collections::VecDeque;

use crate::parameters::VictimPolicy;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Free,
    Open,
    Closed,
    Collecting,
}

#[derive(Debug, Clone, Copy)]
struct Line {
    valid: u32,
    /// Position in the heap, counted from 1; 0 means that it is not in the heap.
    place: u32,
    erases: u32,
    state: State,
    /// The partition's count of written pages when this line was last written or lost a page.
    touched: u64,
}

const FRESH: Line = Line { valid: 0, place: 0, erases: 0, state: State::Free, touched: 0 };

#[derive(Debug, Clone)]
pub(super) struct Lines {
    lines: Vec<Line>,
    free: VecDeque<u32>,
    /// `heap[0]` is unused.
    heap: Vec<u32>,
    pages_per_line: u32,
    policy: VictimPolicy,
    most_erases: u32,
}

impl Lines {
    pub(super) fn new(lines: u32, pages_per_line: u32, policy: VictimPolicy) -> Self {
        Self {
            lines: vec![FRESH; lines as usize],
            free: (0..lines).collect(),
            heap: vec![0],
            pages_per_line,
            policy,
            most_erases: 0,
        }
    }

    pub(super) fn free_count(&self) -> u64 {
        self.free.len() as u64
    }

    pub(super) fn most_erases(&self) -> u32 {
        self.most_erases
    }

    pub(super) fn valid(&self, line: u32) -> u32 {
        self.lines[line as usize].valid
    }

    /// Opens the line that has been free the longest; if none is free, adds a new one.
    pub(super) fn open(&mut self) -> u32 {
        let line = self.free.pop_front().unwrap_or_else(|| {
            self.lines.push(FRESH);
            self.lines.len() as u32 - 1
        });
        self.lines[line as usize].state = State::Open;
        line
    }

    pub(super) fn count(&self) -> usize {
        self.lines.len()
    }

    /// Closes an open line whose pages are all written.
    pub(super) fn close(&mut self, line: u32) {
        self.lines[line as usize].state = State::Closed;
        if self.lines[line as usize].valid < self.pages_per_line {
            self.push(line);
        }
    }

    /// Records that a page of an open line was written with data.
    pub(super) fn add_valid(&mut self, line: u32, written: u64) {
        let line = &mut self.lines[line as usize];
        line.valid += 1;
        line.touched = written;
    }

    /// Records that a page of a line became invalid.
    pub(super) fn remove_valid(&mut self, number: u32, written: u64) {
        let line = &mut self.lines[number as usize];
        line.valid -= 1;
        line.touched = written;
        if line.place != 0 {
            let place = line.place as usize;
            self.rise(place);
        } else if line.state == State::Closed {
            self.push(number);
        }
    }

    /// Chooses the line to empty, which must have at most `most_valid` valid pages.
    pub(super) fn take_victim(&mut self, written: u64, most_valid: u32) -> Option<u32> {
        if self.heap.len() == 1 {
            return None;
        }
        let place = match self.policy {
            VictimPolicy::Greedy => 1,
            VictimPolicy::CostBenefit => self.best_by_cost_benefit(written, most_valid)?,
        };
        let victim = self.heap[place];
        if self.lines[victim as usize].valid > most_valid {
            return None;
        }
        self.remove(place);
        self.lines[victim as usize].state = State::Collecting;
        Some(victim)
    }

    /// Whether [`Lines::take_victim`] would find one.
    pub(super) fn has_victim(&self, most_valid: u32) -> bool {
        self.heap.get(1).is_some_and(|line| self.lines[*line as usize].valid <= most_valid)
    }

    /// Frees a collected line that has been erased.
    pub(super) fn make_free(&mut self, number: u32) {
        let line = &mut self.lines[number as usize];
        assert!(line.valid == 0, "broken promise: a line is erased only when nothing in it is valid");
        line.state = State::Free;
        line.erases += 1;
        self.most_erases = self.most_erases.max(line.erases);
        self.free.push_back(number);
    }

    /// The position of the line with the largest (1 - u) / 2u times age. The factor of two has no
    /// effect.
    fn best_by_cost_benefit(&self, written: u64, most_valid: u32) -> Option<usize> {
        let score = |place: usize| {
            let line = &self.lines[self.heap[place] as usize];
            let age = (written - line.touched + 1) as f64;
            age * f64::from(self.pages_per_line - line.valid) / f64::from(line.valid.max(1))
        };
        let allowed = (1..self.heap.len()).filter(|place| self.key(*place) <= most_valid);
        allowed.max_by(|a, b| score(*a).total_cmp(&score(*b)))
    }

    fn push(&mut self, line: u32) {
        self.heap.push(line);
        self.rise(self.heap.len() - 1);
    }

    /// Removes the line at `place`; the last line of the heap fills the gap.
    fn remove(&mut self, place: usize) {
        let removed = self.heap.swap_remove(place);
        self.lines[removed as usize].place = 0;
        if place < self.heap.len() {
            let filler = self.heap[place];
            self.sink(place);
            self.rise(self.lines[filler as usize].place as usize);
        }
    }

    fn key(&self, place: usize) -> u32 {
        self.lines[self.heap[place] as usize].valid
    }

    fn put(&mut self, place: usize, line: u32) {
        self.heap[place] = line;
        self.lines[line as usize].place = place as u32;
    }

    /// Moves the line at `place` towards the root, past strictly greater ones.
    fn rise(&mut self, mut place: usize) {
        let moving = self.heap[place];
        let key = self.lines[moving as usize].valid;
        while place > 1 && self.key(place / 2) > key {
            self.put(place, self.heap[place / 2]);
            place /= 2;
        }
        self.put(place, moving);
    }

    /// Moves the line at `place` away from the root, past the smaller child (the left one if
    /// equal).
    fn sink(&mut self, mut place: usize) {
        let moving = self.heap[place];
        let key = self.lines[moving as usize].valid;
        loop {
            let mut child = 2 * place;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.key(child) > self.key(child + 1) {
                child += 1;
            }
            if key <= self.key(child) {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, moving);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn closed(valid: &[u32], pages: u32, policy: VictimPolicy) -> Lines {
        let mut lines = Lines::new(valid.len() as u32, pages, policy);
        for (written, valid) in valid.iter().enumerate() {
            let line = lines.open();
            for _ in 0..*valid {
                lines.add_valid(line, written as u64);
            }
            lines.close(line);
        }
        lines
    }

    #[test]
    fn greedy_takes_the_emptiest() {
        let mut lines = closed(&[7, 3, 8, 5, 3, 8], 8, VictimPolicy::Greedy);
        let order: Vec<_> = std::iter::from_fn(|| lines.take_victim(0, 8)).collect();
        assert_eq!(order, [1, 4, 3, 0], "full lines are not taken");
    }

    #[test]
    fn losing_pages_moves_a_line_forward() {
        let mut lines = closed(&[7, 6, 8], 8, VictimPolicy::Greedy);
        for _ in 0..4 {
            lines.remove_valid(2, 9);
        }
        assert!(lines.has_victim(4) && !lines.has_victim(3));
        assert_eq!(lines.take_victim(9, 3), None);
        assert_eq!(lines.take_victim(9, 4), Some(2));
    }

    #[test]
    fn cost_benefit_prefers_age_to_a_little_more_space() {
        let mut lines = closed(&[5, 5, 6], 8, VictimPolicy::CostBenefit);
        lines.remove_valid(1, 1000);
        assert_eq!(lines.take_victim(1000, 8), Some(0), "line 1 is emptier, and lost its page just now");
    }

    proptest::proptest! {
        #[test]
        fn the_heap_is_a_heap(
            steps in proptest::collection::vec((0u32..24, 0u32..3), 1..300),
            cost_benefit in proptest::bool::ANY,
        ) {
            let policy = if cost_benefit { VictimPolicy::CostBenefit } else { VictimPolicy::Greedy };
            let mut lines = closed(&[16; 24], 16, policy);
            for (written, (line, what)) in steps.into_iter().enumerate() {
                if what == 0 {
                    lines.take_victim(written as u64 + 100, 12);
                } else if lines.valid(line) > 0 {
                    lines.remove_valid(line, written as u64 + 100);
                }
                for place in 2..lines.heap.len() {
                    proptest::prop_assert!(lines.key(place / 2) <= lines.key(place));
                    proptest::prop_assert_eq!(lines.lines[lines.heap[place] as usize].place as usize, place);
                }
            }
        }
    }
}
