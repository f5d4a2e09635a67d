//! The beginnings of some streams, so that a changed meaning of a seed is noticed.
//!
//! Recordings are repeated from their plan: the release notes must name a change of any of these
//! lines.

use iolab_plan::{BlockSizes, Distribution, RandomGenerator, RandomMap, WorkloadPlan};
use iolab_workload::PassLimits;

use crate::support::{K, distributed, pass, plan, sized, spell};

#[test]
fn streams_stay_what_they_are() {
    let split = BlockSizes::Split(vec![(4 * K, 50), (8 * K, 50)]);
    let cases: [(&str, WorkloadPlan, &str); 9] = [
        ("map", plan("randread"), "r53489 r23319 r140237 r167492 r203314 r72714 r224287 r59007"),
        (
            "no map",
            WorkloadPlan { random_map: RandomMap::Off, ..plan("randread") },
            "r39578 r223293 r90706 r115154 r113492 r230219 r153677 r21236",
        ),
        (
            "lfsr",
            WorkloadPlan { generator: RandomGenerator::Lfsr, ..plan("randread") },
            "r42065 r84130 r168260 r74249 r148498 r34981 r69962 r139924",
        ),
        ("mixed", plan("randrw"), "r53489 w23319 w140237 w167492 r203314 r72714 w224287 w59007"),
        ("sequential mixed", plan("rw"), "r0 w0 w1 w2 r1 r2 w3 w4"),
        (
            "split",
            sized("randwrite", split),
            "w39578 w223293+8192 w90706 w115154 w113492+8192 w230219 w153677+8192 w21236",
        ),
        (
            "zipf",
            distributed(Distribution::Zipf { theta: 1.2, center: None }),
            "r250362 r140903 r199038 r112406 r116946 r250362 r250362 r109970",
        ),
        (
            "pareto",
            distributed(Distribution::Pareto { h: 0.2, center: None }),
            "r250362 r140903 r199038 r112406 r250362 r94161 r196987 r109970",
        ),
        (
            "normal",
            distributed(Distribution::Normal { deviation_percent: 10.0, center: None }),
            "r127583 r134588 r79790 r110849 r126371 r157579 r135246 r110787",
        ),
    ];
    let limits = PassLimits { io_bytes: 1 << 30, io_count: Some(8) };
    for (name, plan, expected) in cases {
        assert_eq!(spell(&pass(&plan, &[1 << 30], limits)), expected, "{name}");
    }
}
