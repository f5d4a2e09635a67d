//! What the fuzzer and the tests do with disks that were tampered with: nothing may panic or run
//! forever.
//!
//! The input is a list of changes to the image of a small file system. Each is five bytes: where
//! (three), what, and whether the checksum around it is recomputed, so that damage gets past the
//! checksums.

use iolab_checksum::crc32c;
use iolab_clock::Clock;
use iolab_disk::RamDisk;
use iolab_executor::{Executor, ReadyOrder, Stalled};

use crate::anchor::{Anchor, ENCODED_BYTES};
use crate::frame::{HEADER_BYTES, parse};
use crate::{
    CoreSetup, Disk, Error, InodeId, Layout, LogFs, MkfsOptions, Occupied, OpenOptions, Owner, Repair, Runtime,
    VerifyReads, core_setups, fsck, mkfs, open_domain,
};

const BLOCK: usize = 512;
const CLUSTER: u32 = 16 << 10;
const CLUSTERS: u64 = 34;

fn run<T>(disk: &RamDisk, work: impl AsyncFnOnce(Disk, Runtime) -> T) -> Result<T, Stalled> {
    let mut executor = Executor::new(ReadyOrder::Fair);
    let disk = Disk::new(disk.clone());
    let runtime = Runtime { clock: Clock::simulated(5), spawner: executor.spawner() };
    executor.run(&mut disk.clone(), work(disk.clone(), runtime))
}

/// A file system with all kinds of inodes and records, as an image.
pub fn sample() -> Vec<u8> {
    sample_of(1)
}

/// As [`sample`], with several domains.
pub fn sample_of(domains: u32) -> Vec<u8> {
    let clusters = 2 + (CLUSTERS - 2) * u64::from(domains);
    let disk = RamDisk::new(clusters * u64::from(CLUSTER), BLOCK as u32);
    let made = run(&disk, async |disk, runtime| -> Result<(), Error> {
        let small = MkfsOptions {
            block_bytes: BLOCK as u32,
            cluster_bytes: CLUSTER,
            small_max_bytes: 500,
            domains,
            ..MkfsOptions::new([3; 16], 1)
        };
        mkfs(&disk, &small).await?;
        for domain in 0..domains {
            fill(&open_domain(&disk, domain, OpenOptions::default(), runtime.clone()).await?.0).await?;
        }
        Ok(())
    });
    assert!(made == Ok(Ok(())), "the sample is made on a sound disk: {made:?}");
    disk.with(|bytes| bytes.to_vec())
}

async fn fill(fs: &LogFs) -> Result<(), Error> {
    // Names that are unique among the domains.
    let domain = fs.layout().domain;
    let name = |name: &str| format!("{name}{}", if domain == 0 { String::new() } else { domain.to_string() });
    let directory = fs.make_directory(InodeId::ROOT, name("directory").as_bytes(), Owner::default()).await?;
    let file = fs.create(directory, b"file", Owner::default()).await?;
    fs.write(file, 100, &[1; 3_000]).await?;
    fs.write(file, 50_000, &[2; 40_000]).await?;
    fs.append(file, b"small").await?;
    fs.link(file, InodeId::ROOT, name("second").as_bytes()).await?;
    fs.symlink(InodeId::ROOT, name("link").as_bytes(), b"directory/file", Owner::default()).await?;
    fs.sync().await?;
    crate::checkpoint::write(&fs.0).await?;
    fs.rename((directory, b"file"), (directory, b"renamed"), Occupied::Replace).await?;
    fs.truncate(file, 80_000).await?;
    fs.punch(file, 60_000, 1_000).await?;
    fs.fsync(file).await?;
    fs.write(file, 0, &[3; 2_000]).await?;
    fs.sync().await
}

/// Replaces bytes by others of the same length wherever the metadata logs hold them, and recomputes
/// every checksum, so that the image looks as if logfs had written it. Returns the number of
/// replacements.
pub fn forge(image: &mut [u8], from: &[u8], to: &[u8]) -> usize {
    assert!(from.len() == to.len() && !from.is_empty(), "bytes of another length");
    let Ok(layout) = Layout::decode(image) else { return 0 };
    let (mut forged, block) = (0, layout.block_bytes as usize);
    for domain in 0..layout.domains {
        let layout = layout.of_domain(domain, 0);
        let mut frames: Vec<(u64, usize, usize)> = (0..image.len() / block)
            .filter_map(|number| {
                let frame = parse(&image[number * block..], &layout)?;
                Some((frame.header.sequence, number * block, HEADER_BYTES + frame.payload.len()))
            })
            .collect();
        frames.sort_unstable();
        // A frame contains the checksum of the one before it; the anchor contains that of the frame
        // before its first.
        let mut renamed = std::collections::HashMap::new();
        for (_, start, length) in frames {
            let frame = &mut image[start..start + length];
            for at in HEADER_BYTES..(length + 1).saturating_sub(from.len()) {
                if frame[at..at + from.len()] == *from {
                    frame[at..at + from.len()].copy_from_slice(to);
                    forged += 1;
                }
            }
            let read = |bytes: &[u8]| bytes.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
            let old = read(&frame[4..8]);
            if let Some(new) = renamed.get(&read(&frame[44..48])) {
                frame[44..48].copy_from_slice(&u32::to_le_bytes(*new));
            }
            frame[4..8].fill(0);
            let new = crc32c(frame);
            frame[4..8].copy_from_slice(&new.to_le_bytes());
            renamed.insert(old, new);
        }
        for place in Anchor::places(&layout) {
            let start = place as usize;
            let Some(anchor) = Anchor::decode(&image[start..start + block], &layout) else { continue };
            let encoded =
                anchor.renamed(|checksum| renamed.get(&checksum).copied().unwrap_or(checksum)).encode(&layout);
            image[start..start + encoded.len()].copy_from_slice(&encoded);
        }
    }
    forged
}

/// The kind of a part of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Structure {
    /// A bootstrap record.
    Bootstrap,
    /// An anchor.
    Anchor,
    /// The header of a frame of the metadata log.
    FrameHead,
    /// The payload of a frame: checkpoints, names, changes, small content.
    FramePayload,
    /// Content, or remains of old frames.
    Content,
}

/// Where the structures of an image lie, including frames that nothing leads to any more.
pub fn structures(image: &[u8]) -> Vec<(Structure, std::ops::Range<usize>)> {
    let Ok(layout) = Layout::decode(image) else { return Vec::new() };
    let (block, cluster) = (layout.block_bytes as usize, layout.cluster_bytes as usize);
    let mut found: Vec<(Structure, std::ops::Range<usize>)> = Vec::new();
    let bytes = Layout::bootstrap_bytes(layout.block_bytes);
    found.extend(layout.bootstrap_places().map(|place| (Structure::Bootstrap, place as usize..place as usize + bytes)));
    let domains: Vec<Layout> = (0..layout.domains).map(|domain| layout.of_domain(domain, 0)).collect();
    for place in domains.iter().flat_map(Anchor::places) {
        found.push((Structure::Anchor, place as usize..place as usize + ENCODED_BYTES));
    }
    let mut at = cluster;
    let end = (layout.clusters as usize - 1) * cluster;
    while at < end {
        let length =
            domains.iter().filter_map(|layout| parse(&image[at..], layout)).map(|frame| frame.payload.len()).next();
        match length {
            Some(length) => {
                found.push((Structure::FrameHead, at..at + HEADER_BYTES));
                found.push((Structure::FramePayload, at + HEADER_BYTES..at + HEADER_BYTES + length));
                at += (HEADER_BYTES + length).next_multiple_of(block);
            }
            None => {
                if image[at..at + block].iter().any(|byte| *byte != 0) {
                    found.push((Structure::Content, at..at + block));
                }
                at += block;
            }
        }
    }
    found
}

/// The first frame of each checkpoint that the anchors of domain 0 name, the newest first.
pub fn checkpoint_frames(image: &[u8]) -> Vec<usize> {
    let Ok(layout) = Layout::decode(image) else { return Vec::new() };
    let layout = layout.of_domain(0, 0);
    let anchors = Anchor::places(&layout).map(|place| Anchor::decode(&image[place as usize..], &layout));
    let newest = anchors.into_iter().flatten().max_by_key(|anchor| anchor.number);
    let generations = newest.into_iter().flat_map(|anchor| [Some(anchor.newest), anchor.before]).flatten();
    generations
        .map(|generation| (layout.start_of(generation.start.cluster) + u64::from(generation.start.offset)) as usize)
        .collect()
}

/// Changes the image as `input` says, then checks, repairs and uses it. Returns the error of
/// opening, if any.
pub fn survive(image: &[u8], input: &[u8]) -> Option<Error> {
    let disk = RamDisk::with_contents(image.to_vec(), BLOCK as u32);
    disk.with(|bytes| input.chunks_exact(5).for_each(|change| tamper(bytes, change)));
    let stalled = "a tampered disk makes the file system wait for itself";
    let before = run(&disk, async |disk, runtime| fsck(&disk, Repair::No, runtime).await).expect(stalled);
    let _told = run(&disk, async |disk, _| crate::dump_log(&disk, 0, &mut |_line| {}).await).expect(stalled);
    let answer = run(&disk, use_it).expect(stalled);
    let repaired = run(&disk, async |disk, runtime| fsck(&disk, Repair::Yes, runtime).await).expect(stalled);
    if let (Ok(_), Ok(report)) = (&before, &repaired)
        && report.repaired
    {
        let after = run(&disk, async |disk, runtime| fsck(&disk, Repair::No, runtime).await).expect(stalled);
        assert!(after.as_ref().is_ok_and(crate::FsckReport::is_sound), "repaired, and then {after:?}");
        let opened = run(&disk, use_it).expect(stalled);
        assert!(opened.is_ok(), "repaired, and opening says {opened:?}");
    }
    answer.err()
}

/// Reads everything and changes something everywhere. The results do not matter.
async fn use_it(disk: Disk, runtime: Runtime) -> Result<(), Error> {
    // The image is in memory, but was not written by this process.
    let from_elsewhere = OpenOptions { verify_reads: VerifyReads::Always, ..OpenOptions::default() };
    let open = |setup: CoreSetup| {
        let (disk, own) = (disk.clone(), runtime.clone());
        runtime.spawner.spawn(async move { setup.open(&disk, from_elsewhere, own).await })
    };
    let opening: Vec<_> = core_setups(2).into_iter().map(open).collect();
    let mut cores = Vec::new();
    for core in opening {
        cores.push(core.await);
    }
    let cores = cores.into_iter().map(|core| core.map(|(volume, _)| volume)).collect::<Result<Vec<_>, Error>>()?;
    // One core serves the first domain, the other forwards to it.
    let both = || cores.iter().cycle();
    for ((_, entry), fs) in cores[0].tree().await.into_iter().take(100).zip(both()) {
        let _any = fs.read(entry.inode, 0, 100_000).await;
        let _any = fs.write(entry.inode, 70_000, &[7; 2_000]).await;
        let _any = fs.truncate(entry.inode, 30_000).await;
        let _any = fs.link(entry.inode, InodeId::ROOT, b"another").await;
    }
    let fs = &cores[1];
    let _any = fs.create(InodeId::ROOT, b"new", Owner::default()).await;
    for name in [&b"directory"[..], b"second", b"second1", b"link", b"another"] {
        let _any = fs.rename((InodeId::ROOT, name), (InodeId::ROOT, b"moved"), Occupied::Replace).await;
    }
    let _any = fs.unlink(InodeId::ROOT, b"moved").await;
    let _any = fs.sync().await;
    let _any = fs.clone().close().await;
    Ok(())
}

fn tamper(bytes: &mut [u8], change: &[u8]) {
    let &[a, b, c, value, how] = change else { return };
    let at = usize::from(a) | usize::from(b) << 8 | usize::from(c) << 16;
    let Ok(layout) = Layout::decode(bytes) else {
        let at = at % bytes.len();
        bytes[at] = value;
        return;
    };
    // Half of the changes go to the first clusters of a domain, where the records, the map and the
    // log are.
    let domains: Vec<Layout> = (0..layout.domains).map(|domain| layout.of_domain(domain, 0)).collect();
    let share = (CLUSTERS as usize - 2) * CLUSTER as usize;
    let at = match how & 2 {
        0 => at % bytes.len(),
        _ => (usize::from(how >> 2) % domains.len() * share + at % (3 * CLUSTER as usize)) % bytes.len(),
    };
    // The frame around the place, before the damage.
    let length = |start: usize| {
        let frames = domains.iter().filter_map(|layout| parse(&bytes[start..], layout));
        frames.map(|frame| frame.payload.len()).next()
    };
    let start = (0..=at / BLOCK).rev().take(64).map(|block| block * BLOCK);
    let frame = start.filter_map(|start| Some((start, length(start)?))).next();
    let frame = frame.filter(|(start, payload)| at < start + HEADER_BYTES + payload);
    bytes[at] = value;
    if how & 1 == 1 {
        mend_checksum(bytes, at, frame, domains.len());
    }
}

fn mend_checksum(bytes: &mut [u8], at: usize, frame: Option<(usize, usize)>, domains: usize) {
    let (start, field, length) = match (at / BLOCK, frame) {
        (0, _) => (0, 12, BLOCK),
        (block, _) if (1..=2 * domains).contains(&block) => (block * BLOCK, 12, ENCODED_BYTES),
        (_, Some((start, payload))) => (start, 4, HEADER_BYTES + payload),
        _ => return,
    };
    bytes[start + field..start + field + 4].fill(0);
    let checksum = crc32c(&bytes[start..start + length]);
    bytes[start + field..start + field + 4].copy_from_slice(&checksum.to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sound_sample_is_sound() {
        for domains in [1, 2, 7] {
            let image = sample_of(domains);
            let disk = RamDisk::with_contents(image.clone(), BLOCK as u32);
            let report = run(&disk, async |disk, runtime| fsck(&disk, Repair::No, runtime).await).unwrap().unwrap();
            assert!(report.is_sound(), "{domains} domains: {report:?}");
            assert_eq!(survive(&image, &[]), None, "{domains} domains");
        }
    }

    #[test]
    fn a_missing_root_is_made_anew() {
        let mut image = sample();
        let (directory, file) = (*b"\x01\0\0\0\0\0\0\0\x02\xed\x01", *b"\x01\0\0\0\0\0\0\0\x01\xed\x01");
        assert!(forge(&mut image, &directory, &file) > 1);
        let disk = RamDisk::with_contents(image.clone(), BLOCK as u32);
        let report = run(&disk, async |disk, runtime| fsck(&disk, Repair::No, runtime).await).unwrap().unwrap();
        assert!(report.faults.iter().any(|fault| fault.kind == crate::InconsistencyKind::Root), "{report:?}");
        survive(&image, &[]);
    }

    #[test]
    fn reserved_bytes_of_the_bootstrap_record_mean_nothing() {
        // Damage that a repair fixes, and a byte that belongs to no field, with its checksum
        // recomputed.
        for reserved in 64..128 {
            survive(&sample(), &[b'F', b'F', 0, 0xff, 3, reserved, 0, 0, 3, 3]);
        }
    }

    #[test]
    fn tampered_disks_are_told_or_used_but_never_panic() {
        tamper_and_survive(1, 1_200);
    }

    #[test]
    fn tampered_disks_of_several_domains_are_told_or_used_but_never_panic() {
        tamper_and_survive(3, 400);
    }

    fn tamper_and_survive(domains: u32, times: u32) {
        let image = sample_of(domains);
        let mut seed = 1_u64;
        let mut random = move || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u8
        };
        let (mut refused, mut used) = (0, 0);
        for _ in 0..times {
            let changes = usize::from(random() % 3) + 1;
            let mut input: Vec<u8> = (0..changes * 5).map(|_| random()).collect();
            // Mostly in the log, with valid checksums: the first frames of the cluster in which the
            // newest checkpoint begins.
            for change in input.chunks_exact_mut(5).filter(|change| change[0] % 8 > 0) {
                let at = 2 * CLUSTER as usize + usize::from(change[0]) * 5 + usize::from(change[1]) * 9;
                change[..3].copy_from_slice(&(at as u32).to_le_bytes()[..3]);
                change[4] = 3 | change[4] << 2;
            }
            match survive(&image, &input) {
                Some(Error::Corrupt(_) | Error::Unusable(_)) => refused += 1,
                Some(other) => panic!("{other:?}"),
                None => used += 1,
            }
        }
        let least = times / 15;
        assert!(refused > least && used > least, "{domains} domains: {refused} refused, {used} used");
    }
}
