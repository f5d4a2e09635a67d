//! What cursors promise.

use super::Setup;
use super::rig::{Scratch, open};
use crate::{Cursor, Durability, Existing, Maintenance, Seek, Store, StoreKind, Way};

/// Keys b, d, f, h: some flushed, some not, one deleted between them.
fn with_four_keys(kind: &dyn StoreKind, setup: &Setup, scratch: &Scratch) -> Box<dyn Store> {
    let store = open(kind, setup, &scratch.folder(), Existing::Forbidden);
    for key in [b"h", b"b", b"e"] {
        store.put(key, key, Durability::Logged).expect("a put works");
    }
    store.maintain(Maintenance::Flush).expect("a flush works");
    for key in [b"d", b"f"] {
        store.put(key, key, Durability::Logged).expect("a put works");
    }
    store.delete(b"e", Durability::Logged).expect("a deletion works");
    store
}

fn at(cursor: &dyn Cursor) -> Option<String> {
    cursor.entry().map(|(key, _)| String::from_utf8_lossy(key).into_owned())
}

/// After a change of direction the cursor shows the neighbour, not the same key and not the one
/// after it.
pub fn a_cursor_goes_both_ways(kind: &dyn StoreKind, setup: &Setup) {
    if !kind.description().keeps_data {
        return;
    }
    let scratch = Scratch::new();
    let store = with_four_keys(kind, setup, &scratch);
    let mut cursor = store.cursor().expect("a cursor can be made");
    assert_eq!(at(&*cursor), None, "a new cursor stands nowhere");
    cursor.step(Way::Forward).expect("a step from nowhere is no error");
    assert_eq!(at(&*cursor), None, "a step from nowhere leads nowhere");
    cursor.seek(Seek::First).expect("a cursor can be moved");
    let mut seen = Vec::new();
    for way in [Way::Forward, Way::Forward, Way::Back, Way::Forward, Way::Forward, Way::Back, Way::Back, Way::Back] {
        cursor.step(way).expect("a cursor can be moved");
        seen.push(at(&*cursor).unwrap_or_default());
    }
    assert_eq!(seen.concat(), "dfdfhfdb");
    cursor.step(Way::Back).expect("going over the end is no error");
    assert_eq!(at(&*cursor), None, "nothing is before the first key");
    cursor.seek(Seek::Last).expect("a cursor can be moved");
    cursor.step(Way::Forward).expect("going over the end is no error");
    assert_eq!(at(&*cursor), None, "nothing is after the last key");
}

/// A seek between keys finds the nearest one on the side asked for.
pub fn a_cursor_seeks_beside_keys(kind: &dyn StoreKind, setup: &Setup) {
    let scratch = Scratch::new();
    let store = open(kind, setup, &scratch.folder(), Existing::Forbidden);
    {
        let mut cursor = store.cursor().expect("a cursor can be made");
        for to in [Seek::First, Seek::Last, Seek::AtLeast(b"d"), Seek::AtMost(b"d")] {
            cursor.seek(to).expect("a cursor can be moved");
            assert_eq!(at(&*cursor), None, "an empty store has no key at {to:?}");
        }
    }
    if !kind.description().keeps_data {
        return;
    }
    drop(store);
    let scratch = Scratch::new();
    let store = with_four_keys(kind, setup, &scratch);
    let mut cursor = store.cursor().expect("a cursor can be made");
    for (to, key) in [
        (Seek::First, Some("b")),
        (Seek::Last, Some("h")),
        (Seek::AtLeast(b"a"), Some("b")),
        (Seek::AtLeast(b"d"), Some("d")),
        (Seek::AtLeast(b"e"), Some("f")),
        (Seek::AtLeast(b"d\0"), Some("f")),
        (Seek::AtLeast(b"i"), None),
        (Seek::AtMost(b"a"), None),
        (Seek::AtMost(b"d"), Some("d")),
        (Seek::AtMost(b"e"), Some("d")),
        (Seek::AtMost(b"z"), Some("h")),
    ] {
        cursor.seek(to).expect("a cursor can be moved");
        assert_eq!(at(&*cursor).as_deref(), key, "{to:?}");
        assert!(cursor.entry().is_none_or(|(key, value)| key == value), "a key has the value of another");
    }
}

/// A cursor does not show what is written after it was made.
pub fn a_cursor_keeps_what_it_saw(kind: &dyn StoreKind, setup: &Setup) {
    if !kind.description().keeps_data {
        return;
    }
    let scratch = Scratch::new();
    let store = with_four_keys(kind, setup, &scratch);
    let mut old = store.cursor().expect("a cursor can be made");
    store.put(b"c", b"new", Durability::Logged).expect("a put works");
    store.put(b"f", b"changed", Durability::Logged).expect("a put works");
    store.delete(b"h", Durability::Logged).expect("a deletion works");
    old.seek(Seek::First).expect("a cursor can be moved");
    let mut seen = String::new();
    while let Some((key, value)) = old.entry() {
        assert_eq!(key, value, "an old cursor shows a new value");
        seen.push_str(&String::from_utf8_lossy(key));
        old.step(Way::Forward).expect("a cursor can be moved");
    }
    assert_eq!(seen, "bdfh", "an old cursor shows what was written later");
    let mut new = store.cursor().expect("a cursor can be made");
    new.seek(Seek::AtLeast(b"c")).expect("a cursor can be moved");
    assert_eq!(at(&*new).as_deref(), Some("c"), "a new cursor does not show what was written before it");
}
