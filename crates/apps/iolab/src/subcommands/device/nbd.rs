//! `iolab device serve --listen nbd://`: the device as an export of NBD.
//!
//! Each client has a controller of the device of its own, on the thread that serves it. Everybody
//! who reaches the address may read and write, unless TLS asks for certificates of clients.

use std::fmt::Write;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_engine::{LaneRequest, TargetFile};
use iolab_engine_nvme::NvmeLane;
use iolab_export::nbd::{NbdPlace, NbdServer, NbdServerOptions, SharedOpenLane};
use iolab_export::{LaneLimits, PoolShape, Size};
use iolab_memory::{Backing, SlotPool};
use iolab_nbd::{NbdAddress, NbdTls, NbdUri};
use iolab_options::Settings;
use iolab_tls::TlsServer;
use iolab_virtual_ssd::Subsystem;

use super::listen::Place;
use crate::exit::ExitFailure;

/// The servers of a device.
#[derive(Debug, Default)]
pub(super) struct NbdServers(Vec<(NbdServer, Option<NbdTls>)>);

impl NbdServers {
    /// Serves the first namespace of a drive at each place of NBD, and adds to `text` how clients
    /// reach it.
    pub(super) fn start(
        name: &str,
        drive: &Arc<Subsystem>,
        clock: &Clock,
        places: &[Place],
        text: &mut String,
    ) -> Result<NbdServers, ExitFailure> {
        let mut servers = Vec::new();
        for place in places {
            let Place::Nbd(place, export, tls) = place else { continue };
            let export = export.clone().unwrap_or_else(|| name.to_owned());
            let config = drive.config();
            if config.zones.is_some() {
                return Err(ExitFailure::mistake(
                    "iolab: a zoned device cannot be served by NBD, which has no zones; use tcp:// or vfio-user:",
                ));
            }
            let size = Size::new(config.size_bytes, config.lba_bytes as u32)
                .map_err(|error| ExitFailure::mistake(format!("iolab: {name}: {error}")))?;
            let limits = LaneLimits { transfer_bytes: 0, trim_zeroes: true };
            let secured = tls.as_ref().map(identity).transpose()?;
            let options = NbdServerOptions { name: export.clone(), size, limits, clock: clock.clone(), tls: secured };
            let server = NbdServer::start(place, lanes(name, drive, clock), &options).map_err(|error| {
                ExitFailure::failed(format!("iolab: cannot listen at {}: {error}", shown(place, tls)))
            })?;
            let _ = writeln!(text, "at {}", uri(server.place(), &export, tls));
            let is_open = tls.as_ref().is_none_or(|tls| tls.verifies != Some(true));
            if is_open && matches!(server.place(), NbdPlace::Tcp(address) if !address.ip().is_loopback()) {
                *text += "every machine that reaches this address may read and write it\n";
            }
            servers.push((server, tls.clone()));
        }
        Ok(NbdServers(servers))
    }

    /// Ends the service. Returns what clients had, a line for each place.
    pub(super) fn end(self) -> String {
        let mut text = String::new();
        for (server, tls) in self.0 {
            let place = shown(server.place(), &tls);
            let (clients, counts) = server.end();
            let clients = iolab_text::counted(clients, "client");
            let _ = writeln!(text, "{place}: {clients}: {counts}");
        }
        text
    }
}

fn lanes(name: &str, drive: &Arc<Subsystem>, clock: &Clock) -> SharedOpenLane<NvmeLane> {
    let (name, drive, clock) = (name.to_owned(), Arc::clone(drive), clock.clone());
    Arc::new(move |shape: PoolShape| {
        let pool = SlotPool::new(shape.slots, shape.slot_bytes, 0, &Backing::Memfd)
            .map_err(|error| format!("{}: {}", error.message, error.source))?;
        let target = TargetFile { path: name.clone().into(), fd: -1, size_bytes: 0, is_block_device: true };
        let request = LaneRequest {
            files: &[target],
            depth: shape.slots,
            buffers: pool.view(),
            options: &Settings::default(),
            direct: true,
            seed: 0,
            worker: 0,
        };
        let lane = NvmeLane::on_drive(&drive, &clock, &request).map_err(|error| error.message)?;
        Ok((lane, pool))
    })
}

/// Certificate and key of the server, and whose certificates it asks clients for.
fn identity(tls: &NbdTls) -> Result<TlsServer, ExitFailure> {
    let advice = "name the folder of server-cert.pem and server-key.pem: nbds://ADDRESS:PORT/?tls-certificates=FOLDER; \
        with tls-verify-peer=true, clients need certificates by the authority of ca-cert.pem there";
    let mistake = |what: &str| ExitFailure::mistake(format!("iolab: --listen nbds://: {what}; {advice}"));
    let Some(folder) = &tls.certificates else { return Err(mistake("a server has a certificate")) };
    if tls.server_name.is_some() {
        return Err(mistake("tls-hostname is for clients"));
    }
    let authority = (tls.verifies == Some(true)).then(|| folder.join("ca-cert.pem"));
    let made = TlsServer::new(&folder.join("server-cert.pem"), &folder.join("server-key.pem"), authority.as_deref());
    made.map_err(|error| mistake(&error.to_string()))
}

fn uri(place: &NbdPlace, export: &str, tls: &Option<NbdTls>) -> NbdUri {
    let address = match place {
        NbdPlace::Tcp(address) => NbdAddress::Tcp { host: address.ip().to_string(), port: address.port() },
        NbdPlace::Unix(path) => NbdAddress::Unix(path.clone()),
    };
    // What is for the server says nothing to its clients.
    let tls = tls.as_ref().map(|_| NbdTls::default());
    NbdUri { address, export: export.to_owned(), tls }
}

fn shown(place: &NbdPlace, tls: &Option<NbdTls>) -> String {
    uri(place, "", tls).to_string()
}
