//! How the block layer changed the operations: merges and sizes of requests.

use iolab_charts::{
    AxisMeasure, AxisUnit, Estimate, Heading, Spacing, Stacked, StackedBar, Sweep, SweepPoint, SweepSeries,
};
use iolab_statistics::median_interval;
use iolab_study::FigureDirection;

use super::Gallery;
use super::axes::{self, Kind, Line, MOST_PANELS, panels, place};
use super::shape::Shape;
use super::values::Material;
use crate::digest::DeviceDigest;

/// Below this share, no picture is drawn.
const LEAST_SHARE: f64 = 0.01;

/// The directions that the study used, with their index in the counters of the block layer. Other
/// activity of the device came from other programs.
fn used(material: &Material<'_>) -> Vec<(usize, &'static str)> {
    let place = |side: FigureDirection| if side == FigureDirection::Read { (0, "reads") } else { (1, "writes") };
    material.sides().into_iter().map(place).collect()
}

/// The share of requests that were merged, a bar for each configuration.
pub(super) fn merges(gallery: &mut Gallery, shape: &Shape<'_>) {
    let material = &shape.material;
    for (side, name) in used(material) {
        let bar = |configuration: usize| {
            let share = |of: &dyn Fn(&DeviceDigest) -> f64| {
                estimate(material, configuration, &|device| {
                    let all = (device.requests[side] + device.merges[side]) as f64;
                    (all > 0.0).then(|| of(device) / all)
                })
            };
            StackedBar {
                name: material.outcome.name(configuration),
                parts: vec![share(&|device| device.requests[side] as f64), share(&|device| device.merges[side] as f64)],
            }
        };
        let bars: Vec<StackedBar> = (0..material.outcome.design.configurations.len())
            .map(bar)
            .filter(|bar| bar.parts.iter().any(|part| part.value.is_some_and(|share| share > 0.0)))
            .collect();
        if bars.iter().all(|bar| bar.parts[1].value.is_none_or(|share| share < LEAST_SHARE)) {
            continue;
        }
        let stacked = Stacked {
            heading: Heading::new(&gallery.id(&format!("merged-{name}")), &format!("Share of {name} that were merged")),
            measure: AxisMeasure::linear(name, AxisUnit::Share),
            parts: ["reached the device", "merged"].map(str::to_owned).to_vec(),
            bars,
            as_shares: true,
        };
        gallery.add(stacked.draw());
    }
}

/// Mean size of requests over the block size.
pub(super) fn sizes(gallery: &mut Gallery, shape: &Shape<'_>) {
    let Some((number, axis)) = shape.of(Kind::BlockSize) else { return };
    let material = &shape.material;
    for (side, name) in used(material) {
        for panel in panels(&material.outcome, &[number]).iter().take(MOST_PANELS) {
            let point = |configuration: &usize| {
                let x = place(axis, &material.outcome.design.configurations[*configuration].points[number])?;
                let y = estimate(material, *configuration, &|device| {
                    (device.requests[side] > 0).then(|| device.bytes[side] as f64 / device.requests[side] as f64)
                });
                Some(SweepPoint { x, y })
            };
            let series = |line: &Line| {
                let points: Vec<SweepPoint> = line.configurations.iter().filter_map(point).collect();
                SweepSeries { name: line.name.clone(), points }
            };
            let series: Vec<SweepSeries> = panel.lines.iter().map(series).collect();
            if series.iter().flat_map(|one| &one.points).all(|point| point.y.value.is_none()) {
                continue;
            }
            let title = format!("Mean size of {name} at the device over block size");
            let title = if panel.name.is_empty() { title } else { format!("{title}; {}", panel.name) };
            let sweep = Sweep {
                heading: Heading::new(&gallery.id(&format!("request-size-{name}")), &title),
                axis_title: axes::title(axis),
                axis: axes::scale(axis),
                measure: AxisMeasure { name: "request size".to_owned(), unit: AxisUnit::Bytes, spacing: Spacing::Log },
                series,
                beside: Vec::new(),
            };
            gallery.add(sweep.draw());
        }
    }
}

fn estimate(material: &Material<'_>, configuration: usize, of: &dyn Fn(&DeviceDigest) -> Option<f64>) -> Estimate {
    let values: Vec<f64> = material.of(configuration).filter_map(|digest| of(digest.device.as_ref()?)).collect();
    match median_interval(&values, material.outcome.rules.confidence) {
        Some(median) => Estimate::within(median.estimate, median.low, median.high).from_trials(&values),
        None => Estimate::default(),
    }
}
