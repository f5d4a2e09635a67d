//! The check against a real store, in processes that are killed, and against stores that break
//! their promises.
//!
//! The child is this test itself, started again with variables that say what to do.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use iolab_kv::{Access, Existing, OpenRequest, Store, StoreError, StoreKind};
use iolab_kv_check::{Hasty, Shape, Stopped, Violation, World, check, load};
use iolab_kv_fjall::Fjall;

const VARIABLE: &str = "IOLAB_KV_CHECK_CHILD";

fn open(folder: &Path) -> Result<Box<dyn Store>, StoreError> {
    Fjall.open(&OpenRequest { folder, options: "", existing: Existing::Either })
}

/// Not a test by itself: the load of a round.
#[test]
fn child() {
    let Ok(told) = std::env::var(VARIABLE) else { return };
    let words: Vec<&str> = told.split(',').collect();
    let store = open(Path::new(words[0])).unwrap();
    let (round, first) = (words[1].parse().unwrap(), words[2].parse().unwrap());
    let hasty = Hasty::new(&*store);
    let access: &dyn Access = if words[3] == "hasty" { &hasty } else { &*store };
    // Standard output is the test harness's; the parent gave a pipe as standard error instead.
    load(access, &Shape::default(), round, first, &mut std::io::stderr()).unwrap();
}

struct Here {
    folder: PathBuf,
    is_hasty: bool,
}

impl World for Here {
    fn start(&mut self, round: u64, first: u64) -> std::io::Result<Child> {
        let kind = if self.is_hasty { "hasty" } else { "good" };
        let told = format!("{},{round},{first},{kind}", self.folder.display());
        let (reader, writer) = std::io::pipe()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--exact", "child", "--nocapture"]).env(VARIABLE, told);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer).spawn()?;
        child.stdout = Some(std::os::fd::OwnedFd::from(reader).into());
        Ok(child)
    }

    fn crash(&mut self, _round: u64) -> Result<(), String> {
        Ok(())
    }

    fn open(&mut self, _round: u64) -> Result<Box<dyn Store>, StoreError> {
        open(&self.folder)
    }
}

#[test]
fn a_store_that_keeps_its_word_passes() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = Here { folder: folder.path().join("store"), is_hasty: false };
    let mut rounds = Vec::new();
    let summary = check(&mut world, &Shape::default(), 6, &mut |round| rounds.push(round.number)).unwrap();
    assert_eq!(rounds, [1, 2, 3, 4, 5, 6]);
    assert!(summary.rounds == 6 && summary.synced > 0 && summary.synced < summary.acknowledged, "{summary:?}");
}

#[test]
fn a_store_that_acknowledges_before_it_syncs_is_caught() {
    let folder = tempfile::tempdir().unwrap();
    let mut world = Here { folder: folder.path().join("store"), is_hasty: true };
    let stopped = check(&mut world, &Shape { sync_every: 1, ..Shape::default() }, 50, &mut |_| {}).unwrap_err();
    assert!(matches!(stopped, Stopped::Broken { violation: Violation::Lost { .. }, .. }), "{stopped}");
}

#[test]
fn a_load_that_fails_is_not_taken_for_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("letter"), "not a store").unwrap();
    let mut world = Here { folder: folder.path().to_owned(), is_hasty: false };
    let stopped = check(&mut world, &Shape::default(), 3, &mut |_| {}).unwrap_err();
    assert!(
        matches!(stopped, Stopped::EndedByItself { round: 1, .. } | Stopped::Unusable { round: 1, .. }),
        "{stopped}"
    );
}
