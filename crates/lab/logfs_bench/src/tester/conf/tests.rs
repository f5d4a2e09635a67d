//! What is accepted, and on which line what is refused.

use super::*;

const WHOLE: &str = "
- name: big_writes
  shards: all
  type: seqwrite
  data_size: 2GB
  shard_info:
    parallelism: 10
    reqsize: 256kB
    think_time: 0
    limit: 1000

- name: latency_reads
  shards: [0, 2]
  type: randread
  shard_info: { parallelism: 2, reqsize: 512, rps: 100, batch: 3 }
  options:
    pause_distribution: poisson
    sleep_type: busyloop

- { name: burn, shards: [1], type: cpu, shard_info: { execution_time: 90us, think_time: 5ms, think_after: 1s } }
";

#[test]
fn what_has_a_meaning_is_understood() {
    let conf = TesterConf::parse(WHOLE).unwrap();
    let [writes, reads, burn] = &conf.jobs[..] else { panic!("{conf:?}") };
    let expected = Job {
        name: "big_writes".to_owned(),
        line: 2,
        kind: JobKind::SeqWrite,
        shards: Shards::All,
        data_bytes: Some(2 << 30),
        parallel: 10,
        pace: ArrivalPacing::Closed { think_ns: 0, think_after_ns: 0 },
        limit: Some(1000),
        shares: None,
        request_bytes: 256 << 10,
        execution_ns: 1_000_000,
    };
    assert_eq!(writes, &expected);
    assert_eq!((reads.line, &reads.shards, reads.data_bytes), (12, &Shards::Listed(vec![0, 2]), None));
    assert_eq!(reads.pace, ArrivalPacing::Open { rate: 100, poisson: true, batch: 3 });
    assert_eq!(burn.pace, ArrivalPacing::Closed { think_ns: 5_000_000, think_after_ns: 1_000_000_000 });
    assert_eq!((burn.execution_ns, burn.kind.name()), (90_000, "cpu"));
    assert_eq!((conf.shards(None, 1), conf.shards(None, 4), conf.shards(Some(8), 4)), (Ok(3), Ok(4), Ok(8)));
    let error = conf.shards(Some(2), 1).unwrap_err();
    assert_eq!(error.to_string(), "line 12: latency_reads names shard 2, but there are 2, counted from 0");
}

/// One job; its map ends with the given lines, the first of which is line 4.
fn with(more: &str) -> String {
    format!("- name: a\n  type: seqread\n  shards: all\n{more}")
}

#[test]
fn keys_are_refused_on_their_lines() {
    for (more, line, said) in [
        ("  shard_info:\n    parallelism: 1\n    shares: 0", 6, "shares"),
        ("  shard_info:\n    class: a", 5, "class is not supported"),
        ("  shard_info: { bandwidth: 1MB }", 4, "bandwidth is not supported"),
        ("  shard_info: { iov_count: 4 }", 4, "iov_count is not supported: a request always has one buffer"),
        ("  files_count: 4", 4, "files_count is not supported: all files stay open"),
        ("  extent_allocation_size_hint: 32MB", 4, "files get no hints"),
        ("  options:\n    dsync: true", 5, "dsync is not supported"),
        ("  options:\n    sleep_type: lowres", 5, "sleep_type must be busyloop"),
        ("  options: { pause_distribution: uniform }", 4, "pause_distribution is not supported: without rps"),
        ("  shard_info: { batch: 2 }", 4, "batch is not supported: without rps"),
        ("  shard_info: { rps: 5, think_time: 1ms }", 4, "think_time is not supported: with rps"),
        ("  shard_info: { execution_time: 1ms }", 4, "only a cpu job has one"),
        ("  shard_infos: {}", 4, "shard_infos is not a key of a job"),
        ("  shard_info:\n    paralelism: 4", 5, "; did you mean parallelism?"),
        ("  colour: red", 4, "known keys are name, type, shards, data_size, shard_info, options"),
        ("  name: b", 4, "name is set twice"),
        ("- name: a\n  type: cpu\n  shards: all", 4, "the job in line 1 is already named a"),
        ("- name: b\n  type: overwrite\n  shards: all", 5, "one of seqread, seqwrite, randread"),
        ("- name: b\n  type: randraed\n  shards: all", 5, "; did you mean randread?"),
        ("- name: b\n  type: unlink\n  shards: all", 5, "unlink is not supported"),
        ("- name: b\n  shards: all", 4, "type is missing"),
        ("- name: b\n  type: cpu\n  shards: all\n  data_size: 1GB", 7, "a cpu job has no file"),
        ("- name: b\n  type: cpu\n  shards: [1, 1]", 6, "1 is listed twice"),
        ("- name: b\n  type: cpu\n  shards: []", 6, "the list is empty"),
        ("- name: b\n  type: cpu\n  shards: [1, x]", 6, "x: expected a whole number from 0 to"),
        ("- name: b\n  type: cpu\n  shards: some", 6, "or a list such as [0, 2]"),
    ] {
        let error = TesterConf::parse(&with(more)).unwrap_err();
        assert!(error.line == line && error.message.contains(said), "{more}: {error}");
    }
}

#[test]
fn values_need_their_units_and_ranges() {
    for (info, said) in [
        ("reqsize: 4KiB", "use kB, MB or GB"),
        ("reqsize: 1000", "a multiple of 512"),
        ("reqsize: 0", "a multiple of 512"),
        ("reqsize: 1GB", "up to 64MB"),
        ("reqsize: [1]", "reqsize must be a plain value, not a list"),
        ("think_time: 5", "add a unit"),
        ("think_time: xs", "think_time: "),
        ("parallelism: 0", "a whole number from 1 to 4096"),
        ("parallelism: many", "a whole number"),
        ("limit: 0", "a whole number from 1"),
        ("rps: 0", "a whole number from 1"),
    ] {
        let error = TesterConf::parse(&with(&format!("  shard_info:\n    {info}"))).unwrap_err();
        assert!(error.line == 5 && error.message.contains(said), "{info}: {error}");
    }
    let error = TesterConf::parse(&with("  data_size: 0")).unwrap_err();
    assert!(error.line == 4 && error.message.contains("expected 1 byte"), "{error}");
}

#[test]
fn what_is_no_list_of_jobs_is_refused() {
    for (yaml, line, said) in [
        ("", 1, "expected a list of jobs"),
        ("\n# nothing\n", 1, "expected a list of jobs"),
        ("[]", 1, "expected a list of jobs"),
        ("name: a", 1, "found a map"),
        ("- 5", 1, "a job must be a map of keys and values, not a plain value"),
        ("- name: [", 2, ""),
        ("- a: &x 1\n  b: *x", 2, "aliases are not supported"),
        ("- name: !!str a", 1, "tags are not supported"),
        ("- name: a\n---\n- name: b", 2, "several documents"),
        ("[[[[[[[[[[[[[[[[", 1, "values nested this deeply"),
        ("- [a]: b", 1, "a key must be a plain value"),
    ] {
        let error = TesterConf::parse(yaml).unwrap_err();
        assert!(error.line == line && error.message.contains(said), "{yaml}: {error}");
    }
}
