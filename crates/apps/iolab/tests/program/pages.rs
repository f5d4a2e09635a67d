//! Pages about runs, served by the program itself; and the live screen where it cannot be.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::support::{Lab, Running};

/// The address that a server printed, and its token.
fn address(text: &str) -> Option<(String, String)> {
    let rest = &text[text.find("http://")? + "http://".len()..];
    let (authority, rest) = rest.split_once("/?token=")?;
    let token: String = rest.chars().take_while(char::is_ascii_hexdigit).collect();
    (token.len() == 32 && rest.len() > token.len()).then(|| (authority.to_owned(), token))
}

pub(crate) fn printed_address(server: &Running, text: fn(&Running) -> String) -> (String, String) {
    server.until(|server| address(&text(server)).is_some());
    address(&text(server)).expect("it was there")
}

fn asked(authority: &str, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(authority).expect("a server");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n").expect("a request");
    stream
}

pub(crate) fn get(authority: &str, path: &str) -> String {
    let mut told = String::new();
    asked(authority, path).read_to_string(&mut told).expect("an answer");
    told
}

#[test]
fn a_server_shows_what_is_kept_and_ends_when_it_is_told_to() {
    let lab = Lab::new();
    lab.file("job.fio", "[kept]\nioengine=null\nsize=64k\n");
    lab.run(["run", "job.fio"]).ended(0, "");
    let server = lab.start(["web", "--listen=127.0.0.1:0"]);
    let (authority, token) = printed_address(&server, Running::printed);
    let list = get(&authority, "/");
    assert!(
        list.starts_with("HTTP/1.1 200 OK") && list.contains("href=\"/entries/1\"") && list.contains("kept"),
        "{list}"
    );
    assert!(get(&authority, "/entries/1/report").contains("This file is self-contained"));
    assert!(get(&authority, &format!("/?token={token}")).contains("HttpOnly"));
    assert!(get(&authority, "/metrics").contains("iolab_runs_in_progress 0\n"));
    server.signal(2);
    server.finish().ended(0, "serving until Ctrl-C");
    lab.run(["web", "--listen=127.0.0.1:99999"]).ended(2, "");
}

#[test]
fn a_run_has_a_page_as_long_as_it_lasts() {
    let lab = Lab::new();
    lab.file(
        "job.fio",
        "[paced]\nioengine=null\nsize=1g\ntime_based\nruntime=600\nrate_iops=1000\ncalibrate=0\ninterval=10ms\n",
    );
    let run = lab.start(["run", "job.fio", "--web", "--record=it.iolab"]);
    let (authority, _) = printed_address(&run, Running::errors);
    let place = get(&authority, "/");
    assert!(place.contains("location: /live/it.iolab"), "{place}");
    let page = get(&authority, "/live/it.iolab");
    assert!(page.contains("data-events=\"/live/it.iolab/events\""), "{page}");
    // The address is printed first, and the recording begins with the jobs a moment later.
    run.until(|_| get(&authority, "/live/it.iolab").contains("paced"));
    assert!(get(&authority, "/metrics").contains("run=\"it.iolab\""));
    assert!(get(&authority, "/new").starts_with("HTTP/1.1 404"), "it starts nothing beside a run");
    let mut following = BufReader::new(asked(&authority, "/live/it.iolab/events"));
    let mut events = String::new();
    following.read_line(&mut events).expect("an answer");
    run.signal(2);
    // The events end with the run: the last one says so.
    following.read_to_string(&mut events).expect("events");
    assert!(events.contains("event: ended"), "{}", &events[events.len().saturating_sub(600)..]);
    run.finish().ended(128, "recording saved as it.iolab");
    assert!(TcpStream::connect(&authority).is_err(), "its server has ended with it");
}

#[test]
fn what_cannot_be_shown_is_refused_before_anything_runs() {
    let lab = Lab::new();
    lab.file("job.fio", "[a]\nioengine=null\nsize=64k\n");
    lab.run(["run", "job.fio", "--live"]).ended(2, "--live needs a terminal");
    lab.run(["run", "job.fio", "--live", "--status-interval=1"]).ended(2, "--output=FILE");
    lab.run(["run", "job.fio", "--web", "--record=/dev/null"]).ended(2, "--web needs a recording in a file");
}
