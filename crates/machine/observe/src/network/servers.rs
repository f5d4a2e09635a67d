//! Programs of this machine at the other end of the run's connections, and what they read from
//! storage and write to it (`/proc/PID/io`, proc_pid_io(5)).

use std::collections::{BTreeMap, BTreeSet};

use iolab_recording::ServerSample;

use crate::System;

/// The processes of the servers that were found.
#[derive(Debug, Default)]
pub(super) struct Servers {
    /// By program, and in it by process: bytes that it had read and written when it was last there.
    programs: BTreeMap<String, BTreeMap<i32, (u64, u64)>>,
}

impl Servers {
    /// Looks for the owners of these sockets, and for processes of the same programs, which share
    /// their work. Not among the run's own processes.
    pub(super) fn find(&mut self, system: &System, sockets: &BTreeSet<u64>, own: &BTreeSet<i32>) {
        let all: Vec<_> =
            system.processes().into_iter().filter(|one| !one.is_kernel && !own.contains(&one.id)).collect();
        for one in &all {
            let is_owner = system.sockets_of(one.id).iter().any(|socket| sockets.contains(socket));
            if is_owner && !self.programs.contains_key(&one.name) {
                self.programs.insert(one.name.clone(), BTreeMap::new());
            }
        }
        for one in all {
            if let Some(processes) = self.programs.get_mut(&one.name) {
                processes.entry(one.id).or_insert((0, 0));
            }
        }
    }

    /// A sample for each program. A process that has ended keeps what it had.
    pub(super) fn look(&mut self, system: &System, at_ns: u64) -> Vec<(&str, ServerSample)> {
        let programs = self.programs.iter_mut().map(|(name, processes)| {
            let mut sample = ServerSample { at_ns, processes: processes.len() as u64, ..ServerSample::default() };
            for (process, counts) in processes {
                if let Some(now) = storage_bytes(system, *process) {
                    *counts = now;
                }
                sample.read_bytes = sample.read_bytes.saturating_add(counts.0);
                sample.written_bytes = sample.written_bytes.saturating_add(counts.1);
            }
            (name.as_str(), sample)
        });
        programs.collect()
    }
}

/// `read_bytes` and `write_bytes` of a process.
fn storage_bytes(system: &System, process: i32) -> Option<(u64, u64)> {
    let text = system.read(&format!("proc/{process}/io"))?;
    let number = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some((number("read_bytes:")?, number("write_bytes:")?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::system::fixtures::Fixture;

    #[test]
    fn owners_of_sockets_and_their_like_are_added_up() {
        let mut fixture = Fixture::new();
        for (id, name, socket, read, written) in
            [(10, "osd", 77, 100, 200), (11, "osd", 78, 1, 2), (12, "sh", 79, 9, 9), (13, "own", 77, 9, 9)]
        {
            let stat = format!("{id} ({name}) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 1 1");
            fixture.file(&format!("proc/{id}/stat"), &stat).file(&format!("proc/{id}/fd/keep"), "");
            let io = format!("rchar: 5\nread_bytes: {read}\nwrite_bytes: {written}\ncancelled_write_bytes: 0\n");
            fixture.file(&format!("proc/{id}/io"), &io);
            let system = fixture.system();
            symlink(format!("socket:[{socket}]"), system.path(&format!("proc/{id}/fd/3"))).unwrap();
        }
        let mut servers = Servers::default();
        servers.find(&fixture.system(), &BTreeSet::from([77]), &BTreeSet::from([13]));
        let sample =
            |processes, read_bytes, written_bytes| ServerSample { at_ns: 4, processes, read_bytes, written_bytes };
        assert_eq!(servers.look(&fixture.system(), 4), [("osd", sample(2, 101, 202))]);
        // One ends: its file cannot be read.
        fixture.file("proc/11/io", "").file("proc/10/io", "read_bytes: 300\nwrite_bytes: 201\n");
        assert_eq!(servers.look(&fixture.system(), 4), [("osd", sample(2, 301, 203))]);
    }
}
