//! The compared programs: this workspace's, built here, and the installed ones.
//!
//! Guarantees that the built program is the one that runs: the target folder is the one that
//! contains this program itself.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::cargo;
use crate::repository::Repository;

/// How this workspace's programs are built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// What is measured.
    Release,
    /// What tests run.
    Debug,
}

/// Builds programs of the workspace and knows where they are.
#[derive(Debug)]
pub(crate) struct Workshop {
    root: PathBuf,
    target: PathBuf,
    profile: Profile,
}

impl Workshop {
    /// A workshop for the repository.
    pub(crate) fn open(repository: &Repository, profile: Profile) -> Result<Workshop, String> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        // Cargo marks the target folder for programs that make backups.
        let profile_folder = |folder: &&Path| folder.ends_with("debug") || folder.ends_with("release");
        let target = this.ancestors().find(|folder| folder.join("CACHEDIR.TAG").exists());
        let target = target.or_else(|| this.ancestors().find(profile_folder)?.parent());
        let target = target.ok_or("this program lies in no target folder")?.to_owned();
        Ok(Workshop { root: repository.root.clone(), target, profile })
    }

    /// The program under the name `fio`, so that it behaves as fio. It is a link of that name to
    /// the program itself, so that valgrind examines it, and not the small `fio` that executes it.
    pub(crate) fn iolab(&self) -> Result<PathBuf, String> {
        self.program()?;
        let folder = self.folder().join("as_fio");
        let link = folder.join("fio");
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        match std::os::unix::fs::symlink("../iolab", &link) {
            Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => {
                Err(format!("{}: {error}", link.display()))
            }
            _ => Ok(link),
        }
    }

    /// The program under its own name.
    pub(crate) fn program(&self) -> Result<PathBuf, String> {
        match self.profile {
            Profile::Release => self.build(&["--package", "iolab", "--bin", "iolab"])?,
            // The example, a small one, has cargo choose the features that it chooses for tests.
            Profile::Debug => self.build(&["--workspace", "--bin", "iolab", "--example", "bare_pread"])?,
        }
        Ok(self.folder().join("iolab"))
    }

    /// The program that derives the JSON Schemas.
    pub(crate) fn schema_deriver(&self) -> Result<PathBuf, String> {
        self.build(&["--workspace", "--bin", "derive-schemas", "--example", "bare_pread"])?;
        Ok(self.folder().join("derive-schemas"))
    }

    /// An example of one package.
    pub(crate) fn example(&self, package: &str, name: &str) -> Result<PathBuf, String> {
        match self.profile {
            Profile::Release => self.build(&["--package", "iolab", "--package", package, "--example", name])?,
            Profile::Debug => self.build(&["--workspace", "--example", name])?,
        }
        Ok(self.folder().join("examples").join(name))
    }

    fn folder(&self) -> PathBuf {
        self.target.join(if self.profile == Profile::Release { "release" } else { "debug" })
    }

    /// One package alone has other features than the workspace, and all its dependencies would be
    /// built once more. So the release build includes iolab, and the rest is built as
    /// `cargo test --workspace` builds it.
    fn build(&self, what: &[&str]) -> Result<(), String> {
        let mut cargo = cargo();
        cargo.args(["build", "--quiet", "--target-dir"]).arg(&self.target).args(what).current_dir(&self.root);
        if self.profile == Profile::Release {
            cargo.arg("--release");
        }
        match cargo.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("cargo build {}: {status}", what.join(" "))),
            Err(error) => Err(format!("cargo build: {error}")),
        }
    }
}

/// The installed fio's version, or why there is none.
pub(crate) fn fio_version() -> Result<String, String> {
    let answer = Command::new("fio").arg("--version").output().map_err(|error| format!("fio: {error}"))?;
    Ok(String::from_utf8_lossy(&answer.stdout).trim().to_owned())
}

/// Whether a program can be started by this name.
pub(crate) fn is_installed(program: impl AsRef<Path>) -> bool {
    let mut command = Command::new(program.as_ref());
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
