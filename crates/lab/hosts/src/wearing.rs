//! Jobs that wear out (`wear_out`) on several hosts: when the time of all is up, each is told how
//! much the busiest of all hosts has done.

use std::collections::BTreeMap;

use iolab_plan::Plan;

use crate::message::ToServer;
use crate::peer::Peer;

/// The jobs that are not over yet, with the hosts that run them.
#[derive(Debug)]
pub(crate) struct WearingJobs(BTreeMap<String, Vec<usize>>);

impl WearingJobs {
    /// Those of a plan of all hosts.
    pub(crate) fn of(plan: &Plan) -> WearingJobs {
        let mut jobs: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for worker in plan.workers.iter().filter(|worker| worker.limits.wear_out) {
            let hosts = jobs.entry(worker.job.clone()).or_default();
            if hosts.last() != Some(&(worker.host as usize)) {
                hosts.push(worker.host as usize);
            }
        }
        WearingJobs(jobs)
    }

    /// Whether no host waits for what others reach.
    pub(crate) fn are_over(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells the hosts of each job that all have reached, or cannot reach any more.
    pub(crate) fn tell_goals(&mut self, peers: &mut [Peer]) {
        self.0.retain(|job, hosts| {
            let reached = |host: &usize| peers[*host].reached.get(job).copied();
            if hosts.iter().any(|host| reached(host).is_none() && peers[*host].is_there()) {
                return true;
            }
            let operations = hosts.iter().filter_map(reached).max().unwrap_or(0);
            for host in hosts {
                peers[*host].say(&ToServer::Goal { job: job.clone(), operations });
            }
            false
        });
    }
}
