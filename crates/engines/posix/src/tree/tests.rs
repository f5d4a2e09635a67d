//! Trees in a scratch folder.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, Submission, TargetFile, Wait};
use iolab_memory::{Backing, SlotPool};
use iolab_options::{Setting, Settings, Value};

use super::{Tree, TreeLane};

const BLOCK: u32 = 3901;

fn settings(words: &[(&str, &str)]) -> Settings {
    let mut settings = Settings::default();
    for (name, text) in words {
        let value = match *name {
            "tree_item" | "tree_read" => Value::Choice((*text).to_owned()),
            "tree_data" | "tree_leaves" | "tree_sync" => Value::Flag(*text == "1"),
            _ => Value::Integer(text.parse().unwrap()),
        };
        settings.set(name, Setting { value, text: (*text).to_owned(), source: 0, span: (0, 0) });
    }
    settings
}

struct Rig {
    lane: TreeLane,
    pool: SlotPool,
}

impl Rig {
    fn new(root: &Path, words: &[(&str, &str)]) -> Rig {
        let pool = SlotPool::new(1, BLOCK as usize, 0, &Backing::Anonymous).unwrap();
        let target = TargetFile { path: root.to_owned(), fd: -1, size_bytes: 0, is_block_device: false };
        let options = settings(words);
        let request = LaneRequest {
            files: &[target],
            depth: 1,
            buffers: pool.view(),
            options: &options,
            direct: false,
            seed: 0,
            worker: 0,
        };
        Rig { lane: Tree::open(&request).unwrap(), pool }
    }

    fn item(&mut self, kind: OpKind, number: u64) -> i32 {
        let offset = number * u64::from(BLOCK);
        let op = Op { offset, length: BLOCK, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 };
        match self.lane.submit(&op) {
            Submission::Accepted => {}
            other => panic!("{op:?}: {other:?}"),
        }
        let mut out = Completions::with_room(1);
        assert_eq!(self.lane.reap(Wait::POLL, &mut out), Ok(1));
        out.as_slice()[0].result
    }
}

/// Everything below a folder, but for the mark.
fn below(root: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
            let name = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            found.extend((name != ".iolab-tree").then_some(name));
        }
    }
    found
}

const DONE: i32 = BLOCK as i32;

#[test]
fn files_come_hold_data_and_go() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("new/root");
    let mut rig =
        Rig::new(&root, &[("tree_branch", "2"), ("tree_depth", "1"), ("tree_data", "1"), ("tree_read", "open")]);
    assert_eq!(rig.item(OpKind::Read, 0), -libc::ENOENT);
    assert_eq!(rig.item(OpKind::Trim, 0), -libc::ENOENT);
    assert!(!root.exists(), "neither reads nor removals make anything");
    for number in 0..4 {
        rig.pool.slot_mut(0).fill(number as u8 + 1);
        assert_eq!(rig.item(OpKind::Write, number), DONE);
    }
    let all = ["d1", "d1/file.1", "d2", "d2/file.2", "file.0", "file.3"];
    assert_eq!(below(&root), all.map(str::to_owned).into());
    assert_eq!(fs::read(root.join("d2/file.2")).unwrap(), vec![3; BLOCK as usize]);
    assert_eq!(rig.item(OpKind::Read, 1), DONE);
    assert!(rig.pool.slot_mut(0).iter().all(|byte| *byte == 2));
    fs::write(root.join("file.3"), "short").unwrap();
    assert_eq!(rig.item(OpKind::Read, 3), -libc::ENODATA);
    for number in 0..4 {
        assert_eq!(rig.item(OpKind::Trim, number), 0);
    }
    assert_eq!(rig.item(OpKind::Trim, 0), -libc::ENOENT);
    assert_eq!(below(&root), ["d1", "d2"].map(str::to_owned).into());
}

#[test]
fn empty_files_directories_and_nodes_are_made_looked_up_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let tree = [("tree_branch", "2"), ("tree_depth", "2")];
    let with = |more: &[(&'static str, &'static str)]| Rig::new(&root, &[&tree[..], more].concat());
    let mut nodes = with(&[("tree_item", "node"), ("tree_read", "open")]);
    for number in 0..7 {
        assert_eq!(nodes.item(OpKind::Write, number), DONE, "{number}");
    }
    assert_eq!(nodes.item(OpKind::Write, 7), 0, "there are seven");
    assert_eq!(nodes.item(OpKind::Trim, 7), -libc::ENOENT);
    let mut files = with(&[("tree_leaves", "1")]);
    let mut directories = with(&[("tree_item", "directory"), ("tree_read", "open")]);
    for number in 0..3 {
        assert_eq!(files.item(OpKind::Write, number), DONE);
        assert_eq!(directories.item(OpKind::Write, number), DONE);
        assert_eq!(directories.item(OpKind::Write, number), -libc::EEXIST);
        assert_eq!((files.item(OpKind::Read, number), directories.item(OpKind::Read, number)), (DONE, DONE));
    }
    assert_eq!(fs::metadata(root.join("d1/d3/file.0")).unwrap().len(), 0);
    assert!(root.join("d2/dir.2").is_dir());
    assert_eq!(nodes.item(OpKind::Read, 3), DONE, "a node can be listed");
    assert_eq!(nodes.item(OpKind::Trim, 3), -libc::ENOTEMPTY, "the last but three is node 3, which holds file 0");
    for number in 0..3 {
        assert_eq!((files.item(OpKind::Trim, number), directories.item(OpKind::Trim, number)), (0, 0));
    }
    for number in 0..7 {
        assert_eq!(nodes.item(OpKind::Trim, number), 0, "{number}");
    }
    assert!(!root.exists());
}

#[test]
fn a_walk_finds_each_entry_once_and_ends() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    let mut files = Rig::new(&root, &[("tree_branch", "3"), ("tree_depth", "1")]);
    for number in 0..8 {
        assert_eq!(files.item(OpKind::Write, number), DONE);
    }
    let entries = below(&root).len() as u64;
    assert_eq!(entries, 8 + 3);
    let mut walk = Rig::new(&root, &[("tree_read", "find")]);
    for number in 0..entries {
        assert_eq!(walk.item(OpKind::Read, number), DONE, "{number}");
    }
    assert_eq!(walk.item(OpKind::Read, entries), 0);
    let mut part = Rig::new(&root, &[("tree_read", "find")]);
    assert_eq!(part.item(OpKind::Read, entries - 1), DONE, "a part may begin anywhere");
    assert_eq!(part.item(OpKind::Read, 0), DONE, "and begin again");
    assert_eq!(part.item(OpKind::Read, entries + 5), 0);
    let mut nothing = Rig::new(&folder.path().join("missing"), &[("tree_read", "find")]);
    assert_eq!(nothing.item(OpKind::Read, 0), -libc::ENOENT);
}

#[test]
fn what_is_not_iolabs_is_never_changed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("file.0"), "mine").unwrap();
    let mut rig = Rig::new(root, &[("tree_data", "1")]);
    let refusal = Tree::overwrite_refusal(root, &Settings::default(), "a", &[]).unwrap();
    assert!(refusal.contains("iolab did not make it") && refusal.contains("job a"), "{refusal}");
    for kind in [OpKind::Write, OpKind::Trim] {
        assert_eq!(rig.item(kind, 0), -libc::EPERM, "{kind:?}");
    }
    assert_eq!(fs::read(root.join("file.0")).unwrap(), b"mine");
    assert_eq!(rig.item(OpKind::Read, 0), DONE, "looking is harmless");
    let elsewhere = root.join("mine");
    fs::create_dir(&elsewhere).unwrap();
    std::os::unix::fs::symlink(root.join("file.0"), elsewhere.join("link")).unwrap();
    assert!(Tree::overwrite_refusal(&elsewhere, &Settings::default(), "a", &[]).is_some());
    let empty = root.join("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(Tree::overwrite_refusal(&empty, &Settings::default(), "a", &[]), None);
    std::os::unix::fs::symlink(root.join("file.0"), root.join("aim")).unwrap();
    let mut in_empty = Rig::new(&empty, &[("tree_data", "1")]);
    assert_eq!(in_empty.item(OpKind::Write, 0), DONE);
    std::os::unix::fs::symlink(root.join("file.0"), empty.join("file.1")).unwrap();
    assert_eq!(in_empty.item(OpKind::Write, 1), -libc::ELOOP, "a link is not followed");
    assert_eq!(fs::read(root.join("file.0")).unwrap(), b"mine");
}
