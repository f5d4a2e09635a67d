//! A mount on several threads: each serves some of the domains and some of the kernel's queues.
//!
//! ```text
//!  thread 0: domains 0, n … ── /dev/fuse, queues 0, n …    mounts, unmounts, closes
//!  thread 1: domains 1 …    ── its clone, queues 1 …       serves the others until then
//! ```
//!
//! A request arrives at the thread of the processor that it was made on, or at whichever thread
//! reads it; the thread of the inode's domain processes it ([`crate::forwarding`]). All threads
//! have opened their domains before the mount exists. If one fails, all end.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, scope};

use iolab_async_io::command_ring::Stop;
use iolab_fuse::channel::Channel;
use iolab_fuse::uring::Share;
use iolab_fuse::{FuseTransport, Observer, possible_cpus};
use iolab_logfs::{CoreDriver, CoreSetup, core_setups};

use crate::resources::{Mountable, SessionResources, duplicate};
use crate::serve::{MountThread, connect, permit, serve_connected};
use crate::session::Session;
use crate::wake_event::WakeEvent;
use crate::{MountError, Options};

/// Opens a thread's part, on that thread, while the others do the same.
pub type OpenPart<'a> = dyn Fn(CoreSetup) -> Result<(Mountable, CoreDriver), MountError> + Sync + 'a;

/// The connection, as passed to another thread.
type Connected = (Channel, FuseTransport);

/// As [`serve()`](crate::serve()), on this number of threads; the first is the calling one.
///
/// # Errors
/// [`MountError`]: the first failure.
pub fn serve_on_threads(
    open: &OpenPart<'_>,
    threads: usize,
    options: &Options,
    stop: &Stop,
    observer: Observer,
) -> Result<(), MountError> {
    let options = &permit(options, &observer);
    // The kernel has one queue for each processor: more threads would have none.
    let threads = threads.min(possible_cpus());
    let no_stop = |error| MountError::System("eventfd", error);
    let halts = (0..threads).map(|_| Stop::by_hand()).collect::<Result<Vec<Stop>, _>>().map_err(no_stop)?;
    let mut setups = core_setups(threads).into_iter();
    let first = setups.next().ok_or(MountError::Stalled)?;
    let halt_all: &(dyn Fn() + Sync) = &|| halts.iter().for_each(Stop::raise);
    let mount = &ThreadedMount { open, options, observer: &observer, halt_all };
    scope(|scope| {
        let (mut handles, mut senders, mut unstarted) = (Vec::new(), Vec::new(), None);
        for ((number, setup), halt) in setups.enumerate().zip(&halts[1..]) {
            let (sender, receiver) = channel();
            senders.push(sender);
            let share = Share { thread: number + 1, threads };
            let body = move || {
                let _panics = HaltOnPanic(halt_all);
                let served = mount.serve_other(setup, share, halt, &receiver);
                if served.is_err() {
                    halt_all();
                }
                served
            };
            match Builder::new().name(format!("domains-{}", number + 1)).spawn_scoped(scope, body) {
                Ok(handle) => handles.push(handle),
                Err(error) => unstarted = Some(MountError::System("starting a thread", error)),
            }
        }
        // If a thread did not start, its setup is dropped, and opening fails with that.
        let served = mount.serve_first(first, Share { thread: 0, threads }, &halts[0], stop, senders);
        halt_all();
        let panicked = |panicked| std::panic::resume_unwind(panicked);
        let others = handles.into_iter().map(|handle| handle.join().unwrap_or_else(panicked));
        // A thread that failed knows the cause; the first one only knows that it was halted.
        let failed: Vec<MountError> = unstarted.into_iter().chain(others.filter_map(Result::err)).collect();
        failed.into_iter().next().map_or(Ok(()), Err).and(served)
    })
}

/// Ends the other threads when its own thread panics.
struct HaltOnPanic<'a>(&'a (dyn Fn() + Sync));

impl Drop for HaltOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

/// The state shared by the threads of a mount.
struct ThreadedMount<'a> {
    open: &'a OpenPart<'a>,
    options: &'a Options,
    observer: &'a Observer,
    halt_all: &'a (dyn Fn() + Sync),
}

impl ThreadedMount<'_> {
    /// The first thread: from mounting to closing.
    fn serve_first(
        &self,
        setup: CoreSetup,
        share: Share,
        halt: &Stop,
        stop: &Stop,
        senders: Vec<Sender<Connected>>,
    ) -> Result<(), MountError> {
        let (mut session, mut driver, wake) = self.open_session(setup, share)?;
        let thread = MountThread { share, wake: Some(wake), halt: Some(halt) };
        let tell_others = |connection: &Channel, transport| {
            for sender in &senders {
                let fd = duplicate(connection.fd.as_fd())?;
                // A thread that is gone has failed, and has halted this one.
                let _gone = sender.send((Channel { fd }, transport));
            }
            Ok(())
        };
        let served = connect(&mut session, self.options, stop, self.observer, &thread, &tell_others);
        drop(senders);
        (self.halt_all)();
        session.report(self.observer);
        let closed = session.close(Some(&mut driver));
        // Unmount last: a process that sees the mount gone may open the image.
        let mount = served?;
        drop(mount);
        closed
    }

    /// Another thread: serves its share, and then the other threads until all is closed.
    fn serve_other(
        &self,
        setup: CoreSetup,
        share: Share,
        halt: &Stop,
        receiver: &Receiver<Connected>,
    ) -> Result<(), MountError> {
        let (mut session, mut driver, wake) = self.open_session(setup, share)?;
        let thread = MountThread { share, wake: Some(wake), halt: Some(halt) };
        // Without a connection the first thread has failed, and closes.
        let served = receiver.recv().map_or(Ok(()), |connected| serve_share(&mut session, connected, &thread));
        if served.is_err() {
            halt.raise();
        }
        session.report(self.observer);
        served.and(session.serve_others(&mut driver))
    }

    /// A thread's part of the file system, and the event that wakes the thread for messages of
    /// others.
    fn open_session(
        &self,
        setup: CoreSetup,
        share: Share,
    ) -> Result<(Session, CoreDriver, Arc<WakeEvent>), MountError> {
        let wake = Arc::new(WakeEvent::new()?);
        let waker = Arc::clone(&wake);
        setup.call_on_messages(move || waker.wake());
        let resources = SessionResources::new(self.options, share)?;
        let (what, driver) = (self.open)(setup)?;
        Ok((Session::new(what, resources, Some(Arc::clone(&wake))), driver, wake))
    }
}

fn serve_share(
    session: &mut Session,
    (main, transport): Connected,
    thread: &MountThread<'_>,
) -> Result<(), MountError> {
    // With io_uring, requests come through the queues of the one connection; a clone has its own
    // reads.
    let channel = if transport == FuseTransport::Uring { main } else { main.another()? };
    serve_connected(session, &channel, transport, thread, None, || ())
}
