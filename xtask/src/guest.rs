//! `cargo xtask guest`: the door to `ci/guest/boot`, which runs a script in an emulated machine.
//!
//! It becomes that program, so output, signals and exit code are its own. What it does is explained
//! there and in `docs/guide/guest.md`.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::finding::Finding;
use crate::repository::Repository;

/// Returns only when the program cannot be started.
pub(crate) fn run(repository: &Repository, arguments: &[&str]) -> Result<Vec<Finding>, String> {
    let program = repository.root.join("ci/guest/boot");
    let error = Command::new(&program).args(arguments).exec();
    Err(format!("{}: {error}", program.display()))
}
