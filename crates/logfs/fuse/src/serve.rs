//! A mount from its beginning to its end.
//!
//! ```text
//!  open ─▶ mount ─▶ INIT ─▶ classic or io_uring loop ─▶ the connection ends ─▶ file system closed, mount gone
//! ```

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use iolab_async_io::command_ring::Stop;
use iolab_clock::Clock;
use iolab_executor::Executor;
use iolab_fuse::abi::{LEAST_BUFFER_BYTES, init_flag};
use iolab_fuse::channel::Channel;
use iolab_fuse::connection::negotiate;
use iolab_fuse::mount::{MountOptions, Mounted, mount};
use iolab_fuse::negotiation::Offer;
use iolab_fuse::uring::Share;
use iolab_fuse::{
    Ending, FuseEvent, FuseTransport, Observer, Service, Unmounter, UringSwitch, classic, permitted, possible_cpus,
    uring,
};
use iolab_logfs::{Disk, LocalVolume};
use iolab_memory::{Backing, SlotPool};

use crate::notices::Notices;
use crate::session::Session;
use crate::syncing::Commit;
use crate::world::World;
use crate::{MountError, Options};

/// What is mounted: an open file system, and all that it runs on.
#[derive(Debug)]
pub struct Mountable {
    /// The file system.
    pub fs: LocalVolume,
    /// Its device.
    pub disk: Disk,
    /// The executor with its background tasks.
    pub executor: Executor,
    /// Its clock.
    pub clock: Clock,
}

/// Mounts, serves until the file system is unmounted or a stop is raised, and closes it. On the
/// calling thread.
///
/// The first stop unmounts, if nothing is in use; the second ends it all the same, with everything
/// durable. The observer is told when the file system can be used. The file system is closed, too,
/// when serving fails.
///
/// # Errors
/// [`MountError`]: what failed first.
pub fn serve(what: Mountable, options: &Options, stop: &Stop, observer: Observer) -> Result<(), MountError> {
    let Mountable { fs, disk, executor, clock } = what;
    let (transport, note) = permitted(options.transport);
    let options = &Options { transport, ..options.clone() };
    note.into_iter().for_each(|note| observer(&FuseEvent::Note(note)));
    let waking = disk.waking();
    let pool = pool(options)?;
    let commit = Commit::new(options.commit_seconds)?;
    let timer = duplicate(commit.as_fd())?;
    let notices = Notices::new()?;
    let told = notices.wakes().into_iter().map(duplicate).collect::<Result<Vec<_>, _>>()?;
    let mut session = Session::new((executor, disk), World::new(fs, clock, notices), pool, commit);
    let wakes: Vec<_> = waking.iter().chain([&timer]).chain(&told).map(|fd| fd.as_fd()).collect();
    let served = connect(&mut session, options, stop, &observer, &wakes);
    let activity = session.world.fs.activity();
    if activity.content_errors + activity.bad_checkpoints > 0 {
        let (reads, checkpoints) = (activity.content_errors, activity.bad_checkpoints);
        let text = format!(
            "the device is unreliable: {} of data that differs from what was written, {} rewritten",
            iolab_text::counted(reads, "read"),
            iolab_text::counted(checkpoints, "checkpoint")
        );
        observer(&FuseEvent::Note(text));
    }
    let closed = session.close();
    // The mount is taken away last: who sees it gone may open the image.
    let mount = served?;
    drop(mount);
    closed
}

fn duplicate(fd: BorrowedFd<'_>) -> Result<OwnedFd, MountError> {
    fd.try_clone_to_owned().map_err(|error| MountError::System("dup", error))
}

/// The slots of all requests in flight.
fn pool(options: &Options) -> Result<SlotPool, MountError> {
    const PAGE: usize = 4096;
    let bytes = options.transfer_bytes.max(LEAST_BUFFER_BYTES).next_multiple_of(PAGE);
    // With io_uring each processor has its own requests, and one slot more receives what still
    // comes by reads.
    let slots = if options.transport == FuseTransport::Classic {
        options.depth.max(1)
    } else {
        options.depth.max(1) * possible_cpus() + 1
    };
    SlotPool::new(slots, bytes, 0, &Backing::Anonymous)
        .map_err(|error| MountError::System("memory for requests", error.source))
}

/// Serves one connection; the mount is still there afterwards, if it was not taken away.
fn connect(
    session: &mut Session,
    options: &Options,
    stop: &Stop,
    observer: &Observer,
    wakes: &[BorrowedFd<'_>],
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
    session.world.notices.borrow_mut().begin(&channel)?;
    let offer = Offer {
        payload_bytes,
        transport: options.transport,
        background: u16::try_from(slots).unwrap_or(u16::MAX).max(64),
        features: features(options.writeback),
    };
    let transport = negotiate(&channel, offer, session.payload(0))?.transport;
    drop(switch);
    let mut unmounter = Unmounter::new(mounted.0.clone(), Some(observer.clone()));
    let ending = Ending { stop: Some((stop, &mut unmounter)), halt: None, wakes };
    let serving = || observer(&FuseEvent::Serving { path: options.mount_point.clone(), transport });
    let served = if transport == FuseTransport::Uring {
        uring::serve(&channel, session, 0, ending, Share { thread: 0, threads: 1 }, serving)
    } else {
        serving();
        classic::serve(&channel, session, 0, ending)
    };
    drop(channel);
    unmounter.join();
    served.map(|()| mounted)
}

/// What the kernel is asked to do for us.
fn features(writeback: bool) -> u64 {
    init_flag::DO_READDIRPLUS
        | init_flag::READDIRPLUS_AUTO
        | init_flag::CACHE_SYMLINKS
        | init_flag::EXPORT_SUPPORT
        | init_flag::HANDLE_KILLPRIV_V2
        | if writeback { init_flag::WRITEBACK_CACHE } else { 0 }
}
