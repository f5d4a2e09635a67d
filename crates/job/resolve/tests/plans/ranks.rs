//! What the ranks of a run make of one job: files, offsets, rates, seeds, and which jobs are whose.

use iolab_options::Rank;
use iolab_plan::Plan;

use crate::support::{jobs, refusals, request, resolved, section};

/// The plan of one of four ranks, on `n0.lab` to `n3.lab`.
fn of_rank(number: u32, text: &str) -> Plan {
    resolved(text, |request| request.overrides.rank = rank(number)).plan
}

fn rank(number: u32) -> Rank {
    Rank { number, ranks: 4, host: format!("n{number}.lab") }
}

fn paths(plan: &Plan) -> Vec<String> {
    plan.workers.iter().flat_map(|worker| &worker.files).map(|file| file.path.display().to_string()).collect()
}

#[test]
fn names_that_nobody_gave_are_each_ranks_own() {
    let own = "[job]\ndirectory=/data\nsize=1m\n";
    assert_eq!(paths(&of_rank(2, own)), ["/data/job.0.0.rank2"]);
    assert_eq!(paths(&resolved(own, |_| {}).plan), ["/data/job.0.0"], "a run that is not one of several");
    for shared in ["filename=it", "filename_format=it"] {
        let text = format!("[job]\ndirectory=/data\nsize=1m\n{shared}\n");
        assert_eq!(paths(&of_rank(2, &text)), ["/data/it"], "{shared}");
    }
    // Servers of a client have fio's rule.
    let of_server = resolved(own, |request| {
        request.overrides.rank = rank(2);
        request.overrides.client = Some("10.0.0.7".to_owned());
    });
    assert_eq!(paths(&of_server.plan), ["/data/10.0.0.7.job.0.0"]);
}

#[test]
fn logs_are_each_ranks_own() {
    let text = section("size=1m write_bw_log=b write_iolog=it");
    let logs = of_rank(1, &text).workers.remove(0).logs;
    assert_eq!((logs.bandwidth.as_deref(), logs.operations.as_deref()), (Some("b.rank1"), Some("it.rank1")));
}

#[test]
fn offsets_go_on_from_rank_to_rank() {
    let text = section("filename=/data/big size=1m offset=4k offset_increment=1m numjobs=2");
    let mut starts = Vec::new();
    for number in 0..4 {
        starts.extend(of_rank(number, &text).workers.iter().map(|worker| worker.files[0].start_bytes));
    }
    assert_eq!(starts, (0..8).map(|clone| 4096 + (clone << 20)).collect::<Vec<u64>>());
}

#[test]
fn a_rank_may_have_the_part_of_another() {
    for (shift, expected) in [(0, [0, 1, 2, 3]), (1, [1, 2, 3, 0]), (3, [3, 0, 1, 2]), (6, [2, 3, 0, 1])] {
        let own = format!("[job]\ndirectory=/data\nsize=1m\nrank_shift={shift}\n");
        let divided = section(&format!("filename=/data/big size=1m offset_increment=1m rank_shift={shift}"));
        for (number, part) in (0..).zip(expected) {
            assert_eq!(paths(&of_rank(number, &own)), [format!("/data/job.0.0.rank{part}")], "{shift}");
            assert_eq!(of_rank(number, &divided).workers[0].files[0].start_bytes, part << 20, "{shift}");
        }
    }
    let logs = of_rank(1, &section("size=1m write_bw_log=b rank_shift=1")).workers.remove(0).logs;
    assert_eq!(logs.bandwidth.as_deref(), Some("b.rank1"), "logs stay its own");
    let alone = resolved("[job]\ndirectory=/data\nsize=1m\nrank_shift=1\n", |_| {}).plan;
    assert_eq!(paths(&alone), ["/data/job.0.0"]);
}

#[test]
fn ranks_touch_other_blocks_at_other_times() {
    let text = section("filename=/data/big size=1m rw=randwrite numjobs=2");
    let mut seeds = Vec::new();
    for number in 0..4 {
        let plan = of_rank(number, &text);
        seeds.extend(plan.workers.iter().map(|worker| worker.workload.seed));
        seeds.extend(plan.workers.iter().map(|worker| worker.pacing.seed));
    }
    let alone = resolved(&text, |_| {}).plan;
    assert_eq!(
        (seeds[0], seeds[2]),
        (alone.workers[0].workload.seed, alone.workers[0].pacing.seed),
        "rank 0 is as alone"
    );
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 16);
}

#[test]
fn a_rate_of_the_job_is_divided_to_the_last_operation() {
    let rates = |options: &str, ranks: &[u32]| {
        let text = section(&format!("size=1m numjobs=3 {options}"));
        let each = ranks.iter().flat_map(|number| of_rank(*number, &text).workers);
        each.map(|worker| worker.pacing.rate_iops[0]).collect::<Vec<u64>>()
    };
    let all = rates("rate_iops=1000 rate_scope=job", &[0, 1, 2, 3]);
    assert_eq!((all.len(), all.iter().sum::<u64>()), (12, 1000));
    assert!(all.iter().all(|rate| [83, 84].contains(rate)), "{all:?}");
    let some = rates("rate_iops=1000 rate_scope=job hosts=1-2,7", &[1, 2]);
    assert_eq!((some.len(), some.iter().sum::<u64>()), (6, 1000));
    assert_eq!(rates("rate_iops=1000", &[3]), [1000; 3], "as in fio, of each worker");

    let refused = |options: &str| {
        let text = section(&format!("size=1m numjobs=3 rate_scope=job {options}"));
        refusals(&text, |request| request.overrides.rank = rank(1)).remove(0).reason
    };
    assert!(refused("rate_iops=11").contains("too little"));
    assert!(refused("rate_iops=1000 hosts=n1,n2").contains("how many ranks"));
}

#[test]
fn a_job_is_for_the_ranks_that_it_names() {
    let text = "[all]\nsize=1m\n[one]\nsize=1m\nhosts=0\nstonewall\n[last]\nsize=1m\nhosts=0-1,n3\n";
    let names = |number| {
        let plan = of_rank(number, text);
        plan.workers.iter().map(|worker| (worker.job.clone(), worker.stage)).collect::<Vec<_>>()
    };
    let named =
        |names: &[(&str, u32)]| names.iter().map(|(job, stage)| ((*job).to_owned(), *stage)).collect::<Vec<_>>();
    assert_eq!(names(0), named(&[("all", 0), ("one", 1), ("last", 1)]));
    assert_eq!(names(1), named(&[("all", 0), ("last", 1)]), "the stonewall of a job that is left out holds");
    assert_eq!(names(2), named(&[("all", 0)]));
    assert_eq!(names(3), named(&[("all", 0), ("last", 1)]), "by the name of its host");

    let alone = resolved(text, |request| request.overrides.rank = Rank::only("n3"));
    assert_eq!(alone.plan.workers.len(), 3, "a run that is not one of several is rank 0");
    let left_out = resolved("[a]\nsize=1m\n[b]\nsize=1m\nhosts=1\n", |_| {});
    assert_eq!(left_out.plan.workers.len(), 1);
    assert!(left_out.warnings[0].reason.contains("left out"), "{:?}", left_out.warnings);
}

#[test]
fn hosts_that_are_none_are_refused() {
    for text in ["3-1", "0,,1", "0-99999"] {
        let found = refusals(&section(&format!("size=1m hosts={text}")), |request| request.overrides.rank = rank(0));
        assert!(found[0].reason.contains("neither a rank nor a host"), "{text}: {found:?}");
    }
    let found = refusals(&section("size=1m hosts=1"), |request| request.overrides.rank = rank(2));
    assert!(found[0].reason.contains("no job is for rank 2 of 4, on host n2.lab"), "{found:?}");
}

#[test]
fn a_plan_says_whose_part_it_is() {
    let text = section("size=1m");
    assert_eq!(of_rank(2, &text).rank, Some(rank(2)));
    let set = jobs(&text);
    assert_eq!(iolab_resolve::resolve(&request(&set)).unwrap().plan.rank, None);
}
