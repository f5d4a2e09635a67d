//! The bar that explains the colours of a heat map or matrix.

use crate::sheet::{LINE, MARGIN, Sheet};
use crate::svg::{Anchor, Rect};
use crate::text::{Face, fit, width};
use crate::viridis;

/// Steps of colour.
pub(crate) const COLOURS: usize = 20;

/// The share of the colour map that a step stands for.
pub(crate) fn shade(step: usize) -> f64 {
    step as f64 / (COLOURS - 1) as f64
}

impl Sheet<'_> {
    /// Draws a line with the quantity, the smallest number, all colours, and the largest number.
    pub(crate) fn gradient(&mut self, words: &str, low: &str, high: &str) {
        const WIDE: f64 = 9.0;
        let y = self.y + 13.0;
        let words = fit(words, Face::Label, 300.0);
        self.svg.words((MARGIN, y), Anchor::Start, Face::Label, &words);
        let mut x = MARGIN + width(&words, Face::Label) + 10.0;
        self.svg.number((x, y), Anchor::Start, Face::Tick, low);
        x += width(low, Face::Tick) + 6.0;
        for step in 0..COLOURS {
            let place = Rect { x, y: y - 11.0, width: WIDE, height: 13.0 };
            self.svg.rect(&[("fill", &viridis::colour(shade(step)))], place, "");
            x += WIDE;
        }
        self.svg.number((x + 6.0, y), Anchor::Start, Face::Tick, high);
        self.y += LINE + 2.0;
    }
}
