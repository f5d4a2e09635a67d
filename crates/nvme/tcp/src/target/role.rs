//! The role of a connection: none yet, or one of the queues.

use iolab_nvme_spec::{Status, SubmissionEntry};
use iolab_virtual_ssd::CommandError;

use super::admin_role::AdminRole;
use super::authenticating_role::AuthenticatingRole;
use super::discovery_role::DiscoveryRole;
use super::io_role::IoRole;
use super::queue::Queue;
use super::window::Window;

/// The role of a connection.
#[derive(Debug)]
pub(super) enum Role {
    /// Nothing has been negotiated yet.
    Fresh(Window),
    /// The target waits for Connect.
    Unconnected(Window),
    Admin(Box<AdminRole>),
    Io(Box<IoRole>),
    Discovery(Box<DiscoveryRole>),
    /// A queue whose host has not authenticated yet.
    Authenticating(Box<AuthenticatingRole>),
    /// Its end was announced; received bytes are ignored.
    Ended(Window),
}

impl Role {
    #[inline]
    pub(super) fn window(&mut self) -> &mut Window {
        match self {
            Role::Io(role) => role.window(),
            Role::Fresh(window) | Role::Unconnected(window) | Role::Ended(window) => window,
            Role::Admin(role) => &mut role.window,
            Role::Discovery(role) => &mut role.window,
            Role::Authenticating(role) => role.queue.window(),
        }
    }

    /// Whether a command may be taken.
    #[inline]
    pub(super) fn has_room(&self) -> bool {
        if let Role::Io(role) = self { role.queue.has_room() } else { true }
    }

    #[inline]
    pub(super) fn parts(&mut self) -> Option<(&mut Window, &mut Queue)> {
        match self {
            Role::Io(role) => Some(role.parts()),
            Role::Admin(role) => Some((&mut role.window, &mut role.queue)),
            Role::Discovery(role) => Some((&mut role.window, &mut role.queue)),
            Role::Authenticating(role) => role.queue.parts(),
            _ => None,
        }
    }
}

/// Answers a command that cannot be executed.
#[cold]
pub(super) fn refuse(role: &mut Role, entry: &SubmissionEntry, status: Status) {
    let error = match status {
        Status::TRANSIENT_TRANSPORT_ERROR => CommandError::transient(status),
        _ => CommandError::permanent(status),
    };
    match role {
        Role::Io(role) => role.fail(entry, error),
        Role::Admin(role) => role.fail(entry, error),
        Role::Discovery(role) => role.fail(entry, status),
        Role::Authenticating(role) => refuse(&mut role.queue, entry, status),
        _ => {}
    }
}
