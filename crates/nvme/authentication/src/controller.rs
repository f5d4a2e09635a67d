//! The controller's side of an exchange.

use crate::group::DhGroup;
use crate::hash::HashFunction;
use crate::host::HostSecrets;
use crate::message::{AuthenticationFailure, Challenge, Negotiate, Reply, head, kind};
use crate::message::{write_failure, write_success1};
use crate::response::{Entropy, Question, Role};

/// Hash functions and groups that a controller accepts, preferred ones first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preferences {
    /// Hash functions.
    pub hashes: Vec<HashFunction>,
    /// Groups.
    pub groups: Vec<DhGroup>,
}

impl Default for Preferences {
    /// Accepts everything; prefers "no group" only if both sides support no other group.
    fn default() -> Preferences {
        let mut groups = DhGroup::ALL.to_vec();
        groups.rotate_left(1);
        Preferences { hashes: HashFunction::ALL.to_vec(), groups }
    }
}

/// The state of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExchangeStage {
    /// It continues.
    Running,
    /// The host has authenticated and, if it wanted to, has authenticated the controller.
    Succeeded,
    /// It has failed, and the host was notified or knows it itself.
    Failed(AuthenticationFailure),
}

/// A command of the host that is not allowed now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExchangeRefusal;

#[derive(Debug)]
enum State {
    AwaitsNegotiation,
    /// A message for the host is ready; the contained state follows it.
    Owes(Vec<u8>, Box<State>),
    AwaitsReply {
        group: DhGroup,
        challenge: Vec<u8>,
        hash: HashFunction,
    },
    /// The host checks the controller's response.
    AwaitsVerdict,
    Succeeded,
    Failed(AuthenticationFailure),
}

/// One authentication of a host.
#[derive(Debug)]
pub struct ControllerExchange {
    secrets: HostSecrets,
    host: String,
    subsystem: String,
    preferences: Preferences,
    entropy: Entropy,
    transaction: u16,
    state: State,
}

impl ControllerExchange {
    /// Begins an exchange with the known data of the host.
    pub fn new(
        secrets: HostSecrets,
        (host, subsystem): (&str, &str),
        preferences: &Preferences,
        entropy: Entropy,
    ) -> ControllerExchange {
        ControllerExchange {
            secrets,
            host: host.to_owned(),
            subsystem: subsystem.to_owned(),
            preferences: preferences.clone(),
            entropy,
            transaction: 0,
            state: State::AwaitsNegotiation,
        }
    }

    /// The current state.
    pub fn stage(&self) -> ExchangeStage {
        match &self.state {
            State::Succeeded => ExchangeStage::Succeeded,
            State::Failed(failure) => ExchangeStage::Failed(*failure),
            _ => ExchangeStage::Running,
        }
    }

    /// Takes the message of an Authentication Send command. The next Authentication Receive reports
    /// an error in it.
    ///
    /// # Errors
    /// The host must first receive a message, or the exchange is over.
    pub fn take(&mut self, message: &[u8]) -> Result<(), ExchangeRefusal> {
        let next = match &self.state {
            State::Owes(..) | State::Succeeded | State::Failed(_) => return Err(ExchangeRefusal),
            State::AwaitsNegotiation => self.negotiated(message),
            State::AwaitsReply { group, challenge, hash } => self.replied(message, (*group, *hash), challenge),
            State::AwaitsVerdict => match head(message) {
                Some((kind::SUCCESS2, transaction)) if transaction == self.transaction => Ok(State::Succeeded),
                Some((kind::FAILURE2, _)) => Ok(State::Failed(crate::message::read_failure(message))),
                _ => Err(AuthenticationFailure::MESSAGE),
            },
        };
        if let (State::AwaitsNegotiation, Some((_, transaction))) = (&self.state, head(message)) {
            self.transaction = transaction;
        }
        self.state = next.unwrap_or_else(|failure| {
            let message = write_failure(kind::FAILURE1, self.transaction, failure);
            State::Owes(message, Box::new(State::Failed(failure)))
        });
        Ok(())
    }

    /// The message for an Authentication Receive command.
    ///
    /// # Errors
    /// No message is ready.
    pub fn give(&mut self) -> Result<Vec<u8>, ExchangeRefusal> {
        match std::mem::replace(&mut self.state, State::Succeeded) {
            State::Owes(message, next) => {
                self.state = *next;
                Ok(message)
            }
            other => {
                self.state = other;
                Err(ExchangeRefusal)
            }
        }
    }

    fn negotiated(&self, message: &[u8]) -> Result<State, AuthenticationFailure> {
        match head(message) {
            Some((kind::NEGOTIATE, _)) => {}
            _ => return Err(AuthenticationFailure::MESSAGE),
        }
        let negotiate = Negotiate::read(message).ok_or(AuthenticationFailure::PAYLOAD)?;
        if negotiate.wants_secure_channel {
            return Err(AuthenticationFailure::CONCATENATION);
        }
        let (hashes, groups) = negotiate.offered.ok_or(AuthenticationFailure::NO_PROTOCOL)?;
        let of_hash = |one: &&HashFunction| hashes.contains(&one.identifier());
        let hash = *self.preferences.hashes.iter().find(of_hash).ok_or(AuthenticationFailure::NO_HASH)?;
        let of_group = |one: &&DhGroup| groups.contains(&one.identifier());
        let group = *self.preferences.groups.iter().find(of_group).ok_or(AuthenticationFailure::NO_GROUP)?;
        let challenge = self.entropy.challenge(hash).to_vec();
        let message = Challenge {
            transaction: negotiate.transaction,
            hash: hash.identifier(),
            group: group.identifier(),
            sequence: self.entropy.sequence(),
            value: challenge.clone(),
            public: group.public_value(&self.entropy.exponent()),
        };
        Ok(State::Owes(message.write(), Box::new(State::AwaitsReply { group, challenge, hash })))
    }

    fn replied(
        &self,
        message: &[u8],
        (group, hash): (DhGroup, HashFunction),
        challenge: &[u8],
    ) -> Result<State, AuthenticationFailure> {
        match head(message) {
            Some((kind::REPLY, transaction)) if transaction == self.transaction => {}
            _ => return Err(AuthenticationFailure::MESSAGE),
        }
        let reply = Reply::read(message).ok_or(AuthenticationFailure::PAYLOAD)?;
        if reply.response.len() != hash.bytes() || reply.public.len() != group.bytes() {
            return Err(AuthenticationFailure::PAYLOAD);
        }
        let shared = match group {
            DhGroup::Null => None,
            _ => {
                let shared = group.shared_secret(&self.entropy.exponent(), &reply.public);
                Some(shared.ok_or(AuthenticationFailure::PAYLOAD)?)
            }
        };
        let asked = Question::new(hash, (challenge, self.entropy.sequence()), shared.as_deref(), self.transaction);
        let role = Role::host(&self.host, &self.subsystem);
        if !asked.is_answered(&reply.response, &self.secrets.host, &role) {
            return Err(AuthenticationFailure::FAILED);
        }
        let Some((challenge, sequence)) = reply.challenge else {
            let message = write_success1(self.transaction, hash.bytes(), None);
            return Ok(State::Owes(message, Box::new(State::Succeeded)));
        };
        // The host wants to authenticate the controller, but there may be no secret for that.
        let own = self.secrets.controller.as_ref().ok_or(AuthenticationFailure::FAILED)?;
        // If the host's challenge equals ours, the host could return our answer as its own.
        if challenge == self.entropy.challenge(hash) || sequence == 0 {
            return Err(AuthenticationFailure::PAYLOAD);
        }
        let asked = Question::new(hash, (&challenge, sequence), shared.as_deref(), self.transaction);
        let answer = asked.answer(own, &Role::controller(&self.host, &self.subsystem));
        let message = write_success1(self.transaction, hash.bytes(), Some(&answer));
        Ok(State::Owes(message, Box::new(State::AwaitsVerdict)))
    }
}
