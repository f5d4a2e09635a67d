//! Creates an empty file system.

use iolab_disk::{Buffer, DeviceError};

use crate::anchor::{Anchor, FramePlace, Generation};
use crate::cleaning::CleaningDefaults;
use crate::domains::{Owners, finish_resize, write_owners};
use crate::frame::{HEADER_BYTES, Header, seal};
use crate::layout::VERSION;
use crate::record::{InodeId, Record};
use crate::recovery::read_map;
use crate::tree::Tree;
use crate::{Answered, Disk, Error, Layout};

/// Options for creating a file system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MkfsOptions {
    /// Unit of every write, bytes: a power of two from 512 to 65536, a multiple of the device's
    /// block.
    pub block_bytes: u32,
    /// Bytes of a cluster: a power of two from 16 KiB to 16 MiB.
    pub cluster_bytes: u32,
    /// Writes up to this length go into the metadata log; at most an eighth of a cluster.
    pub small_max_bytes: u32,
    /// Domains that share the disk, preferably one for each core: from 1 to
    /// [`Layout::most_domains`].
    pub domains: u32,
    /// Distinguishes file systems: 16 unique bytes, preferably random.
    pub id: [u8; 16],
    /// Time of creation, ns since 1970.
    pub now_ns: u64,
    /// Permission bits of the root directory.
    pub root_mode: u16,
    /// How the file system is cleaned if the caller that opens it does not say.
    pub cleaning: CleaningDefaults,
}

impl MkfsOptions {
    /// Blocks of 4 KiB, clusters of 1 MiB, small writes below a block.
    pub fn new(id: [u8; 16], now_ns: u64) -> MkfsOptions {
        MkfsOptions {
            block_bytes: 4096,
            cluster_bytes: 1 << 20,
            small_max_bytes: 4095,
            domains: 1,
            id,
            now_ns,
            root_mode: 0o755,
            cleaning: CleaningDefaults::default(),
        }
    }
}

/// Creates an empty file system and destroys what the device held. The bootstrap record is written
/// last: after a crash before that, there is no file system.
///
/// # Errors
/// [`Error::Unusable`] for invalid options, [`Error::Device`].
pub fn mkfs<'a>(disk: &'a Disk, options: &'a MkfsOptions) -> Answered<'a, Result<Layout, Error>> {
    Box::pin(async move {
        let (layout, owners) = layout(disk, options)?;
        let block = layout.block_bytes as usize;
        // Overwrite the old record first, so that it never leads to a partly overwritten file
        // system.
        disk.write(0, Buffer::zeroed(block)).await?;
        disk.flush().await?;
        for domain in 0..layout.domains {
            let mut clusters = owners.of(domain);
            let (Some(first), Some(second), Some(spare)) = (clusters.next(), clusters.next(), clusters.next()) else {
                continue;
            };
            make_domain(disk, &layout.of_domain(domain, 0), [first, second, spare], options).await?;
        }
        if layout.is_mapped() {
            write_owners(disk, &layout, &owners).await?;
        }
        let [record, copy] = layout.bootstrap_places();
        disk.write(copy, Buffer::padded(&layout.encode(), block)).await?;
        disk.flush().await?;
        disk.write(record, Buffer::padded(&layout.encode(), block)).await?;
        disk.flush().await.map_err(|error: DeviceError| Error::Device(error))?;
        Ok(layout)
    })
}

/// Changes the default cleaning settings of an image. The image must not be open for writing: a
/// writer would put its own copy of the record back with the next change of the domains.
///
/// # Errors
/// [`Error::Unusable`] when there is no file system, [`Error::Device`].
pub async fn set_cleaning(disk: &Disk, change: impl FnOnce(&mut CleaningDefaults)) -> Result<(), Error> {
    let (mut layout, _) = read_map(disk).await?;
    finish_resize(disk, &layout).await?;
    change(&mut layout.cleaning);
    for place in layout.bootstrap_places() {
        disk.write(place, Buffer::padded(&layout.encode(), layout.block_bytes as usize)).await?;
        disk.flush().await?;
    }
    Ok(())
}

/// Writes the log of a domain that has only a root directory: two checkpoints in clusters of their
/// own, and the anchor that leads to them.
async fn make_domain(
    disk: &Disk,
    layout: &Layout,
    [first, second, spare]: [u32; 3],
    options: &MkfsOptions,
) -> Result<(), Error> {
    let serial = InodeId::first(layout.domain).0;
    let node = || Record::Node(Tree::root(options.root_mode, options.now_ns));
    let (begin, end) = (Record::CheckpointBegin { serial }, Record::CheckpointEnd { inodes: 1 });
    let before = Record::LogBefore { clusters: vec![first] };
    let older = FramePlace { cluster: first, offset: 0, sequence: 1, previous: 0 };
    let previous = write_frame(disk, layout, older, second, &[begin.clone(), node(), end.clone()]).await?;
    let newer = FramePlace { cluster: second, offset: 0, sequence: 2, previous };
    write_frame(disk, layout, newer, spare, &[begin, node(), before, end]).await?;
    let newest = Generation { start: newer, end: 2 };
    let before = Some(Generation { start: older, end: 1 });
    let anchor = Anchor { number: 1, epoch: 1, newest, before, flushed: 2, closed: true, serial, changes: 1 };
    for place in anchor.places_in_turn(layout) {
        disk.write(place, Buffer::padded(&anchor.encode(layout), layout.block_bytes as usize)).await?;
    }
    Ok(())
}

/// Writes a frame of records that are no changes; returns its checksum.
async fn write_frame(
    disk: &Disk,
    layout: &Layout,
    place: FramePlace,
    next_cluster: u32,
    records: &[Record],
) -> Result<u32, Error> {
    let mut payload = Vec::new();
    records.iter().for_each(|record| record.encode(&mut payload));
    let mut frame = Buffer::zeroed(layout.blocks((HEADER_BYTES + payload.len()) as u64) as usize);
    frame[HEADER_BYTES..HEADER_BYTES + payload.len()].copy_from_slice(&payload);
    let FramePlace { cluster, offset, sequence, previous } = place;
    let header = Header { sequence, epoch: 1, flushed: 0, previous, next_cluster, changes: 1 };
    let checksum = seal(&mut frame, payload.len(), &header, layout);
    disk.write(layout.start_of(cluster) + u64::from(offset), frame).await?;
    Ok(checksum)
}

fn layout(disk: &Disk, options: &MkfsOptions) -> Result<(Layout, Owners), Error> {
    let geometry = disk.geometry();
    let clusters = geometry.size_bytes / u64::from(options.cluster_bytes.max(1));
    let clusters = u32::try_from(clusters).unwrap_or(u32::MAX);
    let owners = Owners::shares(clusters, options.domains);
    let is_mapped = options.domains > 1;
    let layout = Layout {
        block_bytes: options.block_bytes,
        cluster_bytes: options.cluster_bytes,
        clusters,
        small_max_bytes: options.small_max_bytes,
        id: options.id,
        made_ns: options.now_ns,
        domains: options.domains,
        domain: 0,
        owned: clusters.saturating_sub(2) / options.domains.max(1),
        generation: 0,
        map_runs: if is_mapped { owners.runs() } else { 0 },
        map_checksum: if is_mapped { owners.checksum() } else { 0 },
        version: VERSION,
        cleaning: options.cleaning,
    };
    if let Some(objection) = layout.objection() {
        return Err(Error::Unusable(objection));
    }
    if !layout.block_bytes.is_multiple_of(geometry.block_bytes) {
        let (ours, theirs) = (layout.block_bytes, geometry.block_bytes);
        return Err(Error::Unusable(format!("blocks of {ours} bytes on a device with blocks of {theirs} bytes")));
    }
    Ok((layout, owners))
}
