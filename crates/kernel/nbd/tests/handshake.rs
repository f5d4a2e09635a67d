//! Both ends of the handshake against each other, against scripted peers, and against any bytes.

use std::io::{self, Cursor, Read, Write};
use std::os::unix::net::UnixStream;
use std::thread;

use iolab_nbd::{
    NbdAgreement, NbdExport, NbdFlags, NbdHandshakeError, NbdOffer, NbdSizes, ask_for_tls, choose_export,
    choose_secured, welcome, welcome_secured, welcome_to_tls,
};
use proptest::prelude::*;

fn offer() -> NbdOffer {
    NbdOffer {
        name: "lab".to_owned(),
        size_bytes: 3 << 30,
        flags: NbdFlags(NbdFlags::HAS_FLAGS | NbdFlags::FLUSH | NbdFlags::TRIM),
        sizes: NbdSizes { minimum: 512, preferred: 4096, maximum: 1 << 20 },
    }
}

type Both = (Result<NbdExport, NbdHandshakeError>, Result<Option<NbdAgreement>, NbdHandshakeError>);

fn both(name: &str) -> Both {
    let (mut near, mut far) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || welcome(&mut far, &offer()));
    let client = choose_export(&mut near, name);
    drop(near);
    (client, server.join().unwrap())
}

/// A stream that has said everything already, and remembers what it is told.
struct Script {
    says: Cursor<Vec<u8>>,
    heard: Vec<u8>,
}

impl Script {
    fn new(says: Vec<u8>) -> Script {
        Script { says: Cursor::new(says), heard: Vec::new() }
    }
}

impl Read for Script {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.says.read(to)
    }
}

impl Write for Script {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        self.heard.extend_from_slice(from);
        Ok(from.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;

fn greeting(flags: u16) -> Vec<u8> {
    [&0x4e42_444d_4147_4943u64.to_be_bytes()[..], &OPTION_MAGIC.to_be_bytes(), &flags.to_be_bytes()].concat()
}

fn answer(option: u32, kind: u32, data: &[u8]) -> Vec<u8> {
    let magic = 0x0003_e889_0455_65a9u64.to_be_bytes();
    let length = (data.len() as u32).to_be_bytes();
    [&magic[..], &option.to_be_bytes(), &kind.to_be_bytes(), &length, data].concat()
}

fn option(number: u32, data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u32).to_be_bytes();
    [&OPTION_MAGIC.to_be_bytes()[..], &number.to_be_bytes(), &length, data].concat()
}

const REFUSED: u32 = 1 << 31;

#[test]
fn both_ends_agree() {
    for name in ["lab", ""] {
        let (client, server) = both(name);
        let NbdOffer { size_bytes, flags, sizes, .. } = offer();
        assert_eq!(client.unwrap(), NbdExport { size_bytes, flags, sizes, is_structured: true });
        assert_eq!(server.unwrap(), Some(NbdAgreement { is_structured: true }));
    }
}

#[test]
fn an_unknown_name_is_told_with_those_that_are_there() {
    let said = both("other").0.unwrap_err().to_string();
    assert!(said.contains("no export `other`; it has `lab`"), "{said}");
    let said = both(&"x".repeat(5000)).0.unwrap_err().to_string();
    assert!(said.contains("at most 4096 bytes"), "{said}");
}

#[test]
fn a_server_without_newer_options_is_asked_the_old_way() {
    let chosen = [&(7u64 << 20).to_be_bytes()[..], &5u16.to_be_bytes()].concat();
    let zeroes = vec![0; 124];
    let fixed =
        [greeting(1), answer(8, REFUSED + 1, &[]), answer(7, REFUSED + 1, b"what?"), chosen.clone(), zeroes.clone()];
    let before = [greeting(0), chosen, zeroes];
    for says in [fixed.concat(), before.concat()] {
        let mut script = Script::new(says);
        let export = choose_export(&mut script, "a").unwrap();
        let expected =
            NbdExport { size_bytes: 7 << 20, flags: NbdFlags(5), sizes: NbdSizes::UNSAID, is_structured: false };
        assert_eq!(export, expected);
        assert!(script.heard.ends_with(&option(1, b"a")));
        assert_eq!(script.says.position(), script.says.get_ref().len() as u64, "nothing is left unread");
    }
}

#[test]
fn servers_that_refuse_or_break_the_protocol_are_told_apart() {
    let fixed = || [greeting(3), answer(8, 1, &[])].concat();
    let sizes = |minimum: u32, preferred: u32, maximum: u32| {
        let numbers = [minimum, preferred, maximum].map(u32::to_be_bytes).concat();
        [fixed(), answer(7, 3, &[&3u16.to_be_bytes()[..], &numbers].concat())].concat()
    };
    let table: Vec<(Vec<u8>, &str)> = vec![
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), "another kind of server"),
        ([&b"NBDMAGIC"[..], &0x0000_4202_8186_1253u64.to_be_bytes()].concat(), "oldstyle"),
        (Vec::new(), "closed the connection during the handshake"),
        ([fixed(), answer(7, REFUSED + 5, &[])].concat(), "demands TLS"),
        ([greeting(3), answer(8, REFUSED + 5, &[])].concat(), "demands TLS"),
        ([fixed(), answer(7, REFUSED + 2, b"not today\x1b[0m")].concat(), "refuses export `a`: not today[0m"),
        ([fixed(), answer(7, REFUSED + 7, &[])].concat(), "error 7"),
        ([fixed(), answer(7, 1, &[])].concat(), "without a size"),
        ([fixed(), answer(3, 1, &[])].concat(), "another option"),
        ([fixed(), answer(7, 2, &[])].concat(), "does not fit the option"),
        ([fixed(), answer(7, 3, &[0])].concat(), "does not fit its type"),
        ([fixed(), answer(7, 3, &[0; 11])].concat(), "does not fit its type"),
        (sizes(0, 4096, 1 << 20), "does not fit its type"),
        (sizes(512, 256, 1 << 20), "does not fit its type"),
        (sizes(4096, 4096, 1000), "does not fit its type"),
        (sizes(1 << 20, 1 << 20, 1 << 20), "does not fit its type"),
    ];
    for (says, expected) in table {
        let said = choose_export(&mut Script::new(says), "a").unwrap_err().to_string();
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let mut huge = fixed();
    huge.extend_from_slice(&answer(7, 3, &[])[..16]);
    huge.extend_from_slice(&u32::MAX.to_be_bytes());
    let said = choose_export(&mut Script::new(huge), "a").unwrap_err().to_string();
    assert!(said.contains("more data than the handshake has"), "{said}");
    let endless = [fixed(), answer(7, 3, &[0, 1, b'x']).repeat(2000)].concat();
    let said = choose_export(&mut Script::new(endless), "a").unwrap_err().to_string();
    assert!(said.contains("endless"), "{said}");
}

#[test]
fn clients_get_an_answer_to_each_option() {
    let flags = 3u32.to_be_bytes().to_vec();
    let go = |name: &[u8], wanted: &[u8]| {
        let (length, count) = ((name.len() as u32).to_be_bytes(), ((wanted.len() / 2) as u16).to_be_bytes());
        [&length[..], name, &count, wanted].concat()
    };
    let says = [
        flags.clone(),
        option(3, &[]),
        option(3, b"x"),
        option(5, &[]),
        option(6, &go(b"lab", &[0, 1])),
        option(7, b"\0\0"),
        option(7, &go(b"none", &[])),
        option(7, &go(b"", &[])),
    ];
    let mut script = Script::new(says.concat());
    assert_eq!(welcome(&mut script, &offer()).unwrap(), Some(NbdAgreement { is_structured: false }));
    let mut heard = &script.heard[18..];
    let mut kinds = Vec::new();
    while let Some((header, rest)) = heard.split_first_chunk::<20>() {
        let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        kinds.push((number(8), number(12)));
        heard = &rest[number(16) as usize..];
    }
    let refused = |error: u32| REFUSED + error;
    let of_list = [(3, 2), (3, 1), (3, refused(3))];
    let of_info = [(6, 3), (6, 3), (6, 3), (6, 1)];
    let of_go = [(7, refused(3)), (7, refused(6)), (7, 3), (7, 3), (7, 1)];
    assert_eq!(kinds, [&of_list[..], &[(5, refused(1))], &of_info, &of_go].concat());

    for (says, expected) in [
        (vec![0; 4], "without its magic"),
        (8u32.to_be_bytes().to_vec(), "flags that were not offered"),
        ([flags.clone(), option(5, &[]).repeat(100)].concat(), "endless options"),
    ] {
        let says = [says, vec![0; 16]].concat();
        let said = welcome(&mut Script::new(says), &offer()).unwrap_err().to_string();
        assert!(said.contains(expected), "{expected}: {said}");
    }
    let leaves = [flags.clone(), option(2, &[])].concat();
    assert_eq!(welcome(&mut Script::new(leaves), &offer()).unwrap(), None);
    let unknown = [flags, option(1, b"none")].concat();
    assert_eq!(welcome(&mut Script::new(unknown), &offer()).unwrap(), None);
}

#[test]
fn both_ends_agree_on_tls_before_they_speak_of_exports() {
    let (mut near, mut far) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || {
        let flags = welcome_to_tls(&mut far).unwrap().unwrap();
        welcome_secured(&mut far, &offer(), flags)
    });
    let greeting = ask_for_tls(&mut near).unwrap();
    let export = choose_secured(&mut near, "lab", greeting).unwrap();
    assert_eq!((export.size_bytes, export.is_structured), (offer().size_bytes, true));
    assert_eq!(server.join().unwrap().unwrap(), Some(NbdAgreement { is_structured: true }));

    // One end alone wants it.
    let (mut near, mut far) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || welcome_to_tls(&mut far).map(|flags| flags.is_some()));
    let said = choose_export(&mut near, "lab").unwrap_err().to_string();
    assert!(said.contains("nbds://"), "{said}");
    drop(near);
    assert!(server.join().unwrap().is_err());
    let (mut near, mut far) = UnixStream::pair().unwrap();
    let server = thread::spawn(move || welcome(&mut far, &offer()).map(|agreed| agreed.is_some()));
    let said = ask_for_tls(&mut near).unwrap_err().to_string();
    assert!(said.contains("has no TLS"), "{said}");
    drop(near);
    assert!(server.join().unwrap().is_err());

    let flags = 3u32.to_be_bytes().to_vec();
    for (says, leaves) in [(option(2, &[]), true), (option(1, b"lab"), true), (option(3, &[]).repeat(100), false)] {
        let end = welcome_to_tls(&mut Script::new([flags.clone(), says].concat()));
        assert_eq!(end.map(|flags| flags.is_none()).unwrap_or(false), leaves);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a peer says: an end, no panic, and no more memory than it has sent.
    #[test]
    fn any_peer_ends(bytes in proptest::collection::vec(any::<u8>(), 0..400), starts_well: bool) {
        let mut says = if starts_well { greeting(3) } else { Vec::new() };
        says.extend_from_slice(&bytes);
        let _ = choose_export(&mut Script::new(says), "a");
        let mut says = if starts_well { [vec![0, 0, 0, 3], option(7, &bytes)].concat() } else { Vec::new() };
        says.extend_from_slice(&bytes);
        let _ = welcome(&mut Script::new(says), &offer());
    }

    /// One byte of a right conversation is changed: it succeeds with some export, or fails.
    #[test]
    fn almost_right_servers_end(at in 0usize..86, value: u8) {
        let export = [&0u16.to_be_bytes()[..], &(1u64 << 20).to_be_bytes(), &5u16.to_be_bytes()].concat();
        let mut says = [greeting(3), answer(8, 1, &[]), answer(7, 3, &export), answer(7, 1, &[])].concat();
        prop_assume!(at < says.len());
        says[at] = value;
        if let Ok(export) = choose_export(&mut Script::new(says), "a") {
            prop_assert!(export.size_bytes <= i64::MAX as u64 && export.flags.has(NbdFlags::HAS_FLAGS));
        }
    }
}
