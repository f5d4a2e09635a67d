//! Compares zones with a naive reference model, which recomputes all counts and has one line for
//! every rule.

use super::*;
use iolab_nvme_spec::FromBytes;
use iolab_nvme_spec::zone::{ReportedZones, ZoneDescriptor, ZoneReceive, ZoneSendAction};

const LAYOUT: ZoneLayout = ZoneLayout { zone_bytes: 16 * 512, capacity_bytes: 12 * 512, max_open: 2, max_active: 3 };
const ZONES: usize = 6;

fn table() -> ZoneTable {
    ZoneTable::new(LAYOUT, ZONES as u64 * LAYOUT.zone_bytes, 9)
}

/// The reference: a letter for each state, E I X C F R O.
#[derive(Clone)]
struct Model {
    state: [char; ZONES],
    written: [u64; ZONES],
    order: Vec<usize>,
}

impl Model {
    fn count(&self, letters: &str) -> usize {
        self.state.iter().filter(|state| letters.contains(**state)).count()
    }

    /// Opens a zone as `to`, or returns why not.
    fn open(&mut self, zone: usize, to: char) -> Result<(), Status> {
        if !"IXC".contains(self.state[zone]) && self.count("IXC") == 3 {
            return Err(Status::TOO_MANY_ACTIVE_ZONES);
        }
        if !"IX".contains(self.state[zone]) && self.count("IX") == 2 {
            let oldest = self.order.iter().copied().find(|other| self.state[*other] == 'I');
            self.state[oldest.ok_or(Status::TOO_MANY_OPEN_ZONES)?] = 'C';
        }
        self.state[zone] = to;
        self.order.retain(|other| *other != zone);
        self.order.push(zone);
        Ok(())
    }

    fn write(&mut self, lba: u64, blocks: u64, append: bool) -> Result<u64, Status> {
        let zone = (lba / 16) as usize;
        if append && !lba.is_multiple_of(16) {
            return Err(Status::INVALID_FIELD);
        }
        match self.state[zone] {
            'F' => return Err(Status::ZONE_FULL),
            'R' => return Err(Status::ZONE_READ_ONLY),
            'O' => return Err(Status::ZONE_OFFLINE),
            _ => {}
        }
        let offset = if append { self.written[zone] } else { lba % 16 };
        if offset + blocks > 12 {
            return Err(Status::ZONE_BOUNDARY_ERROR);
        }
        if offset != self.written[zone] {
            return Err(Status::ZONE_INVALID_WRITE);
        }
        if !"IX".contains(self.state[zone]) {
            self.open(zone, 'I')?;
        }
        self.written[zone] += blocks;
        if self.written[zone] == 12 {
            self.state[zone] = 'F';
        }
        Ok(zone as u64 * 16 + offset)
    }

    fn act(&mut self, action: ZoneSendAction, zone: usize) -> Result<(), Status> {
        let state = self.state[zone];
        match (action, state) {
            (ZoneSendAction::OPEN, 'X') | (ZoneSendAction::FINISH, 'F') | (ZoneSendAction::RESET, 'E') => {}
            (ZoneSendAction::OPEN, 'E' | 'I' | 'C') => self.open(zone, 'X')?,
            (ZoneSendAction::CLOSE, 'I' | 'X' | 'C') => self.state[zone] = 'C',
            (ZoneSendAction::FINISH, 'E' | 'I' | 'X' | 'C') => (self.state[zone], self.written[zone]) = ('F', 12),
            (ZoneSendAction::RESET, 'I' | 'X' | 'C' | 'F') => (self.state[zone], self.written[zone]) = ('E', 0),
            (ZoneSendAction::OFFLINE, 'R' | 'O') => self.state[zone] = 'O',
            _ => return Err(Status::INVALID_ZONE_TRANSITION),
        }
        Ok(())
    }

    fn act_on_all(&mut self, action: ZoneSendAction) -> Result<(), Status> {
        let letters = match action {
            ZoneSendAction::OPEN => "C",
            ZoneSendAction::CLOSE => "IX",
            ZoneSendAction::FINISH => "IXC",
            ZoneSendAction::RESET => "IXCF",
            _ => "R",
        };
        let mut trial = self.clone();
        for zone in 0..ZONES {
            if letters.contains(self.state[zone]) && letters.contains(trial.state[zone]) {
                trial.act(action, zone)?;
            }
        }
        *self = trial;
        Ok(())
    }
}

fn letter(state: ZoneState) -> char {
    match state {
        ZoneState::EMPTY => 'E',
        ZoneState::IMPLICITLY_OPENED => 'I',
        ZoneState::EXPLICITLY_OPENED => 'X',
        ZoneState::CLOSED => 'C',
        ZoneState::FULL => 'F',
        ZoneState::READ_ONLY => 'R',
        _ => 'O',
    }
}

fn states(table: &ZoneTable) -> String {
    table.zones.iter().map(|zone| letter(zone.state)).collect()
}

proptest::proptest! {
    #[test]
    fn zones_do_what_the_reference_does(
        steps in proptest::collection::vec((0u8..12, 0usize..ZONES, 0u64..14, 1u64..7), 1..200)
    ) {
        let mut table = table();
        let mut model = Model { state: ['E'; ZONES], written: [0; ZONES], order: Vec::new() };
        for (step, zone, offset, blocks) in steps {
            let start = zone as u64 * 16;
            let actions = [ZoneSendAction::CLOSE, ZoneSendAction::FINISH, ZoneSendAction::OPEN, ZoneSendAction::RESET];
            let (ours, theirs) = match step {
                0..=4 => {
                    let append = step == 0;
                    // Most writes go to a valid position; otherwise nothing would ever be written.
                    let at = if step >= 3 { model.written[zone].min(15) } else { offset };
                    let lba = if append && step % 2 == 0 { start } else { start + at };
                    let placement = if append { Placement::Append } else { Placement::Named };
                    let ours = table.check_write(lba, blocks, placement).map(|write| {
                        table.commit_write(write);
                        Some(write.lba)
                    });
                    (ours, model.write(lba, blocks, append).map(Some))
                }
                5..=8 => {
                    let action = actions[usize::from(step - 5)];
                    (table.act(action, start, false).map(|_| None), model.act(action, zone).map(|()| None))
                }
                9 => {
                    let action = actions[offset as usize % 4];
                    (table.act(action, 0, true).map(|_| None), model.act_on_all(action).map(|()| None))
                }
                10 => {
                    (table.act(ZoneSendAction::OFFLINE, start, false).map(|_| None),
                     model.act(ZoneSendAction::OFFLINE, zone).map(|()| None))
                }
                _ if offset == 0 => {
                    table.force(zone as u64, ZoneState::READ_ONLY);
                    model.state[zone] = 'R';
                    (Ok(None), Ok(None))
                }
                _ => (Ok(None), Ok(None)),
            };
            proptest::prop_assert_eq!(ours.map_err(|refusal| refusal.status.code()), theirs, "step {}", step);
            proptest::prop_assert_eq!(states(&table), model.state.iter().collect::<String>());
            proptest::prop_assert_eq!(table.open as usize, model.count("IX"));
            proptest::prop_assert_eq!(table.active as usize, model.count("IXC"));
        }
    }
}

fn report(table: &ZoneTable, lba: u64, bytes: usize, request: ZoneReceive) -> (u64, Vec<ZoneDescriptor>) {
    let answer = table.report(Report { lba, bytes, request }).unwrap();
    let count = u64::from_le_bytes(answer[..8].try_into().unwrap());
    (count, answer[64..].chunks_exact(64).map(|raw| ZoneDescriptor::read_from_bytes(raw).unwrap()).collect())
}

#[test]
fn reports_count_what_matches_and_list_what_fits() {
    let mut table = table();
    table.act(ZoneSendAction::FINISH, 16, false).unwrap();
    let write = table.check_write(32, 5, Placement::Named).unwrap();
    table.commit_write(write);
    let all = ZoneReceive(0);
    let (count, zones) = report(&table, 0, 4096, all);
    assert_eq!((count, zones.len()), (6, 6));
    assert_eq!((zones[1].state(), zones[1].wp.get()), (ZoneState::FULL, u64::MAX));
    assert_eq!((zones[2].wp.get(), zones[2].zslba.get(), zones[2].zcap.get()), (37, 32, 12));
    assert_eq!(report(&table, 40, 4096, all).0, 4, "from the zone that holds the block");
    let (count, zones) = report(&table, 0, 64 + 2 * 64 + 63, all);
    assert_eq!((count, zones.len()), (6, 2));
    assert_eq!(report(&table, 0, 64 + 2 * 64, all.with_partial(true)).0, 2);
    assert_eq!(report(&table, 0, 4096, all.with_zrasf(ReportedZones::EMPTY.0)).0, 4);
    let refused = |lba, request| table.report(Report { lba, bytes: 4096, request }).unwrap_err().status.code();
    assert_eq!(refused(96, all), Status::LBA_OUT_OF_RANGE);
    assert_eq!(refused(0, all.with_zra(1)), Status::INVALID_FIELD);
    assert_eq!(refused(0, all.with_zrasf(9)), Status::INVALID_FIELD);
}

#[test]
fn zones_that_the_device_changes_are_logged_once() {
    let mut table = table();
    assert!(table.force(2, ZoneState::OFFLINE));
    assert!(!table.force(6, ZoneState::OFFLINE));
    assert_eq!(table.check_read(31, 1), Ok(()));
    let refused = table.check_read(31, 2).unwrap_err();
    assert_eq!((refused.status.code(), refused.lba), (Status::ZONE_OFFLINE, 32));
    assert_eq!(table.take_changed(true).len(), 1);
    assert_eq!(table.take_changed(false).into_iter().collect::<Vec<_>>(), [32]);
    assert!(table.take_changed(false).is_empty());
}
