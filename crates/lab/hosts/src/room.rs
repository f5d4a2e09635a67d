//! Whether there is room for all ranks of a machine together: each has judged only its own files.
//!
//! File systems that several machines share are judged on each machine by itself: what tells one
//! from another is known on one machine only.

use std::collections::BTreeMap;
use std::path::PathBuf;

use iolab_activity::Failure;
use iolab_guard::FileSystemRoom;
use serde::{Deserialize, Serialize};

/// Most files of a rank that are told one by one; of the others, the sum.
const MOST_FILES: usize = 1000;

/// A file system of a rank, and what its files need of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RoomThere {
    device: u64,
    usable_bytes: u64,
    missing: Vec<(PathBuf, u64)>,
}

impl RoomThere {
    /// Of the rank with this number.
    pub(crate) fn of(room: &FileSystemRoom, rank: u32) -> RoomThere {
        let mut missing: Vec<(PathBuf, u64)> =
            room.missing.iter().take(MOST_FILES).map(|(path, bytes)| (path.clone(), *bytes)).collect();
        let others = room.missing.values().skip(MOST_FILES).fold(0, |sum: u64, bytes| sum.saturating_add(*bytes));
        if others > 0 {
            missing.push((format!("other files of rank {rank}").into(), others));
        }
        RoomThere { device: room.device, usable_bytes: room.usable_bytes, missing }
    }
}

impl From<&RoomThere> for FileSystemRoom {
    fn from(there: &RoomThere) -> FileSystemRoom {
        let RoomThere { device, usable_bytes, missing } = there;
        FileSystemRoom { device: *device, usable_bytes: *usable_bytes, missing: missing.iter().cloned().collect() }
    }
}

/// Why the ranks of some machine cannot run together; `None` if there is room on all. Of each rank:
/// its machine, how it is called, and what it needs.
pub(crate) fn together<'p>(ranks: impl Iterator<Item = (&'p str, &'p str, &'p [RoomThere])>) -> Option<Failure> {
    let mut machines: BTreeMap<(&str, u64), (Vec<&str>, FileSystemRoom)> = BTreeMap::new();
    for (machine, called, rooms) in ranks {
        for there in rooms {
            let room = FileSystemRoom::from(there);
            match machines.get_mut(&(machine, there.device)) {
                Some((ranks, all)) => {
                    ranks.push(called);
                    all.add(room);
                }
                None => drop(machines.insert((machine, there.device), (vec![called], room))),
            }
        }
    }
    machines.into_values().find_map(|(ranks, room)| {
        let failure = iolab_pipeline::no_room([&room])?;
        let all =
            if let [first, .., last] = ranks[..] { format!("{first} to {last} together") } else { ranks.concat() };
        Some(Failure { message: format!("{all}: {}", failure.message), ..failure })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(missing: &[(&str, u64)]) -> Vec<RoomThere> {
        let missing = missing.iter().map(|(path, bytes)| (PathBuf::from(path), *bytes)).collect();
        vec![RoomThere { device: 7, usable_bytes: 100, missing }]
    }

    #[test]
    fn ranks_of_one_machine_share_its_room() {
        let (shared, first, second) = (there(&[("it", 90)]), there(&[("a", 60)]), there(&[("b", 60)]));
        for (ranks, short) in [
            ([("m", &shared), ("m", &shared)], None),
            ([("m", &first), ("other", &second)], None),
            ([("m", &first), ("m", &second)], Some("rank 0 to rank 1 together: no room")),
        ] {
            let named =
                (0..).zip(ranks).map(|(number, (machine, rooms))| (machine, ["rank 0", "rank 1"][number], &rooms[..]));
            let failure = together(named).map(|failure| failure.message);
            assert_eq!(failure.is_some(), short.is_some(), "{failure:?}");
            let said = failure.unwrap_or_default();
            assert!(said.starts_with(short.unwrap_or_default()), "{said}");
        }
    }

    #[test]
    fn of_many_files_the_sum_is_told() {
        let missing = (0..MOST_FILES + 5).map(|number| (PathBuf::from(format!("{number:05}")), 2)).collect();
        let told = RoomThere::of(&FileSystemRoom { device: 1, usable_bytes: 9, missing }, 3);
        assert_eq!(told.missing.len(), MOST_FILES + 1);
        assert_eq!(told.missing.last().unwrap(), &("other files of rank 3".into(), 10));
    }
}
