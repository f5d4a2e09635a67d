//! Where reads and trims go: to zones that hold something.

use iolab_engine::{Op, ZoneKind};

use super::{Held, Placing};
use crate::hot_loop::checker::{Checker, Placed};

impl<C: Checker> Placing<'_, C> {
    pub(super) fn place_read(&mut self, op: &Op) -> Placed {
        let file = self.file(op);
        let asked = file.table.zone_of(op.offset);
        if self.reads_back || self.plan.reads_beyond {
            return self.place_reader(op, asked, *op);
        }
        let there = file.table.look(asked);
        if there.kind == ZoneKind::Conventional {
            let room = there.start_bytes + file.table.zone_bytes() - op.offset;
            return self.place_reader(op, asked, cut(op, op.offset, room));
        }
        let within = op.offset - there.start_bytes;
        if !self.is_random {
            if within >= there.written_bytes {
                return self.nowhere(op);
            }
            return self.place_reader(op, asked, cut(op, op.offset, there.written_bytes - within));
        }
        let length = u64::from(op.length);
        let Some((zone, there)) = file.with_data(asked, length) else {
            // Nothing has been written yet. Another operation of the job will.
            return if self.writes { self.nowhere(op) } else { Placed::Over };
        };
        if zone == asked && within + length <= there.written_bytes {
            return self.place_reader(op, zone, *op);
        }
        // As many places as fit below the write pointer, all equally likely.
        let places = (there.written_bytes - length) / length + 1;
        let offset = there.start_bytes + within / length % places * length;
        self.place_reader(op, zone, Op { offset, ..*op })
    }

    fn place_reader(&mut self, asked: &Op, zone: usize, placed: Op) -> Placed {
        if !self.file(asked).table.begin_read(zone) {
            return Placed::Later;
        }
        self.placed(asked, placed, Some(Held { file: asked.file, zone, reads: true }))
    }

    /// A trim is the reset of a zone that holds something.
    pub(super) fn place_trim(&mut self, op: &Op) -> Placed {
        let file = self.file(op);
        let asked = file.table.zone_of(op.offset);
        let zone = match file.with_data(asked, 1) {
            Some((zone, there)) if there.kind == ZoneKind::Sequential && (zone == asked || self.is_random) => zone,
            None if self.is_random && !self.writes => return Placed::Over,
            _ => return self.nowhere(op),
        };
        let table = &file.table;
        if !table.claim(zone, self.owner) {
            return Placed::Later;
        }
        if !table.keep_readers_out(zone) {
            table.release(zone);
            return Placed::Later;
        }
        let (offset, length) = (table.start_of(zone), table.zone_bytes() as u32);
        self.placed(op, Op { offset, length, ..*op }, Some(Held { file: op.file, zone, reads: false }))
    }
}

/// The operation at another offset, at most as long as there is room.
pub(super) fn cut(op: &Op, offset: u64, room: u64) -> Op {
    Op { offset, length: u64::from(op.length).min(room) as u32, ..*op }
}
