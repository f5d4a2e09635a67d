//! The small program `fio` finds and executes `iolab`, and reports an error if there is none.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

const FIO: &str = env!("CARGO_BIN_EXE_fio");
const IOLAB: &str = env!("CARGO_BIN_EXE_iolab");

/// A folder with only `fio`, as a hard link. Unlike a copy, a link is never open for writing when
/// it is started.
fn installed() -> TempDir {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
    std::fs::hard_link(FIO, folder.path().join("fio")).expect("on one file system");
    folder
}

/// Starts that `fio` with this `PATH`.
fn start(folder: &TempDir, path: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(folder.path().join("fio"));
    command.args(arguments).env("PATH", path).output().expect("it starts")
}

fn is_missed(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(127), "{said}");
    assert!(said.contains("cannot find the program iolab in") && said.lines().count() == 1, "{said}");
    assert!(output.stdout.is_empty());
}

#[test]
fn without_iolab_it_says_what_is_missing() {
    let folder = installed();
    is_missed(&start(&folder, Path::new("/no/such/folder"), &["--version"]));
    // A link to itself is not iolab: the program would start itself forever.
    symlink("fio", folder.path().join("iolab")).unwrap();
    is_missed(&start(&folder, folder.path(), &["--version"]));
}

#[test]
fn iolab_on_the_path_will_do_and_takes_fios_command_line() {
    let (folder, elsewhere) = (installed(), tempfile::tempdir().unwrap());
    symlink(IOLAB, elsewhere.path().join("iolab")).unwrap();
    let version = start(&folder, elsewhere.path(), &["--version"]);
    assert_eq!(version.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("fio-"), "{version:?}");
    let refused = start(&folder, elsewhere.path(), &["--name=x", "--rw=sideways", "--size=1m"]);
    assert_eq!(refused.status.code(), Some(1), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("sideways"));
}

#[test]
fn the_iolab_beside_it_comes_first() {
    let (folder, elsewhere) = (installed(), tempfile::tempdir().unwrap());
    symlink("/bin/false", elsewhere.path().join("iolab")).unwrap();
    symlink(IOLAB, folder.path().join("iolab")).unwrap();
    let version = start(&folder, elsewhere.path(), &["--version"]);
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("fio-"), "{version:?}");
}

#[test]
fn a_link_elsewhere_leads_to_the_folder_of_the_program() {
    let (folder, elsewhere) = (installed(), tempfile::tempdir().unwrap());
    symlink(IOLAB, folder.path().join("iolab")).unwrap();
    let link = elsewhere.path().join("fio");
    symlink(folder.path().join("fio"), &link).unwrap();
    let version = Command::new(link).arg("--version").env("PATH", "").output().expect("it starts");
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("fio-"), "{version:?}");
}
