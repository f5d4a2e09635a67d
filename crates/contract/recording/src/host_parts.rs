//! The part of a recording of several hosts that belongs to one of them.
//!
//! What is said of the whole (warnings, findings) is in no part.

use iolab_plan::Plan;

use crate::{Calibration, Host, Observations, Recording};

/// Where things of one host stand in the lists of the recording.
#[derive(Debug, Clone, Default)]
struct Places {
    workers: Vec<usize>,
    loops: Vec<usize>,
    devices: Vec<usize>,
    observed: Vec<usize>,
}

impl Recording {
    /// The part of one host, as a recording of that host alone. Samples of the machine belong to
    /// host 0.
    pub fn of_host(&self, host: u32) -> Recording {
        let places = self.places().into_iter().nth(host as usize).unwrap_or_default();
        self.part(host, &places)
    }

    /// The part of each host, one after the other.
    pub fn parts(&self) -> impl Iterator<Item = (&Host, Recording)> {
        let numbered = (0..).zip(&self.hosts).zip(self.places());
        numbered.map(|((number, host), places)| (host, self.part(number, &places)))
    }

    /// Of all hosts, in one pass: a search for each would take long for many.
    fn places(&self) -> Vec<Places> {
        let mut all = vec![Places::default(); self.hosts.len().max(1)];
        let hosts_of_workers: Vec<u32> = self.plan.workers.iter().map(|worker| worker.host).collect();
        let mut note = |hosts: &mut dyn Iterator<Item = u32>, list: fn(&mut Places) -> &mut Vec<usize>| {
            for (place, host) in hosts.enumerate() {
                if let Some(places) = all.get_mut(host as usize) {
                    list(places).push(place);
                }
            }
        };
        note(&mut hosts_of_workers.iter().copied(), |places| &mut places.workers);
        note(&mut self.devices.iter().map(|device| device.host), |places| &mut places.devices);
        let observed = self.observations.iter().flat_map(|seen| &seen.devices);
        note(&mut observed.map(|device| device.host), |places| &mut places.observed);
        // Hosts share no loop.
        let loops = self.calibration.iter().flat_map(|calibration| &calibration.loops);
        let first = |workers: &[u32]| workers.first().and_then(|worker| hosts_of_workers.get(*worker as usize));
        note(&mut loops.map(|cost| first(&cost.workers).copied().unwrap_or(0)), |places| &mut places.loops);
        all
    }

    fn part(&self, host: u32, places: &Places) -> Recording {
        fn at<T: Clone>(list: &[T], places: &[usize]) -> Vec<T> {
            places.iter().filter_map(|place| list.get(*place)).cloned().collect()
        }
        Recording {
            iolab_recording: crate::FORMAT,
            iolab_version: self.iolab_version.clone(),
            plan: Plan {
                sources: self.plan.sources.clone(),
                global_options: self.plan.global_options.clone(),
                workers: at(&self.plan.workers, &places.workers),
                warnings: Vec::new(),
                rank: self.plan.rank.clone(),
            },
            host: self.hosts.get(host as usize).map_or_else(|| self.host.clone(), |host| host.facts.clone()),
            hosts: Vec::new(),
            calibration: self
                .calibration
                .as_ref()
                .map(|whole| Calibration { loops: at(&whole.loops, &places.loops), ..*whole }),
            workers: at(&self.workers, &places.workers),
            devices: at(&self.devices, &places.devices),
            observations: self.observations.as_ref().map(|seen| Observations {
                devices: at(&seen.devices, &places.observed),
                network: seen.network.iter().filter(|network| network.host == host).cloned().collect(),
                host: if host > 0 { Vec::new() } else { seen.host.clone() },
                ..*seen
            }),
            idleness: self.idleness.clone(),
            findings: Vec::new(),
            warnings: Vec::new(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_has_what_is_its_hosts_own() {
        let whole = Recording::from_json(include_str!("../tests/corpus/2-b-start.json")).unwrap();
        let parts: Vec<(&Host, Recording)> = whole.parts().collect();
        assert_eq!(parts.len(), 2);
        for ((number, (host, part)), workers) in (0..).zip(&parts).zip([2, 1]) {
            assert_eq!(part, &whole.of_host(number));
            assert_eq!((part.workers.len(), part.devices.len(), part.host == host.facts), (workers, 1, true));
            assert!(part.plan.workers.iter().all(|worker| worker.host == number));
            assert!(part.devices.iter().all(|device| device.host == number));
            let loops = &part.calibration.as_ref().unwrap().loops;
            let own = |worker: &u32| whole.plan.workers[*worker as usize].host == number;
            assert!(!loops.is_empty() && loops.iter().all(|cost| cost.workers.iter().all(own)), "{loops:?}");
        }
    }
}
