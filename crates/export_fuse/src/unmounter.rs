//! What a stop means: the first asks for unmounting, the second for the end.
//!
//! Unmounting runs on a thread of its own, because the kernel may send requests before it lets go, and the server has to
//! answer them.

use std::thread::JoinHandle;

use crate::mount::{Mount, Unmounted};
use crate::options::Moment;
use crate::{ExportError, Options};

/// Turns stops into unmounting.
pub(crate) struct Unmounter<'a> {
    mount: Mount,
    options: &'a Options,
    running: Option<JoinHandle<()>>,
}

impl<'a> Unmounter<'a> {
    pub(crate) fn new(mount: Mount, options: &'a Options) -> Unmounter<'a> {
        Unmounter { mount, options, running: None }
    }

    /// A stop was raised. Whether the server has to end now, with whatever is going on.
    pub(crate) fn stop(&mut self) -> Result<bool, ExportError> {
        if self.running.is_some() {
            return Ok(true);
        }
        let (mount, observer) = (self.mount.clone(), self.options.observer.clone());
        let unmount = move || {
            let moment = match mount.unmount() {
                Unmounted::Gone => return,
                Unmounted::Busy => Moment::Busy,
                Unmounted::Failed(reason) => Moment::CannotUnmount(reason),
            };
            if let Some(observer) = observer {
                observer(&moment);
            }
        };
        let thread = std::thread::Builder::new().name("unmount".to_owned()).spawn(unmount);
        self.running = Some(thread.map_err(|error| ExportError::Connection("starting a thread", error))?);
        Ok(false)
    }

    /// Waits for the thread; the connection has to be closed, or its end to have been seen.
    pub(crate) fn join(self) {
        if let Some(thread) = self.running {
            // A panic of the observer has been printed where it happened.
            let _ = thread.join();
        }
    }
}
