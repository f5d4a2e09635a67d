//! The page of a run that goes on, and its events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use futures_util::stream::{Stream, unfold};
use iolab_html::web::{LivePage, LivePart};
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::feed::FeedState;
use crate::reading::segment;
use crate::site::{Refused, Site, see_other};
use crate::started::Standing;

/// The page of a run.
pub(crate) async fn page(State(site): State<Arc<Site>>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    site.work(headers, move |site, headers| {
        let Some(feed) = site.feed(&name) else { return waiting(site, &name) };
        let state = feed.now();
        let title = if state.title.is_empty() { &name } else { &state.title };
        let page = LivePage {
            site: site.page(headers),
            name: &name,
            title,
            begun_unix_ns: state.begun_unix_ns,
            parts: &state.parts,
        };
        Ok(Html(page.html()).into_response())
    })
    .await
}

/// A run that is not going on: it has not begun, it could not begin, or it is over.
fn waiting(site: &Arc<Site>, name: &str) -> Result<Response, Refused> {
    match site.standing(name) {
        Some(Standing::Begins) => {
            let refused = Refused::new(StatusCode::OK, "The job begins", "Its page comes in a moment.");
            let mut response = site.refuse(&HeaderMap::new(), &refused);
            response.headers_mut().insert(header::REFRESH, header::HeaderValue::from_static("1"));
            Ok(response)
        }
        Some(Standing::Failed(text)) => Err(Refused::new(StatusCode::OK, "The job did not run", text)),
        Some(Standing::Ended) | None => Ok(see_other(&format!("/ended/{}", segment(name)))),
    }
}

/// What has happened to a run, as server-sent events: parts that have changed, and its end.
pub(crate) async fn events(State(site): State<Arc<Site>>, Path(name): Path<String>, headers: HeaderMap) -> Response {
    let Ok(permit) = Arc::clone(&site.followers).try_acquire_owned() else {
        return site.refuse(
            &headers,
            &Refused::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many followers",
                "Close some of the pages that follow runs.",
            ),
        );
    };
    let found = {
        let (site, name) = (Arc::clone(&site), name.clone());
        tokio::task::spawn_blocking(move || site.feed(&name)).await
    };
    let Ok(Some(feed)) = found else {
        return site.refuse(&headers, &Refused::not_found("No run of this name is going on."));
    };
    let has_pages = site.settings.follows.is_none();
    let following = Following {
        states: feed.states,
        sent: Vec::new(),
        queue: Vec::new(),
        name,
        has_pages,
        is_over: false,
        _permit: permit,
    };
    let keep = KeepAlive::new().interval(Duration::from_secs(10));
    Sse::new(stream(following)).keep_alive(keep).into_response()
}

/// One reader of a run.
struct Following {
    states: watch::Receiver<Arc<FeedState>>,
    /// What the reader has.
    sent: Vec<LivePart>,
    /// What is to be sent, the last first.
    queue: Vec<Event>,
    name: String,
    /// Whether the site shows more than this run.
    has_pages: bool,
    is_over: bool,
    _permit: OwnedSemaphorePermit,
}

fn stream(following: Following) -> impl Stream<Item = Result<Event, Infallible>> {
    unfold(following, |mut following| async move {
        loop {
            if let Some(event) = following.queue.pop() {
                return Some((Ok(event), following));
            }
            if following.is_over {
                return None;
            }
            if !following.sent.is_empty() && following.states.changed().await.is_err() {
                following.is_over = true;
            }
            following.take();
            if following.queue.is_empty() && following.sent.is_empty() && !following.is_over {
                // Nothing is known of the run yet.
                if following.states.changed().await.is_err() {
                    return None;
                }
                following.take();
            }
        }
    })
}

impl Following {
    /// Queues what has changed since the last state.
    fn take(&mut self) {
        let state = Arc::clone(&self.states.borrow_and_update());
        let mut events = Vec::new();
        for part in &state.parts {
            if self.sent.contains(part) {
                continue;
            }
            let data = serde_json::json!({ "id": part.id, "html": part.html, "at": state.found_unix_ms });
            events.push(Event::default().event("part").data(data.to_string()));
        }
        self.sent.clone_from(&state.parts);
        if state.has_ended {
            self.is_over = true;
            let href = self.has_pages.then(|| format!("/ended/{}", segment(&self.name)));
            let text = "The run has ended.";
            let data = serde_json::json!({ "href": href, "text": text });
            events.push(Event::default().event("ended").data(data.to_string()));
        }
        events.reverse();
        self.queue = events;
    }
}
