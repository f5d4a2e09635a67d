//! `iolab explain TERM` and fio's `--cmdhelp`: what an option, a column of a report, a finding, a
//! verdict or an engine is; `iolab explain RECORDING`: what limited a run; `iolab explain FOLDER`:
//! why the curves of a study bend.

use iolab_archive::recordings::load;
use iolab_archive::study_files;
use iolab_jobfile::help;

use crate::exit::ExitFailure;
use crate::{console, output};

pub(crate) fn main(term: &str) -> Result<u8, ExitFailure> {
    let path = std::path::Path::new(term);
    if study_files::is_study(path) || study_files::is_collection(path) {
        output::print(&iolab_study_runner::bends::explain(path)?)?;
        return Ok(0);
    }
    if term.contains('/') || path.is_file() {
        return recording(path);
    }
    let mut texts = Vec::new();
    if let Some(entry) = iolab_jobfile::find_option(term) {
        texts.push(help::describe(entry));
    }
    if let Some(column) = iolab_report::columns::find(term) {
        texts.push(iolab_report::columns::text(column));
    }
    if let Some(column) = iolab_iostat::find(term) {
        texts.push(iolab_iostat::text(column));
    }
    for engine in iolab_engine_catalogue::descriptions() {
        if let Some(entry) = engine.options.iter().find(|entry| entry.answers_to(term)) {
            texts.push(format!("Option of engine {}:\n{}", engine.name, help::describe(entry)));
        }
    }
    texts.extend(engine(term));
    texts.extend(finding(term));
    texts.extend(iolab_study::verdict_meaning(term).map(|meaning| format!("Verdict {term}: {meaning}\n")));
    if texts.is_empty() {
        return Err(ExitFailure::mistake(unknown(term)));
    }
    output::print(&texts.join("\n"))?;
    Ok(0)
}

/// The description of an engine.
fn engine(term: &str) -> Option<String> {
    let engine = iolab_engine_catalogue::descriptions()
        .into_iter()
        .find(|engine| engine.name == term || engine.aliases.contains(&term))?;
    let options = match engine.options {
        [] => String::new(),
        options => format!("Its options: {}\n", options.iter().map(|one| one.name).collect::<Vec<_>>().join(", ")),
    };
    Some(format!("Engine {}: {}\n{}\n{options}", engine.name, engine.summary, engine.details))
}

/// What a finding checks, its consequences and the remedy.
fn finding(term: &str) -> Option<String> {
    let rule = iolab_findings::all_words().find(|rule| rule.name == term)?;
    Some(format!(
        "Finding {}\n  Checks: {}\n  Meaning: {}\n  What to do: {}\n",
        rule.name, rule.looks_at, rule.consequence, rule.advice
    ))
}

/// What limited a run.
fn recording(path: &std::path::Path) -> Result<u8, ExitFailure> {
    let loaded = load(path).map_err(iolab_activity::Failure::from)?;
    loaded.notes.iter().for_each(|note| eprintln!("iolab: warning: {note}"));
    let limits = iolab_findings::limits(&loaded.recording);
    if limits.is_empty() {
        output::print("no job of this run did any I/O\n")?;
    }
    output::print_for_people(&iolab_findings::limits_text(&limits, console::columns()))?;
    Ok(0)
}

/// The answer to `--cmdhelp[=OPTION|all]`.
pub(crate) fn cmdhelp(topic: &str) -> Result<String, ExitFailure> {
    if topic == "all" {
        return Ok(help::cmdhelp_all());
    }
    help::cmdhelp(topic).ok_or_else(|| ExitFailure::mistake(unknown(topic)))
}

fn unknown(term: &str) -> String {
    let near = iolab_jobfile::suggest(term).map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    format!("iolab: unknown term `{term}`{near}")
}
