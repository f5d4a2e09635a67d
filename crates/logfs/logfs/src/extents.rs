//! Where the bytes of a file are: a map from offsets to stretches on the disk or in memory. Offsets
//! without an entry are holes.

use std::collections::BTreeMap;

/// Stretches in memory are merged up to this length, so that appending byte by byte stays cheap.
const JOINED_BYTES: usize = 16 << 10;

/// Where a stretch is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the disk from this byte on.
    Disk(u64),
    /// In the metadata log, and in memory here.
    Inline(Vec<u8>),
}

/// A stretch of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) length: u64,
    pub(crate) place: Place,
}

impl Extent {
    pub(crate) fn disk(length: u64, place: u64) -> Extent {
        Extent { length, place: Place::Disk(place) }
    }

    pub(crate) fn inline(content: Vec<u8>) -> Extent {
        Extent { length: content.len() as u64, place: Place::Inline(content) }
    }

    fn inline_bytes(&self) -> u64 {
        match &self.place {
            Place::Disk(_) => 0,
            Place::Inline(content) => content.len() as u64,
        }
    }

    /// Keeps the first `length` bytes and returns the others.
    fn split_off(&mut self, length: u64) -> Extent {
        let rest = self.length - length;
        self.length = length;
        let place = match &mut self.place {
            Place::Disk(place) => Place::Disk(*place + length),
            Place::Inline(content) => Place::Inline(content.split_off(length as usize)),
        };
        Extent { length: rest, place }
    }
}

/// The stretches of one file; they do not overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ExtentMap {
    map: BTreeMap<u64, Extent>,
    inline_bytes: u64,
    disk_bytes: u64,
}

impl ExtentMap {
    /// Bytes held in memory.
    pub(crate) fn inline_bytes(&self) -> u64 {
        self.inline_bytes
    }

    /// Bytes that are not holes.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.inline_bytes + self.disk_bytes
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Extent)> {
        self.map.iter().map(|(offset, extent)| (*offset, extent))
    }

    /// The stretches that touch `from..to`, whole.
    pub(crate) fn touching(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, &Extent)> {
        let before = self.map.range(..from).next_back().filter(|(offset, extent)| *offset + extent.length > from);
        let start = before.map_or(from, |(offset, _)| *offset);
        self.map.range(start..to.max(start)).map(|(offset, extent)| (*offset, extent))
    }

    /// Where the last stretch ends.
    pub(crate) fn end(&self) -> u64 {
        self.map.last_key_value().map_or(0, |(offset, extent)| offset + extent.length)
    }

    /// Makes `from..to` a hole and returns what was there.
    pub(crate) fn clear(&mut self, from: u64, to: u64) -> Vec<(u64, Extent)> {
        if from >= to {
            return Vec::new();
        }
        // Check the last one that begins before the end first: often the range is still empty, or
        // this is the only stretch in it.
        let Some((start, last)) = self.map.range(..to).next_back() else { return Vec::new() };
        let end = start + last.length;
        if end <= from {
            return Vec::new();
        }
        if *start <= from
            && end >= to
            && let Some(extent) = self.cut_out(from, to)
        {
            return vec![(from, extent)];
        }
        self.split_at(from);
        self.split_at(to);
        let mut gone = Vec::new();
        while let Some((&offset, _)) = self.map.range(from..to).next() {
            let Some(extent) = self.map.remove(&offset) else { break };
            self.inline_bytes -= extent.inline_bytes();
            self.disk_bytes -= extent.length - extent.inline_bytes();
            gone.push((offset, extent));
        }
        gone
    }

    /// Removes `from..to` from the one stretch on the disk that covers all of it, if there is one:
    /// the usual case of overwriting.
    fn cut_out(&mut self, from: u64, to: u64) -> Option<Extent> {
        let (&start, extent) = self.map.range_mut(..=from).next_back()?;
        let (Place::Disk(place), end) = (&extent.place, start + extent.length) else { return None };
        let place = *place;
        if end < to {
            return None;
        }
        if start < from {
            extent.length = from - start;
        } else {
            self.map.remove(&start);
        }
        if end > to {
            self.map.insert(to, Extent::disk(end - to, place + (to - start)));
        }
        self.disk_bytes -= to - from;
        Some(Extent::disk(to - from, place + (from - start)))
    }

    /// Inserts a stretch where a hole is. Adjacent stretches are merged within a cluster.
    pub(crate) fn put(&mut self, offset: u64, extent: Extent, cluster_bytes: u32) {
        self.inline_bytes += extent.inline_bytes();
        self.disk_bytes += extent.length - extent.inline_bytes();
        if let Some((at, before)) = self.map.range_mut(..offset).next_back()
            && at + before.length == offset
        {
            match (&mut before.place, &extent.place) {
                (Place::Disk(place), Place::Disk(next))
                    if *place + before.length == *next && !next.is_multiple_of(u64::from(cluster_bytes)) =>
                {
                    before.length += extent.length;
                    let joined = (*at, *place, before.length);
                    return self.join_next(joined, cluster_bytes);
                }
                (Place::Inline(content), Place::Inline(more)) if content.len() + more.len() <= JOINED_BYTES => {
                    content.extend_from_slice(more);
                    before.length += extent.length;
                    return;
                }
                _ => {}
            }
        }
        let on_disk = if let Place::Disk(place) = extent.place { Some((offset, place, extent.length)) } else { None };
        self.map.insert(offset, extent);
        on_disk.into_iter().for_each(|stretch| self.join_next(stretch, cluster_bytes));
    }

    /// Merges a stretch on the disk with the next one, if that continues it: concurrent writes
    /// complete in any order.
    fn join_next(&mut self, (start, place, length): (u64, u64, u64), cluster_bytes: u32) {
        let (at, goes_on_at) = (start + length, place + length);
        if goes_on_at.is_multiple_of(u64::from(cluster_bytes)) {
            return;
        }
        let Some(next) = self.map.get(&at).filter(|next| next.place == Place::Disk(goes_on_at)) else { return };
        let more = next.length;
        self.map.remove(&at);
        self.map.get_mut(&start).into_iter().for_each(|stretch| stretch.length += more);
    }

    /// Removes the stretches one by one, the last first.
    pub(crate) fn pop(&mut self) -> Option<(u64, Extent)> {
        self.map.pop_last()
    }

    fn split_at(&mut self, point: u64) {
        let Some((offset, extent)) = self.map.range_mut(..point).next_back() else { return };
        if offset + extent.length > point {
            let rest = extent.split_off(point - offset);
            self.map.insert(point, rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_agree_with_an_array_of_bytes() {
        const CLUSTER: u32 = 64;
        let mut seed = 1_u64;
        let mut random = |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        let mut map = ExtentMap::default();
        // What each offset holds: nothing, a byte in memory, or a place on the disk.
        let mut expected = vec![None; 600];
        for round in 0..5_000_u64 {
            let (from, length) = (random(500), random(90) + 1);
            map.clear(from, from + length);
            (from..from + length).for_each(|at| expected[at as usize] = None);
            match random(3) {
                0 => {
                    map.put(from, Extent::disk(length, round * 100), CLUSTER);
                    (0..length).for_each(|at| expected[(from + at) as usize] = Some((true, round * 100 + at)));
                }
                1 => {
                    map.put(from, Extent::inline(vec![round as u8; length as usize]), CLUSTER);
                    (0..length).for_each(|at| expected[(from + at) as usize] = Some((false, round & 0xff)));
                }
                _ => {}
            }
            let mut found = vec![None; 600];
            for (offset, extent) in map.iter() {
                for at in 0..extent.length {
                    let value = match &extent.place {
                        Place::Disk(place) => (true, place + at),
                        Place::Inline(content) => (false, u64::from(content[at as usize])),
                    };
                    assert_eq!(found[(offset + at) as usize].replace(value), None, "stretches overlap");
                }
            }
            assert_eq!(found, expected, "round {round}");
            assert_eq!(map.stored_bytes(), expected.iter().flatten().count() as u64);
            let inline = expected.iter().flatten().filter(|(on_disk, _)| !on_disk).count();
            assert_eq!(map.inline_bytes(), inline as u64);
            let touching: Vec<u64> = map.touching(from, from + length).map(|(offset, _)| offset).collect();
            let direct = map.iter().filter(|(offset, extent)| *offset < from + length && offset + extent.length > from);
            assert_eq!(touching, direct.map(|(offset, _)| offset).collect::<Vec<u64>>());
        }
    }
}
