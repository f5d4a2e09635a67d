//! The server of NBD, spoken to by a client that checks every byte, and by clients that are
//! hostile.

mod client;

use std::io::{Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use client::Client;
use iolab_clock::Clock;
use iolab_export::nbd::{MOST_CLIENTS, NbdPlace, NbdServer, NbdServerOptions, SharedOpenLane};
use iolab_export::{LaneLimits, PoolShape, RamLane, Size};
use iolab_memory::{Backing, SharedBytes, SlotPool};
use iolab_nbd::{NbdCommand, NbdFlags, NbdRequest, choose_export, command_flags};
use iolab_random::SplitMix64;
use iolab_sockets::StreamSocket;

const DISK_BYTES: u64 = 4 << 20;
const BLOCK: u32 = 512;

struct Served {
    server: NbdServer,
    disk: SharedBytes,
}

fn serve_at(place: &NbdPlace, looks: u32) -> std::io::Result<Served> {
    let disk = SharedBytes::anonymous(DISK_BYTES as usize)?;
    let size = Size::new(DISK_BYTES, BLOCK).unwrap();
    let memory = disk.clone();
    let open: SharedOpenLane<RamLane> = Arc::new(move |shape: PoolShape| {
        let pool = SlotPool::new(shape.slots, shape.slot_bytes, 0, &Backing::Anonymous);
        let pool = pool.map_err(|error| error.message)?;
        Ok((RamLane::on(&memory, size, pool.view()).shown_after(looks), pool))
    });
    let limits = LaneLimits { transfer_bytes: 64 << 10, trim_zeroes: true };
    let options = NbdServerOptions { name: "disk".to_owned(), size, limits, clock: Clock::monotonic(), tls: None };
    Ok(Served { server: NbdServer::start(place, open, &options)?, disk })
}

fn serve() -> Served {
    serve_at(&NbdPlace::Tcp("127.0.0.1:0".parse().unwrap()), 3).unwrap()
}

impl Served {
    fn address(&self) -> SocketAddr {
        match self.server.place() {
            NbdPlace::Tcp(address) => *address,
            NbdPlace::Unix(path) => panic!("{} is no address", path.display()),
        }
    }

    fn socket(&self) -> StreamSocket {
        let address = self.address();
        let socket = StreamSocket::to_host(&address.ip().to_string(), address.port(), Duration::from_secs(60)).unwrap();
        socket.set_timeouts(Duration::from_secs(60)).unwrap();
        socket
    }

    fn client(&self, structured: bool) -> Client {
        Client::connect(self.socket(), structured)
    }
}

#[test]
fn every_kind_of_request_of_any_alignment_does_what_it_says() {
    for structured in [true, false] {
        let served = serve();
        let mut client = served.client(structured);
        let mut model = vec![0; DISK_BYTES as usize];
        let mut random = SplitMix64::new(0x5eed);
        for round in 0..400u32 {
            let length = match random.below(4) {
                0 => 1 + random.below(100),
                1 => 1 + random.below(8192),
                2 => (1 + random.below(16)) * 4096,
                _ => 1 + random.below(1 << 20),
            };
            let offset = random.below(DISK_BYTES - length);
            let range = offset as usize..(offset + length) as usize;
            let flags = if random.below(3) == 0 { command_flags::FUA } else { 0 };
            match random.below(5) {
                0 | 1 => {
                    let data: Vec<u8> = (0..length as u32).map(|at| (at ^ round ^ (at >> 8)) as u8).collect();
                    assert_eq!(client.write(offset, &data, flags), Ok(()));
                    model[range].copy_from_slice(&data);
                }
                2 => {
                    assert_eq!(client.change(NbdCommand::WriteZeroes, offset, length as u32, flags), Ok(()));
                    model[range].fill(0);
                }
                3 => {
                    // Whole blocks are trimmed, and read as zeroes here; the rest stays.
                    assert_eq!(client.change(NbdCommand::Trim, offset, length as u32, flags), Ok(()));
                    let block = BLOCK as usize;
                    let (start, end) = (range.start.next_multiple_of(block), range.end / block * block);
                    if start < end {
                        model[start..end].fill(0);
                    }
                }
                _ => assert!(client.read(offset, length as u32).unwrap() == model[range], "round {round}"),
            }
        }
        assert_eq!(client.change(NbdCommand::Flush, 0, 0, 0), Ok(()));
        assert!(client.read(0, 1 << 20).unwrap() == model[..1 << 20]);
        let mut disk = vec![0; DISK_BYTES as usize];
        served.disk.read(0, &mut disk);
        assert!(disk == model, "what is on the disk");
        client.leave();
        let (clients, counts) = served.server.end();
        assert_eq!((clients, counts.failures), (1, 0));
        assert!(counts.flushes > 1, "FUA flushes: {counts}");
    }
}

#[test]
fn many_requests_are_in_flight_and_each_has_one_answer() {
    let served = serve();
    for structured in [true, false] {
        let mut client = served.client(structured);
        for block in 0..1024u64 {
            client.write(block * 4096, &[block as u8; 4096], 0).unwrap();
        }
        // More than there are slots: the server takes the rest when it has answered.
        for round in 0..4u64 {
            let blocks: Vec<u64> = (0..300).map(|number| (number * 37 + round) % 1024).collect();
            let answers = client.read_all(&blocks.iter().map(|block| (block * 4096, 4096)).collect::<Vec<_>>());
            for (block, answer) in blocks.iter().zip(answers) {
                assert!(answer.unwrap().iter().all(|byte| *byte == *block as u8), "block {block}");
            }
        }
        client.leave();
    }
}

#[test]
fn what_cannot_be_done_is_an_errno_and_the_next_request_is_served() {
    let served = serve();
    for structured in [true, false] {
        let mut client = served.client(structured);
        let change =
            |client: &mut Client, command, offset, length, flags| client.change(command, offset, length, flags);
        let cases = [
            (NbdCommand::Read, DISK_BYTES, 1, 0, libc::EINVAL),
            (NbdCommand::Read, u64::MAX, 2, 0, libc::EINVAL),
            (NbdCommand::Read, 0, 0, 0, libc::EINVAL),
            (NbdCommand::Read, 0, (1 << 20) + 1, 0, libc::EINVAL),
            (NbdCommand::Read, 0, u32::MAX, 0, libc::EINVAL),
            (NbdCommand::Read, 0, 1, 1 << 9, libc::EINVAL),
            (NbdCommand::Trim, DISK_BYTES - 1, 2, 0, libc::ENOSPC),
            (NbdCommand::WriteZeroes, 0, u32::MAX, 0, libc::ENOSPC),
            (NbdCommand::WriteZeroes, 0, 1, command_flags::DONT_FRAGMENT, libc::EINVAL),
            (NbdCommand::Flush, 1, 0, 0, libc::EINVAL),
            (NbdCommand::Other(7), 0, 1, 0, libc::EINVAL),
            (NbdCommand::Other(u16::MAX), 0, 1, 0, libc::EINVAL),
        ];
        for (command, offset, length, flags, errno) in cases {
            assert_eq!(
                change(&mut client, command, offset, length, flags),
                Err(errno),
                "{command:?} {offset} {length}"
            );
            assert_eq!(client.read(0, 16), Ok(vec![0; 16]));
        }
        client.leave();
    }
}

#[test]
fn two_clients_change_parts_of_the_same_blocks_and_lose_nothing() {
    let served = serve();
    let parts = 64u64;
    std::thread::scope(|scope| {
        for half in 0..2u64 {
            let served = &served;
            scope.spawn(move || {
                let mut client = served.client(half == 0);
                for round in 0..20u8 {
                    for part in 0..parts {
                        client.write(part * 512 + half * 256, &[round + 1 + half as u8; 256], 0).unwrap();
                    }
                }
                client.leave();
            });
        }
    });
    let mut disk = vec![0; parts as usize * 512];
    served.disk.read(0, &mut disk);
    for (number, half) in disk.chunks(256).enumerate() {
        assert!(half.iter().all(|byte| *byte == 20 + number as u8 % 2), "{number}: {half:?}");
    }
}

#[test]
fn hostile_clients_end_alone() {
    let served = serve();
    let mut random = SplitMix64::new(7);
    let good = served.client(true);
    for round in 0..60u32 {
        let mut socket = served.socket();
        if round % 3 > 0 {
            choose_export(&mut socket, "disk").unwrap();
        }
        let mut bytes: Vec<u8> = (0..random.below(3000)).map(|_| random.next() as u8).collect();
        if round % 3 == 2 {
            // Right up to one field, or to a write whose data never comes.
            let length = if random.below(2) == 0 { random.next() as u32 } else { 4096 };
            let command = NbdCommand::Other(random.below(8) as u16);
            let offset = random.below(DISK_BYTES);
            let request = NbdRequest { command, flags: 0, cookie: 1, offset, length };
            bytes = [&request.encode()[..], &bytes[..bytes.len() / 2]].concat();
        }
        // It may end the connection while this is sent.
        let _ = socket.write_all(&bytes);
        if round % 2 == 0 {
            socket.end();
        } else {
            socket.set_timeouts(Duration::from_millis(20)).unwrap();
            let _ = socket.read(&mut [0; 4096]);
        }
    }
    // A write longer than was told ends the connection: its data cannot be told from requests.
    let mut socket = served.socket();
    choose_export(&mut socket, "").unwrap();
    let request = NbdRequest { command: NbdCommand::Write, flags: 0, cookie: 1, offset: 0, length: u32::MAX };
    socket.write_all(&request.encode()).unwrap();
    assert_eq!(socket.read(&mut [0; 16]).unwrap(), 0);
    let mut good = good;
    assert!(good.read(0, 4096).is_ok(), "the others are served");
    good.leave();
    drop(served);
}

#[test]
fn clients_beyond_the_most_are_turned_away_until_others_leave() {
    let served = serve();
    let mut clients: Vec<Client> = (0..MOST_CLIENTS).map(|_| served.client(true)).collect();
    let mut turned_away = served.socket();
    assert!(choose_export(&mut turned_away, "disk").is_err());
    clients.pop().unwrap().leave();
    let mut tries = 0;
    while choose_export(&mut served.socket(), "disk").is_err() {
        tries += 1;
        assert!(tries < 10_000, "the place of the client that left is not given to another");
        std::thread::yield_now();
    }
    assert!(clients[0].read(0, 512).is_ok());
    // The end of the server is the end of all.
    drop(served);
    assert!(clients[0].read(0, 512).is_err());
}

#[test]
fn a_socket_of_this_machine_is_made_replaced_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let place = NbdPlace::Unix(path.clone());
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let served = serve_at(&place, 0).unwrap();
    let again = serve_at(&place, 0).map(|_| ()).unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AddrInUse);
    let mut client = Client::connect(StreamSocket::to_path(&path, Duration::from_secs(60)).unwrap(), true);
    assert!(client.export.flags.has(NbdFlags::MULTI_CONNECTION | NbdFlags::FUA));
    assert_eq!((client.export.size_bytes, client.export.sizes.maximum), (DISK_BYTES, 1 << 20));
    assert!(client.read(0, 512).is_ok());
    drop(served);
    assert!(!path.exists());
    std::fs::write(&path, "a file").unwrap();
    assert!(serve_at(&place, 0).map(|_| ()).unwrap_err().to_string().contains("not a socket"));
}
