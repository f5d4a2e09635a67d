//! `iolab fs perf`, `io-tester` and `cluster-reading`: small loads, and refusals.

use std::fs;

use crate::support::Lab;

/// `iolab fs …`
fn words(line: &str) -> Vec<&str> {
    ["fs"].into_iter().chain(line.split_whitespace()).collect()
}

const SMALL: &str =
    "--volume 24m --large-size 256k-512k --capacity 32m --files 3 --parallel 3 --image-size 64m --write 60 --small 40";

#[test]
fn the_same_load_runs_on_an_image_and_in_a_folder() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    let line = format!("perf a.img folder {SMALL} --rounds 2 --domains 1 --json");
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
fn domains_share_the_volume_and_their_sums_are_told() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    let document = lab.run(words(&format!("perf a.img folder {SMALL} --domains 2 --json"))).ended(0, "").json();
    assert_eq!((&document[0]["domains"], &document[0]["volume_bytes"]), (&2.into(), &(24 << 20).into()));
    let round = |target: usize| document[0]["targets"][target]["rounds"][0].clone();
    for target in [0, 1] {
        let joint = round(target);
        let domains = joint["domains"].as_array().unwrap();
        assert_eq!(domains.len(), 2);
        let slowest = domains.iter().map(|domain| domain["seconds"].as_f64().unwrap()).fold(0.0, f64::max);
        assert_eq!(joint["seconds"].as_f64(), Some(slowest));
        for domain in domains {
            let written = domain["written_bytes"].as_u64().unwrap();
            assert!((12 << 20..13 << 20).contains(&written), "{written}");
        }
        let numbers = |part: &serde_json::Value, name: &str| -> Vec<u64> {
            part["classes"].as_array().unwrap().iter().map(|class| class[name].as_u64().unwrap()).collect()
        };
        for name in ["operations", "bytes"] {
            let sums: Vec<u64> = numbers(&domains[0], name)
                .iter()
                .zip(numbers(&domains[1], name))
                .map(|(one, other)| one + other)
                .collect();
            assert_eq!(numbers(&joint, name), sums, "{name}");
        }
        assert_ne!(numbers(&domains[0], "bytes"), numbers(&domains[1], "bytes"), "each has numbers of its own");
    }
    assert_eq!(round(0)["classes"][1]["bytes"], round(1)["classes"][1]["bytes"], "the seed alone decides");
    let frames = |part: &serde_json::Value| part["logfs"]["frames"].as_u64().unwrap();
    let parts = round(0)["domains"].as_array().unwrap().iter().map(frames).sum::<u64>();
    assert_eq!(frames(&round(0)), parts);
    assert_eq!(fs::read_dir(lab.path("folder")).unwrap().count(), 0, "what was made is removed");
    // The image has a domain for each shard, with its files, and is undamaged.
    let info = lab.run(words("info a.img --json")).ended(0, "").json();
    assert_eq!(info["domains"].as_array().unwrap().len(), 2, "{info}");
    lab.run(words("fsck a.img")).ended(0, "");
    let text = lab.run(words(&format!("perf a.img {SMALL} --force --sweep domains=1,2"))).ended(0, "").printed();
    for wanted in [
        "domains=1: 24 MiB written to a capacity of 32 MiB",
        "1 domain, 3 operations",
        "2 domains, 3 operations",
        "  domain 1: ",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in {text}");
    }
}

#[test]
fn domains_work_on_files_of_each_other_as_one_file_system() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    let line = format!(
        "perf a.img folder {SMALL} --domains 3 --cluster-size 512k --force --shared-root --sweep=remote=0,40 --json"
    );
    let document = lab.run(words(&line)).ended(0, "").json();
    let bytes = |run: usize, target: usize| -> Vec<u64> {
        let classes = document[run]["targets"][target]["rounds"][0]["classes"].as_array().unwrap().clone();
        classes.iter().map(|class| class["bytes"].as_u64().unwrap()).collect()
    };
    for (run, remote) in [(0, 0), (1, 40)] {
        assert_eq!(document[run]["remote_percent"], remote);
        assert_eq!(bytes(run, 0)[..2], bytes(run, 1)[..2], "the seed alone decides what is written");
        let cost = &document[run]["targets"][0]["forwarding"];
        for figure in ["own_ns", "remote_ns", "own_of_many_ns", "remote_of_many_ns", "own_change_ns", "root_change_ns"]
        {
            assert!(cost[figure].as_f64().unwrap() > 0.0, "{figure}: {cost}");
        }
        assert!(document[run]["targets"][1]["forwarding"].is_null());
    }
    assert_ne!(bytes(0, 0), bytes(1, 0), "other files are other operations");
    lab.run(words("fsck a.img --content")).ended(0, "");
    // Each domain has a folder with its own files and those of the other two.
    let tree = lab.run(words("tree a.img")).ended(0, "").printed();
    for wanted in ["core0", "core2", "file0.0", "file1.11", "file2.11"] {
        assert!(tree.contains(wanted), "{wanted} is missing in {tree}");
    }
    let text = lab.run(words(&format!("perf a.img {SMALL} --force --domains=2 --shared-root"))).ended(0, "").printed();
    assert!(text.contains("forwarding adds ") && text.contains("in the root directory"), "{text}");
}

#[test]
fn sweeps_run_once_for_each_value() {
    let lab = Lab::new();
    let line = format!("perf a.img {SMALL} --force --sweep policy=threshold:0.5,dynamic:0.9");
    let text = lab.run(words(&line)).ended(0, "").printed();
    for wanted in
        ["policy=threshold:0.5: 24 MiB", "\na.img (logfs): ", "policy=dynamic:0.9: ", "small write", "cleaning moved"]
    {
        assert!(text.contains(wanted), "{wanted} is missing in {text}");
    }
}

#[test]
fn loads_that_cannot_be_are_refused() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    lab.file("letter", "dear reader");
    for (line, code, said) in [
        ("perf a.img", 2, "--image-size=SIZE to create an image"),
        ("perf letter", 3, "iolab did not write"),
        ("perf folder --small-size 8k", 2, "expected FROM-TO"),
        ("perf folder --lower 60", 2, "--lower must be below --upper"),
        ("perf folder --capacity 64m", 2, "too small for 8 operations"),
        ("perf folder --sweep colour=red", 2, "expected one of"),
        ("perf folder --sweep small=many", 2, "expected a percentage"),
        ("perf folder --remote 20 --domains 1 --capacity 1g", 2, "--remote requires at least two domains"),
        ("perf a.img --image-size 2g --remote 20 --domains 2", 2, "--remote on an image requires --shared-root"),
        ("perf folder --sweep domains=0", 2, "a number from 1 to 1024"),
        ("perf folder --capacity 800m --domains 4", 2, "there is room for 1"),
        ("perf folder --policy threshold:2", 2, "is not a number from 0 to 1"),
        ("cluster-reading letter", 2, "too small for two clusters"),
        ("cluster-reading none", 1, "No such file"),
    ] {
        lab.run(words(line)).ended(code, said);
    }
    assert_eq!(fs::read_to_string(lab.path("letter")).unwrap(), "dear reader");
    assert_eq!(fs::read_dir(lab.path("folder")).unwrap().count(), 0);
}

#[test]
fn a_folder_is_tried_for_what_blocks() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    let text = lab.run(words("qualify folder --operations 5")).ended(0, "").printed();
    for wanted in ["append, 4 at once", "truncate up, then write", "libaio", "io_uring"] {
        assert!(text.contains(wanted), "{wanted} is missing in {text}");
    }
    let cases = lab.run(words("qualify folder --operations 4 --json")).ended(0, "").json();
    assert_eq!(cases["cases"].as_array().unwrap().len(), 18, "{cases}");
    assert_eq!(fs::read_dir(lab.path("folder")).unwrap().count(), 0);
    lab.run(words("qualify missing")).ended(1, "No such file");
    lab.run(words("qualify folder --unit 100")).ended(2, "expected 512 to 16m");
}

#[test]
fn what_reading_costs_is_stored_in_an_image() {
    let lab = Lab::new();
    lab.run(words("mkfs a.img --size 64m --policy threshold:0.25 --cleaning-memory 2m --request-cost 20k"))
        .ended(0, "");
    let text = lab.run(words("info a.img")).ended(0, "").printed();
    assert!(text.contains("threshold:0.25, memory 2 MiB, a request costs as much as reading 20 KiB"), "{text}");
    let line = "cluster-reading a.img --store --samples 5 --counts 1,2,4,8 --lengths 4k,16k,64k";
    let output = lab.run(words(line));
    // This needs a quiet machine; if the times are inconclusive, nothing is stored.
    let stored = output.code() == 0;
    let info = lab.run(words("info a.img --json")).ended(0, "").json();
    let cleaning = &info["layout"]["cleaning"];
    assert_eq!((&cleaning["policy"], &cleaning["memory_bytes"]), (&"threshold:0.25".into(), &(2 << 20).into()));
    assert_eq!(cleaning["request_bytes"] != 20_480, stored, "{cleaning}");
    lab.run(words("fsck a.img")).ended(0, "");
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

const JOBS: &str = "\
- name: over
  type: seqwrite
  shards: all
  data_size: 2MB
  shard_info: { parallelism: 3, reqsize: 128kB, limit: 20 }
- name: burn
  type: cpu
  shards: [1]
  shard_info: { execution_time: 10us, rps: 1000, limit: 3 }
";

#[test]
fn jobs_of_io_tester_run_on_an_image_and_in_a_folder() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    lab.file("conf.yaml", JOBS);
    for target in ["a.img --image-size 64m", "folder"] {
        let line = format!("io-tester conf.yaml {target} --domains 2 --duration 1h --json");
        let document = lab.run(words(&line)).ended(0, "").json();
        let (joint, domains) = (&document[0]["jobs"], &document[0]["domains"]);
        let facts = |job: &serde_json::Value| (job["name"].clone(), job["requests"].clone(), job["bytes"].clone());
        assert_eq!(domains.as_array().unwrap().len(), 2, "{document}");
        for domain in [0, 1] {
            let job = &domains[domain]["jobs"][0];
            assert_eq!(facts(job), ("over".into(), 20.into(), (20 << 17).into()));
            assert!(job["latency_ns"]["p99.9"].as_u64().unwrap() > 0);
        }
        assert_eq!(facts(&joint[0]), ("over".into(), 40.into(), (40 << 17).into()));
        let sum: f64 = [0, 1].map(|domain| domains[domain]["jobs"][0]["iops"].as_f64().unwrap()).iter().sum();
        assert_eq!(joint[0]["iops"].as_f64(), Some(sum), "rates are summed");
        let burn = ("burn".into(), 3.into(), 0.into());
        assert_eq!((facts(&joint[1]), facts(&domains[1]["jobs"][1])), (burn.clone(), burn));
        assert!(domains[0]["jobs"][1].is_null());
    }
    assert_eq!(fs::read_dir(lab.path("folder")).unwrap().count(), 0, "what was made is removed");
    lab.run(words("fsck a.img")).ended(0, "");
    let info = lab.run(words("info a.img --json")).ended(0, "").json();
    assert_eq!(info["domains"].as_array().unwrap().len(), 2, "{info}");
    let line = "io-tester conf.yaml folder a.img --force --domains 2 --duration 1h --alone";
    let text = lab.run(words(line)).ended(0, "").printed();
    for wanted in [
        "folder (folder), domains: 2\nover (seqwrite of 128",
        ", 3 at once)\n",
        "  together           40 ",
        "  domain 1            3 ",
        "p99.9",
        "a.img (logfs), ",
    ] {
        assert!(text.contains(wanted), "{wanted} is missing in {text}");
    }
}

#[test]
fn jobs_of_io_tester_that_cannot_be_are_refused_with_their_line() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    lab.file("letter", "dear reader");
    lab.file("conf.yaml", JOBS);
    lab.file("class.yaml", "- name: a\n  type: cpu\n  shards: all\n  shard_info:\n    class: fast\n");
    lab.file("huge.yaml", "- { name: a, type: append, shards: all, data_size: 1024TB }\n");
    for (line, code, said) in [
        ("io-tester none.yaml folder", 2, "none.yaml: No such file"),
        ("io-tester letter folder", 2, "letter:1: expected a list of jobs"),
        ("io-tester class.yaml folder", 2, "class.yaml:5: class is not supported: a job is a class of its own"),
        ("io-tester conf.yaml folder --domains 1", 2, "conf.yaml:6: burn names shard 1, but there are 1"),
        ("io-tester conf.yaml folder --only over,none", 2, "--only=none: conf.yaml has no such job"),
        ("io-tester conf.yaml folder --duration 0", 2, "some time is needed"),
        ("io-tester conf.yaml a.img", 2, "--image-size=SIZE to create an image"),
        ("io-tester conf.yaml letter", 3, "iolab did not write"),
        ("io-tester huge.yaml folder", 2, "the files of all jobs need"),
    ] {
        lab.run(words(line)).ended(code, said);
    }
    assert_eq!(fs::read_to_string(lab.path("letter")).unwrap(), "dear reader");
    assert_eq!(fs::read_dir(lab.path("folder")).unwrap().count(), 0);
}

#[test]
fn the_example_of_io_tester_jobs_runs() {
    let lab = Lab::new();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../jobs/io-tester-logfs.yaml");
    let small = [("256MB", "2MB"), ("64MB", "1MB"), ("limit: 4096", "limit: 8")];
    let yaml = small.iter().fold(fs::read_to_string(path).unwrap(), |yaml, (large, small)| {
        assert!(yaml.contains(large), "{large}");
        yaml.replace(large, small)
    });
    lab.file("conf.yaml", &yaml);
    let line = "io-tester conf.yaml a.img --domains 1 --image-size 64m --duration 100ms --json";
    let document = lab.run(words(line)).ended(0, "").json();
    let names: Vec<&str> =
        document[0]["jobs"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["seqwrite_128k", "seqwrite_4k", "append_128k", "seqread_256k", "randread_256k"]);
    let line = "io-tester conf.yaml a.img --domains 1 --force --only append_128k";
    let text = lab.run(words(line)).ended(0, "").printed();
    assert_eq!((text.lines().count(), text.contains("  domain 0            8 ")), (4, true), "{text}");
}
