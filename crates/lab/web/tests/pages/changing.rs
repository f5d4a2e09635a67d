//! What changes something, and who may.

use axum::body::Body;
use axum::http::{StatusCode, header};
use iolab_store::Database;

use crate::support::{Lab, TOKEN, asked, form_request, get, post};

#[test]
fn tags_and_notes_are_set() {
    let lab = Lab::new();
    let router = lab.router();
    let entry = || {
        let path = lab.settings.database.as_ref().expect("a database");
        Database::open_to_read(path).expect("a database").expect("it is there").entry(1).expect("an entry")
    };
    let told = post(&router, "/entries/1/tags", &format!("token={TOKEN}&tags=base+%3Cb%3E"));
    assert_eq!((told.status, told.place()), (StatusCode::SEE_OTHER, "/entries/1"));
    assert_eq!(entry().tags, ["<b>", "base"]);
    post(&router, "/entries/1/tags", &format!("token={TOKEN}&tags=base"));
    assert_eq!(entry().tags, ["base"], "what is not there any more is removed");
    post(&router, "/entries/1/note", &format!("token={TOKEN}&note=two%0D%0Alines+%3Cscript%3E"));
    assert_eq!(entry().note, "two\nlines <script>");
    let page = get(&router, "/entries/1").text;
    assert!(page.contains("lines &lt;script&gt;") && !page.contains("<script>"), "{page}");
    assert!(get(&router, "/?q=tag:base").text.contains("1 entry"));
    let long = "x".repeat(20 << 10);
    assert_eq!(post(&router, "/entries/1/note", &format!("token={TOKEN}&note={long}")).status, StatusCode::BAD_REQUEST);
    assert_eq!(post(&router, "/entries/9/note", &format!("token={TOKEN}&note=x")).status, StatusCode::NOT_FOUND);
    assert_eq!(entry().note, "two\nlines <script>");
}

#[test]
fn a_job_is_planned_and_then_started_with_the_same_words() {
    let lab = Lab::new();
    let router = lab.router();
    let form = format!("token={TOKEN}&o.name=it&o.bs=8k&o.size=&o.ioengine=null");
    let plan = post(&router, "/new/plan", &form).text;
    assert!(plan.contains("plan --name=it --bs=8k --ioengine=null"), "{plan}");
    assert!(plan.contains("name=\"o.bs\" value=\"8k\"") && plan.contains("A run is going on"), "{plan}");
    let started = post(&router, "/new/start", &form);
    assert_eq!(started.status, StatusCode::SEE_OTHER);
    assert!(started.place().starts_with("/live/it-") && started.place().ends_with(".iolab"), "{}", started.place());
    let wrong = post(&router, "/new/plan", &format!("token={TOKEN}&o.exec_prerun=id"));
    assert!(wrong.text.contains("a page cannot set this option"), "{}", wrong.text);
    assert_eq!(post(&router, "/new/start", &format!("token={TOKEN}&o.trigger=id")).status, StatusCode::BAD_REQUEST);
}

#[test]
fn a_job_that_does_not_run_says_why() {
    let mut lab = Lab::new();
    lab.settings.program = Some("/bin/ls".into());
    let router = lab.router();
    let plan = post(&router, "/new/plan", &format!("token={TOKEN}&o.bs=4k"));
    assert!(plan.text.contains("This makes no job") && plan.text.contains("unrecognized option"), "{}", plan.text);
    let started = post(&router, "/new/start", &format!("token={TOKEN}&o.bs=4k"));
    let place = started.place().to_owned();
    let mut page = get(&router, &place).text;
    while page.contains("The job begins") {
        page = get(&router, &place).text;
    }
    assert!(page.contains("The job did not run") && page.contains("unrecognized option"), "{page}");
}

#[test]
fn nothing_changes_without_the_token_or_from_another_site() {
    let lab = Lab::new();
    let router = lab.router();
    let paths = ["/entries/1/tags", "/entries/1/note", "/new/plan", "/new/start"];
    for path in paths {
        for form in
            ["", "tags=x&note=x", "token=&note=x", "token=0123", "token=0123456789abcdef0123456789abcdee&note=x"]
        {
            assert_eq!(post(&router, path, form).status, StatusCode::FORBIDDEN, "{path} {form}");
        }
        let good = format!("token={TOKEN}&note=x&tags=x");
        for origin in [
            Some("http://evil.example"),
            Some("null"),
            Some("https://127.0.0.1:8765"),
            Some("http://127.0.0.1:1"),
            None,
        ] {
            let mut request = form_request(path).header(header::COOKIE, format!("iolab_token={TOKEN}"));
            if let Some(origin) = origin {
                request = request.header(header::ORIGIN, origin);
            }
            let told = asked(&router, request.body(Body::from(good.clone())).expect("a request"));
            assert_eq!(told.status, StatusCode::FORBIDDEN, "{path} {origin:?}");
        }
    }
    let program = form_request("/entries/1/note").header(header::AUTHORIZATION, format!("Bearer {TOKEN}"));
    let told = asked(&router, program.body(Body::from("note=x")).expect("a request"));
    assert_eq!(told.status, StatusCode::SEE_OTHER, "a program that has it needs no browser");
    for path in paths {
        assert_eq!(get(&router, path).status, StatusCode::METHOD_NOT_ALLOWED, "{path}: reading changes nothing");
    }
}
