//! Studies with simulated trials, and their pages.

use iolab_aggregate::Throughput;
use iolab_histogram::Histogram;
use iolab_html::{Digest, DirectionDigest, StudyReport, study_page};
use iolab_recording::HostFacts;
use iolab_statistics::DecisionRules;
use iolab_study::{Analysis, Design, Study, Trial, TrialId, TrialResults, analyse, design, read};
use iolab_testkit::html::{HtmlPage, read_html};

/// A study with simulated trials.
pub(crate) struct Made {
    pub(crate) study: Study,
    pub(crate) design: Design,
    pub(crate) trials: Vec<Trial>,
    pub(crate) digests: Vec<Digest>,
}

impl Made {
    pub(crate) fn analysis(&self, rules: &DecisionRules) -> Analysis {
        let results = TrialResults { trials: self.trials.clone(), ..Default::default() };
        analyse(&self.study, &self.design, &results, rules)
    }
}

pub(crate) const HEAD: &str = "job_text = \"[j]\\nrw=randread\\n\"\nblocks = 7\nfigures = [\"iops\", \"p99\"]\n";

/// From a study file; `speed` gives the operations per second of a configuration, by its points.
pub(crate) fn made(text: &str, speed: impl Fn(&[String]) -> f64) -> Made {
    let study = read(text).expect("a study");
    let design = design(&study).expect("a design");
    let (mut trials, mut digests) = (Vec::new(), Vec::new());
    for (place, planned) in design.trials.iter().enumerate() {
        // The machine becomes a little slower in each block, and trials differ by a little more.
        let slower = 1.0 + 0.1 * f64::from(planned.block) + 0.002 * (place % 5) as f64;
        let iops = speed(&design.configurations[planned.configuration].points) / slower;
        let latency_ns = 1e9 / iops;
        trials.push(Trial {
            block: planned.block,
            configuration: planned.configuration,
            values: vec![Some(iops), Some(3.0 * latency_ns)],
            ..Trial::default()
        });
        digests.push(digest(*planned, iops));
    }
    Made { study, design, trials, digests }
}

fn digest(planned: TrialId, iops: f64) -> Digest {
    let mut latencies = Histogram::new();
    (0..5000_u64).for_each(|n| latencies.add((1e9 / iops) as u64 + n * n / 100));
    let done = Throughput { ios: iops as u64, bytes: 4096 * iops as u64, runtime_ns: 1_000_000_000 };
    let reads = DirectionDigest { done, lat: latencies.to_sparse(), ..Default::default() };
    Digest {
        planned,
        host: HostFacts { hostname: "lab".to_owned(), cpus: 2, ..Default::default() },
        iolab_version: "0.0.0".to_owned(),
        started_unix_ns: 1_795_253_382_000_000_000,
        elapsed_ns: 1_000_000_000,
        directions: [reads, DirectionDigest::default(), DirectionDigest::default()],
        done,
        user_ns: 1_000_000,
        system_ns: 2_000_000,
        context_switches: 10,
        runtime_ns: 1_000_000_000,
        overheads: Vec::new(),
        findings: Vec::new(),
        warnings: Vec::new(),
        device: None,
    }
}

/// The page, and the same parsed by a strict parser.
pub(crate) fn shown(made: &Made) -> (String, HtmlPage) {
    let rules = DecisionRules::default();
    let analysis = made.analysis(&rules);
    let page = study_page(&report(made, &analysis, &rules));
    let read = read_html(&page.html);
    read.stands_alone();
    (page.html, read)
}

pub(crate) fn report<'a>(made: &'a Made, analysis: &'a Analysis, rules: &'a DecisionRules) -> StudyReport<'a> {
    StudyReport {
        study: &made.study,
        design: &made.design,
        analysis,
        rules,
        job: "[j]\nrw=randread\n",
        folder: "study",
        missing: made.design.trials.len() - made.trials.len(),
        digests: &made.digests,
        exemplars: &[],
        version: "0.0.0",
    }
}

pub(crate) fn engines() -> Made {
    let axes = "[[axis]]\noption = \"ioengine\"\nvalues = [\"psync\", \"libaio\"]\n";
    let text = format!("title = \"Interfaces\"\nquestion = \"Which is faster?\"\n{HEAD}{axes}");
    made(&text, |points| if points[0] == "psync" { 10_000.0 } else { 20_000.0 })
}

/// The text of a page as read.
pub(crate) fn plain(page: &HtmlPage) -> String {
    page.text.split_whitespace().collect::<Vec<_>>().join(" ")
}
