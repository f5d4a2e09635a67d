//! Designs and results as text for a terminal.

use iolab_statistics::{Interval, Verdict};
use iolab_units::rounded_ns;

use crate::{Analysis, Contrast, Design, Figure, Measure, Study};

/// What will run, before anything does.
pub fn describe_design(study: &Study, design: &Design) -> String {
    let mut text = format!("{}\n", study.title);
    if !study.question.is_empty() {
        text += &format!("  {}\n", study.question.trim());
    }
    for axis in &study.axes {
        let points: Vec<&str> = axis.points.iter().map(|point| point.name.as_str()).collect();
        text += &format!("axis {}: {}\n", axis.name, points.join(", "));
    }
    let configurations = design.configurations.len();
    text += &format!(
        "{configurations} configurations in {} blocks: {} trials, in an order that follows from seed {}\n",
        study.blocks,
        design.trials.len(),
        study.seed
    );
    for warning in &design.warnings {
        text += &format!("warning: {warning}\n");
    }
    text
}

/// What came out: a table for each figure, then the comparisons.
pub fn describe_results(study: &Study, design: &Design, analysis: &Analysis) -> String {
    let mut text = format!("{}\n", study.title);
    for (number, figure) in analysis.figures.iter().enumerate() {
        text += &format!("\n{}\n", heading(figure));
        text += &table(design, analysis, number);
        let contrasts: Vec<&Contrast> =
            analysis.contrasts.iter().filter(|contrast| contrast.figure == number).collect();
        for contrast in contrasts {
            text += &format!("  {}\n", sentence(study, design, contrast));
        }
    }
    if !analysis.flaws.is_empty() {
        text += "\nTrials that do not count:\n";
        analysis.flaws.iter().for_each(|flaw| text += &format!("  {flaw}\n"));
    }
    text
}

fn heading(figure: &Figure) -> String {
    let what = match &figure.measure {
        Measure::Iops => "operations per second".to_owned(),
        Measure::Bandwidth => "bytes per second".to_owned(),
        Measure::MeanLatency => "mean latency".to_owned(),
        Measure::Latency(percent) => format!("{percent} % of latencies are at most"),
        Measure::Response(percent) => format!("{percent} % of response times are at most"),
        Measure::CpuPerOperation => "CPU time of an operation".to_owned(),
        Measure::Device(_) => "of the block device, as iostat(1) has it".to_owned(),
        Measure::Reported(reported) => format!("{} of what the command prints", reported.at),
    };
    format!("{}: {what}", figure.name())
}

fn table(design: &Design, analysis: &Analysis, number: usize) -> String {
    let figure = &analysis.figures[number];
    let mut lines = vec![design.axes.clone()];
    lines[0].extend(["trials", "median", "interval"].map(str::to_owned));
    for row in analysis.rows.iter().filter(|row| row.figure == number) {
        let mut line = design.configurations[row.configuration].points.clone();
        line.push(row.values.iter().flatten().count().to_string());
        match row.median {
            Some(median) => line.extend([shown(figure, median.estimate), limits(figure, &median)]),
            None => line.extend(["-".to_owned(), "too few samples".to_owned()]),
        }
        lines.push(line);
    }
    let columns = lines[0].len();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let cells = |line: &Vec<String>| {
        let cells = line.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            // Names to the left, numbers to the right.
            if column < columns - 3 { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        format!("  {}\n", cells.collect::<Vec<_>>().join("  "))
    };
    lines.iter().map(cells).collect()
}

fn limits(figure: &Figure, interval: &Interval) -> String {
    let confidence = interval.confidence * 100.0;
    format!("{} .. {} ({confidence:.1} %)", shown(figure, interval.low), shown(figure, interval.high))
}

/// A value of a figure with its unit, for people.
pub fn shown(figure: &Figure, value: f64) -> String {
    let binary = [(f64::from(1 << 30), "Gi"), (f64::from(1 << 20), "Mi"), (1024.0, "Ki"), (1.0, "")];
    match figure.unit() {
        "ns" => rounded_ns(value),
        "s" => rounded_ns(value * 1e9),
        unit @ ("B/s" | "B") => scaled(value, &binary, unit),
        "%" => format!("{value:.1} %"),
        unit => scaled(value, &[(1e6, "M"), (1e3, "k"), (1.0, "")], unit),
    }
}

fn scaled(value: f64, units: &[(f64, &str)], name: &str) -> String {
    let (size, letter) = units.iter().find(|(size, _)| value >= *size).unwrap_or(&units[units.len() - 1]);
    let number = value / size;
    let decimals = if number >= 99.95 {
        0
    } else if number >= 9.995 {
        1
    } else {
        2
    };
    let gap = if letter.is_empty() && name.is_empty() { "" } else { " " };
    format!("{number:.decimals$}{gap}{letter}{name}")
}

fn sentence(study: &Study, design: &Design, contrast: &Contrast) -> String {
    let name = |number: usize| design.configurations[number].points.join(", ");
    let comparison = &contrast.comparison;
    let change = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let judged = &study.figures[contrast.figure];
    let figure = judged.name();
    let verdict = match comparison.verdict {
        Verdict::Faster if !judged.is_judged() => "higher".to_owned(),
        Verdict::Slower if !judged.is_judged() => "lower".to_owned(),
        Verdict::Faster => "better".to_owned(),
        Verdict::Slower => "worse".to_owned(),
        Verdict::Equivalent => "equivalent".to_owned(),
        Verdict::Inconclusive { more_blocks: Some(1) } => "inconclusive (one more block would decide)".to_owned(),
        Verdict::Inconclusive { more_blocks: Some(more) } => format!("inconclusive ({more} more blocks would decide)"),
        Verdict::Inconclusive { more_blocks: None } => "inconclusive".to_owned(),
    };
    format!(
        "{} against {}: {figure} {} [{}, {}], {verdict}",
        name(contrast.candidate),
        name(contrast.baseline),
        change(comparison.ratio.estimate),
        change(comparison.ratio.low),
        change(comparison.ratio.high),
    )
}
