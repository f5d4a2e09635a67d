//! `iolab fs perf` and `cluster-reading`: small loads, and what is refused.

mod support;

use std::fs;

use support::Lab;

/// `iolab fs …`
fn words(line: &str) -> Vec<&str> {
    ["fs"].into_iter().chain(line.split_whitespace()).collect()
}

const SMALL: &str =
    "--volume 24m --large-size 256k-512k --capacity 32m --files 3 --parallel 3 --image-size 48m --write 60 --small 40";

#[test]
fn the_same_load_runs_on_an_image_and_in_a_folder() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    let line = format!("perf a.img folder {SMALL} --rounds 2 --json");
    let document = lab.run(words(&line)).ended(0, "").json();
    let targets = document[0]["targets"].as_array().unwrap();
    assert_eq!((&targets[0]["kind"], &targets[1]["kind"]), (&"logfs".into(), &"folder".into()));
    for round in ["0", "1"] {
        let classes = |target: usize| {
            targets[target]
                .pointer(&format!("/rounds/{round}/classes"))
                .and_then(|found| found.as_array().cloned())
                .unwrap()
        };
        let counts = |target: usize| -> Vec<(u64, u64)> {
            classes(target)
                .iter()
                .map(|class| (class["operations"].as_u64().unwrap(), class["bytes"].as_u64().unwrap()))
                .collect()
        };
        assert_eq!(counts(0), counts(1), "the seed alone decides");
        let written: u64 = counts(0)[..2].iter().map(|(_, bytes)| bytes).sum();
        assert!((24 << 20..25 << 20).contains(&written), "{written}");
        assert!(counts(0).iter().all(|(operations, _)| *operations > 0), "{:?}", counts(0));
    }
    assert!(
        targets[0]["rounds"][0]["logfs"]["frames"].as_u64().unwrap() > 0 && targets[1]["rounds"][0]["logfs"].is_null()
    );
    assert_eq!(targets[0]["times_first"], serde_json::json!([1.0, 1.0]));
    assert_eq!(fs::read_dir(lab.path("folder")).unwrap().count(), 0, "what was made is removed");
    lab.run(words("fsck a.img")).ended(0, "");
}

#[test]
fn sweeps_run_once_for_each_value() {
    let lab = Lab::new();
    let line = format!("perf a.img {SMALL} --force --sweep policy=greedy:0.5,dynamic:0.9");
    let text = lab.run(words(&line)).ended(0, "").printed();
    for wanted in ["policy=greedy:0.5\na.img (logfs): ", "policy=dynamic:0.9\n", "small write", "cleaning moved"] {
        assert!(text.contains(wanted), "{wanted} is missing in {text}");
    }
}

#[test]
fn loads_that_cannot_be_are_refused() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    lab.file("letter", "dear reader");
    for (line, code, said) in [
        ("perf a.img", 2, "--image-size=SIZE makes an image"),
        ("perf letter", 3, "no job is known to have made"),
        ("perf folder --small-size 8k", 2, "FROM-TO is needed"),
        ("perf folder --lower 60", 2, "--lower has to be below --upper"),
        ("perf folder --capacity 64m", 2, "too small for 8 operations"),
        ("perf folder --sweep colour=red", 2, "can be swept"),
        ("perf folder --sweep small=many", 2, "a percentage is needed"),
        ("perf folder --policy greedy:2", 2, "no share from 0 to 1"),
        ("cluster-reading letter", 2, "not even two clusters"),
        ("cluster-reading none", 1, "No such file"),
    ] {
        lab.run(words(line)).ended(code, said);
    }
    assert_eq!(fs::read_to_string(lab.path("letter")).unwrap(), "dear reader");
    assert_eq!(fs::read_dir(lab.path("folder")).unwrap().count(), 0);
}

#[test]
fn clusters_are_read_in_every_way_that_fits() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    let line = "cluster-reading folder --file-size 4m --samples 5 --counts 1,8 --lengths 4k,256k";
    let text = lab.run(words(line)).ended(0, "").printed();
    assert_eq!(text.lines().count(), 5, "{text}");
    let document = lab.run(words(&format!("{line} --json"))).ended(0, "").json();
    assert_eq!(document["cases"].as_array().unwrap().len(), 3, "8 x 256 KiB do not fit: {document}");
}
