//! One export from mounting to unmounting.
//!
//! ```text
//!  mount ─▶ INIT ─▶ classic or io_uring loop ─▶ the connection ends ─▶ lane drained, mount gone
//! ```

use std::os::fd::AsFd;

use iolab_clock::Clock;
use iolab_engine::Lane;
use iolab_export::{Exporter, Size, Tally};
use iolab_memory::SlotPool;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::OFlags;

use crate::abi::{LEAST_BUFFER_BYTES, opcode};
use crate::channel::{Channel, Message, Received};
use crate::mount::Mounted;
use crate::negotiation::{self, Agreement, Disagreement, Offer};
use crate::options::Moment;
use crate::possible_cpus::possible_cpus;
use crate::session::Session;
use crate::tree::Tree;
use crate::unmounter::Unmounter;
use crate::uring_switch::UringSwitch;
use crate::{ExportError, Options, Transport, classic, uring};

/// What an export did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// The transport that carried the requests, never `Auto`.
    pub transport: Transport,
    /// What was served.
    pub tally: Tally,
}

/// Mounts, serves until the file system is unmounted or a stop is raised, and cleans up.
///
/// `lane` was opened on `buffers`, with as many operations in flight as they have slots; [`Options::pool_shape`] says
/// how many and how large. The device's bytes are `size`. Serves on the calling thread, and leaves it on the processor
/// it was put on.
pub fn serve<L: Lane>(lane: L, buffers: &mut SlotPool, size: Size, options: &Options) -> Result<Summary, ExportError> {
    let shape = options.pool_shape();
    let exporter =
        Exporter::new(lane, buffers, size, options.limits).map_err(|error| ExportError::Pool(error, shape))?;
    check(&exporter, options)?;
    if let Some(cpu) = options.cpu {
        let bound = iolab_process::set_cpus(&[cpu]).and_then(|()| iolab_process::set_batch());
        bound.map_err(|error| ExportError::Processor(cpu, error))?;
    }
    let owner = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    let now = Clock::monotonic().unix_ns() / 1_000_000_000;
    let tree = Tree::new(&options.name, (size.bytes(), size.block_bytes()), owner, now);
    let session = Session::new(exporter, tree);
    let switch = (options.transport != Transport::Classic).then(UringSwitch::on);
    let (fd, mount) = crate::mount::mount(&options.mount_point, session.exporter.payload_bytes())?;
    // Declared before the connection, to be dropped after it.
    let mounted = Mounted(mount);
    let mut unmounter = Unmounter::new(mounted.0.clone(), options);
    let served = connect(Channel { fd }, session, options, switch, &mut unmounter);
    unmounter.join();
    served
}

fn check<L: Lane>(exporter: &Exporter<'_, L>, options: &Options) -> Result<(), ExportError> {
    let unusable =
        |reason: &str| Err(ExportError::Unusable { path: options.mount_point.clone(), reason: reason.to_owned() });
    let name = options.name.as_str();
    if name.is_empty() || name.len() > 255 || name == "." || name == ".." || name.contains(['/', '\0']) {
        return unusable("the file needs a name of 1 to 255 bytes without slashes");
    }
    let too_few = options.transport == Transport::Uring && exporter.slots() <= possible_cpus();
    if exporter.payload_bytes() < LEAST_BUFFER_BYTES || too_few {
        let slot_bytes = iolab_export::slot_bytes(exporter.payload_bytes());
        let given = iolab_export::PoolMismatch { slot_bytes, slots: exporter.slots() };
        return Err(ExportError::Pool(given, options.pool_shape()));
    }
    Ok(())
}

/// Serves a connection to its end, and closes it.
fn connect<L: Lane>(
    channel: Channel,
    mut session: Session<'_, L>,
    options: &Options,
    switch: Option<UringSwitch>,
    unmounter: &mut Unmounter<'_>,
) -> Result<Summary, ExportError> {
    let nonblocking = rustix::fs::fcntl_setfl(&channel.fd, OFlags::RDWR | OFlags::NONBLOCK);
    nonblocking.map_err(|error| ExportError::Connection("fcntl", error.into()))?;
    let agreement = negotiate(&channel, &mut session, options)?;
    drop(switch);
    let path = options.mount_point.join(&options.name);
    let serving = Moment::Serving { path, transport: agreement.transport };
    let served = match agreement.transport {
        Transport::Uring => uring::serve(&channel, &mut session, options, (unmounter, &serving)),
        _ => {
            options.tell(&serving);
            classic::serve(&channel, &mut session, options, unmounter)
        }
    };
    let drained = session.exporter.drain().map_err(ExportError::from);
    let tally = session.exporter.tally();
    served.and(drained).map(|()| Summary { transport: agreement.transport, tally })
}

/// Waits for INIT and answers it.
fn negotiate<L: Lane>(
    channel: &Channel,
    session: &mut Session<'_, L>,
    options: &Options,
) -> Result<Agreement, ExportError> {
    let exporter = &mut session.exporter;
    let offer = Offer {
        payload_bytes: exporter.payload_bytes(),
        transport: if exporter.slots() > possible_cpus() { options.transport } else { Transport::Classic },
        background: u16::try_from(exporter.slots()).unwrap_or(u16::MAX).max(64),
    };
    let mut message = Message::EMPTY;
    loop {
        let mut fds = [PollFd::new(&channel.fd, PollFlags::IN)];
        if let Err(error) = poll(&mut fds, None)
            && error != rustix::io::Errno::INTR
        {
            return Err(ExportError::Connection("poll", error.into()));
        }
        match channel.receive(&mut message, exporter.payload(0))? {
            Received::Message if message.header.opcode == opcode::INIT => break,
            Received::Message => channel.reply(message.header.unique, -libc::EIO, &[])?,
            Received::Nothing => {}
            Received::End => return Err(ExportError::Protocol("the connection ended before it began".to_owned())),
        }
    }
    let body = exporter.payload(0);
    match negotiation::answer(message.args(), offer, body) {
        Ok((agreement, length)) => {
            channel.reply(message.header.unique, 0, &body[..length])?;
            Ok(agreement)
        }
        Err(Disagreement::NoUring) => Err(ExportError::NoUring(UringSwitch::advice())),
        Err(Disagreement::NotInit) => {
            Err(ExportError::Protocol("it is older than version 7.28 (Linux 4.20)".to_owned()))
        }
    }
}

/// Whether a stop was raised.
pub(crate) fn stop_raised(options: &Options) -> bool {
    options.stop.as_ref().is_some_and(|stop| stop.take())
}

/// Waits until the connection has a message or a stop may have been raised; whether the latter.
pub(crate) fn sleep(channel: &Channel, options: &Options) -> Result<bool, ExportError> {
    let mut stopped = false;
    let done = match &options.stop {
        Some(stop) => {
            let mut fds =
                [PollFd::new(&channel.fd, PollFlags::IN), PollFd::from_borrowed_fd(stop.as_fd(), PollFlags::IN)];
            let done = poll(&mut fds, None);
            stopped = !fds[1].revents().is_empty();
            done
        }
        None => poll(&mut [PollFd::new(&channel.fd, PollFlags::IN)], None),
    };
    match done {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(stopped),
        Err(error) => Err(ExportError::Connection("poll", error.into())),
    }
}
