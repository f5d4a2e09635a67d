//! Lets threads that are no cores, such as those of a multi-threaded program, run operations on a
//! core.

use super::messages::{Answer, Message, MessageSender};
use super::volume::Volume;
use super::worker::Work;
use crate::Error;

/// Sends work to a core. Clones lead to the same core, and any thread may use them.
#[derive(Debug, Clone)]
pub struct CoreSender {
    sender: MessageSender<Work>,
}

impl CoreSender {
    /// Runs some work on the core, with the core's handle of the file system. The caller does not
    /// wait; the work itself passes its result on.
    ///
    /// # Errors
    /// [`Error::Closed`] if the core is gone. A core that closes before the work is done may drop
    /// it.
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
    /// A sender to this core, for other threads.
    pub fn sender(&self) -> CoreSender {
        CoreSender { sender: self.worker.own_sender() }
    }
}
