//! The server: a runtime with one thread, connections with limits, and routes.

use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{get, post};
use futures_util::future::{Either, select};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::MissedTickBehavior;

use crate::site::{Refused, Site, WebSettings};
use crate::{admission, changes, jobs, live, metrics, reading};

/// Longest form, in bytes.
const LONGEST_FORM: usize = 128 << 10;
/// Longest head of a request, in bytes.
const LONGEST_HEAD: usize = 32 << 10;
/// How long a client may take to send one.
const LONGEST_WAIT: Duration = Duration::from_secs(15);
const MOST_CONNECTIONS: usize = 256;
/// How often the end of the server is looked for.
const LOOK: Duration = Duration::from_millis(250);
/// How long readers have to receive the last event.
const LAST_WORDS: Duration = Duration::from_millis(400);

/// All routes, behind the checks of every request.
pub fn router(settings: WebSettings) -> Router {
    let site = Arc::new(Site::new(settings));
    Router::new()
        .route("/", get(reading::listing))
        .route("/style.css", get(reading::style))
        .route("/live.js", get(reading::script))
        .route("/favicon.ico", get(reading::no_picture))
        .route("/live/{name}", get(live::page))
        .route("/live/{name}/events", get(live::events))
        .route("/ended/{name}", get(reading::ended))
        .route("/recordings/{name}", get(reading::recording))
        .route("/entries/{id}", get(reading::entry))
        .route("/entries/{id}/report", get(reading::report))
        .route("/entries/{id}/tags", post(changes::tags))
        .route("/entries/{id}/note", post(changes::note))
        .route("/compare", get(reading::compare))
        .route("/new", get(jobs::page))
        .route("/new/plan", post(jobs::plan))
        .route("/new/start", post(jobs::start))
        .route("/metrics", get(metrics::metrics))
        .fallback(nothing)
        .layer(DefaultBodyLimit::max(LONGEST_FORM))
        .layer(from_fn_with_state(Arc::clone(&site), admission::admit))
        .with_state(site)
}

async fn nothing(axum::extract::State(site): axum::extract::State<Arc<Site>>, headers: HeaderMap) -> Response {
    let refused = Refused::new(StatusCode::NOT_FOUND, "Not found", "There is no such page.");
    site.refuse(&headers, &refused)
}

/// Serves until `is_over`, which is asked four times a second.
///
/// # Errors
/// The listener cannot be used.
pub fn serve(listener: TcpListener, settings: WebSettings, is_over: impl Fn() -> bool) -> std::io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    let router = router(settings);
    let served = runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !is_over() {
            let Either::Left((accepted, _)) = select(pin!(listener.accept()), pin!(look.tick())).await else {
                continue;
            };
            let Ok((stream, _)) = accepted else {
                // Too many open files: connections that end make room.
                tokio::time::sleep(LOOK).await;
                continue;
            };
            if let Ok(permit) = Arc::clone(&connections).try_acquire_owned() {
                let connection = connection(stream, router.clone());
                tokio::spawn(async move {
                    connection.await;
                    drop(permit);
                });
            }
        }
        tokio::time::sleep(LAST_WORDS).await;
        Ok(())
    });
    // Pages that are being made are not waited for.
    runtime.shutdown_background();
    served
}

/// One connection, until it ends: what a client does wrong concerns nobody else.
async fn connection(stream: TcpStream, router: Router) {
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(LONGEST_WAIT).max_buf_size(LONGEST_HEAD);
    let _ = http.serve_connection(TokioIo::new(stream), service).await;
}

/// A token that nobody guesses: 128 random bits.
///
/// # Errors
/// The kernel has no randomness.
pub fn new_token() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    // So few bytes come whole (getrandom(2)).
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
