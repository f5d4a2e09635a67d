//! Figures of whole distributions: percentile spectra and deciles.
//!
//! Percentiles of several trials come from the sum of their histograms: an average of percentiles
//! is not a percentile of anything.

use iolab_charts::{DecileSeries, Deciles, Estimate, Heading, Spacing, Spectrum, SpectrumPoint, SpectrumSeries};
use iolab_histogram::SparseHistogram;
use iolab_statistics::{median_interval, samples_needed};
use iolab_study::{Figure, FigureDirection, Measure};

use super::Gallery;
use super::axes::{MOST_PANELS, Panel, panels};
use super::shape::Shape;
use super::sweeps::sides;
use super::values::{Material, capital, side_words};

/// Points of a spectrum from one nine to the next.
const POINTS_OF_A_NINE: u32 = 8;
/// Most nines: no run has samples for more.
const MOST_NINES: u32 = 8;

/// The spectrum of one distribution, as far as its samples reach.
pub(crate) fn spectrum_of(name: &str, latencies: &SparseHistogram) -> SpectrumSeries {
    let percentiles = (0..=POINTS_OF_A_NINE * MOST_NINES).map(|step| {
        let rarity = 10_f64.powf(f64::from(step) / f64::from(POINTS_OF_A_NINE));
        // As many digits as distinguish it from its neighbours.
        let digits = 10_f64.powi(1 + (step / POINTS_OF_A_NINE) as i32);
        (100.0 * (1.0 - 1.0 / rarity) * digits).round() / digits
    });
    let reached =
        percentiles.take_while(|percent| !latencies.is_empty() && latencies.count >= samples_needed(*percent));
    let point = |percentile: f64| {
        let latency_ns = Estimate::of(latencies.percentile(percentile) as f64);
        SpectrumPoint { percentile, latency_ns }
    };
    SpectrumSeries { name: name.to_owned(), points: reached.map(point).collect() }
}

/// A spectrum for each panel of configurations and each direction.
pub(super) fn spectra(gallery: &mut Gallery, shape: &Shape<'_>) {
    let material = &shape.material;
    let mut all: Vec<(String, Vec<SpectrumSeries>)> = Vec::new();
    for side in sides(material) {
        for panel in chosen(material) {
            let series = members(&panel)
                .map(|(name, number)| spectrum_of(&name, &material.latencies(side, number)))
                .filter(|series| !series.points.is_empty());
            all.push((titled(&format!("Latency{} by percentile", side_words(side)), &panel), series.collect()));
        }
    }
    // All spectra of a study have the same scale, because readers compare them.
    let beside: Vec<SpectrumSeries> = all.iter().flat_map(|(_, series)| series).cloned().collect();
    for (title, series) in all.into_iter().filter(|(_, series)| !series.is_empty()) {
        let heading = Heading::new(&gallery.id("spectrum"), &title);
        let about = Figure { side: FigureDirection::All, measure: Measure::Latency(99.0) };
        let about = material
            .outcome
            .analysis
            .figures
            .iter()
            .find(|one| matches!(one.measure, Measure::Latency(_)))
            .unwrap_or(&about);
        gallery.add_of(Some(about), Spectrum { heading, series, latency: Spacing::Log, beside: beside.clone() }.draw());
    }
}

/// The latencies at each tenth of the operations of one distribution, the largest last.
pub(crate) fn deciles_of(name: &str, latencies: &SparseHistogram) -> DecileSeries {
    let tenths = (1..10).map(|tenth| Estimate::of(latencies.percentile(f64::from(tenth) * 10.0) as f64));
    let latencies_ns = tenths.chain([Estimate::of(latencies.max as f64)]).collect();
    DecileSeries { name: name.to_owned(), latencies_ns }
}

/// Deciles for each panel and direction; the intervals are those of the trials.
pub(super) fn deciles(gallery: &mut Gallery, shape: &Shape<'_>) {
    let material = &shape.material;
    for side in sides(material) {
        for panel in chosen(material) {
            let series: Vec<DecileSeries> = members(&panel)
                .map(|(name, number)| DecileSeries { name, latencies_ns: tenths(material, side, number) })
                .filter(|series| series.latencies_ns.iter().any(|one| one.value.is_some()))
                .collect();
            if series.is_empty() {
                continue;
            }
            let title = titled(&format!("Latency{} by decile", side_words(side)), &panel);
            let heading = Heading::new(&gallery.id("deciles"), &title);
            gallery.add(Deciles { heading, series, latency: Spacing::Log }.draw());
        }
    }
}

fn tenths(material: &Material<'_>, side: FigureDirection, configuration: usize) -> Vec<Estimate> {
    let all = material.latencies(side, configuration);
    let of = |percent: f64| {
        if all.is_empty() {
            return Estimate::default();
        }
        let whole = all.percentile(percent) as f64;
        let figure = Figure { side, measure: Measure::Latency(percent) };
        let trials = material.estimate(&figure, configuration).trials;
        match median_interval(&trials, material.outcome.rules.confidence) {
            Some(median) => Estimate::within(whole, median.low.min(whole), median.high.max(whole)),
            None => Estimate::of(whole),
        }
    };
    let mut tenths: Vec<Estimate> = (1..10).map(|tenth| of(f64::from(tenth) * 10.0)).collect();
    tenths.push(if all.is_empty() { Estimate::default() } else { Estimate::of(all.max as f64) });
    tenths
}

/// The panels that are drawn: all if there are few, otherwise a selection from the first to the
/// last.
fn chosen(material: &Material<'_>) -> Vec<Panel> {
    let all = panels(&material.outcome, &[]);
    let last = all.len().saturating_sub(1);
    if all.len() <= MOST_PANELS {
        return all;
    }
    (0..MOST_PANELS).map(|place| all[place * last / (MOST_PANELS - 1)].clone()).collect()
}

/// Each line of such a panel is one configuration.
fn members(panel: &Panel) -> impl Iterator<Item = (String, usize)> {
    panel.lines.iter().flat_map(|line| line.configurations.iter().map(|number| (line.name.clone(), *number)))
}

fn titled(title: &str, panel: &Panel) -> String {
    let title = capital(title);
    if panel.name.is_empty() { title } else { format!("{title}; {}", panel.name) }
}
