//! Which workers share the zones of a device.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use iolab_plan::{Plan, WorkerPlan, ZonePlan};

use super::table::{MOST_OWNERS, ZoneTable};

/// The tables of the files of each worker, by its number; none for a worker without zones.
pub(crate) type ZoneShares = Vec<Vec<ZoneTable>>;

/// A device whose zones some workers share. Pointers of emulated zones outlive a stage. Those of a
/// device are asked for in each stage, because other jobs may have moved them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    path: &'a Path,
    zone_bytes: u64,
    stage: Option<u32>,
}

/// The tables that the workers of a plan need.
pub(crate) fn shares(plan: &Plan) -> io::Result<ZoneShares> {
    let mut ranges: BTreeMap<Key<'_>, (u64, u64, u32)> = BTreeMap::new();
    for worker in &plan.workers {
        let Some(zones) = &worker.workload.zones else { continue };
        if u64::from(worker.number) >= MOST_OWNERS {
            return Err(io::Error::other(format!("zonemode=zbd allows at most {MOST_OWNERS} jobs")));
        }
        for (key, start, end) in keys(worker, zones) {
            let range = ranges.entry(key).or_insert((u64::MAX, 0, zones.most_open));
            let most_open = [range.2, zones.most_open].into_iter().filter(|most| *most > 0).min().unwrap_or(0);
            *range = (range.0.min(start), range.1.max(end), most_open);
        }
    }
    let mut tables = BTreeMap::new();
    for (key, (start, end, most_open)) in ranges {
        let table = ZoneTable::new(start, end, key.zone_bytes, most_open)?;
        tables.insert(key, table);
    }
    let of = |worker: &WorkerPlan| {
        let zones = worker.workload.zones.as_ref();
        let keys = zones.into_iter().flat_map(|zones| keys(worker, zones));
        keys.map(|(key, ..)| tables[&key].clone()).collect()
    };
    Ok(plan.workers.iter().map(of).collect())
}

fn keys<'a>(worker: &'a WorkerPlan, zones: &ZonePlan) -> impl Iterator<Item = (Key<'a>, u64, u64)> {
    let stage = (!zones.emulated).then_some(worker.stage);
    let zone_bytes = zones.zone_bytes;
    worker.files.iter().map(move |file| {
        let key = Key { path: &file.path, zone_bytes, stage };
        (key, file.start_bytes, file.start_bytes + file.length_bytes)
    })
}
