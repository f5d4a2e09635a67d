//! Making images: refuses to overwrite data, makes a missing file, writes the file system.

use std::path::Path;
use std::sync::atomic::AtomicU64;

use iolab_activity::{Console, Failure, FailureKind, ProgressUnit, watched};
use iolab_clock::Clock;
use iolab_image::{Image, ImageAccess, ImageError, Objection, make_file, objections};
use iolab_logfs::{CleaningDefaults, Layout, MkfsOptions, Volume};

use crate::FsError;
use crate::facts::{cleaning_text, hex, size_text};

/// How to make a file system.
#[derive(Debug, Clone, Copy)]
pub struct MakeRequest<'a> {
    /// Regular file or block device.
    pub image: &'a Path,
    /// Size of the file if it is made, bytes.
    pub size_bytes: Option<u64>,
    /// Unit of space allocation, bytes.
    pub cluster_bytes: u64,
    /// Unit of every write, bytes.
    pub block_bytes: u64,
    /// Writes up to this length go into the metadata log, bytes; one byte less than a block unless
    /// told.
    pub small_bytes: Option<u64>,
    /// Domains: parts of the disk for one thread each.
    pub domains: u32,
    /// The id of the file system; random by default.
    pub id: Option<[u8; 16]>,
    /// How it is cleaned unless it is opened with another rule.
    pub cleaning: CleaningDefaults,
    /// Overwrite what the file or device holds.
    pub force: bool,
    /// JSON instead of text.
    pub json: bool,
}

/// Makes a file system, and describes it.
///
/// # Errors
/// Something would be overwritten, or it cannot be made; then no new file is left.
pub fn make_image(request: &MakeRequest<'_>, console: &dyn Console) -> Result<String, FsError> {
    let path = request.image;
    refuse_objections(path, request.force)?;
    let is_new = make_missing(path, request.size_bytes)?;
    // There is no countable progress: few blocks are written, and only the device's flush may take
    // long.
    let what = format!("creating a file system in {}", path.display());
    let made = watched(console, what, ProgressUnit::Uncounted, None, &AtomicU64::new(0), || make(request));
    if made.is_err() && is_new {
        // The file was new: a failed attempt leaves nothing behind.
        let _gone = std::fs::remove_file(path);
    }
    let layout = made?;
    let available = available_bytes(path)?;
    Ok(if request.json { as_json(path, &layout, available) } else { as_text(path, &layout, available) })
}

fn make(request: &MakeRequest<'_>) -> Result<Layout, FsError> {
    let path = request.image;
    let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    let id = request.id.map_or_else(random_id, Ok)?;
    let options = MkfsOptions {
        block_bytes: narrow(request.block_bytes),
        cluster_bytes: narrow(request.cluster_bytes),
        small_max_bytes: narrow(request.small_bytes.unwrap_or(request.block_bytes.saturating_sub(1))),
        domains: request.domains,
        cleaning: request.cleaning,
        ..MkfsOptions::new(id, Clock::monotonic().unix_ns())
    };
    let mut image = Image::open(path, ImageAccess::Write)?;
    let made = image.run(async |disk, _| iolab_logfs::mkfs(&disk, &options).await)?;
    made.map_err(|error| {
        let message = format!("{}: {error}", path.display());
        let mistaken = matches!(error, iolab_logfs::Error::Unusable(_));
        FsError::from(if mistaken { Failure::mistake(message) } else { Failure::failed(message) })
    })
}

/// Bytes that can be written to the new file system. An image that is only read stays as it is.
fn available_bytes(path: &Path) -> Result<u64, FsError> {
    Image::open(path, ImageAccess::Read)?.with_fs(async |fs: &Volume| Ok::<_, FsError>(space_of(path, fs).await?))
}

async fn space_of(path: &Path, fs: &Volume) -> Result<u64, ImageError> {
    let wrong = |source| ImageError::FileSystem { path: path.to_owned(), source };
    Ok(fs.space().await.map_err(wrong)?.available_bytes)
}

/// Refuses to overwrite data unless `force`, and always refuses a target in use.
pub(crate) fn refuse_objections(path: &Path, force: bool) -> Result<(), FsError> {
    let found = objections(path)?;
    let counts = |objection: &&Objection| !force || matches!(objection, Objection::InUse(_));
    let counting: Vec<&Objection> = found.iter().filter(counts).collect();
    if counting.is_empty() {
        return Ok(());
    }
    let mut message: Vec<String> = counting.iter().map(|objection| format!("iolab: {objection}")).collect();
    message.push(if counting.iter().any(|objection| matches!(objection, Objection::InUse(_))) {
        "iolab: nothing was changed; unmount or stop what uses it first".to_owned()
    } else {
        "iolab: nothing was changed; use --force to overwrite it".to_owned()
    });
    Err(Failure::report(FailureKind::Refused, message.join("\n")).into())
}

/// Makes the file if there is none; returns whether it did.
fn make_missing(path: &Path, size: Option<u64>) -> Result<bool, FsError> {
    match (path.exists(), size) {
        (false, Some(size)) => make_file(path, size).map(|()| true).map_err(FsError::from),
        (false, None) => {
            let text = format!("{}: no such file or device; use --size=SIZE to create a file", path.display());
            Err(Failure::mistake(text).into())
        }
        (true, None) => Ok(false),
        (true, Some(size)) => {
            let is_as_long = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() == size);
            let text = || format!("{}: exists with a different size; omit --size", path.display());
            if is_as_long { Ok(false) } else { Err(Failure::mistake(text()).into()) }
        }
    }
}

pub(crate) fn random_id() -> Result<[u8; 16], Failure> {
    let mut id = [0; 16];
    let read = std::fs::File::open("/dev/urandom").and_then(|mut file| std::io::Read::read_exact(&mut file, &mut id));
    read.map(|()| id).map_err(|error| Failure::failed(format!("/dev/urandom: {error}; set an ID with --id")))
}

fn as_text(path: &Path, layout: &Layout, available: u64) -> String {
    let (cluster, block) = (u64::from(layout.cluster_bytes), u64::from(layout.block_bytes));
    let total = u64::from(layout.clusters) * cluster;
    // Reserves are counted in clusters.
    let is_coarse = available < total / 8 * 7;
    let advice = if is_coarse { "; smaller clusters would reserve less for the log and cleaning" } else { "" };
    format!(
        "{}: created a logfs file system of {}\nid        {}\nclusters  {} of {}\nblocks    {}\nsmall     writes up \
        to {} bytes go to the metadata log\ndomains   {}\nspace     {} can be written{advice}\n{}",
        path.display(),
        size_text(total),
        hex(&layout.id),
        layout.clusters,
        size_text(cluster),
        size_text(block),
        layout.small_max_bytes,
        layout.domains,
        size_text(available),
        cleaning_text(layout).map(|text| format!("cleaning  {text}\n")).unwrap_or_default(),
    )
}

fn as_json(path: &Path, layout: &Layout, available: u64) -> String {
    let value = serde_json::json!({
        "image": path.to_string_lossy(),
        "layout": crate::info::layout_json(layout),
        "available_bytes": available,
    });
    format!("{value:#}\n")
}
