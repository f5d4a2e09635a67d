//! Designs and results as text for a terminal.

use iolab_order::Arrange;
use iolab_statistics::{Better, DecisionRules, Verdict};
use iolab_text::counted;
use iolab_units::rounded_ns;

use crate::answer::answer;
use crate::reach::decides;
use crate::words::{ratio_words, scaled, shown, word};
use crate::{
    Analysis, Design, JobSource, KneeRule, LadderResult, LevelResult, PreconditionFrequency, PreconditionKind,
    Standing, Study, WarmUpMethod, profile,
};

/// What will run; printed before anything does.
pub fn describe_design(study: &Study, design: &Design) -> String {
    let mut text = format!("{}\n", study.title);
    if !study.question.is_empty() {
        text += &format!("  {}\n", study.question.trim());
    }
    if let Some(device) = &study.served {
        text += &format!(
            "all on the device {}: the driver as {}, the kernel as {}\n",
            device.name, device.driven, device.file
        );
    }
    if let Some(hosts) = &study.hosts {
        text += &format!("each trial on {}\n", hosts.in_words());
    }
    for axis in &study.axes {
        let points: Vec<&str> = axis.points.iter().map(|point| point.name.as_str()).collect();
        text += &format!("axis {}: {}\n", axis.name, points.join(", "));
        for point in axis.points.iter().filter(|point| !point.about.is_empty()) {
            text += &format!("  {}: {}\n", point.name, point.about);
        }
    }
    text += &profile_lines(study);
    text += &procedure_lines(study);
    let configurations = design.configurations.len();
    let blocks = match &study.auto_blocks {
        None => study.blocks.to_string(),
        Some(auto) => format!("{} to {}", auto.start, study.blocks),
    };
    text += &format!(
        "{} in {blocks} {}: {}, in random order from seed {}\n",
        counted(configurations as u64, "configuration"),
        if blocks == "1" { "block" } else { "blocks" },
        counted(design.trials.len() as u64, "trial"),
        study.seed
    );
    if let Some(decides) = decides(study, design) {
        text += &format!("  {decides}\n");
    }
    for warning in &design.warnings {
        text += &format!("warning: {warning}\n");
    }
    text
}

/// The settings of a profile, with its reasons.
fn profile_lines(study: &Study) -> String {
    let Some(profile) = study.profile.as_deref().and_then(|name| profile(name).ok()) else { return String::new() };
    let mut text = format!("profile {}\n", profile.name);
    for (option, value, reason) in profile.settings {
        let is_own = study.settings.iter().any(|setting| setting.option == *option && setting.value == *value);
        let note = if is_own { reason.to_string() } else { format!("not used, because the study sets it ({reason})") };
        text += &format!("  {option}={value}: {note}\n");
    }
    let wanted = profile.precondition.0;
    let note = if study.precondition.as_ref().map(|own| own.kind) == wanted {
        ""
    } else {
        "not used, because the study sets it; "
    };
    let what = match wanted {
        Some(_) => "preconditioned until steady",
        None => "not preconditioned",
    };
    text + &format!("  {what}: {note}{}\n", profile.precondition.1)
}

/// Everything done in addition to running trials.
fn procedure_lines(study: &Study) -> String {
    let mut text = String::new();
    if let Some(precondition) = &study.precondition {
        let what = match precondition.kind {
            PreconditionKind::Fill => "fill twice, sequentially, 128 KiB at a time".to_owned(),
            PreconditionKind::Snia => format!(
                "purge, fill twice, then rounds of {} until {} is steady (SNIA SSS PTS 2.0.2: window of {}, at most {} rounds)",
                precondition.round,
                precondition.figure.name(),
                precondition.rules.window,
                precondition.rules.most_rounds
            ),
            PreconditionKind::Job => match &precondition.job {
                Some(JobSource::File(name)) => format!("run {name}"),
                _ => "run its job".to_owned(),
            },
        };
        let when = match precondition.once {
            PreconditionFrequency::Study => "the study",
            PreconditionFrequency::Block => "each block",
            PreconditionFrequency::Trial => "each trial",
        };
        text += &format!("before {when}: {what}\n");
    }
    if study.trims_warm_up {
        text += "the warm-up of each trial is left out\n";
    }
    if let Some(ladder) = &study.ladder {
        let levels: Vec<String> = ladder.levels.iter().map(f64::to_string).collect();
        let target = ladder.slo.map(|slo| format!("; target {slo}")).unwrap_or_default();
        text += &format!("ladder: closed loop, then {} % of it ({}){target}\n", levels.join(", "), ladder.process);
    }
    text
}

/// Most lines of one kind listed one by one; the report has the rest.
const MOST_LINES: usize = 8;
/// Most rows of the table; with more configurations the best ones are shown.
const MOST_ROWS: usize = 40;

/// The results: the answer, other results, warnings about the figures (`warnings`), one table, then
/// how the trials were run. It stays within about a hundred lines, whatever the size of the study.
pub fn describe_results(
    study: &Study,
    design: &Design,
    analysis: &Analysis,
    rules: &DecisionRules,
    warnings: &[String],
) -> String {
    let answer = answer(study, design, analysis, rules);
    let findings = iolab_findings::findings_text(&analysis.findings, iolab_text::USUAL_COLUMNS);
    let mut text = format!("{}\n\n{findings}{}\n", study.title, answer.sentence);
    let others = answer.others.iter().map(|(number, told)| format!("{}: {told}", analysis.figures[*number].name()));
    text += &listed(answer.findings.iter().cloned().chain(others).map(|told| format!("- {told}")), 3 * MOST_LINES);
    text += &listed(study.left_out.iter().chain(warnings).cloned(), MOST_LINES);
    text += &table(study, design, analysis, rules);
    for ladder in analysis.ladders.iter().take(MOST_LADDERS) {
        text += &ladder_text(study, design, ladder);
    }
    if analysis.ladders.len() > MOST_LADDERS {
        let more = analysis.ladders.len() - MOST_LADDERS;
        text += &format!("\nand {} more; the report shows all\n", counted(more as u64, "table"));
    }
    if !analysis.preconditioned.is_empty() {
        text += "\nPreconditioning:\n";
        text += &listed(analysis.preconditioned.iter().map(|one| one.describe()), MOST_LINES);
    }
    text + &warm_ups(study, design, analysis)
}

/// Most ladders shown one by one.
const MOST_LADDERS: usize = 3;

/// Lines indented by two spaces; of too many, only the first ones.
fn listed(lines: impl Iterator<Item = String>, most: usize) -> String {
    let lines: Vec<String> = lines.collect();
    let mut text: String = lines.iter().take(most).map(|line| format!("  {line}\n")).collect();
    if lines.len() > most {
        text += &format!("  and {} more; the report shows all\n", lines.len() - most);
    }
    text
}

fn warm_ups(study: &Study, design: &Design, analysis: &Analysis) -> String {
    let mut lines = Vec::new();
    for one in &analysis.warm_ups {
        let (left_out, of) = (rounded_ns(one.warm_up.left_out_ns as f64), rounded_ns(one.warm_up.of_ns as f64));
        let how = match one.warm_up.method {
            WarmUpMethod::ChangePoints => format!("{left_out} of {of} left out"),
            WarmUpMethod::Mser5 => format!("{left_out} of {of} left out (MSER-5: its rate did not settle)"),
            WarmUpMethod::TooShort => "too few intervals: nothing left out (a shorter interval= helps)".to_owned(),
        };
        lines.push(format!("block {}, {}: {how}", one.trial.block + 1, design.name_of(study, one.trial)));
    }
    if lines.is_empty() { String::new() } else { format!("\nWarm-up:\n{}", listed(lines.into_iter(), MOST_LINES)) }
}

fn ladder_text(study: &Study, design: &Design, ladder: &LadderResult) -> String {
    let name = design.label(ladder.configuration);
    let Some(maximum) = ladder.maximum_iops else {
        return format!("\nload and latency, {name}: the closed-loop run has no result, so there is no ladder\n");
    };
    let iops = |rate: f64| scaled(rate, &[(1e6, "M"), (1e3, "k"), (1.0, "")], "");
    let mut text = format!("\nload and latency, {name}: 100 % are {} operations per second\n", iops(maximum));
    let percents: Vec<f64> =
        ladder.levels.first().iter().flat_map(|level| &level.response).map(|one| one.percent).collect();
    let mut lines = vec![["load", "asked", "done", "trials"].map(str::to_owned).to_vec()];
    lines[0].extend(percents.iter().map(|percent| format!("response p{percent}")));
    lines[0].extend(["service p99".to_owned(), String::new()]);
    for level in &ladder.levels {
        let shown = |of: &[crate::LevelPercentile], percent: f64| {
            let median = of.iter().find(|one| one.percent == percent).and_then(|one| one.median);
            median.map_or("-".to_owned(), |median| rounded_ns(median.estimate))
        };
        let done = level.done_iops.map_or("-".to_owned(), |done| iops(done.estimate));
        let mut line = vec![format!("{} %", level.percent), iops(level.asked_iops), done, level.trials.to_string()];
        line.extend(percents.iter().map(|percent| shown(&level.response, *percent)));
        line.extend([shown(&level.service, 99.0), kept(level)]);
        lines.push(line);
    }
    text += &columns(&lines, 0);
    if let Some(knee) = ladder.knee {
        let by = match knee.by {
            KneeRule::Kneedle => "Kneedle",
            KneeRule::Power => "the best throughput for its latency; the curve has no knee",
        };
        let level = &ladder.levels[knee.level];
        text += &format!("  knee: {} % ({} operations per second), by {by}\n", level.percent, iops(level.asked_iops));
    }
    text + &capacity_line(study, ladder)
}

fn kept(level: &LevelResult) -> String {
    match (level.behind, level.generator_late) {
        (0, _) => String::new(),
        (behind, 0) => format!("too much in {behind} of {}", level.trials),
        (behind, late) => format!("too much in {behind} of {}, in {late} for the load generator", level.trials),
    }
}

fn capacity_line(study: &Study, ladder: &LadderResult) -> String {
    let Some(slo) = study.ladder.as_ref().and_then(|ladder| ladder.slo) else { return String::new() };
    let Some(capacity) = &ladder.capacity else { return format!("  {slo}: no level meets it\n") };
    let response = &capacity.response;
    let mut text = format!(
        "  {slo}: up to {} operations per second ({} %): there it is {}, at most {} ({:.1} %)",
        scaled(capacity.iops, &[(1e6, "M"), (1e3, "k"), (1.0, "")], ""),
        ladder.levels[capacity.level].percent,
        rounded_ns(response.estimate),
        rounded_ns(response.high),
        response.confidence * 100.0
    );
    if !capacity.is_sure {
        text += "; fewer than five trials, so this is only a hint";
    }
    if capacity.lower_misses > 0 {
        text += &format!("; {} lower levels miss it", capacity.lower_misses);
    }
    if capacity.limited_by_generator {
        text += "; the load generator was the limit; the storage may do more";
    }
    text + "\n"
}

/// A line for each configuration: the most important figure against the baseline, then the medians
/// of the others with a sign for their verdict.
fn table(study: &Study, design: &Design, analysis: &Analysis, rules: &DecisionRules) -> String {
    let primary = study.primary_figure();
    let Some(standing) = analysis.standings.iter().find(|one| one.figure == primary) else { return String::new() };
    let others: Vec<usize> = (0..analysis.figures.len()).filter(|number| *number != primary).collect();
    let is_compared = design.configurations.len() > 1;
    let mut head = design.axes.clone();
    head.extend(["trials".to_owned(), analysis.figures[primary].name()]);
    if is_compared {
        head.extend(["change", "limits", "verdict"].map(str::to_owned));
    }
    head.extend(others.iter().map(|number| analysis.figures[*number].name()));
    let mut lines = vec![head];
    let rows = shown_rows(analysis, standing);
    for configuration in rows.iter().copied() {
        let made = &design.configurations[configuration];
        let value = |number: usize| {
            let median = analysis.row(number, configuration).and_then(|row| row.median);
            median.map(|median| shown(&analysis.figures[number], median.estimate))
        };
        let baseline = standing.baseline_of(configuration);
        let contrast = |number: usize| analysis.contrast(number, baseline, configuration);
        let mut line = made.points.clone();
        let known = analysis.row(primary, configuration).map_or(0, |row| row.values.iter().flatten().count());
        line.extend([known.to_string(), value(primary).unwrap_or_else(|| "-".to_owned())]);
        if is_compared {
            line.extend(match contrast(primary) {
                Some(one) => {
                    let [estimate, low, high] = ratio_words(&one.comparison.ratio);
                    let is_known = one.comparison.ratio.confidence > 0.0;
                    let limits = if is_known { format!("[{low}, {high}]") } else { "-".to_owned() };
                    [estimate, limits, word(&analysis.figures[primary], one.comparison.verdict).to_owned()]
                }
                None if configuration == baseline => ["baseline", "", ""].map(str::to_owned),
                None => ["-", "", ""].map(str::to_owned),
            });
        }
        line.extend(others.iter().map(|number| match (value(*number), contrast(*number)) {
            (None, _) => "-".to_owned(),
            (Some(value), Some(one)) => format!("{value} {}", sign(one.comparison.verdict)),
            (Some(value), None) => format!("{value}  "),
        }));
        lines.push(line);
    }
    let mut text = format!("\n{}", columns(&lines, design.axes.len()));
    if rows.len() < design.configurations.len() {
        text += &format!(
            "  the baseline and the best of {}; the report and --json show all\n",
            counted(design.configurations.len() as u64, "configuration")
        );
    }
    if is_compared {
        let baseline =
            if standing.conditions.is_empty() { "the baseline" } else { "the baseline under the same condition" };
        text += &format!(
            "  medians of the trials; changes, verdicts and signs compare with {baseline}: + better, - worse, = \
            equivalent (within {:.0} %), ? undecided\n",
            rules.zone * 100.0
        );
    }
    if analysis.rows.iter().any(|row| row.median.is_none()) {
        text += "  -: no trial has a value, or enough samples for the percentile\n";
    }
    text
}

/// The configurations of the table, in the order of the design: all, or the baseline and the best.
fn shown_rows(analysis: &Analysis, standing: &Standing) -> Vec<usize> {
    let all = analysis.rows.iter().filter(|row| row.figure == standing.figure);
    let mut ranked: Vec<(usize, f64)> =
        all.map(|row| (row.configuration, row.median.map_or(f64::NAN, |median| median.estimate))).collect();
    if ranked.len() > MOST_ROWS {
        let is_higher = analysis.figures[standing.figure].better() == Better::Higher;
        let rank = |value: f64| match (value.is_nan(), is_higher) {
            (true, _) => f64::INFINITY,
            (false, true) => -value,
            (false, false) => value,
        };
        ranked.arrange_by(|one, other| rank(one.1).total_cmp(&rank(other.1)));
        ranked.truncate(MOST_ROWS - 1);
    }
    let mut rows: Vec<usize> = ranked.into_iter().map(|one| one.0).chain(baselines(standing)).collect();
    rows.arrange();
    rows.dedup();
    rows
}

/// Everything that others are compared with.
fn baselines(standing: &Standing) -> Vec<usize> {
    match standing.conditions.as_slice() {
        [] => vec![standing.baseline],
        conditions => conditions.iter().map(|condition| condition.baseline).collect(),
    }
}

fn sign(verdict: Verdict) -> char {
    match verdict {
        Verdict::Better => '+',
        Verdict::Worse => '-',
        Verdict::Equivalent => '=',
        Verdict::Undecided { .. } => '?',
    }
}

/// Lines in columns: the first `names` left-aligned, numbers right-aligned.
fn columns(lines: &[Vec<String>], names: usize) -> String {
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..lines[0].len()).map(width).collect();
    let cells = |line: &Vec<String>| {
        let cells = line.iter().enumerate().map(|(column, cell)| {
            let width = widths[column];
            if column < names { format!("{cell:width$}") } else { format!("{cell:>width$}") }
        });
        format!("  {}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    lines.iter().map(cells).collect()
}
