//! The result: a verdict, and a score for each figure.

use iolab_histogram::SparseHistogram;
use iolab_statistics::{Interval, median_interval};
use iolab_text::{Alignment, aligned, rounded_bytes};
use iolab_units::rounded_ns;
use serde::Serialize;

use crate::{Block, Fingerprint, JobRuns, kolmogorov_smirnov};

const CONFIDENCE: f64 = 0.95;
/// From this share of the processors' time on, other programs have affected the measurement.
const DISTURBING: f64 = iolab_trace::ProcessorShares::DISTURBING;
/// A relative error up to this is good.
const NEAR: f64 = 0.15;

/// The rate that was predicted, and the one observed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    /// Of the job, commits a second.
    pub predicted: Interval,
    /// Of the application.
    pub observed: Interval,
}

impl Prediction {
    /// Of blocks; `None` where one of them has none.
    pub fn of(job: &[f64], application: &[f64]) -> Option<Prediction> {
        let predicted = median_interval(job, CONFIDENCE)?;
        Some(Prediction { predicted, observed: median_interval(application, CONFIDENCE)? })
    }

    /// How far the prediction is off, as a share of what was observed.
    pub fn error(&self) -> f64 {
        self.predicted.estimate / self.observed.estimate - 1.0
    }

    /// In one line.
    pub fn verdict(&self) -> String {
        let number = |value: f64| if value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") };
        let Interval { estimate, low, high, .. } = self.observed;
        let error = self.error();
        let how = match () {
            () if error.abs() <= NEAR => format!("{:+.1} %, near enough", error * 100.0),
            () if error > 1.0 => format!("{:.1} times too many", error + 1.0),
            () if error < -0.5 => format!("{:.1} times too few", 1.0 / (error + 1.0)),
            () => format!("{:+.1} %, more than {:.0} % off", error * 100.0, NEAR * 100.0),
        };
        format!(
            "predicts {} commits/s, observed {} [{}, {}] ({how})",
            number(self.predicted.estimate),
            number(estimate),
            number(low),
            number(high)
        )
    }
}

/// One figure of both.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Score {
    /// What it is.
    pub name: String,
    /// Of the job.
    pub job: f64,
    /// Of the application.
    pub application: f64,
    /// 1 where they are the same, 0 where they have nothing in common.
    pub score: f64,
    /// The values as text for people.
    #[serde(skip)]
    shown: [String; 2],
}

/// The result of a validation.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Validation {
    /// Commits; absent where the application's were not observed.
    pub prediction: Option<Prediction>,
    /// All figures.
    pub scores: Vec<Score>,
    /// Blocks of the job.
    pub job_blocks: Vec<Block>,
    /// Blocks of the application.
    pub application_blocks: Vec<Block>,
    /// Remarks for the user.
    pub notes: Vec<String>,
}

impl Validation {
    /// Takes the blocks in.
    pub fn add_blocks(&mut self, job: &JobRuns, application: &[Block]) {
        let rates = |blocks: &[Block]| -> Vec<f64> { blocks.iter().map(|block| block.commits_per_s).collect() };
        self.prediction = Prediction::of(&rates(&job.blocks), &rates(application)).or(self.prediction);
        self.job_blocks = job.blocks.clone();
        self.application_blocks = application.to_vec();
        let others: Vec<f64> = job.blocks.iter().filter_map(|block| block.others).collect();
        if let (Some(middle), Some(most)) = (iolab_statistics::median(&others), others.iter().copied().reduce(f64::max))
            && most >= DISTURBING
        {
            self.notes.push(format!(
                "other programs used {} of the processors' time while the job ran, {} in the worst block: rates are of a \
                 busy machine, and differ from block to block",
                percent(middle),
                percent(most)
            ));
        }
        type DeviceFigure = (&'static str, fn(&Block) -> f64, fn(f64) -> String);
        let figures: [DeviceFigure; 4] = [
            ("device writes/s", |block| block.device.writes_per_s, |value| format!("{value:.0}")),
            ("device write size", |block| block.device.write_bytes, rounded_bytes),
            ("device writes merged", |block| block.device.merged, percent),
            ("device flushes/s", |block| block.device.flushes_per_s, |value| format!("{value:.0}")),
        ];
        for (name, of, show) in figures {
            let middle = |blocks: &[Block]| iolab_statistics::median(&blocks.iter().map(of).collect::<Vec<_>>());
            let (Some(one), Some(other)) = (middle(&job.blocks), middle(application)) else { continue };
            let score = if name.ends_with("merged") { 1.0 - (one - other).abs() } else { nearness(one, other) };
            self.add(name, one, other, score, show);
        }
    }

    /// Takes the fingerprints of traces in.
    pub fn add_fingerprints(&mut self, job: &Fingerprint, application: &Fingerprint) {
        if self.prediction.is_none()
            && let (Some(one), Some(other)) = (job.commits_per_s, application.commits_per_s)
        {
            self.prediction = Prediction::of(&[one], &[other]);
            self.notes.push(
                "both rates are of one run each under a tracer: --against runs both in turns without one".to_owned(),
            );
        }
        let rate = |value: f64| format!("{value:.0}");
        self.ratio("operations/s, traced", job.operations_per_s, application.operations_per_s, rate);
        self.ratio("bytes/s, traced", job.bytes_per_s, application.bytes_per_s, rounded_bytes);
        let apart = (job.sync_share - application.sync_share).abs();
        self.add("share of syncs", job.sync_share, application.sync_share, 1.0 - apart, percent);
        for (name, place) in [("sizes of reads, distance", 0), ("sizes of writes, distance", 1)] {
            match kolmogorov_smirnov(&job.sizes[place], &application.sizes[place]) {
                Some(distance) => self.add(name, distance, 0.0, 1.0 - distance, |value| format!("{value:.3}")),
                None if job.sizes[place].is_empty() != application.sizes[place].is_empty() => {
                    self.add(name, 1.0, 0.0, 0.0, |value| format!("{value:.3}"));
                }
                None => {}
            }
        }
        for (name, one, other) in [
            ("reads", &job.reads, &application.reads),
            ("writes", &job.writes, &application.writes),
            ("syncs", &job.syncs, &application.syncs),
        ] {
            self.latencies(name, one, other);
        }
    }

    fn latencies(&mut self, name: &str, one: &SparseHistogram, other: &SparseHistogram) {
        if one.is_empty() || other.is_empty() {
            return;
        }
        for (what, share) in [("median", 50.0), ("p99", 99.0)] {
            let [job, application] = [one, other].map(|latencies| latencies.percentile(share) as f64);
            self.ratio(&format!("{what} of {name}"), job, application, rounded_ns);
        }
    }

    fn ratio(&mut self, name: &str, job: f64, application: f64, show: impl Fn(f64) -> String) {
        self.add(name, job, application, nearness(job, application), show);
    }

    fn add(&mut self, name: &str, job: f64, application: f64, score: f64, show: impl Fn(f64) -> String) {
        let shown = [show(job), show(application)];
        self.scores.push(Score { name: name.to_owned(), job, application, score, shown });
    }

    /// As text: the verdict first.
    pub fn text(&self) -> String {
        let mut text = match &self.prediction {
            Some(prediction) => format!("{}\n\n", prediction.verdict()),
            None => "no verdict: the application's commits were not observed\n\n".to_owned(),
        };
        let mut lines = vec![["figure", "job", "application", "score"].map(str::to_owned).to_vec()];
        for score in &self.scores {
            let [job, application] = score.shown.clone();
            lines.push(vec![score.name.clone(), job, application, format!("{:.2}", score.score)]);
        }
        text += &aligned(&lines, |column| if column == 0 { Alignment::Left } else { Alignment::Right });
        self.notes.iter().for_each(|note| text += &format!("note: {note}\n"));
        text
    }

    /// As JSON.
    pub fn json(&self) -> String {
        let verdict = self.prediction.map(|prediction| prediction.verdict());
        let error = self.prediction.map(|prediction| prediction.error());
        let value = serde_json::json!({ "verdict": verdict, "error": error, "validation": self });
        format!("{value:#}\n")
    }
}

/// The smaller over the larger; 1 for two zeros.
fn nearness(one: f64, other: f64) -> f64 {
    let (low, high) = (one.min(other), one.max(other));
    if high <= 0.0 { 1.0 } else { (low / high).max(0.0) }
}

fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let verdict = |job: f64, application: f64| Prediction::of(&[job], &[application]).unwrap().verdict();
        assert_eq!(verdict(430.0, 429.0), "predicts 430 commits/s, observed 429 [429, 429] (+0.2 %, near enough)");
        assert!(verdict(300_000.0, 400.0).ends_with("(750.0 times too many)"));
        assert!(verdict(100.0, 400.0).ends_with("(4.0 times too few)"));
        assert!(verdict(300.0, 400.0).ends_with("(-25.0 %, more than 15 % off)"));
        assert_eq!(Prediction::of(&[], &[1.0]), None);
    }

    #[test]
    fn the_same_load_has_full_scores_and_another_has_not() {
        let sizes = |size: u64| [(size, 10)].into_iter().collect();
        let print = |size: u64| Fingerprint {
            operations_per_s: 100.0,
            bytes_per_s: 5.0,
            commits_per_s: Some(50.0),
            sync_share: 0.5,
            sizes: [Default::default(), sizes(size)],
            ..Fingerprint::default()
        };
        let mut same = Validation::default();
        same.add_fingerprints(&print(8192), &print(8192));
        assert!(same.scores.iter().all(|score| score.score == 1.0), "{:?}", same.scores);
        assert!(same.text().starts_with("predicts 50 commits/s, observed 50"));
        let mut other = Validation::default();
        other.add_fingerprints(&print(8192), &print(512));
        assert!(other.scores.iter().any(|score| score.score == 0.0));
        assert!(other.json().contains("\"verdict\""));
    }
}
