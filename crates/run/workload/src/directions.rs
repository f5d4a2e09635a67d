//! Whether the next operation reads, writes or trims.

mod dealt;

use iolab_plan::{Direction, PerDirection, Percent, RateProcess, WorkloadPlan};

use self::dealt::Deck;
use crate::curves::ln;
use crate::random::{Chance, Generator, Role, derive};

/// Chooses directions.
pub(crate) trait Directions: Send {
    /// The direction of the next operation.
    fn next(&mut self) -> Direction;
    /// Reports the result of an operation.
    fn moved(&mut self, direction: Direction);
    /// Begins a pass.
    fn reseed(&mut self, seed: u64);
}

/// Always the same direction.
#[derive(Debug, Clone)]
pub(crate) struct OneDirection(pub(crate) Direction);

impl Directions for OneDirection {
    #[inline]
    fn next(&mut self) -> Direction {
        self.0
    }

    #[inline]
    fn moved(&mut self, _direction: Direction) {}

    fn reseed(&mut self, _seed: u64) {}
}

/// Several directions, by independent draws or by rates.
#[derive(Debug)]
pub(crate) enum MixedDirections {
    Dice(Dice),
    Dealt(Dealt),
    Rates(Rates),
}

impl MixedDirections {
    /// By rates if the plan gives one for every direction that occurs; otherwise by draws.
    pub(crate) fn new(plan: &WorkloadPlan, used: &[Direction]) -> MixedDirections {
        match plan.mix_by_rate {
            Some(rates) if used.iter().all(|direction| rates[direction.index()] > 0) => {
                MixedDirections::Rates(Rates::new(rates, plan.mix_process, used, plan.seed))
            }
            _ => match plan.read_percent.as_whole() {
                None if used.first() == Some(&Direction::Read) => {
                    MixedDirections::Dealt(Dealt::new(plan.read_percent, used, plan.seed))
                }
                whole => MixedDirections::Dice(Dice::new(whole.unwrap_or(50), used, plan.seed)),
            },
        }
    }
}

impl Directions for MixedDirections {
    #[inline]
    fn next(&mut self) -> Direction {
        match self {
            MixedDirections::Dice(dice) => dice.next(),
            MixedDirections::Dealt(dealt) => dealt.next(),
            MixedDirections::Rates(rates) => rates.next(),
        }
    }

    #[inline]
    fn moved(&mut self, direction: Direction) {
        if let MixedDirections::Rates(rates) = self {
            rates.moved(direction);
        }
    }

    fn reseed(&mut self, seed: u64) {
        match self {
            MixedDirections::Dice(dice) => dice.generator = Generator::new(derive(seed, Role::Direction, 0)),
            // The deck stays: the share applies to all passes together.
            MixedDirections::Dealt(dealt) => dealt.generator = Generator::new(derive(seed, Role::Direction, 0)),
            MixedDirections::Rates(rates) => rates.reseed(seed),
        }
    }
}

/// Independent draws. Reads get their percentage; writes and trims, if both occur, halve the rest.
#[derive(Debug)]
pub(crate) struct Dice {
    /// A miss takes the first, a hit the second. An index costs less than an unpredictable branch.
    faces: [Direction; 2],
    /// Takes half of the misses.
    third: Option<Direction>,
    chance: Chance,
    generator: Generator,
}

impl Dice {
    fn new(read_percent: u32, used: &[Direction], seed: u64) -> Dice {
        let first = used.first().copied().unwrap_or(Direction::Read);
        let second = used.get(1).copied().unwrap_or(first);
        let percent = if first == Direction::Read { read_percent } else { 50 };
        Dice {
            faces: [second, first],
            third: used.get(2).copied(),
            chance: Chance::percent(percent),
            generator: Generator::new(derive(seed, Role::Direction, 0)),
        }
    }

    #[inline]
    fn next(&mut self) -> Direction {
        let hit = self.generator.chance(self.chance);
        match self.third {
            Some(third) if !hit && self.generator.next() >> 63 == 1 => third,
            _ => self.faces[usize::from(hit)],
        }
    }
}

/// Draws reads and the rest from a deck, for a share with a fraction. Writes and trims, if both
/// occur, halve the rest.
#[derive(Debug)]
pub(crate) struct Dealt {
    rest: [Direction; 2],
    deck: Deck,
    generator: Generator,
}

impl Dealt {
    fn new(read_percent: Percent, used: &[Direction], seed: u64) -> Dealt {
        let second = used.get(1).copied().unwrap_or(Direction::Read);
        let third = used.get(2).copied().unwrap_or(second);
        let generator = Generator::new(derive(seed, Role::Direction, 0));
        Dealt { rest: [second, third], deck: Deck::new(read_percent), generator }
    }

    #[inline]
    fn next(&mut self) -> Direction {
        if self.deck.draw(&mut self.generator) {
            return Direction::Read;
        }
        let [second, third] = self.rest;
        if second != third && self.generator.next() >> 63 == 1 { third } else { second }
    }
}

/// The direction that is due next when each performs operations at its own rate.
#[derive(Debug)]
pub(crate) struct Rates {
    used: [bool; 3],
    seconds_per_op: PerDirection<f64>,
    due_seconds: PerDirection<f64>,
    process: RateProcess,
    generator: Generator,
}

impl Rates {
    fn new(rates: PerDirection<u64>, process: RateProcess, used: &[Direction], seed: u64) -> Rates {
        let mut made = Rates {
            used: Direction::ALL.map(|direction| used.contains(&direction)),
            seconds_per_op: rates.map(|rate| 1.0 / rate.max(1) as f64),
            due_seconds: [0.0; 3],
            process,
            generator: Generator::new(0),
        };
        made.reseed(seed);
        made
    }

    fn reseed(&mut self, seed: u64) {
        self.generator = Generator::new(derive(seed, Role::Direction, 0));
        self.due_seconds = [0.0; 3];
    }

    #[inline]
    fn next(&self) -> Direction {
        let mut best = Direction::Read;
        let mut earliest = f64::INFINITY;
        for direction in Direction::ALL {
            let due = self.due_seconds[direction.index()];
            if self.used[direction.index()] && due < earliest {
                (best, earliest) = (direction, due);
            }
        }
        best
    }

    #[inline]
    fn moved(&mut self, direction: Direction) {
        let even = self.seconds_per_op[direction.index()];
        let gap = match self.process {
            RateProcess::Linear => even,
            // An exponential gap with the same mean.
            RateProcess::Poisson => -ln(1.0 - self.generator.unit()) * even,
        };
        self.due_seconds[direction.index()] += gap;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Direction; 3] = Direction::ALL;

    fn shares(mut next: impl FnMut() -> Direction, draws: usize) -> [f64; 3] {
        let mut counts = [0.0; 3];
        for _ in 0..draws {
            counts[next().index()] += 100.0 / draws as f64;
        }
        counts
    }

    #[test]
    fn dice_keep_the_percentage() {
        for (used, percent, expected) in [
            (&ALL[..2], 50, [50.0, 50.0, 0.0]),
            (&ALL[..2], 0, [0.0, 100.0, 0.0]),
            (&ALL[..2], 100, [100.0, 0.0, 0.0]),
            (&ALL[..2], 71, [71.0, 29.0, 0.0]),
            (&ALL[..], 40, [40.0, 30.0, 30.0]),
            (&ALL[1..], 99, [0.0, 50.0, 50.0]),
        ] {
            let mut dice = Dice::new(percent, used, 11);
            let observed = shares(|| dice.next(), 50_000);
            for (got, wanted) in observed.iter().zip(expected) {
                // Four deviations of a binomial of this size.
                assert!((got - wanted).abs() < 0.9, "{used:?} {percent}: {observed:?}");
            }
        }
    }

    #[test]
    fn rates_choose_whoever_is_due() {
        let mut rates = Rates::new([3000, 1000, 0], RateProcess::Linear, &ALL[..2], 1);
        let mut order = Vec::new();
        for _ in 0..8 {
            let direction = rates.next();
            rates.moved(direction);
            order.push(direction.index());
        }
        assert_eq!(order.iter().filter(|index| **index == 0).count(), 6, "{order:?}");
        let mut poisson = Rates::new([3000, 1000, 0], RateProcess::Poisson, &ALL[..2], 1);
        let observed = shares(
            || {
                let direction = poisson.next();
                poisson.moved(direction);
                direction
            },
            40_000,
        );
        assert!((observed[0] - 75.0).abs() < 1.5, "{observed:?}");
    }
}
