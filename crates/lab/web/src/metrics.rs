//! `/metrics`: the runs that go on, for Prometheus.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use iolab_recording::Recording;
use iolab_report::{OPENMETRICS_TYPE, openmetrics_of_runs};

use crate::site::Site;

pub(crate) async fn metrics(State(site): State<Arc<Site>>, headers: HeaderMap) -> Response {
    site.work(headers, |site, _| {
        let names: Vec<String> = site.running().into_iter().map(|run| run.name).collect();
        let recordings: Vec<(&String, Recording)> =
            names.iter().filter_map(|name| Some((name, site.feed(name)?.recording()?))).collect();
        let runs: Vec<_> = recordings.iter().map(|(name, recording)| (name.as_str(), recording)).collect();
        let text = openmetrics_of_runs(&runs, runs.len(), site.settings.version);
        Ok(([(header::CONTENT_TYPE, OPENMETRICS_TYPE)], text).into_response())
    })
    .await
}
