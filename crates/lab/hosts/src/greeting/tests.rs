//! Both sides of a greeting: those that agree, and those that do not.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use super::*;

fn secret(byte: u8) -> SharedSecret {
    SharedSecret::of(&[byte; 32]).unwrap()
}

/// What client and server make of each other.
fn both(
    client: Option<SharedSecret>,
    server: Option<SharedSecret>,
) -> (Result<Channel, Reason>, Result<Channel, Reason>) {
    let (one, other) = UnixStream::pair().unwrap();
    let serving = std::thread::spawn(move || welcome(Channel::new(other.into()), server.as_ref(), &Clock::monotonic()));
    let greeted = greet(Channel::new(one.into()), client.as_ref(), Patience::of(&Clock::monotonic(), GREETING_NS));
    (greeted, serving.join().unwrap())
}

/// The other end says exactly this, and what comes back.
fn client_hears(answer: &[u8]) -> Reason {
    let (one, mut other) = UnixStream::pair().unwrap();
    other.write_all(answer).unwrap();
    other.shutdown(std::net::Shutdown::Write).unwrap();
    greet(Channel::new(one.into()), None, Patience::of(&Clock::monotonic(), GREETING_NS)).err().unwrap_or_default()
}

fn server_hears(said: &[u8]) -> (Reason, Vec<u8>) {
    let (one, mut other) = UnixStream::pair().unwrap();
    other.write_all(said).unwrap();
    other.shutdown(std::net::Shutdown::Write).unwrap();
    let reason = welcome(Channel::new(one.into()), None, &Clock::monotonic()).err().unwrap_or_default();
    let mut answer = Vec::new();
    other.read_to_end(&mut answer).unwrap();
    (reason, answer)
}

#[test]
fn ends_that_agree_understand_each_other() {
    for shared in [None, Some(secret(7))] {
        let (client, server) = both(shared.clone(), shared);
        let (mut client, mut server) = (client.unwrap(), server.unwrap());
        let clock = Clock::monotonic();
        client.say(&"a word");
        client.send_all(&Patience::of(&clock, GREETING_NS)).unwrap();
        let word: String = server.receive(Patience::of(&clock, GREETING_NS)).unwrap().message().unwrap();
        assert_eq!(word, "a word");
    }
}

#[test]
fn secrets_that_differ_are_told_on_both_sides() {
    let (client, server) = both(Some(secret(7)), Some(secret(8)));
    assert!(client.err().unwrap().contains("does not know the secret"));
    assert!(server.err().unwrap().contains("does not know the secret"));

    let (client, server) = both(None, Some(secret(8)));
    assert!(client.err().unwrap().contains("--secret=FILE"));
    assert!(server.is_err());

    // A server without the secret may be anybody's.
    let (client, _) = both(Some(secret(7)), None);
    assert!(client.err().unwrap().contains("leave out --secret"));
}

#[test]
fn programs_of_another_kind_are_known_by_their_first_bytes() {
    for other in [&b"HTTP/1.1 400 Bad Request\r\n"[..], b"SSH-2.0-x\r\n", &[0; 16]] {
        assert!(client_hears(other).contains("no server of iolab"), "{other:?}");
        let (reason, answer) = server_hears(other);
        assert!(reason.contains("no client of iolab") && answer.is_empty(), "{other:?}: {reason}");
    }
    assert!(client_hears(b"").contains("closed the connection at once"));
    assert!(server_hears(b"iolab ho").0.contains("closed"));
}

#[test]
fn another_version_is_told_which_ones_they_are() {
    for (protocol, version) in [(PROTOCOL + 1, VERSION), (PROTOCOL, "0.0.1")] {
        let (one, other) = UnixStream::pair().unwrap();
        let clock = Clock::monotonic();
        let serving = std::thread::spawn(move || welcome(Channel::new(other.into()), None, &Clock::monotonic()));
        let mut client = Channel::new(one.into());
        client.queue_raw(MARK);
        client.say(&Hello { protocol, version: version.to_owned(), nonce: [0; 32] });
        expect_mark(&mut client, &Patience::of(&clock, GREETING_NS)).ok().unwrap();
        let answer: Welcome = client.receive(Patience::of(&clock, GREETING_NS)).unwrap().message().unwrap();
        let Welcome::Refused { reason } = answer else { panic!("{answer:?}") };
        for part in
            [format!("iolab {version} (protocol {protocol})"), format!("iolab {VERSION}"), "same version".into()]
        {
            assert!(reason.contains(&part), "{reason}");
        }
        assert_eq!(serving.join().unwrap().err(), Some(reason));
    }
}

#[test]
fn hostile_greetings_do_no_harm() {
    let framed = |kind: u8, payload: &[u8]| {
        let mut bytes = MARK.to_vec();
        bytes.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        bytes.push(kind);
        bytes.extend_from_slice(payload);
        bytes
    };
    for said in [
        framed(1, b"{}"),
        framed(1, b"not json"),
        framed(1, &b"[".repeat(4000)),
        framed(4, b"{}"),
        framed(200, b""),
        [MARK.as_slice(), &u32::MAX.to_le_bytes(), &[1]].concat(),
        [MARK.as_slice(), &[1]].concat(),
    ] {
        assert!(!server_hears(&said).0.is_empty());
        assert!(!client_hears(&said).is_empty());
    }
}
