//! Sizes, space, the use of clusters, and what opening an image found.

use std::fmt::Write;
use std::path::Path;

use iolab_image::{Image, ImageAccess, ImageError};
use iolab_logfs::{Census, Error, Layout, LogFs, Space, Volume};
use iolab_text::counted;
use serde_json::{Value, json};

use crate::FsError;
use crate::facts::{cleaning_text, hex, size_text, time_text};

/// All that is shown.
struct Facts {
    layout: Layout,
    /// Totals of all domains, like the following fields.
    space: Space,
    census: Census,
    recovery: iolab_logfs::Recovery,
    domains: Vec<(Space, Census)>,
}

impl Facts {
    async fn of(fs: &Volume, recovery: iolab_logfs::Recovery) -> Result<Facts, Error> {
        let domains = fs.in_every_domain(async |fs: LogFs| Ok((fs.space(), fs.census()))).await;
        let mut domains: Vec<(Space, Census)> = domains.into_iter().collect::<Result<_, Error>>()?;
        for (space, _) in domains.iter_mut().skip(1) {
            // The root directory counts once, with the first.
            space.inodes = space.inodes.saturating_sub(1);
        }
        let layout = fs.layout();
        let census = Census::sum(domains.iter().map(|(_, census)| census), layout.clusters);
        Ok(Facts { layout, space: fs.space().await?, census, recovery, domains })
    }
}

/// The facts about an image, as text or as JSON.
///
/// # Errors
/// It cannot be opened.
pub fn info(image: &Path, json: bool) -> Result<String, FsError> {
    let facts = Image::open(image, ImageAccess::Read)?.with_recovery(async |fs: &Volume, recovery| {
        let facts = Facts::of(fs, recovery).await;
        facts.map_err(|source| FsError::from(ImageError::FileSystem { path: image.to_owned(), source }))
    })?;
    Ok(if json { format!("{:#}\n", as_json(&facts)) } else { as_text(image, &facts) })
}

fn as_text(image: &Path, facts: &Facts) -> String {
    let Facts { layout, space, census, recovery, domains } = facts;
    let cluster = u64::from(layout.cluster_bytes);
    let of_clusters = |count: u32| format!("{count} ({})", size_text(u64::from(count) * cluster));
    let ended = match (recovery.closed, recovery.dropped_frames) {
        (true, _) => "closed".to_owned(),
        (false, 0) => "not closed: its process ended while using it".to_owned(),
        (false, dropped) => format!("not closed; {dropped} incomplete frames at the end are ignored"),
    };
    let mut text = format!("{}: logfs\n", image.display());
    let mut row = |name: &str, value: String| {
        let _ = writeln!(text, "{name:<17} {value}");
    };
    row("id", hex(&layout.id));
    row("made", format!("{} UTC", time_text(layout.made_ns)));
    row("size", size_text(u64::from(layout.clusters) * cluster));
    row("clusters", format!("{} of {}", layout.clusters, size_text(cluster)));
    row("blocks", size_text(u64::from(layout.block_bytes)));
    row("small writes", format!("up to {} bytes", layout.small_max_bytes));
    row("atomic writes", format!("up to {}", size_text(layout.atomic_write_bytes())));
    if let Some(text) = cleaning_text(layout) {
        row("cleaning", text);
    }
    row("state", ended);
    let older = if recovery.by_older_checkpoint {
        ", from the older checkpoint, because the newer one cannot be read"
    } else {
        ""
    };
    row("log read", format!("{}, {}{older}", counted(recovery.frames, "frame"), counted(recovery.records, "record")));
    row("inodes", space.inodes.to_string());
    row(
        "content",
        format!("{} on the disk, {} in the log", size_text(space.live_bytes), size_text(space.inline_bytes)),
    );
    row("space", format!("{} of {} can be written", size_text(space.free_bytes), size_text(space.total_bytes)));
    row("free clusters", of_clusters(census.free));
    row("log clusters", of_clusters(census.log));
    row("data clusters", of_clusters(census.open + census.full));
    row(
        "  live up to",
        "10% 20% 30% 40% 50% 60% 70% 80% 90% 100%".split(' ').map(|tenth| format!("{tenth:>6}")).collect(),
    );
    row("  clusters", census.full_by_live.iter().map(|count| format!("{count:>6}")).collect());
    if domains.len() > 1 {
        row("domains", domains.len().to_string());
        for (number, (space, census)) in domains.iter().enumerate() {
            row(&format!("  domain {number}"), domain_text(space, census));
        }
    }
    text
}

/// The figures of one of several domains.
fn domain_text(space: &Space, census: &Census) -> String {
    format!(
        "{}, {} of content, {} can be written; clusters: {} free, {} log, {} data",
        iolab_text::counted(space.inodes, "inode"),
        size_text(space.live_bytes + space.inline_bytes),
        size_text(space.free_bytes),
        census.free,
        census.log,
        census.open + census.full
    )
}

/// The layout as JSON, also for mkfs.
pub(crate) fn layout_json(layout: &Layout) -> Value {
    json!({
        "id": hex(&layout.id),
        "made_ns": layout.made_ns,
        "block_bytes": layout.block_bytes,
        "cluster_bytes": layout.cluster_bytes,
        "clusters": layout.clusters,
        "domains": layout.domains,
        "small_max_bytes": layout.small_max_bytes,
        "atomic_write_bytes": layout.atomic_write_bytes(),
        "cleaning": {
            "policy": layout.cleaning.policy.map(|policy| policy.to_string()),
            "memory_bytes": layout.cleaning.memory_bytes,
            "request_bytes": layout.cleaning.reading.map(|reading| reading.request_bytes()),
        },
    })
}

fn as_json(facts: &Facts) -> Value {
    let Facts { layout, space, census, recovery, domains } = facts;
    json!({
        "layout": layout_json(layout),
        "recovery": {
            "closed": recovery.closed,
            "frames": recovery.frames,
            "records": recovery.records,
            "dropped_frames": recovery.dropped_frames,
            "older_checkpoint": recovery.by_older_checkpoint,
        },
        "space": space_json(space),
        "clusters": census_json(census),
        "domains": domains
            .iter()
            .map(|(space, census)| json!({ "space": space_json(space), "clusters": census_json(census) }))
            .collect::<Vec<Value>>(),
    })
}

fn space_json(space: &Space) -> Value {
    json!({
        "total_bytes": space.total_bytes,
        "free_bytes": space.free_bytes,
        "live_bytes": space.live_bytes,
        "inline_bytes": space.inline_bytes,
        "inodes": space.inodes,
    })
}

fn census_json(census: &Census) -> Value {
    json!({
        "fixed": census.fixed,
        "free": census.free,
        "log": census.log,
        "open": census.open,
        "full": census.full,
        "doomed": census.doomed,
        "full_by_live": census.full_by_live,
    })
}
