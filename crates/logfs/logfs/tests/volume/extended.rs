//! Special files, extended attributes, and positions of holes: through checkpoints, closing and
//! crashes.

use iolab_disk::RamDisk;
use iolab_executor::ReadyOrder;
use iolab_logfs::{Error, InodeId, InodeKind, LogFs, Owner, Repair, SetCondition};

use crate::rig::{BLOCK, Bench, empty_image};

const ROOT: InodeId = InodeId::ROOT;

async fn fill(fs: &LogFs) -> Result<(), Error> {
    let kinds = [InodeKind::Fifo, InodeKind::Socket, InodeKind::CharacterDevice, InodeKind::BlockDevice];
    for (kind, number) in kinds.into_iter().zip([0, 0, 0x1203, 0x0801_0007]) {
        let name = format!("{kind:?}").into_bytes();
        let inode = fs.make_special(ROOT, &name, kind, number, Owner::default()).await?;
        fs.set_extended(inode, b"trusted.kind", &name, SetCondition::Create).await?;
    }
    let file = fs.create(ROOT, b"file", Owner::default()).await?;
    fs.set_extended(file, b"user.kept", &[7; 1000], SetCondition::Any).await?;
    fs.set_extended(file, b"user.gone", b"soon", SetCondition::Any).await?;
    fs.want_checkpoint();
    fs.sync().await?;
    fs.set_extended(file, b"user.kept", b"later", SetCondition::Replace).await?;
    fs.remove_extended(file, b"user.gone").await?;
    fs.sync().await
}

fn check(fs: &LogFs) {
    for (name, number) in [("Fifo", 0), ("Socket", 0), ("CharacterDevice", 0x1203), ("BlockDevice", 0x0801_0007)] {
        let entry = fs.lookup(ROOT, name.as_bytes()).unwrap();
        assert_eq!(format!("{:?}", entry.kind), name);
        assert_eq!(fs.device_number(entry.inode), Ok(number));
        assert_eq!(fs.extended(entry.inode, b"trusted.kind").unwrap(), name.as_bytes());
        assert_eq!(fs.stat(entry.inode).unwrap().size, 0);
        assert!(fs.read_link(entry.inode).is_err(), "{name} leads nowhere");
    }
    let file = fs.lookup(ROOT, b"file").unwrap().inode;
    assert_eq!(fs.extended_names(file).unwrap(), [b"user.kept"]);
    assert_eq!(fs.extended(file, b"user.kept").unwrap(), b"later");
    assert_eq!(fs.extended(file, b"user.gone"), Err(Error::NoAttribute));
}

#[test]
fn what_was_synced_is_there_after_a_crash_and_after_closing() {
    let disk = RamDisk::with_contents(empty_image(40), BLOCK);
    let mut bench = Bench::new(disk.clone(), ReadyOrder::Fair);
    let fs = bench.open();
    bench.run(fill(&fs)).unwrap();
    check(&fs);
    let crashed = RamDisk::with_contents(disk.with(|bytes| bytes.to_vec()), BLOCK);
    let mut after_crash = Bench::new(crashed, ReadyOrder::Fair);
    check(&after_crash.open());
    // A checkpoint made from what recovery found, and then read.
    fs.want_checkpoint();
    bench.run(fs.close()).unwrap();
    let fs = bench.open();
    check(&fs);
    bench.run(fs.close()).unwrap();
    assert!(bench.fsck(Repair::No).unwrap().is_sound());
}

#[test]
fn attributes_are_refused_as_the_manual_says() {
    let mut bench = Bench::new(RamDisk::with_contents(empty_image(40), BLOCK), ReadyOrder::Fair);
    let fs = bench.open();
    let file = bench.run(fs.create(ROOT, b"file", Owner::default())).unwrap();
    let long = vec![b'n'; 256];
    type Case<'a> = (&'a [u8], usize, SetCondition, Result<(), Error>);
    let table: [Case<'_>; 7] = [
        (b"user.a", 1, SetCondition::Replace, Err(Error::NoAttribute)),
        (b"user.a", 1, SetCondition::Create, Ok(())),
        (b"user.a", 1, SetCondition::Create, Err(Error::Exists)),
        (b"user.a", 0, SetCondition::Replace, Ok(())),
        (b"user.a", 70_000, SetCondition::Any, Err(Error::NoSpace)),
        (&long, 1, SetCondition::Any, Err(Error::NameTooLong(255))),
        (b"", 1, SetCondition::Any, Err(Error::Invalid("the name is empty or contains a zero byte"))),
    ];
    for (name, bytes, setting, expected) in table {
        assert_eq!(bench.run(fs.set_extended(file, name, &vec![1; bytes], setting)), expected, "{setting:?}");
    }
    assert_eq!(fs.extended(file, b"user.a").unwrap(), b"");
    assert_eq!(fs.extended(InodeId(99), b"user.a"), Err(Error::NotFound));
}

#[test]
fn holes_are_told_to_the_byte() {
    let mut bench = Bench::new(RamDisk::with_contents(empty_image(40), BLOCK), ReadyOrder::Fair);
    let fs = bench.open();
    let file = bench.run(fs.create(ROOT, b"file", Owner::default())).unwrap();
    bench.run(fs.write(file, 100, &[1; 50])).unwrap();
    bench.run(fs.write(file, 150, &vec![1; 9000])).unwrap();
    bench.run(fs.write(file, 20_000, b"x")).unwrap();
    bench.run(fs.truncate(file, 30_000)).unwrap();
    let table = [
        (0, Some(100), Some(0)),
        (100, Some(100), Some(9150)),
        (9149, Some(9149), Some(9150)),
        (9150, Some(20_000), Some(9150)),
        (20_000, Some(20_000), Some(20_001)),
        (20_001, None, Some(20_001)),
        (30_000, None, None),
        (u64::MAX, None, None),
    ];
    for (offset, data, hole) in table {
        assert_eq!(
            (fs.next_data(file, offset).unwrap(), fs.next_hole(file, offset).unwrap()),
            (data, hole),
            "{offset}"
        );
    }
    assert_eq!(fs.next_data(ROOT, 0), Err(Error::IsDirectory));
}
