//! Charts as SVG with data tables: deterministic, accessible, without scripts.
//!
//! Each chart is a struct of plain data in base units (ns, bytes, bytes/s, operations/s) with
//! `draw`, which gives a [`DrawnChart`]: an SVG for a page that has [`STYLE`], a description in
//! words, and the numbers as a [`Table`]. [`DrawnChart::standalone()`] is the same picture as a
//! file of its own, [`Table::csv`] the numbers for programs.
//!
//! | what a reader asks | chart |
//! | --- | --- |
//! | how much load, at which latency? | [`LatencyLoad`] |
//! | how bad is the tail? | [`Spectrum`], [`Deciles`] |
//! | what happened when? | [`Timeline`], [`HeatMap`] |
//! | which block size, against the limits of the device? | [`BlockSizeChart`] |
//! | how much depth, how many jobs? | [`Matrix`] |
//! | is the candidate better? | [`Forest`] |
//! | is it steady? | [`SteadyRounds`] |
//! | which interface, which share of writes? | [`Groups`], [`Sweep`] |
//! | what are its parts: merged or not, which sizes? | [`Stacked`] |
//!
//! Guarantees: the same data give the same bytes; any data give a well-formed picture whose labels
//! lie inside it and do not overlap; missing values (`None`, numbers that are not finite, too few
//! samples) are reported and not drawn as zero; bars always have error bars.
//!
//! This crate reads no files or clocks, writes no scripts, and does no statistics: confidence
//! intervals are part of its input.

mod captions;
mod chart;
mod data;
mod figure;
mod gradient;
mod plot;
mod points;
mod scale;
mod series;
mod sheet;
mod svg;
mod table;
mod text;
mod unit;
mod viridis;

#[cfg(test)]
mod any_data;

pub use chart::block_sizes::{BlockSizeChart, BlockSizePoint, BlockSizeSeries, Roofline};
pub use chart::deciles::{DecileSeries, Deciles};
pub use chart::forest::{Forest, ForestRow, VerdictClass};
pub use chart::groups::{GroupSeries, Groups};
pub use chart::heat_map::{HeatCell, HeatColumn, HeatMap};
pub use chart::latency_load::{LatencyLoad, LoadCurve, LoadPoint, SloTarget};
pub use chart::matrix::Matrix;
pub use chart::offset_map::{OffsetMap, OffsetPoint};
pub use chart::spectrum::{Spectrum, SpectrumPoint, SpectrumSeries};
pub use chart::stacked::{Stacked, StackedBar};
pub use chart::steady_rounds::{Rounds, SteadyRounds, Window};
pub use chart::sweep::{Sweep, SweepAxis, SweepPoint, SweepSeries};
pub use chart::timeline::{LatencyBand, LatencyMoment, Panel, TimeMark, TimeSeries, Timeline};
pub use data::{AxisMeasure, Estimate, Heading, Spacing};
pub use figure::{DrawnChart, STYLE};
pub use table::{Datum, Table};
pub use unit::AxisUnit;
