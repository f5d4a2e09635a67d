//! The page of a run that goes on, and its events.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use futures_util::stream::{Stream, unfold};
use iolab_html::web::{LivePage, LivePart};
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::feed::FeedState;
use crate::reading::segment;
use crate::site::{Followed, Refused, Site, see_other};
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
        _ if matches!(site.settings.follows, Some(Followed::Trials(_))) => Ok(see_other("/")),
        Some(Standing::Begins) => Ok(site.in_a_moment("The job begins")),
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
        tokio::task::spawn_blocking(move || site.feed(&name).map(|feed| feed.states())).await
    };
    let Ok(Some(states)) = found else {
        return site.refuse(&headers, &Refused::not_found("No run of this name is going on."));
    };
    let after = match site.settings.follows {
        None => After::Report,
        Some(Followed::Run(_)) => After::Nothing,
        Some(Followed::Trials(_)) => After::NextTrial,
    };
    let following =
        Following { states, sent: Vec::new(), queue: Vec::new(), name, after, is_over: false, _permit: permit };
    let keep = KeepAlive::new().interval(Duration::from_secs(10));
    Sse::new(stream(following)).keep_alive(keep).into_response()
}

/// What a reader gets to see when the run has ended.
enum After {
    Nothing,
    Report,
    NextTrial,
}

/// One reader of a run.
struct Following {
    states: watch::Receiver<Arc<FeedState>>,
    /// What the reader has.
    sent: Vec<LivePart>,
    /// What is to be sent, the last first.
    queue: Vec<Event>,
    name: String,
    after: After,
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
            let data = serde_json::json!({ "id": part.id, "html": &*part.html, "at": state.found_unix_ms, "ended": state.interval_ended_unix_ms });
            events.push(Event::default().event("part").data(data.to_string()));
        }
        self.sent.clone_from(&state.parts);
        if state.has_ended {
            self.is_over = true;
            let data = match self.after {
                After::Nothing => serde_json::json!({ "text": "The run has ended." }),
                After::Report => {
                    serde_json::json!({ "text": "The run has ended.", "href": format!("/ended/{}", segment(&self.name)) })
                }
                After::NextTrial => serde_json::json!({ "text": "This trial has ended.", "next": "/" }),
            };
            events.push(Event::default().event("ended").data(data.to_string()));
        }
        events.reverse();
        self.queue = events;
    }
}
