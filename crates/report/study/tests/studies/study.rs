//! From a study's text to its analysis.

use iolab_aggregate::ReachedStorage;
use iolab_recording::Severity;
use iolab_statistics::{DecisionRules, Verdict};
use iolab_study::{
    Design, Figure, Trial, TrialResults, analyse, answer, describe_design, describe_results, design, read,
};

const STUDY: &str = r#"
title = "Interfaces"
question = "Does the interface matter?"
job_text = """
[job]
rw=randread
"""
blocks = 7
baseline = { interface = "psync" }
figures = ["iops", "read.p99"]
settings = { size = "64m", direct = true }

[[axis]]
option = "bs"
values = "4k..16k x2"

[[axis]]
name = "interface"
point = [
    { name = "psync", set = { ioengine = "psync" } },
    { name = "io_uring", set = { ioengine = "io_uring", iodepth = 32 } },
]

[[exclude]]
bs = "16k"
interface = "psync"
"#;

#[test]
fn a_study_becomes_configurations_in_random_blocks() {
    let study = read(STUDY).expect("a sound study");
    let design = design(&study).expect("a sound design");
    let names: Vec<String> = design.configurations.iter().map(|made| made.points.join(" ")).collect();
    assert_eq!(names, ["4k psync", "4k io_uring", "8k psync", "8k io_uring", "16k io_uring"]);
    let settings: Vec<String> = design.configurations[1]
        .settings
        .iter()
        .map(|setting| format!("{}={}", setting.option, setting.value))
        .collect();
    assert_eq!(settings, ["direct=1", "size=64m", "bs=4k", "iodepth=32", "ioengine=io_uring"]);
    assert_eq!(design.trials.len(), 35);
    for block in 0..7 {
        let mut own: Vec<usize> = design.trials[5 * block..][..5].iter().map(|trial| trial.configuration).collect();
        assert!(design.trials[5 * block..][..5].iter().all(|trial| trial.block == block as u32));
        own.sort_unstable();
        assert_eq!(own, [0, 1, 2, 3, 4], "block {block} runs each configuration once");
    }
    let orders: Vec<Vec<usize>> =
        design.trials.chunks(5).map(|block| block.iter().map(|trial| trial.configuration).collect()).collect();
    assert!(orders.iter().any(|order| *order != orders[0]), "blocks have orders of their own");
    assert_eq!(iolab_study::design(&study), Ok(design.clone()), "the same seed gives the same order");
    assert!(describe_design(&study, &design).contains("5 configurations in 7 blocks: 35 trials"));
}

#[test]
fn mistakes_have_a_place_and_a_way_out() {
    let check = |text: &str, expected: &[&str]| {
        let error = match read(text).and_then(|study| design(&study)) {
            Ok(_) => panic!("accepted: {text}"),
            Err(error) => error.to_string(),
        };
        expected.iter().for_each(|part| assert!(error.contains(part), "{error}: no '{part}'"));
    };
    let job = "title = \"t\"\njob = \"a.fio\"\n";
    check("title = 3", &["1:9", "expected a string"]);
    check("title = \"t\"", &["job = \"FILE\"", "job_text"]);
    check(&format!("{job}bloks = 3"), &["3:1", "unknown key `bloks`; did you mean `blocks`?"]);
    check(&format!("{job}blocks = 0"), &["at least one block"]);
    check(&format!("{job}figures = [\"iops\", \"p100\"]"), &["3:20", "p100", "p99.9"]);
    check(&format!("{job}[[axis]]\noption = \"bs\"\nvalues = \"1k..4k\""), &["3:1", "needs a step"]);
    check(&format!("{job}[[axis]]\noption = \"bs\"\nvalues = []"), &["no values"]);
    check(&format!("{job}[[axis]]\nvalues = [1]"), &["an axis needs option"]);
    check(&format!("{job}[[axis]]\noption = \"bs\"\nvalues = [1, 1]"), &["'1' twice"]);
    check(&format!("{job}[[axis]]\noptions = [\"a\", \"b\"]\nvalues = [[1]]"), &["1 value for 2 options"]);
    check(
        &format!("{job}settings = {{ bs = 1 }}\n[[axis]]\noption = \"bs\"\nvalues = [1, 2]"),
        &["'bs' is set by axis 'bs' and by settings"],
    );
    check(
        &format!("{job}baseline = {{ bs = 3 }}\n[[axis]]\noption = \"bs\"\nvalues = [1, 2]"),
        &["axis 'bs' has no '3'", "1, 2"],
    );
    check(&format!("{job}[[axis]]\noption = \"bs\"\nvalues = [1]\n[[exclude]]\nbz = 1"), &["unknown axis 'bz'", "bs"]);
    check(&format!("{job}[[axis]]\noption = \"bs\"\nvalues = [1]\n[[exclude]]\nbs = 1"), &["nothing to run"]);
    check(
        &format!("{job}blocks = 4000000000\n[[axis]]\noption = \"bs\"\nvalues = [1, 2]"),
        &["more than 100000 trials"],
    );
}

#[test]
fn axes_that_only_change_together_are_warned_about() {
    let text = "title = \"t\"\njob = \"a.fio\"\n[[axis]]\noption = \"bs\"\nvalues = [1, 2]\n[[axis]]\noption = \"iodepth\"\nvalues = [1, 2]\n\
                [[exclude]]\nbs = 1\niodepth = 2\n[[exclude]]\nbs = 2\niodepth = 1\n";
    let study = read(text).expect("a sound study");
    let confounded = design(&study).expect("a sound design");
    assert_eq!(confounded.warnings.len(), 1, "{:?}", confounded.warnings);
    assert!(confounded.warnings[0].contains("'bs' and 'iodepth'"));
    let apart = read(&text[..text.rfind("[[exclude]]").expect("there")]).expect("a sound study");
    assert_eq!(design(&apart).expect("a sound design").warnings, Vec::<String>::new());
}

/// Trials on a machine that is three times as fast in some blocks as in others; io_uring is 20 %
/// faster.
fn trials() -> TrialResults {
    let study = read(STUDY).expect("a sound study");
    trials_of(&design(&study).expect("a sound design"))
}

fn trials_of(design: &Design) -> TrialResults {
    let speed = [1.0, 3.0, 2.0, 1.5, 2.5, 1.2, 0.9];
    let noise = [0.99, 1.0, 1.01, 1.005, 0.995];
    let trial = |planned: &iolab_study::TrialId| {
        let factor = if design.configurations[planned.configuration].points[1] == "psync" { 1.0 } else { 1.2 };
        let iops =
            1e5 * speed[planned.block as usize] * factor * noise[(planned.block as usize + planned.configuration) % 5];
        Trial {
            block: planned.block,
            configuration: planned.configuration,
            values: vec![Some(iops), None],
            ..Trial::default()
        }
    };
    TrialResults { trials: design.trials.iter().map(trial).collect(), ..TrialResults::default() }
}

#[test]
fn configurations_that_reach_other_storage_are_told_before_the_answer() {
    let of = |text: &str, reached: &dyn Fn(&[String]) -> Vec<ReachedStorage>| {
        let study = read(text).expect("a sound study");
        let design = design(&study).expect("a sound design");
        let mut results = trials_of(&design);
        for trial in &mut results.trials {
            trial.reached = reached(&design.configurations[trial.configuration].points);
        }
        let analysis = analyse(&study, &design, &results, &DecisionRules::default());
        (describe_results(&study, &design, &analysis, &DecisionRules::default(), &[]), analysis)
    };
    let disk = || ReachedStorage::BlockDevice("sda".to_owned());
    // The axis changes the engine, and with it the storage.
    let (text, analysis) = of(STUDY, &|points| match points[1].as_str() {
        "psync" => vec![disk()],
        _ => vec![ReachedStorage::Driven("trtype=VIRT".to_owned())],
    });
    assert_eq!(analysis.findings[0].severity, Severity::Invalid);
    assert!(
        analysis.findings[0].evidence.starts_with("interface=psync: block device sda; interface=io_uring: a device"),
        "{:?}",
        analysis.findings
    );
    let (told, answer) = (text.find("different-targets"), text.find(" is best"));
    assert!(told.is_some() && told < answer, "{text}");
    // The same storage for all, or none known: no finding.
    for reached in [vec![disk()], Vec::new()] {
        assert_eq!(of(STUDY, &|_| reached.clone()).1.findings, []);
    }
    // A study of the storage itself changes nothing else.
    let media = "title = \"t\"\njob_text = \"[j]\"\nblocks = 7\nfigures = [\"iops\", \"p99\"]\n[[axis]]\noption = \"bs\"\nvalues = [1, 2]\n\
                 [[axis]]\nname = \"medium\"\npoint = [{ name = \"a\", set = { filename = \"a\" } }, { name = \"b\", set = { filename = \"b\" } }]\n";
    // So does one whose commands place the files, and whose axis only describes where they are.
    for text in [media.to_owned(), media.replace("{ filename =", "{ description =")] {
        let (_, analysis) = of(&text, &|points| vec![ReachedStorage::Driven(points[1].clone())]);
        let found: Vec<_> = analysis.findings.iter().map(|one| (one.rule.as_str(), one.severity)).collect();
        assert_eq!(found, [("different-targets", Severity::Note)]);
    }
    // The number of disks is an axis: the study says that it varies its storage.
    let disks = media.replacen("blocks", "varies_storage = true\nblocks", 1);
    assert_eq!(of(&disks, &|points| vec![ReachedStorage::Driven(points[1].clone())]).1.findings, []);
}

/// A study in its form on a device; `first` is the file of its first way.
fn on_device(first: &str) -> Result<iolab_study::Study, String> {
    let text = "title = \"t\"\njob_text = \"[j]\"\nblocks = 7\nfigures = [\"iops\", \"p99\"]\n\
                [settings]\nruntime = \"5s\"\n[[axis]]\noption = \"bs\"\nvalues = [1, 2]\n\
                [[axis]]\nname = \"way\"\npoint = [{ name = \"psync\", set = { filename = \"a\" } }, { name = \"nvme\", set = { filename = \"b\" } }]\n\
                [device]\nquestion = \"On one?\"\nsettings = { runtime = \"1s\" }\n[[device.axis]]\nname = \"WAY\"\n\
                point = [{ name = \"psync\", set = { filename = \"FIRST\" }, about = \"by the kernel\" }, { name = \"nvme\", set = { filename = \"{device}\" } }]\n";
    let (first, axis) = first.split_once('@').unwrap_or((first, "way"));
    let study = read(&text.replace("FIRST", first).replace("WAY", axis)).expect("a sound study");
    study.on_device(iolab_study::ServedDevice::new("fast", "/tmp/shown/disk")).map_err(|error| error.to_string())
}

#[test]
fn a_study_on_one_device_has_no_different_targets() {
    let study = on_device("{file}").expect("it has that form");
    assert_eq!((study.question.as_str(), study.settings[0].value.as_str()), ("On one?", "1s"));
    let file = |study: &iolab_study::Study, point: usize| study.axes[1].points[point].settings[0].value.clone();
    assert_eq!((file(&study, 0), file(&study, 1)), ("/tmp/shown/disk".into(), "trtype=VIRT traddr=fast ns=1".into()));
    let rules = |study: &iolab_study::Study| {
        let design = design(study).expect("a sound design");
        assert!(describe_design(study, &design).contains("psync: by the kernel"));
        let mut results = trials_of(&design);
        for trial in &mut results.trials {
            trial.reached = match design.configurations[trial.configuration].points[1].as_str() {
                "psync" => vec![ReachedStorage::NoBlockDevice],
                _ => vec![ReachedStorage::Driven("trtype=VIRT traddr=fast ns=1".to_owned())],
            };
        }
        let analysis = analyse(study, &design, &results, &DecisionRules::default());
        analysis.findings.iter().map(|one| one.rule.clone()).collect::<Vec<_>>()
    };
    assert_eq!(rules(&study), Vec::<String>::new());
    // Another file is not the device.
    assert_eq!(rules(&on_device("/tmp/other").expect("it has that form")), ["different-targets"]);
    assert!(on_device("{file}@other").unwrap_err().contains("no axis 'other'"));
    let without = read(STUDY).expect("a sound study").on_device(iolab_study::ServedDevice::new("fast", "f"));
    assert!(without.unwrap_err().to_string().contains("[device] table"));
}

#[test]
fn differences_show_through_a_machine_that_drifts() {
    let study = read(STUDY).expect("a sound study");
    let design = design(&study).expect("a sound design");
    let mut trials = trials();
    let analysis = analyse(&study, &design, &trials, &DecisionRules::default());
    assert_eq!(analysis.contrasts.len(), 10, "every two of five configurations, in the figure that has values");
    for (baseline, candidate, ratio) in [(0, 1, 1.2), (2, 3, 1.2), (0, 4, 1.2), (3, 2, 1.0 / 1.2)] {
        let contrast = analysis.contrast(0, baseline, candidate).expect("all have values");
        let expected = if ratio > 1.0 { Verdict::Better } else { Verdict::Worse };
        assert_eq!(contrast.comparison.verdict, expected, "{contrast:?}");
        assert!((contrast.comparison.ratio.estimate - ratio).abs() < 0.02, "{contrast:?}");
    }
    let alike = analysis.contrast(0, 1, 3).expect("all have values").comparison;
    assert_eq!(alike.verdict, Verdict::Equivalent, "{alike:?}");
    let text = describe_results(&study, &design, &analysis, &DecisionRules::default(), &[]);
    let first = text.lines().nth(2).expect("the answer");
    assert!(first.contains("is best: ") && first.contains("against the baseline (bs=4k, interface=psync)"), "{text}");
    assert!(first.contains("; equivalent: ") && first.ends_with("(iops)"), "{text}");
    assert!(text.contains("- interface matters most"), "{text}");
    assert!(text.contains("bs has no effect"), "{text}");
    assert!(text.contains("enough samples"), "percentiles that nobody can know are not printed: {text}");
    assert!(text.lines().count() < 20, "{text}");
    // The order of the trials makes no difference.
    trials.trials.reverse();
    assert_eq!(analyse(&study, &design, &trials, &DecisionRules::default()), analysis);
}

#[test]
fn flawed_trials_do_not_count_and_are_told() {
    let study = read(STUDY).expect("a sound study");
    let design = design(&study).expect("a sound design");
    let mut trials = trials();
    let place =
        trials.trials.iter().position(|trial| trial.block == 2 && trial.configuration == 1).expect("it was planned");
    trials.trials[place].flaw = Some("the disk was full".to_owned());
    let analysis = analyse(&study, &design, &trials, &DecisionRules::default());
    assert_eq!(analysis.flaws, ["block 3, bs=4k, interface=io_uring: the disk was full"]);
    assert_eq!(analysis.contrast(0, 0, 1).expect("the others count").comparison.blocks, 6);
    assert_eq!(analysis.rows[1].values[2], None);
    assert_eq!(analysis.contrast(0, 0, 1).expect("there").comparison.verdict, Verdict::Better);
    let text = describe_results(&study, &design, &analysis, &DecisionRules::default(), &[]);
    assert!(text.contains("excluded: block 3, bs=4k, interface=io_uring: the disk was full"), "{text}");
}

#[test]
fn missing_and_damaged_trials_are_told() {
    let study = read(STUDY).expect("a sound study");
    let design = design(&study).expect("a sound design");
    let mut trials = trials();
    let gone = trials.trials.iter().position(|trial| trial.block == 1 && trial.configuration == 0).expect("planned");
    trials.trials.remove(gone);
    let place = trials.trials.iter().position(|trial| trial.block == 2 && trial.configuration == 3).expect("planned");
    let damaged = trials.trials.remove(place).planned();
    trials.damaged.push((damaged, "its recording is damaged".to_owned()));
    trials.trials.retain(|trial| trial.block < 5);
    let analysis = analyse(&study, &design, &trials, &DecisionRules::default());
    assert_eq!(analysis.missing, ["block 2, bs=4k, interface=psync: did not finish", "2 blocks not started"]);
    assert_eq!(analysis.flaws, ["block 3, bs=8k, interface=io_uring: its recording is damaged"]);
    let text = describe_results(&study, &design, &analysis, &DecisionRules::default(), &[]);
    assert!(text.contains("missing: 2 blocks not started") && text.contains("excluded: block 3, bs=8k"), "{text}");
    // The rest decides nevertheless.
    assert_eq!(analysis.contrast(0, 2, 3).expect("there").comparison.verdict, Verdict::Better);
}

/// 3 x 3 settings in five blocks: depth multiplies by up to four, more so at larger blocks.
fn nine(blocks: u32) -> (iolab_study::Study, iolab_study::Design, TrialResults) {
    let text = "title = \"t\"\njob_text = \"[j]\"\nfigures = [\"iops\", \"bandwidth\"]\nblocks = 5\n[[axis]]\noption = \"bs\"\nvalues = [\"4k\", \"16k\", \"64k\"]\n\
                [[axis]]\noption = \"iodepth\"\nvalues = [1, 8, 32]\n";
    let study = read(text).expect("a sound study");
    let design = design(&study).expect("a sound design");
    let speed = [[1.0, 2.0, 3.0], [1.5, 3.5, 4.5], [2.0, 5.0, 7.5]];
    let trial = |planned: &iolab_study::TrialId| {
        let made = &design.configurations[planned.configuration].points;
        let place = |of: &[&str], axis: usize| of.iter().position(|one| *one == made[axis]).expect("a point");
        let own = speed[place(&["4k", "16k", "64k"], 0)][place(&["1", "8", "32"], 1)];
        let stray = f64::from((planned.block as u16 * 7 + planned.configuration as u16 * 5) % 11) * 0.01;
        let drift = 1.0 + f64::from(planned.block) * 0.4;
        let value = 400e6 * own * drift * (1.0 + stray);
        Trial {
            block: planned.block,
            configuration: planned.configuration,
            values: vec![Some(value / 4096.0), Some(value)],
            ..Trial::default()
        }
    };
    let trials = design.trials.iter().filter(|planned| planned.block < blocks).map(trial).collect();
    (study, design, TrialResults { trials, ..TrialResults::default() })
}

#[test]
fn five_blocks_of_nine_configurations_decide() {
    let (study, design, results) = nine(5);
    let analysis = analyse(&study, &design, &results, &DecisionRules::default());
    let answer = answer(&study, &design, &analysis, &DecisionRules::default());
    assert!(answer.sentence.starts_with("bs=64k, iodepth=32 is best: "), "{answer:?}");
    assert!(
        answer.sentence.contains("x against the baseline (bs=4k, iodepth=1) [")
            || answer.sentence.contains("x] against the baseline (bs=4k, iodepth=1)"),
        "{answer:?}"
    );
    assert!(answer.sentence.ends_with("(bandwidth)"), "sizes are not compared by operations: {answer:?}");
    assert!(
        answer.findings[0].starts_with("iodepth matters most (") && answer.findings[1].starts_with("bs matters ("),
        "{answer:?}"
    );
    assert!(answer.findings[2].starts_with("bs and iodepth interact: "), "{answer:?}");
    let undecided = analysis.contrasts.iter().filter(|one| matches!(one.comparison.verdict, Verdict::Undecided { .. }));
    assert!(undecided.count() <= 6, "of 72 pairs nearly all are decided");
    // The exact test of the pair is shown, although it could not have reached significance.
    let ends = analysis.contrast(1, 0, 8).expect("they have values").comparison;
    assert_eq!((ends.verdict, ends.exact_p), (Verdict::Better, Some(0.0625)));
}

#[test]
fn too_few_blocks_say_the_size_all_the_same() {
    for (blocks, more) in
        [(2, "repeat at least 3 times to be sure at 95 %"), (1, "repeat at least 3 times to be sure at 95 %")]
    {
        let (study, design, results) = nine(blocks);
        let study = iolab_study::Study { blocks, ..study };
        let analysis = analyse(&study, &design, &results, &DecisionRules::default());
        let sentence = answer(&study, &design, &analysis, &DecisionRules::default()).sentence;
        assert!(
            sentence.starts_with("bs=64k, iodepth=32 looks best: ") && sentence.contains(", large; "),
            "{sentence}"
        );
        assert!(sentence.contains(more), "{sentence}");
    }
}

#[test]
fn figures_are_called_what_they_are_read_as() {
    for name in ["iops", "bandwidth", "mean", "p50", "p99.9", "response_p99", "cpu", "read.iops", "write.p95"] {
        assert_eq!(Figure::from_name(name).expect(name).name(), name);
    }
    for name in ["", "p", "p100", "p-1", "read.cpu", "ops", "trim.iops"] {
        assert!(Figure::from_name(name).is_err(), "{name}");
    }
}

#[test]
fn a_large_study_is_told_within_a_hundred_lines() {
    let text = "title = \"t\"\njob_text = \"[j]\"\nfigures = [\"iops\", \"bandwidth\", \"p50\", \"p99\"]\nblocks = 3\n[[axis]]\noption = \"bs\"\nvalues = \"512..256k x2\"\n\
                [[axis]]\noption = \"iodepth\"\nvalues = \"1..128 x2\"\n[[axis]]\noption = \"numjobs\"\nvalues = [1, 2, 4]\n";
    let study = read(text).expect("a study");
    let design = design(&study).expect("a design");
    assert_eq!(design.configurations.len(), 240);
    let trial = |planned: &iolab_study::TrialId| {
        let value = 1000.0 + 7.0 * planned.configuration as f64 + f64::from(planned.block);
        Trial {
            block: planned.block,
            configuration: planned.configuration,
            values: vec![Some(value), Some(4096.0 * value), Some(1e9 / value), Some(3e9 / value)],
            ..Trial::default()
        }
    };
    let results = TrialResults { trials: design.trials.iter().map(trial).collect(), ..TrialResults::default() };
    let analysis = analyse(&study, &design, &results, &DecisionRules::default());
    let warnings: Vec<String> = (0..20).map(|number| format!("warning: number {number}")).collect();
    let text = describe_results(&study, &design, &analysis, &DecisionRules::default(), &warnings);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines.len() < 100, "{} lines:\n{text}", lines.len());
    let place =
        |part: &str| lines.iter().position(|line| line.contains(part)).unwrap_or_else(|| panic!("{part}:\n{text}"));
    // The answer, other results, warnings, one table.
    assert!(place("(bandwidth)") == 2 && place("- bs ") < place("warning: number 0"), "{text}");
    assert!(
        place("and 12 more; the report shows all") < place("  bs    ") && place("the best of 240 configurations") > 40
    );
    // The baseline is in the table although it is the slowest.
    assert!(text.contains("512   1        1 ") && text.contains("256k  128      4 "), "{text}");
}
