//! The size limit of each kind of file. `docs/guide/recordings.md` has the same table; a test
//! compares the two.

/// The size limit of one kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The kind, with its article: `a job file`.
    pub what: &'static str,
    /// The largest accepted size, bytes.
    pub bytes: u64,
}

impl Limit {
    const fn mib(what: &'static str, mib: u64) -> Limit {
        Limit { what, bytes: mib << 20 }
    }
}

/// A job file, or a file that it includes.
pub const JOB_FILE: Limit = Limit::mib("a job file", 16);
/// A recording, whole or partial. The limit allows days of a run with many workers.
pub const RECORDING: Limit = Limit::mib("a recording", 1024);
/// JSON output of fio, or of the command of a study.
pub const FIO_REPORT: Limit = Limit::mib("a JSON report", 64);
/// A study or a collection of studies as its author writes it.
pub const STUDY_FILE: Limit = Limit::mib("a study", 4);
/// Files other than recordings in the folder of a study.
pub const STUDY_FOLDER: Limit = Limit::mib("a file of a study's folder", 64);
/// The load of `fs perf --io-tester`.
pub const TESTER_FILE: Limit = Limit::mib("a file of io_tester", 4);
/// Recorded arrivals of operations.
pub const ARRIVALS: Limit = Limit::mib("a file of arrivals", 512);
/// An entry of the catalogue of virtual devices.
pub const DEVICE_ENTRY: Limit = Limit::mib("an entry of the device catalogue", 1);
/// A JSON configuration of SPDK.
pub const SPDK_CONFIGURATION: Limit = Limit::mib("a configuration of SPDK", 4);
/// Addresses of servers, for a client.
pub const HOST_LIST: Limit = Limit::mib("a list of hosts", 1);
/// Secrets of NVMe hosts and subsystems, and of servers.
pub const SECRETS: Limit = Limit::mib("a file of secrets", 1);
/// What a trial wrote to its standard error.
pub const LOG: Limit = Limit::mib("a log of a trial", 16);

/// All of them.
pub const LIMITS: [Limit; 12] = [
    JOB_FILE,
    RECORDING,
    FIO_REPORT,
    STUDY_FILE,
    STUDY_FOLDER,
    TESTER_FILE,
    ARRIVALS,
    DEVICE_ENTRY,
    SPDK_CONFIGURATION,
    HOST_LIST,
    SECRETS,
    LOG,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_is_documented() {
        let page = include_str!("../../../../docs/guide/recordings.md");
        for limit in LIMITS {
            let row = format!("| {} | {} MiB |", limit.what, limit.bytes >> 20);
            assert!(page.contains(&row), "docs/guide/recordings.md lacks: {row}");
        }
    }
}
