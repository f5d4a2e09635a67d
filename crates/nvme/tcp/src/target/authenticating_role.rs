//! The role of a connection whose host has connected a queue and must authenticate first.

use iolab_nvme_authentication::{ControllerExchange, ExchangeStage};
use iolab_nvme_fabrics::FabricsCommand;
use iolab_nvme_spec::fabrics::ConnectStatus;
use iolab_nvme_spec::{Status, SubmissionEntry};
use iolab_virtual_ssd::{Answer, CommandError, DataDirection, DataWindow};

use super::io_role::After;
use super::queue::When;
use super::role::{Role, refuse};
use super::transfers::Gathered;
use super::window::Source;

/// The most bytes of a message that a host may request at once.
const MOST_RECEIVED_BYTES: u32 = 64 << 10;

/// An authentication on a queue.
#[derive(Debug)]
pub(super) struct AuthenticatingRole {
    /// The role of the connection after the host has authenticated.
    pub(super) queue: Role,
    exchange: ControllerExchange,
}

impl AuthenticatingRole {
    pub(super) fn new(queue: Role, exchange: ControllerExchange) -> AuthenticatingRole {
        AuthenticatingRole { queue, exchange }
    }

    /// Whether a command sends data.
    pub(super) fn gives_data(entry: &SubmissionEntry) -> bool {
        matches!(FabricsCommand::of(entry), Some(FabricsCommand::AuthenticationSend { .. }))
    }

    /// Whether the host has authenticated.
    pub(super) fn has_succeeded(&self) -> bool {
        self.exchange.stage() == ExchangeStage::Succeeded
    }

    /// Executes a command whose data the window describes.
    pub(super) fn execute(&mut self, entry: &SubmissionEntry) -> After {
        let outcome = self.step(entry);
        match outcome {
            Ok(()) => {
                if let Some((window, queue)) = self.queue.parts() {
                    queue.answer(window, entry.cid(), Answer::success(0), When::NOW);
                }
            }
            Err(status) => refuse(&mut self.queue, entry, status),
        }
        self.queue.window().source = Source::Nowhere;
        match self.exchange.stage() {
            ExchangeStage::Failed(_) => After::End,
            _ => After::GoOn,
        }
    }

    /// Executes a command whose data was gathered.
    pub(super) fn execute_gathered(&mut self, gathered: Gathered) -> After {
        if gathered.is_damaged {
            refuse(&mut self.queue, &gathered.entry, Status::TRANSIENT_TRANSPORT_ERROR);
            return After::GoOn;
        }
        self.queue.window().source = Source::Gathered(gathered.data);
        self.execute(&gathered.entry)
    }

    fn step(&mut self, entry: &SubmissionEntry) -> Result<(), Status> {
        let window = self.queue.window();
        match FabricsCommand::of(entry) {
            Some(FabricsCommand::AuthenticationSend { bytes: Some(bytes) }) => {
                let message = window.brought().get(..bytes as usize).ok_or(Status::DATA_SGL_LENGTH_INVALID)?;
                self.exchange.take(message).map_err(|_| Status::COMMAND_SEQUENCE_ERROR)
            }
            Some(FabricsCommand::AuthenticationReceive { bytes: Some(bytes) }) if bytes <= MOST_RECEIVED_BYTES => {
                let located = window.locate(entry, DataDirection::ToHost, bytes as usize);
                located.map_err(|CommandError { status, .. }| status.code())?;
                let mut message = self.exchange.give().map_err(|_| Status::COMMAND_SEQUENCE_ERROR)?;
                // If the host has too little room for a message, the rest of the message is lost.
                message.resize(bytes as usize, 0);
                window.write(&message).map_err(|_| Status::DATA_TRANSFER_ERROR)
            }
            Some(FabricsCommand::AuthenticationSend { .. } | FabricsCommand::AuthenticationReceive { .. }) => {
                Err(Status::INVALID_FIELD)
            }
            _ => Err(ConnectStatus::AUTHENTICATION_REQUIRED),
        }
    }
}
