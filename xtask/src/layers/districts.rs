//! The districts as data: the folders below `crates/`, lowest first, and what each may use.
//!
//! The folder of a crate determines its district. Other checked facts about a crate are in its own
//! Cargo.toml; [`super::package`] reads it.

/// One folder below `crates/`.
pub(crate) struct District {
    pub(crate) name: &'static str,
    /// The districts that its crates may use, besides their neighbours.
    uses: &'static [&'static str],
    /// Whether its crates may use each other.
    neighbours: bool,
    /// Why not more, for the message of a violation.
    reason: &'static str,
}

/// Lowest first. A district uses only districts above it in this list.
pub(crate) const DISTRICTS: [District; 14] = [
    District { name: "base", uses: &[], neighbours: true, reason: "base stands on nothing of this project" },
    District {
        name: "kernel",
        uses: &["base"],
        neighbours: true,
        reason: "interfaces of Linux know nothing above them",
    },
    District {
        name: "contract",
        uses: &["base"],
        neighbours: true,
        reason: "what all others share depends on none of them",
    },
    District {
        name: "nvme",
        uses: &["base", "kernel"],
        neighbours: true,
        reason: "NVMe stands on its own: no jobs, no engines",
    },
    District {
        name: "machine",
        uses: &["base", "kernel", "contract"],
        neighbours: true,
        reason: "facts about this machine do not depend on who asks",
    },
    District {
        name: "logfs",
        uses: &["base", "kernel", "contract", "machine"],
        neighbours: true,
        reason: "a file system knows disks, and nothing of jobs",
    },
    District {
        name: "kv",
        uses: &["base", "kernel", "contract"],
        neighbours: true,
        reason: "a store knows its contract, and nothing of who loads it",
    },
    District {
        name: "job",
        uses: &["base", "contract"],
        neighbours: true,
        reason: "a plan is made before anything runs",
    },
    District {
        name: "engines",
        uses: &["base", "kernel", "contract"],
        neighbours: false,
        reason: "an engine knows its contract, and no other engine",
    },
    District {
        name: "run",
        uses: &["base", "kernel", "contract", "machine"],
        neighbours: true,
        reason: "a run knows engines only by their contract",
    },
    District {
        name: "export",
        uses: &["base", "kernel", "contract"],
        neighbours: true,
        reason: "an export takes any lane, and knows no engine",
    },
    District {
        name: "report",
        uses: &["base", "contract"],
        neighbours: true,
        reason: "a report is a function of the recording, and knows nothing live",
    },
    District {
        name: "lab",
        uses: &["base", "kernel", "contract", "machine", "logfs", "kv", "job", "run", "report"],
        neighbours: true,
        reason: "what puts runs and reports together knows engines only by their contract",
    },
    District {
        name: "apps",
        uses: &[
            "base", "kernel", "contract", "nvme", "machine", "logfs", "kv", "job", "engines", "run", "export",
            "report", "lab",
        ],
        neighbours: true,
        reason: "programs stand above all else",
    },
];

/// Packages from outside that only the named crates may use, and why.
const OUTSIDE: [(&str, &[&str], &str); 5] = [
    ("anyhow", &["iolab"], "libraries have typed errors"),
    ("clap", &["iolab"], "only the binary has a command line"),
    ("clap_complete", &["iolab"], "only the binary has a command line"),
    ("clap_mangen", &["iolab"], "only the binary has a command line"),
    ("hdrhistogram", &[], "it is the oracle of tests, not part of what ships"),
];

/// The district of this name.
pub(crate) fn district(name: &str) -> Option<&'static District> {
    DISTRICTS.iter().find(|district| district.name == name)
}

fn rank(name: &str) -> usize {
    DISTRICTS.iter().position(|district| district.name == name).unwrap_or(DISTRICTS.len())
}

impl District {
    /// The districts that its crates may use, besides their neighbours.
    pub(crate) fn uses(&self) -> &'static [&'static str] {
        self.uses
    }

    /// Why a crate of this district must not use one of the district `used`; `also` are those that
    /// the crate's own Cargo.toml adds.
    pub(super) fn refusal(&self, used: &str, also: &[String]) -> Option<&'static str> {
        let is_allowed = if used == self.name {
            self.neighbours
        } else {
            rank(used) < rank(self.name) && (self.uses.contains(&used) || also.iter().any(|name| name == used))
        };
        (!is_allowed).then_some(self.reason)
    }
}

/// Why a crate must not use a package from outside.
pub(super) fn outside_refusal(package: &str, used: &str) -> Option<&'static str> {
    let (_, allowed, reason) = OUTSIDE.iter().find(|(name, _, _)| *name == used)?;
    (!allowed.contains(&package)).then_some(*reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn districts_use_only_lower_ones() {
        for district in &DISTRICTS {
            for used in district.uses {
                assert!(rank(used) < rank(district.name), "{} uses {used}", district.name);
            }
        }
    }
}
