//! A hostile driver: it writes to the socket directly, and follows no rules.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;

use iolab_device_link::MOST_MAPPINGS;
use iolab_device_link::message::{Message, MessageKind, VERSION};
use iolab_memory::{MappingAccess, SharedBytes};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fs::{CWD, MemfdFlags, Mode, OFlags, ftruncate, memfd_create, openat};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recvmsg, sendmsg, socket_with, socketpair,
};

/// How long to wait for an answer before the server counts as hung.
const PATIENCE: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };

/// xorshift64*: the same sequence on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 32) % limit
    }
}

/// A connection.
pub(crate) struct Enemy {
    socket: OwnedFd,
}

impl Enemy {
    pub(crate) fn connect(path: &Path) -> Enemy {
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
        connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        Enemy { socket }
    }

    /// Sends bytes and descriptors; returns whether the server still accepts any.
    pub(crate) fn send(&self, packet: &[u8], with: &[BorrowedFd<'_>]) -> bool {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !with.is_empty() {
            control.push(SendAncillaryMessage::ScmRights(with));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        sendmsg(&self.socket, &[std::io::IoSlice::new(packet)], &mut control, flags).is_ok()
    }

    /// The next answer; `None` if the server has closed.
    pub(crate) fn answer(&self) -> Option<(Message, Option<OwnedFd>)> {
        let ready = poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&PATIENCE)).unwrap();
        assert!(ready > 0, "the server does not answer");
        let mut packet = vec![0; 128 << 10];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [std::io::IoSliceMut::new(&mut packet)];
        let received = recvmsg(&self.socket, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC).ok()?;
        let descriptor = control.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut sent) => sent.next(),
            _ => None,
        });
        let bytes = received.bytes;
        (bytes > 0).then(|| (Message::decode(&packet[..bytes]).expect("a message of the protocol"), descriptor))
    }

    /// A request and its answer.
    pub(crate) fn ask(&self, request: &Message, with: Option<BorrowedFd<'_>>) -> Option<Message> {
        let with: Vec<BorrowedFd<'_>> = with.into_iter().collect();
        self.send(&request.encode(), &with).then(|| self.answer().map(|(answer, _)| answer)).flatten()
    }

    /// Becomes a driver; returns the registers.
    pub(crate) fn hello(&self) -> Option<SharedBytes> {
        let request = Message { address: VERSION, ..Message::new(MessageKind::Hello) };
        assert!(self.send(&request.encode(), &[]));
        let (welcome, bar) = self.answer()?;
        let bar = bar?;
        assert!(ftruncate(&bar, 0).is_err(), "the registers are sealed");
        Some(SharedBytes::of_file(bar, 0, welcome.bytes as usize, MappingAccess::ReadWrite).unwrap())
    }

    /// Makes up to `wanted` mappings; returns how many succeeded.
    pub(crate) fn map_many(&self, wanted: u64) -> usize {
        let memory = SharedBytes::memfd("iolab-enemy", 4096).unwrap();
        let (fd, _) = memory.file().unwrap();
        let map = |number: u64| {
            let request = Message { address: (number + 1) << 16, bytes: 4096, ..Message::new(MessageKind::Map) };
            self.ask(&request, Some(fd)).is_some_and(|answer| answer.status == 0)
        };
        let mapped = (0..wanted).filter(|number| map(*number)).count();
        assert!(mapped <= MOST_MAPPINGS, "{mapped} mappings");
        mapped
    }

    /// Enables the controller with interrupts that are never received, and makes it answer commands
    /// forever.
    pub(crate) fn never_take_interrupts(&self, commands: u32) {
        let Some(registers) = self.hello() else { return };
        let (near, far) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).unwrap();
        self.ask(&Message::new(MessageKind::Interrupt), Some(far.as_fd())).expect("an answer");
        let memory = SharedBytes::memfd("iolab-enemy", 4 * 4096).unwrap();
        let map = Message { address: 1 << 20, bytes: 4 * 4096, ..Message::new(MessageKind::Map) };
        self.ask(&map, memory.file().map(|(fd, _)| fd)).expect("an answer");
        let set = |offset: usize, value: u32| registers.store_u32(offset, value, Ordering::Release);
        for (offset, value) in [(0x24, 0x000f_000f), (0x28, 1 << 20), (0x2c, 0), (0x30, (1 << 20) + 4096), (0x34, 0)] {
            set(offset, value);
        }
        set(0x14, 0x0046_0001);
        for command in 0..commands {
            // Sends Identify as fast as possible; the answers are ignored.
            let place = (command % 16) as usize * 64;
            let identify = [6 | u64::from(command) << 16, 0, 0, (1 << 20) + 8192, 0, 1, 0, 0];
            memory.store_words(place, identify, Ordering::Release);
            set(0x1000, (command + 1) % 16);
            set(0x1004, (command + 1) % 16);
        }
        drop(near);
    }

    /// Sends random numbers and text in the fields, with any available descriptor.
    pub(crate) fn babble(&self, random: &mut Random, descriptors: &Descriptors) {
        for _ in 0..random.below(30) {
            let mut packet: Vec<u8> = (0..random.below(80)).map(|_| random.next() as u8).collect();
            if packet.len() >= 4 && random.below(8) > 0 {
                packet[..4].copy_from_slice(&(1 + random.below(6) as u32).to_le_bytes());
            }
            if packet.len() >= 32 && random.below(2) > 0 {
                packet[8..16].copy_from_slice(&(random.below(4) * 4096).to_le_bytes());
                packet[16..24].copy_from_slice(&(random.below(4) * 4096).to_le_bytes());
                packet[24..32].copy_from_slice(&(random.below(3) * 4096).to_le_bytes());
            }
            let with: Vec<_> = (0..random.below(4)).map(|_| descriptors.any(random)).collect();
            if !self.send(&packet, &with) {
                return;
            }
        }
    }
}

/// Descriptors of many kinds, most of which must be refused.
pub(crate) struct Descriptors(Vec<OwnedFd>);

impl Descriptors {
    pub(crate) fn new(folder: &Path) -> Descriptors {
        let sealed = SharedBytes::memfd("iolab-enemy", 8192).unwrap();
        let sealed = sealed.file().unwrap().0.try_clone_to_owned().unwrap();
        let unsealed = memfd_create("iolab-enemy", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&unsealed, 8192).unwrap();
        let full = eventfd(0, EventfdFlags::CLOEXEC).unwrap();
        rustix::io::write(&full, &(u64::MAX - 1).to_ne_bytes()).unwrap();
        let (reader, writer) = rustix::pipe::pipe().unwrap();
        let (datagrams, _) = socketpair(AddressFamily::UNIX, SocketType::DGRAM, SocketFlags::CLOEXEC, None).unwrap();
        let (stream, _) = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None).unwrap();
        let open = |path: &Path| openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).unwrap();
        let others = [open(Path::new("/dev/zero")), open(folder)];
        let all = [sealed, unsealed, full, reader, writer, datagrams, stream];
        Descriptors(all.into_iter().chain(others).collect())
    }

    fn any(&self, random: &mut Random) -> BorrowedFd<'_> {
        self.0[random.below(self.0.len() as u64) as usize].as_fd()
    }

    /// A file that its sender can truncate, and a full counter that blocks every writer.
    pub(crate) fn unsealed_and_full(&self) -> [BorrowedFd<'_>; 2] {
        [self.0[1].as_fd(), self.0[2].as_fd()]
    }
}
