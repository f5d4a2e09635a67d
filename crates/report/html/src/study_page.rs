//! The report of a study: the question and the answer, then the evidence, then how to reproduce it.

use iolab_charts::DrawnChart;
use iolab_order::Arrange;
use iolab_recording::{HostFacts, Recording};
use iolab_statistics::DecisionRules;
use iolab_study::{Analysis, Collection, Design, Study, TrialId};
use maud::{Markup, html};

use crate::charts::{Gallery, Material, forest, run_charts, study_charts, with_table};
use crate::digest::Digest;
use crate::frame::{Cell, Header, Section, counted, details, document, name, table};
use crate::standing::Outcome;
use crate::summary::Links;
use crate::{Page, cost, environment, findings, results, steady, summary, verdicts};

/// The content of a report of a study.
#[derive(Debug, Clone, Copy)]
pub struct StudyReport<'a> {
    /// The study.
    pub study: &'a Study,
    /// Its design.
    pub design: &'a Design,
    /// The result.
    pub analysis: &'a Analysis,
    /// The decision rules.
    pub rules: &'a DecisionRules,
    /// The text of its job.
    pub job: &'a str,
    /// The path of its folder for the reader.
    pub folder: &'a str,
    /// Number of trials that were not run, or not completed.
    pub missing: usize,
    /// The trials that were run and recorded; those of a command leave no recording.
    pub digests: &'a [Digest],
    /// The recordings of some typical trials, see [`exemplars`].
    pub exemplars: &'a [(TrialId, Recording)],
    /// Version of the program that makes the report.
    pub version: &'a str,
}

/// The page of a study.
pub fn study_page(report: &StudyReport<'_>) -> Page {
    let header = Header {
        title: &report.study.title,
        question: &report.study.question,
        facts: facts(report),
        version: report.version,
    };
    let (sections, figures) = sections(report, "", "Results");
    Page { html: document(&header, &sections), figures }
}

/// The page of several studies of one subject: the sections of each, under its name.
pub fn collection_page(collection: &Collection, reports: &[StudyReport<'_>]) -> Page {
    let titles = distinct_titles(reports);
    let (mut all, mut figures) = (Vec::new(), Vec::new());
    for (place, (report, title)) in reports.iter().zip(&titles).enumerate() {
        let own = sections(report, &format!("s{}-", place + 1), title);
        all.extend(own.0);
        figures.extend(own.1);
    }
    let trials = reports.iter().map(|report| report.design.trials.len() - report.missing).sum();
    let header = Header {
        title: &collection.title,
        question: &collection.question,
        facts: html! { p { (counted(reports.len(), "study", "studies")) ", " (counted(trials, "trial", "trials")) "." } },
        version: reports.first().map_or("", |report| report.version),
    };
    Page { html: document(&header, &all), figures }
}

/// The titles of studies; equal titles get a number.
fn distinct_titles(reports: &[StudyReport<'_>]) -> Vec<String> {
    let title = |(place, report): (usize, &StudyReport<'_>)| {
        let title = &report.study.title;
        let before = reports[..place].iter().filter(|other| other.study.title == *title).count();
        if before == 0 { title.clone() } else { format!("{title} ({})", before + 1) }
    };
    reports.iter().enumerate().map(title).collect()
}

/// The sections of one study. On a page with several, `prefix` makes their ids unique and `title`
/// is the study's.
fn sections(report: &StudyReport<'_>, prefix: &str, title: &str) -> (Vec<Section>, Vec<DrawnChart>) {
    let outcome =
        Outcome { study: report.study, design: report.design, analysis: report.analysis, rules: report.rules };
    let is_part = !prefix.is_empty();
    let section = |id: &str, own: &str, body: Markup| {
        let id = format!("{prefix}{id}");
        match is_part {
            true => Section::new(id, format!("{title}: {}", lowered(own)), body).part(own),
            false => Section::new(id, own, body),
        }
    };
    let forests = forests(&outcome, prefix);
    let gallery = gallery(report, &outcome, prefix);
    let links = |figure: usize| links(figure, &outcome, &forests, &gallery);
    let opening = opening(report, &outcome, is_part, &links);
    let mut sections = vec![Section::new(format!("{prefix}summary"), title, opening)];
    if let Some(ways) = ways(report.study) {
        sections.push(section("ways", "What was compared", ways));
    }
    if verdicts::exist(&outcome) {
        sections.push(section("verdicts", "Verdicts", verdict_section(&outcome, &forests)));
    }
    if !gallery.is_empty() {
        sections.push(section("figures", "Figures", gallery.markup()));
    }
    let rounds = steady::gallery(&outcome, prefix);
    if steady::exists(&outcome) {
        sections.push(section("steady", "Steady state", steady::section(&outcome, &rounds)));
    }
    sections.push(section("results", "All results", results::section(&outcome)));
    if !report.digests.is_empty() {
        sections.push(section("cost", "Cost", cost::section(&outcome, report.digests)));
    }
    sections.extend([
        section("environment", "Environment", environment_section(report, &outcome)),
        section("again", "How to repeat it", again(report, &outcome)),
    ]);
    let forests = forests.into_iter().map(|(_, figure)| figure);
    (sections, forests.chain(gallery.into_figures()).chain(rounds.into_figures()).collect())
}

/// The meaning of the points of the axes, if the study gives it.
fn ways(study: &Study) -> Option<Markup> {
    let rows: Vec<Vec<Cell>> = study
        .axes
        .iter()
        .flat_map(|axis| axis.points.iter().filter(|point| !point.about.is_empty()))
        .map(|point| vec![Cell::Head(point.name.clone()), Cell::Text(point.about.clone())])
        .collect();
    (!rows.is_empty()).then(|| {
        html! {
            @if let Some(device) = &study.served {
                p { "All of them work on one device, " (name(&device.name)) ": the driver in user space as "
                    (name(&device.driven)) ", the kernel as the file " (name(&device.file)) "." }
            }
            (table(&html! { "What each way to the storage consists of" }, "What each way consists of", &["way", "what it contains"], &rows))
        }
    })
}

/// A forest plot for each figure with comparisons, by the number of the figure.
fn forests(outcome: &Outcome<'_>, prefix: &str) -> Vec<(usize, DrawnChart)> {
    let all = 0..outcome.analysis.figures.len();
    let compared = all.filter(|number| !verdicts::of_figure(outcome, *number).is_empty());
    compared.map(|number| (number, forest(outcome, number, prefix))).collect()
}

/// The pictures of a figure of the study: its verdicts, then the pictures along what was varied.
fn links(
    number: usize,
    outcome: &Outcome<'_>,
    forests: &[(usize, DrawnChart)],
    gallery: &Gallery,
) -> Vec<(String, String)> {
    let verdicts = forests.iter().filter(|(figure, _)| *figure == number);
    let verdicts = verdicts.map(|(_, picture)| (format!("figure-{}", picture.id), "its verdicts".to_owned()));
    let pictures = gallery.of(&outcome.analysis.figures[number]).into_iter();
    verdicts.chain(pictures.map(|(id, title)| (id, lowered(&title)))).collect()
}

/// Figures along what the study varied, then figures of some typical trials.
fn gallery(report: &StudyReport<'_>, outcome: &Outcome<'_>, prefix: &str) -> Gallery {
    let mut gallery = Gallery::new(prefix);
    study_charts(&mut gallery, Material { outcome: *outcome, digests: report.digests });
    gallery.group(
        "Typical trials over time",
        "For some configurations, the trial with the median first metric. Charts below each other share the same \
        time axis.",
    );
    for (planned, recording) in report.exemplars {
        let name = format!("{}, block {}", outcome.name(planned.configuration), planned.block + 1);
        run_charts(&mut gallery, recording, &name);
    }
    gallery
}

fn lowered(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The results. As a part of a larger page, the section begins with the question.
fn opening(report: &StudyReport<'_>, outcome: &Outcome<'_>, is_part: bool, links: &Links<'_>) -> Markup {
    let run_name =
        |digest: &Digest| format!("block {}, {}", digest.planned.block + 1, outcome.name(digest.planned.configuration));
    let mut gathered = findings::of_all(&report.analysis.findings);
    gathered
        .extend(findings::gather(report.digests.iter().map(|digest| (run_name(digest), digest.findings.as_slice()))));
    html! {
        @if is_part {
            @if !report.study.question.trim().is_empty() { p.question { (name(report.study.question.trim())) } }
            (facts(report))
        }
        (summary::section(outcome, &gathered, report.missing, links))
    }
}

fn facts(report: &StudyReport<'_>) -> Markup {
    let (configurations, blocks) = (report.design.configurations.len(), report.study.blocks as usize);
    let first = report.digests.iter().min_by_key(|digest| digest.started_unix_ns);
    html! {
        p {
            (counted(report.design.trials.len() - report.missing, "trial", "trials")) ": " (counted(configurations, "configuration", "configurations"))
            " in " (counted(blocks, "block", "blocks")) ", in random order"
            @if let Some(first) = first {
                "; on " (name(&first.host.hostname)) ", Linux " (name(&first.host.kernel)) ", begun " (environment::date(first.started_unix_ns))
            } "."
        }
    }
}

fn verdict_section(outcome: &Outcome<'_>, forests: &[(usize, DrawnChart)]) -> Markup {
    html! {
        (verdicts::reading(outcome))
        @for (number, figure) in forests {
            h3 { bdi { (outcome.analysis.figures[*number].name()) } }
            (with_table(figure, &verdicts::of(outcome, *number)))
        }
    }
}

fn environment_section(report: &StudyReport<'_>, outcome: &Outcome<'_>) -> Markup {
    let hosts: Vec<&HostFacts> = report.digests.iter().map(|digest| &digest.host).collect();
    let versions: Vec<&str> = report.digests.iter().map(|digest| digest.iolab_version.as_str()).collect();
    let warnings =
        findings::repeated(report.digests.iter().flat_map(|digest| digest.warnings.iter().map(String::as_str)));
    let line = report.digests.first().map(|digest| digest.host.command_line.join(" "));
    html! {
        (environment::machine(&hosts, &versions))
        @if let Some((_, recording)) = report.exemplars.first() { (environment::devices(recording)) }
        (environment::order(outcome, report.digests))
        @if !warnings.is_empty() {
            (details(&format!("Warnings of the runs ({})", warnings.len()), &html! {
                ul { @for (text, count) in &warnings { li { (name(text)) span.weak { " (" (counted(*count, "trial", "trials")) ")" } } } }
            }))
        }
        @if let Some(line) = line { (details("Command line of the first trial", &environment::code(&line))) }
    }
}

fn again(report: &StudyReport<'_>, outcome: &Outcome<'_>) -> Markup {
    let (on_hosts, run) = match &report.study.hosts {
        None => (String::new(), "run".to_owned()),
        Some(hosts) => (format!(" --hosts={}", hosts.list()), format!("hosts run --hosts={}", hosts.list())),
    };
    let commands = format!(
        "iolab study run STUDY.toml{on_hosts} --folder {folder}   # the same order again: seed {seed}\niolab study resume {folder}   # what is missing\niolab {run} {folder}/jobs/c000.fio   # one configuration by itself\niolab report {folder} -o report.html",
        folder = report.folder,
        seed = report.study.seed,
    );
    html! { (environment::code(&commands)) (environment::plan(outcome, report.job)) }
}

/// The trials whose recordings a report shows in full: of the baseline and of the best
/// configurations in the first figure, each the trial whose value is in the middle.
pub fn exemplars(study: &Study, design: &Design, analysis: &Analysis, rules: &DecisionRules) -> Vec<TrialId> {
    let outcome = Outcome { study, design, analysis, rules };
    let mut configurations: Vec<usize> = Vec::new();
    for standing in outcome.standings(0) {
        configurations
            .extend([standing.best].into_iter().chain(standing.rivals.last().map(|rival| rival.configuration)));
    }
    if configurations.is_empty() {
        configurations.extend(0..design.configurations.len());
    }
    let mut chosen: Vec<TrialId> = Vec::new();
    for configuration in configurations {
        if chosen.len() < MOST_EXEMPLARS && chosen.iter().all(|planned| planned.configuration != configuration) {
            chosen.extend(middle(&outcome, configuration).map(|block| TrialId { block, configuration, level: None }));
        }
    }
    chosen
}

/// More trials would make the page long and add little.
const MOST_EXEMPLARS: usize = 3;

/// The block in which the first figure of a configuration is the median.
fn middle(outcome: &Outcome<'_>, configuration: usize) -> Option<u32> {
    let values = &outcome.row(0, configuration)?.values;
    let mut known: Vec<(u32, f64)> = (0..).zip(values).filter_map(|(block, value)| Some((block, (*value)?))).collect();
    known.arrange_by(|one, other| one.1.total_cmp(&other.1));
    known.get(known.len() / 2).map(|(block, _)| *block)
}
