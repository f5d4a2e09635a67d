//! The zoned command set: Zone Append, Zone Management Send and Receive (ZNS, section 3.4).

use iolab_nvme_spec::zone::{ZoneReceive, ZoneSend, ZoneSendAction};
use iolab_ssd_timing::CommandKind;

use super::{Execution, ExecutionStep, Range, copy_error};
use crate::command_error::{CommandError, place};
use crate::data_window::{DataDirection, DataWindow};
use crate::namespace::Namespace;
use crate::zones::{Placement, Report};

impl<D: DataWindow> Execution<'_, D> {
    pub(super) fn append(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        let range = self.range(namespace)?;
        self.write_data(namespace, range, Placement::Append)
    }

    pub(super) fn send_zone_action(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        let request = ZoneSend(self.command.cdw(13));
        self.check_writable(namespace)?;
        let shift = namespace.lba_shift();
        let resets = {
            let Some(mut zones) = namespace.zones() else { return Err(CommandError::field(place::NSID, 0)) };
            zones.act(ZoneSendAction(request.zsa()), self.command.slba(), request.select_all())?
        };
        let mut at_ns = self.now_ns;
        for (lba, blocks) in resets {
            let range = Range { lba, blocks, shift };
            at_ns = at_ns.max(self.time(namespace, range, CommandKind::ZoneReset));
            let done = self.subsystem.media.discard(range.offset(namespace), range.bytes());
            done.map_err(|error| copy_error(&self.executor.counters, error, lba))?;
            namespace.clear_uncorrectable(lba, blocks);
        }
        Ok(ExecutionStep::Done { at_ns, result: 0 })
    }

    pub(super) fn receive_zone_report(&mut self, namespace: &Namespace) -> Result<ExecutionStep, CommandError> {
        // Dword 12: number of dwords, less one.
        let bytes = (self.command.cdw(12) as usize + 1) * 4;
        let most = self.subsystem.config.most_bytes as usize;
        if most != 0 && bytes > most {
            return Err(CommandError::field(place::CDW12, 0));
        }
        self.locate_bytes(bytes, DataDirection::ToHost)?;
        let request = ZoneReceive(self.command.cdw(13));
        let report = {
            let Some(zones) = namespace.zones() else { return Err(CommandError::field(place::NSID, 0)) };
            zones.report(Report { lba: self.command.slba(), bytes, request })?
        };
        self.executor.data.write(&report)?;
        Ok(ExecutionStep::Done { at_ns: self.now_ns, result: 0 })
    }
}
