//! Interprets the answer to Connect: refused, admitted, or admitted after authentication.

use iolab_nvme_authentication::{AuthenticationLine, LineError, authenticate};
use iolab_nvme_driver::DriverError;
use iolab_nvme_fabrics::DISCOVERY_NAME;
use iolab_nvme_spec::fabrics::{ConnectAnswer, ConnectStatus};
use iolab_nvme_spec::{CompletionEntry, Status};

use crate::association::Association;
use crate::entropy::draw_entropy;

/// The message for users about a refused Connect, from its answer and dword 0.
#[cold]
pub fn refused(association: &Association, status: Status, result: u32) -> DriverError {
    let address = &association.address;
    let why = match status.code() {
        ConnectStatus::INVALID_HOST => format!("it does not admit host {}", address.host),
        ConnectStatus::CONTROLLER_BUSY => return DriverError::Disconnected("the target has no controller free".into()),
        ConnectStatus::INVALID_PARAMETERS if result == 1 << 16 | 256 => {
            format!("it has no subsystem {} (iolab nvme discover lists those it has)", address.subsystem)
        }
        ConnectStatus::INVALID_PARAMETERS => {
            let place = if result >> 16 & 1 != 0 { "data" } else { "command" };
            format!("it does not accept byte {} of the {place} of Connect", result & 0xffff)
        }
        status => format!("Connect failed: {status}"),
    };
    DriverError::Refused(format!("{}: {why}", address.at))
}

/// Authenticates if the answer to Connect requires it, or if the host wants to authenticate the
/// controller.
///
/// # Errors
/// One side does not trust the other, or does not support what it requires.
pub fn authenticate_if_wanted(
    association: &Association,
    answer: ConnectAnswer,
    line: &mut impl AuthenticationLine<Error = DriverError>,
) -> Result<(), DriverError> {
    let address = &association.address;
    let refused = |why: &str| DriverError::Refused(format!("{}: {why}", address.at));
    if answer.wants_secure_channel() {
        return Err(refused(
            "it wants a channel secured by TLS, which iolab does not have: let it ask for DH-HMAC-CHAP alone",
        ));
    }
    let wants_to_know = address.secrets.as_ref().is_some_and(|secrets| secrets.controller.is_some())
        && address.subsystem.as_str() != DISCOVERY_NAME;
    if !answer.wants_authentication() && !wants_to_know {
        return Ok(());
    }
    let Some(secrets) = &address.secrets else {
        return Err(refused(
            "it wants authentication (DH-HMAC-CHAP): add dhchap_secret=FILE, a file with this host's secret",
        ));
    };
    let entropy = draw_entropy().map_err(|error| refused(&format!("no randomness: {error}")))?;
    let names = (address.host.as_str(), address.subsystem.as_str());
    authenticate(line, secrets, names, &entropy).map_err(|error| match error {
        // Some targets close the connection before they have sent their answer.
        LineError::Line(DriverError::Disconnected(what)) => {
            let why =
                format!("{what}, while host {} was to prove who it is: perhaps its secret is wrong", address.host);
            DriverError::Disconnected(why)
        }
        LineError::Line(error) => error,
        error => refused(&format!("{error} (as host {})", address.host)),
    })
}

/// Whether a command of the authentication was executed.
///
/// # Errors
/// The controller does not authenticate.
pub fn succeeded(association: &Association, entry: &CompletionEntry) -> Result<(), DriverError> {
    if entry.status().is_success() {
        return Ok(());
    }
    let why = format!("it refuses authentication (DH-HMAC-CHAP): {}", entry.status());
    Err(DriverError::Refused(format!("{}: {why}", association.address.at)))
}
