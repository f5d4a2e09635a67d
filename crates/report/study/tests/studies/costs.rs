//! What several choices cost against a named baseline, under each condition.

use iolab_statistics::DecisionRules;
use iolab_study::{StudyAnswer, Trial, TrialId, TrialResults, analyse, answer, design, read};

const DEPTHS: [&str; 2] = ["1", "32"];
const LAYERS: [&str; 3] = ["file", "ext4", "crypt"];

/// The answer of a study of one figure, with a value for each depth and layer.
fn told(figure: &str, baseline: &str, values: [[f64; 3]; 2]) -> StudyAnswer {
    told_of(figure, baseline, values, 0.001)
}

/// The same, with values that stray by up to ten times `spread`.
fn told_of(figure: &str, baseline: &str, values: [[f64; 3]; 2], spread: f64) -> StudyAnswer {
    let layer = |name: &&str| format!("{{ name = \"{name}\", set = {{ filename = \"{name}\" }} }}");
    let points: Vec<String> = LAYERS.iter().map(layer).collect();
    let text = format!(
        "title = \"t\"\njob_text = \"[j]\"\nfigures = [\"{figure}\"]\nblocks = 7\n{baseline}\n[[axis]]\noption = \"iodepth\"\n\
         given = true\nvalues = [\"1\", \"32\"]\n[[axis]]\nname = \"layer\"\npoint = [{}]\n",
        points.join(", ")
    );
    let study = read(&text).expect("a sound study");
    let design = design(&study).expect("a sound design");
    let trial = |planned: &TrialId| {
        let points = &design.configurations[planned.configuration].points;
        let place = |of: &[&str], axis: usize| of.iter().position(|one| *one == points[axis]).expect("a point");
        let stray = f64::from((planned.block as u16 * 7 + planned.configuration as u16 * 5) % 11) * spread;
        let value = values[place(&DEPTHS, 0)][place(&LAYERS, 1)] * (1.0 + stray);
        Trial {
            block: planned.block,
            configuration: planned.configuration,
            values: vec![Some(value)],
            ..Trial::default()
        }
    };
    let results = TrialResults { trials: design.trials.iter().map(trial).collect(), ..TrialResults::default() };
    let rules = DecisionRules::default();
    answer(&study, &design, &analyse(&study, &design, &results, &rules), &rules)
}

#[test]
fn each_condition_says_what_each_choice_adds_to_the_named_baseline() {
    let values = [[50_000.0, 62_000.0, 90_000.0], [400_000.0, 400_000.0, 1_200_000.0]];
    let said = told("mean", "baseline = { layer = \"file\" }", values);
    assert!(said.sentence.starts_with("against file, over all 2 conditions: crypt costs most, 2.3x ["), "{said:?}");
    let first = &said.findings[0];
    assert!(first.starts_with("iodepth=1 (mean): file has 50.") && first.contains("; crypt adds 40."), "{first}");
    let place = |name: &str| first.find(name).expect(name);
    assert!(place("crypt adds") < place("ext4 adds 11."), "the largest first: {first}");
    assert!(said.findings[1].starts_with("iodepth=32 (mean): file has 40"), "{said:?}");
    assert!(said.findings[1].contains("; ext4 equivalent"), "{said:?}");
    assert!(!told("mean", "", values).findings[0].contains("file has"), "nobody named a baseline");
}

#[test]
fn of_a_rate_the_share_is_told() {
    let values = [[20e3, 16e3, 12e3], [80e3, 80e3, 30e3]];
    let said = told("iops", "baseline = { layer = \"file\" }", values);
    assert!(said.sentence.contains("crypt costs most, 0.47x ["), "{said:?}");
    assert!(said.findings[0].contains("; crypt -40.") && said.findings[0].contains("; ext4 -20."), "{said:?}");
}

#[test]
fn costs_are_certain_where_it_is_not_certain_which_choice_is_best() {
    // Both cost more than the baseline, and the baseline and ext4 cannot be told apart.
    let values = [[50_000.0, 51_000.0, 190_000.0], [400_000.0, 408_000.0, 1_200_000.0]];
    let said = told_of("mean", "baseline = { layer = \"file\" }", values, 0.02);
    assert!(said.sentence.contains("crypt costs most, "), "{said:?}");
    assert!(said.sentence.contains("; which is best is not certain under any of them"), "{said:?}");
    assert!(said.findings[0].contains("; crypt adds 1"), "{said:?}");
}
