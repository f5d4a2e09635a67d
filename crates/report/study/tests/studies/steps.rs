//! A study that was stopped anywhere continues there, and gives the same result as one that was not
//! stopped.
//!
//! Trial results are computed by a formula here, so that they do not depend on a machine.

use iolab_statistics::{DecisionRules, SteadyState};
use iolab_study::{
    Behind, Design, KneeRule, Step, StepResult, Study, Trial, TrialResults, analyse, blocks_to_run, design, missing,
    next, preconditionings, read,
};

/// A device that does 10,000 operations per second, and whose response time grows as 1 / (1 -
/// load).
fn answer(study: &Study, step: &Step, results: &mut TrialResults) {
    match step {
        Step::Trial(planned) => {
            let noise = 1.0 + 0.001 * f64::from((planned.block * 7 + planned.configuration as u32 * 3) % 5);
            let maximum = 10_000.0 * noise * (1 + planned.configuration) as f64;
            let mut trial = Trial {
                block: planned.block,
                configuration: planned.configuration,
                level: planned.level,
                values: study.figures.iter().map(|_| Some(maximum)).collect(),
                rates: [maximum, 0.0, 0.0],
                workers: 1,
                ..Trial::default()
            };
            if let (Some(level), Some(ladder)) = (planned.level, &study.ladder) {
                let first = results.closed_loop(planned.configuration).expect("closed loops come first");
                let asked = ladder.asked_iops(level, first).expect("a maximum");
                let load = (asked / maximum).min(0.999);
                trial.rates = [asked.min(maximum), 0.0, 0.0];
                trial.behind = (asked > maximum).then_some(Behind::Device);
                trial.service = vec![Some(100_000.0); 3];
                trial.response = [1.0, 3.0, 5.0].map(|factor| Some(100_000.0 * factor / (1.0 - load))).to_vec();
            }
            results.trials.push(trial);
        }
        Step::Purge(_) | Step::Fill(_) | Step::Prepare(_) => {
            results.steps.insert(*step, StepResult { written_bytes: 1 << 20, ..StepResult::default() });
        }
        // A cliff: steady from the fourth round on.
        Step::Round(_, round) => {
            let value = Some([900.0, 700.0, 400.0].get(*round as usize).copied().unwrap_or(300.0));
            results.steps.insert(*step, StepResult { value, ..StepResult::default() });
        }
    }
}

fn study(more: &str) -> (Study, Design) {
    let text = format!(
        "title = \"t\"\njob_text = \"[j]\"\nfigures = [\"iops\"]\n{more}\n[[axis]]\noption = \"bs\"\nvalues = [1, 2]\n"
    );
    let study = read(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    let design = design(&study).expect("a sound design");
    (study, design)
}

/// All steps to the end, in order, starting from these results.
fn go_on(study: &Study, design: &Design, results: &mut TrialResults) -> Vec<Step> {
    let mut steps = Vec::new();
    while let Some(step) = next(study, design, results) {
        assert!(!steps.contains(&step), "{step:?} is done twice");
        answer(study, &step, results);
        steps.push(step);
    }
    steps
}

#[test]
fn a_study_that_stops_anywhere_comes_to_the_same_as_one_that_does_not() {
    for more in [
        "blocks = 3",
        "blocks = \"auto\"",
        "blocks = 3\nprecondition = \"snia\"\nladder = { levels = [50, 90], slo = \"p99<=1ms\" }",
        "blocks = 2\nprecondition = { kind = \"fill\", once = \"block\" }",
        "blocks = 2\nprecondition = { kind = \"snia\", once = \"trial\" }\nladder = { levels = [50] }",
    ] {
        let (study, design) = study(more);
        let mut unbroken = TrialResults::default();
        let steps = go_on(&study, &design, &mut unbroken);
        let analysis = analyse(&study, &design, &unbroken, &DecisionRules::default());
        for stop in 0..=steps.len() {
            let mut results = TrialResults::default();
            steps[..stop].iter().for_each(|step| answer(&study, step, &mut results));
            assert_eq!(go_on(&study, &design, &mut results), steps[stop..], "{more}: stopped after {stop} steps");
            assert_eq!(analyse(&study, &design, &results, &DecisionRules::default()), analysis, "{more}: {stop}");
        }
    }
}

#[test]
fn preconditioning_comes_before_what_it_is_for() {
    let names = |more: &str, count: usize| -> Vec<String> {
        let (study, design) = study(more);
        go_on(&study, &design, &mut TrialResults::default()).iter().take(count).map(Step::name).collect()
    };
    let rounds = (0..8).map(|round| format!("study-r{round:02}"));
    let expected: Vec<String> = ["study-purge".to_owned(), "study-fill".to_owned()].into_iter().chain(rounds).collect();
    assert_eq!(names("blocks = 1\nprecondition = \"snia\"", 10), expected, "steady over rounds 4 to 8");
    let fills: Vec<String> = names("blocks = 2\nprecondition = { kind = \"fill\", once = \"block\" }", 9)
        .into_iter()
        .filter(|name| name.ends_with("fill"))
        .collect();
    assert_eq!(fills, ["b00-fill", "b01-fill"]);
    let (study, design) = study("blocks = 2\nprecondition = { kind = \"fill\", once = \"trial\" }\nladder = {}");
    assert_eq!(preconditionings(&study, &design).len(), design.trials.len());
}

#[test]
fn what_does_not_become_steady_is_told_and_goes_on() {
    let (study, design) = study("blocks = 1\nprecondition = \"snia\"");
    let mut results = TrialResults::default();
    let mut rounds = 0;
    while let Some(step) = next(&study, &design, &results) {
        match step {
            Step::Round(_, round) => {
                let value = Some(if round % 2 == 0 { 100.0 } else { 200.0 });
                results.steps.insert(step, StepResult { value, ..StepResult::default() });
                rounds += 1;
            }
            other => answer(&study, &other, &mut results),
        }
    }
    assert_eq!((rounds, results.trials.len()), (25, 2), "trials run all the same");
    let analysis = analyse(&study, &design, &results, &DecisionRules::default());
    let one = &analysis.preconditioned[0];
    assert!(matches!(one.verdict, Some(SteadyState::GivenUp { .. })), "{one:?}");
    assert_eq!(one.rounds.len(), 25);
    assert!(one.describe().contains("not steady after 25 rounds"), "{}", one.describe());
}

#[test]
fn blocks_end_when_the_intervals_are_narrow() {
    let (study, design) = study("blocks = \"auto\"");
    let run = |noise: fn(u32) -> f64| {
        let mut results = TrialResults::default();
        while let Some(step) = next(&study, &design, &results) {
            let Step::Trial(planned) = step else { panic!("nothing else is planned") };
            let factor = if planned.configuration == 0 { 1.0 } else { noise(planned.block) };
            let values = vec![Some(1000.0 * f64::from(planned.block + 1) * factor)];
            results.trials.push(Trial {
                block: planned.block,
                configuration: planned.configuration,
                values,
                ..Trial::default()
            });
        }
        assert_eq!(missing(&study, &design, &results).count(), 0);
        (blocks_to_run(&study, &design, &results), results.trials.len())
    };
    // Each block is faster than the last, but within blocks the ratio is nearly the same.
    assert_eq!(run(|block| 1.2 + 0.001 * f64::from(block % 3)), (5, 10));
    assert_eq!(run(|block| [1.0, 1.7, 1.3, 2.0, 1.1][block as usize % 5]), (30, 60), "never narrow: it ends at 30");
    let (blocks, _) = run(|block| if block == 1 || block == 3 { 1.5 } else { 1.2 + 0.001 * f64::from(block % 3) });
    assert!((6..30).contains(&blocks), "two odd blocks are outweighed by more: {blocks}");
}

#[test]
fn a_ladder_has_levels_a_knee_and_a_capacity() {
    let (study, design) = study("blocks = 6\nladder = { slo = \"p99<=2ms\" }");
    let mut results = TrialResults::default();
    let steps = go_on(&study, &design, &mut results);
    assert_eq!(steps.len(), 6 * 2 * 12);
    let firsts: Vec<bool> =
        steps.iter().take(24).map(|step| matches!(step, Step::Trial(trial) if trial.level.is_none())).collect();
    assert_eq!(firsts.iter().position(|closed| !closed), Some(2), "closed loops first");
    let analysis = analyse(&study, &design, &results, &DecisionRules::default());
    for (number, ladder) in analysis.ladders.iter().enumerate() {
        assert_eq!(ladder.configuration, number);
        assert_eq!(ladder.levels.len(), 11);
        let capacity = ladder.capacity.expect("low loads keep the target");
        // 300 us / (1 - load) <= 2 ms up to a load of 85 %.
        assert_eq!(ladder.levels[capacity.level].percent, 80.0);
        assert!(capacity.is_sure && capacity.lower_misses == 0 && !capacity.limited_by_generator, "{capacity:?}");
        assert!(capacity.response.high <= 2e6 && capacity.response.confidence >= 0.95);
        assert_eq!(ladder.knee.expect("it turns upwards").by, KneeRule::Kneedle);
        assert_eq!((ladder.levels[10].behind, ladder.levels[10].generator_late), (6, 0));
    }
    assert!(analysis.ladders[1].maximum_iops > analysis.ladders[0].maximum_iops.map(|rate| rate * 1.9));
    // The rates are those of the first block, whatever later closed loops reach.
    let first = results.closed_loop(0).expect("it ran").rates[0];
    assert_eq!(analysis.ladders[0].levels[4].asked_iops, first * 0.5);
}

#[test]
fn a_ladder_without_a_maximum_is_left_out() {
    let (study, design) = study("blocks = 2\nladder = {}");
    let mut results = TrialResults::default();
    while let Some(step) = next(&study, &design, &results) {
        answer(&study, &step, &mut results);
        let last = results.trials.last_mut().expect("a trial");
        if last.configuration == 0 && last.level.is_none() {
            last.flaw = Some("the disk was full".to_owned());
        }
    }
    let levels = |configuration| {
        let own = results.trials.iter().filter(|trial| trial.configuration == configuration);
        own.filter(|trial| trial.level.is_some()).count()
    };
    assert_eq!((levels(0), levels(1)), (0, 22));
    let analysis = analyse(&study, &design, &results, &DecisionRules::default());
    assert_eq!((analysis.ladders[0].maximum_iops, analysis.ladders[0].levels.len()), (None, 0));
}

#[test]
fn mistakes_in_how_trials_are_run_have_a_place_and_a_way_out() {
    let check = |more: &str, expected: &[&str]| {
        let text = format!("title = \"t\"\njob_text = \"[j]\"\n{more}\n");
        let error = read(&text).expect_err(more).to_string();
        expected.iter().for_each(|part| assert!(error.contains(part), "{error}: no '{part}'"));
    };
    check("blocks = \"many\"", &["a number of blocks, or \"auto\""]);
    check("half_width = \"3%\"", &["blocks = \"auto\""]);
    check("blocks = \"auto\"\nhalf_width = 3", &["as in \"3%\""]);
    check("precondition = \"snai\"", &["3:16", "\"snia\", \"fill\""]);
    check("precondition = { kind = \"job\" }", &["3:16", "job = \"FILE\""]);
    check("precondition = { kind = \"snia\", once = \"day\" }", &["\"study\", \"block\" or \"trial\""]);
    check("precondition = { kind = \"snia\", most_rounds = 3 }", &["at least 5, the size of the window"]);
    check("steady = \"yes\"", &["3:10", "\"auto\""]);
    check("profile = \"hdd\"", &["3:11", "nand, optane"]);
    check("[ladder]\nlevels = [0]", &["a percentage of the maximum"]);
    check("[ladder]\nslo = \"p99=1ms\"", &["p99<=1ms"]);
    check("[ladder]\nprocess = \"random\"", &["\"poisson\" or \"linear\""]);
    check("ladder = 3", &["3:10"]);
}

#[test]
fn a_profile_brings_what_the_study_does_not_say() {
    let text = "title = \"t\"\njob_text = \"[j]\"\nprofile = \"nand\"\n";
    let study = read(text).expect("a sound study");
    assert!(study.settings.iter().any(|one| one.option == "iodepth" && one.value == "128"));
    assert!(study.precondition.is_some());
    let own = read(&format!("{text}precondition = \"none\"\nsettings = {{ iodepth = 4 }}\n")).expect("a sound study");
    assert_eq!(own.settings.len(), 1);
    assert_eq!((own.settings[0].value.as_str(), own.precondition), ("4", None));
    let varied = read(&format!("{text}[[axis]]\noption = \"iodepth\"\nvalues = [1, 2]\n")).expect("a sound study");
    assert!(varied.settings.is_empty() && design(&varied).is_ok());
    let optane = read(&text.replace("nand", "optane")).expect("a sound study");
    assert_eq!((optane.settings[0].value.as_str(), optane.precondition), ("8", None));
}
