//! Given axes: conditions under which choices are compared, and which are not compared themselves.

use iolab_statistics::DecisionRules;
use iolab_study::{
    Analysis, Design, Study, StudyAnswer, Trial, TrialResults, analyse, answer, describe_results, design, read,
};

const CONDITIONS: [&str; 3] = ["write", "read", "mixed"];
const CHOICES: [&str; 2] = ["psync", "io_uring"];

/// Two interfaces under three loads; `speed` by load and interface. Values stray by up to eleven
/// times `stray`.
fn study(given: bool, blocks: u32, speed: [[f64; 2]; 3], stray: f64) -> (Study, Design, TrialResults) {
    let given = if given { "given = true\n" } else { "" };
    let text = format!(
        "title = \"t\"\njob_text = \"[j]\"\nfigures = [\"iops\"]\nblocks = 7\nbaseline = {{ interface = \"psync\" }}\n\
         [[axis]]\nname = \"load\"\n{given}point = [{{ name = \"write\", set = {{ rw = \"write\" }} }}, \
         {{ name = \"read\", set = {{ rw = \"read\" }} }}, {{ name = \"mixed\", set = {{ rw = \"rw\" }} }}]\n\
         [[axis]]\nname = \"interface\"\npoint = [{{ name = \"psync\", set = {{ ioengine = \"psync\" }} }}, \
         {{ name = \"io_uring\", set = {{ ioengine = \"io_uring\" }} }}]\n"
    );
    let study = read(&text).expect("a sound study");
    let design = design(&study).expect("a sound design");
    let trial = |planned: &iolab_study::TrialId| {
        let points = &design.configurations[planned.configuration].points;
        let place = |of: &[&str], axis: usize| of.iter().position(|one| *one == points[axis]).expect("a point");
        let stray = f64::from((planned.block as u16 * 7 + planned.configuration as u16 * 5) % 11) * stray;
        let value = 1e5 * speed[place(&CONDITIONS, 0)][place(&CHOICES, 1)] * (1.0 + stray);
        Trial {
            block: planned.block,
            configuration: planned.configuration,
            values: vec![Some(value)],
            ..Trial::default()
        }
    };
    let trials = design.trials.iter().filter(|planned| planned.block < blocks).map(trial).collect();
    (study, design, TrialResults { trials, ..TrialResults::default() })
}

fn analysed(given: bool, blocks: u32, speed: [[f64; 2]; 3]) -> (Analysis, StudyAnswer, String) {
    with_stray(given, blocks, speed, 0.004)
}

fn with_stray(given: bool, blocks: u32, speed: [[f64; 2]; 3], stray: f64) -> (Analysis, StudyAnswer, String) {
    let (study, design, results) = study(given, blocks, speed, stray);
    let rules = DecisionRules::default();
    let analysis = analyse(&study, &design, &results, &rules);
    let told = answer(&study, &design, &analysis, &rules);
    let text = describe_results(&study, &design, &analysis, &rules, &[]);
    (analysis, told, text)
}

#[test]
fn a_choice_that_is_best_everywhere_is_the_answer() {
    let speed = [[1.0, 1.5], [4.0, 8.0], [2.0, 5.0]];
    let (analysis, told, text) = analysed(true, 7, speed);
    let start = "interface=io_uring is best under all 3 conditions (load), ";
    assert!(told.sentence.starts_with(start), "{told:?}");
    assert!(told.sentence.contains(" against psync over all of them, from +47.5 %"), "{told:?}");
    assert!(told.sentence.contains(" (write) to 2.5x") && told.sentence.ends_with("(mixed) (iops)"), "{told:?}");
    // No two conditions are compared, so that fewer statements share the confidence.
    assert_eq!(analysis.contrasts.len(), 3);
    let (ungiven, whole, _) = analysed(false, 7, speed);
    assert_eq!(ungiven.contrasts.len(), 15);
    assert!(whole.sentence.starts_with("load=read, interface=io_uring is best: "), "{whole:?}");
    let critical = |analysis: &Analysis| analysis.standings[0].critical.expect("seven blocks have one");
    assert!(critical(&analysis) < critical(&ungiven), "limits are narrower");
    // Each condition has a baseline of its own.
    assert_eq!(text.matches("  baseline").count(), 3, "{text}");
    assert!(text.contains("compare with the baseline under the same condition"), "{text}");
    assert!(told.findings.iter().any(|found| found.starts_with("interface and load interact: ")), "{told:?}");
    assert!(!told.findings.iter().any(|found| found.contains("matters")), "the sentence has it: {told:?}");
}

#[test]
fn an_answer_that_depends_on_the_condition_says_on_which() {
    let (_, told, _) = analysed(true, 7, [[2.0, 1.0], [4.0, 8.0], [2.0, 5.0]]);
    let expected = "which is best depends on load: interface=psync at write, interface=io_uring at read; mixed (iops)";
    assert_eq!(told.sentence, expected);
}

#[test]
fn undecided_and_equivalent_choices_are_told() {
    let (_, told, _) = with_stray(true, 7, [[1.0, 1.0], [4.0, 4.0], [2.0, 2.0]], 0.0004);
    assert_eq!(told.sentence, "all choices are equivalent under 3 conditions (load), within 2 % (iops)");
    let (_, told, _) = analysed(true, 2, [[1.0, 1.5], [4.0, 8.0], [2.0, 5.0]]);
    assert!(told.sentence.starts_with("interface=io_uring looks best under 3 of 3 conditions (load), "), "{told:?}");
    assert!(told.sentence.contains("repeat at least 3 times"), "{told:?}");
    let (_, told, _) = analysed(true, 7, [[1.0, 1.018], [4.0, 8.0], [2.0, 5.0]]);
    assert!(told.sentence.starts_with("interface=io_uring is best under 2 of 3 conditions (load), "), "{told:?}");
    assert!(told.sentence.ends_with(", from +99.0 % (read) to 2.5x (mixed); equivalent under 1 (iops)"), "{told:?}");
    let (_, told, _) = with_stray(true, 7, [[1.0, 1.1], [4.0, 8.0], [2.0, 5.0]], 0.03);
    assert!(told.sentence.starts_with("interface=io_uring is best under 2 of 3 conditions (load), "), "{told:?}");
    assert!(told.sentence.contains("; undecided under 1; "), "{told:?}");
}

#[test]
fn with_conditions_alone_they_are_compared() {
    let text = "title = \"t\"\njob_text = \"[j]\"\nfigures = [\"iops\"]\n[[axis]]\noption = \"bs\"\ngiven = true\nvalues = [\"4k\", \"8k\"]\n";
    let study = read(text).expect("a sound study");
    let design = design(&study).expect("a sound design");
    let trial = |planned: &iolab_study::TrialId| Trial {
        block: planned.block,
        configuration: planned.configuration,
        values: vec![Some(1000.0 * (1.0 + planned.configuration as f64))],
        ..Trial::default()
    };
    let results = TrialResults { trials: design.trials.iter().map(trial).collect(), ..TrialResults::default() };
    let analysis = analyse(&study, &design, &results, &DecisionRules::default());
    assert_eq!((analysis.contrasts.len(), analysis.standings[0].best), (1, Some(1)));
}
