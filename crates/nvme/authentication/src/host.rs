//! The host's side of an exchange.

use std::fmt;

use crate::group::DhGroup;
use crate::hash::HashFunction;
use crate::message::{AuthenticationFailure, Challenge, Negotiate, Reply, head, kind};
use crate::message::{read_failure, read_success1, write_failure, write_success2};
use crate::response::{Entropy, Question, Role};
use crate::secret::Secret;

/// The secrets of a host and of the subsystem that it uses.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct HostSecrets {
    /// The secret with which the host authenticates.
    pub host: Secret,
    /// The secret with which the controller authenticates.
    pub controller: Option<Secret>,
}

/// Carries messages to a controller and back.
pub trait AuthenticationLine {
    /// Why a message could not be carried.
    type Error;

    /// Executes Authentication Send.
    fn send(&mut self, message: &[u8]) -> Result<(), Self::Error>;

    /// Executes Authentication Receive, for at most this many bytes.
    fn receive(&mut self, most: usize) -> Result<Vec<u8>, Self::Error>;
}

/// Why an authentication failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineError<E> {
    /// The commands failed.
    Line(E),
    /// The controller has reported the reason.
    Controller(AuthenticationFailure),
    /// The controller failed to authenticate.
    Impostor,
    /// The controller sent an invalid message.
    Nonsense(AuthenticationFailure),
}

impl<E: fmt::Display> fmt::Display for LineError<E> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineError::Line(error) => error.fmt(out),
            LineError::Controller(failure) => write!(out, "the controller refuses the authentication: {failure}"),
            LineError::Impostor => out
                .write_str("the controller has not proved who it is: its secret is another than the one given for it"),
            LineError::Nonsense(failure) => write!(out, "the authentication by the controller goes wrong: {failure}"),
        }
    }
}

impl<E> From<AuthenticationFailure> for LineError<E> {
    fn from(failure: AuthenticationFailure) -> LineError<E> {
        LineError::Nonsense(failure)
    }
}

/// Authenticates the host to a controller, and the controller to the host if there is a secret for
/// that.
///
/// # Errors
/// The exchange did not complete. The controller was notified of the reason, if it does not know
/// it.
pub fn authenticate<L: AuthenticationLine>(
    line: &mut L,
    secrets: &HostSecrets,
    (host, subsystem): (&str, &str),
    entropy: &Entropy,
) -> Result<(), LineError<L::Error>> {
    let transaction = entropy.transaction();
    let outcome = exchange(line, secrets, (host, subsystem), entropy);
    let failure = match &outcome {
        Err(LineError::Impostor) => AuthenticationFailure::FAILED,
        Err(LineError::Nonsense(failure)) => *failure,
        _ => return outcome,
    };
    // The reason is already known.
    let _ = line.send(&write_failure(kind::FAILURE2, transaction, failure));
    outcome
}

fn exchange<L: AuthenticationLine>(
    line: &mut L,
    secrets: &HostSecrets,
    (host, subsystem): (&str, &str),
    entropy: &Entropy,
) -> Result<(), LineError<L::Error>> {
    let transaction = entropy.transaction();
    line.send(&Negotiate::write(transaction)).map_err(LineError::Line)?;
    let message = expect(line, kind::CHALLENGE, transaction)?;
    let challenge = Challenge::read(&message).ok_or(AuthenticationFailure::PAYLOAD)?;
    let hash = HashFunction::of_identifier(challenge.hash).ok_or(AuthenticationFailure::NO_HASH)?;
    let group = DhGroup::of_identifier(challenge.group).ok_or(AuthenticationFailure::NO_GROUP)?;
    if challenge.value.len() != hash.bytes() || challenge.public.len() != group.bytes() {
        return Err(AuthenticationFailure::PAYLOAD.into());
    }
    let shared = match group {
        DhGroup::Null => None,
        _ => {
            let shared = group.shared_secret(&entropy.exponent(), &challenge.public);
            Some(shared.ok_or(AuthenticationFailure::PAYLOAD)?)
        }
    };
    let asked = Question::new(hash, (&challenge.value, challenge.sequence), shared.as_deref(), transaction);
    let own = secrets.controller.as_ref().map(|_| (entropy.challenge(hash).to_vec(), entropy.sequence()));
    let reply = Reply {
        transaction,
        response: asked.answer(&secrets.host, &Role::host(host, subsystem)),
        challenge: own.clone(),
        public: group.public_value(&entropy.exponent()),
    };
    line.send(&reply.write()).map_err(LineError::Line)?;
    let message = expect(line, kind::SUCCESS1, transaction)?;
    let response = read_success1(&message).ok_or(AuthenticationFailure::PAYLOAD)?;
    let (Some(secret), Some((challenge, sequence))) = (&secrets.controller, own) else { return Ok(()) };
    let asked = Question::new(hash, (&challenge, sequence), shared.as_deref(), transaction);
    let role = Role::controller(host, subsystem);
    match response {
        Some(response) if asked.is_answered(&response, secret, &role) => {
            line.send(&write_success2(transaction)).map_err(LineError::Line)
        }
        _ => Err(LineError::Impostor),
    }
}

/// Receives a message: the expected one, or the controller's failure.
fn expect<L: AuthenticationLine>(
    line: &mut L,
    expected: (u8, u8),
    transaction: u16,
) -> Result<Vec<u8>, LineError<L::Error>> {
    let message = line.receive(crate::message::MOST_MESSAGE_BYTES).map_err(LineError::Line)?;
    match head(&message) {
        Some((kind::FAILURE1, _)) => Err(LineError::Controller(read_failure(&message))),
        Some((found, of)) if found == expected && of == transaction => Ok(message),
        _ => Err(AuthenticationFailure::MESSAGE.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::{ControllerExchange, ExchangeRefusal, ExchangeStage, Preferences};
    use crate::response::ENTROPY_BYTES;

    const NAMES: (&str, &str) = ("nqn.2014-08.org.nvmexpress:uuid:host", "nqn.2014-08.org.nvmexpress:uuid:drive");

    /// A controller behind a connection that may change its messages.
    struct Line<F> {
        controller: ControllerExchange,
        change: F,
    }

    impl<F: FnMut(&mut Vec<u8>)> AuthenticationLine for Line<F> {
        type Error = ExchangeRefusal;

        fn send(&mut self, message: &[u8]) -> Result<(), ExchangeRefusal> {
            self.controller.take(message)
        }

        fn receive(&mut self, most: usize) -> Result<Vec<u8>, ExchangeRefusal> {
            let mut message = self.controller.give()?;
            (self.change)(&mut message);
            // A buffer is longer than its contents.
            message.resize(most, 0);
            Ok(message)
        }
    }

    fn entropy(seed: u8) -> Entropy {
        let mut bytes = [0; ENTROPY_BYTES];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = (at as u8).wrapping_mul(31).wrapping_add(seed);
        }
        Entropy(bytes)
    }

    fn secret(fill: u8, transform: Option<HashFunction>) -> Secret {
        let bytes = vec![fill; transform.map_or(32, HashFunction::bytes)];
        Secret::new(&bytes, transform).unwrap()
    }

    type Outcome = (Result<(), LineError<ExchangeRefusal>>, ExchangeStage);

    fn meet(
        of_host: &HostSecrets,
        of_controller: &HostSecrets,
        preferences: &Preferences,
        change: impl FnMut(&mut Vec<u8>),
    ) -> Outcome {
        let controller = ControllerExchange::new(of_controller.clone(), NAMES, preferences, entropy(1));
        let mut line = Line { controller, change };
        let outcome = authenticate(&mut line, of_host, NAMES, &entropy(99));
        (outcome, line.controller.stage())
    }

    #[test]
    fn those_who_know_the_secrets_trust_each_other_with_every_hash_and_group() {
        for hash in HashFunction::ALL {
            for group in [DhGroup::Null, DhGroup::Ffdhe2048, DhGroup::Ffdhe3072] {
                for controller in [None, Some(secret(2, Some(HashFunction::Sha512)))] {
                    let secrets = HostSecrets { host: secret(1, Some(hash)), controller };
                    let preferences = Preferences { hashes: vec![hash], groups: vec![group] };
                    let outcome = meet(&secrets, &secrets, &preferences, |_| {});
                    assert_eq!(outcome, (Ok(()), ExchangeStage::Succeeded), "{hash} {group}");
                }
            }
        }
        for group in &DhGroup::ALL[3..] {
            let secrets = HostSecrets { host: secret(1, None), controller: None };
            let preferences = Preferences { groups: vec![*group], ..Preferences::default() };
            let outcome = meet(&secrets, &secrets, &preferences, |_| {});
            assert_eq!(outcome, (Ok(()), ExchangeStage::Succeeded), "{group}");
        }
    }

    #[test]
    fn a_wrong_secret_is_found_by_the_one_who_asked() {
        let right = HostSecrets { host: secret(1, None), controller: Some(secret(2, None)) };
        let wrong_host = HostSecrets { host: secret(3, None), ..right.clone() };
        let wrong_controller = HostSecrets { controller: Some(secret(3, None)), ..right.clone() };
        let failed = AuthenticationFailure::FAILED;
        for preferences in
            [Preferences::default(), Preferences { groups: vec![DhGroup::Null], ..Preferences::default() }]
        {
            let outcome = meet(&wrong_host, &right, &preferences, |_| {});
            assert_eq!(outcome, (Err(LineError::Controller(failed)), ExchangeStage::Failed(failed)));
            let outcome = meet(&wrong_controller, &right, &preferences, |_| {});
            assert_eq!(outcome, (Err(LineError::Impostor), ExchangeStage::Failed(failed)));
            // The controller has no secret of its own.
            let unknown = HostSecrets { controller: None, ..right.clone() };
            let outcome = meet(&right, &unknown, &preferences, |_| {});
            assert_eq!(outcome, (Err(LineError::Controller(failed)), ExchangeStage::Failed(failed)));
        }
        let text = LineError::<String>::Controller(failed).to_string();
        assert_eq!(text, "the controller refuses the authentication: the secret does not match");
    }

    #[test]
    fn an_impostor_that_answers_without_a_response_is_found() {
        let right = HostSecrets { host: secret(1, None), controller: Some(secret(2, None)) };
        let preferences = Preferences { groups: vec![DhGroup::Null], ..Preferences::default() };
        let outcome = meet(&right, &right, &preferences, |message| {
            if message[1] == kind::SUCCESS1.1 {
                message[8] = 0;
            }
        });
        assert_eq!(outcome.0, Err(LineError::Impostor));
    }

    #[test]
    fn every_changed_byte_of_a_challenge_is_survived() {
        let secrets = HostSecrets { host: secret(1, None), controller: None };
        let preferences = Preferences { groups: vec![DhGroup::Null], ..Preferences::default() };
        for at in 0..48 {
            let (outcome, stage) = meet(&secrets, &secrets, &preferences, |message| {
                if message[1] == kind::CHALLENGE.1 {
                    message[at] ^= 0x55;
                }
            });
            // Reserved bytes may have any value.
            let is_reserved = matches!(at, 2 | 3 | 7);
            assert_eq!(outcome.is_ok(), is_reserved, "byte {at}: {outcome:?} {stage:?}");
        }
    }

    #[test]
    fn nothing_in_common_is_said() {
        let secrets = HostSecrets { host: secret(1, None), controller: None };
        let no_hash = Preferences { hashes: Vec::new(), ..Preferences::default() };
        let outcome = meet(&secrets, &secrets, &no_hash, |_| {});
        assert_eq!(outcome.0, Err(LineError::Controller(AuthenticationFailure::NO_HASH)));
        let no_group = Preferences { groups: Vec::new(), ..Preferences::default() };
        let outcome = meet(&secrets, &secrets, &no_group, |_| {});
        assert_eq!(outcome.0, Err(LineError::Controller(AuthenticationFailure::NO_GROUP)));
    }

    #[test]
    fn messages_out_of_turn_are_refused_or_answered_with_a_failure() {
        let secrets = HostSecrets { host: secret(1, None), controller: None };
        let mut controller = ControllerExchange::new(secrets, NAMES, &Preferences::default(), entropy(1));
        assert_eq!(controller.give(), Err(ExchangeRefusal));
        assert_eq!(controller.take(&write_success2(1)), Ok(()));
        assert_eq!(controller.take(&Negotiate::write(1)), Err(ExchangeRefusal));
        assert_eq!(read_failure(&controller.give().unwrap()), AuthenticationFailure::MESSAGE);
        assert_eq!(controller.stage(), ExchangeStage::Failed(AuthenticationFailure::MESSAGE));
        assert_eq!(controller.take(&[]), Err(ExchangeRefusal));
    }
}
