//! `iolab db prune`, `size` and `moved`.

use std::path::Path;

use clap::Args;
use iolab_archive::housekeeping::{Retention, delete_files, disk_usage};
use iolab_archive::{database, recordings};
use iolab_order::Arrange;
use iolab_store::{Database, DatabaseEntry, Filter};
use iolab_text::{Alignment, aligned, counted, size_text};

use super::{failed, shown};
use crate::dates;
use crate::exit::{ExitFailure, FAILED};
use crate::output;

/// Which entries to remove, and whether to.
#[derive(Debug, Args)]
pub(crate) struct PruneArguments {
    /// Entries that started before: `90d` ago, `12h`, `4w`, `2026-11-21`, `2026-11-21T09:30` (UTC)
    #[arg(long, value_name = "TIME")]
    before: Option<String>,
    /// Keep the newest N entries of each title
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    /// Entries whose file no longer exists
    #[arg(long)]
    missing: bool,
    /// Do not spare entries that have tags or a note
    #[arg(long)]
    marked: bool,
    /// Delete their recordings and study folders, too
    #[arg(long)]
    files: bool,
    /// Do it, instead of only listing what would go
    #[arg(long)]
    yes: bool,
}

impl PruneArguments {
    fn retention(&self) -> Result<Retention, ExitFailure> {
        let now_ns = iolab_clock::Clock::monotonic().unix_ns();
        let before = self.before.as_deref().map(|text| {
            dates::unix_ns(text, now_ns)
                .map_err(|reason| ExitFailure::mistake(format!("iolab: --before={text}: {reason}")))
        });
        let retention = Retention {
            before_unix_ns: before.transpose()?,
            keep_newest: self.keep,
            is_missing: self.missing,
            with_marked: self.marked,
        };
        match retention.is_empty() {
            true => Err(ExitFailure::mistake(
                "iolab: nothing says which entries to remove: --before=90d, --keep=10 or --missing",
            )),
            false => Ok(retention),
        }
    }
}

pub(super) fn prune(store: &mut Database, arguments: &PruneArguments) -> Result<u8, ExitFailure> {
    let retention = arguments.retention()?;
    let entries = store.list(&Filter::default()).map_err(failed)?;
    let gone = retention.expendable(&entries);
    if gone.is_empty() {
        output::print(&format!("nothing to remove; {} stay\n", counted(entries.len() as u64, "entry")))?;
        return Ok(0);
    }
    if !arguments.yes {
        let bytes = gone.iter().map(|entry| disk_usage(Path::new(&entry.path))).sum();
        let files = match arguments.files {
            true => "with their recordings and study folders",
            false => "and leave their files (--files deletes them)",
        };
        let told = format!(
            "{}\n{} of {}, whose files take {}. `--yes` would remove them {files}.\n",
            listed(&gone).trim_end(),
            gone.len(),
            counted(entries.len() as u64, "entry"),
            size_text(bytes)
        );
        output::print(&told)?;
        return Ok(0);
    }
    let (mut freed, mut left) = (0, Vec::new());
    for entry in &gone {
        if arguments.files {
            match delete_files(entry) {
                Ok(deletion) => {
                    freed += deletion.freed;
                    left.extend(deletion.left.iter().map(|(path, reason)| format!("{}: {reason}", path.display())));
                }
                // Its entry stays, so that the same command tries again.
                Err(failure) => {
                    left.push(failure.message);
                    continue;
                }
            }
        }
        store.remove(entry.id).map_err(failed)?;
    }
    left.iter().for_each(|line| eprintln!("iolab: left alone: {line}"));
    let freed = if arguments.files { format!("; {} freed", size_text(freed)) } else { String::new() };
    let kept = store.list(&Filter::default()).map_err(failed)?.len();
    let removed = entries.len().saturating_sub(kept);
    output::print(&format!("{} removed{freed}; {kept} stay\n", counted(removed as u64, "entry")))?;
    Ok(if left.is_empty() { 0 } else { FAILED })
}

fn listed(entries: &[&DatabaseEntry]) -> String {
    let head = ["id", "started (UTC)", "kind", "size", "title", "path"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    lines.extend(entries.iter().map(|entry| {
        let size = match Path::new(&entry.path).exists() {
            true => size_text(disk_usage(Path::new(&entry.path))),
            false => "gone".to_owned(),
        };
        let kind = entry.kind.word().to_owned();
        vec![format!("@{}", entry.id), shown::started(entry), kind, size, entry.title.clone(), entry.path.clone()]
    }));
    aligned(&lines, |column| if column == 3 { Alignment::Right } else { Alignment::Left })
}

pub(super) fn size(store: &Database) -> Result<(), ExitFailure> {
    const LARGEST: usize = 5;
    let folder = recordings::folder()?;
    let entries = store.list(&Filter::default()).map_err(failed)?;
    let mut sizes: Vec<(u64, &DatabaseEntry)> =
        entries.iter().map(|entry| (disk_usage(Path::new(&entry.path)), entry)).collect();
    let inside = std::fs::canonicalize(&folder).unwrap_or_else(|_| folder.clone());
    let elsewhere: u64 =
        sizes.iter().filter(|(_, entry)| !Path::new(&entry.path).starts_with(&inside)).map(|(size, _)| size).sum();
    let database = database::parts(store.path()).iter().map(|path| disk_usage(path)).sum();
    let row = |name: &str, size: u64, what: String| vec![name.to_owned(), size_text(size), what];
    let mut lines = vec![
        row("recordings", disk_usage(&folder), folder.display().to_string()),
        row("elsewhere", elsewhere, "files of entries in other folders".to_owned()),
        row(
            "database",
            database,
            format!("{} with {}", store.path().display(), counted(entries.len() as u64, "entry")),
        ),
    ];
    sizes.arrange_by_key(|(size, _)| std::cmp::Reverse(*size));
    let largest = sizes.iter().take(LARGEST).filter(|(size, _)| *size > 0);
    lines.extend(largest.map(|(size, entry)| row(&format!("@{}", entry.id), *size, entry.path.clone())));
    let right = |column| if column == 1 { Alignment::Right } else { Alignment::Left };
    Ok(output::print(&aligned(&lines, right))?)
}

pub(super) fn moved(store: &mut Database, from: &Path, to: &Path) -> Result<u8, ExitFailure> {
    // The old folder is usually gone, so its path is not resolved, only made absolute.
    let from = std::path::absolute(from).map_err(|error| ExitFailure::mistake(format!("iolab: {error}")))?;
    let to = std::fs::canonicalize(to)
        .map_err(|error| ExitFailure::mistake(format!("iolab: {}: {error}: move the files first", to.display())))?;
    let text = |path: &Path| path.to_string_lossy().trim_end_matches('/').to_owned();
    let (from, to) = (text(&from), text(&to));
    let changed = store.relocate(&from, &to).map_err(failed)?;
    if changed == 0 {
        return Err(ExitFailure::mistake(format!(
            "iolab: no entry has a file below {from} (`iolab db list --json` shows paths)"
        )));
    }
    let all = store.list(&Filter { with_trials: true, ..Filter::default() }).map_err(failed)?;
    let is_lost = |entry: &&DatabaseEntry| Path::new(&entry.path).starts_with(&to) && !Path::new(&entry.path).exists();
    let lost = all.iter().filter(is_lost).count();
    output::print(&format!("{} now below {to}\n", counted(changed as u64, "entry")))?;
    if lost > 0 {
        eprintln!("iolab: {} of them do not exist there: `iolab db check` names them", counted(lost as u64, "file"));
        return Ok(FAILED);
    }
    Ok(0)
}
