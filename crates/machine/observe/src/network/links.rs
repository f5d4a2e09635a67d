//! Network interfaces: which of them leads to an address, what it carries, and what it has carried.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use iolab_recording::LinkSample;

use crate::System;
use crate::block_tree::folder_names;

/// `RTF_UP`, `RTF_REJECT` of `linux/route.h`.
const UP: u32 = 0x0001;
const REJECT: u32 = 0x0200;
const LOOPBACK: &str = "lo";

impl System {
    /// Names of all interfaces.
    pub(crate) fn links(&self) -> Vec<String> {
        folder_names(&self.path("sys/class/net"))
    }

    /// The interface over which `local` reaches `remote`; `None` if there is no route.
    pub(crate) fn link_to(&self, local: IpAddr, remote: IpAddr) -> Option<String> {
        if remote.is_loopback() || remote == local {
            return Some(LOOPBACK.to_owned());
        }
        match remote {
            IpAddr::V4(remote) => best(self.read("proc/net/route")?.lines().filter_map(|line| v4_route(line, remote))),
            IpAddr::V6(remote) => {
                best(self.read("proc/net/ipv6_route")?.lines().filter_map(|line| v6_route(line, remote)))
            }
        }
    }

    /// What an interface has carried; `None` if it is gone.
    pub(crate) fn link_sample(&self, name: &str, at_ns: u64) -> Option<LinkSample> {
        let folder = format!("sys/class/net/{name}");
        let count = |file: &str| self.read(&format!("{folder}/statistics/{file}"))?.trim().parse::<u64>().ok();
        let dropped = count("rx_dropped").unwrap_or(0).saturating_add(count("tx_dropped").unwrap_or(0));
        Some(LinkSample {
            at_ns,
            received_bytes: count("rx_bytes")?,
            sent_bytes: count("tx_bytes")?,
            dropped,
            bits_per_second: self.link_bits_per_second(name),
        })
    }

    /// The speed that was negotiated; 0 if unknown, or if the interface is only software, whose
    /// number means nothing.
    fn link_bits_per_second(&self, name: &str) -> u64 {
        let folder = format!("sys/class/net/{name}");
        if !self.path(&format!("{folder}/device")).exists() {
            return 0;
        }
        // Without a carrier it cannot be read, and -1 is unknown.
        let megabits = self.read(&format!("{folder}/speed")).and_then(|text| text.trim().parse::<u64>().ok());
        megabits.filter(|megabits| *megabits < 1 << 32).map_or(0, |megabits| megabits * 1_000_000)
    }
}

/// The most specific route, and of several the one that is preferred.
fn best(routes: impl Iterator<Item = (u32, u32, String)>) -> Option<String> {
    routes.max_by_key(|(bits, metric, _)| (*bits, std::cmp::Reverse(*metric))).map(|(.., link)| link)
}

/// `eth0 000200C0 00000000 0001 0 0 0 00FFFFFF …`: bits of the mask, metric and interface of the
/// route, if it leads to the address.
fn v4_route(line: &str, remote: Ipv4Addr) -> Option<(u32, u32, String)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let hexadecimal = |place: usize| u32::from_str_radix(fields.get(place)?, 16).ok();
    let (destination, flags, mask) = (hexadecimal(1)?, hexadecimal(3)?, hexadecimal(7)?);
    // The addresses are printed as numbers of this machine, as they lie in memory.
    let remote = u32::from_ne_bytes(remote.octets());
    let leads = flags & UP != 0 && flags & REJECT == 0 && remote & mask == destination;
    leads.then_some((mask.count_ones(), fields.get(6)?.parse().ok()?, (*fields.first()?).to_owned()))
}

/// `fd00…0000 40 0000…0000 00 0000…0000 00000100 00000001 00000000 00000001 eth0`
fn v6_route(line: &str, remote: Ipv6Addr) -> Option<(u32, u32, String)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let hexadecimal = |place: usize| u32::from_str_radix(fields.get(place)?, 16).ok();
    let destination = u128::from_str_radix(fields.first()?, 16).ok()?;
    let (bits, metric, flags) = (hexadecimal(1)?, hexadecimal(5)?, hexadecimal(8)?);
    let mask = u128::MAX.checked_shl(128_u32.checked_sub(bits)?).unwrap_or(0);
    let leads = flags & UP != 0 && flags & REJECT == 0 && u128::from(remote) & mask == destination;
    leads.then_some((bits, metric, (*fields.get(9)?).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fixtures::Fixture;

    #[test]
    fn the_most_specific_route_leads_to_an_address() {
        let hex = |text: &str| format!("{:08X}", u32::from_ne_bytes(text.parse::<Ipv4Addr>().unwrap().octets()));
        let route = |link: &str, to: &str, flags: &str, metric: u32, mask: &str| {
            format!("{link}\t{}\t00000000\t{flags}\t0\t0\t{metric}\t{}\t0\t0\t0\n", hex(to), hex(mask))
        };
        let routes = [
            "Iface\tDestination\tGateway\n".to_owned(),
            route("eth0", "0.0.0.0", "0003", 100, "0.0.0.0"),
            route("wlan0", "0.0.0.0", "0003", 600, "0.0.0.0"),
            route("eth1", "10.0.0.0", "0001", 0, "255.0.0.0"),
            route("eth2", "10.1.0.0", "0001", 0, "255.255.0.0"),
            route("none", "10.1.2.0", "0201", 0, "255.255.255.0"),
        ];
        let mut fixture = Fixture::new();
        fixture.file("proc/net/route", &routes.concat());
        let nothing = "00000000000000000000000000000000";
        let six = format!(
            "fd000000000000000000000000000000 40 {nothing} 00 {nothing} 00000100 00000001 00000000 00000001 eth3\n\
             {nothing} 00 {nothing} 00 {nothing} 00000400 00000002 00000000 00000003 eth0\n\
             {nothing} 00 {nothing} 00 {nothing} ffffffff 00000001 00000000 00200200 lo\n"
        );
        fixture.file("proc/net/ipv6_route", &six);
        for (remote, expected) in [
            ("192.0.2.7", Some("eth0")),
            ("10.9.9.9", Some("eth1")),
            ("10.1.2.3", Some("eth2")),
            ("127.0.0.9", Some("lo")),
            ("10.1.0.1", Some("lo")),
            ("fd00::7", Some("eth3")),
            ("fe80::7", Some("eth0")),
            ("::1", Some("lo")),
        ] {
            let found = fixture.system().link_to("10.1.0.1".parse().unwrap(), remote.parse().unwrap());
            assert_eq!(found.as_deref(), expected, "{remote}");
        }
        assert_eq!(Fixture::new().system().link_to("10.1.0.1".parse().unwrap(), "10.1.0.2".parse().unwrap()), None);
    }

    #[test]
    fn only_hardware_has_a_speed() {
        let mut fixture = Fixture::new();
        for (name, speed) in [("eth0", "1000\n"), ("down", "-1\n"), ("veth0", "10000\n")] {
            fixture.file(&format!("sys/class/net/{name}/speed"), speed);
            fixture.file(&format!("sys/class/net/{name}/statistics/rx_bytes"), "7\n");
            fixture.file(&format!("sys/class/net/{name}/statistics/tx_bytes"), "8\n");
            fixture.file(&format!("sys/class/net/{name}/statistics/tx_dropped"), "3\n");
        }
        fixture.file("sys/class/net/eth0/device/vendor", "").file("sys/class/net/down/device/vendor", "");
        let system = fixture.system();
        let speeds = ["eth0", "down", "veth0"].map(|name| system.link_sample(name, 5).unwrap().bits_per_second);
        assert_eq!(speeds, [1_000_000_000, 0, 0]);
        let eth0 = system.link_sample("eth0", 5).unwrap();
        assert_eq!((eth0.at_ns, eth0.received_bytes, eth0.sent_bytes, eth0.dropped), (5, 7, 8, 3));
        assert_eq!(system.link_sample("none", 5), None);
        assert_eq!(system.links(), ["down", "eth0", "veth0"]);
    }
}
