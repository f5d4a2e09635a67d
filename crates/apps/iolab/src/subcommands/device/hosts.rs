//! Statistics of the network hosts of a served device, as text and as JSON.

use std::fmt::Write;
use std::sync::Arc;

use iolab_device_link::MoreStatistics;
use iolab_nvme_tcp::{Counted, HostStatistics, TcpTarget};

/// The hosts of all addresses at which a device is served.
#[derive(Debug)]
pub(super) struct Hosts(pub(super) Arc<Vec<TcpTarget>>);

impl Hosts {
    fn statistics(&self) -> Vec<HostStatistics> {
        self.0.iter().flat_map(TcpTarget::statistics).collect()
    }
}

impl MoreStatistics for Hosts {
    fn text(&self) -> String {
        text(&self.statistics())
    }

    fn json(&self) -> (&'static str, String) {
        ("hosts", json(&self.statistics()))
    }
}

fn name(host: &HostStatistics) -> &str {
    host.host.as_ref().map_or("other hosts", |host| host.as_str())
}

fn text(hosts: &[HostStatistics]) -> String {
    let mut text = String::new();
    let line = |counted: &Counted| {
        let Counted { commands, failed, read_bytes, written_bytes } = counted;
        format!("{commands} commands ({failed} failed), {read_bytes} bytes read, {written_bytes} bytes written")
    };
    for host in hosts {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "host {}: {}", name(host), line(&host.counted));
        for one in &host.connections {
            let peer = one.peer.map_or("gone".to_owned(), |peer| peer.to_string());
            let _ =
                writeln!(text, "  {peer}, controller {}, queue {}: {}", one.controller, one.queue, line(&one.counted));
        }
    }
    text
}

/// A list.
fn json(hosts: &[HostStatistics]) -> String {
    let members = |counted: &Counted| {
        let Counted { commands, failed, read_bytes, written_bytes } = counted;
        serde_json::json!({
            "commands": commands, "failed": failed, "read_bytes": read_bytes, "written_bytes": written_bytes,
        })
    };
    let all: Vec<_> = hosts
        .iter()
        .map(|host| {
            let mut value = members(&host.counted);
            value["host"] = name(host).into();
            let connections = host.connections.iter().map(|one| {
                let mut value = members(&one.counted);
                value["peer"] = one.peer.map(|peer| peer.to_string()).into();
                (value["controller"], value["queue"]) = (one.controller.into(), one.queue.into());
                value
            });
            value["connections"] = connections.collect();
            value
        })
        .collect();
    serde_json::Value::from(all).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_nvme_tcp::ConnectionStatistics;

    #[test]
    fn hosts_are_shown_with_their_connections() {
        let counted = Counted { commands: 3, failed: 1, read_bytes: 4096, written_bytes: 512 };
        let peer = "127.0.0.1:5".parse().ok();
        let connections = vec![ConnectionStatistics { peer, controller: 2, queue: 1, counted }];
        let hosts = [HostStatistics { host: None, counted, connections }];
        let shown = text(&hosts);
        assert!(shown.contains("other hosts: 3 commands (1 failed), 4096 bytes read, 512 bytes written"), "{shown}");
        assert!(shown.contains("  127.0.0.1:5, controller 2, queue 1: 3 commands"), "{shown}");
        let value: serde_json::Value = serde_json::from_str(&json(&hosts)).unwrap();
        assert_eq!(value[0]["connections"][0]["peer"], "127.0.0.1:5");
        assert_eq!(value[0]["read_bytes"], 4096);
    }
}
