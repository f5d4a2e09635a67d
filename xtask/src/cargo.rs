//! Cargo, as this program starts it.

use std::process::Command;

/// Returns a command for the Cargo that started this program, or else for the one in PATH, which
/// chooses the toolchain first.
///
/// Cargo describes the package of a program that it runs to this program in variables. They are
/// removed: a build script that reads them (ring has one) would run again, and everything that
/// depends on it be compiled again, whenever Cargo is called with them and then without.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(describes_a_package) {
            command.env_remove(name);
        }
    }
    command
}

/// Whether Cargo says something about a package in this variable ("Environment variables Cargo
/// sets for crates" in the Cargo book).
fn describes_a_package(variable: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| variable.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_describes_this_package_is_not_handed_on() {
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "Cargo runs this test");
        let command = cargo();
        let removed: Vec<&str> =
            command.get_envs().filter(|(_, value)| value.is_none()).filter_map(|(name, _)| name.to_str()).collect();
        assert!(removed.contains(&"CARGO_PKG_NAME") && removed.contains(&"CARGO_MANIFEST_DIR"), "{removed:?}");
        assert!(!describes_a_package("CARGO_INCREMENTAL") && !describes_a_package("CARGO_HOME"));
    }
}
