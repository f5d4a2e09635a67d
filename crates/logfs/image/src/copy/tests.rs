//! Copies into an image and out again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};

use iolab_logfs::{InconsistencyKind, InodeId, MkfsOptions, Repair, mkfs};
use tempfile::TempDir;

use super::*;
use crate::{Image, ImageAccess, ImageError, make_file};

/// Any error, as text.
#[derive(Debug)]
struct Trouble {
    _said: String,
}

impl Trouble {
    fn copy(error: CopyError) -> Trouble {
        Trouble { _said: error.to_string() }
    }
}

impl From<ImageError> for Trouble {
    fn from(error: ImageError) -> Trouble {
        Trouble { _said: error.to_string() }
    }
}

fn image(folder: &TempDir) -> Image {
    let path = folder.path().join("image");
    make_file(&path, 64 << 20).unwrap();
    let mut image = Image::open(&path, ImageAccess::Write).unwrap();
    let made = image.run(async |disk, _| mkfs(&disk, &MkfsOptions::new([1; 16], 5)).await);
    made.unwrap().unwrap();
    image
}

/// A directory with one of everything.
fn sample(folder: &Path) {
    fs::create_dir_all(folder.join("deep/deeper")).unwrap();
    fs::write(folder.join("small"), "a few words").unwrap();
    let long: Vec<u8> = (0..5_000_000_u32).map(|number| (number % 251) as u8).collect();
    fs::write(folder.join("deep/long"), &long).unwrap();
    fs::hard_link(folder.join("deep/long"), folder.join("deep/deeper/same")).unwrap();
    std::os::unix::fs::symlink("../small", folder.join("deep/link")).unwrap();
    let sparse = File::create(folder.join("sparse")).unwrap();
    sparse.set_len(1 << 32).unwrap();
    sparse.write_all_at(b"island", 1 << 31).unwrap();
    fs::set_permissions(folder.join("small"), fs::Permissions::from_mode(0o4751)).unwrap();
    fs::set_permissions(folder.join("deep/deeper"), fs::Permissions::from_mode(0o500)).unwrap();
}

/// The content of a directory: mode, time of change, names, content by its checksum.
fn facts(folder: &Path) -> BTreeMap<PathBuf, (u32, i64, i64, u64, u64, u32)> {
    let of_path = |below: PathBuf| {
        let path = folder.join(&below);
        let metadata = fs::symlink_metadata(&path).unwrap();
        let mut sum = 0;
        if metadata.is_symlink() {
            sum = fs::read_link(&path).unwrap().as_os_str().len() as u32;
        } else if metadata.is_file() && metadata.len() < 1 << 30 {
            sum = fs::read(&path).unwrap().iter().fold(7, |sum: u32, byte| sum.wrapping_mul(31) + u32::from(*byte));
        }
        let size = if metadata.is_dir() { 0 } else { metadata.len() };
        (below, (metadata.mode(), metadata.mtime(), metadata.mtime_nsec(), size, metadata.nlink(), sum))
    };
    listing(folder).into_iter().map(of_path).collect()
}

#[test]
fn what_went_in_comes_out_again() {
    let folder = tempfile::tempdir().unwrap();
    let (source, back) = (folder.path().join("source"), folder.path().join("back"));
    sample(&source);
    let mut image = image(&folder);
    let went = image.with_fs(async |fs| {
        let source = CopySource { path: &source, recursive: true };
        let copied = from_host(fs, source, (InodeId::ROOT, b"copy"), b"/copy").await.map_err(Trouble::copy)?;
        // Copy again: everything is replaced, nothing is duplicated.
        from_host(fs, source, (InodeId::ROOT, b"copy"), b"/copy").await.map_err(Trouble::copy)?;
        Ok::<_, Trouble>(copied)
    });
    let went = went.unwrap();
    assert_eq!((went.directories, went.files), (3, 5));
    assert!(went.bytes < 6 << 20, "holes are not copied: {went:?}");
    let came = image
        .with_fs(async |fs| to_host(fs, b"/copy", CopyTarget::at(&back), true).await.map_err(Trouble::copy))
        .unwrap();
    assert_eq!((came.directories, came.files), (3, 5));
    assert_eq!(facts(&source), facts(&back));
    let sparse = File::open(back.join("sparse")).unwrap();
    assert!(sparse.metadata().unwrap().blocks() * 512 < 8 << 20);
    let mut island = [0; 6];
    sparse.read_exact_at(&mut island, 1 << 31).unwrap();
    assert_eq!(&island, b"island");
    let (first, second) = (back.join("deep/long"), back.join("deep/deeper/same"));
    assert_eq!(fs::metadata(first).unwrap().ino(), fs::metadata(second).unwrap().ino());
}

#[test]
fn whoever_looks_on_sees_it_grow_and_may_end_it() {
    let folder = tempfile::tempdir().unwrap();
    let (source, back) = (folder.path().join("source"), folder.path().join("back"));
    fs::write(&source, vec![7; 3 * PIECE_BYTES as usize]).unwrap();
    let mut image = image(&folder);
    let (seen, ended) = image
        .with_fs(async |fs| {
            let source = CopySource { path: &source, recursive: false };
            let mut seen = Vec::new();
            let told = &mut |done: &Copied| {
                seen.push(done.bytes / PIECE_BYTES);
                true
            };
            let whole = from_host_told(fs, source, InodeId::ROOT, b"copy", b"/copy", told).await;
            whole.map_err(Trouble::copy)?;
            let ended =
                to_host_told(fs, b"/copy", CopyTarget::at(&back), false, &mut |done| done.bytes < PIECE_BYTES).await;
            Ok::<_, Trouble>((seen, ended))
        })
        .unwrap();
    assert_eq!(seen, [1, 2, 3]);
    let error = ended.unwrap_err();
    assert!(matches!(&error, CopyError::Ended(done) if done.bytes == PIECE_BYTES), "{error}");
    assert!(error.to_string().contains("running the command again copies everything"), "{error}");
}

#[test]
fn what_cannot_be_copied_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut image = image(&folder);
    let host = folder.path().to_owned();
    fs::write(host.join("file"), "x").unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(host.join("socket")).unwrap();
    let answers = image.with_fs(async |fs| {
        let (none, socket, file) = (host.join("none"), host.join("socket"), host.join("file"));
        let into = |name: &'static [u8]| (InodeId::ROOT, name);
        let directory = from_host(fs, CopySource { path: &host, recursive: false }, into(b"a"), b"/a").await;
        let missing = from_host(fs, CopySource { path: &none, recursive: false }, into(b"a"), b"/a").await;
        let socket = from_host(fs, CopySource { path: &socket, recursive: false }, into(b"a"), b"/a")
            .await
            .map_err(Trouble::copy)?;
        from_host(fs, CopySource { path: &file, recursive: false }, into(b"a"), b"/a").await.map_err(Trouble::copy)?;
        let over = to_host(fs, b"/a", CopyTarget::at(&host), false).await;
        let root = to_host(fs, b"/", CopyTarget::at(&host.join("b")), false).await;
        Ok::<_, Trouble>((directory, missing, socket, over, root))
    });
    let (directory, missing, socket, over, root) = answers.unwrap();
    assert!(matches!(directory, Err(CopyError::Directory(_))));
    assert!(matches!(missing, Err(CopyError::Host { .. })));
    assert_eq!((socket.files, socket.left_out.len()), (0, 1));
    assert!(matches!(over, Err(CopyError::Host { what: "replacing it", .. })), "{over:?}");
    assert!(matches!(root, Err(CopyError::Directory(_))));
}

/// Everything in a directory, links as links, in order.
fn listing(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(path) = open.pop() {
        if fs::symlink_metadata(&path).unwrap().is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
        found.push(path.strip_prefix(folder).unwrap().to_owned());
    }
    found.sort();
    found
}

#[test]
fn names_that_lead_elsewhere_are_never_used() {
    for forged in [&b"../../../victim"[..], b"/tmp/../nothing", b"..\0............"] {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("source");
        fs::create_dir_all(source.join("deep")).unwrap();
        fs::write(source.join("deep/a-name-of-fifte"), "evil").unwrap();
        fs::write(source.join("good"), "good").unwrap();
        let mut image = image(&folder);
        let copied = image.with_fs(async |fs| {
            let source = CopySource { path: &source, recursive: true };
            from_host(fs, source, (InodeId::ROOT, b"copy"), b"/copy").await.map_err(Trouble::copy)
        });
        copied.unwrap();
        drop(image);
        let path = folder.path().join("image");
        let mut bytes = fs::read(&path).unwrap();
        assert!(iolab_logfs::hostile::forge(&mut bytes, b"a-name-of-fifte", forged) > 0);
        fs::write(&path, &bytes).unwrap();
        let before = listing(folder.path());
        let target = folder.path().join("one/two/three");
        fs::create_dir_all(&target).unwrap();
        let mut image = Image::open(&path, ImageAccess::Write).unwrap();
        let opened = image.with_fs(async |fs| {
            to_host(fs, b"/copy", CopyTarget::at(&target.join("copy")), true).await.map_err(Trouble::copy)
        });
        opened.unwrap_err();
        let fsck = image.run(async |disk, runtime| iolab_logfs::fsck(&disk, Repair::Yes, runtime).await);
        let report = fsck.unwrap().unwrap();
        assert!(report.faults.iter().any(|fault| fault.kind == InconsistencyKind::ImpossibleName), "{report:?}");
        let came = image.with_fs(async |fs| {
            to_host(fs, b"/copy", CopyTarget::at(&target.join("copy")), true).await.map_err(Trouble::copy)
        });
        assert_eq!((came.as_ref().unwrap().files, came.unwrap().directories), (2, 2));
        let after: Vec<PathBuf> = listing(folder.path()).into_iter().filter(|path| !path.starts_with("one")).collect();
        assert_eq!(before, after, "nothing outside of the target");
        assert_eq!(fs::read(target.join("copy/good")).unwrap(), b"good");
    }
}

#[test]
fn links_of_this_machine_are_not_followed_out_of_the_target() {
    let folder = tempfile::tempdir().unwrap();
    let (source, outside) = (folder.path().join("source"), folder.path().join("outside"));
    fs::create_dir_all(source.join("deep")).unwrap();
    fs::create_dir_all(&outside).unwrap();
    fs::write(source.join("deep/file"), "new").unwrap();
    fs::write(source.join("file"), "new").unwrap();
    fs::write(outside.join("file"), "old").unwrap();
    let mut image = image(&folder);
    let copied = image.with_fs(async |fs| {
        let source = CopySource { path: &source, recursive: true };
        from_host(fs, source, (InodeId::ROOT, b"copy"), b"/copy").await.map_err(Trouble::copy)
    });
    copied.unwrap();
    let target = folder.path().join("target");
    fs::create_dir_all(target.join("copy")).unwrap();
    // A file is replaced under its name; a link to a directory is not followed.
    std::os::unix::fs::symlink(outside.join("file"), target.join("copy/file")).unwrap();
    std::os::unix::fs::symlink(&outside, target.join("copy/deep")).unwrap();
    let refused = image.with_fs(async |fs| {
        to_host(fs, b"/copy", CopyTarget::at(&target.join("copy")), true).await.map_err(Trouble::copy)
    });
    refused.unwrap_err();
    fs::remove_file(target.join("copy/deep")).unwrap();
    let came = image.with_fs(async |fs| {
        to_host(fs, b"/copy", CopyTarget::at(&target.join("copy")), true).await.map_err(Trouble::copy)
    });
    came.unwrap();
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"old");
    assert_eq!(listing(&outside), [Path::new(""), Path::new("file")]);
    assert_eq!(fs::read(target.join("copy/file")).unwrap(), b"new");
}
