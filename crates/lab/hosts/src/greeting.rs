//! How the ends of a connection find out that they speak the same language, and that both know the
//! secret.
//!
//! Both begin with the same [`MARK`], so that a program of another kind is told from an iolab of
//! another version.

use iolab_clock::Clock;

use crate::channel::{Channel, ChannelError, Patience};
use crate::message::{Hello, PROTOCOL, Proof, Welcome};
use crate::seal::{Nonces, SharedSecret, Side, nonce};

/// The first bytes of both ends.
pub(crate) const MARK: &[u8; 12] = b"iolab hosts\n";

/// The version of this program.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How long a greeting may take, ns.
pub(crate) const GREETING_NS: u64 = 10_000_000_000;

/// Why there is no connection, as a sentence.
pub(crate) type Reason = String;

/// The client's side.
///
/// # Errors
/// Why the server cannot be used.
pub(crate) fn greet(
    mut channel: Channel,
    secret: Option<&SharedSecret>,
    patience: Patience<'_>,
) -> Result<Channel, Reason> {
    let client = nonce().map_err(|error| format!("no randomness: {error}"))?;
    channel.queue_raw(MARK);
    channel.say(&Hello { protocol: PROTOCOL, version: VERSION.to_owned(), nonce: client });
    expect_mark(&mut channel, &patience).map_err(|error| match error {
        Greeted::Stranger => {
            "what answers is no server of iolab; fio's own server speaks another protocol, so run `iolab --server` there".to_owned()
        }
        Greeted::Broken(ChannelError::Closed) => {
            "it closed the connection at once: it is no server of iolab (fio's own speaks another protocol), or it does not accept this host"
                .to_owned()
        }
        Greeted::Broken(error) => error.to_string(),
    })?;
    let welcome = channel.receive(patience).and_then(|frame| frame.message());
    match (welcome.map_err(|error| error.to_string())?, secret) {
        (Welcome::Refused { reason }, _) => Err(reason),
        (Welcome::Goes { needs_secret: false, .. }, None) => Ok(channel),
        (Welcome::Goes { needs_secret: false, .. }, Some(_)) => {
            Err("the server asks for no secret, so it cannot prove that it is the right one: leave out --secret"
                .to_owned())
        }
        (Welcome::Goes { needs_secret: true, .. }, None) => {
            Err("the server asks for a secret: name the file that holds it with --secret=FILE".to_owned())
        }
        (Welcome::Goes { nonce: server, .. }, Some(secret)) => {
            let nonces = Nonces { server, client };
            channel.say(&Proof::Tag(secret.proof(Side::Client, &nonces)));
            let proof = channel.receive(patience).and_then(|frame| frame.message());
            match proof.map_err(|error| error.to_string())? {
                Proof::Refused { reason } => Err(reason),
                Proof::Tag(tag) if secret.is_proof(Side::Server, &nonces, &tag) => {
                    channel.seal(secret.seals(Side::Client, &nonces));
                    Ok(channel)
                }
                Proof::Tag(_) => Err("the server does not know the secret".to_owned()),
            }
        }
    }
}

/// The server's side.
///
/// # Errors
/// Why the client was turned away.
pub(crate) fn welcome(mut channel: Channel, secret: Option<&SharedSecret>, clock: &Clock) -> Result<Channel, Reason> {
    let patience = Patience::of(clock, GREETING_NS);
    expect_mark(&mut channel, &patience).map_err(|error| match error {
        Greeted::Stranger => {
            "what connected is no client of iolab (fio's own client speaks another protocol)".to_owned()
        }
        Greeted::Broken(error) => error.to_string(),
    })?;
    channel.queue_raw(MARK);
    let hello: Hello =
        channel.receive(patience).and_then(|frame| frame.message()).map_err(|error| error.to_string())?;
    if (hello.protocol, hello.version.as_str()) != (PROTOCOL, VERSION) {
        let reason = format!(
            "the server is iolab {VERSION} (protocol {PROTOCOL}), the client is iolab {} (protocol {}): run the same version on both",
            hello.version, hello.protocol
        );
        channel.say(&Welcome::Refused { reason: reason.clone() });
        return Err(turned_away(channel, &patience, reason));
    }
    let server = nonce().map_err(|error| format!("no randomness: {error}"))?;
    channel.say(&Welcome::Goes { needs_secret: secret.is_some(), nonce: server });
    if let Some(secret) = secret {
        let nonces = Nonces { server, client: hello.nonce };
        let proof = channel.receive(patience).and_then(|frame| frame.message());
        let is_right = match proof.map_err(|error| error.to_string())? {
            Proof::Tag(tag) => secret.is_proof(Side::Client, &nonces, &tag),
            Proof::Refused { .. } => false,
        };
        if !is_right {
            let reason = "the client does not know the secret of the server: compare the files that --secret names";
            channel.say(&Proof::Refused { reason: reason.to_owned() });
            return Err(turned_away(channel, &patience, reason.to_owned()));
        }
        channel.say(&Proof::Tag(secret.proof(Side::Server, &nonces)));
        channel.send_all(&patience).map_err(|error| error.to_string())?;
        channel.seal(secret.seals(Side::Server, &nonces));
    }
    channel.send_all(&patience).map_err(|error| error.to_string())?;
    Ok(channel)
}

/// The client is told the reason, if it still listens.
fn turned_away(mut channel: Channel, patience: &Patience<'_>, reason: Reason) -> Reason {
    let _ = channel.send_all(patience);
    reason
}

enum Greeted {
    Stranger,
    Broken(ChannelError),
}

/// The mark, or as soon as a byte differs, that there is none.
fn expect_mark(channel: &mut Channel, patience: &Patience<'_>) -> Result<(), Greeted> {
    loop {
        let come = channel.untaken();
        let known = come.len().min(MARK.len());
        if come[..known] != MARK[..known] {
            return Err(Greeted::Stranger);
        }
        if channel.take_raw(MARK.len()).is_some() {
            return Ok(());
        }
        channel.wait_for_more(patience).map_err(Greeted::Broken)?;
    }
}

#[cfg(test)]
mod tests;
