//! Moves between domains, including what the command line cannot create: extended attributes and
//! special files.

use iolab_logfs::MkfsOptions;
use iolab_logfs::mkfs;

use super::*;
use crate::{Image, ImageAccess, ImageError, make_file};

/// Any error, as text.
#[derive(Debug)]
struct Trouble {
    _said: String,
}

impl From<ImageError> for Trouble {
    fn from(error: ImageError) -> Trouble {
        Trouble { _said: error.to_string() }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble { _said: error.to_string() }
    }
}

/// Runs some work on an empty file system of two domains, with a directory in each.
fn with_two<T>(work: impl AsyncFnOnce(&Volume, InodeId, InodeId) -> Result<T, Error>) -> T {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    make_file(&path, 64 << 20).unwrap();
    let mut image = Image::open(&path, ImageAccess::Write).unwrap();
    let options = MkfsOptions { domains: 2, ..MkfsOptions::new([1; 16], 5) };
    image.run(async |disk, _| mkfs(&disk, &options).await).unwrap().unwrap();
    let worked = image.with_fs(async |fs: &Volume| {
        let owner = Owner { mode: 0o755, ..Owner::default() };
        let one = fs.make_directory(InodeId::ROOT, b"one", owner).await?;
        let two = fs.make_directory(InodeId::ROOT, b"two", owner).await?;
        assert_ne!(one.domain(), two.domain());
        Ok::<_, Trouble>(work(fs, one, two).await?)
    });
    worked.unwrap()
}

#[test]
fn extended_attributes_and_special_files_are_moved_too() {
    with_two(async |fs, one, two| {
        let tree = fs.make_directory(one, b"tree", Owner { mode: 0o710, uid: 3, gid: 4 }).await?;
        fs.set_extended(tree, b"user.of", b"the directory", SetCondition::Any).await?;
        let owner = Owner { mode: 0o660, uid: 1, gid: 2 };
        let special = fs.make_special(tree, b"device", InodeKind::BlockDevice, 0x803, owner).await?;
        fs.set_extended(special, b"security.x", &[7; 100], SetCondition::Any).await?;
        fs.make_special(tree, b"pipe", InodeKind::Fifo, 0, Owner::default()).await?;
        let (before, of_special) = (fs.stat(tree).await?, fs.stat(special).await?);

        move_within(fs, (one, b"tree"), (two, b"moved"), Occupied::Refuse).await?;
        assert_eq!(fs.lookup(one, b"tree").await, Err(Error::NotFound));
        let moved = fs.lookup(two, b"moved").await?.inode;
        let names: Vec<Vec<u8>> = fs.read_directory(two, b"", 9).await?.into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, [b"moved"]);
        let after = fs.stat(moved).await?;
        let facts = |found: &Attributes| (found.kind, found.mode, found.uid, found.gid, found.modified_ns, found.size);
        assert_eq!(facts(&after), facts(&before));
        assert_eq!(fs.extended(moved, b"user.of").await?, b"the directory");
        let device = fs.lookup(moved, b"device").await?;
        assert_eq!((device.kind, fs.device_number(device.inode).await?), (InodeKind::BlockDevice, 0x803));
        assert_eq!(facts(&fs.stat(device.inode).await?), facts(&of_special));
        assert_eq!(fs.extended(device.inode, b"security.x").await?, [7; 100]);
        assert_eq!(fs.lookup(moved, b"pipe").await?.kind, InodeKind::Fifo);
        Ok(())
    });
}

#[test]
fn the_copy_is_durable_before_the_source_goes() {
    with_two(async |fs, one, two| {
        let file = fs.create(one, b"file", Owner::default()).await?;
        fs.write(file, 0, &[9; 100_000]).await?;
        move_within(fs, (one, b"file"), (two, b"file"), Occupied::Replace).await?;
        let moved = fs.lookup(two, b"file").await?.inode;
        let unsynced = fs.in_every_domain(async |fs| Ok(fs.has_unsynced())).await;
        let of = |inode: InodeId| unsynced[inode.domain() as usize].clone();
        // The source was removed after the sync.
        assert_eq!((of(moved), of(file)), (Ok(false), Ok(true)));
        assert_eq!(fs.read(moved, 0, 1 << 20).await?, [9; 100_000]);
        Ok(())
    });
}

#[test]
fn what_a_crash_leaves_of_a_move_goes_when_the_image_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("image");
    make_file(&path, 64 << 20).unwrap();
    let mut image = Image::open(&path, ImageAccess::Write).unwrap();
    let options = MkfsOptions { domains: 2, ..MkfsOptions::new([1; 16], 5) };
    image.run(async |disk, _| mkfs(&disk, &options).await).unwrap().unwrap();
    // A move that gets as far as half of the copy. A file that somebody else has called so stays.
    let crashed = image.with_fs(async |fs: &Volume| {
        let two = fs.make_directory(InodeId::ROOT, b"two", Owner { mode: 0o755, ..Owner::default() }).await?;
        fs.create(two, b".iolab-moving-0", Owner::default()).await?;
        let unfinished = free_name(fs, two).await?;
        assert_eq!(unfinished, b".iolab-moving-1");
        announce(fs, (two, &unfinished)).await?;
        let copy = fs.make_directory(two, &unfinished, Owner::default()).await?;
        fs.create(copy, b"file", Owner::default()).await?;
        Ok::<_, Trouble>(())
    });
    crashed.unwrap();
    drop(image);
    let mut image = Image::open(&path, ImageAccess::Read).unwrap();
    let names = async |fs: &Volume| {
        let two = fs.resolve(b"/two").await?;
        let names = fs.read_directory(two, b"", 9).await?.into_iter().map(|entry| entry.name).collect::<Vec<_>>();
        Ok::<_, Trouble>((names, fs.extended_names(InodeId::ROOT).await?))
    };
    assert_eq!(image.with_fs(names).unwrap().0.len(), 2, "who only reads changes nothing");
    drop(image);
    let mut image = Image::open(&path, ImageAccess::Write).unwrap();
    assert_eq!(image.with_fs(names).unwrap(), (vec![b".iolab-moving-0".to_vec()], Vec::new()));
}
