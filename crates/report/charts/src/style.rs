//! The style sheet of all figures.
//!
//! Every colour is given twice: as a plain colour for programs that know no variables (converters
//! of SVG), and as a variable that makes the same picture light, dark or printed. Series colours:
//! Okabe and Ito, "Color Universal Design" (2008).

/// Style sheet of the figures: light, dark (`prefers-color-scheme`, or `data-theme="dark"` on the
/// root element) and print.
///
/// All of its rules are of `.iolab-figure` or set `--fig-…` variables, so that it can stand in any
/// page. Figures grow with what holds them; on screens none is narrower than it was drawn, so that
/// its smallest numbers keep their 11 px, and what holds it scrolls sideways instead.
pub const STYLE: &str = include_str!("style.css");
