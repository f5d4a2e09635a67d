//! The zone actions of Zone Management Send (ZNS, section 3.4.3).
//!
//! Guarantees: an action on all zones is applied to all zones that it applies to or, if limits
//! forbid that, to none.

use iolab_nvme_spec::Status;
use iolab_nvme_spec::zone::{ZoneSendAction, ZoneState};

use super::{EMPTY, ZoneTable, is_active, is_open};
use crate::command_error::{CommandError, place};

impl ZoneTable {
    /// Applies `action` to the zone that starts at `lba`, or with `all` to all zones that it
    /// applies to. Returns the zones that were reset, as (first block, blocks).
    pub(crate) fn act(&mut self, action: ZoneSendAction, lba: u64, all: bool) -> Result<Vec<(u64, u64)>, CommandError> {
        let known = [
            ZoneSendAction::CLOSE,
            ZoneSendAction::FINISH,
            ZoneSendAction::OPEN,
            ZoneSendAction::RESET,
            ZoneSendAction::OFFLINE,
        ];
        if !known.contains(&action) {
            return Err(CommandError::field(place::CDW13, 0));
        }
        if all {
            return self.act_on_all(action);
        }
        let number = self.zone_of(lba)?;
        if lba != self.start(number) {
            return Err(CommandError::field(place::CDW10, 0).on_block(lba));
        }
        let reset = action == ZoneSendAction::RESET && self.zones[number].state != ZoneState::EMPTY;
        self.act_on_one(action, number)?;
        Ok(if reset { vec![(lba, self.zone_blocks())] } else { Vec::new() })
    }

    fn act_on_one(&mut self, action: ZoneSendAction, number: usize) -> Result<(), CommandError> {
        let state = self.zones[number].state;
        let is_dead = matches!(state, ZoneState::READ_ONLY | ZoneState::OFFLINE);
        let refused = Err(CommandError::permanent(Status::INVALID_ZONE_TRANSITION).at(place::CDW13, 0));
        match action {
            ZoneSendAction::OPEN if state == ZoneState::EXPLICITLY_OPENED => {}
            ZoneSendAction::OPEN if state == ZoneState::EMPTY || is_active(state) => {
                self.check_opening(number)?;
                self.open_zone(number, ZoneState::EXPLICITLY_OPENED);
            }
            ZoneSendAction::CLOSE if is_active(state) => self.set_state(number, ZoneState::CLOSED),
            ZoneSendAction::FINISH if !is_dead => {
                self.set_state(number, ZoneState::FULL);
                self.zones[number].written = self.capacity_blocks();
                self.keep(number);
            }
            ZoneSendAction::RESET if !is_dead => {
                self.set_state(number, ZoneState::EMPTY);
                self.zones[number] = EMPTY;
                self.keep(number);
            }
            ZoneSendAction::OFFLINE if is_dead => self.set_state(number, ZoneState::OFFLINE),
            _ => return refused,
        }
        Ok(())
    }

    fn act_on_all(&mut self, action: ZoneSendAction) -> Result<Vec<(u64, u64)>, CommandError> {
        let fits = |state: ZoneState| match action {
            ZoneSendAction::OPEN => state == ZoneState::CLOSED,
            ZoneSendAction::CLOSE => is_open(state),
            ZoneSendAction::FINISH => is_active(state),
            ZoneSendAction::RESET => is_active(state) || state == ZoneState::FULL,
            _ => state == ZoneState::READ_ONLY,
        };
        let chosen: Vec<usize> = (0..self.zones.len()).filter(|number| fits(self.zones[*number].state)).collect();
        if action == ZoneSendAction::OPEN && self.layout.max_open > 0 {
            let kept = self.zones.iter().filter(|zone| zone.state == ZoneState::EXPLICITLY_OPENED).count();
            if kept + chosen.len() > self.layout.max_open as usize {
                return Err(CommandError::transient(Status::TOO_MANY_OPEN_ZONES));
            }
        }
        for number in &chosen {
            self.act_on_one(action, *number)?;
        }
        let resets = if action == ZoneSendAction::RESET { chosen } else { Vec::new() };
        Ok(resets.into_iter().map(|number| (self.start(number), self.zone_blocks())).collect())
    }
}
