//! What all requests share: the settings, the runs that are followed, the jobs that were started.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use iolab_archive::running::{RunningFile, running};
use iolab_html::web::{Site as PageSite, message_page};
use iolab_options::OptionEntry;
use iolab_store::Database;
use tokio::sync::Semaphore;

use crate::feed::Feed;
use crate::started::{Standing, StartedJob};
use crate::token::has_token;

/// An engine that jobs can use.
#[derive(Debug, Clone, Copy)]
pub struct WebEngine {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Its own options.
    pub options: &'static [OptionEntry],
}

/// The only thing that a server shows.
#[derive(Debug, Clone)]
pub enum Followed {
    /// The run of this partial recording.
    Run(PathBuf),
    /// The runs that go on one after the other in this folder: the trials of a study.
    Trials(PathBuf),
}

/// What is served, and to whom.
#[derive(Debug, Clone)]
pub struct WebSettings {
    /// Who has it may change things.
    pub token: String,
    /// What requests may name as their host, with the port.
    pub hosts: Vec<String>,
    /// Reading needs the token, too.
    pub is_private: bool,
    /// The folder of recordings.
    pub recordings: PathBuf,
    /// More folders whose runs are shown while they go on: of studies, of `iolab watch`.
    pub also: Vec<PathBuf>,
    /// The database, if one is kept.
    pub database: Option<PathBuf>,
    /// What is shown, if not everything.
    pub follows: Option<Followed>,
    /// The program that plans and runs jobs; `None` if none can be started.
    pub program: Option<PathBuf>,
    /// The engines of the program.
    pub engines: Vec<WebEngine>,
    /// The version of the program.
    pub version: &'static str,
}

/// Most answers that are made at once: each may read a whole recording.
const MOST_AT_WORK: usize = 4;
/// Most followers of live runs at once.
const MOST_FOLLOWERS: usize = 64;

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) settings: WebSettings,
    feeds: Mutex<BTreeMap<String, Feed>>,
    pub(crate) started: Mutex<BTreeMap<String, StartedJob>>,
    work: Arc<Semaphore>,
    pub(crate) followers: Arc<Semaphore>,
}

/// An answer other than what was asked for.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) status: StatusCode,
    pub(crate) title: &'static str,
    pub(crate) text: String,
}

impl Refused {
    pub(crate) fn new(status: StatusCode, title: &'static str, text: impl Into<String>) -> Refused {
        Refused { status, title, text: text.into() }
    }

    pub(crate) fn not_found(text: impl Into<String>) -> Refused {
        Refused::new(StatusCode::NOT_FOUND, "Not found", text)
    }

    /// Something of ours or of the machine did not work.
    pub(crate) fn failed(text: impl Into<String>) -> Refused {
        Refused::new(StatusCode::INTERNAL_SERVER_ERROR, "That did not work", text)
    }
}

pub(crate) type Answer = Result<Response, Refused>;

impl Site {
    pub(crate) fn new(settings: WebSettings) -> Site {
        Site {
            settings,
            feeds: Mutex::default(),
            started: Mutex::default(),
            work: Arc::new(Semaphore::new(MOST_AT_WORK)),
            followers: Arc::new(Semaphore::new(MOST_FOLLOWERS)),
        }
    }

    /// The runs that go on.
    pub(crate) fn running(&self) -> Vec<RunningFile> {
        match &self.settings.follows {
            Some(Followed::Run(path)) => RunningFile::at(path.clone()).into_iter().collect(),
            Some(Followed::Trials(folder)) => running(folder),
            None => {
                let mut found: Vec<RunningFile> = Vec::new();
                for run in std::iter::once(&self.settings.recordings)
                    .chain(&self.settings.also)
                    .flat_map(|folder| running(folder))
                {
                    // One name is one page.
                    if found.iter().all(|known| known.name != run.name) {
                        found.push(run);
                    }
                }
                found
            }
        }
    }

    /// What follows the run of this name, from now on if nothing does yet; `None` if it is not
    /// going on.
    pub(crate) fn feed(&self, name: &str) -> Option<Feed> {
        let mut feeds = held(&self.feeds);
        feeds.retain(|_, feed| feed.is_alive());
        if let Some(feed) = feeds.get(name) {
            return Some(feed.clone());
        }
        let run = self.running().into_iter().find(|run| run.name == name)?;
        let feed = Feed::begin(&run)?;
        feeds.insert(name.to_owned(), feed.clone());
        Some(feed)
    }

    /// Where a job stands that was started here; `None` if it was not.
    pub(crate) fn standing(&self, name: &str) -> Option<Standing> {
        held(&self.started).get_mut(name).map(StartedJob::standing)
    }

    /// The database, for reading; `None` if nothing is kept.
    pub(crate) fn database(&self) -> Result<Option<Database>, Refused> {
        let Some(path) = &self.settings.database else { return Ok(None) };
        Database::open_to_read(path).map_err(|error| Refused::failed(error.to_string()))
    }

    /// The file of this name in the recordings folder, if it is one of its files.
    pub(crate) fn recording(&self, name: &str) -> Option<PathBuf> {
        let entries = std::fs::read_dir(&self.settings.recordings).ok()?;
        let is_it =
            |entry: &std::fs::DirEntry| entry.file_name() == name && entry.file_type().is_ok_and(|kind| kind.is_file());
        let found = entries.flatten().find(is_it)?.path();
        found.extension().is_some_and(|extension| extension == "iolab").then_some(found)
    }

    /// What pages need of the site, for whom asks.
    pub(crate) fn page(&self, headers: &HeaderMap) -> PageSite<'_> {
        let settings = &self.settings;
        PageSite {
            version: settings.version,
            token: has_token(headers, &settings.token).then_some(settings.token.as_str()),
            starts_jobs: settings.program.is_some(),
        }
    }

    /// Does what may take long on a thread of its own, a few at a time.
    pub(crate) async fn work(
        self: &Arc<Site>,
        headers: HeaderMap,
        work: impl FnOnce(&Arc<Site>, &HeaderMap) -> Answer + Send + 'static,
    ) -> Response {
        let Ok(permit) = Arc::clone(&self.work).acquire_owned().await else {
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        };
        let site = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let answer = work(&site, &headers);
            drop(permit);
            answer.unwrap_or_else(|refused| site.refuse(&headers, &refused))
        });
        done.await.unwrap_or_else(|_| {
            (StatusCode::INTERNAL_SERVER_ERROR, "making this page failed: its terminal says more").into_response()
        })
    }

    /// A page that says why not.
    pub(crate) fn refuse(&self, headers: &HeaderMap, refused: &Refused) -> Response {
        let page = message_page(&self.page(headers), refused.title, &refused.text);
        (refused.status, Html(page)).into_response()
    }

    /// A page that loads itself again until there is what it announces.
    pub(crate) fn in_a_moment(&self, title: &'static str) -> Response {
        let refused = Refused::new(StatusCode::OK, title, "Its page comes in a moment.");
        let mut response = self.refuse(&HeaderMap::new(), &refused);
        response.headers_mut().insert(header::REFRESH, header::HeaderValue::from_static("1"));
        response
    }
}

/// Another page.
pub(crate) fn see_other(place: &str) -> Response {
    (StatusCode::SEE_OTHER, [(header::LOCATION, place.to_owned())]).into_response()
}

/// What a lock protects. A thread that panicked with it left nothing half done.
pub(crate) fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
