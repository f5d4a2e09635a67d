//! The engine `tree`: files and directories in a tree of directories, as many as there are blocks.
//!
//! ```text
//! filename   the root                       offset / bs   the number of an item
//! write      creates item n                 trim          removes item n
//! read       looks item n up, opens it, or walks (tree_read)
//! ```
//!
//! Because an item is a block, everything that chooses blocks chooses items: `size` is how many
//! there are (times `bs`), `offset_increment` gives each clone and rank its own in a shared tree,
//! `rank_shift` those of another rank, and random patterns, mixes, rates and times work as for
//! data. Nothing grows with the number of items.
//!
//! Nodes that are missing are made by the first write that needs them. What is not iolab's is never
//! changed (module `owned`).
#![allow(unsafe_code, reason = "island: calls on paths and directory streams, and reads and writes of slots")]

mod calls;
mod lane;
mod owned;
mod shape;
mod walk;

pub use lane::TreeLane;

use std::path::{Path, PathBuf};

use iolab_engine::{Capabilities, Engine, EngineDescription, FileEffect, FileUse, LaneRequest, OpenError, Polling};
use iolab_options::{Category, Choice, DefaultValue, OptionEntry, PageCache, Reach, Settings, ValueKind};

/// Most levels of a tree.
const MOST_LEVELS: i64 = 64;

/// The options of `tree`.
pub const TREE_OPTIONS: &[OptionEntry] = &[
    OptionEntry {
        name: "tree_item",
        category: Category::Engine,
        kind: ValueKind::Choice(&[
            Choice { name: "file", aliases: &[], summary: "files: open, unlink" },
            Choice { name: "directory", aliases: &[], summary: "directories beside one another: mkdir, rmdir" },
            Choice {
                name: "node",
                aliases: &[],
                summary: "the directories of the tree itself, level by level; they are removed from the last to the first",
            },
        ]),
        default: DefaultValue::Text("file"),
        summary: "What an item is",
        details: "The root is node 0. A job that reaches the last node ends.",
        accepts: &[("file", "file"), ("node", "node")],
        rejects: &["link"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "tree_read",
        category: Category::Engine,
        kind: ValueKind::Choice(&[
            Choice { name: "stat", aliases: &[], summary: "stat(2) of item n" },
            Choice {
                name: "open",
                aliases: &[],
                summary: "open item n, read bs bytes of a file or all entries of a directory, close it",
            },
            Choice {
                name: "find",
                aliases: &[],
                summary: "walk: read directories until entry n of the whole tree, and stat it",
            },
        ]),
        default: DefaultValue::Text("stat"),
        summary: "What a read does",
        details: "A walk goes on where it was; entries before the job's first are read but not looked up, so that \
                  ranks share a walk by offset_increment. It ends the job when there are no more entries. The other \
                  options of the tree do not matter to it.",
        accepts: &[("open", "open"), ("find", "find")],
        rejects: &["list"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "tree_branch",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 1, max: 1 << 32 },
        default: DefaultValue::Text("1"),
        summary: "How many directories are in each directory of the tree",
        details: "mdtest's -b.",
        accepts: &[("10", "10")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "tree_depth",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 0, max: MOST_LEVELS },
        default: DefaultValue::Text("0"),
        summary: "How many levels of directories are below the root",
        details: "mdtest's -z. The tree has 1 + b + b^2 … + b^depth directories.",
        accepts: &[("0", "0"), ("3", "3")],
        rejects: &["65", "-1"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "tree_items",
        category: Category::Engine,
        kind: ValueKind::Integer { min: 1, max: 1 << 32 },
        default: DefaultValue::Text("1"),
        summary: "How many items that follow one another are in one directory",
        details: "Item n is in directory n / tree_items, and round again after the last. With as many items as \
                  directories times tree_items, it is mdtest's -I.",
        accepts: &[("1000", "1000")],
        rejects: &["0"],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        category: Category::Engine,
        ..OptionEntry::switch("tree_leaves", "Put items only into directories of the last level", "mdtest's -L.")
    },
    OptionEntry {
        category: Category::Engine,
        ..OptionEntry::switch(
            "tree_data",
            "Write bs bytes into each file that is created",
            "mdtest's -w. Without it, files are empty.",
        )
    },
    OptionEntry {
        category: Category::Engine,
        ..OptionEntry::switch("tree_sync", "Make each file durable before it is closed (fsync)", "mdtest's -y.")
    },
];

/// The engine `tree`.
#[derive(Debug)]
pub struct Tree;

impl Engine for Tree {
    type Lane = TreeLane;

    const DESCRIPTION: EngineDescription = EngineDescription {
        name: "tree",
        aliases: &[],
        summary: "Files and directories in a tree: create, stat, read, find, remove",
        details: "filename is the root; block n of the job is item n of the tree, so size is bs times the number of \
            items, and all that chooses blocks chooses items. A write creates (openat, and write and fsync if asked \
            for, close; or mkdir), a trim removes (unlink, rmdir), a read is what tree_read says. Directories that \
            are missing are made by the write that needs them. A root that holds anything must have been made by this \
            engine, which leaves the file .iolab-tree in it, or nothing is created or removed there.",
        options: TREE_OPTIONS,
        capabilities: Capabilities {
            synchronous: true,
            files: FileUse::Paths,
            moves_data: true,
            trims: true,
            trims_ranges: false,
            syncs: false,
            direct: false,
            extends_files: true,
            effect: FileEffect::ByDirection,
            reach: Reach::Names,
            page_cache: PageCache::Always,
            polling: Polling::Never,
            reads_to_write: false,
            needs: &[],
        },
        trials: &[],
    };

    fn open(request: &LaneRequest<'_>) -> Result<TreeLane, OpenError> {
        TreeLane::open(request)
    }

    fn overwrite_refusal(root: &Path, _options: &Settings, job: &str, _allowed: &[PathBuf]) -> Option<String> {
        owned::refusal(root).map(|reason| format!("{reason}; job {job} would change it"))
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod conformance {
    use super::Tree;

    iolab_engine::conformance_suite!(tree, Tree);
}
