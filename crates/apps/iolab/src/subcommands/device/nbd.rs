//! `iolab device serve --listen nbd://`: the device as an export of NBD.
//!
//! Each client has a controller of the device of its own, on the thread that serves it. Without a
//! secret to know, everybody who reaches the address may read and write.

use std::fmt::Write;
use std::sync::Arc;

use iolab_clock::Clock;
use iolab_engine::{LaneRequest, TargetFile};
use iolab_engine_nvme::NvmeLane;
use iolab_export::nbd::{NbdPlace, NbdServer, NbdServerOptions, SharedOpenLane};
use iolab_export::{LaneLimits, PoolShape, Size};
use iolab_memory::{Backing, SlotPool};
use iolab_nbd::{NbdAddress, NbdUri};
use iolab_options::Settings;
use iolab_virtual_ssd::Subsystem;

use super::listen::Place;
use crate::exit::ExitFailure;

/// The servers of a device.
#[derive(Debug, Default)]
pub(super) struct NbdServers(Vec<NbdServer>);

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
            let Place::Nbd(place, export) = place else { continue };
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
            let options = NbdServerOptions { name: export.clone(), size, limits, clock: clock.clone() };
            let server = NbdServer::start(place, lanes(name, drive, clock), &options)
                .map_err(|error| ExitFailure::failed(format!("iolab: cannot listen at {}: {error}", shown(place))))?;
            let _ = writeln!(text, "at {}", uri(server.place(), &export));
            if matches!(server.place(), NbdPlace::Tcp(address) if !address.ip().is_loopback()) {
                *text += "every machine that reaches this address may read and write it\n";
            }
            servers.push(server);
        }
        Ok(NbdServers(servers))
    }

    /// Ends the service. Returns what clients had, a line for each place.
    pub(super) fn end(self) -> String {
        let mut text = String::new();
        for server in self.0 {
            let place = shown(server.place());
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

fn uri(place: &NbdPlace, export: &str) -> NbdUri {
    let address = match place {
        NbdPlace::Tcp(address) => NbdAddress::Tcp { host: address.ip().to_string(), port: address.port() },
        NbdPlace::Unix(path) => NbdAddress::Unix(path.clone()),
    };
    NbdUri { address, export: export.to_owned() }
}

fn shown(place: &NbdPlace) -> String {
    uri(place, "").to_string()
}
