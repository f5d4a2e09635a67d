//! A mount from beginning to end, on one thread, and what several threads have in common.
//!
//! ```text
//!  open ─▶ mount ─▶ INIT ─▶ classic or io_uring loop ─▶ the connection ends ─▶ file system closed, mount gone
//! ```

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use iolab_async_io::command_ring::Stop;
use iolab_fuse::abi::init_flag;
use iolab_fuse::channel::Channel;
use iolab_fuse::connection::negotiate;
use iolab_fuse::mount::{MountOptions, Mounted, mount};
use iolab_fuse::negotiation::Offer;
use iolab_fuse::uring::Share;
use iolab_fuse::{
    Ending, FuseEvent, FuseTransport, Observer, Service, Unmounter, UringSwitch, classic, permitted, uring,
};

use crate::resources::{Mountable, SessionResources};
use crate::session::Session;
use crate::wake_event::WakeEvent;
use crate::{MountError, Options};

/// One thread of a mount.
pub(crate) struct MountThread<'a> {
    /// Its number and the number of threads.
    pub(crate) share: Share,
    /// Set when another thread has sent it a message.
    pub(crate) wake: Option<Arc<WakeEvent>>,
    /// Raised when it has to end because another thread did.
    pub(crate) halt: Option<&'a Stop>,
}

/// Mounts the file system, serves it until it is unmounted or a stop is raised, and closes it. Runs
/// on the calling thread.
///
/// The first stop unmounts, if nothing is in use; the second ends the mount in any case, with
/// everything durable. The observer is told when the file system is ready. The file system is also
/// closed when serving fails.
///
/// # Errors
/// [`MountError`]: the first failure.
pub fn serve(what: Mountable, options: &Options, stop: &Stop, observer: Observer) -> Result<(), MountError> {
    let options = &permit(options, &observer);
    let thread = MountThread { share: Share { thread: 0, threads: 1 }, wake: None, halt: None };
    let resources = SessionResources::new(options, thread.share)?;
    let mut session = Session::new(what, resources, None);
    let served = connect(&mut session, options, stop, &observer, &thread, &|_, _| Ok(()));
    session.report(&observer);
    let closed = session.close(None);
    // Unmount last: a process that sees the mount gone may open the image.
    let mount = served?;
    drop(mount);
    closed
}

/// The options with a transport that this process may use.
pub(crate) fn permit(options: &Options, observer: &Observer) -> Options {
    let (transport, note) = permitted(options.transport);
    note.into_iter().for_each(|note| observer(&FuseEvent::Note(note)));
    Options { transport, ..options.clone() }
}

/// Passes the connection to the other threads.
pub(crate) type TellOthers<'a> = dyn Fn(&Channel, FuseTransport) -> Result<(), MountError> + 'a;

/// Mounts and serves on the first thread; the mount still exists afterwards unless it was
/// unmounted.
pub(crate) fn connect(
    session: &mut Session,
    options: &Options,
    stop: &Stop,
    observer: &Observer,
    thread: &MountThread<'_>,
    tell_others: &TellOthers<'_>,
) -> Result<Mounted, MountError> {
    let (slots, payload_bytes) = session.shape();
    let switch = (options.transport != FuseTransport::Classic).then(UringSwitch::on);
    let mounting = MountOptions {
        source: options.source.clone(),
        subtype: "logfs".to_owned(),
        flags: options.flags,
        payload_bytes,
    };
    let (fd, mount) = mount(&options.mount_point, &mounting)?;
    let mounted = Mounted(mount);
    let channel = Channel { fd };
    let offer = Offer {
        payload_bytes,
        transport: options.transport,
        background: u16::try_from(slots * thread.share.threads).unwrap_or(u16::MAX).max(64),
        features: features(options),
    };
    let transport = negotiate(&channel, offer, session.payload(0))?.transport;
    drop(switch);
    tell_others(&channel, transport)?;
    let mut unmounter = Unmounter::new(mounted.0.clone(), Some(observer.clone()));
    let serving = || observer(&FuseEvent::Serving { path: options.mount_point.clone(), transport });
    let served = serve_connected(session, &channel, transport, thread, Some((stop, &mut unmounter)), serving);
    drop(channel);
    unmounter.join();
    served.map(|()| mounted)
}

/// Serves a connection on one of the threads.
pub(crate) fn serve_connected(
    session: &mut Session,
    channel: &Channel,
    transport: FuseTransport,
    thread: &MountThread<'_>,
    stop: Option<(&Stop, &mut Unmounter)>,
    serving: impl FnOnce(),
) -> Result<(), MountError> {
    session.server.notices.borrow_mut().begin(channel)?;
    let wakes = session.wakes()?;
    let messages = thread.wake.iter().map(|event| event.as_fd());
    let wakes: Vec<BorrowedFd<'_>> = wakes.iter().map(AsFd::as_fd).chain(messages).collect();
    let ending = Ending { stop, halt: thread.halt, wakes: &wakes };
    if transport == FuseTransport::Uring {
        return uring::serve(channel, session, 0, ending, thread.share, serving);
    }
    serving();
    classic::serve(channel, session, 0, ending)
}

/// The features requested from the kernel.
fn features(options: &Options) -> u64 {
    init_flag::DO_READDIRPLUS
        | init_flag::READDIRPLUS_AUTO
        | init_flag::CACHE_SYMLINKS
        | init_flag::EXPORT_SUPPORT
        | init_flag::HANDLE_KILLPRIV_V2
        | if options.writeback { init_flag::WRITEBACK_CACHE } else { 0 }
        | if options.acl { init_flag::POSIX_ACL | init_flag::DONT_MASK } else { 0 }
}
