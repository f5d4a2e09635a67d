//! Opening, recognising, refusing and destroying.

use super::Setup;
use super::rig::{Scratch, get, open};
use crate::{Durability, ErrorKind, Existing, Holds, OpenRequest, StoreKind, holds};

/// Names and sentences are not empty.
pub fn description_is_well_formed(kind: &dyn StoreKind, _: &Setup) {
    let known = kind.description();
    assert!(!known.name.is_empty() && known.name.bytes().all(|byte| byte.is_ascii_lowercase()), "{known:?}");
    assert!(!known.summary.is_empty() && !known.details.is_empty(), "{known:?}");
    let version = kind.version().expect("the suite runs where the store works");
    assert!(version.starts_with(|first: char| first.is_ascii_digit()), "a version is a number: {version}");
}

/// The three values of [`Existing`] do what they say.
pub fn existing_stores_are_used_as_told(kind: &dyn StoreKind, setup: &Setup) {
    let scratch = Scratch::new();
    let folder = scratch.folder();
    let ask = |existing| kind.open(&OpenRequest { folder: &folder, options: setup.options, existing });
    let error = ask(Existing::Required).err().expect("there is no store to be used");
    assert_eq!(error.kind, ErrorKind::Folder, "{error}");
    assert!(!folder.exists(), "a refusal made a folder");
    if !kind.description().keeps_data {
        return;
    }
    let store = ask(Existing::Either).expect("a new store is made");
    store.put(b"key", b"value", Durability::Logged).expect("a put works");
    store.close().expect("a store closes");
    assert_eq!(holds(&folder, &[kind]), Ok(Holds::Store(kind.description().name)), "a store knows its own files");
    let error = ask(Existing::Forbidden).err().expect("there is a store already");
    assert_eq!(error.kind, ErrorKind::Folder, "{error}");
    for existing in [Existing::Required, Existing::Either] {
        let store = ask(existing).expect("the store is used");
        assert_eq!(get(&*store, b"key"), Some(b"value".to_vec()), "{existing:?} lost what was there");
        store.close().expect("a store closes");
    }
}

/// A folder with a foreign file is always refused, and stays as it is.
pub fn other_folders_are_left_alone(kind: &dyn StoreKind, setup: &Setup) {
    let scratch = Scratch::new();
    let folder = scratch.folder();
    std::fs::create_dir(&folder).expect("a folder can be made");
    let letter = folder.join("letter.txt");
    std::fs::write(&letter, "dear").expect("a file can be written");
    for existing in [Existing::Required, Existing::Forbidden, Existing::Either] {
        let request = OpenRequest { folder: &folder, options: setup.options, existing };
        let error = kind.open(&request).err().expect("somebody's folder is no store");
        assert_eq!(error.kind, ErrorKind::Folder, "{error}");
        assert!(error.message.contains("letter.txt"), "the message names what is there: {error}");
    }
    let error = kind.destroy(&folder).expect_err("somebody's folder is not destroyed");
    assert_eq!(error.kind, ErrorKind::Folder, "{error}");
    assert_eq!(std::fs::read_dir(&folder).expect("the folder is there").count(), 1, "a refusal made files");
    assert_eq!(std::fs::read(&letter).expect("the file is there"), b"dear");
}

/// A second handle on the same folder is refused while the first is open.
pub fn two_cannot_open_one(kind: &dyn StoreKind, setup: &Setup) {
    if !kind.description().keeps_data {
        return;
    }
    let scratch = Scratch::new();
    let first = open(kind, setup, &scratch.folder(), Existing::Forbidden);
    let request = OpenRequest { folder: &scratch.folder(), options: setup.options, existing: Existing::Either };
    let error = kind.open(&request).err().expect("a store is open already");
    assert_eq!(error.kind, ErrorKind::Busy, "{error}");
    first.close().expect("a store closes");
    open(kind, setup, &scratch.folder(), Existing::Required).close().expect("a store closes");
}

/// An option that does not exist is refused by name, and no store is made.
pub fn wrong_options_are_refused(kind: &dyn StoreKind, setup: &Setup) {
    let scratch = Scratch::new();
    let folder = scratch.folder();
    let request = OpenRequest { folder: &folder, options: setup.wrong_option, existing: Existing::Either };
    let error = kind.open(&request).err().expect("the option does not exist");
    assert_eq!(error.kind, ErrorKind::Option, "{error}");
    let (name, _) = setup.wrong_option.split_once('=').unwrap_or((setup.wrong_option, ""));
    assert!(error.message.contains(name), "the message names the option: {error}");
    assert_eq!(holds(&folder, &[kind]), Ok(Holds::Nothing), "a refusal made a store");
}

/// Destroying removes the whole store; a foreign file stays, and then the folder stays, too.
pub fn destroy_takes_only_what_it_owns(kind: &dyn StoreKind, setup: &Setup) {
    if !kind.description().keeps_data {
        return;
    }
    let scratch = Scratch::new();
    let folder = scratch.folder();
    let error = kind.destroy(&folder).expect_err("there is nothing to destroy");
    assert_eq!(error.kind, ErrorKind::Folder, "{error}");
    let make = || {
        let store = open(kind, setup, &folder, Existing::Either);
        store.put(b"key", b"value", Durability::Synced).expect("a put works");
        store.close().expect("a store closes");
    };
    make();
    kind.destroy(&folder).expect("a store can be destroyed");
    assert!(!folder.exists(), "an empty folder was left behind");
    make();
    std::fs::write(folder.join("letter.txt"), "dear").expect("a file can be written");
    kind.destroy(&folder).expect("a store can be destroyed");
    assert_eq!(
        holds(&folder, &[kind]),
        Ok(Holds::Other(vec!["letter.txt".to_owned()])),
        "all but the store's own files stays"
    );
}
