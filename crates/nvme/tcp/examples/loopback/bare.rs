//! The upper limit: two threads exchange messages of the same sizes over a socket, without
//! processing them.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};

use iolab_clock::Clock;

use crate::{Figures, HEADER_BYTES, REQUEST_BYTES, bind, median};

const BUFFER_BYTES: usize = 1 << 20;

/// Reads the available bytes; 0 if there are none, `None` when the other end has closed.
fn look(mut socket: &TcpStream, to: &mut [u8]) -> Option<usize> {
    match socket.read(to) {
        Ok(0) => None,
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Some(0),
        Err(_) => None,
    }
}

/// Sends all bytes.
fn send(mut socket: &TcpStream, mut bytes: &[u8]) -> bool {
    while !bytes.is_empty() {
        match socket.write(bytes) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
            Err(_) => return false,
        }
    }
    true
}

fn answer(socket: &TcpStream, (depth, answer_bytes): (usize, usize)) {
    let mut from = vec![0; BUFFER_BYTES];
    let to = vec![0; depth * answer_bytes];
    let mut partial = 0;
    while let Some(bytes) = look(socket, &mut from) {
        partial += bytes;
        let requests = partial / REQUEST_BYTES;
        partial %= REQUEST_BYTES;
        if !send(socket, &to[..requests * answer_bytes]) {
            return;
        }
    }
}

/// Keeps `depth` requests in flight for the given time.
pub(crate) fn run(clock: &Clock, (depth, bytes): (usize, usize), span_ns: u64) -> Figures {
    let answer_bytes = HEADER_BYTES + bytes;
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let socket = TcpStream::connect(listener.local_addr().expect("its address")).expect("loopback");
    let other = listener.accept().expect("a connection").0;
    for end in [&socket, &other] {
        end.set_nodelay(true).expect("an option of every socket");
        end.set_nonblocking(true).expect("an option of every socket");
    }
    let thread = std::thread::spawn(move || {
        bind(1);
        answer(&other, (depth, answer_bytes));
    });
    bind(0);
    let request = vec![0; depth * REQUEST_BYTES];
    let mut buffer = vec![0; BUFFER_BYTES];
    let mut latencies = Vec::with_capacity(1 << 20);
    let (start_ns, mut reads, mut partial) = (clock.now_ns(), 0, 0);
    let mut sent_ns = start_ns;
    send(&socket, &request);
    let end_ns = loop {
        let Some(bytes) = look(&socket, &mut buffer) else { break clock.now_ns() };
        partial += bytes;
        let answers = partial / answer_bytes;
        partial %= answer_bytes;
        if answers == 0 {
            continue;
        }
        reads += answers as u64;
        let now_ns = clock.now_ns();
        if depth == 1 && latencies.len() < latencies.capacity() {
            latencies.push((now_ns - sent_ns) as u32);
        }
        if now_ns - start_ns > span_ns {
            break now_ns;
        }
        sent_ns = now_ns;
        send(&socket, &request[..answers * REQUEST_BYTES]);
    };
    drop(socket);
    thread.join().expect("the other end");
    Figures { reads, ns: end_ns - start_ns, median_ns: median(&mut latencies) }
}
