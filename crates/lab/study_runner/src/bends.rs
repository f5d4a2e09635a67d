//! Why the curves of a study bend: the points of each axis at which the limit of the trials
//! changes, or their findings do.
//!
//! Nothing is measured again. A trial's recording contains what limited it (memory, the device, its
//! latency, processors, the queue) and what happened to its requests (split, merged). This module
//! finds the points of an axis at which that changes.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use iolab_activity::Failure;
use iolab_findings::{BottleneckKind, limits};
use iolab_recording::{Recording, Severity};
use iolab_statistics::DecisionRules;
use iolab_study::{Analysis, Design, Study, analyse, shown};

use crate::collections;
use crate::folder::Folder;

/// Findings that shape a curve, beside those that are grave.
const SHAPING: [&str; 3] = ["requests-split", "requests-merged", "synchronous-engine"];

/// Limits and findings of the trials of one configuration.
#[derive(Debug, Default)]
struct Looks {
    trials: usize,
    /// How often each limit was named, and its words.
    limits: Vec<(BottleneckKind, String, usize)>,
    /// How often each rule fired, and what it saw first.
    findings: BTreeMap<String, (String, usize)>,
}

impl Looks {
    fn take(&mut self, recording: &Recording) {
        self.trials += 1;
        for limit in limits(recording) {
            match self.limits.iter_mut().find(|one| one.0 == limit.kind) {
                Some(known) => known.2 += 1,
                None => self.limits.push((limit.kind, limit.answer, 1)),
            }
        }
        let mut fired: Vec<&str> = Vec::new();
        for finding in &recording.findings {
            let shapes = SHAPING.contains(&finding.rule.as_str()) || finding.severity == Severity::Invalid;
            if shapes && !fired.contains(&finding.rule.as_str()) {
                fired.push(&finding.rule);
                self.findings.entry(finding.rule.clone()).or_insert_with(|| (finding.evidence.clone(), 0)).1 += 1;
            }
        }
    }

    /// The limit that most trials name.
    fn limit(&self) -> Option<(BottleneckKind, &str)> {
        let most = self.limits.iter().max_by_key(|one| one.2)?;
        Some((most.0, most.1.as_str()))
    }

    /// The findings of more than half of the trials.
    fn found(&self) -> Vec<(&str, &str)> {
        let often = self.findings.iter().filter(|(_, (_, count))| count * 2 > self.trials);
        often.map(|(rule, (evidence, _))| (rule.as_str(), evidence.as_str())).collect()
    }

    fn is_like(&self, other: &Looks) -> bool {
        let rules = |looks: &Looks| looks.found().iter().map(|(rule, _)| (*rule).to_owned()).collect::<Vec<_>>();
        self.limit().map(|limit| limit.0) == other.limit().map(|limit| limit.0) && rules(self) == rules(other)
    }
}

/// Why the curves of the study in a folder, or of each study of a collection, bend.
///
/// # Errors
/// The folder cannot be read.
pub fn explain(path: &Path) -> Result<String, Failure> {
    let (_, folders) = collections::folders_of(path)?;
    let texts = folders.iter().map(|path| {
        let (folder, study) = Folder::open(path)?;
        explain_one(&folder, &study)
    });
    Ok(texts.collect::<Result<Vec<String>, Failure>>()?.join("\n"))
}

fn explain_one(folder: &Folder, study: &Study) -> Result<String, Failure> {
    let design = crate::lay_out(study)?;
    let mut looks: Vec<Looks> = design.configurations.iter().map(|_| Looks::default()).collect();
    let results = folder.results_seen(study, &design, &mut |planned, recording| {
        if planned.level.is_none() {
            crate::report::with_findings(recording);
            looks[planned.configuration].take(recording);
        }
    });
    let analysis = analyse(study, &design, &results, &DecisionRules::default());
    Ok(text(study, &design, &analysis, &looks))
}

fn text(study: &Study, design: &Design, analysis: &Analysis, looks: &[Looks]) -> String {
    let mut text = format!("{}\n", study.title);
    if looks.iter().all(|one| one.trials == 0) {
        return text + "  no trial left a usable recording\n";
    }
    for (axis, name) in design.axes.iter().enumerate() {
        for line in lines(design, axis) {
            // A single point is not a curve.
            if line.len() > 1 {
                let fixed = fixed(design, axis, line[0]);
                // Writing to a String cannot fail.
                let _ = writeln!(text, "\nvarying {name}{fixed}:");
                text += &steps(study, design, analysis, looks, axis, line.as_slice());
            }
        }
    }
    text
}

/// Configurations that differ in this axis alone, in the order of its points.
fn lines(design: &Design, axis: usize) -> Vec<Vec<usize>> {
    let others = |number: usize| {
        let points = design.configurations[number].points.iter().enumerate();
        points.filter(|(at, _)| *at != axis).map(|(_, point)| point.as_str()).collect::<Vec<_>>()
    };
    let mut lines: Vec<Vec<usize>> = Vec::new();
    for number in 0..design.configurations.len() {
        match lines.iter_mut().find(|line| others(line[0]) == others(number)) {
            Some(line) => line.push(number),
            None => lines.push(vec![number]),
        }
    }
    lines
}

fn fixed(design: &Design, axis: usize, configuration: usize) -> String {
    let points = design.axes.iter().zip(&design.configurations[configuration].points).enumerate();
    let others: Vec<String> =
        points.filter(|(at, _)| *at != axis).map(|(_, (name, point))| format!("{name}={point}")).collect();
    if others.is_empty() { String::new() } else { format!(", with {}", others.join(", ")) }
}

/// A line for each range of the axis without a change.
fn steps(study: &Study, design: &Design, analysis: &Analysis, looks: &[Looks], axis: usize, line: &[usize]) -> String {
    let figure = study.primary_figure();
    let value = |number: usize| {
        let median = analysis.row(figure, number).and_then(|row| row.median);
        median.map_or("no value".to_owned(), |median| shown(&analysis.figures[figure], median.estimate))
    };
    let point = |number: usize| design.configurations[number].points[axis].as_str();
    let mut text = String::new();
    for stretch in line.chunk_by(|one, next| looks[*one].is_like(&looks[*next])) {
        let (first, last) = (stretch[0], stretch[stretch.len() - 1]);
        let range = match stretch.len() {
            1 => format!("{} ({})", point(first), value(first)),
            _ => format!("{} ({}) to {} ({})", point(first), value(first), point(last), value(last)),
        };
        let limit = looks[first].limit().map_or("unknown: no trial was recorded", |limit| limit.1);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {range}: {limit}");
        for (rule, evidence) in looks[first].found() {
            let _ = writeln!(text, "    {rule}: {evidence}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const STUDY: &str = "title = \"Sizes\"\njob_text = \"[j]\"\nblocks = 3\nfigures = [\"iops\"]\n[[axis]]\noption = \"bs\"\n\
                         values = [\"4k\", \"64k\", \"1m\", \"8m\"]\n[[axis]]\noption = \"direct\"\nvalues = [0, 1]\n";

    fn looks(kind: BottleneckKind, answer: &str, split: bool) -> Looks {
        let mut looks = Looks { trials: 3, limits: vec![(kind, answer.to_owned(), 3)], ..Looks::default() };
        if split {
            looks.findings.insert("requests-split".to_owned(), ("8 MiB became 7 requests".to_owned(), 2));
        }
        looks
    }

    #[test]
    fn each_stretch_of_an_axis_says_what_limits_it() {
        let study = iolab_study::read(STUDY).expect("a sound study");
        let design = iolab_study::design(&study).expect("a sound design");
        let analysis = analyse(&study, &design, &iolab_study::TrialResults::default(), &DecisionRules::default());
        let of = |number: usize| match design.configurations[number]
            .points
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()[..]
        {
            [_, "0"] => looks(BottleneckKind::Cache, "memory", false),
            ["4k" | "64k", _] => looks(BottleneckKind::Latency, "latency", false),
            ["1m", _] => looks(BottleneckKind::Device, "the device", false),
            _ => looks(BottleneckKind::Device, "the device", true),
        };
        let looks: Vec<Looks> = (0..design.configurations.len()).map(of).collect();
        let told = text(&study, &design, &analysis, &looks);
        let along = told.split("varying bs, with direct=1:\n").nth(1).expect("a line of its own");
        let along: Vec<&str> = along.lines().take_while(|line| !line.is_empty()).collect();
        assert_eq!(
            along,
            [
                "  4k (no value) to 64k (no value): latency",
                "  1m (no value): the device",
                "  8m (no value): the device",
                "    requests-split: 8 MiB became 7 requests",
            ]
        );
        assert!(told.contains("varying bs, with direct=0:\n  4k (no value) to 8m (no value): memory\n"), "{told}");
        assert!(
            told.contains("varying direct, with bs=4k:\n  0 (no value): memory\n  1 (no value): latency\n"),
            "{told}"
        );
    }
}
