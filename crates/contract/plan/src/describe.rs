//! The text of `iolab plan`: every resolved value of a plan, with units, clones folded.
//!
//! A pure function of the plan. Values the user gave are marked `*`; the others are defaults. The
//! layout is for people; programs read the plan's JSON.

mod amounts;
mod order_lines;
mod pace_lines;
mod target_lines;
mod verify_lines;
mod worker_lines;

use std::fmt::Write;

use iolab_text::counted;

use crate::{Plan, WorkerPlan};

/// One described value.
pub(crate) struct Line {
    /// Heading it stands under.
    chapter: &'static str,
    /// What it is, mostly the option's name.
    label: String,
    /// The value, with units.
    value: String,
    /// Options that would set it.
    options: &'static [&'static str],
}

/// Columns of the label.
const LABEL_WIDTH: usize = 24;

/// Longest list of differing values on one line.
const LINE_WIDTH: usize = 90;

/// Most values shown of clones that differ.
const MOST_VARIANTS: usize = 4;

/// Describes a plan for people.
pub fn describe(plan: &Plan) -> String {
    let mut text = String::new();
    let groups = plan.workers.iter().map(|worker| worker.group).max().map_or(0, |group| group + 1);
    let stages = plan.workers.iter().map(|worker| worker.stage).max().map_or(0, |stage| stage + 1);
    push(
        &mut text,
        &format!(
            "{} in {}, {}",
            counted(plan.workers.len() as u64, "worker"),
            counted(stages.into(), "stage"),
            counted(groups.into(), "group")
        ),
    );
    if let Some(rank) = &plan.rank {
        push(&mut text, &format!("rank {} of {}, on {}", rank.number, rank.ranks, rank.host));
    }
    push(&mut text, "(* set by the job; all others are defaults)");
    for clones in plan.workers.chunk_by(|a, b| a.section == b.section) {
        text.push('\n');
        describe_clones(&mut text, plan, clones);
    }
    if !plan.warnings.is_empty() {
        text.push('\n');
        push(&mut text, "warnings");
        for warning in &plan.warnings {
            push(&mut text, &format!("  {warning}"));
        }
    }
    text
}

fn describe_clones(text: &mut String, plan: &Plan, clones: &[WorkerPlan]) {
    let first = &clones[0];
    let times = if clones.len() > 1 { format!(" x {}", clones.len()) } else { String::new() };
    let last = clones.last().map_or(first.number, |worker| worker.number);
    let numbers = if last > first.number {
        format!("workers {} to {last}", first.number)
    } else {
        format!("worker {}", first.number)
    };
    push(text, &format!("{}{times}: {numbers}, stage {}, group {}", first.job, first.stage, first.group));
    let lines: Vec<Vec<Line>> = clones.iter().map(worker_lines::of).collect();
    let mut chapter = "";
    for (index, line) in lines[0].iter().enumerate() {
        if line.chapter != chapter {
            chapter = line.chapter;
            push(text, &format!("  {chapter}"));
        }
        let given = line.options.iter().any(|option| {
            first.job_options.contains_key(*option)
                || plan.global_options.contains_key(*option)
                || first.engine.options.get(option).is_some_and(|setting| setting.span.1 > 0)
        });
        let variants: Vec<&str> =
            lines.iter().filter_map(|each| each.get(index)).map(|line| line.value.as_str()).collect();
        let mark = if given { '*' } else { ' ' };
        push(text, &format!("  {mark} {:LABEL_WIDTH$} {}", line.label, folded(&variants)));
    }
}

/// One value if all clones agree, otherwise the first few; long ones below each other.
fn folded(variants: &[&str]) -> String {
    if variants.iter().all(|value| *value == variants[0]) {
        return variants[0].to_owned();
    }
    let mut shown = variants[..variants.len().min(MOST_VARIANTS)].to_vec();
    if variants.len() > MOST_VARIANTS {
        shown.push("...");
    }
    let one_line = shown.join(" | ");
    if one_line.len() <= LINE_WIDTH {
        return one_line;
    }
    shown.join(&format!("\n{:1$}", "", LABEL_WIDTH + 5))
}

fn push(text: &mut String, line: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}", line.trim_end());
}

/// Adds lines of one chapter.
pub(crate) fn add(lines: &mut Vec<Line>, chapter: &'static str, rows: Vec<(&str, String, &'static [&'static str])>) {
    lines.extend(rows.into_iter().map(|(label, value, options)| Line {
        chapter,
        label: label.to_owned(),
        value,
        options,
    }));
}
