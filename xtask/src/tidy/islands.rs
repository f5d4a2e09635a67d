//! Where unsafe code may be, and that it says why. That each block has its `SAFETY:` is clippy's business.

use super::headers::header;
use crate::finding::Finding;
use crate::repository::{Repository, TextFile};
use crate::rust_text::{line_of, mask, word_positions};

/// The unsafe islands: a crate or a file below `crates/` or `testkit/`, and what safe Rust cannot do there. ARCHITECTURE.md lists
/// the same.
const ISLANDS: &[(&str, &str)] = &[
    (
        "memory",
        "maps memory, hands out pointers into buffers that the kernel writes, and handles SIGBUS of mapped files",
    ),
    ("process", "forks, and calls what only a single-threaded process may call"),
    ("clock", "reads the time-stamp counter"),
    ("native_aio", "speaks the kernel's AIO interface and reads the ring that it shares"),
    ("command_ring", "queues io_uring commands with addresses, makes a signalfd and blocks signals"),
    ("fuse/src/clone.rs", "clones the descriptor of a FUSE connection"),
    ("fuse/src/uring.rs", "tells the kernel where headers and payloads are"),
    ("file_calls", "makes system calls on descriptors it does not own"),
    ("block/src/aio_disk.rs", "gives the kernel's AIO operations with addresses"),
    ("block/src/buffer.rs", "allocates aligned memory that a device works on"),
    ("block/src/uring_disk.rs", "hands addresses of buffers to io_uring"),
    ("vfio", "makes the ioctl calls that VFIO consists of"),
    ("block_trace/src/ring.rs", "opens perf events and reads the rings that the kernel writes"),
    ("engine_posix", "makes read and write calls on slot pointers"),
    ("engine_mmap", "maps files and copies from and to the mapping"),
    ("engine_posixaio", "keeps control blocks where the C library finds them"),
    ("engine_fileops", "makes path system calls that have no safe wrapper"),
    ("engine_libaio", "gives the kernel's AIO operations with addresses"),
    ("engine_nvme", "lends the pool of slots to a device, and keeps the users of one inside the lane apart by a flag"),
    ("engine_logfs", "lends slots to the file system's device, and locks ranges of a file"),
    ("engine_uring", "fills submission entries with slot pointers"),
    ("export/src/ram_lane.rs", "copies between memory and slot pointers"),
    ("export_ublk", "speaks the ublk driver's interface"),
    ("runner/src/control.rs", "promises that the shared cells are made of atomics"),
    ("runner/src/launch.rs", "promises that no thread exists when workers are forked"),
    ("testkit/tests/no_allocation.rs", "counts the calls of the allocator"),
];

fn is_island(path: &str) -> bool {
    let Some(below) = path.strip_prefix("crates/").or(path.starts_with("testkit/").then_some(path)) else {
        return false;
    };
    let holds = |island: &str| below.strip_prefix(island).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    ISLANDS.iter().any(|(island, _)| holds(island))
}

pub(super) fn check(repository: &Repository) -> Vec<Finding> {
    repository.rust_files().flat_map(check_file).collect()
}

fn check_file(file: &TextFile) -> Vec<Finding> {
    let masked = mask(&file.text);
    let mut findings = unexplained_silences(file, &masked);
    let uses = word_positions(&masked, "unsafe");
    let opens_up = masked.find("allow(unsafe_code)").or_else(|| masked.find("expect(unsafe_code)"));
    let Some(first) = uses.first().copied().or(opens_up) else { return findings };
    let line = line_of(&masked, first);
    if !is_island(&file.path) {
        let what = "unsafe code outside the islands of xtask/src/tidy/islands.rs";
        findings.push(Finding::new(&file.path, line, what));
    } else if !uses.is_empty() && !says_why(file) {
        let what = "the header must say what this file needs unsafe code for (with that word)";
        findings.push(Finding::new(&file.path, 1, what));
    }
    findings
}

/// The header names the matter, or the crate's opening line does: `#![allow(unsafe_code)] // island: why`.
fn says_why(file: &TextFile) -> bool {
    let opening = |line: &str| line.starts_with("#![allow(unsafe_code)] // island: ");
    header(&file.text).to_lowercase().contains("unsafe") || file.text.lines().any(opening)
}

/// `#[allow(…)]` and `#[expect(…)]` need a reason: a comment on the same line or the one before, or `reason = `.
fn unexplained_silences(file: &TextFile, masked: &str) -> Vec<Finding> {
    let lines: Vec<&str> = file.text.lines().collect();
    let is_silence = |line: &str| {
        let line = line.trim_start();
        ["#[allow(", "#![allow(", "#[expect(", "#![expect("].iter().any(|start| line.starts_with(start))
    };
    let is_explained = |at: usize| {
        let before = at.checked_sub(1).map_or("", |at| lines[at]).trim_start();
        lines[at].contains("//") || lines[at].contains("reason = ") || before.starts_with("// ")
    };
    let silences = masked.lines().enumerate().filter(|(at, line)| is_silence(line) && !is_explained(*at));
    silences.map(|(at, _)| Finding::new(&file.path, at + 1, "a silenced lint needs a reason beside it")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repository::fixtures::repository;

    fn findings(path: &str, text: &str) -> Vec<String> {
        let (_folder, tree) = repository(&[(path, text)]);
        check(&tree).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn canary_outside_an_island() {
        let code = "//! A file with a header.\nfn f() { unsafe { g() } }\n";
        assert!(findings("crates/report/src/lib.rs", code)[0].contains("outside the islands"));
        assert!(findings("crates/runner/src/hot_loop.rs", code)[0].contains("outside the islands"));
        assert!(findings("crates/memory_too/src/lib.rs", code)[0].contains("outside the islands"));
        assert!(findings("xtask/src/a.rs", code)[0].contains("outside the islands"));
        let allowed = "//! A header here.\n#![allow(unsafe_code)] // island: says who\n";
        assert_eq!(findings("crates/plan/src/lib.rs", allowed).len(), 1);
    }

    #[test]
    fn the_architecture_lists_the_same_islands() {
        let here = Repository::here().unwrap();
        let page = here.text("ARCHITECTURE.md").unwrap();
        let (_, section) = page.split_once("## Unsafe islands").unwrap();
        let section = section.split("\n## ").next().unwrap();
        let listed: Vec<&str> =
            section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
        let islands: Vec<&str> = ISLANDS.iter().map(|(island, _)| *island).collect();
        assert_eq!(listed, islands);
    }

    #[test]
    fn canary_without_a_why() {
        let code = "fn f() { unsafe { g() } }\n";
        let silent = format!("//! Calls g for you.\n{code}");
        assert!(findings("crates/memory/src/a.rs", &silent)[0].contains("what this file needs unsafe code for"));
        let told = format!("//! Calls g. Unsafe because g is a C function.\n{code}");
        assert_eq!(findings("crates/memory/src/a.rs", &told), [] as [&str; 0]);
    }

    #[test]
    fn words_in_text_are_not_code() {
        let text = "//! Unsafe is a word.\n// unsafe\nconst A: &str = \"unsafe\";\n";
        assert_eq!(findings("crates/plan/src/a.rs", text), [] as [&str; 0]);
    }

    #[test]
    fn canary_for_silenced_lints() {
        assert_eq!(findings("a.rs", "//! A header here.\n#[allow(dead_code)]\nfn f() {}\n").len(), 1);
        assert_eq!(findings("a.rs", "//! A header here.\n#[allow(dead_code)] // for later\nfn f() {}\n").len(), 0);
    }
}
