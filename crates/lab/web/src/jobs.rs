//! The form of a job, its plan, and its start.
//!
//! Both are done by the program in a process of its own, with the words of the form as its words:
//! what is shown and what runs is what a terminal would show and run.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use axum::extract::{Form, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use iolab_clock::Clock;
use iolab_html::web::{JobForm, PlannedJob};

use crate::admission::may_change;
use crate::reading::segment;
use crate::site::{Answer, Refused, Site, held, see_other};
use crate::started::{StartedJob, beginning_of};
use crate::words::{as_command, as_words, chosen, form};

/// How long a plan may take, ns.
const LONGEST_PLAN_NS: u64 = 20_000_000_000;
const BETWEEN_LOOKS_NS: u64 = 10_000_000;
/// Most started jobs that are remembered.
const MOST_STARTED: usize = 64;

type Fields = Vec<(String, String)>;

/// The form.
pub(crate) async fn page(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    site.work(headers, |site, headers| {
        program(site)?;
        if site.page(headers).token.is_none() {
            may_change(headers, None, &site.settings.token)?;
        }
        let groups = form(&site.settings.engines, None);
        Ok(Html(JobForm { site: site.page(headers), groups: &groups, trouble: None }.html()).into_response())
    })
    .await
}

/// The plan of a form that was sent, or the form again with what is wrong.
pub(crate) async fn plan(State(site): State<Arc<Site>>, headers: HeaderMap, Form(fields): Form<Fields>) -> Response {
    site.work(headers, move |site, headers| {
        let program = allowed(site, headers, &fields)?;
        let engines = &site.settings.engines;
        let asked = chosen(&fields, engines);
        let planned = asked.as_ref().map_err(Clone::clone).and_then(|chosen| {
            said(program, "plan", &as_words(chosen)).map(|(plan, warnings)| (plan, warnings, chosen))
        });
        let page = match planned {
            Ok((plan, warnings, chosen)) => PlannedJob {
                site: site.page(headers),
                words: chosen,
                plan: &plan,
                warnings: warnings.trim(),
                command: &as_command(chosen),
                running: site.running().len(),
            }
            .html(),
            Err(trouble) => {
                let groups = form(engines, asked.as_deref().ok());
                JobForm { site: site.page(headers), groups: &groups, trouble: Some(&trouble) }.html()
            }
        };
        Ok(Html(page).into_response())
    })
    .await
}

/// Starts a job, and leads to its page.
pub(crate) async fn start(State(site): State<Arc<Site>>, headers: HeaderMap, Form(fields): Form<Fields>) -> Response {
    site.work(headers, move |site, headers| {
        let program = allowed(site, headers, &fields)?;
        let wrong = |text: String| Refused::new(StatusCode::BAD_REQUEST, "This makes no job", text);
        let chosen = chosen(&fields, &site.settings.engines).map_err(wrong)?;
        begin(site, program, &chosen)
    })
    .await
}

fn begin(site: &Site, program: &Path, chosen: &[(String, String)]) -> Answer {
    let mut started = held(&site.started);
    if started.values_mut().any(|job| matches!(job.child.try_wait(), Ok(None))) {
        let text = "A job that was started here still runs: two at once disturb each other.";
        return Err(Refused::new(StatusCode::CONFLICT, "Not now", text));
    }
    let job = chosen.first().map_or("web", |(_, value)| value.as_str());
    let safe: String =
        job.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '_' }).take(40).collect();
    let name = format!("{safe}-{}.iolab", Clock::monotonic().unix_ns() / 1_000_000);
    let failed = |error: std::io::Error| Refused::failed(format!("starting the job: {error}"));
    let said = tempfile::tempfile().map_err(failed)?;
    let mut command = Command::new(program);
    let folder = &site.settings.recordings;
    command.arg("run").args(as_words(chosen)).arg(format!("--record={}", folder.join(&name).display()));
    command.arg("--eta=never").current_dir(folder);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone().map_err(failed)?);
    let child = command.spawn().map_err(failed)?;
    while started.len() >= MOST_STARTED {
        started.pop_first();
    }
    started.insert(name.clone(), StartedJob { child, said });
    Ok(see_other(&format!("/live/{}", segment(&name))))
}

fn allowed<'s>(site: &'s Site, headers: &HeaderMap, fields: &Fields) -> Result<&'s Path, Refused> {
    let token = fields.iter().find(|(name, _)| name == "token").map(|(_, value)| value.as_str());
    may_change(headers, token, &site.settings.token)?;
    program(site)
}

fn program(site: &Site) -> Result<&Path, Refused> {
    let none = || Refused::not_found("This server starts no jobs: it shows one run. `iolab web` starts jobs.");
    site.settings.program.as_deref().ok_or_else(none)
}

/// What the program prints, and what it warns of; as an error, what it says is wrong.
fn said(program: &Path, command: &str, words: &[String]) -> Result<(String, String), String> {
    let failed = |error: std::io::Error| format!("asking for the plan: {error}");
    let (mut printed, mut complained) = (tempfile::tempfile().map_err(failed)?, tempfile::tempfile().map_err(failed)?);
    let mut child = Command::new(program);
    child.arg(command).args(words).stdin(Stdio::null());
    child.stdout(printed.try_clone().map_err(failed)?).stderr(complained.try_clone().map_err(failed)?);
    let mut child = child.spawn().map_err(failed)?;
    let clock = Clock::monotonic();
    let until_ns = clock.now_ns() + LONGEST_PLAN_NS;
    let status = loop {
        match child.try_wait().map_err(failed)? {
            Some(status) => break status,
            None if clock.now_ns() > until_ns => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("the plan takes too long: ask for it in a terminal, with `iolab plan`".to_owned());
            }
            None => clock.sleep_until(clock.now_ns() + BETWEEN_LOOKS_NS, 0),
        }
    };
    let complaint = beginning_of(&mut complained);
    if status.success() { Ok((beginning_of(&mut printed), complaint)) } else { Err(complaint) }
}
