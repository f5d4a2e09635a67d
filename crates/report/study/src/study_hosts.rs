//! The hosts of a study, as data: which ranks, and how they are reached.

use std::path::PathBuf;

use iolab_text::counted;
use serde::{Deserialize, Serialize};

/// The hosts of a study, and how they are reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudyHosts {
    /// The host of each rank; a host with several ranks is there as often.
    pub ranks: Vec<String>,
    /// The remote shell: a command that gets the host and a line for the shell there.
    pub shell: String,
    /// This program on the hosts; without it, where it is here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<PathBuf>,
    /// The folder of the jobs on the hosts.
    pub folder: PathBuf,
    /// The launcher of MPI, if it starts the ranks instead of the remote shell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mpirun: Option<String>,
}

impl StudyHosts {
    /// As `a,b,c:2`, which is what `--hosts` takes.
    pub fn list(&self) -> String {
        let one = |same: &[String]| match same.len() {
            1 => same[0].clone(),
            many => format!("{}:{many}", same[0]),
        };
        self.ranks.chunk_by(|one, other| one == other).map(one).collect::<Vec<_>>().join(",")
    }

    /// Their number and their names.
    pub fn in_words(&self) -> String {
        format!("{}: {}", counted(self.ranks.len() as u64, "rank"), self.list())
    }
}

/// Hosts for tests, one for each rank.
#[cfg(test)]
pub(crate) fn hosts(ranks: &[&str]) -> StudyHosts {
    StudyHosts {
        ranks: ranks.iter().map(|one| (*one).to_owned()).collect(),
        shell: "ssh".to_owned(),
        program: None,
        folder: PathBuf::from("/data"),
        mpirun: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_what_the_option_takes() {
        for (ranks, list) in [(&["a"][..], "a"), (&["a", "b", "b", "a"], "a,b:2,a")] {
            assert_eq!(hosts(ranks).list(), list);
        }
        assert_eq!(hosts(&["a", "b", "b"]).in_words(), "3 ranks: a,b:2");
    }
}
