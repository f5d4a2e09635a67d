//! A store of objects in memory for tests. It checks signatures and checksums of S3 by itself,
//! answers in several forms, closes connections, or misbehaves as it is told.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use crate::signature::{DayKey, Signer, hexadecimal};

/// How a store behaves.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Conduct {
    /// 0: lengths; 1: chunks; 2: the end of the connection; 3: lengths after an announcement.
    pub(super) form: u32,
    /// Closes each connection after so many requests, without a word; 0 for never.
    pub(super) closes_after: usize,
    pub(super) silent: bool,
    /// Says this instead of an answer, and closes the connection.
    pub(super) says: Option<&'static str>,
}

/// An object: its content, and whether it has iolab's mark.
type Object = (Vec<u8>, bool);

pub(super) struct Store {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    conduct: Conduct,
    objects: Mutex<BTreeMap<String, Object>>,
    connections: AtomicUsize,
}

struct Request {
    method: String,
    path: String,
    headers: BTreeMap<String, String>,
    content: Vec<u8>,
}

impl Store {
    pub(super) fn start(conduct: Conduct) -> Store {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { conduct, objects: Mutex::default(), connections: AtomicUsize::new(0) });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                own.connections.fetch_add(1, Ordering::SeqCst);
                let own = Arc::clone(&own);
                std::thread::spawn(move || own.serve(stream.unwrap()));
            }
        });
        Store { address, shared }
    }

    pub(super) fn authority(&self) -> String {
        self.address.to_string()
    }

    pub(super) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.shared.objects.lock().unwrap().keys().cloned().collect()
    }

    pub(super) fn put(&self, name: &str, content: &[u8]) {
        self.shared.objects.lock().unwrap().insert(name.to_owned(), (content.to_vec(), false));
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> Option<()> {
        // Otherwise each further piece of a response would wait until the client acknowledges the
        // first, which it delays by 40 ms.
        stream.set_nodelay(true).unwrap();
        let mut reader = BufReader::new(stream);
        let mut count = 0;
        loop {
            let request = read(&mut reader)?;
            count += 1;
            if self.conduct.silent {
                continue;
            }
            if self.conduct.closes_after > 0 && count > self.conduct.closes_after {
                return None;
            }
            if let Some(says) = self.conduct.says {
                reader.get_mut().write_all(says.as_bytes()).ok()?;
                return None;
            }
            let (status, content, marked) = self.answer(&request);
            let mark = if marked { "x-amz-meta-iolab: 1\r\n" } else { "" };
            let length = content.len();
            let is_head = request.method == "HEAD";
            let out = match self.conduct.form {
                1 if !is_head && status != 204 => {
                    let mut out =
                        format!("HTTP/1.1 {status} s\r\n{mark}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
                    for part in content.chunks(70_000) {
                        out.extend_from_slice(format!("{:X};x=y\r\n", part.len()).as_bytes());
                        out.extend_from_slice(part);
                        out.extend_from_slice(b"\r\n");
                    }
                    out.extend_from_slice(b"0\r\nTrailer: yes\r\n\r\n");
                    out
                }
                2 if !is_head => [format!("HTTP/1.0 {status} s\r\n{mark}\r\n").as_bytes(), &content].concat(),
                form => {
                    let announced = if form == 3 { "HTTP/1.1 100 Continue\r\n\r\n" } else { "" };
                    let head = format!("{announced}HTTP/1.1 {status} s\r\n{mark}Content-Length: {length}\r\n\r\n");
                    [head.as_bytes(), if is_head { &[] } else { &content[..] }].concat()
                }
            };
            // In two pieces, so that heads and bodies are cut.
            let cut = out.len() / 3;
            reader.get_mut().write_all(&out[..cut]).ok()?;
            reader.get_mut().write_all(&out[cut..]).ok()?;
            if self.conduct.form == 2 && !is_head {
                return None;
            }
        }
    }

    fn answer(&self, request: &Request) -> (u16, Vec<u8>, bool) {
        if let Err(what) = signed(request) {
            return (403, what.as_bytes().to_vec(), false);
        }
        let mut objects = self.objects.lock().unwrap();
        let marks = ["x-amz-meta-iolab", "x-object-meta-iolab"];
        match request.method.as_str() {
            "PUT" => {
                let marked = marks.iter().any(|name| request.headers.contains_key(*name));
                objects.insert(request.path.clone(), (request.content.clone(), marked));
                (201, Vec::new(), false)
            }
            "DELETE" => (if objects.remove(&request.path).is_some() { 204 } else { 404 }, Vec::new(), false),
            _ => match (objects.get(&request.path), request.headers.get("range")) {
                (None, _) => (404, b"nothing".to_vec(), false),
                (Some((content, marked)), None) => (200, content.clone(), *marked),
                (Some((content, marked)), Some(range)) => {
                    let (first, last) = range.strip_prefix("bytes=").unwrap().split_once('-').unwrap();
                    let (first, last): (usize, usize) = (first.parse().unwrap(), last.parse().unwrap());
                    match content.get(first..(last + 1).min(content.len())) {
                        Some(part) if !part.is_empty() => (206, part.to_vec(), *marked),
                        _ => (416, Vec::new(), false),
                    }
                }
            },
        }
    }
}

/// Checks the signature of a request of S3; others are as they should be by their headers.
fn signed(request: &Request) -> Result<(), &'static str> {
    let header = |name: &str| request.headers.get(name).map(String::as_str);
    let Some(authorization) = header("authorization").filter(|value| value.starts_with("AWS4")) else {
        let basic = header("authorization").is_none_or(|value| value == "Basic bWU6cGFzczp3b3Jk");
        let swift = header("x-auth-token").is_none_or(|value| value == "t");
        return if basic && swift { Ok(()) } else { Err("who are you?") };
    };
    let names = authorization.split("SignedHeaders=").nth(1).and_then(|rest| rest.split(',').next()).unwrap();
    let headers: Vec<(&str, &str)> = names.split(';').map(|name| (name, header(name).unwrap())).collect();
    assert!(headers.is_sorted(), "{names}");
    let mine = |name: &&String| name.starts_with("x-amz-") || *name == "host" || *name == "range";
    assert_eq!(request.headers.keys().filter(mine).count(), headers.len(), "all of them are signed");
    let checksum = hexadecimal(&Sha256::digest(&request.content));
    if header("x-amz-content-sha256") != Some(checksum.as_str()) {
        return Err("XAmzContentSHA256Mismatch");
    }
    let signer = Signer { key_id: "lab", key: "secret", region: "us-east-1" };
    let stamp = header("x-amz-date").unwrap();
    let asked = (request.method.as_str(), request.path.as_str());
    let right = signer.authorization(&mut DayKey::default(), stamp, asked, &headers, &checksum);
    if right == authorization { Ok(()) } else { Err("SignatureDoesNotMatch") }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        assert!(headers.insert(name.to_owned(), value.to_owned()).is_none(), "{name} is sent twice");
    }
    let length = headers.get("content-length").map_or(0, |length| length.parse().unwrap());
    let mut content = vec![0; length];
    reader.read_exact(&mut content).ok()?;
    Some(Request { method, path, headers, content })
}
