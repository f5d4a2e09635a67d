//! `iolab db`: the saved runs and studies.

mod housekeeping;
mod shown;

use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Subcommand};
use iolab_archive::database;
use iolab_store::{Database, DatabaseEntry, DatabaseError, Filter, History, csv, csv_line, history, json_lines};
use iolab_study::{FIGURE_COLUMNS, FigureLine, figure_lines};
use iolab_text::counted;

use crate::exit::{ExitFailure, FAILED};
use crate::printing::StandardError;
use crate::{output, outputs};

/// What to do with the database.
#[derive(Debug, Subcommand)]
pub(crate) enum DbAction {
    /// List entries, newest first
    List {
        #[command(flatten)]
        filter: FilterArguments,
        /// Print JSON lines instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Show everything about an entry
    Show {
        /// Entry number, as the list has it: `@12` or `12`
        #[arg(value_parser = entry_number)]
        id: i64,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
    /// Add tags to an entry (`+baseline` or `baseline`) or remove them (`-old`)
    Tag {
        /// Entry number, as the list has it: `@12` or `12`
        #[arg(value_parser = entry_number)]
        id: i64,
        /// Tags to add or remove
        #[arg(required = true, allow_hyphen_values = true, value_name = "+TAG | -TAG")]
        changes: Vec<String>,
    },
    /// Set the note of an entry
    Note {
        /// Entry number, as the list has it: `@12` or `12`
        #[arg(value_parser = entry_number)]
        id: i64,
        /// The note; without text, the note is removed
        text: Vec<String>,
    },
    /// Remove entries; their files stay
    Rm {
        /// Entry numbers, as the list has them: `@12` or `12`
        #[arg(required = true, value_parser = entry_number)]
        ids: Vec<i64>,
    },
    /// Add recordings, fio JSON reports, folders of either, and study folders
    Import {
        /// Files and folders to add
        #[arg(required = true)]
        paths: Vec<PathBuf>,
    },
    /// Export entries as text for other programs
    Export {
        /// `csv`: one line per metric; `jsonl`: one line per entry; `history`: CSV, one line per
        /// entry, one column per metric that all have; `figures`: CSV, one line per number of each
        /// study, with intervals and verdicts; `figures-jsonl`: the same as JSON lines
        #[arg(long, default_value = "csv", value_parser = ["csv", "jsonl", "history", "figures", "figures-jsonl"])]
        format: String,
        #[command(flatten)]
        filter: FilterArguments,
        /// Write to this file instead of standard output
        #[arg(short, long)]
        output: Option<PathBuf>,
        /// Allow the output to replace a file that iolab did not write
        #[arg(long)]
        force: bool,
    },
    /// Remove old entries, and their files with --files; without --yes, only list them
    Prune(housekeeping::PruneArguments),
    /// Print how much the recordings and the database take
    Size,
    /// Follow files that were moved: replace a folder in the paths of entries
    Moved {
        /// The folder that they were in
        from: PathBuf,
        /// The folder that they are in
        to: PathBuf,
    },
    /// Print the path of the database
    Path,
    /// Check the database, and whether the files of its entries exist
    Check,
}

/// Which entries.
#[derive(Debug, Args)]
pub(crate) struct FilterArguments {
    /// Only entries started since: `2d`, `12h`, `30m`, `2026-11-21`, `2026-11-21T09:30` (UTC)
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only entries with a job that used this I/O engine
    #[arg(long)]
    engine: Option<String>,
    /// Only entries from this host
    #[arg(long)]
    host: Option<String>,
    /// Only entries with this tag; may be repeated
    #[arg(long)]
    tag: Vec<String>,
    /// Only entries with this text in title, job, note or path
    #[arg(long)]
    text: Option<String>,
    /// Only entries with a job that set this option (`bs=4k`); may be repeated
    #[arg(long, value_name = "OPTION=VALUE")]
    option: Vec<String>,
    /// Only trials of this study
    #[arg(long, value_name = "ID", value_parser = entry_number)]
    study: Option<i64>,
    /// Include trials of studies
    #[arg(long)]
    trials: bool,
    /// At most this many entries
    #[arg(short = 'n', long)]
    limit: Option<u32>,
}

impl FilterArguments {
    fn filter(&self) -> Result<Filter, ExitFailure> {
        let now_ns = iolab_clock::Clock::monotonic().unix_ns();
        let since = self.since.as_deref().map(|text| {
            crate::dates::unix_ns(text, now_ns)
                .map_err(|reason| ExitFailure::mistake(format!("iolab: --since={text}: {reason}")))
        });
        let option = |text: &String| {
            let pair = text.split_once('=').map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()));
            pair.ok_or_else(|| {
                ExitFailure::mistake(format!("iolab: --option={text}: an option and its value, as in bs=4k"))
            })
        };
        Ok(Filter {
            since_unix_ns: since.transpose()?,
            engine: self.engine.clone(),
            host: self.host.clone(),
            tags: self.tag.clone(),
            text: self.text.clone(),
            options: self.option.iter().map(option).collect::<Result<_, _>>()?,
            parent: self.study,
            with_trials: self.trials,
            limit: self.limit,
        })
    }
}

pub(crate) fn main(action: &DbAction) -> Result<u8, ExitFailure> {
    if let DbAction::Path = action {
        let path = database::path()?;
        let path =
            path.map_or_else(|| format!("none ({})", database::turned_off_by()), |path| path.display().to_string());
        output::print(&format!("{path}\n"))?;
        return Ok(0);
    }
    let reads = matches!(
        action,
        DbAction::List { .. } | DbAction::Show { .. } | DbAction::Export { .. } | DbAction::Size | DbAction::Check
    );
    let mut store = if reads { database::open_to_read()? } else { database::open()? };
    match action {
        DbAction::List { filter, json } => list(&store, filter, *json)?,
        DbAction::Show { id, json } => show(&store, *id, *json)?,
        DbAction::Tag { id, changes } => tag(&mut store, *id, changes)?,
        DbAction::Note { id, text } => store.note(*id, &text.join(" ")).map_err(failed)?,
        DbAction::Rm { ids } => {
            // All of them or none: a mistake in the last number must not remove the first entry.
            ids.iter().try_for_each(|id| store.entry(*id).map(|_| ())).map_err(failed)?;
            ids.iter().try_for_each(|id| store.remove(*id)).map_err(failed)?;
        }
        DbAction::Import { paths } => {
            iolab_process::count_signals();
            for path in paths {
                let added = database::import(&mut store, path, &StandardError)?;
                eprintln!("iolab: {}: {}", path.display(), counted(added as u64, "entry"));
            }
        }
        DbAction::Export { format, filter, output, force } => {
            let text = export(&store, format, filter)?;
            let parts = database::parts(store.path());
            let mut outputs = outputs::beside(*force, parts.iter().map(|path| (path.as_path(), "the database")));
            output::write_or_print(&mut outputs, output.as_deref(), &text)?;
        }
        DbAction::Prune(prune) => return housekeeping::prune(&mut store, prune),
        DbAction::Size => housekeeping::size(&store)?,
        DbAction::Moved { from, to } => return housekeeping::moved(&mut store, from, to),
        DbAction::Path => {}
        DbAction::Check => return check(&store),
    }
    Ok(0)
}

fn list(store: &Database, filter: &FilterArguments, json: bool) -> Result<(), ExitFailure> {
    let entries = store.list(&filter.filter()?).map_err(failed)?;
    let text = if json { json_lines(&entries) } else { shown::table(&entries) };
    Ok(output::print(&text)?)
}

/// The number of an entry, with or without the sign that the list puts before it.
fn entry_number(text: &str) -> Result<i64, String> {
    let number = text.strip_prefix('@').unwrap_or(text);
    number.parse().map_err(|_| format!("not the number of an entry, such as @12: `{text}`"))
}

fn show(store: &Database, id: i64, json: bool) -> Result<(), ExitFailure> {
    let entry = store.entry(id).map_err(failed)?;
    if json {
        let text = iolab_text::indented(&serde_json::to_string(&entry).context("the entry as JSON")?);
        return Ok(output::print(&(text + "\n"))?);
    }
    let trials = Filter { parent: Some(id), ..Filter::default() };
    let trials = store.list(&trials).map_err(failed)?;
    Ok(output::print(&shown::whole(&entry, &trials))?)
}

fn tag(store: &mut Database, id: i64, changes: &[String]) -> Result<(), ExitFailure> {
    let (mut add, mut remove) = (Vec::new(), Vec::new());
    for change in changes {
        let (list, name) = match (change.strip_prefix('+'), change.strip_prefix('-')) {
            (Some(name), _) => (&mut add, name),
            (_, Some(name)) => (&mut remove, name),
            _ => (&mut add, change.as_str()),
        };
        if name.is_empty() || name.contains([',', '@']) || name.contains(char::is_whitespace) {
            return Err(ExitFailure::mistake(format!(
                "iolab: '{change}': a tag is a word without commas or @, such as +baseline"
            )));
        }
        list.push(name.to_owned());
    }
    store.tag(id, &add, &remove).map_err(failed)
}

fn export(store: &Database, format: &str, filter: &FilterArguments) -> Result<String, ExitFailure> {
    let mut entries = store.list(&filter.filter()?).map_err(failed)?;
    entries.reverse();
    Ok(match format {
        "csv" => csv(&entries),
        "jsonl" => json_lines(&entries),
        "figures" | "figures-jsonl" => figures_of_studies(&entries, format)?,
        _ => {
            let History { csv, left_out, without_time } = history(&entries);
            if !left_out.is_empty() {
                eprintln!("iolab: left out, because not every entry has them: {}", left_out.join(", "));
            }
            if without_time > 0 {
                eprintln!("iolab: left out: {} whose start is not known", counted(without_time as u64, "entry"));
            }
            csv
        }
    })
}

/// All figures of the studies among the entries, in the long form.
fn figures_of_studies(entries: &[DatabaseEntry], format: &str) -> Result<String, ExitFailure> {
    let mut lines = Vec::new();
    for entry in entries {
        let Some(text) = &entry.analysis else { continue };
        let analysis = iolab_deserialize::json(text.as_bytes()).map_err(|error| {
            ExitFailure::failed(format!("iolab: @{}: its analysis cannot be read: {error}: import it again", entry.id))
        })?;
        lines.extend(figure_lines(entry.id, &entry.title, &analysis));
    }
    if lines.is_empty() {
        eprintln!("iolab: no study among the {}", counted(entries.len() as u64, "entry"));
    }
    if format == "figures" {
        let head = FIGURE_COLUMNS.map(str::to_owned);
        return Ok(std::iter::once(head).chain(lines.iter().map(FigureLine::cells)).map(csv_line).collect());
    }
    // Plain data with string keys cannot fail to serialise.
    Ok(lines.iter().map(|line| serde_json::to_string(line).unwrap_or_default() + "\n").collect())
}

fn check(store: &Database) -> Result<u8, ExitFailure> {
    let all = Filter { with_trials: true, ..Filter::default() };
    let entries = store.list(&all).map_err(failed)?;
    let mut wrong = store.check().map_err(failed)?;
    let gone = entries.iter().filter(|entry| !std::path::Path::new(&entry.path).exists());
    wrong.extend(gone.map(|entry| {
        format!("@{}: {} no longer exists (remove the entry with `iolab db rm {}`)", entry.id, entry.path, entry.id)
    }));
    let count = entries.len();
    let path = store.path().display();
    if wrong.is_empty() {
        output::print(&format!("{path}: no errors, {}\n", counted(count as u64, "entry")))?;
        return Ok(0);
    }
    wrong.iter().for_each(|line| eprintln!("iolab: {line}"));
    Ok(FAILED)
}

fn failed(error: DatabaseError) -> ExitFailure {
    database::failure(error).into()
}
