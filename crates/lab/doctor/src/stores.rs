//! Key-value stores: which can be used, what to know about them, and how to install the others.

use std::process::{Command, Stdio};

use iolab_kv::StoreKind;

use crate::{Check, CheckStatus};

/// Every kind of store that keeps data, and what belongs to RocksDB.
pub(crate) fn all() -> Vec<Check> {
    let kinds = iolab_kv_catalogue::KINDS.iter().filter(|kind| kind.description().keeps_data);
    let mut checks: Vec<Check> = kinds.map(|kind| store(*kind)).collect();
    checks.extend([logfs(), db_bench()]);
    checks
}

fn store(kind: &dyn StoreKind) -> Check {
    let known = kind.description();
    let topic = format!("store {}", known.name);
    match kind.version() {
        Ok(version) if known.name == "rocksdb" && iolab_kv_rocksdb::has_assertions() == Ok(true) => Check::new(
            CheckStatus::Limited,
            &topic,
            format!("version {version}, built with assertions"),
            "it checks itself in every operation: figures are those of this library only",
            "a RocksDB built with -DNDEBUG, named in IOLAB_ROCKSDB",
        ),
        Ok(version) => Check::ok(&topic, format!("version {version}")),
        Err(error) => {
            let others = "iolab kv bench uses a store that is built in";
            Check::new(CheckStatus::No, &topic, error.to_string(), others, known.install)
        }
    }
}

/// RocksDB inside images of logfs.
fn logfs() -> Check {
    match iolab_kv_rocksdb::can_live_in_logfs() {
        Ok(()) => Check::ok("rocksdb in logfs", "filesystem=logfs:IMAGE works"),
        Err(error) => Check::new(
            CheckStatus::No,
            "rocksdb in logfs",
            error.to_string(),
            "RocksDB uses logfs only through a mount (iolab fs mount)",
            "cargo build --release -p iolab-logfs-rocksdb --features shim --target-dir target/shim",
        ),
    }
}

fn db_bench() -> Check {
    let output = Command::new("db_bench").arg("--version").stdin(Stdio::null()).stderr(Stdio::null()).output();
    match output {
        Ok(output) if output.status.success() => {
            Check::ok("db_bench", String::from_utf8_lossy(&output.stdout).trim().to_owned())
        }
        other => Check::new(
            CheckStatus::No,
            "db_bench",
            other.map_or_else(|error| error.to_string(), |output| format!("ends with {}", output.status)),
            "iolab kv bench --via=db_bench does not run; iolab kv bench itself does",
            "apt-get install rocksdb-tools",
        ),
    }
}
