//! Commands on zones, which a lane sends beside the operations of its job and waits for.
//!
//! They use a slot of their own, behind those of the job. Operations that complete meanwhile are
//! handed out by the next reap, and count as in flight until then.

use iolab_engine::{Completion, ZoneCall, ZoneKind, ZoneStatus};
use iolab_nvme_driver::{CommandOutcome, Namespace, Submit};
use iolab_nvme_spec::zone::{ZoneDescriptor, ZoneSendAction, ZoneState};

use super::NvmeLane;
use crate::any_transport::AnyPair;
use crate::errno;

impl NvmeLane {
    /// Does what is asked of the zones of a file.
    #[cold]
    pub(super) fn call_zone(&mut self, file: u32, call: ZoneCall<'_>) -> Result<(), i32> {
        let own = self.files.get_mut(file as usize).ok_or(libc::EBADF)?;
        own.trims_reset = true;
        let (index, shift) = (own.first_queue, own.block_shift);
        let namespace = own.namespace;
        match call {
            ZoneCall::Report { start_bytes, end_bytes, zones } => {
                self.report(index, &namespace, start_bytes >> shift..end_bytes >> shift, zones)
            }
            ZoneCall::Reset { start_bytes, .. } => self.alone(index, |pair, slot| {
                pair.manage_zone(slot, &namespace, start_bytes >> shift, ZoneSendAction::RESET)
            }),
            ZoneCall::Finish { start_bytes, .. } => self.alone(index, |pair, slot| {
                pair.manage_zone(slot, &namespace, start_bytes >> shift, ZoneSendAction::FINISH)
            }),
        }
    }

    fn report(
        &mut self,
        index: usize,
        namespace: &Namespace,
        blocks: std::ops::Range<u64>,
        zones: &mut Vec<ZoneStatus>,
    ) -> Result<(), i32> {
        let zone_blocks = namespace.zones().ok_or(libc::ENOTTY)?.zone_blocks;
        let slot = self.own_slot();
        let mut at = blocks.start;
        while at < blocks.end {
            self.alone(index, |pair, slot| pair.report_zones_here(slot, namespace, at))?;
            let pair = self.queues[index].pair.as_ref().ok_or(libc::ENODEV)?;
            let report = pair.zones_reported(slot).ok_or(libc::EIO)?;
            let before = at;
            for zone in report.zones.iter().take_while(|zone| zone.zslba.get() < blocks.end) {
                zones.push(status(zone, u64::from(namespace.block_bytes())));
                at = at.max(zone.zslba.get().saturating_add(zone_blocks));
            }
            if at == before {
                return Err(libc::EIO);
            }
        }
        Ok(())
    }

    /// The slot behind those of the job.
    fn own_slot(&self) -> u16 {
        self.moves.len() as u16
    }

    /// Sends a command of the lane's own, and waits for it. Commands have a time-out, so this ends.
    fn alone(&mut self, index: usize, mut submit: impl FnMut(&mut AnyPair, u16) -> Submit) -> Result<(), i32> {
        let slot = self.own_slot();
        let NvmeLane { queues, devices, moves, early, .. } = self;
        let queue = &mut queues[index];
        let opened = &devices[queue.device].opened;
        let pair = queue.pair.as_mut().ok_or(libc::ENODEV)?;
        let mut is_sent = false;
        loop {
            if !is_sent {
                match submit(pair, slot) {
                    Submit::Accepted => is_sent = true,
                    Submit::Full => {}
                    Submit::Refused(refusal) => return Err(errno::of_refusal(refusal)),
                }
                pair.flush();
            }
            opened.poll();
            let mut answer = None;
            let room = early.capacity() - early.len() + 1;
            let reaped = pair.reap(room, |ended| {
                let failed = (ended.outcome != CommandOutcome::Done).then(|| errno::of_outcome(ended.outcome));
                if ended.slot == slot {
                    answer = Some(failed.map_or(Ok(()), Err));
                    return;
                }
                let result = failed.map_or(moves[usize::from(ended.slot)] as i32, |errno| -errno);
                early.push(Completion { slot: u32::from(ended.slot), result });
            });
            reaped.map_err(|error| errno::of_error(&error))?;
            if let Some(answer) = answer {
                return answer;
            }
            std::hint::spin_loop();
        }
    }
}

fn status(zone: &ZoneDescriptor, block_bytes: u64) -> ZoneStatus {
    let start = zone.zslba.get();
    let capacity_bytes = zone.zcap.get() * block_bytes;
    let (kind, written_bytes) = match zone.state() {
        ZoneState::READ_ONLY | ZoneState::OFFLINE => (ZoneKind::Unusable, 0),
        ZoneState::FULL => (ZoneKind::Sequential, capacity_bytes),
        _ => (ZoneKind::Sequential, (zone.wp.get().saturating_sub(start) * block_bytes).min(capacity_bytes)),
    };
    ZoneStatus { start_bytes: start * block_bytes, capacity_bytes, written_bytes, kind }
}
