//! Small jobs on both stores: what is counted is what was asked for.

use std::path::Path;

use iolab_logfs::{MkfsOptions, OpenOptions};

use super::*;
use crate::ImageStore;

const JOBS: &str = "
- { name: over, shards: all, type: seqwrite, data_size: 3MB, shard_info: { parallelism: 4, reqsize: 128kB, limit: 50 } }
- { name: more, shards: [1], type: append, data_size: 2MB, shard_info: { parallelism: 3, reqsize: 4kB, limit: 40 } }
- { name: all, shards: [0], type: seqread, data_size: 2MB, shard_info: { parallelism: 2, reqsize: 512kB, limit: 9 } }
- { name: any, shards: [0], type: randread, data_size: 2MB, shard_info: { parallelism: 2, rps: 5000, batch: 3, limit: 32 } }
- { name: some, shards: [0], type: randwrite, data_size: 2MB, shard_info: { reqsize: 512, limit: 5, think_time: 20us } }
- { name: burn, shards: [1], type: cpu, shard_info: { execution_time: 10us, limit: 7 } }
";

const HOUR_NS: u64 = 3_600_000_000_000;

fn image(path: &Path, bytes: u64) -> Target {
    std::fs::File::create_new(path).unwrap().set_len(bytes).unwrap();
    let mkfs = MkfsOptions::new([7; 16], 1);
    Target::Image(Box::new(ImageStore { path: path.to_owned(), mkfs, open: OpenOptions::default() }))
}

fn counted(target: &Target, conf: &TesterConf, options: &TesterOptions) -> Vec<(u32, String, u64, u64)> {
    let results = run_tester(target, conf, options).unwrap();
    for result in &results {
        assert!(result.elapsed_ns > 0 && result.class.latency.count() == result.class.operations);
    }
    let facts = |result: JobResult| (result.shard, result.class.name, result.class.operations, result.class.bytes);
    results.into_iter().map(facts).collect()
}

#[test]
fn limits_are_reached_exactly_on_every_store() {
    let folder = tempfile::tempdir().unwrap();
    let conf = TesterConf::parse(JOBS).unwrap();
    let options = TesterOptions { duration_ns: HOUR_NS, shards: conf.shards(None).unwrap(), seed: 1 };
    let expected = [
        (0, "over", 50, 50 << 17),
        (0, "all", 9, 9 << 19),
        (0, "any", 32, 32 << 12),
        (0, "some", 5, 5 << 9),
        (1, "over", 50, 50 << 17),
        (1, "more", 40, 40 << 12),
        (1, "burn", 7, 0),
    ]
    .map(|(shard, name, operations, bytes)| (shard, name.to_owned(), operations, bytes));
    for target in [image(&folder.path().join("image"), 64 << 20), Target::Folder(folder.path().to_owned())] {
        assert_eq!(counted(&target, &conf, &options), expected, "{target:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the image is left");
}

#[test]
fn the_time_ends_jobs_without_a_limit() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = "
- { name: a, shards: all, type: seqread, data_size: 1MB, shard_info: { parallelism: 2, reqsize: 64kB } }
- { name: b, shards: all, type: randwrite, data_size: 1MB, shard_info: { rps: 2000 }, options: { pause_distribution: poisson } }
- { name: c, shards: all, type: cpu, shard_info: { execution_time: 1ms, think_time: 1ms, think_after: 2ms } }
";
    let conf = TesterConf::parse(yaml).unwrap();
    let options = TesterOptions { duration_ns: 50_000_000, shards: 1, seed: 1 };
    for target in [image(&folder.path().join("image"), 32 << 20), Target::Folder(folder.path().to_owned())] {
        let results = run_tester(&target, &conf, &options).unwrap();
        let names: Vec<&str> = results.iter().map(|result| result.class.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        assert!(results.iter().all(|result| result.elapsed_ns >= options.duration_ns), "{results:?}");
    }
}

#[test]
fn jobs_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let target = image(&folder.path().join("image"), 32 << 20);
    for (job, said) in [
        ("data_size: 1GB", "the files of all jobs take 1073741824 bytes, but there are"),
        ("data_size: 1MB, shard_info: { reqsize: 2MB }", "line 1: a: a request has 2097152 bytes"),
        ("data_size: 1MB, shard_info: { parallelism: 4096, rps: 1, batch: 2 }", "8192 requests under way at once"),
        ("data_size: 64MB, shard_info: { parallelism: 17, reqsize: 64MB }", "bytes altogether are possible"),
    ] {
        let conf = TesterConf::parse(&format!("- {{ name: a, shards: all, type: seqread, {job} }}")).unwrap();
        let options = TesterOptions { duration_ns: 1, shards: 1, seed: 1 };
        let error = run_tester(&target, &conf, &options).unwrap_err();
        assert!(matches!(&error, BenchError::Unfit(text) if text.contains(said)), "{job}: {error}");
    }
}

#[test]
fn a_full_image_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let target = image(&folder.path().join("image"), 32 << 20);
    let yaml = "- { name: a, shards: all, type: append, data_size: 1MB, shard_info: { parallelism: 2, reqsize: 1MB } }";
    let options = TesterOptions { duration_ns: HOUR_NS, shards: 1, seed: 1 };
    let error = run_tester(&target, &TesterConf::parse(yaml).unwrap(), &options).unwrap_err();
    assert!(matches!(error, BenchError::LogFs { doing: "writing", .. }), "{error}");
}

#[test]
fn at_a_rate_latencies_count_from_when_requests_were_due() {
    let folder = tempfile::tempdir().unwrap();
    let info = "{ execution_time: 1ms, rps: 1000000, limit: 5 }";
    let conf = TesterConf::parse(&format!("- {{ name: a, shards: all, type: cpu, shard_info: {info} }}")).unwrap();
    let options = TesterOptions { duration_ns: HOUR_NS, shards: 1, seed: 1 };
    let results = run_tester(&Target::Folder(folder.path().to_owned()), &conf, &options).unwrap();
    let latency = results[0].class.latency.to_sparse();
    // All were due within some microseconds, and each had to wait for those before it.
    assert!(latency.max >= 4_990_000 && latency.mean() >= 2_900_000.0, "{latency:?}");
}
