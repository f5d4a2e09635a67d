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

fn image(path: &Path, bytes: u64) -> BenchTarget {
    std::fs::File::create_new(path).unwrap().set_len(bytes).unwrap();
    let mkfs = MkfsOptions::new([7; 16], 1);
    BenchTarget::Image(Box::new(ImageStore {
        path: path.to_owned(),
        mkfs,
        open: OpenOptions::default(),
        shared_root: false,
    }))
}

type Facts = (Option<u32>, String, u64, u64);

/// Of every job on every shard, and of every job.
fn counted(target: &BenchTarget, conf: &TesterConf, options: &TesterOptions) -> (Vec<Facts>, Vec<Facts>) {
    let results = run_tester(target, conf, options).unwrap();
    for result in results.shards.iter().chain(&results.joint) {
        assert!(result.elapsed_ns > 0 && result.class.latency.count() == result.class.operations);
        assert!(result.iops > 0.0 && (result.bytes_per_second > 0.0) == (result.class.bytes > 0));
    }
    for joint in &results.joint {
        let of_job = || results.shards.iter().filter(|result| result.job == joint.job);
        assert_eq!(Some(joint.elapsed_ns), of_job().map(|result| result.elapsed_ns).max());
        assert_eq!(joint.iops, of_job().map(|result| result.iops).sum::<f64>());
        let most = of_job().map(|result| result.class.latency.to_sparse().max).max();
        assert_eq!(Some(joint.class.latency.to_sparse().max), most);
    }
    let facts = |result: JobResult| (result.shard, result.class.name, result.class.operations, result.class.bytes);
    (results.shards.into_iter().map(facts).collect(), results.joint.into_iter().map(facts).collect())
}

#[test]
fn limits_are_reached_exactly_on_every_store() {
    let folder = tempfile::tempdir().unwrap();
    let conf = TesterConf::parse(JOBS).unwrap();
    let options = TesterOptions { duration_ns: HOUR_NS, shards: conf.shards(None, 1).unwrap(), seed: 1 };
    let of = |shard: Option<u32>| {
        move |(name, operations, bytes): (&str, u64, u64)| (shard, name.to_owned(), operations, bytes)
    };
    let first = [("over", 50, 50 << 17), ("all", 9, 9 << 19), ("any", 32, 32 << 12), ("some", 5, 5 << 9)];
    let second = [("over", 50, 50 << 17), ("more", 40, 40 << 12), ("burn", 7, 0)];
    let shards: Vec<Facts> = first.map(of(Some(0))).into_iter().chain(second.map(of(Some(1)))).collect();
    let joint = [
        ("over", 100, 100 << 17),
        ("more", 40, 40 << 12),
        ("all", 9, 9 << 19),
        ("any", 32, 32 << 12),
        ("some", 5, 5 << 9),
        ("burn", 7, 0),
    ];
    let expected = (shards, joint.map(of(None)).to_vec());
    for target in [image(&folder.path().join("image"), 64 << 20), BenchTarget::Folder(folder.path().to_owned())] {
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
    for target in [image(&folder.path().join("image"), 32 << 20), BenchTarget::Folder(folder.path().to_owned())] {
        let results = run_tester(&target, &conf, &options).unwrap().shards;
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
        ("data_size: 1GB", "the files of all jobs need 1073741824 bytes, but only"),
        ("data_size: 1MB, shard_info: { reqsize: 2MB }", "line 1: a: a request has 2097152 bytes"),
        ("data_size: 1MB, shard_info: { parallelism: 4096, rps: 1, batch: 2 }", "8192 requests in flight"),
        ("data_size: 64MB, shard_info: { parallelism: 17, reqsize: 64MB }", "bytes in total"),
    ] {
        let conf = TesterConf::parse(&format!("- {{ name: a, shards: all, type: seqread, {job} }}")).unwrap();
        let options = TesterOptions { duration_ns: 1, shards: 1, seed: 1 };
        let error = run_tester(&target, &conf, &options).unwrap_err();
        assert!(matches!(&error, BenchError::Unfit(text) if text.contains(said)), "{job}: {error}");
    }
}

#[test]
fn files_of_a_shard_have_to_fit_its_domain() {
    let folder = tempfile::tempdir().unwrap();
    let yaml = "- { name: a, shards: [1], type: seqread, data_size: 36MB, shard_info: { limit: 1 } }";
    let conf = TesterConf::parse(yaml).unwrap();
    let options = TesterOptions { duration_ns: HOUR_NS, shards: 2, seed: 1 };
    let error = run_tester(&image(&folder.path().join("image"), 32 << 20), &conf, &options).unwrap_err();
    let said = "the files of one shard need 18874368 bytes, but its domain has 16777216";
    assert!(matches!(&error, BenchError::Unfit(text) if text.contains(said)), "{error}");
    // A folder has no domains.
    run_tester(&BenchTarget::Folder(folder.path().to_owned()), &conf, &options).unwrap();
}

#[test]
fn a_full_domain_ends_the_run_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let target = image(&folder.path().join("image"), 64 << 20);
    let yaml = "
- { name: a, shards: [1], type: append, data_size: 1MB, shard_info: { parallelism: 2, reqsize: 1MB } }
- { name: b, shards: [0], type: seqread, data_size: 1MB }
";
    let options = TesterOptions { duration_ns: HOUR_NS, shards: 2, seed: 1 };
    let error = run_tester(&target, &TesterConf::parse(yaml).unwrap(), &options).unwrap_err();
    assert!(matches!(error, BenchError::LogFs { doing: "writing", .. }), "{error}");
}

#[test]
fn at_a_rate_latencies_count_from_when_requests_were_due() {
    let folder = tempfile::tempdir().unwrap();
    let info = "{ execution_time: 1ms, rps: 1000000, limit: 5 }";
    let conf = TesterConf::parse(&format!("- {{ name: a, shards: all, type: cpu, shard_info: {info} }}")).unwrap();
    let options = TesterOptions { duration_ns: HOUR_NS, shards: 1, seed: 1 };
    let results = run_tester(&BenchTarget::Folder(folder.path().to_owned()), &conf, &options).unwrap();
    let latency = results.joint[0].class.latency.to_sparse();
    // All were due within some microseconds, and each had to wait for those before it.
    assert!(latency.max >= 4_990_000 && latency.mean() >= 2_900_000.0, "{latency:?}");
}
