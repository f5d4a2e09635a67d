//! Tests that bytes arrive in order through a ring, however it ends.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use iolab_memory::SharedBytes;

use super::*;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

/// `None` if the kernel has no io_uring for this process.
fn ring(zero_copy_above: usize) -> Option<SocketRing> {
    SocketRing::new(&RingOptions { entries: 8, buffers: 4, buffer_bytes: 64, zero_copy_above }).ok()
}

/// The next event, if there is one within some time.
fn next(ring: &mut SocketRing) -> Option<SocketEvent> {
    for _ in 0..500 {
        if let Some(event) = ring.next_event() {
            return Some(event);
        }
        ring.round(Duration::from_millis(10)).unwrap();
    }
    None
}

#[test]
fn bytes_come_in_order_until_the_end_with_few_buffers() {
    let Some(mut ring) = ring(usize::MAX) else { return };
    let (near, mut far) = pair();
    ring.receive(&near, 7).unwrap();
    let sent: Vec<u8> = (0..5000).map(|at| (at * 7 % 251) as u8).collect();
    far.write_all(&sent).unwrap();
    drop(far);
    let mut came = Vec::new();
    loop {
        match next(&mut ring).unwrap() {
            SocketEvent::Received { token: 7, buffer, bytes } => {
                came.extend_from_slice(&buffer.bytes()[..bytes]);
                ring.give_back(buffer);
                assert_eq!(ring.next_stopped(), None);
            }
            SocketEvent::Stopped { token: 7, is_over: false } => ring.receive(&near, 7).unwrap(),
            SocketEvent::Stopped { token: 7, is_over: true } => break,
            other => panic!("{other:?}"),
        }
    }
    assert!(came == sent);
}

#[test]
fn a_ring_ends_what_it_has_not_submitted_yet() {
    let Some(mut ring) = ring(usize::MAX) else { return };
    let (near, far) = pair();
    ring.receive(&near, 1).unwrap();
    ring.round(Duration::ZERO).unwrap();
    ring.watch(&far, 2).unwrap();
    assert!(ring.end_all(), "{ring:?}");
}

#[test]
fn a_receive_can_be_stopped_and_begun_again() {
    let Some(mut ring) = ring(usize::MAX) else { return };
    let (near, mut far) = pair();
    ring.receive(&near, 1).unwrap();
    ring.round(Duration::ZERO).unwrap();
    ring.stop(1).unwrap();
    assert!(matches!(next(&mut ring), Some(SocketEvent::Stopped { token: 1, is_over: false })));
    far.write_all(b"later").unwrap();
    ring.receive(&near, 2).unwrap();
    let Some(SocketEvent::Received { token: 2, buffer, bytes: 5 }) = next(&mut ring) else { panic!("nothing came") };
    assert_eq!(&buffer.bytes()[..5], b"later");
}

#[test]
fn large_parcels_go_whole_with_and_without_the_kernels_copy() {
    for zero_copy_above in [usize::MAX, 1] {
        let Some(mut ring) = ring(zero_copy_above) else { return };
        let (near, mut far) = pair();
        let reader = std::thread::spawn(move || {
            let mut came = Vec::new();
            far.read_to_end(&mut came).unwrap();
            came
        });
        let memory = SharedBytes::anonymous(1 << 20).unwrap();
        memory.fill(0, 1 << 20, 0x5a);
        for _ in 0..4 {
            let mut parcel = Box::new(Parcel::default());
            parcel.bytes.extend_from_slice(b"head");
            parcel.insert(memory.clone());
            parcel.bytes.extend_from_slice(b"tail");
            ring.send(&near, 3, parcel, true).unwrap();
            let Some(SocketEvent::Sent { token: 3, outcome, .. }) = next(&mut ring) else { panic!("not sent") };
            outcome.unwrap();
        }
        drop((near, ring));
        let came = reader.join().unwrap();
        assert_eq!(came.len(), 4 * (8 + (1 << 20)));
        for part in came.chunks(8 + (1 << 20)) {
            assert!(part.starts_with(b"head\x5a") && part.ends_with(b"\x5atail"));
        }
    }
}

#[test]
fn an_error_of_a_send_is_told() {
    let Some(mut ring) = ring(usize::MAX) else { return };
    let (near, far) = pair();
    near.shutdown(std::net::Shutdown::Write).unwrap();
    let mut parcel = Box::new(Parcel::default());
    parcel.bytes.extend_from_slice(b"nobody");
    ring.send(&near, 3, parcel, false).unwrap();
    let Some(SocketEvent::Sent { outcome: Err(error), .. }) = next(&mut ring) else { panic!("it was sent") };
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    drop(far);
}

#[test]
fn a_ring_is_dropped_in_the_middle_of_everything() {
    let Some(mut ring) = ring(1) else { return };
    let (near, far) = pair();
    ring.receive(&near, 1).unwrap();
    let memory = SharedBytes::anonymous(8 << 20).unwrap();
    let mut parcel = Box::new(Parcel::default());
    // The parcel is larger than a socket accepts, so the send cannot end before its peer reads.
    parcel.insert(memory);
    ring.send(&near, 1, parcel, true).unwrap();
    ring.round(Duration::ZERO).unwrap();
    let begun = format!("{ring:?}");
    assert_eq!(begun, "SocketRing(1 outstanding, 1 parcels)");
    near.shutdown(std::net::Shutdown::Both).unwrap();
    drop((far, near, ring));
}
