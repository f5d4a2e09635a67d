//! The control group of a worker: made if it is missing, joined, and removed again if it was made.

use std::fs::{create_dir, read_to_string, remove_dir, write};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use iolab_plan::CgroupPlan;

use crate::open_files::fatal;
use crate::trouble::Fatal;

/// A worker's stay in a group; dropping it moves the process back to its former group.
#[derive(Debug)]
pub(crate) struct InCgroup {
    group: PathBuf,
    before: PathBuf,
    removes: bool,
}

impl InCgroup {
    /// Joins the group; `None` if the plan names none.
    pub(crate) fn join(plan: Option<&CgroupPlan>) -> Result<Option<InCgroup>, Fatal> {
        let Some(plan) = plan else { return Ok(None) };
        let said = |what: &str| format!("cgroup={}: {what}", plan.name);
        let mounts = read_to_string("/proc/mounts").map_err(|error| fatal(&said("/proc/mounts"), &error))?;
        let Some(root) = unified_hierarchy(&mounts) else {
            let message = said("no cgroup2 file system is mounted");
            return Err(Fatal { errno: libc::ENOENT, message });
        };
        let group = root.join(plan.name.trim_start_matches('/'));
        let removes = match create_dir(&group) {
            Ok(()) => !plan.keep,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
            Err(error) => return Err(fatal(&said(&group.display().to_string()), &error)),
        };
        let own = read_to_string("/proc/self/cgroup").unwrap_or_default();
        let before = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/");
        let before = root.join(before.trim_start_matches('/'));
        // From here on, a created group is removed in every case.
        let joined = InCgroup { group, before, removes };
        if let Some(weight) = plan.weight {
            enable_io(&joined.group);
            let file = joined.group.join("io.weight");
            write(&file, format!("default {weight}")).map_err(|error| fatal(&said("io.weight"), &error))?;
        }
        move_to(&joined.group).map_err(|error| fatal(&said("joining it"), &error))?;
        Ok(Some(joined))
    }
}

impl Drop for InCgroup {
    fn drop(&mut self) {
        // A process that cannot move back stays. A group with other members is not removed.
        if move_to(&self.before).is_ok() && self.removes {
            let _ = remove_dir(&self.group);
        }
    }
}

fn move_to(group: &Path) -> io::Result<()> {
    write(group.join("cgroup.procs"), std::process::id().to_string())
}

/// Allows `group` and its siblings to have I/O weights. If that is not possible, setting the weight
/// reports why.
fn enable_io(group: &Path) {
    if let Some(parent) = group.parent() {
        let _ = write(parent.join("cgroup.subtree_control"), "+io");
    }
}

/// Where the unified hierarchy is mounted.
fn unified_hierarchy(mounts: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (place, kind) = (words.next()?, words.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(place))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unified_hierarchy_is_found_among_mounts() {
        let mounts = "proc /proc proc rw 0 0\ncgroup /sys/fs/cgroup/cpu cgroup rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(unified_hierarchy(mounts), Some("/sys/fs/cgroup/unified".into()));
        assert_eq!(unified_hierarchy("proc /proc proc rw 0 0\n"), None);
    }
}
