//! A mix with a fractional percentage, kept exactly.
//!
//! Independent draws keep a percentage only on average, and a few thousand operations cannot
//! distinguish 12.5 % from 12 %. So reads and the rest are dealt like cards: a deck has exactly the
//! share, in random order, and a new deck follows. Whole percentages use independent draws, as in
//! fio.

use iolab_plan::Percent;

use crate::random::Generator;

/// Cards of a deck, if that makes the share a whole number; finer shares need more.
const CARDS: [u32; 3] = [1_000, 10_000, 100_000];

/// One deck after the other.
#[derive(Debug)]
pub(crate) struct Deck {
    hits: u32,
    cards: u32,
    hits_left: u32,
    cards_left: u32,
}

impl Deck {
    pub(crate) fn new(share: Percent) -> Deck {
        let hits_of = |cards: u32| u64::from(cards) * u64::from(share.thousandths());
        let is_even = |cards: &u32| hits_of(*cards).is_multiple_of(u64::from(Percent::ALL));
        let cards = CARDS.into_iter().find(is_even).unwrap_or(Percent::ALL);
        let hits = (hits_of(cards) / u64::from(Percent::ALL)) as u32;
        Deck { hits, cards, hits_left: hits, cards_left: cards }
    }

    /// Whether the next card is a hit.
    #[inline]
    pub(crate) fn draw(&mut self, generator: &mut Generator) -> bool {
        if self.cards_left == 0 {
            (self.hits_left, self.cards_left) = (self.hits, self.cards);
        }
        let hit = generator.below(u64::from(self.cards_left)) < u64::from(self.hits_left);
        self.cards_left -= 1;
        self.hits_left -= u32::from(hit);
        hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_deck_has_exactly_the_share_in_an_order_of_its_own() {
        for (share, cards, hits) in
            [(12.5, 1_000, 125), (87.5, 1_000, 875), (0.25, 10_000, 25), (33.333, 100_000, 33_333)]
        {
            let mut deck = Deck::new(Percent::of_number(share).expect("a percentage"));
            let mut generator = Generator::new(5);
            let mut decks = Vec::new();
            for _ in 0..3 {
                let drawn: Vec<bool> = (0..cards).map(|_| deck.draw(&mut generator)).collect();
                assert_eq!(drawn.iter().filter(|hit| **hit).count(), hits, "{share}");
                decks.push(drawn);
            }
            assert!(decks[0] != decks[1] && decks[1] != decks[2], "{share}");
        }
    }
}
