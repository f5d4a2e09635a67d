//! Frames between two ends, and what an end does with bytes that are none.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use proptest::prelude::*;

use super::*;
use crate::seal::{NONCE_BYTES, Nonces, SharedSecret, Side};

const PATIENCE_NS: u64 = 60_000_000_000;

fn pair() -> (Channel, Channel) {
    let (one, other) = UnixStream::pair().unwrap();
    (Channel::new(one.into()), Channel::new(other.into()))
}

/// An end, and the bare socket of the other.
fn with_raw() -> (Channel, UnixStream) {
    let (one, other) = UnixStream::pair().unwrap();
    (Channel::new(one.into()), other)
}

fn sealed() -> (Channel, Channel) {
    let (mut client, mut server) = pair();
    let secret = SharedSecret::of(&[7; 32]).unwrap();
    let nonces = Nonces { server: [1; NONCE_BYTES], client: [2; NONCE_BYTES] };
    client.seal(secret.seals(Side::Client, &nonces));
    server.seal(secret.seals(Side::Server, &nonces));
    (client, server)
}

#[test]
fn frames_arrive_whole_and_in_order() {
    let clock = Clock::monotonic();
    for (mut one, mut other) in [pair(), sealed()] {
        other.allow(1 << 24);
        let large = vec![0x5a; 3 << 20];
        let sender = std::thread::spawn(move || {
            let clock = Clock::monotonic();
            one.queue(FrameKind::Message, b"first");
            one.queue(FrameKind::Recording, &large);
            one.queue(FrameKind::Piece, b"");
            one.send_all(&Patience::of(&clock, PATIENCE_NS)).unwrap();
            one
        });
        let mut next = || other.receive(Patience::of(&clock, PATIENCE_NS)).unwrap();
        assert_eq!(next(), Frame { kind: FrameKind::Message, payload: b"first".to_vec() });
        let second = next();
        assert!(second.kind == FrameKind::Recording && second.payload.len() == 3 << 20);
        assert_eq!(next(), Frame { kind: FrameKind::Piece, payload: Vec::new() });
        drop(sender.join().unwrap());
        let over = other.receive(Patience::of(&clock, PATIENCE_NS)).unwrap_err();
        assert!(matches!(over, ChannelError::Closed), "{over}");
    }
}

#[test]
fn a_frame_that_is_too_long_is_refused_by_its_header() {
    let (mut channel, mut raw) = with_raw();
    raw.write_all(&u32::MAX.to_le_bytes()).unwrap();
    raw.write_all(&[FrameKind::Message as u8]).unwrap();
    channel.fill().unwrap();
    let error = channel.next().unwrap_err().to_string();
    assert!(error.contains("4294967295 bytes, at most 4096"), "{error}");
    assert!(channel.incoming.capacity() < 2 * READ_BYTES, "nothing was made ready for it");
}

#[test]
fn what_comes_is_bounded_however_much_is_sent() {
    let (mut channel, mut raw) = with_raw();
    let sender = std::thread::spawn(move || {
        // It ends when the other end has gone.
        while raw.write_all(&[0; 4096]).is_ok() {}
    });
    for _ in 0..100 {
        channel.fill().unwrap();
    }
    assert!(channel.untaken().len() <= HEADER_BYTES + TAG_BYTES + GREETING_BYTES);
    drop(channel);
    sender.join().unwrap();
}

#[test]
fn unknown_kinds_and_wrong_tags_end_the_connection() {
    let (mut channel, mut raw) = with_raw();
    raw.write_all(&[0, 0, 0, 0, 99]).unwrap();
    channel.fill().unwrap();
    assert!(matches!(channel.next(), Err(ChannelError::Malformed(_))));

    let (mut client, mut server) = sealed();
    client.queue(FrameKind::Message, b"go");
    client.outgoing[HEADER_BYTES] ^= 1;
    client.flush().unwrap();
    server.fill().unwrap();
    assert!(matches!(server.next(), Err(ChannelError::Forged)));
}

#[test]
fn a_silent_end_is_not_waited_for_for_ever() {
    let clock = Clock::monotonic();
    let (mut channel, _raw) = with_raw();
    let error = channel.receive(Patience::of(&clock, 20_000_000)).unwrap_err();
    assert!(matches!(error, ChannelError::Silent { seconds: 1 }), "{error}");
}

#[test]
fn what_was_sent_before_the_end_is_still_taken() {
    let (mut channel, mut raw) = with_raw();
    raw.write_all(&[2, 0, 0, 0, FrameKind::Message as u8, b'o', b'k']).unwrap();
    drop(raw);
    channel.fill().unwrap();
    assert_eq!(channel.next().unwrap().unwrap().payload, b"ok");
    assert!(channel.is_closed());
    // Nor is a broken connection written to for ever.
    channel.queue(FrameKind::Message, b"gone");
    assert!(channel.flush().is_err());
}

#[test]
fn bytes_that_are_no_frame_pass_as_they_are() {
    let (mut channel, mut raw) = with_raw();
    channel.queue_raw(b"mark");
    channel.flush().unwrap();
    let mut come = [0; 4];
    raw.read_exact(&mut come).unwrap();
    assert_eq!(&come, b"mark");
}

proptest! {
    /// Whatever comes, in whatever pieces: frames that are frames are read, nothing panics, and
    /// memory is bounded.
    #[test]
    fn hostile_bytes_do_no_harm(pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..20)) {
        let (mut channel, mut raw) = with_raw();
        for piece in &pieces {
            raw.write_all(piece).unwrap();
            channel.fill().unwrap();
            loop {
                match channel.next() {
                    Ok(Some(frame)) => prop_assert!(frame.payload.len() <= GREETING_BYTES),
                    Ok(None) => break,
                    Err(_) => return Ok(()),
                }
            }
        }
    }

    /// Frames that are well-formed pass through any cut of the stream.
    #[test]
    fn frames_do_not_depend_on_how_they_are_cut(
        payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..300), 1..10),
        cut in 1..50usize,
    ) {
        let (mut writer, mut channel) = (with_raw().0, with_raw());
        payloads.iter().for_each(|payload| writer.queue(FrameKind::Piece, payload));
        let mut arrived = Vec::new();
        for piece in writer.outgoing.chunks(cut) {
            channel.1.write_all(piece).unwrap();
            channel.0.fill().unwrap();
            while let Some(frame) = channel.0.next().unwrap() {
                arrived.push(frame.payload);
            }
        }
        prop_assert_eq!(arrived, payloads);
    }
}
