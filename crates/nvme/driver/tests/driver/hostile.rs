//! Many hostile devices, each generated from a seed; see `hostile/enemy.rs` for what they do.

#[allow(unreachable_pub, reason = "the fuzz targets include it too")]
mod enemy;

use crate::drive::Random;
use enemy::{STRIKE, survive};

/// A byte string that strikes at `malice` of a thousand accesses.
fn bytes(seed: u64, malice: u64, from_start: bool) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = vec![u8::from(from_start)];
    bytes.extend((0..4000).map(|_| {
        let byte = random.next() as u8;
        if random.below(1000) < malice { byte | STRIKE } else { byte % STRIKE }
    }));
    bytes
}

#[test]
fn no_enemy_makes_the_driver_panic_hang_lose_or_double() {
    let (mut done, mut resets, mut given_up) = (0, 0, 0);
    for seed in 0..60 {
        let tale = survive(&bytes(seed, [3, 20, 150][seed as usize % 3], false));
        done += tale.done;
        resets += tale.resets;
        given_up += usize::from(tale.given_up);
    }
    // The devices were really hostile: commands succeeded, resets were needed, and some devices
    // could not be recovered.
    assert!(done > 1000 && resets > 50 && given_up > 5, "{done} done, {resets} resets, {given_up} given up");
}

#[test]
fn an_enemy_from_the_first_moment_is_opened_or_refused() {
    let unopened = (0..60).filter(|seed| survive(&bytes(*seed, 100, true)).unopened).count();
    assert!(unopened > 5, "only {unopened} of the enemies were refused");
}

#[test]
fn a_device_that_never_strikes_is_no_enemy() {
    let tale = survive(&[]);
    assert_eq!((tale.failed, tale.lost, tale.resets, tale.given_up, tale.unopened), (0, 0, 0, false, false));
    assert!(tale.done > 100, "{tale:?}");
}
