//! What the guard allows, on real files.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use iolab_guard::{
    Danger, Guard, GuardRules, GuardedPath, Hazard, JudgedHazard, OpenMode, PathChange, Refusal, Removal,
};
use iolab_observe::System;
use rustix::fs::{Mode, OFlags};

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        // Not in a tmpfs, which has no user attributes before Linux 6.6.
        Place { folder: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap() }
    }

    fn file(&self, name: &str, content: &[u8]) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn guard(rules: GuardRules) -> Guard {
    Guard::new(&System::live(), rules)
}

fn writing() -> OpenMode {
    OpenMode { flags: OFlags::WRONLY, create: true, make_folders: false }
}

fn opens(path: &Path, change: PathChange) -> bool {
    let may = guard(GuardRules::default()).open(&GuardedPath::named(path), &change, &writing()).is_ok();
    let said = guard(GuardRules::default()).judge(&GuardedPath::named(path), &change);
    assert_eq!(may, said.iter().all(|judgement| judgement.accepted), "{}: {said:?}", path.display());
    may
}

const FILLS: PathChange =
    PathChange { overwrites: false, extends_to: 1 << 16, removal: Removal::None, in_use_is_accepted: false };

#[test]
fn what_is_there_is_told_by_mark_and_content() {
    let place = Place::new();
    for change in [PathChange::OVERWRITES, FILLS] {
        assert!(!opens(&place.file("thesis", b"years of work"), change));
        assert!(!opens(&place.file("job.0.0", b"a library's name says nothing"), change));
        assert!(opens(&place.file("empty", b""), change));
        assert!(opens(&place.at("missing"), change));
        fs::remove_file(place.at("missing")).unwrap();
        let hole = place.file("hole", b"");
        File::options().write(true).open(&hole).unwrap().set_len(1 << 20).unwrap();
        assert!(opens(&hole, change));
        fs::remove_file(hole).unwrap();
    }
    assert!(opens(&place.file("long enough", &[1; 1 << 16]), FILLS), "reading what is there is harmless");
    assert!(opens(Path::new("/dev/null"), PathChange::OVERWRITES));
}

#[test]
fn what_the_guard_made_carries_the_mark() {
    let place = Place::new();
    let path = place.at("made");
    assert!(opens(&path, PathChange::OVERWRITES));
    fs::write(&path, b"a job's data").unwrap();
    assert!(opens(&path, PathChange::OVERWRITES));
    // Content that replaced it by a rename belongs to the user again.
    fs::rename(place.file("precious", b"precious"), &path).unwrap();
    assert!(!opens(&path, PathChange::OVERWRITES));
}

#[test]
fn links_do_not_change_what_a_file_is() {
    let place = Place::new();
    let mine = place.file("mine", b"precious");
    fs::hard_link(&mine, place.at("hard.0.0")).unwrap();
    symlink(&mine, place.at("soft.0.0")).unwrap();
    assert!(!opens(&place.at("hard.0.0"), PathChange::OVERWRITES));
    assert!(!opens(&place.at("soft.0.0"), PathChange::OVERWRITES));
    // An empty file with another name belongs to someone too.
    fs::hard_link(place.file("empty", b""), place.at("empty.0.0")).unwrap();
    assert!(!opens(&place.at("empty.0.0"), PathChange::OVERWRITES));
    // The user's permission applies to the file, whichever of its names is given.
    let rules = GuardRules { allowed: vec![mine.clone()], as_fio: false };
    assert!(guard(rules).open(&GuardedPath::named(&place.at("hard.0.0")), &PathChange::OVERWRITES, &writing()).is_ok());
    assert_eq!(fs::read(mine).unwrap(), b"precious", "opening changes nothing");
}

#[test]
fn generated_names_stay_in_their_folder() {
    let place = Place::new();
    let folder = place.at("jobs");
    fs::create_dir(&folder).unwrap();
    fs::create_dir(place.at("elsewhere")).unwrap();
    symlink(place.at("elsewhere"), folder.join("way")).unwrap();
    symlink(place.at("nowhere"), folder.join("dangling.0.0")).unwrap();
    symlink(place.at("elsewhere/new"), folder.join("link.0.0")).unwrap();
    let makes = OpenMode { make_folders: true, ..writing() };
    let open = |name: &str| {
        let path = folder.join(name);
        let target = GuardedPath { path: &path, beneath: Some(&folder), exact: false };
        guard(GuardRules::default()).open(&target, &PathChange::OVERWRITES, &makes)
    };
    for name in ["../out.0.0", "way/in.0.0", "dangling.0.0", "link.0.0", "a/../../out.0.0", ""] {
        let refused = open(name);
        assert!(
            matches!(&refused, Err(Refusal::Hazards(hazards)) if
            matches!(hazards[..], [Hazard { danger: Danger::Strays { .. }, .. }])),
            "{name}: {refused:?}"
        );
    }
    assert!(open("deep/er/in.0.0").is_ok());
    assert!(folder.join("deep/er/in.0.0").exists());
    assert_eq!(fs::read_dir(place.at("elsewhere")).unwrap().count(), 0);
}

#[test]
fn only_what_iolab_made_is_removed() {
    let place = Place::new();
    let remove = |path: &Path| guard(GuardRules::default()).remove(&GuardedPath::named(path), &PathChange::default());
    let mine = place.file("mine", b"");
    assert!(matches!(remove(&mine), Err(Refusal::Hazards(_))), "an empty file is missed, too");
    assert!(mine.exists());
    assert!(matches!(remove(&place.at("missing")), Ok(false)));
    symlink(&mine, place.at("link")).unwrap();
    assert!(matches!(remove(&place.at("link")), Ok(false)));
    assert!(matches!(remove(place.folder.path()), Ok(false)), "a folder stays");
    let made = place.at("made");
    assert!(opens(&made, PathChange::OVERWRITES));
    assert!(matches!(remove(&made), Ok(true)));
    assert!(!made.exists());
}

#[test]
fn as_fio_a_job_that_writes_overwrites_what_it_names_and_nothing_else() {
    let place = Place::new();
    let mine = place.file("mine", b"precious");
    let as_fio = || guard(GuardRules { as_fio: true, allowed: Vec::new() });
    let named = GuardedPath::named(&mine);
    let said = as_fio().judge(&named, &PathChange::OVERWRITES);
    assert!(matches!(&said[..], [JudgedHazard { accepted: true, .. }]), "worth a word: {said:?}");
    assert!(as_fio().open(&named, &PathChange::OVERWRITES, &writing()).is_ok());
    assert!(as_fio().open(&named, &FILLS, &writing()).is_err());
    let found = GuardedPath { exact: false, ..named };
    assert!(as_fio().open(&found, &PathChange::OVERWRITES, &writing()).is_err());
    assert!(as_fio().remove(&named, &PathChange::default()).is_err());
    assert!(as_fio().remove(&named, &PathChange::OVERWRITES).is_ok());
}

#[test]
fn a_file_that_another_program_has_locked_is_in_use() {
    let place = Place::new();
    let path = place.at("image");
    assert!(opens(&path, PathChange::OVERWRITES));
    let served = File::open(&path).unwrap();
    rustix::fs::flock(&served, rustix::fs::FlockOperation::LockShared).unwrap();
    let said = guard(GuardRules::default()).judge(&GuardedPath::named(&path), &PathChange::OVERWRITES);
    assert!(matches!(&said[..], [JudgedHazard { hazard: Hazard { danger: Danger::Locked, .. }, accepted: false }]));
    drop(served);
    assert_eq!(guard(GuardRules::default()).judge(&GuardedPath::named(&path), &PathChange::OVERWRITES), []);
}

#[test]
fn a_file_is_handed_out_at_its_beginning() {
    use std::io::Seek;
    use std::os::unix::fs::FileExt;
    let place = Place::new();
    let path = place.at("made");
    assert!(opens(&path, PathChange::OVERWRITES));
    // Data after a hole.
    File::options().write(true).open(&path).unwrap().write_all_at(b"data", 1 << 20).unwrap();
    for change in [PathChange::OVERWRITES, PathChange::default()] {
        let mut opened = guard(GuardRules::default()).open(&GuardedPath::named(&path), &change, &writing()).unwrap();
        assert_eq!(opened.stream_position().unwrap(), 0);
    }
}

#[test]
fn pipes_do_not_hold_up_whoever_opens_them() {
    let place = Place::new();
    let pipe = place.at("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let opened = guard(GuardRules::default()).open(&GuardedPath::named(&pipe), &PathChange::OVERWRITES, &writing());
    assert!(matches!(opened, Err(Refusal::Io(error)) if error.raw_os_error() == Some(libc::ENXIO)));
}
