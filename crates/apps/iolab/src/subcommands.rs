//! One file per subcommand.

pub(crate) mod bench;
pub(crate) mod capture;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod db;
pub(crate) mod demo;
pub(crate) mod device;
pub(crate) mod doctor;
pub(crate) mod engines;
pub(crate) mod explain;
pub(crate) mod fs;
pub(crate) mod hosts;
pub(crate) mod internal_docs;
pub(crate) mod kv;
pub(crate) mod man;
pub(crate) mod nvme;
pub(crate) mod perf;
pub(crate) mod plan;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod study;
pub(crate) mod synthesize;
pub(crate) mod validate;
pub(crate) mod verify;
pub(crate) mod watch;
