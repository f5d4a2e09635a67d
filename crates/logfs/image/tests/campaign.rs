//! Damages images in every kind of structure, then opens, reads, checks, copies and repairs them.
//! Nothing may panic, wait forever, take memory without bound, accept wrong content, write outside
//! of its target, or lose by a repair what was readable before.
//!
//! `IOLAB_IMAGE_CAMPAIGN=N` sets the number of images; a failure prints the number of its image,
//! which is its seed.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use iolab_image::{CopyError, CopySource, CopyTarget, Image, ImageAccess, ImageError, from_host, to_host};
use iolab_logfs::hostile::{Structure, forge, structures};
use iolab_logfs::{Error, InodeId, InodeKind, MkfsOptions, Repair, Volume, check_content, fsck, mkfs};
use iolab_testkit::parallel;

const BLOCK: usize = 4096;
const CLUSTER: usize = 64 << 10;
const IMAGE_BYTES: u64 = 8 << 20;
/// Far above what a small image needs, far below what an unchecked count would request.
const MOST_MEMORY_KIB: u64 = 1 << 20;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit.max(1)
    }
}

/// Any error, as text.
#[derive(Debug)]
struct Trouble(String);

impl From<ImageError> for Trouble {
    fn from(error: ImageError) -> Trouble {
        assert!(!matches!(error, ImageError::Stalled(_)), "a damaged image makes the file system wait for itself");
        Trouble(error.to_string())
    }
}

impl From<CopyError> for Trouble {
    fn from(error: CopyError) -> Trouble {
        Trouble(error.to_string())
    }
}

/// Content by path; `None` for a file that cannot be read.
type Found = BTreeMap<Vec<u8>, Option<Vec<u8>>>;

fn content(number: u32, length: usize) -> Vec<u8> {
    (0..length as u32).map(|at| (at.wrapping_mul(31).wrapping_add(number * 7_919) >> 3) as u8).collect()
}

/// A closed image with files of all sizes, two checkpoints and a log between them.
fn sample(folder: &Path) -> Vec<u8> {
    let (source, path) = (folder.join("source"), folder.join("sample"));
    for number in 0..40_u32 {
        let deep = source.join(format!("folder-{}/deep", number % 5));
        fs::create_dir_all(&deep).unwrap();
        let length = [0, 10, 700, 5_000, 30_000, 90_000][number as usize % 6];
        fs::write(deep.join(format!("a-name-of-file-{number:02}")), content(number, length)).unwrap();
    }
    let file = fs::File::create(&path).unwrap();
    file.set_len(IMAGE_BYTES).unwrap();
    let mut image = Image::open(&path, ImageAccess::Write).unwrap();
    let options = MkfsOptions {
        block_bytes: BLOCK as u32,
        cluster_bytes: CLUSTER as u32,
        small_max_bytes: 1_000,
        ..MkfsOptions::new([9; 16], 5)
    };
    image.run(async |disk, _| mkfs(&disk, &options).await).unwrap().unwrap();
    for part in 0..5 {
        let copied = image.with_fs(async |fs: &Volume| {
            let from = source.join(format!("folder-{part}"));
            let name = format!("folder-{part}").into_bytes();
            let source = CopySource { path: &from, recursive: true };
            Ok::<_, Trouble>(from_host(fs, source, (InodeId::ROOT, &name), &name).await?)
        });
        copied.unwrap();
    }
    drop(image);
    fs::remove_dir_all(&source).unwrap();
    fs::read(path).unwrap()
}

/// Everything that can be read, or why the image cannot be opened.
fn readable(path: &Path) -> Result<Found, Trouble> {
    Image::open(path, ImageAccess::Read)?.with_fs(async |fs: &Volume| {
        let mut found = Found::new();
        for (path, entry) in fs.tree().await.into_iter().take(10_000) {
            let content = match entry.kind {
                InodeKind::File => fs.read(entry.inode, 0, 1 << 20).await,
                _ => Ok(Vec::new()),
            };
            found.insert(path, content.ok());
        }
        Ok(found)
    })
}

/// Damages an image; returns whether all checksums were recomputed.
fn damage(image: &mut Vec<u8>, number: usize) -> bool {
    let mut random = Random(number as u64 * 7 + 1);
    let all = structures(image);
    let flip = |image: &mut Vec<u8>, wanted: &[Structure], random: &mut Random| {
        let some: Vec<_> = all.iter().filter(|(structure, _)| wanted.contains(structure)).collect();
        let (_, range) = some[random.below(some.len())];
        image[range.start + random.below(range.len())] ^= 1 << random.below(8);
    };
    match number % 12 {
        0 => flip(image, &[Structure::Bootstrap], &mut random),
        1 => flip(image, &[Structure::Anchor], &mut random),
        2 => flip(image, &[Structure::FrameHead], &mut random),
        3 | 4 => flip(image, &[Structure::FramePayload], &mut random),
        5 | 6 => flip(image, &[Structure::Content], &mut random),
        7 => {
            let length = random.below(image.len());
            image.truncate(length / 512 * 512);
        }
        8 => {
            let (one, other) = (random.below(image.len() / BLOCK) * BLOCK, random.below(image.len() / BLOCK) * BLOCK);
            let block = image[one..one + BLOCK].to_vec();
            image.copy_within(other..other + BLOCK, one);
            image[other..other + BLOCK].copy_from_slice(&block);
        }
        9 => {
            let start = random.below(image.len() / CLUSTER) * CLUSTER;
            image[start..start + CLUSTER].fill(0);
        }
        10 => {
            for _ in 0..2 + random.below(40) {
                let any = [Structure::FrameHead, Structure::FramePayload, Structure::Content, Structure::Anchor];
                flip(image, &any, &mut random);
            }
        }
        _ => return forge_something(image, &mut random),
    }
    false
}

/// Changes names, numbers or lengths in the log and recomputes its checksums.
fn forge_something(image: &mut [u8], random: &mut Random) -> bool {
    let name = format!("a-name-of-file-{:02}", random.below(40)).into_bytes();
    let names: [&[u8]; 5] = [b"../../../../victim", b"/absolutely/else/x", b"..", b"nul\0nul", b"."];
    let frames: Vec<_> =
        structures(image).into_iter().filter(|(structure, _)| *structure == Structure::FramePayload).collect();
    if random.below(2) == 0 {
        let mut new = names[random.below(5)].to_vec();
        new.resize(name.len(), if random.below(2) == 0 { b'/' } else { 0 });
        return forge(image, &name, &new[..name.len()]) > 0;
    }
    // Eight bytes of some frame, wherever they occur.
    let (_, range) = &frames[random.below(frames.len())];
    let at = range.start + random.below(range.len().saturating_sub(8));
    let old = image[at..at + 8].to_vec();
    let mut new = old.clone();
    match random.below(3) {
        0 => new.fill(0xff),
        1 => new[random.below(8)] ^= 0x80,
        _ => new.copy_from_slice(&(1_u64 << (20 + random.below(43))).to_le_bytes()),
    }
    old.iter().any(|byte| *byte != 0) && forge(image, &old, &new) > 0
}

/// The content of a directory, by path.
fn listing(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(path) = open.pop() {
        let metadata = fs::symlink_metadata(&path).unwrap();
        if metadata.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        let content = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
        found.insert(path.strip_prefix(folder).unwrap().to_owned(), content);
    }
    found
}

/// Copies everything out; returns what was copied, and how many things were skipped.
fn copy_out(image: &Path, folder: &Path) -> Result<(BTreeMap<PathBuf, Vec<u8>>, usize), Trouble> {
    let target = folder.join("around/target");
    fs::create_dir_all(&target).unwrap();
    let before: Vec<PathBuf> = listing(folder).into_keys().collect();
    let copied = Image::open(image, ImageAccess::Read)?.with_fs(async |fs: &Volume| {
        let target = CopyTarget { folder: &target, name: None };
        Ok::<_, Trouble>(to_host(fs, b"/", target, true).await?)
    });
    let came = listing(&target);
    fs::remove_dir_all(&target).unwrap();
    fs::create_dir_all(&target).unwrap();
    assert_eq!(before, listing(folder).into_keys().collect::<Vec<PathBuf>>(), "something outside of the target");
    copied.map(|copied| (came, copied.left_out.len()))
}

#[derive(Debug, Default)]
struct Tally {
    opened: usize,
    refused: usize,
    wrong_content: usize,
    told_by_fsck: usize,
    told_by_content: usize,
    repaired: usize,
    hopeless: usize,
}

fn survive(folder: &Path, original: &Found, image: &[u8], number: usize, tally: &Mutex<Tally>) {
    let tally = || tally.lock().unwrap();
    let path = folder.join("image");
    let mut damaged = image.to_vec();
    let is_forged = damage(&mut damaged, number);
    fs::write(&path, &damaged).unwrap();
    let is_true = |(path, content): (&Vec<u8>, &Option<Vec<u8>>)| {
        content.is_none() || is_forged || original.get(path) == Some(content)
    };
    let before = readable(&path);
    match &before {
        Ok(found) => {
            assert!(found.iter().all(is_true), "image {number}: wrong content passes for good");
            assert!(
                is_forged || found.len() == original.len(),
                "image {number}: names are missing, and nobody says so"
            );
            let wrong = found.values().filter(|content| content.is_none()).count();
            tally().opened += 1;
            tally().wrong_content += usize::from(wrong > 0);
            if let Ok((came, left_out)) = copy_out(&path, folder) {
                assert!(left_out >= wrong, "image {number}: {wrong} are wrong, {left_out} left out");
                for (name, content) in came.iter().filter(|_| !is_forged) {
                    let inside = [b"/", name.as_os_str().as_encoded_bytes()].concat();
                    let same = original.get(&inside).is_none_or(|known| known.as_ref() == Some(content));
                    assert!(same, "image {number}: {} was copied wrong", name.display());
                }
            }
        }
        Err(_) => tally().refused += 1,
    }
    let Ok(mut opened) = Image::open(&path, ImageAccess::Read) else { return };
    let looked = opened.run(async |disk, runtime| fsck(&disk, Repair::No, runtime).await).unwrap();
    let content = opened.run(async |disk, _| check_content(&disk).await).unwrap();
    tally().told_by_fsck += usize::from(looked.as_ref().map_or(true, |report| !report.is_sound()));
    tally().told_by_content += usize::from(content.as_ref().is_ok_and(|report| !report.bad.is_empty()));
    let refused = before.is_err() && looked.as_ref().is_ok_and(iolab_logfs::FsckReport::is_sound);
    assert!(!refused, "image {number}: fsck has nothing to say about an image that cannot be opened");
    drop(opened);
    let mut opened = Image::open(&path, ImageAccess::Write).unwrap();
    match opened.run(async |disk, runtime| fsck(&disk, Repair::Yes, runtime).await).unwrap() {
        Ok(report) => {
            tally().repaired += usize::from(report.repaired);
            let again = opened.run(async |disk, runtime| fsck(&disk, Repair::No, runtime).await).unwrap();
            assert!(
                again.as_ref().is_ok_and(iolab_logfs::FsckReport::is_sound),
                "image {number}: {report:?}, then {again:?}"
            );
            drop(opened);
            let after =
                readable(&path).unwrap_or_else(|error| panic!("image {number}: repaired, and then {}", error.0));
            for (name, content) in before.iter().flatten().filter(|(_, content)| content.is_some()) {
                let is_there = is_forged || after.get(name) == Some(content);
                assert!(is_there, "image {number}: {} was readable before the repair", name.escape_ascii());
            }
        }
        Err(error) => {
            assert!(
                matches!(error, Error::Corrupt(_) | Error::Unusable(_) | Error::NoSpace),
                "image {number}: {error}"
            );
            assert!(before.is_err(), "image {number}: it can be opened and not be checked: {error}");
            tally().hopeless += 1;
        }
    }
}

fn peak_memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn damaged_images_are_told_used_as_far_as_they_are_good_and_repaired() {
    let count = std::env::var("IOLAB_IMAGE_CAMPAIGN").ok().and_then(|text| text.parse().ok()).unwrap_or(72);
    let folder = tempfile::tempdir().unwrap();
    let image = sample(folder.path());
    let original = readable(&folder.path().join("sample")).unwrap();
    assert!(original.len() == 50 && original.values().all(Option::is_some), "{}", original.len());
    let tally = Mutex::new(Tally::default());
    parallel::for_each(0..count, |number| {
        survive(tempfile::tempdir().unwrap().path(), &original, &image, number, &tally);
    });
    let tally = tally.into_inner().unwrap();
    let memory = peak_memory_kib();
    let _ = writeln!(std::io::stderr(), "{count} images: {tally:?}, at most {} MiB of memory", memory >> 10);
    assert!(memory < MOST_MEMORY_KIB, "{memory} KiB of memory");
    assert!(tally.opened * 2 > count && tally.wrong_content > 0 && tally.repaired > 0, "{tally:?}");
}
