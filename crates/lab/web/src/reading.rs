//! Lists, entries, reports and comparisons.

use std::collections::HashMap;
use std::path::Path as FilePath;
use std::sync::Arc;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use iolab_activity::Silent;
use iolab_archive::recordings::{self, Loaded};
use iolab_archive::sides;
use iolab_comparison::{ComparisonRequest, IntervalsFrom, PairingChoice, hold_against};
use iolab_html::web::{EntryPage, EntryRow, LIVE_SCRIPT, ListedEntry, ListingPage, RunningRun, web_style};
use iolab_html::{ComparisonReport, comparison_page, recording_page, report_policy};
use iolab_statistics::DecisionRules;
use iolab_store::{DatabaseEntry, EntryFigure, EntryKind, Filter};
use iolab_study_runner::report as study_report;

use crate::site::{Answer, Followed, Refused, Site, see_other};

/// Most entries of a list.
const MOST: u32 = 200;

type Words = HashMap<String, String>;

/// Running and past runs; of a server that follows one run, the page of that.
pub(crate) async fn listing(State(site): State<Arc<Site>>, Query(words): Query<Words>, headers: HeaderMap) -> Response {
    site.work(headers, move |site, headers| {
        if let Some(followed) = &site.settings.follows {
            return match (site.running().pop(), followed) {
                (Some(run), _) => Ok(see_other(&format!("/live/{}", segment(&run.name)))),
                (None, Followed::Run(_)) => Err(Refused::not_found("The run has ended.")),
                (None, Followed::Trials(_)) => Ok(site.in_a_moment("The next trial begins")),
            };
        }
        let search = words.get("q").map_or("", String::as_str).trim();
        let (entries, trouble) = match entries(site, search) {
            Ok(entries) => (entries, None),
            Err(refused) => (Vec::new(), Some(refused.text)),
        };
        let running: Vec<RunningRun> = site.running().into_iter().map(|run| running_run(site, run.name)).collect();
        let page = ListingPage {
            site: site.page(headers),
            running: &running,
            entries: &entries,
            search,
            most: MOST as usize,
            candidate: words.get("b").and_then(|word| word.parse().ok()),
            trouble: trouble.as_deref(),
        };
        Ok(Html(page.html()).into_response())
    })
    .await
}

fn running_run(site: &Site, name: String) -> RunningRun {
    let (title, begun_unix_ns) = site.feed(&name).map(|feed| feed.head()).unwrap_or_default();
    let title = if title.is_empty() { name.clone() } else { title };
    RunningRun { title, begun_unix_ns, name }
}

fn entries(site: &Site, search: &str) -> Result<Vec<ListedEntry>, Refused> {
    let Some(database) = site.database()? else { return Ok(Vec::new()) };
    let mut filter = Filter { limit: Some(MOST), ..Filter::default() };
    match search.strip_prefix("tag:") {
        Some(tag) => filter.tags = vec![tag.to_owned()],
        None if search.is_empty() => {}
        None => filter.text = Some(search.to_owned()),
    }
    let found = database.list(&filter).map_err(|error| Refused::failed(error.to_string()))?;
    Ok(found.iter().map(listed).collect())
}

fn listed(entry: &DatabaseEntry) -> ListedEntry {
    let figure = |name: &str| entry.figure(name).map(|figure| figure.value);
    ListedEntry {
        id: entry.id,
        kind: entry.kind.word(),
        title: entry.title.clone(),
        started_unix_ns: entry.started_unix_ns,
        elapsed_ns: entry.elapsed_ns,
        engine: entry.option_values("ioengine").join(", "),
        iops: figure("iops"),
        bandwidth: figure("bandwidth"),
        p99_ns: figure("p99"),
        findings: entry.findings.len(),
        tags: entry.tags.clone(),
        note: entry.note.clone(),
    }
}

fn entry_of(site: &Site, id: i64) -> Result<DatabaseEntry, Refused> {
    let database = site.database()?.ok_or_else(|| Refused::not_found("No runs are kept here."))?;
    database.entry(id).map_err(|error| Refused::not_found(error.to_string()))
}

/// One entry.
pub(crate) async fn entry(State(site): State<Arc<Site>>, Path(id): Path<i64>, headers: HeaderMap) -> Response {
    site.work(headers, move |site, headers| {
        let entry = entry_of(site, id)?;
        let figures: Vec<EntryRow> = entry.figures.iter().map(row).collect();
        let known = [
            ("program", Some(entry.tool.clone())),
            ("host", entry.hostname.clone()),
            ("kernel", entry.kernel.clone()),
            ("processor", entry.cpu_model.clone()),
            ("does not count", entry.flaw.clone()),
        ];
        let facts: Vec<_> = known.into_iter().filter_map(|(what, text)| Some((what, text?))).collect();
        let page = EntryPage {
            site: site.page(headers),
            id,
            title: &entry.title,
            kind: entry.kind.word(),
            path: &entry.path,
            started_unix_ns: entry.started_unix_ns,
            facts: &facts,
            has_report: entry.kind != EntryKind::Fio && FilePath::new(&entry.path).exists(),
            figures: &figures,
            findings: &entry.findings,
            tags: &entry.tags,
            note: &entry.note,
            job_text: &entry.job_text,
            trials: &trials(site, &entry)?,
        };
        Ok(Html(page.html()).into_response())
    })
    .await
}

fn row(figure: &EntryFigure) -> EntryRow {
    EntryRow { job: figure.job.clone(), figure: figure.name.clone(), unit: figure.unit.clone(), value: figure.value }
}

fn trials(site: &Site, entry: &DatabaseEntry) -> Result<Vec<(i64, String)>, Refused> {
    let Some(database) = site.database()?.filter(|_| entry.kind == EntryKind::Study) else { return Ok(Vec::new()) };
    let filter = Filter { parent: Some(entry.id), with_trials: true, ..Filter::default() };
    let mut found = database.list(&filter).map_err(|error| Refused::failed(error.to_string()))?;
    found.reverse();
    let title = |trial: &DatabaseEntry| {
        let points: Vec<String> = trial.points.iter().map(|(axis, point)| format!("{axis}={point}")).collect();
        format!("block {}: {}", trial.block.unwrap_or(0) + 1, points.join(", "))
    };
    Ok(found.iter().map(|trial| (trial.id, title(trial))).collect())
}

/// The report of an entry.
pub(crate) async fn report(State(site): State<Arc<Site>>, Path(id): Path<i64>, headers: HeaderMap) -> Response {
    site.work(headers, move |site, _| {
        let entry = entry_of(site, id)?;
        let path = FilePath::new(&entry.path);
        match entry.kind {
            EntryKind::Run => of_recording(path, site.settings.version),
            EntryKind::Study => study_report::page(path, &Silent)
                .map(|page| as_report(page.html))
                .map_err(|failure| Refused::not_found(failure.message)),
            EntryKind::Fio => {
                Err(Refused::not_found("A report of fio has its figures on its page, and no report of iolab."))
            }
        }
    })
    .await
}

/// The report of a recording in the folder of recordings, whether the database has it or not.
pub(crate) async fn recording(State(site): State<Arc<Site>>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    site.work(headers, move |site, _| {
        let gone = || Refused::not_found("No recording of this name is in the folder of recordings.");
        of_recording(&site.recording(&name).ok_or_else(gone)?, site.settings.version)
    })
    .await
}

/// What became of a run that was followed: its entry, else its recording.
pub(crate) async fn ended(State(site): State<Arc<Site>>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    site.work(headers, move |site, _| {
        let gone = || Refused::not_found("The run has ended, and left no recording here: it was saved elsewhere, or was ended before it measured anything.");
        let path = site.recording(&name).ok_or_else(gone)?;
        let path = std::fs::canonicalize(&path).unwrap_or(path);
        let text = path.to_string_lossy().into_owned();
        let filter = Filter { text: Some(text.clone()), limit: Some(MOST), with_trials: true, ..Filter::default() };
        let entries = match site.database()? {
            Some(database) => database.list(&filter).map_err(|error| Refused::failed(error.to_string()))?,
            None => Vec::new(),
        };
        let place = match entries.iter().find(|entry| entry.path == text) {
            Some(entry) => format!("/entries/{}", entry.id),
            None => format!("/recordings/{}", segment(&name)),
        };
        Ok(see_other(&place))
    })
    .await
}

fn of_recording(path: &FilePath, version: &str) -> Answer {
    let loaded = recordings::load(path).map_err(|error| Refused::not_found(error.to_string()))?;
    let Loaded { mut recording, notes } = loaded;
    study_report::with_findings(&mut recording);
    Ok(as_report(recording_page(&recording, &path.display().to_string(), &notes, version).html))
}

/// A report has a policy of its own: it contains its script.
fn as_report(html: String) -> Response {
    let policy = format!("{}; frame-ancestors 'none'", report_policy());
    let mut response = Html(html).into_response();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Two entries compared.
pub(crate) async fn compare(State(site): State<Arc<Site>>, Query(words): Query<Words>, headers: HeaderMap) -> Response {
    site.work(headers, move |site, _| {
        let id = |side: &str| words.get(side).and_then(|word| word.parse::<i64>().ok());
        let (Some(baseline), Some(candidate)) = (id("a"), id("b")) else {
            let text = "Choose two entries of the list: the baseline in the column A, the candidate in the column B.";
            return Err(Refused::new(StatusCode::OK, "Compare two runs", text));
        };
        let entries = [entry_of(site, baseline)?, entry_of(site, candidate)?];
        let paths = entries.each_ref().map(|entry| entry.path.clone());
        let failed = |failure: iolab_activity::Failure| Refused::not_found(failure.message);
        let (mut theirs, mut ours) = sides::load(&paths[..1], &paths[1..]).map_err(failed)?;
        for (side, entry) in [&mut theirs, &mut ours].into_iter().zip(&entries) {
            side.name = format!("{} (@{})", entry.title, entry.id);
        }
        let request = ComparisonRequest {
            figures: Vec::new(),
            conditions: Vec::new(),
            pairing: PairingChoice::Automatic,
            intervals: IntervalsFrom::Test,
            rules: DecisionRules { confidence: 0.95, zone: 0.02, ..DecisionRules::default() },
        };
        let outcome = hold_against(&theirs, &ours, &request);
        let command = format!("iolab compare @{baseline} @{candidate}");
        let report = ComparisonReport {
            outcome: &outcome,
            sides: [&theirs, &ours],
            command: &command,
            version: site.settings.version,
        };
        Ok(as_report(comparison_page(&report).html))
    })
    .await
}

/// The style sheet of the pages.
pub(crate) async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8")], web_style()).into_response()
}

/// Browsers ask for a picture of each site. There is none.
pub(crate) async fn no_picture() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// The script of live pages.
pub(crate) async fn script() -> Response {
    ([(header::CONTENT_TYPE, "text/javascript; charset=utf-8")], LIVE_SCRIPT).into_response()
}

/// A text as one segment of an address (RFC 3986, section 2.1).
pub(crate) fn segment(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
