//! The operations of one worker, read ahead by a thread of the runner's feed.

use iolab_engine::{Op, OpKind};
use iolab_plan::{ReplayPlan, WorkerPlan};
use iolab_runner::{FeedOut, Supplied};

use crate::feeder::{self, Feeder};
use crate::order::Order;
use crate::translation::{self, Part};

/// The source of the operations of a worker that replays.
///
/// # Errors
/// The plan replays nothing; the trace cannot be read, or differs from the one of the plan.
pub fn supply(worker: &WorkerPlan) -> Result<Supplied, String> {
    let plan = worker.replay.clone().ok_or("this job replays no trace")?;
    if feeder::identity(&plan.paths)? != plan.identity {
        return Err(format!("{} has changed since the run was planned", plan.paths.join(":")));
    }
    // Opened here, so that a read error is known before the run begins.
    Feeder::open(&plan.paths)?;
    let timed = plan.rules.timed;
    let read = move |out: &mut FeedOut| read(&plan, out);
    Supplied::start(timed, read).map_err(|error| format!("a thread that reads the trace: {error}"))
}

/// One round through the trace.
fn read(plan: &ReplayPlan, out: &mut FeedOut) -> Result<(), String> {
    let mut feeder = Feeder::open(&plan.paths)?;
    let shares = plan.share_of_thread.iter().max().map_or(1, |most| *most as usize + 1);
    let mut order = Order::new(shares, plan.first_worker);
    let (mut parts, mut gates): (Vec<Part>, _) = (Vec::new(), Vec::new());
    let mut first_ns = None;
    let mut left = plan.operations;
    // Operations after the last one of this share do not concern it.
    while left > 0
        && let Some(operation) = feeder.next_operation()?
    {
        parts.clear();
        if translation::parts(&operation, feeder.trace().files(), &plan.rules, |part| parts.push(part)).is_err() {
            continue;
        }
        let share = plan.share_of_thread.get(operation.thread as usize).copied().unwrap_or(0);
        let first_ns = *first_ns.get_or_insert(operation.time_ns);
        let syncs = parts.iter().any(|part| part.kind.is_sync());
        let waits_for_all = parts[0].kind.is_sync();
        let beside = order.begin(share as usize, operation.time_ns, waits_for_all, &mut gates);
        order.began(share as usize, parts.len() as u64, operation.end_ns(), syncs);
        if share != plan.share {
            continue;
        }
        let file = plan.files.binary_search(&operation.file).map_err(|_| "a file of the trace is not in the plan")?;
        let due_ns = (operation.time_ns.saturating_sub(first_ns) as f64 / plan.rules.speed) as u64;
        for (number, part) in parts.iter().enumerate() {
            let op = op(part, file as u32);
            // The parts of one operation are done one after the other if a sync is among them.
            let beside = if part.kind.is_sync() { 0 } else { beside + number as u32 };
            let gates = if number == 0 { &gates[..] } else { &[] };
            left = left.saturating_sub(1);
            if out.push(op, due_ns, beside, gates).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn op(part: &Part, file: u32) -> Op {
    let (buffer_offset, slot, priority) = (0, 0, 0);
    // 0 means all three steps of sync_file_range(2) there.
    debug_assert!(part.kind != OpKind::SyncFileRange || buffer_offset == 0, "a sync has no buffer");
    Op { offset: part.offset, length: part.length, buffer_offset, file, slot, kind: part.kind, priority }
}
