//! A client and a server of one process: who is believed, and that bytes arrive however they are
//! cut.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use iolab_sockets::{PieceList, StreamSocket};
use iolab_tls::{StreamChannel, TlsClient, TlsServer, TlsTrust};

const PATIENCE: Duration = Duration::from_secs(60);

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates").join(name)
}

fn server(clients: Option<&Path>) -> TlsServer {
    TlsServer::new(&file("server-cert.pem"), &file("server-key.pem"), clients).unwrap()
}

fn client(trust: &TlsTrust) -> TlsClient {
    TlsClient::new(trust, None).unwrap()
}

fn pair() -> (StreamChannel, StreamChannel) {
    let (near, far) = UnixStream::pair().unwrap();
    let channel = |stream: UnixStream| {
        let socket = StreamSocket::from(stream);
        socket.set_timeouts(PATIENCE).unwrap();
        StreamChannel::from(socket)
    };
    (channel(near), channel(far))
}

/// Both ends after their handshake, or what the client says, and whether the server was content.
fn secured(
    client: &TlsClient,
    name: &str,
    server: TlsServer,
) -> Result<(StreamChannel, StreamChannel), (String, bool)> {
    let (mut near, mut far) = pair();
    let serving = thread::spawn(move || {
        far.begin_server(&server).unwrap();
        while !far.handshake_step()? {}
        // What a client in TLS 1.3 learns after its own handshake, it learns by reading.
        far.write_all(b"welcome").map(|()| far)
    });
    let greeting = near.secure(client, name).and_then(|()| {
        let mut heard = [0; 7];
        near.read_exact(&mut heard).map(|()| heard)
    });
    if greeting.is_err() {
        near.socket().end();
    }
    match (greeting, serving.join().unwrap()) {
        (Ok(heard), Ok(far)) => {
            assert_eq!(&heard, b"welcome");
            Ok((near, far))
        }
        (Err(error), far) => Err((error.to_string(), far.is_ok())),
        (Ok(_), Err(error)) => panic!("the server alone fails: {error}"),
    }
}

#[test]
fn who_is_not_trusted_is_told_why() {
    let own = TlsTrust::File(file("ca-cert.pem"));
    for name in ["localhost", "127.0.0.1"] {
        assert!(secured(&client(&own), name, server(None)).is_ok(), "{name}");
    }
    assert!(secured(&client(&TlsTrust::Everybody), "elsewhere", server(None)).is_ok());
    let (said, _) = secured(&client(&own), "elsewhere", server(None)).unwrap_err();
    assert!(said.contains("for another name") && said.contains("elsewhere"), "{said}");
    // The client's certificate is none of an authority, and signs nobody.
    let other = client(&TlsTrust::File(file("client-cert.pem")));
    let (said, _) = secured(&other, "localhost", server(None)).unwrap_err();
    assert!(said.contains("not trusted"), "{said}");
    let (mut near, _far) = pair();
    assert_eq!(near.secure(&client(&own), "no name").unwrap_err().kind(), ErrorKind::InvalidInput);
}

#[test]
fn servers_let_in_those_alone_whom_they_know() {
    let trust = TlsTrust::File(file("ca-cert.pem"));
    let picky = || server(Some(&file("ca-cert.pem")));
    let known = TlsClient::new(&trust, Some((&file("client-cert.pem"), &file("client-key.pem")))).unwrap();
    assert!(secured(&known, "localhost", picky()).is_ok());
    assert!(secured(&client(&trust), "localhost", picky()).is_err());
}

#[test]
fn bytes_arrive_in_order_while_neither_end_waits() {
    let (mut near, mut far) = secured(&client(&TlsTrust::Everybody), "localhost", server(None)).unwrap();
    let sent: Vec<u8> = (0..3_000_000u32).map(|number| (number % 251) as u8).collect();
    let (mut list, mut other) = (PieceList::default(), PieceList::default());
    let (mut gone, mut came, mut round) = (0, Vec::new(), 0usize);
    let mut was_full = false;
    while came.len() < sent.len() {
        round += 1;
        if gone < sent.len() {
            let cut = (gone + 1 + round * 7919 % 200_000).min(sent.len());
            let mut pieces = list.writing();
            let middle = gone + (cut - gone) / 3;
            pieces.bytes(&sent[gone..middle]);
            pieces.bytes(&sent[middle..cut]);
            match near.send(pieces) {
                Ok(bytes) => gone += bytes,
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    was_full = true;
                }
            }
        } else {
            near.push().unwrap();
        }
        if round % 3 != 0 {
            continue;
        }
        let (mut first, mut second) = ([0; 100], vec![0; round * 31 % 50_000]);
        let mut pieces = other.reading();
        pieces.bytes(&mut first);
        pieces.bytes(&mut second);
        match far.receive(pieces) {
            Ok(0) => panic!("the stream ends"),
            Ok(bytes) => {
                came.extend_from_slice(&first[..bytes.min(100)]);
                came.extend_from_slice(&second[..bytes.saturating_sub(100)]);
            }
            Err(error) => assert!(error.kind() == ErrorKind::WouldBlock && !far.has_unread(), "{error}"),
        }
    }
    assert!(came == sent && was_full && !near.has_unsent());
    drop(near);
    let mut pieces = other.reading();
    let mut one = [0];
    pieces.bytes(&mut one);
    assert_eq!(far.receive(pieces).unwrap(), 0, "the other end has left");
}

#[test]
fn an_end_that_speaks_something_else_is_an_error() {
    let (mut near, mut far) = pair();
    far.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
    let said = near.secure(&client(&TlsTrust::Everybody), "localhost").unwrap_err().to_string();
    assert!(said.contains("may not speak TLS"), "{said}");
    let (mut near, far) = pair();
    drop(far);
    assert!(near.secure(&client(&TlsTrust::Everybody), "localhost").is_err());
}

#[test]
fn files_that_are_of_no_use_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "nothing\n").unwrap();
    for (path, expected) in [(empty.clone(), "no certificate"), (folder.path().join("none"), "No such file")] {
        let said = TlsClient::new(&TlsTrust::File(path), None).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
    }
    let said = TlsServer::new(&file("server-cert.pem"), &empty, None).unwrap_err().to_string();
    assert!(said.contains("no private key"), "{said}");
    let said = TlsServer::new(&file("server-cert.pem"), &file("client-key.pem"), None).unwrap_err().to_string();
    assert!(said.contains("server-cert.pem"), "{said}");
}
