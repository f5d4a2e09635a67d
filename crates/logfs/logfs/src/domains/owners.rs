//! Which domain owns which cluster (docs/logfs/format.md, "Owner map").
//!
//! A map gives every cluster exactly one owner; it cannot express that two domains own the same
//! one. It changes only with the generation of the file system, which the bootstrap record names.

use iolab_checksum::crc32c;
use iolab_disk::Buffer;

use crate::bytes::{Put, Take};
use crate::{Disk, Error, Layout};

/// Bytes of an encoded run.
const RUN_BYTES: usize = 8;

/// Runs of clusters with their owners; each reaches from its first cluster to the first of the next
/// run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Owners {
    runs: Vec<(u32, u32)>,
    end: u32,
}

impl Owners {
    /// Contiguous shares, as equal as possible.
    pub(crate) fn shares(clusters: u32, domains: u32) -> Owners {
        let usable = u64::from(clusters.saturating_sub(2));
        let start = |domain: u32| 1 + (usable * u64::from(domain) / u64::from(domains.max(1))) as u32;
        Owners { runs: (0..domains).map(|domain| (start(domain), domain)).collect(), end: clusters.max(1) - 1 }
    }

    /// From the owner of each cluster, from the second to the last but one.
    pub(crate) fn of_each(owners: impl IntoIterator<Item = u32>) -> Owners {
        let (mut runs, mut end) = (Vec::<(u32, u32)>::new(), 1);
        for owner in owners {
            if runs.last().is_none_or(|(_, last)| *last != owner) {
                runs.push((end, owner));
            }
            end += 1;
        }
        Owners { runs, end }
    }

    pub(crate) fn runs(&self) -> u32 {
        self.runs.len() as u32
    }

    /// The clusters of a domain, in order.
    pub(crate) fn of(&self, domain: u32) -> impl Iterator<Item = u32> {
        let ends = self.runs.iter().skip(1).map(|(first, _)| *first).chain([self.end]);
        let own = self.runs.iter().zip(ends).filter(move |((_, owner), _)| *owner == domain);
        own.flat_map(|((first, _), end)| *first..end)
    }

    pub(crate) fn owner(&self, cluster: u32) -> Option<u32> {
        let behind = self.runs.partition_point(|(first, _)| *first <= cluster);
        let run = behind.checked_sub(1).and_then(|run| self.runs.get(run));
        run.filter(|_| cluster < self.end).map(|(_, owner)| *owner)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (first, owner) in &self.runs {
            bytes.put_u32(*first);
            bytes.put_u32(*owner);
        }
        bytes
    }

    pub(crate) fn checksum(&self) -> u32 {
        crc32c(&self.encode())
    }

    fn decode(bytes: &[u8], layout: &Layout) -> Option<Owners> {
        let bytes = bytes.get(..layout.map_runs as usize * RUN_BYTES)?;
        if crc32c(bytes) != layout.map_checksum {
            return None;
        }
        let (mut take, mut runs) = (Take(bytes), Vec::new());
        while !take.0.is_empty() {
            runs.push((take.u32()?, take.u32()?));
        }
        let end = layout.clusters - 1;
        let ascends = runs.is_sorted_by(|one, next| one.0 < next.0);
        let starts = runs.first().is_some_and(|(first, _)| *first == 1);
        let within = runs.iter().all(|(first, owner)| *first < end && *owner < layout.domains);
        (ascends && starts && within).then_some(Owners { runs, end })
    }
}

/// Reads the map, from its copy if necessary; also returns which of the two are valid.
pub(crate) async fn read_owners(disk: &Disk, layout: &Layout) -> Result<(Owners, [bool; 2]), Error> {
    if !layout.is_mapped() {
        return Ok((Owners::shares(layout.clusters, 1), [true; 2]));
    }
    let mut found = [None, None];
    for ((place, room), found) in layout.map_places().into_iter().zip(&mut found) {
        let bytes = disk.read(place, room as usize).await;
        *found = bytes.ok().and_then(|bytes| Owners::decode(&bytes, layout));
    }
    let good = [found[0].is_some(), found[1].is_some()];
    let best = found.into_iter().flatten().next();
    best.map(|owners| (owners, good)).ok_or_else(|| Error::Corrupt("neither owner map can be read".to_owned()))
}

/// Writes both copies of the map. It becomes valid with the bootstrap record.
pub(crate) async fn write_owners(disk: &Disk, layout: &Layout, owners: &Owners) -> Result<(), Error> {
    let bytes = owners.encode();
    for (place, room) in layout.map_places() {
        if bytes.len() as u64 > room {
            let runs = owners.runs();
            return Err(Error::Unusable(format!("clusters have {runs} runs of owners, too many for the owner map")));
        }
        disk.write(place, Buffer::padded(&bytes, layout.block_bytes as usize)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cluster_has_the_owner_that_it_was_given() {
        let given: Vec<u32> = (0..200).map(|cluster: u32| cluster * cluster / 50 % 3).collect();
        let owners = Owners::of_each(given.clone());
        for (owner, cluster) in given.iter().zip(1..) {
            assert_eq!(owners.owner(cluster), Some(*owner), "cluster {cluster}");
        }
        assert_eq!((owners.owner(0), owners.owner(201)), (None, None));
        for domain in 0..3 {
            let expected = given.iter().zip(1..).filter(|(owner, _)| **owner == domain).map(|(_, cluster)| cluster);
            assert!(owners.of(domain).eq(expected));
        }
    }

    #[test]
    fn shares_cover_everything_and_differ_by_one_at_most() {
        for (clusters, domains) in [(34, 1), (100, 3), (101, 7), (1_000, 12)] {
            let shares = Owners::shares(clusters, domains);
            let counts: Vec<usize> = (0..domains).map(|domain| shares.of(domain).count()).collect();
            assert_eq!(counts.iter().sum::<usize>(), clusters as usize - 2);
            assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{counts:?}");
        }
    }
}
