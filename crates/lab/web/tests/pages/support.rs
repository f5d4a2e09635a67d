//! A site with a recording, its entry in a database, and a run that goes on; and requests to it.

use std::fs::File;
use std::path::{Path, PathBuf};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request, StatusCode, header};
use iolab_activity::Silent;
use iolab_store::Database;
use iolab_web::{WebEngine, WebSettings, router};
use tower::ServiceExt;

pub(crate) const TOKEN: &str = "0123456789abcdef0123456789abcdef";
pub(crate) const HOST: &str = "127.0.0.1:8765";

/// A site, which nothing serves.
pub(crate) struct Lab {
    folder: tempfile::TempDir,
    pub(crate) settings: WebSettings,
    /// Holds the lock of the run that goes on.
    run: Option<File>,
}

/// An answer.
pub(crate) struct Told {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Told {
    /// Where it leads to.
    pub(crate) fn place(&self) -> &str {
        self.headers.get(header::LOCATION).map_or("", |place| place.to_str().expect("a text"))
    }
}

fn corpus(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/recording/tests/corpus").join(name)
}

impl Lab {
    pub(crate) fn new() -> Lab {
        let folder = tempfile::tempdir().expect("a folder");
        let recordings = std::fs::canonicalize(folder.path()).expect("a path").join("recordings");
        std::fs::create_dir(&recordings).expect("a folder");
        for name in ["one.iolab", "two.iolab"] {
            std::fs::copy(corpus("2-5-files.json"), recordings.join(name)).expect("a recording");
        }
        std::fs::copy(corpus("partial-1"), recordings.join("now.iolab.partial")).expect("a partial recording");
        std::fs::write(folder.path().join("secret.iolab"), "secret").expect("a file");
        let run = File::open(recordings.join("now.iolab.partial")).expect("the run's file");
        run.lock().expect("its lock");
        let path = recordings.with_extension("db");
        let mut database = Database::open(&path).expect("a database");
        for name in ["one.iolab", "two.iolab"] {
            iolab_archive::database::import(&mut database, &recordings.join(name), &Silent).expect("an entry");
        }
        let settings = WebSettings {
            token: TOKEN.to_owned(),
            hosts: vec![HOST.to_owned(), "localhost:8765".to_owned()],
            is_private: false,
            recordings,
            also: Vec::new(),
            database: Some(path),
            follows: None,
            program: Some("/bin/echo".into()),
            engines: vec![WebEngine { name: "null", summary: "nothing", options: &[] }],
            version: "0",
        };
        Lab { folder, settings, run: Some(run) }
    }

    pub(crate) fn router(&self) -> Router {
        router(self.settings.clone())
    }

    /// Ends the run, as a run does that has saved its recording.
    pub(crate) fn end_run(&mut self) {
        std::fs::copy(self.settings.recordings.join("one.iolab"), self.settings.recordings.join("now.iolab"))
            .expect("a recording");
        std::fs::remove_file(self.settings.recordings.join("now.iolab.partial")).expect("the partial one");
        self.run = None;
    }

    /// What is beside the folder of recordings.
    pub(crate) fn beside(&self) -> &Path {
        self.folder.path()
    }
}

/// Asks for a page.
pub(crate) fn get(router: &Router, path: &str) -> Told {
    asked(router, request("GET", path).body(Body::empty()).expect("a request"))
}

/// Sends a form from a page of the site.
pub(crate) fn post(router: &Router, path: &str, form: &str) -> Told {
    asked(
        router,
        form_request(path)
            .header(header::ORIGIN, format!("http://{HOST}"))
            .body(Body::from(form.to_owned()))
            .expect("a request"),
    )
}

pub(crate) fn form_request(path: &str) -> axum::http::request::Builder {
    request("POST", path).header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
}

pub(crate) fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder().method(method).uri(path).header(header::HOST, HOST)
}

pub(crate) fn asked(router: &Router, request: Request<Body>) -> Told {
    in_runtime(async {
        let response = router.clone().oneshot(request).await.expect("an answer");
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, 64 << 20).await.expect("a whole answer");
        Told { status: parts.status, headers: parts.headers, text: String::from_utf8_lossy(&bytes).into_owned() }
    })
}

pub(crate) fn in_runtime<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().expect("a runtime").block_on(work)
}
