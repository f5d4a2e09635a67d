//! What is shown to whoever reads.

use axum::body::Body;
use axum::http::{StatusCode, header};
use tower::ServiceExt;

use crate::support::{Lab, TOKEN, asked, get, in_runtime, request};

#[test]
fn the_list_has_running_and_past_runs_and_is_searched() {
    let lab = Lab::new();
    let router = lab.router();
    let page = get(&router, "/");
    assert_eq!(page.status, StatusCode::OK);
    assert!(page.text.contains("href=\"/live/now.iolab\""), "{}", page.text);
    assert!(page.text.contains("href=\"/entries/1\"") && page.text.contains("href=\"/entries/2\""));
    assert!(!page.text.contains(TOKEN) && !page.text.contains("/new"), "who only reads gets no token");
    assert!(get(&router, "/?q=nothing-is-called-so").text.contains("Nothing is found"));
    assert!(get(&router, "/?q=two.iolab").text.contains("1 entry"));
    assert!(get(&router, "/?b=2").text.contains("value=\"2\" checked"));
}

#[test]
fn entries_reports_and_comparisons_open() {
    let lab = Lab::new();
    let router = lab.router();
    let entry = get(&router, "/entries/1");
    assert!(entry.text.contains("Open the report") && !entry.text.contains("<form"), "{}", entry.text);
    for path in ["/entries/1/report", "/recordings/one.iolab", "/compare?a=1&b=2"] {
        let report = get(&router, path);
        assert_eq!(report.status, StatusCode::OK, "{path}: {}", report.text);
        let policy = report.headers[header::CONTENT_SECURITY_POLICY].to_str().expect("a text");
        assert!(
            policy.contains("script-src 'sha256-") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert!(report.text.contains("This file is self-contained"), "{path}");
    }
    assert!(get(&router, "/compare?a=1").text.contains("Choose two entries"));
    assert_eq!(get(&router, "/entries/77").status, StatusCode::NOT_FOUND);
    std::fs::remove_file(lab.settings.recordings.join("one.iolab")).expect("a file");
    assert!(get(&router, "/entries/1").text.contains("There is no report"));
    assert_eq!(get(&router, "/entries/1/report").status, StatusCode::NOT_FOUND);
}

#[test]
fn a_run_has_a_page_events_and_metrics_until_it_ends() {
    let mut lab = Lab::new();
    let router = lab.router();
    let page = get(&router, "/live/now.iolab");
    assert_eq!(page.status, StatusCode::OK);
    for part in ["id=\"now\"", "id=\"findings\"", "id=\"course\"", "id=\"devices\"", "Each job and direction"] {
        assert!(page.text.contains(part), "complete without a script, {part}: {}", page.text);
    }
    let metrics = get(&router, "/metrics");
    assert!(metrics.text.contains("iolab_runs_in_progress 1\n"), "{}", metrics.text);
    assert!(metrics.text.contains("iolab_operations_total{run=\"now.iolab\",job="), "{}", metrics.text);
    assert!(metrics.text.ends_with("# EOF\n"));
    assert!(
        metrics.headers[header::CONTENT_TYPE].to_str().expect("a text").starts_with("application/openmetrics-text")
    );
    // The events come to their end when the run does: whoever waits for them is not left waiting.
    let events = request("GET", "/live/now.iolab/events").body(Body::empty()).expect("a request");
    let text = in_runtime(async {
        let response = router.clone().oneshot(events).await.expect("an answer");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "text/event-stream");
        lab.end_run();
        let bytes = axum::body::to_bytes(response.into_body(), 64 << 20).await.expect("all events");
        String::from_utf8(bytes.into()).expect("text")
    });
    let names: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
    assert!(names.len() >= 5 && names[..4].iter().all(|name| *name == "part"), "{names:?}");
    assert_eq!(names.last(), Some(&"ended"), "{names:?}");
    assert!(text.contains("\"href\":\"/ended/now.iolab\""), "{text}");
    // For a moment, a process that another test starts may have the file open, and its lock, too.
    for _ in 0..500 {
        if get(&router, "/live/now.iolab").place() == "/ended/now.iolab" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(get(&router, "/live/now.iolab").place(), "/ended/now.iolab");
    assert_eq!(get(&router, "/ended/now.iolab").place(), "/recordings/now.iolab", "the database does not have it");
    assert_eq!(get(&router, "/ended/one.iolab").place(), "/entries/1");
    assert_eq!(get(&router, "/ended/nowhere.iolab").status, StatusCode::NOT_FOUND);
    assert!(get(&router, "/metrics").text.contains("iolab_runs_in_progress 0\n"));
}

#[test]
fn the_server_of_one_run_shows_nothing_else_and_starts_nothing() {
    let mut lab = Lab::new();
    lab.settings.follows = Some(iolab_web::Followed::Run(lab.settings.recordings.join("now.iolab.partial")));
    lab.settings.program = None;
    let router = lab.router();
    assert_eq!(get(&router, "/").place(), "/live/now.iolab");
    assert_eq!(get(&router, "/new").status, StatusCode::NOT_FOUND);
}

#[test]
fn the_token_comes_as_a_cookie_and_shows_the_forms() {
    let lab = Lab::new();
    let router = lab.router();
    let entered = get(&router, &format!("/entries/1?token={TOKEN}"));
    assert_eq!((entered.status, entered.place()), (StatusCode::SEE_OTHER, "/entries/1"), "it leaves the address");
    let cookie = entered.headers[header::SET_COOKIE].to_str().expect("a text");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    let pair = cookie.split(';').next().expect("a pair").to_owned();
    let with_cookie = |path: &str| {
        asked(&router, request("GET", path).header(header::COOKIE, &pair).body(Body::empty()).expect("a request"))
    };
    assert!(with_cookie("/").text.contains("href=\"/new\""));
    assert!(with_cookie("/entries/1").text.contains("action=\"/entries/1/tags\""));
    assert!(with_cookie("/new").text.contains("name=\"o.iodepth\""));
    assert_eq!(get(&router, "/?token=wrong").status, StatusCode::UNAUTHORIZED);
    assert_eq!(get(&router, &format!("//evil.example/?token={TOKEN}")).place(), "/");
}

#[test]
fn a_private_server_shows_nothing_without_the_token() {
    let mut lab = Lab::new();
    lab.settings.is_private = true;
    let router = lab.router();
    for path in ["/", "/metrics", "/entries/1", "/live/now.iolab", "/live/now.iolab/events", "/style.css"] {
        let told = get(&router, path);
        assert_eq!(told.status, StatusCode::UNAUTHORIZED, "{path}");
        assert!(!told.text.contains("one.iolab"), "{path}");
    }
    let bearer = request("GET", "/metrics").header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
    assert_eq!(
        asked(&router, bearer.body(Body::empty()).expect("a request")).status,
        StatusCode::OK,
        "as Prometheus asks"
    );
}

#[test]
fn runs_of_other_folders_are_shown_while_they_go_on() {
    let mut lab = Lab::new();
    let trials = lab.beside().join("trials");
    std::fs::create_dir(&trials).expect("a folder");
    let names = ["b00-c000.iolab.partial", "now.iolab.partial", "killed.iolab.partial"];
    let files = names.map(|name| {
        std::fs::copy(lab.settings.recordings.join("now.iolab.partial"), trials.join(name))
            .expect("a partial recording");
        std::fs::File::open(trials.join(name)).expect("a file")
    });
    files[..2].iter().for_each(|file| file.lock().expect("a lock"));
    lab.settings.also = vec![trials];
    let router = lab.router();
    let page = get(&router, "/").text;
    assert!(page.contains("/live/b00-c000.iolab") && !page.contains("killed"), "{page}");
    assert_eq!(page.matches("href=\"/live/now.iolab\"").count(), 1, "one name is one page");
    assert!(get(&router, "/metrics").text.contains("iolab_runs_in_progress 2\n"));
}
