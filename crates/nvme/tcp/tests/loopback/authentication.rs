//! What each side must prove before a queue can be used.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use iolab_clock::Clock;
use iolab_nvme_association::{TargetAddress, discover};
use iolab_nvme_authentication::{DhGroup, HashFunction, HostSecrets, Preferences, Secret};
use iolab_nvme_driver::{CommandOutcome, Connection, DriverError};
use iolab_nvme_fabrics::{Digests, Framing, Pdu, Sender, authentication_receive, authentication_send, property_get};
use iolab_nvme_spec::fabrics::{ConnectAnswer, ConnectStatus};
use iolab_nvme_spec::registers::Register;
use iolab_nvme_spec::{CompletionEntry, Status, SubmissionEntry};
use iolab_nvme_tcp::{SocketLoop, TargetAuthentication, TargetOptions, Tcp, TcpTarget};

use crate::hostile::opening;
use crate::rig::{Rig, address, connect, drive, name, options, serve};

fn secret(fill: u8) -> Secret {
    Secret::new(&[fill; 32], Some(HashFunction::Sha256)).unwrap()
}

fn secrets(host: u8, controller: Option<u8>) -> HostSecrets {
    HostSecrets { host: secret(host), controller: controller.map(secret) }
}

/// A target that has the secrets of `host` and of no other host.
fn of_host(secrets: HostSecrets, group: DhGroup) -> TargetAuthentication {
    let preferences = Preferences { groups: vec![group], ..Preferences::default() };
    TargetAuthentication { of_hosts: BTreeMap::from([(name("host"), secrets)]), of_others: None, preferences }
}

fn serving(authentication: TargetAuthentication, sockets: SocketLoop) -> TcpTarget {
    serve(&drive("size=1M"), TargetOptions { authentication: Some(authentication), sockets, ..options() })
}

fn host(target: &TcpTarget, secrets: Option<HostSecrets>) -> TargetAddress {
    TargetAddress { secrets, ..address(target.address(), Digests::default()) }
}

fn refusal(address: TargetAddress) -> String {
    match connect(address) {
        Err(error @ DriverError::Refused(_)) => error.to_string(),
        other => panic!("{:?}", other.map(drop)),
    }
}

#[test]
fn a_host_that_knows_its_secret_has_all_its_queues() {
    for sockets in [SocketLoop::Auto, SocketLoop::Epoll] {
        for (group, controller) in [(DhGroup::Null, None), (DhGroup::Ffdhe2048, Some(2))] {
            let target = serving(of_host(secrets(1, controller), group), sockets);
            for digests in [0, 3] {
                let mut address = host(&target, Some(secrets(1, controller)));
                address.digests = Digests::of_bits(digests);
                let mut rig = Rig::new(address);
                let data = rig.fill(9);
                assert_eq!(rig.write(3, 40), CommandOutcome::Done);
                let bytes = 40 * rig.namespace.block_bytes() as usize;
                assert_eq!(rig.read(3, 40), (CommandOutcome::Done, data[..bytes].to_vec()));
            }
        }
    }
}

#[test]
fn a_connection_that_is_made_again_authenticates_again() {
    let target = serving(of_host(secrets(1, Some(2)), DhGroup::Null), SocketLoop::Auto);
    let mut tcp = Tcp::connect(host(&target, Some(secrets(1, Some(2)))), &Clock::monotonic()).unwrap();
    assert!(tcp.capabilities().is_ok());
    tcp.reset().unwrap();
    assert!(tcp.capabilities().is_ok());
}

#[test]
fn whoever_cannot_prove_who_it_is_is_refused_with_the_reason() {
    let target = serving(of_host(secrets(1, None), DhGroup::Ffdhe2048), SocketLoop::Auto);
    let said = refusal(host(&target, None));
    assert!(said.contains("it wants authentication (DH-HMAC-CHAP): add dhchap_secret=FILE"), "{said}");
    let said = refusal(host(&target, Some(secrets(7, None))));
    assert!(said.contains("the controller refuses the authentication: the secret does not match"), "{said}");
    // The target has no secret for this host.
    let mut stranger = host(&target, Some(secrets(1, None)));
    stranger.host = name("stranger");
    let said = refusal(stranger);
    assert!(said.contains("does not admit host"), "{said}");
    // The known host succeeds with this secret.
    assert_eq!(Rig::new(host(&target, Some(secrets(1, None)))).write(0, 1), CommandOutcome::Done);
    // Discovery needs no authentication.
    assert_eq!(discover(host(&target, None), &Clock::monotonic(), Tcp::connect).unwrap().len(), 1);
}

#[test]
fn a_target_that_cannot_prove_who_it_is_is_not_used() {
    let known = secrets(1, Some(2));
    let target = serving(of_host(secrets(1, Some(3)), DhGroup::Null), SocketLoop::Auto);
    let said = refusal(host(&target, Some(known.clone())));
    assert!(said.contains("the controller has not proved who it is"), "{said}");
    let target = serving(of_host(secrets(1, None), DhGroup::Null), SocketLoop::Auto);
    let said = refusal(host(&target, Some(known.clone())));
    assert!(said.contains("the controller refuses the authentication"), "{said}");
    // This target requires no authentication, and therefore proves nothing.
    let target = serve(&drive("size=1M"), options());
    let said = refusal(host(&target, Some(known)));
    assert!(said.contains("it refuses authentication (DH-HMAC-CHAP): Invalid Command Opcode"), "{said}");
    // A secret of the host alone is used if the target requires it.
    assert_eq!(Rig::new(host(&target, Some(secrets(1, None)))).write(0, 1), CommandOutcome::Done);
}

#[test]
fn hosts_without_a_secret_of_their_own_have_the_one_of_all_others() {
    let authentication =
        TargetAuthentication { of_others: Some(secrets(5, None)), ..of_host(secrets(1, None), DhGroup::Null) };
    let target = serving(authentication, SocketLoop::Auto);
    let mut other = host(&target, Some(secrets(5, None)));
    other.host = name("other");
    assert_eq!(Rig::new(other).write(0, 1), CommandOutcome::Done);
    let said = refusal(host(&target, Some(secrets(5, None))));
    assert!(said.contains("the secret does not match"), "{said}");
}

/// A socket whose answers are read one by one.
struct Bare {
    socket: TcpStream,
    framing: Framing,
    came: Vec<u8>,
}

impl Bare {
    /// The host `enemy` with its admin queue.
    fn connected(target: &TcpTarget) -> Bare {
        let socket = TcpStream::connect(target.address()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let framing = Framing { most_data: u32::MAX, ..Framing::before_connection() };
        let mut bare = Bare { socket, framing, came: Vec::new() };
        bare.socket.write_all(&opening(Digests::default())).unwrap();
        assert!(matches!(bare.next(), Some(Pdu::IcResp(_))));
        let answer = bare.answer().unwrap();
        assert!(answer.status().is_success() && ConnectAnswer(answer.dw0()).wants_authentication());
        bare
    }

    fn next(&mut self) -> Option<Pdu> {
        loop {
            if let Some((pdu, range)) = self.framing.next(&self.came, Sender::Controller).unwrap()
                && range.end() <= self.came.len()
            {
                self.came.drain(..range.end());
                return Some(pdu);
            }
            let mut part = [0; 4096];
            match self.socket.read(&mut part) {
                Ok(0) | Err(_) => return None,
                Ok(bytes) => self.came.extend_from_slice(&part[..bytes]),
            }
        }
    }

    fn answer(&mut self) -> Option<CompletionEntry> {
        match self.next()? {
            Pdu::Response(entry) => Some(entry),
            other => panic!("{other:?}"),
        }
    }

    fn ask(&mut self, entry: &SubmissionEntry, data: &[u8]) -> Status {
        let mut bytes = Vec::new();
        self.framing.command_header(&mut bytes, &entry.words, data.len());
        bytes.extend_from_slice(data);
        self.socket.write_all(&bytes).unwrap();
        self.answer().unwrap().status().code()
    }
}

#[test]
fn nothing_but_authentication_is_executed_before_its_end() {
    for sockets in [SocketLoop::Auto, SocketLoop::Epoll] {
        let authentication =
            TargetAuthentication { of_others: Some(secrets(5, None)), ..TargetAuthentication::default() };
        let target = serving(authentication, sockets);
        let mut bare = Bare::connected(&target);
        let required = ConnectStatus::AUTHENTICATION_REQUIRED;
        assert_eq!(bare.ask(&property_get(Register::CAP, true, 1), &[]), required);
        assert_eq!(bare.ask(&SubmissionEntry::new(0x06, 1), &[]), required);
        // Refuses: no message is due, the data is missing, and another protocol.
        assert_eq!(bare.ask(&authentication_receive(64, 1), &[]), Status::COMMAND_SEQUENCE_ERROR);
        assert_eq!(bare.ask(&authentication_send(72, 1), &[]), Status::SGL_OFFSET_INVALID);
        let other = authentication_send(8, 1).with_cdw(10, 0);
        assert_eq!(bare.ask(&other, &[0; 8]), Status::INVALID_FIELD);
        // An invalid message is accepted and answered with a failure; then the connection ends.
        assert_eq!(bare.ask(&authentication_send(8, 1), &[0xff; 8]), Status::SUCCESS);
        let mut bytes = Vec::new();
        bare.framing.command(&mut bytes, &authentication_receive(64, 1).words);
        bare.socket.write_all(&bytes).unwrap();
        assert!(matches!(bare.next(), Some(Pdu::Data { .. })));
        assert!(bare.answer().is_some_and(|entry| entry.status().is_success()));
        assert!(bare.next().is_none());
        drop(bare);
        let mut other = host(&target, Some(secrets(5, None)));
        other.host = name("other");
        assert_eq!(Rig::new(other).write(0, 1), CommandOutcome::Done);
    }
}
