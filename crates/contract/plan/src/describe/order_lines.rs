//! What else decides where operations go, and in which order devices take them.

use iolab_text::every;

use super::Line;
use super::amounts::{bytes, or, yes};
use crate::describe::add;
use crate::{IoPriority, PriorityPlan, PriorityShare, SprandomPlan, WorkloadPlan, ZonePlan};

/// The lines of what the worker uses.
pub(super) fn of(load: &WorkloadPlan, lines: &mut Vec<Line>) {
    if let Some(plan) = &load.zones {
        zones(plan, lines);
    }
    if let Some(plan) = &load.sprandom {
        sprandom(plan, lines);
    }
    if let Some(plan) = &load.priorities {
        priorities(plan, lines);
    }
}

/// `sprandom`.
fn sprandom(plan: &SprandomPlan, lines: &mut Vec<Line>) {
    let cache = if plan.cache_bytes == 0 { "none".to_owned() } else { bytes(plan.cache_bytes) };
    add(
        lines,
        "steady state",
        vec![
            (
                "over-provisioning",
                format!("{} %", (plan.over_provisioning * 1e4).round() / 100.0),
                &["sprandom", "spr_op"],
            ),
            ("regions", plan.regions.to_string(), &["spr_num_regions"]),
            ("write cache", cache, &["spr_cs"]),
        ],
    );
}

/// `cmdprio_*`.
fn priorities(plan: &PriorityPlan, lines: &mut Vec<Line>) {
    let each = |shares: &[PriorityShare]| {
        let one = |share: &PriorityShare| {
            let of = share.bytes.map_or(String::new(), |size| format!(" of {}", bytes(size)));
            let IoPriority { class, level, hint } = share.priority;
            format!("{} %{of}: class {class}, level {level}, hint {hint}", share.percent)
        };
        or((!shares.is_empty()).then(|| shares.iter().map(one).collect::<Vec<_>>().join("; ")), "none")
    };
    let options = &["cmdprio_percentage", "cmdprio_class", "cmdprio", "cmdprio_hint", "cmdprio_bssplit"];
    add(lines, "own priorities", vec![("reads", each(&plan.reads), options), ("writes", each(&plan.writes), options)]);
}

/// `zonemode=zbd`.
fn zones(plan: &ZonePlan, lines: &mut Vec<Line>) {
    let limit = |most: u32| if most == 0 { "no limit".to_owned() } else { most.to_string() };
    let size = match plan.emulated {
        true => format!("{}, {} of it written, emulated", bytes(plan.zone_bytes), bytes(plan.capacity_bytes)),
        false => format!("{}, of the device", bytes(plan.zone_bytes)),
    };
    let resets = plan.resets.map(|resets| {
        let share = resets.threshold * 100.0;
        format!("{} resets its zone, from {share} % written on", every(resets.every, "write"))
    });
    add(
        lines,
        "zones",
        vec![
            ("zone", size, &["zonesize", "zonecapacity"]),
            ("open, of all jobs", limit(plan.most_open), &["max_open_zones", "ignore_zone_limits"]),
            ("open, of this job", limit(plan.job_most_open), &["job_max_open_zones"]),
            ("reset", or(resets, "when full and written again"), &["zone_reset_threshold", "zone_reset_frequency"]),
            ("read_beyond_wp", yes(plan.reads_beyond), &["read_beyond_wp"]),
            ("recover_zbd_write_error", yes(plan.recovers), &["recover_zbd_write_error"]),
            ("write_zone_remainder", yes(plan.fills_rest), &["write_zone_remainder"]),
        ],
    );
}
