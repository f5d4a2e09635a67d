//! What each host may access: discovery, names, the access list, limits.

use std::io::Read;
use std::net::TcpStream;

use iolab_clock::Clock;
use iolab_nvme_association::{TargetAddress, discover};
use iolab_nvme_driver::{CommandOutcome, DriverError};
use iolab_nvme_fabrics::Digests;
use iolab_nvme_spec::fabrics::{SubsystemType, TransportType};
use iolab_nvme_tcp::{TargetOptions, Tcp, TcpTarget};

use crate::rig::{Rig, address, connect, drive, name, options, serve};

#[test]
fn discovery_lists_what_a_host_may_use() {
    let drive = drive("size=1M");
    let target = serve(&drive, TargetOptions { hosts: vec![name("host")], ..options() });
    for digests in [0, 3] {
        let address = address(target.address(), Digests::of_bits(digests));
        let found = discover(address.clone(), &Clock::monotonic(), Tcp::connect).unwrap();
        assert_eq!(found.len(), 1);
        let record = &found[0];
        assert_eq!((record.transport, record.kind), (TransportType::TCP, SubsystemType::NVM));
        assert_eq!((record.subsystem.clone(), record.address.as_str()), (name("drive"), "127.0.0.1"));
        assert_eq!(record.service, target.address().port().to_string());
        let mut stranger = address;
        stranger.host = name("stranger");
        assert_eq!(discover(stranger, &Clock::monotonic(), Tcp::connect).unwrap(), []);
    }
}

#[test]
fn discovery_lists_every_port_of_the_subsystem() {
    let drive = drive("size=1M");
    let targets = [serve(&drive, options()), serve(&drive, options())];
    let at = |target: &TcpTarget| target.address().port().to_string();
    for asked in &targets {
        let found = discover(address(asked.address(), Digests::default()), &Clock::monotonic(), Tcp::connect).unwrap();
        let ports: Vec<_> = found.iter().map(|record| (record.port, record.service.clone())).collect();
        assert_eq!(ports, [(1, at(&targets[0])), (2, at(&targets[1]))]);
    }
    let [first, second] = targets;
    drop(first);
    let found = discover(address(second.address(), Digests::default()), &Clock::monotonic(), Tcp::connect).unwrap();
    assert_eq!(found.iter().map(|record| record.service.clone()).collect::<Vec<_>>(), [at(&second)]);
}

fn refusal(address: TargetAddress) -> String {
    match connect(address) {
        Err(error @ DriverError::Refused(_)) => error.to_string(),
        other => panic!("{:?}", other.map(drop)),
    }
}

#[test]
fn strangers_and_wrong_names_are_refused_with_the_reason() {
    let drive = drive("size=1M");
    let target = serve(&drive, TargetOptions { hosts: vec![name("host"), name("other")], ..options() });
    let mut stranger = address(target.address(), Digests::default());
    stranger.host = name("stranger");
    let said = refusal(stranger);
    assert!(said.contains("does not admit host nqn.2014-08.org.nvmexpress:stranger"), "{said}");
    let mut lost = address(target.address(), Digests::default());
    lost.subsystem = name("elsewhere");
    let said = refusal(lost);
    assert!(said.contains("has no subsystem nqn.2014-08.org.nvmexpress:elsewhere"), "{said}");
    let mut other = address(target.address(), Digests::default());
    other.host = name("other");
    assert_eq!(Rig::new(other).write(0, 1), CommandOutcome::Done);
}

#[test]
fn digests_that_the_target_does_not_grant_are_not_used() {
    let drive = drive("size=1M");
    let target = serve(&drive, TargetOptions { digests: Digests::default(), ..options() });
    let mut rig = Rig::new(address(target.address(), Digests::of_bits(3)));
    assert_eq!(rig.write(0, 1), CommandOutcome::Done);
}

#[test]
fn connections_beyond_the_limit_are_closed_and_disturb_nobody() {
    const MOST: usize = 16;
    let drive = drive("size=1M");
    let target = serve(&drive, TargetOptions { most_connections: MOST, ..options() });
    let mut rig = Rig::new(address(target.address(), Digests::default()));
    let mut refused = 0;
    let mut open = Vec::new();
    for round in 0..300 {
        let mut socket = TcpStream::connect(target.address()).unwrap();
        // The limit is reached: from now on, every connection is closed at once.
        if round >= MOST {
            assert_eq!(socket.read(&mut [0; 1]).unwrap_or(0), 0);
            refused += 1;
        } else {
            open.push(socket);
        }
        if round % 50 == 0 {
            assert_eq!(rig.write(0, 1), CommandOutcome::Done);
        }
        assert!(target.connections() <= MOST);
    }
    assert!(refused > 200);
    drop(open);
    assert_eq!(rig.read(0, 1).0, CommandOutcome::Done);
    assert_eq!(rig.controller.resets(), 0);
}
