//! `/metrics`: the runs that go on, for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use iolab_report::{OPENMETRICS_TYPE, openmetrics_of_runs};

use crate::feed::FeedState;
use crate::site::Site;

pub(crate) async fn metrics(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    site.work(headers, |site, _| {
        let names: Vec<String> = site.running().into_iter().map(|run| run.name).collect();
        let states: Vec<(&String, Arc<FeedState>)> =
            names.iter().filter_map(|name| Some((name, site.feed(name)?.now()))).collect();
        let runs: Vec<_> =
            states.iter().filter_map(|(name, state)| Some((name.as_str(), state.recording.as_ref()?))).collect();
        let text = openmetrics_of_runs(&runs, runs.len(), site.settings.version);
        Ok(([(header::CONTENT_TYPE, OPENMETRICS_TYPE)], text).into_response())
    })
    .await
}
