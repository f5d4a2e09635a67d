//! The conformance suite on a store of objects in memory, and what lanes do when servers refuse,
//! close, lie or fall silent.

mod store;

use std::sync::Arc;

use iolab_engine::conformance::{ConformanceSetup, Value};
use iolab_engine::{Completions, Engine, Lane, LaneRequest, Op, OpKind, SlotPool, Submission, TargetFile, Wait};
use iolab_memory::Backing;
use iolab_options::{Setting, Settings};

use crate::{Http, HttpLane};
use store::{Conduct, Store};

fn setup(options: &[(&str, &str)]) -> ConformanceSetup {
    let store = Store::start(Conduct::default());
    let mut setup = ConformanceSetup::default()
        .option("http_host", Value::Text(store.authority()))
        .probe(OpKind::Write)
        .depths(&[1, 4]);
    for (name, text) in options {
        let value =
            if name.ends_with("mode") { Value::Choice((*text).into()) } else { Value::Text((*text).to_owned()) };
        setup = setup.option(name, value);
    }
    ConformanceSetup { keeps: Some(Arc::new(store)), ..setup }
}

iolab_engine::conformance_suite!(webdav, Http, super::setup(&[]));
iolab_engine::conformance_suite!(
    s3,
    Http,
    super::setup(&[("http_mode", "s3"), ("http_s3_keyid", "lab"), ("http_s3_key", "secret")])
);

struct Rig {
    lane: HttpLane,
    pool: SlotPool,
}

impl Rig {
    fn open(host: &str, options: &[(&str, Value)]) -> Result<Rig, String> {
        let pool = SlotPool::new(1, 1 << 20, 0, &Backing::Anonymous).map_err(|error| error.message)?;
        let mut settings = Settings::default();
        let host = ("http_host", Value::Text(host.to_owned()));
        for (name, value) in options.iter().chain([&host]) {
            settings.set(name, Setting { value: value.clone(), text: String::new(), source: 0, span: (0, 0) });
        }
        let files = ["/bucket/ä", "/bucket/b"].map(|path| TargetFile {
            path: path.into(),
            fd: -1,
            size_bytes: 0,
            is_block_device: false,
        });
        let request = LaneRequest {
            files: &files,
            depth: 1,
            buffers: pool.view(),
            options: &settings,
            direct: false,
            seed: 1,
            worker: 0,
        };
        Ok(Rig { lane: Http::open(&request).map_err(|error| error.message)?, pool })
    }

    fn one(&mut self, kind: OpKind, offset: u64, length: u32) -> i32 {
        let op = Op { offset, length, buffer_offset: 0, file: 0, slot: 0, kind, priority: 0 };
        assert_eq!(self.lane.submit(&op), Submission::Accepted);
        let mut out = Completions::with_room(1);
        assert_eq!(self.lane.reap(Wait::POLL, &mut out), Ok(1));
        out.as_slice()[0].result
    }

    fn fill(&mut self, byte: u8) {
        self.pool.slot_mut(0).fill(byte);
    }

    fn has(&mut self, bytes: usize, byte: u8) -> bool {
        self.pool.slot_mut(0)[..bytes].iter().all(|found| *found == byte)
    }
}

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

fn s3() -> Vec<(&'static str, Value)> {
    vec![
        ("http_mode", Value::Choice("s3".into())),
        ("http_s3_keyid", text("lab")),
        ("http_s3_key", text("secret")),
        ("http_s3_security_token", text("token")),
        ("http_s3_storage_class", text("STANDARD_IA")),
    ]
}

/// Responses in every form, on connections that the server closes now and then.
#[test]
fn blocks_are_objects_in_every_form_of_a_response() {
    let swift = vec![("http_mode", Value::Choice("swift".into())), ("http_swift_auth_token", text("t"))];
    let basic = vec![("http_user", text("me")), ("http_pass", text("pass:word"))];
    for options in [Vec::new(), s3(), swift, basic] {
        for form in 0..4 {
            let store = Store::start(Conduct { form, closes_after: 3, ..Conduct::default() });
            let mut rig = Rig::open(&store.authority(), &options).unwrap();
            for (number, bytes) in [(0u64, 1u32), (1, 4096), (2, 1 << 20), (3, 300_000)] {
                rig.fill(number as u8 + 1);
                assert_eq!(rig.one(OpKind::Write, number << 20, bytes), bytes as i32, "{:?}", rig.lane.notes());
                rig.fill(0);
                assert_eq!(rig.one(OpKind::Read, number << 20, bytes), bytes as i32, "{:?}", rig.lane.notes());
                assert!(rig.has(bytes as usize, number as u8 + 1));
            }
            assert_eq!(store.names()[0], "/bucket/%C3%A4_0_1");
            assert_eq!(rig.one(OpKind::Trim, 0, 1), 0);
            assert_eq!(rig.one(OpKind::Trim, 0, 1), 0, "it is not there any more");
            assert_eq!(rig.one(OpKind::Read, 0, 1), -libc::ENOENT);
            assert_eq!(rig.one(OpKind::Read, 0, 1), -libc::ENOENT);
            assert_eq!(rig.one(OpKind::Sync, 0, 0), 0);
            assert_eq!(rig.lane.notes().len(), 1, "one note for each kind of trouble: {:?}", rig.lane.notes());
            assert!(rig.lane.notes()[0].contains("status 404"), "{:?}", rig.lane.notes());
            assert_eq!(store.names().len(), 3);
        }
    }
}

#[test]
fn ranges_of_an_object_are_read_and_others_objects_are_not_replaced() {
    let ranges = ("http_object_mode", Value::Choice("range".into()));
    let store = Store::start(Conduct::default());
    let content: Vec<u8> = (0..10_000u32).map(|at| (at / 100) as u8).collect();
    store.put("/bucket/%C3%A4", &content);
    let mut options = s3();
    options.push(ranges);
    let mut rig = Rig::open(&store.authority(), &options).unwrap();
    assert_eq!(rig.one(OpKind::Read, 300, 100), 100);
    assert!(rig.has(100, 3));
    assert_eq!(rig.one(OpKind::Read, 9_950, 100), -libc::EIO, "it ends before");
    assert_eq!(rig.one(OpKind::Read, 10_000, 100), -libc::EINVAL, "beyond its end");
    assert_eq!(rig.one(OpKind::Write, 0, 100), -libc::EPERM);
    assert!(rig.lane.notes().iter().any(|note| note.contains("not iolab's")), "{:?}", rig.lane.notes());
    assert_eq!(rig.one(OpKind::Trim, 0, 100), 0);
    for _ in 0..2 {
        assert_eq!(rig.one(OpKind::Write, 0, 100), 100, "nothing is there");
        // The next lane recognises the mark.
        rig = Rig::open(&store.authority(), &options).unwrap();
    }
    assert_eq!(rig.one(OpKind::Write, 0, 200), 200);
    assert_eq!(store.names(), ["/bucket/%C3%A4"]);
}

#[test]
fn a_wrong_key_is_refused_and_told() {
    let store = Store::start(Conduct::default());
    let mut options = s3();
    options[2].1 = text("wrong");
    let mut rig = Rig::open(&store.authority(), &options).unwrap();
    assert_eq!(rig.one(OpKind::Write, 0, 512), -libc::EACCES);
    assert!(rig.lane.notes()[0].contains("status 403: SignatureDoesNotMatch"), "{:?}", rig.lane.notes());
    assert_eq!(store.names(), [""; 0]);
}

#[test]
fn silence_nonsense_and_death_are_errors_and_the_next_request_connects_again() {
    let timeout = ("http_timeout", Value::Time(60_000_000));
    let table = [
        (Conduct { silent: true, ..Conduct::default() }, libc::ETIMEDOUT, "silent"),
        (Conduct { says: Some("SSH-2.0-x\r\n\r\n"), ..Conduct::default() }, libc::EPROTO, "no HTTP"),
        (
            Conduct { says: Some("HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\nxx"), ..Conduct::default() },
            libc::ECONNRESET,
            "closed",
        ),
        (
            Conduct { says: Some("HTTP/1.1 507 full\r\nContent-Length: 2\r\n\r\nno"), ..Conduct::default() },
            libc::ENOSPC,
            "507: no",
        ),
        (
            Conduct { says: Some("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno"), ..Conduct::default() },
            libc::EIO,
            "2 bytes came",
        ),
        (Conduct { says: Some(""), ..Conduct::default() }, libc::ECONNRESET, "closed"),
    ];
    for (conduct, errno, said) in table {
        let store = Store::start(conduct);
        let mut rig = Rig::open(&store.authority(), std::slice::from_ref(&timeout)).unwrap();
        for _ in 0..2 {
            assert_eq!(rig.one(OpKind::Read, 0, 4096), -errno, "{said}: {:?}", rig.lane.notes());
        }
        assert!(rig.lane.notes().len() == 1 && rig.lane.notes()[0].contains(said), "{said}: {:?}", rig.lane.notes());
        assert!(store.connections() >= 2 || errno == libc::EIO || errno == libc::ENOSPC, "{said}");
    }
}

#[test]
fn mistakes_in_options_are_told_before_anything_is_sent() {
    let choice = |name, word: &str| (name, Value::Choice(word.into()));
    let open = |options: &[(&str, Value)]| Rig::open("localhost:1", options).err().unwrap_or_default();
    let authorities = ("https_ca", Value::Text("/nowhere/ca.pem".to_owned()));
    assert!(open(&[choice("https", "on"), authorities.clone()]).contains("/nowhere/ca.pem: No such file"));
    assert!(open(&[choice("https", "insecure"), authorities]).contains("use https=on"));
    assert!(open(&[choice("http_mode", "s3")]).contains("http_s3_keyid"));
    assert!(open(&[choice("http_mode", "swift")]).contains("http_swift_auth_token"));
    assert!(open(&[("http_user", text("a\r\nb: c"))]).contains("control character"));
    assert!(open(&[]).contains("http_host=localhost:1: connecting"));
    assert!(Rig::open("a b", &[]).err().unwrap_or_default().contains("write HOST:PORT"));
}
