//! Figures of studies along their axes: latency against load, speed over block size, lines,
//! matrices, groups.

use iolab_charts::{
    BlockSizeChart, BlockSizePoint, BlockSizeSeries, Estimate, GroupSeries, Groups, Heading, LatencyLoad, LoadCurve,
    LoadPoint, Matrix, Roofline, Spacing, Sweep, SweepPoint, SweepSeries,
};
use iolab_order::Arrange;
use iolab_study::{Axis, Figure, FigureDirection, Measure};

use super::Gallery;
use super::axes::{self, Kind, Line, MOST_PANELS, Panel, panels, place};
use super::shape::Shape;
use super::values::{self, Material, measure, short, side_words};

/// Latency over throughput, along the depth or the jobs.
pub(super) fn latency_load(gallery: &mut Gallery, shape: &Shape<'_>) {
    let Some((number, axis)) = shape.of(Kind::Depth).or(shape.of(Kind::Jobs)) else { return };
    let material = &shape.material;
    for side in sides(material) {
        for panel in panels(&material.outcome, &[number]).iter().take(MOST_PANELS) {
            let several = panel.lines.len() > 1;
            // A picture with one line shows several percentiles of it; one with several lines shows
            // one percentile of each.
            let percents: &[f64] = if several { &[99.0] } else { &[50.0, 99.0, 99.9] };
            let curve = |line: &Line, percent: f64| {
                let name = if several { line.name.clone() } else { format!("p{percent}") };
                let latency = Figure { side, measure: Measure::Latency(percent) };
                let rate = Figure { side, measure: Measure::Iops };
                let mut service: Vec<LoadPoint> = line
                    .configurations
                    .iter()
                    .filter_map(|one| {
                        let throughput = material.estimate(&rate, *one).value?;
                        let latency_ns = material.estimate(&latency, *one);
                        latency_ns.value.map(|_| LoadPoint { offered: None, throughput, latency_ns })
                    })
                    .collect();
                service.arrange_by(|one, other| one.throughput.total_cmp(&other.throughput));
                LoadCurve { name, response: Vec::new(), service }
            };
            let curves: Vec<LoadCurve> = percents
                .iter()
                .flat_map(|percent| panel.lines.iter().map(move |line| (line, *percent)))
                .map(|(line, percent)| curve(line, percent))
                .filter(|curve| curve.service.len() > 1)
                .collect();
            if curves.is_empty() {
                continue;
            }
            let what = if several { "p99 latency" } else { "Latency" };
            let title = titled(&format!("{what}{} against load, along {}", side_words(side), axes::title(axis)), panel);
            let heading = Heading { id: gallery.id("latency-load"), title, note: String::new() };
            gallery.add(LatencyLoad { heading, curves, knee: None, slo: None, latency: Spacing::Log }.draw());
        }
    }
}

/// Reads and writes if there are both, otherwise everything.
pub(super) fn sides(material: &Material<'_>) -> Vec<FigureDirection> {
    match material.sides() {
        both if both.len() == 2 => both,
        _ => vec![FigureDirection::All],
    }
}

fn titled(title: &str, panel: &Panel) -> String {
    if panel.name.is_empty() { title.to_owned() } else { format!("{title}; {}", panel.name) }
}

/// Bandwidth and IOPS over the block size, with the highest values of the study as the roofline.
pub(super) fn block_sizes(gallery: &mut Gallery, shape: &Shape<'_>) {
    let Some((number, axis)) = shape.of(Kind::BlockSize) else { return };
    let material = &shape.material;
    for side in sides(material) {
        let [bandwidth, iops] = [Measure::Bandwidth, Measure::Iops].map(|measure| Figure { side, measure });
        let best = |figure: &Figure| {
            let all = 0..material.outcome.design.configurations.len();
            all.filter_map(|one| material.estimate(figure, one).value).reduce(f64::max)
        };
        let roofline = || {
            Some(Roofline { name: "best of this study".to_owned(), iops: best(&iops)?, bandwidth: best(&bandwidth)? })
        };
        for panel in panels(&material.outcome, &[number]).iter().take(MOST_PANELS) {
            let point = |configuration: &usize| {
                let block_bytes = place(axis, &material.outcome.design.configurations[*configuration].points[number])?;
                let [bandwidth, iops] = [&bandwidth, &iops].map(|figure| material.estimate(figure, *configuration));
                Some(BlockSizePoint { block_bytes, bandwidth, iops })
            };
            let series = |line: &Line| {
                let mut points: Vec<BlockSizePoint> = line.configurations.iter().filter_map(point).collect();
                points.arrange_by(|one, other| one.block_bytes.total_cmp(&other.block_bytes));
                BlockSizeSeries { name: line.name.clone(), points }
            };
            let title = titled(&format!("Bandwidth and IOPS{} over block size", side_words(side)), panel);
            let heading = Heading::new(&gallery.id("block-sizes"), &title);
            let series = panel.lines.iter().map(series).collect();
            gallery.add(BlockSizeChart { heading, series, roofline: roofline(), spacing: Spacing::Log }.draw());
        }
    }
}

/// Every figure along every numeric axis.
pub(super) fn lines(gallery: &mut Gallery, shape: &Shape<'_>) {
    let material = &shape.material;
    for (number, axis) in shape.numeric() {
        for figure in material.figures().iter().filter(|figure| material.is_known(figure)) {
            let is_speed = matches!(figure.measure, Measure::Bandwidth | Measure::Iops);
            // Speed over block size has its own figure with the roofline.
            if is_speed && axes::kind(axis) == Kind::BlockSize {
                continue;
            }
            let panels = panels(&material.outcome, &[number]);
            // Readers compare the panels of one figure.
            let shown =
                panels.iter().take(MOST_PANELS).flat_map(|panel| &panel.lines).flat_map(|line| &line.configurations);
            let beside: Vec<f64> = match panels.len() {
                1 => Vec::new(),
                _ => shown.flat_map(|one| all_of(&material.estimate(figure, *one))).collect(),
            };
            for panel in panels.iter().take(MOST_PANELS) {
                let point = |configuration: &usize| {
                    let x = place(axis, &material.outcome.design.configurations[*configuration].points[number])?;
                    Some(SweepPoint { x, y: material.estimate(figure, *configuration) })
                };
                let series = |line: &Line| {
                    let mut points: Vec<SweepPoint> = line.configurations.iter().filter_map(point).collect();
                    points.arrange_by(|one, other| one.x.total_cmp(&other.x));
                    SweepSeries { name: line.name.clone(), points }
                };
                let title = titled(&format!("{} over {}", values::titled(figure), axes::title(axis)), panel);
                let sweep = Sweep {
                    heading: Heading::new(&gallery.id(&format!("{}-over-{}", figure.name(), axis.name)), &title),
                    axis_title: axes::title(axis),
                    axis: axes::scale(axis),
                    measure: measure(figure),
                    series: panel.lines.iter().map(series).collect(),
                    beside: beside.clone(),
                };
                gallery.add_of(Some(figure), sweep.draw());
            }
        }
    }
}

/// Every number of an estimate that an axis must cover.
fn all_of(estimate: &Estimate) -> Vec<f64> {
    let limits = estimate.interval.map(|(low, high)| [low, high]);
    estimate.value.into_iter().chain(limits.into_iter().flatten()).chain(estimate.trials.iter().copied()).collect()
}

/// The two axes of the matrices: depth and jobs if both vary, otherwise the first two.
pub(super) fn crossed<'a>(shape: &Shape<'a>) -> Option<[(usize, &'a Axis); 2]> {
    match (shape.of(Kind::Jobs), shape.of(Kind::Depth), shape.axes().as_slice()) {
        (Some(jobs), Some(depth), _) => Some([jobs, depth]),
        (_, _, [first, second, ..]) => Some([*first, *second]),
        _ => None,
    }
}

/// One value for each pair of points of two axes.
pub(super) fn matrices(gallery: &mut Gallery, shape: &Shape<'_>) {
    let Some([(jobs, jobs_axis), (depth, depth_axis)]) = crossed(shape) else { return };
    let material = &shape.material;
    let outcome = &material.outcome;
    let [rows, columns] =
        [jobs, depth].map(|axis| outcome.points(axis).into_iter().map(str::to_owned).collect::<Vec<_>>());
    for figure in material.figures().iter().filter(|figure| material.is_known(figure)).take(MOST_PANELS) {
        for panel in panels(outcome, &[depth, jobs]).iter().flat_map(single_lines).take(MOST_PANELS) {
            let cell = |row: &String, column: &String| {
                let is_it = |number: &&usize| {
                    let points = &outcome.design.configurations[**number].points;
                    points[jobs] == *row && points[depth] == *column
                };
                let found = panel.configurations.iter().find(is_it);
                found.map_or_else(Estimate::default, |number| material.estimate(figure, *number))
            };
            let among = if panel.name == "all" { String::new() } else { format!("; {}", panel.name) };
            let matrix = Matrix {
                heading: Heading::new(
                    &gallery.id(&format!("{}-matrix", figure.name())),
                    &format!(
                        "{} by {} and {}{among}",
                        values::titled(figure),
                        axes::title(jobs_axis),
                        axes::title(depth_axis)
                    ),
                ),
                measure: iolab_charts::AxisMeasure { spacing: Spacing::Log, ..measure(figure) },
                row_title: axes::title(jobs_axis),
                column_title: axes::title(depth_axis),
                cells: rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()).collect(),
                rows: rows.clone(),
                columns: columns.clone(),
            };
            gallery.add_of(Some(figure), matrix.draw());
        }
    }
}

/// One line for each member of a panel, with the panel's name in its own.
fn single_lines(panel: &Panel) -> Vec<Line> {
    let named = |line: &Line| {
        let parts = [panel.name.as_str(), line.name.as_str()];
        let known: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty() && *part != "all").collect();
        let name = if known.is_empty() { "all".to_owned() } else { known.join(", ") };
        Line { name, configurations: line.configurations.clone() }
    };
    panel.lines.iter().map(named).collect()
}

/// Every figure by name: the compared axis as colours, everything else as groups.
pub(super) fn groups(gallery: &mut Gallery, shape: &Shape<'_>) {
    let material = &shape.material;
    let outcome = &material.outcome;
    let Some(compared) = outcome.compared_axis() else { return };
    let contests = outcome.contests();
    let name =
        |common: &[(String, String)]| common.iter().map(|(_, point)| point.as_str()).collect::<Vec<_>>().join(", ");
    let titles = contests[0].common.iter().map(|(axis, _)| axis.as_str()).collect::<Vec<_>>().join(", ");
    let points = outcome.points(compared);
    // Without other axes, each point is a group by itself, so that its name is printed below it.
    let alone = contests.len() == 1;
    for figure in material.figures().iter().filter(|figure| material.is_known(figure)) {
        let of = |members: &[usize], point: &str| {
            let found = members.iter().find(|number| outcome.design.configurations[**number].points[compared] == point);
            found.map_or_else(Estimate::default, |number| material.estimate(figure, *number))
        };
        let series: Vec<GroupSeries> = match alone {
            true => {
                let values = points.iter().map(|point| of(&contests[0].members, point)).collect();
                vec![GroupSeries { name: short(figure), values }]
            }
            false => points
                .iter()
                .map(|point| {
                    let values = contests.iter().map(|contest| of(&contest.members, point)).collect();
                    GroupSeries { name: (*point).to_owned(), values }
                })
                .collect(),
        };
        let axis_name = &outcome.design.axes[compared];
        let groups = Groups {
            heading: Heading::new(
                &gallery.id(&format!("{}-by-{axis_name}", figure.name())),
                &format!("{} by {axis_name}", values::titled(figure)),
            ),
            measure: measure(figure),
            group_title: if alone { axis_name.clone() } else { titles.clone() },
            groups: if alone {
                points.iter().map(|point| (*point).to_owned()).collect()
            } else {
                contests.iter().map(|contest| name(&contest.common)).collect()
            },
            series,
        };
        gallery.add_of(Some(figure), groups.draw());
    }
}
