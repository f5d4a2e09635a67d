//! An asynchronous event with the content of its log page.

use iolab_nvme_spec::event::AsynchronousEvent;
use iolab_nvme_spec::log::{AnaState, ErrorLogEntry, HealthLog};

/// An asynchronous event.
#[derive(Debug, Clone)]
pub struct AsyncEvent {
    /// What the device reported.
    pub reported: AsynchronousEvent,
    /// The content of its log page.
    pub detail: EventDetail,
}

/// The content of the log page of an event.
#[derive(Debug, Clone)]
pub enum EventDetail {
    /// Errors, newest first.
    Errors(Vec<ErrorLogEntry>),
    /// Health of the device.
    Health(Box<HealthLog>),
    /// Namespaces that have changed; `None` if there are more than fit into the list.
    Namespaces(Option<Vec<u32>>),
    /// Start LBAs of zones that have changed; `None` if there are more than fit into the list.
    Zones(Option<Vec<u64>>),
    /// How the controller reaches namespaces has changed.
    Access {
        /// How often so far: the page's Change Count.
        changes: u64,
        /// The state of each namespace that the page lists; empty if the page is inconsistent.
        states: Vec<(u32, AnaState)>,
    },
    /// A page that this driver does not read, or that the device refused.
    Unread,
}
