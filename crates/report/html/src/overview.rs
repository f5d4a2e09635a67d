//! An overview of all configurations: a small table of the most important figure, tinted by size,
//! with the best one marked and the others compared with it.

use iolab_order::Arrange;
use iolab_statistics::{Better, Verdict};
use maud::{Markup, html};

use crate::frame::name;
use crate::number::{limits, shown};
use crate::standing::Outcome;

/// Most cells of the small table. With more configurations, a list shows the best.
const MOST_CELLS: usize = 48;
/// Most columns of the small table where it can be turned: more would have to be scrolled.
const MOST_COLUMNS: usize = 6;
/// Most lines of a turned table.
const MOST_TURNED: usize = 32;
/// Lines of that list.
const MOST_LINES: usize = 10;

/// How a configuration compares with the best one.
#[derive(Clone, Copy, PartialEq)]
enum Standing {
    Best,
    Beaten,
    Equivalent,
    Open,
}

impl Standing {
    fn sign(self) -> &'static str {
        match self {
            Standing::Best => "★",
            Standing::Beaten => "",
            Standing::Equivalent => "≈",
            Standing::Open => "?",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Standing::Best => "best",
            Standing::Beaten => "",
            Standing::Equivalent => "equivalent to it",
            Standing::Open => "undecided against it",
        }
    }
}

/// One figure of all configurations.
struct Overview<'a> {
    outcome: &'a Outcome<'a>,
    figure: usize,
    judged: &'a iolab_study::Standing,
    /// Smallest and largest median.
    range: (f64, f64),
}

/// The table of a figure, with its best configuration marked, or the best under each condition;
/// nothing for a single configuration.
pub(crate) fn table(outcome: &Outcome<'_>, judged: &iolab_study::Standing) -> Markup {
    let figure = judged.figure;
    let medians = (0..outcome.design.configurations.len()).filter_map(|one| outcome.row(figure, one)?.median);
    let range = medians.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), median| {
        (low.min(median.estimate), high.max(median.estimate))
    });
    let overview = Overview { outcome, figure, judged, range };
    let axes = outcome.varied_axes();
    match axes.as_slice() {
        [] => html! {},
        [rows @ .., lines] if overview.is_turned(rows, *lines) => overview.turned(rows, *lines),
        [rows @ .., columns] if !rows.is_empty() && overview.cells(rows, *columns) <= MOST_CELLS => {
            overview.matrix(rows, *columns)
        }
        _ => overview.list(),
    }
}

impl Overview<'_> {
    fn cells(&self, rows: &[usize], columns: usize) -> usize {
        let points = |axis: &usize| self.outcome.points(*axis).len();
        rows.iter().map(points).product::<usize>() * points(&columns)
    }

    /// Whether a row for each point of the last axis makes a table that needs no scrolling.
    fn is_turned(&self, columns: &[usize], lines: usize) -> bool {
        let names = self.outcome.points(lines).len();
        let across = self.combinations(columns).len();
        !columns.is_empty() && names > MOST_COLUMNS && names <= MOST_TURNED && across <= MOST_COLUMNS
    }

    /// The combinations of the points of some axes.
    fn combinations(&self, axes: &[usize]) -> Vec<Vec<&str>> {
        let mut all: Vec<Vec<&str>> = Vec::new();
        for made in &self.outcome.design.configurations {
            let own: Vec<&str> = axes.iter().map(|axis| made.points[*axis].as_str()).collect();
            if !all.contains(&own) {
                all.push(own);
            }
        }
        all
    }

    /// The configuration with these points of some axes, and this one of another.
    fn at(&self, axes: &[usize], points: &[&str], other: usize, name: &str) -> Option<usize> {
        let is_it =
            |own: &[String]| own[other] == name && axes.iter().zip(points).all(|(axis, point)| own[*axis] == *point);
        self.outcome.design.configurations.iter().position(|made| is_it(&made.points))
    }

    fn cell_at(&self, configuration: Option<usize>) -> Markup {
        match configuration {
            Some(configuration) => self.cell(configuration),
            None => html! { td.n { "\u{2013}" } },
        }
    }

    /// A row for each point of the last axis, a column for each combination of the first axes.
    fn turned(&self, columns: &[usize], lines: usize) -> Markup {
        let design = self.outcome.design;
        let combinations = self.combinations(columns);
        let names: Vec<&str> = columns.iter().map(|axis| design.axes[*axis].as_str()).collect();
        html! {
            table.overview {
                (self.caption())
                thead {
                    tr {
                        th scope="col" rowspan="2" { bdi { (design.axes[lines]) } }
                        th.along scope="colgroup" colspan=(combinations.len()) { bdi { (names.join(", ")) } }
                    }
                    tr { @for points in &combinations { th.n scope="col" { bdi { (points.join(", ")) } } } }
                }
                tbody {
                    @for line in &self.outcome.points(lines) {
                        tr {
                            th scope="row" { bdi { (line) } }
                            @for points in &combinations { (self.cell_at(self.at(columns, points, lines, line))) }
                        }
                    }
                }
            }
        }
    }

    /// A row for each combination of the first axes, a column for each point of the last.
    fn matrix(&self, rows: &[usize], columns: usize) -> Markup {
        let design = self.outcome.design;
        let names = self.outcome.points(columns);
        let lines = self.combinations(rows);
        html! {
            table.overview {
                (self.caption())
                thead {
                    tr {
                        @for axis in rows { th scope="col" rowspan="2" { bdi { (design.axes[*axis]) } } }
                        th.along scope="colgroup" colspan=(names.len()) { bdi { (design.axes[columns]) } }
                    }
                    tr { @for name in &names { th.n scope="col" { bdi { (name) } } } }
                }
                tbody {
                    @for line in &lines {
                        tr {
                            @for point in line { th scope="row" { bdi { (point) } } }
                            @for column in &names { (self.cell_at(self.at(rows, line, columns, column))) }
                        }
                    }
                }
            }
        }
    }

    /// The best configurations, each with a bar.
    fn list(&self) -> Markup {
        let outcome = self.outcome;
        let value =
            |one: &usize| outcome.row(self.figure, *one).and_then(|row| row.median).map(|median| median.estimate);
        let mut all: Vec<usize> = (0..outcome.design.configurations.len()).filter(|one| value(one).is_some()).collect();
        // A few rows keep the order of the axis; many are sorted, the best first.
        if all.len() > MOST_LINES {
            all.arrange_by(|one, other| value(one).partial_cmp(&value(other)).unwrap_or(std::cmp::Ordering::Equal));
            if outcome.analysis.figures[self.figure].better() == Better::Higher {
                all.reverse();
            }
        }
        let left_out = all.len().saturating_sub(MOST_LINES);
        html! {
            table.overview {
                (self.caption())
                tbody {
                    @for configuration in all.iter().take(MOST_LINES) {
                        tr {
                            th scope="row" { bdi { (outcome.name(*configuration)) } }
                            (self.cell(*configuration))
                            td.bar aria-hidden="true" { span style={ "width:" (self.part(*configuration)) "%" } {} }
                        }
                    }
                }
            }
            @if left_out > 0 { p.weak { "and " (left_out) " more below, under All results" } }
        }
    }

    fn caption(&self) -> Markup {
        let all = 0..self.outcome.design.configurations.len();
        let standings: Vec<Standing> = all.map(|one| self.standing(one)).collect();
        let kinds = [Standing::Best, Standing::Equivalent, Standing::Open];
        html! {
            caption {
                (self.outcome.analysis.figures[self.figure].name()) ", medians"
                span.weak {
                    @for kind in kinds.into_iter().filter(|kind| standings.contains(kind)) {
                        " " span.sign { (kind.sign()) } "\u{a0}" (kind.words())
                    }
                }
            }
        }
    }

    fn cell(&self, configuration: usize) -> Markup {
        let figure = &self.outcome.analysis.figures[self.figure];
        let Some(median) = self.outcome.row(self.figure, configuration).and_then(|row| row.median) else {
            return html! { td.n title="no value" { "\u{2013}" } };
        };
        let standing = self.standing(configuration);
        html! {
            td class=(if standing == Standing::Best { "n best" } else { "n" }) dir="ltr" title=(limits(figure, &median))
                style={ "--part:" (self.part(configuration)) "%" } {
                (shown(figure, median.estimate))
                span.sign { (standing.sign()) }
                @if !standing.words().is_empty() { span.unseen { " " (standing.words()) } }
            }
        }
    }

    /// Length of the bar in percent: of the largest value, or, if values are far apart, on a
    /// logarithmic scale from the smallest to the largest.
    fn part(&self, configuration: usize) -> u32 {
        let value = self.outcome.row(self.figure, configuration).and_then(|row| row.median).map(|one| one.estimate);
        let (low, high) = self.range;
        let share = match value {
            Some(value) if low > 0.0 && high > 20.0 * low => 0.1 + 0.9 * (value / low).ln() / (high / low).ln(),
            Some(value) if high > 0.0 => value / high,
            _ => 0.0,
        };
        (share.clamp(0.0, 1.0) * 100.0).round() as u32
    }

    fn standing(&self, configuration: usize) -> Standing {
        let Some(best) = self.judged.best_for(configuration) else { return Standing::Beaten };
        if configuration == best {
            return Standing::Best;
        }
        match self.outcome.analysis.contrast(self.figure, configuration, best).map(|one| one.comparison.verdict) {
            Some(Verdict::Equivalent) => Standing::Equivalent,
            Some(Verdict::Undecided { .. }) => Standing::Open,
            _ => Standing::Beaten,
        }
    }
}

/// All figures of the best configuration.
pub(crate) fn best(outcome: &Outcome<'_>, best: usize) -> Markup {
    let known = outcome.analysis.figures.iter().enumerate().take(MOST_FIGURES);
    let known = known.filter_map(|(number, figure)| Some((figure, outcome.row(number, best)?.median?)));
    html! {
        h3 { "Best configuration: " (name(&outcome.design.label(best))) }
        dl.figures-of-one {
            @for (figure, median) in known {
                div {
                    dt { (figure.name()) }
                    dd dir="ltr" {
                        strong { (shown(figure, median.estimate)) }
                        @if median.low < median.high { " " span.weak { (limits(figure, &median)) } }
                    }
                }
            }
        }
    }
}

/// Most figures listed here; the tables contain the others.
const MOST_FIGURES: usize = 6;
