//! Requests that mean harm: other names, paths that lead elsewhere, noise.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use iolab_random::SplitMix64;
use iolab_web::serve;

use crate::support::{HOST, Lab, asked, form_request, get};

#[test]
fn no_path_leaves_the_folder_of_recordings() {
    let lab = Lab::new();
    std::os::unix::fs::symlink(lab.beside().join("secret.iolab"), lab.settings.recordings.join("link.iolab"))
        .expect("a link");
    std::fs::create_dir(lab.settings.recordings.join("folder.iolab")).expect("a folder");
    std::fs::write(lab.settings.recordings.join("note.txt"), "secret").expect("a file");
    std::fs::write(lab.settings.recordings.join("noise.iolab"), "secret").expect("a file");
    let router = lab.router();
    let whole = format!("{}/secret.iolab", lab.beside().display()).replace('/', "%2F");
    for name in [
        "..%2Fsecret.iolab",
        "%2e%2e%2fsecret.iolab",
        "..%2F..%2F..%2Fetc%2Fpasswd",
        "%2Fetc%2Fpasswd",
        &whole,
        "link.iolab",
        "folder.iolab",
        "note.txt",
        "noise.iolab",
        "one.iolab%00",
        "one.iolab%2F",
        "%FF%FE",
        ".",
        "%2E%2E",
        "one.iolab%2F..%2Fone.iolab",
    ] {
        for page in ["recordings", "ended", "live"] {
            let told = get(&router, &format!("/{page}/{name}"));
            let is_refused = told.status.is_client_error() || page == "live" && told.place().starts_with("/ended/");
            // Noise with the name of a recording is found, and is none.
            let is_found = page == "ended" && name == "noise.iolab";
            assert!(is_refused || is_found, "/{page}/{name}: {} {}", told.status, told.place());
            assert!(!told.text.contains("secret<") && !told.text.contains("root:"), "/{page}/{name}: {}", told.text);
        }
    }
    assert_eq!(get(&router, "/recordings/one.iolab").status, StatusCode::OK, "the canary: this one is there");
}

#[test]
fn only_our_own_names_are_answered() {
    let router = Lab::new().router();
    for host in [
        "evil.example",
        "evil.example:8765",
        "127.0.0.1",
        "127.0.0.1:8765.evil.example",
        "localhost:8765@evil.example",
        "",
    ] {
        let request = Request::builder().uri("/").header(header::HOST, host).body(Body::empty()).expect("a request");
        let told = asked(&router, request);
        assert_eq!(told.status, StatusCode::MISDIRECTED_REQUEST, "{host}");
        assert!(!told.text.contains("one.iolab"), "{host}");
    }
    assert_eq!(
        asked(&router, Request::builder().uri("/").body(Body::empty()).expect("a request")).status,
        StatusCode::MISDIRECTED_REQUEST
    );
    let localhost = Request::builder().uri("/").header(header::HOST, "localhost:8765").body(Body::empty());
    assert_eq!(asked(&router, localhost.expect("a request")).status, StatusCode::OK);
}

#[test]
fn every_answer_forbids_what_pages_do_not_need() {
    let router = Lab::new().router();
    for path in ["/", "/entries/1", "/entries/1/report", "/nothing", "/live.js", "/metrics", "/entries/x"] {
        let told = get(&router, path);
        let policy = told.headers[header::CONTENT_SECURITY_POLICY].to_str().expect("a text");
        assert!(
            policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{path}: {policy}"
        );
        assert_eq!(told.headers[header::X_CONTENT_TYPE_OPTIONS], "nosniff", "{path}");
        assert_eq!(told.headers[header::CACHE_CONTROL], "no-store", "{path}");
        assert!(!told.headers.contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN), "{path}");
    }
}

#[test]
fn noise_in_addresses_and_forms_is_an_error_of_the_sender() {
    let router = Lab::new().router();
    let mut random = SplitMix64::new(7);
    for _ in 0..300 {
        let noise: String = (0..random.below(40))
            .map(|_| match random.below(4) {
                0 => format!("%{:02X}", random.below(256)),
                1 => "/".to_owned(),
                2 => "..".to_owned(),
                _ => char::from(b'!' + random.below(90) as u8).to_string(),
            })
            .filter(|piece| !"\"<>\\^`{|}#?".contains(piece.as_str()))
            .collect();
        let prefix =
            ["/", "/live/", "/recordings/", "/entries/", "/ended/", "/?q=", "/compare?a="][random.below(7) as usize];
        if let Ok(request) =
            Request::builder().uri(format!("{prefix}{noise}")).header(header::HOST, HOST).body(Body::empty())
        {
            let told = asked(&router, request);
            assert!(!told.status.is_server_error(), "{prefix}{noise}: {} {}", told.status, told.text);
        }
        let form =
            form_request("/new/plan").header(header::ORIGIN, format!("http://{HOST}")).body(Body::from(noise.clone()));
        assert!(asked(&router, form.expect("a request")).status.is_client_error(), "{noise}");
    }
    let long = form_request("/new/plan")
        .header(header::ORIGIN, format!("http://{HOST}"))
        .body(Body::from("x".repeat(1 << 20)));
    assert_eq!(asked(&router, long.expect("a request")).status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[test]
fn noise_on_the_wire_ends_a_connection_and_no_server() {
    let lab = Lab::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let mut settings = lab.settings.clone();
    settings.hosts = vec![address.to_string()];
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let server = std::thread::spawn(move || serve(listener, settings, || over.load(Ordering::Relaxed)));
    let mut random = SplitMix64::new(11);
    for round in 0..60 {
        let mut bytes = format!("GET / HTTP/1.1\r\nHost: {address}\r\nX: {round}\r\n\r\n").into_bytes();
        for _ in 0..random.below(12) {
            let place = random.below(bytes.len() as u64) as usize;
            bytes[place] = random.below(256) as u8;
        }
        let mut stream = TcpStream::connect(address).expect("a connection");
        // It may be closed before everything is written.
        let _ = stream.write_all(&bytes[..bytes.len() - random.below(20) as usize]);
        let _ = stream.shutdown(std::net::Shutdown::Write);
        let _ = stream.read_to_end(&mut Vec::new());
    }
    let mut stream = TcpStream::connect(address).expect("a connection");
    write!(stream, "GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").expect("a request");
    let mut told = String::new();
    stream.read_to_string(&mut told).expect("an answer");
    assert!(told.starts_with("HTTP/1.1 200 OK") && told.contains("Past runs"), "{told}");
    is_over.store(true, Ordering::Relaxed);
    server.join().expect("no panic").expect("a server that ends well");
}
