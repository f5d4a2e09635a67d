//! Hostile drivers beside a well-behaved one: it is served all the time, and the service ends when
//! requested.
//!
//! `IOLAB_HOSTILE_ROUNDS` sets the number of attacks.

mod enemy;
mod friend;

use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use iolab_clock::Clock;
use iolab_device_link::message::{Message, MessageKind};
use iolab_device_link::{MOST_DRIVERS, MOST_MAPPED_BYTES, MOST_MAPPINGS, ask};
use iolab_device_link::{ServeOptions, Service, serve};
use iolab_virtual_ssd::{Config, Subsystem};

use enemy::{Descriptors, Enemy, Random};
use friend::Friend;

/// Every operation takes less than this, or it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

/// Tests run one at a time, because they count the descriptors of the process.
static ALONE: Mutex<()> = Mutex::new(());

fn served() -> (tempfile::TempDir, PathBuf, Service) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drive.sock");
    let drive: Arc<Subsystem> = Subsystem::new(Config::parse("size=16M").unwrap()).unwrap();
    let service = serve(&path, "drive", &drive, &Clock::best().0, &ServeOptions::default()).unwrap();
    (folder, path, service)
}

/// Ends the service, or fails the test if that hangs.
fn end(service: Service) {
    let (told, ended) = channel();
    std::thread::spawn(move || {
        drop(service);
        told.send(()).unwrap();
    });
    ended.recv_timeout(PATIENCE).expect("the service does not end");
}

fn open_descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn resident_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn attack(path: &Path, random: &mut Random, descriptors: &Descriptors) -> Option<Enemy> {
    let enemy = Enemy::connect(path);
    match random.below(8) {
        0 | 1 => enemy.babble(random, descriptors),
        2 => {
            enemy.hello();
            enemy.babble(random, descriptors);
        }
        3 => {
            enemy.map_many(1 + random.below(2 * MOST_MAPPINGS as u64));
        }
        // The hostile driver sends requests, and never reads.
        4 => {
            let question = Message { text: "stats json".into(), ..Message::new(MessageKind::Ask) };
            while enemy.send(&question.encode(), &[]) {}
            return Some(enemy);
        }
        // It sends a part of a message, or nothing.
        5 => {
            enemy.send(&Message::new(MessageKind::Hello).encode()[..random.below(32) as usize], &[]);
            return Some(enemy);
        }
        6 => enemy.never_take_interrupts(random.below(3_000) as u32),
        // It writes to registers and doorbells.
        _ => {
            if let Some(registers) = enemy.hello() {
                for _ in 0..500 {
                    let offset = random.below(registers.len() as u64 / 4) as usize * 4;
                    registers.store_u32(offset, random.next() as u32, std::sync::atomic::Ordering::Release);
                }
            }
        }
    }
    None
}

#[test]
fn a_good_driver_is_served_whatever_others_do_and_the_service_ends() {
    let rounds = std::env::var("IOLAB_HOSTILE_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(150_u32);
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (folder, path, service) = served();
    let descriptors = Descriptors::new(folder.path());
    let mut friend = Friend::connect(&path);
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let before = open_descriptors();
    let mut kept = Vec::new();
    for round in 0..rounds {
        kept.extend(attack(&path, &mut random, &descriptors));
        if kept.len() > 20 {
            kept.clear();
        }
        friend.reads_what_it_writes(u64::from(round));
        assert!(ask(&path, "stats").unwrap().contains("read commands"));
    }
    assert!(resident_kib() < 1 << 20, "{} KiB", resident_kib());
    // The last ones never read and never close, but the service ends nevertheless.
    let last = Enemy::connect(&path);
    while last.send(&Message { text: "stats".into(), ..Message::new(MessageKind::Ask) }.encode(), &[]) {}
    friend.reads_what_it_writes(0);
    drop(friend);
    end(service);
    drop((kept, last));
    assert!(open_descriptors() <= before, "{} descriptors, and {before} before", open_descriptors());
}

#[test]
fn each_driver_has_its_share_and_no_more() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (folder, path, service) = served();
    let descriptors = Descriptors::new(folder.path());
    let mut friend = Friend::connect(&path);
    let greedy = Enemy::connect(&path);
    assert_eq!(greedy.map_many(20_000), MOST_MAPPINGS);
    let [unsealed, full] = descriptors.unsealed_and_full();
    let large = Enemy::connect(&path);
    large.hello();
    let memory = iolab_memory::SharedBytes::memfd("iolab-enemy", MOST_MAPPED_BYTES as usize).unwrap();
    let (fd, _) = memory.file().unwrap();
    let map = |address, bytes| Message { address, bytes, ..Message::new(MessageKind::Map) };
    let refused = |request: &Message, fd| {
        let answer = large.ask(request, Some(fd)).unwrap();
        assert_ne!(answer.status, 0, "{request:?}");
        answer.text
    };
    assert_eq!(large.ask(&map(1 << 40, MOST_MAPPED_BYTES), Some(fd)).unwrap().status, 0);
    assert!(refused(&map(1 << 20, 4096), fd).contains("mapped bytes per driver"));
    assert_eq!(large.ask(&Message { address: 1 << 40, ..Message::new(MessageKind::Unmap) }, None).unwrap().status, 0);
    assert!(refused(&map(1 << 20, 4096), unsealed).contains("sealed"));
    assert!(refused(&Message::new(MessageKind::Interrupt), full).contains("datagram"));
    // The number of connections is limited, too.
    let mut crowd: Vec<Enemy> = (0..MOST_DRIVERS).map(|_| Enemy::connect(&path)).collect();
    let late = Enemy::connect(&path);
    let (answer, _) = late.answer().expect("a word of why");
    assert!(answer.status != 0 && answer.text.contains("the maximum"), "{answer:?}");
    friend.reads_what_it_writes(7);
    crowd.clear();
    drop(friend);
    end(service);
}
