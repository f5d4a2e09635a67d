//! The way to a core for threads that are no cores: programs with threads of their own, whose
//! operations the cores carry out.

use super::messages::{Answer, Message, MessageSender};
use super::volume::Volume;
use super::worker::Work;
use crate::Error;

/// Sends work to a core. Clones lead to the same one, and may be used by any thread.
#[derive(Debug, Clone)]
pub struct CoreSender {
    sender: MessageSender<Work>,
}

impl CoreSender {
    /// Has some work done on the core, with its handle of the file system; the caller does not wait
    /// for it, and the work itself passes its result on.
    ///
    /// # Errors
    /// [`Error::Closed`] if the core is gone. One that closes meanwhile may drop the work.
    pub fn send(&self, work: impl AsyncFnOnce(Volume) + Send + 'static) -> Result<(), Error> {
        let work: Work = Box::new(|worker| {
            Box::pin(async move {
                work(Volume::new(worker)).await;
                Box::new(()) as Answer
            })
        });
        self.sender.send(Message::Order { work })
    }
}

impl Volume {
    /// A way to this core for other threads.
    pub fn sender(&self) -> CoreSender {
        CoreSender { sender: self.worker.own_sender() }
    }
}
