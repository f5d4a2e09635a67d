//! Mounts of network file systems, and what NFS counts of them
//! (`/proc/self/mountstats`; nfs-utils describes its fields in mountstats(8)).

use std::path::{Path, PathBuf};

use iolab_recording::{MountSample, SampleSeries};

use crate::{MountEntry, System};

/// Types whose files are behind a network. A FUSE type says its program.
const REMOTE: [&str; 16] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "ceph",
    "afs",
    "lustre",
    "beegfs",
    "pvfs2",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.ceph",
    "fuse.ceph-fuse",
    "fuse.s3fs",
    "fuse.rclone",
    "fuse.juicefs",
];

/// Requests about names and attributes (RFC 1813, RFC 8881).
const ABOUT_NAMES: [&str; 16] = [
    "GETATTR",
    "SETATTR",
    "LOOKUP",
    "ACCESS",
    "READLINK",
    "CREATE",
    "MKDIR",
    "SYMLINK",
    "MKNOD",
    "REMOVE",
    "RMDIR",
    "RENAME",
    "READDIR",
    "READDIRPLUS",
    "OPEN",
    "OPEN_NOATTR",
];

impl System {
    /// The mounts of network file systems that hold these paths, without samples.
    pub(crate) fn remote_mounts(&self, paths: &[PathBuf]) -> Vec<SampleSeries<MountSample>> {
        let mounts = self.mounts();
        if !mounts.iter().any(is_remote) {
            return Vec::new();
        }
        let mut found: Vec<SampleSeries<MountSample>> = Vec::new();
        for mount in paths.iter().filter_map(|path| holding(&mounts, path)).filter(|mount| is_remote(mount)) {
            let name = mount.mount_point.to_string_lossy().into_owned();
            if !found.iter().any(|known| known.name == name) {
                found.push(SampleSeries { name, about: mount.fs_type.clone(), samples: Vec::new() });
            }
        }
        found
    }

    /// What is counted of a mount; `None` unless it is one of NFS.
    pub(crate) fn mount_sample(&self, mount_point: &str, at_ns: u64) -> Option<MountSample> {
        let text = self.read("proc/self/mountstats")?;
        let ours = format!(" mounted on {mount_point} with fstype nfs");
        let mut lines = text.lines().skip_while(|line| !(line.starts_with("device ") && line.contains(&ours)));
        lines.next()?;
        let mut sample = MountSample { at_ns, ..MountSample::default() };
        let mut has_bytes = false;
        for line in lines.take_while(|line| !line.starts_with("device ")) {
            let mut words = line.split_ascii_whitespace();
            let Some(word) = words.next().and_then(|word| word.strip_suffix(':')) else { continue };
            let numbers: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
            match (word, numbers.as_slice()) {
                // Through the page cache, direct, and by the server.
                ("bytes", [read, written, direct_read, direct_written, from_server, to_server, ..]) => {
                    sample.read_bytes = read.saturating_add(*direct_read);
                    sample.written_bytes = written.saturating_add(*direct_written);
                    (sample.server_read_bytes, sample.server_written_bytes) = (*from_server, *to_server);
                    has_bytes = true;
                }
                (name, [requests, ..]) if ABOUT_NAMES.contains(&name) => {
                    sample.name_requests = sample.name_requests.saturating_add(*requests);
                }
                _ => {}
            }
        }
        has_bytes.then_some(sample)
    }
}

fn is_remote(mount: &MountEntry) -> bool {
    REMOTE.contains(&mount.fs_type.as_str())
}

/// The mount that holds a path: of those at the longest mount point, the last covers the others.
fn holding<'m>(mounts: &'m [MountEntry], path: &Path) -> Option<&'m MountEntry> {
    let path = std::path::absolute(path).ok()?;
    let real = path.ancestors().find_map(|parent| {
        let rest = path.strip_prefix(parent).ok()?;
        Some(std::fs::canonicalize(parent).ok()?.join(rest))
    });
    let path = real.unwrap_or(path);
    let holds = mounts.iter().filter(|mount| path.starts_with(&mount.mount_point));
    holds.max_by_key(|mount| mount.mount_point.components().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    const STATS: &str = "device rootfs mounted on / with fstype rootfs\n\
        device srv:/a mounted on /mnt with fstype nfs4 statvers=1.1\n\
        \topts:\trw,vers=4.2\n\tage:\t9\n\
        \tevents:\t1 2 3 4\n\
        \tbytes:\t1000 200 30 4 500 60 7 8\n\
        \tper-op statistics\n\
        \t        READ: 9 9 0 1 1 1 1 1 0\n\
        \t     GETATTR: 5 5 0 1 1 1 1 1 0\n\
        \t      LOOKUP: 2 2 0 1 1 1 1 1 0\n\
        device srv:/b mounted on /mnt2 with fstype nfs statvers=1.1\n\
        \tbytes:\t9 9 9 9 9 9 9 9\n\
        \t     GETATTR: 77 5 0\n";

    #[test]
    fn mounts_of_network_file_systems_and_their_counts() {
        let mut fixture = Fixture::new();
        let mounts = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
            2 1 0:40 / /no-such-mount rw - nfs4 srv:/a rw\n\
            3 1 0:41 / /no-such-mount/local rw - tmpfs none rw\n\
            4 1 0:42 / /no-such-sshfs rw - fuse.sshfs me@srv: rw\n";
        fixture.file("proc/self/mountinfo", mounts).file("proc/self/mountstats", STATS);
        let system = fixture.system();
        let paths = ["/no-such-mount/a", "/no-such-mount/b", "/no-such-mount/local/c", "/d", "/no-such-sshfs/e"];
        let found = system.remote_mounts(&paths.map(PathBuf::from));
        let told: Vec<_> = found.iter().map(|mount| (mount.name.as_str(), mount.about.as_str())).collect();
        assert_eq!(told, [("/no-such-mount", "nfs4"), ("/no-such-sshfs", "fuse.sshfs")]);
        let sample = system.mount_sample("/mnt", 3).unwrap();
        let expected = MountSample {
            at_ns: 3,
            read_bytes: 1030,
            written_bytes: 204,
            server_read_bytes: 500,
            server_written_bytes: 60,
            name_requests: 7,
        };
        assert_eq!(sample, expected);
        assert_eq!(system.mount_sample("/mn", 3), None);
        assert_eq!(system.mount_sample("/", 3), None);
        assert!(Fixture::new().system().remote_mounts(&[PathBuf::from("/d")]).is_empty());
    }
}
