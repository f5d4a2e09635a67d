//! The part of a recording of several hosts that belongs to one of them.
//!
//! What is said of the whole (warnings, findings) is in no part.

use std::collections::BTreeMap;

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

impl Places {
    fn add(&mut self, other: Places) {
        self.workers.extend(other.workers);
        self.loops.extend(other.loops);
        self.devices.extend(other.devices);
        self.observed.extend(other.observed);
    }
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

    /// The part of each machine with the names of its hosts: ranks on one machine share its
    /// devices, which are in the recording once.
    pub fn machine_parts(&self) -> impl Iterator<Item = (Vec<&str>, Recording)> {
        let mut machines: Vec<(u32, Vec<&str>, Places)> = Vec::new();
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for ((number, host), places) in (0..).zip(&self.hosts).zip(self.places()) {
            let machine = host.rank.map(|_| host.facts.hostname.as_str());
            match machine.and_then(|name| known.get(name)) {
                Some(place) => {
                    let (_, names, all) = &mut machines[*place];
                    names.push(&host.name);
                    all.add(places);
                }
                None => {
                    known.extend(machine.map(|name| (name, machines.len())));
                    machines.push((number, vec![&host.name], places));
                }
            }
        }
        machines.into_iter().map(|(number, names, places)| (names, self.part(number, &places)))
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
    fn ranks_on_one_machine_are_one_part() {
        let mut whole = Recording::from_json(include_str!("../tests/corpus/2-b-start.json")).unwrap();
        let names: Vec<String> = whole.hosts.iter().map(|host| host.name.clone()).collect();
        assert!(whole.hosts.iter().all(|host| host.rank.is_some()));
        whole.hosts[1].facts.hostname = "elsewhere".to_owned();
        let apart: Vec<_> = whole.machine_parts().map(|(hosts, part)| (hosts.join(" "), part)).collect();
        assert_eq!(apart.iter().map(|(_, part)| part.workers.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(apart[1], (names[1].clone(), whole.of_host(1)));
        let mut shared = whole.clone();
        shared.hosts[1].facts.hostname.clone_from(&whole.hosts[0].facts.hostname);
        let together: Vec<_> = shared.machine_parts().collect();
        assert_eq!((together.len(), &together[0].0), (1, &names.iter().map(String::as_str).collect()));
        assert_eq!((together[0].1.workers.len(), together[0].1.devices.len()), (3, 2));
        // Servers of a client are machines of their own, whatever they call themselves.
        shared.hosts.iter_mut().for_each(|host| host.rank = None);
        assert_eq!(shared.machine_parts().count(), 2);
    }

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
