//! Handles stops: the first one requests unmounting, the second one ends the server.
//!
//! Unmounting runs in a separate thread, because the kernel may send requests before it releases
//! the mount, and the server has to answer them.

use std::thread::JoinHandle;

use crate::FuseError;
use crate::moment::{FuseEvent, Observer};
use crate::mount::{Mount, Unmounted};

/// Handles stops by unmounting.
pub struct Unmounter {
    mount: Mount,
    observer: Option<Observer>,
    running: Option<JoinHandle<()>>,
}

impl std::fmt::Debug for Unmounter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Unmounter({:?})", self.mount)
    }
}

impl Unmounter {
    /// Creates an unmounter of this mount. The observer is notified if it cannot be unmounted.
    pub fn new(mount: Mount, observer: Option<Observer>) -> Unmounter {
        Unmounter { mount, observer, running: None }
    }

    /// Handles a stop. Returns whether the server must end now, whatever is in progress.
    pub(crate) fn stop(&mut self) -> Result<bool, FuseError> {
        if self.running.is_some() {
            return Ok(true);
        }
        let (mount, observer) = (self.mount.clone(), self.observer.clone());
        let unmount = move || {
            let moment = match mount.unmount() {
                Unmounted::Gone => return,
                Unmounted::Busy => FuseEvent::Busy,
                Unmounted::Failed(reason) => FuseEvent::CannotUnmount(reason),
            };
            if let Some(observer) = observer {
                observer(&moment);
            }
        };
        let thread = std::thread::Builder::new().name("unmount".to_owned()).spawn(unmount);
        self.running = Some(thread.map_err(|error| FuseError::Connection("starting a thread", error))?);
        Ok(false)
    }

    /// Waits for the thread. The connection must be closed, or its end must have been seen.
    pub fn join(self) {
        if let Some(thread) = self.running {
            // If the observer panicked, the panic has already been printed.
            let _ = thread.join();
        }
    }
}
