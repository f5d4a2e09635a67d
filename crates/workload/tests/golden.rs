//! The beginnings of some streams, so that a change of what a seed means does not pass unnoticed.
//!
//! Recordings are repeated from their plan: whoever changes one of these lines says so in the release notes.

mod support;

use iolab_plan::{BlockSizes, Distribution, RandomGenerator, RandomMap, WorkloadPlan};
use iolab_workload::PassLimits;
use support::{K, distributed, pass, plan, sized, spell};

#[test]
fn streams_stay_what_they_are() {
    let split = BlockSizes::Split(vec![(4 * K, 50), (8 * K, 50)]);
    let cases: [(&str, WorkloadPlan, &str); 8] = [
        ("map", plan("randread"), ""),
        ("no map", WorkloadPlan { random_map: RandomMap::Off, ..plan("randread") }, ""),
        ("lfsr", WorkloadPlan { generator: RandomGenerator::Lfsr, ..plan("randread") }, ""),
        ("mixed", plan("randrw"), ""),
        ("sequential mixed", plan("rw"), ""),
        ("split", sized("randwrite", split), ""),
        ("zipf", distributed(Distribution::Zipf { theta: 1.2, center: None }), ""),
        ("normal", distributed(Distribution::Normal { deviation_percent: 10.0, center: None }), ""),
    ];
    let limits = PassLimits { io_bytes: 1 << 30, io_count: Some(8) };
    for (name, plan, expected) in cases {
        assert_eq!(spell(&pass(&plan, &[1 << 30], limits)), expected, "{name}");
    }
}
