//! The optional task that defragments files that reads found in many small pieces.
//!
//! It moves at most a given share of the bytes read, so that it costs little where reading gains
//! little, and it stops while space is short.

use std::rc::Rc;

use super::Defragmentation;
use crate::instance::{Instance, Phase, State, step_aside};
use crate::record::InodeId;
use crate::{Error, LogFs};

/// Most files queued at once.
const MOST_FILES: usize = 64;
/// A read finds a file scattered when it takes at least this many requests, of less than
/// `SMALL_BYTES` on average.
const LEAST_PARTS: usize = 4;
const SMALL_BYTES: u64 = 128 << 10;

impl Instance {
    /// Notes that a read of `bytes` took `parts` requests to the device.
    pub(crate) fn has_read(&self, state: &mut State, inode: InodeId, bytes: u64, parts: usize) {
        let percent = u64::from(self.options.defragment_percent);
        if percent == 0 {
            return;
        }
        state.defragment_credit = state.defragment_credit.saturating_add(bytes * percent / 100);
        let is_scattered = parts >= LEAST_PARTS && bytes / (parts as u64) < SMALL_BYTES;
        if is_scattered && state.scattered.len() < MOST_FILES && !state.scattered.contains(&inode) {
            state.scattered.push_back(inode);
        }
        if self.may_defragment(state) && !state.scattered.is_empty() {
            self.work.notify();
        }
    }

    /// Whether a cluster may be moved now.
    fn may_defragment(&self, state: &State) -> bool {
        state.defragment_credit >= u64::from(self.layout.cluster_bytes)
            && state.spendable(&self.layout) > self.layout.owned / 8
    }
}

pub(crate) async fn run(instance: Rc<Instance>) {
    let mut current: Option<Defragmentation> = None;
    loop {
        let has_file = current.is_some();
        let next = instance.wait_for_work(Phase::Closing, |state| {
            let goes_on = instance.may_defragment(state) && (has_file || !state.scattered.is_empty());
            goes_on.then(|| if has_file { None } else { state.scattered.pop_front() })
        });
        let Some(next) = next.await else { break };
        if let Some(inode) = next {
            current = Some(LogFs(Rc::clone(&instance)).defragment(inode));
        }
        let Some(file) = current.as_mut() else { continue };
        match file.step().await {
            Ok(progress) => {
                let mut state = instance.state.borrow_mut();
                state.defragment_credit = state.defragment_credit.saturating_sub(progress.step_bytes);
                state.activity.defragmented_bytes += progress.step_bytes;
                current = current.filter(|_| !progress.is_done);
            }
            // The file is gone or cannot be moved now; another read will queue it again.
            Err(Error::NotFound | Error::NoSpace | Error::Device(_) | Error::Content { .. }) => current = None,
            Err(_) => break,
        }
        step_aside().await;
    }
    instance.task_ended();
}
