//! The commands of the documentation work, and print what the pages say.
//!
//! Each page runs in a folder of its own, its blocks of `sh` and `console` in their order. Lines of
//! a `console` block without `$` or `#` are output, and so is a block of `text` behind commands:
//! every line of it must be printed, with other numbers; `…` stands for lines that are left out. A
//! comment before a block changes what the test does:
//!
//! ```text
//! <!-- test: needs root -->          the page ends here for other users; other words after `needs`
//!                                    are programs
//! <!-- test: before: COMMAND -->     what a reader is assumed to have
//! <!-- test: instead: COMMAND -->    the test runs this, because the command takes long
//! <!-- test: not run: REASON -->     the test runs nothing
//! <!-- test: not output: REASON -->  the next block of text is of another run
//! <!-- test: file: NAME -->          the next block becomes this file
//! ```
//!
//! Every command of this program on a page, run or not, is one that it accepts.

#[path = "../support/mod.rs"]
mod support;

mod command;
mod page;

use std::path::{Path, PathBuf};

use command::commands;
use page::{Block, Page, shape};
use support::Lab;

/// The folder of the documentation.
fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs").canonicalize().expect("docs is there")
}

/// Whether a need of a page is met here.
fn is_met(need: &str) -> bool {
    match need {
        "root" => rustix_is_root(),
        program => {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&folders).any(|folder| folder.join(program).is_file())
        }
    }
}

fn rustix_is_root() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| {
        status
            .lines()
            .any(|line| line.strip_prefix("Uid:").is_some_and(|ids| ids.split_whitespace().nth(1) == Some("0")))
    })
}

/// Ends what a page has started and not ended, when the test ends: it writes process numbers to
/// files that end in `.pid`.
struct Started<'l>(&'l Lab);

impl Drop for Started<'_> {
    fn drop(&mut self) {
        self.0.shell("for file in *.pid; do kill -KILL $(cat $file); done; umount mnt");
    }
}

/// Runs the commands of a page.
fn follow(name: &str) {
    let path = docs().join(name);
    let page = Page::parse(&std::fs::read_to_string(&path).unwrap()).unwrap_or_else(|why| panic!("{name}: {why}"));
    let lab = Lab::new();
    // Paths of the repository are those of a reader who is in it, and has built the program.
    for shared in ["jobs", "studies"] {
        std::os::unix::fs::symlink(docs().join("..").join(shared), lab.path(shared)).unwrap();
    }
    let bin = Path::new(env!("CARGO_BIN_EXE_iolab")).parent().unwrap();
    std::fs::create_dir(lab.path("target")).unwrap();
    std::os::unix::fs::symlink(bin, lab.path("target/release")).unwrap();
    accepted(&lab, name, &page);
    // Sockets of served devices are private to the page.
    lab.shell("mkdir -m 700 run");
    let _started = Started(&lab);
    for block in &page.blocks {
        match block {
            Block::Needs(need) if !is_met(need) => {
                support::skipped(&format!("{name}: the rest needs {need}"));
                return;
            }
            Block::Needs(_) => {}
            Block::File { name, text } => {
                lab.file(name, text);
            }
            Block::Commands { line, text, output } => {
                let script =
                    format!("set -e\nexport PATH={}:$PATH HOME=$PWD XDG_RUNTIME_DIR=$PWD/run\n{text}", bin.display());
                let done = lab.shell(&script);
                let printed = done.printed() + &done.errors();
                assert_eq!(done.code(), 0, "{name}:{line}: `{text}` failed:\n{printed}");
                let have: Vec<String> = printed.lines().map(shape).collect();
                let missing: Vec<&String> = output.iter().filter(|line| !have.contains(&shape(line))).collect();
                assert!(
                    missing.is_empty(),
                    "{name}:{line}: not printed any more: {missing:#?}\nprinted was:\n{printed}"
                );
            }
        }
    }
}

/// Every command on the page is one of this program, with options and values that it knows.
fn accepted(lab: &Lab, name: &str, page: &Page) {
    for (line, text) in &page.shown {
        for words in commands(text) {
            let done = lab.run(["internal-parse".to_owned(), "--".to_owned()].into_iter().chain(words.clone()));
            assert_eq!(done.code(), 0, "{name}:{line}: `iolab {}`:\n{}", words.join(" "), done.errors());
        }
    }
}

/// A test for each page; a page without one is found by `every_page_is_followed`.
macro_rules! pages {
    ($($test:ident: $page:literal,)*) => {
        const PAGES: &[&str] = &[$($page),*];
        $(#[test]
        fn $test() {
            follow($page);
        })*
    };
}

pages! {
    readme: "../README.md",
    first_quarter_of_an_hour: "tutorial/first.md",
    interfaces: "tutorial/interfaces.md",
    many_disks: "tutorial/many-disks.md",
    file_system: "tutorial/file-system.md",
    block_devices: "tutorial/block-devices.md",
    practical: "tutorial/practical.md",
    guide_bench: "guide/bench.md",
    guide_capture: "guide/capture.md",
    guide_client_server: "guide/client-server.md",
    guide_compare: "guide/compare.md",
    guide_configuration: "guide/configuration.md",
    guide_continuous: "guide/continuous.md",
    guide_doctor: "guide/doctor.md",
    guide_export: "guide/export.md",
    guide_findings: "guide/findings.md",
    guide_gluster: "guide/gluster.md",
    guide_guest: "guide/guest.md",
    guide_http: "guide/http.md",
    guide_iscsi: "guide/iscsi.md",
    guide_job_files: "guide/job-files.md",
    guide_kv_check: "guide/kv-check.md",
    guide_kv: "guide/kv.md",
    guide_layers: "guide/layers.md",
    guide_live: "guide/live.md",
    guide_logfs: "guide/logfs.md",
    guide_many_hosts: "guide/many-hosts.md",
    guide_nbd: "guide/nbd.md",
    guide_nfs: "guide/nfs.md",
    guide_nvme_tcp: "guide/nvme-tcp.md",
    guide_nvme: "guide/nvme.md",
    guide_output: "guide/output.md",
    guide_rbd: "guide/rbd.md",
    guide_recordings: "guide/recordings.md",
    guide_replay: "guide/replay.md",
    guide_reports: "guide/reports.md",
    guide_safety: "guide/safety.md",
    guide_spdk_bdev: "guide/spdk-bdev.md",
    guide_steady_state: "guide/steady-state.md",
    guide_store: "guide/store.md",
    guide_studies: "guide/studies.md",
    guide_synthesize: "guide/synthesize.md",
    guide_trim: "guide/trim.md",
    guide_verification: "guide/verification.md",
    guide_vfio_user: "guide/vfio-user.md",
    guide_vfio: "guide/vfio.md",
    guide_virtual_ssd: "guide/virtual-ssd.md",
    guide_watch: "guide/watch.md",
    guide_zoned_devices: "guide/zoned-devices.md",
    logfs_cleaning: "logfs/cleaning.md",
    logfs_durability: "logfs/durability.md",
    logfs_mount: "logfs/mount.md",
    logfs_rocksdb: "logfs/rocksdb.md",
}

/// The folders whose pages are followed.
const FOLLOWED: [&str; 3] = ["guide", "logfs", "tutorial"];

#[test]
fn every_page_is_followed() {
    let mut there = vec!["../README.md".to_owned()];
    for folder in FOLLOWED {
        for entry in std::fs::read_dir(docs().join(folder)).unwrap() {
            let name = format!("{folder}/{}", entry.unwrap().file_name().into_string().unwrap());
            if Page::parse(&std::fs::read_to_string(docs().join(&name)).unwrap())
                .is_ok_and(|page| !page.shown.is_empty())
            {
                there.push(name);
            }
        }
    }
    let missing: Vec<&String> = there.iter().filter(|name| !PAGES.contains(&name.as_str())).collect();
    assert!(
        missing.is_empty() && there.len() == PAGES.len(),
        "{missing:?} of {}, {} are followed",
        there.len(),
        PAGES.len()
    );
}

/// Pages that are no part of the book: what links to them is the repository.
const BESIDE_THE_BOOK: &[&str] = &["SUMMARY.md"];

#[test]
fn every_page_of_the_documentation_is_in_the_book() {
    let docs = docs();
    let summary = std::fs::read_to_string(docs.join("SUMMARY.md")).unwrap();
    let mut left = vec![docs.clone()];
    let mut missing = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|ending| ending == "md") {
            let name = path.strip_prefix(&docs).unwrap().to_str().unwrap();
            if !BESIDE_THE_BOOK.contains(&name) && !summary.contains(&format!("({name})")) {
                missing.push(name.to_owned());
            }
        }
    }
    assert!(missing.is_empty(), "not in docs/SUMMARY.md: {missing:?}");
    let named = summary.match_indices("](").map(|(at, _)| summary[at + 2..].split(')').next().unwrap());
    let gone: Vec<&str> = named.filter(|name| !docs.join(name).is_file()).collect();
    assert!(gone.is_empty(), "docs/SUMMARY.md names pages that are not there: {gone:?}");
}
