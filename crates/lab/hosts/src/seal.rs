//! The shared secret of a server and its clients: each proves that it knows it, and every later
//! frame carries a tag that only the other can have made.
//!
//! ```text
//!  S, C: 32 random bytes of server and client          H(k, …) is HMAC-SHA-256 (RFC 2104)
//!
//!  client ─▶ server   H(secret, "iolab client" S C)
//!  server ─▶ client   H(secret, "iolab server" S C)
//!  key of a direction H(secret, "iolab frames of the client" S C), "… of the server"
//!  tag of a frame     H(key, number of the frame, kind, payload)
//! ```
//!
//! Tags are compared in constant time. The content of frames is not encrypted.

use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hmac::{Hmac, Mac};
use iolab_activity::Failure;
use sha2::Sha256;

/// Bytes of a random number.
pub(crate) const NONCE_BYTES: usize = 32;
/// Bytes of a proof, and of a tag.
pub(crate) const TAG_BYTES: usize = 32;
/// A shorter secret can be guessed.
const SHORTEST_SECRET: usize = 16;

/// A proof, or the tag of a frame.
pub(crate) type Tag = [u8; TAG_BYTES];

/// The secret.
#[derive(Clone, PartialEq, Eq)]
pub struct SharedSecret(Vec<u8>);

/// Not shown.
impl fmt::Debug for SharedSecret {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Secret")
    }
}

impl SharedSecret {
    /// Reads the secret from a file that only its owner may read. A line break at its end does not
    /// count.
    ///
    /// # Errors
    /// It cannot be read, others may read it, or it is too short.
    pub fn read(path: &Path) -> Result<SharedSecret, Failure> {
        let named = |what: String| Failure::mistake(format!("{}: {what}", path.display()));
        let file = iolab_bounded_read::open(path).map_err(|error| named(error.to_string()))?;
        let mode = file.metadata().map_err(|error| named(error.to_string()))?.mode();
        if mode & 0o077 != 0 {
            return Err(named("others may read this secret: run `chmod 600` on it".to_owned()));
        }
        let bytes = iolab_bounded_read::read_open(&file, iolab_bounded_read::SECRETS)
            .map_err(|error| named(error.to_string()))?;
        SharedSecret::of(bytes.trim_ascii_end()).map_err(named)
    }

    /// The secret that these bytes are.
    ///
    /// # Errors
    /// There are too few.
    pub fn of(bytes: &[u8]) -> Result<SharedSecret, String> {
        if bytes.len() < SHORTEST_SECRET {
            return Err(format!(
                "a secret has at least {SHORTEST_SECRET} bytes: make one with `head -c 32 /dev/urandom | base64`"
            ));
        }
        Ok(SharedSecret(bytes.to_vec()))
    }

    fn mac(&self, label: &str, nonces: &Nonces) -> Hmac<Sha256> {
        fed(&self.0, &[label.as_bytes(), &nonces.server, &nonces.client])
    }

    /// What `side` shows to prove that it knows the secret.
    pub(crate) fn proof(&self, side: Side, nonces: &Nonces) -> Tag {
        self.mac(side.proof_label(), nonces).finalize().into_bytes().into()
    }

    /// Whether a proof of `side` is right.
    pub(crate) fn is_proof(&self, side: Side, nonces: &Nonces, proof: &Tag) -> bool {
        self.mac(side.proof_label(), nonces).verify_slice(proof).is_ok()
    }

    /// The tags of the frames that `own` sends and receives.
    pub(crate) fn seals(&self, own: Side, nonces: &Nonces) -> Seals {
        let key = |side: Side| self.mac(side.frame_label(), nonces).finalize().into_bytes().into();
        Seals { sending: Counted { key: key(own), frames: 0 }, receiving: Counted { key: key(own.other()), frames: 0 } }
    }
}

/// The random numbers of a connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nonces {
    pub(crate) server: [u8; NONCE_BYTES],
    pub(crate) client: [u8; NONCE_BYTES],
}

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Client,
    Server,
}

impl Side {
    fn other(self) -> Side {
        match self {
            Side::Client => Side::Server,
            Side::Server => Side::Client,
        }
    }

    fn proof_label(self) -> &'static str {
        match self {
            Side::Client => "iolab client",
            Side::Server => "iolab server",
        }
    }

    fn frame_label(self) -> &'static str {
        match self {
            Side::Client => "iolab frames of the client",
            Side::Server => "iolab frames of the server",
        }
    }
}

/// The tags of both directions of a connection.
pub(crate) struct Seals {
    sending: Counted,
    receiving: Counted,
}

struct Counted {
    key: Tag,
    frames: u64,
}

impl Counted {
    fn next(&mut self, kind: u8, payload: &[u8]) -> Hmac<Sha256> {
        let mac = fed(&self.key, &[&self.frames.to_le_bytes(), &[kind], payload]);
        self.frames += 1;
        mac
    }
}

impl Seals {
    /// The tag of the next frame that is sent.
    pub(crate) fn tag(&mut self, kind: u8, payload: &[u8]) -> Tag {
        self.sending.next(kind, payload).finalize().into_bytes().into()
    }

    /// Whether the next frame that was received has the right tag.
    pub(crate) fn check(&mut self, kind: u8, payload: &[u8], tag: &[u8]) -> bool {
        self.receiving.next(kind, payload).verify_slice(tag).is_ok()
    }
}

fn fed(key: &[u8], parts: &[&[u8]]) -> Hmac<Sha256> {
    let Ok(mut mac) = <Hmac<Sha256> as Mac>::new_from_slice(key) else { unreachable!("HMAC takes every key") };
    parts.iter().for_each(|part| mac.update(part));
    mac
}

/// Random bytes of the kernel.
///
/// # Errors
/// It has none.
pub(crate) fn nonce() -> std::io::Result<[u8; NONCE_BYTES]> {
    let mut bytes = [0; NONCE_BYTES];
    // Up to 256 bytes come whole (getrandom(2)).
    rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const NONCES: Nonces = Nonces { server: [1; NONCE_BYTES], client: [2; NONCE_BYTES] };

    #[test]
    fn a_proof_is_of_one_secret_one_side_and_one_connection() {
        let secret = SharedSecret::of(&[7; 32]).unwrap();
        let proof = secret.proof(Side::Client, &NONCES);
        assert!(secret.is_proof(Side::Client, &NONCES, &proof));
        assert!(!secret.is_proof(Side::Server, &NONCES, &proof));
        assert!(!SharedSecret::of(&[8; 32]).unwrap().is_proof(Side::Client, &NONCES, &proof));
        let later = Nonces { server: [3; NONCE_BYTES], ..NONCES };
        assert!(!secret.is_proof(Side::Client, &later, &proof));
    }

    #[test]
    fn a_frame_that_is_changed_repeated_or_sent_back_is_noticed() {
        let secret = SharedSecret::of(&[7; 32]).unwrap();
        let ends = || (secret.seals(Side::Client, &NONCES), secret.seals(Side::Server, &NONCES));
        let (mut client, mut server) = ends();
        let (first, second) = (client.tag(1, b"go"), client.tag(1, b"go"));
        assert!(server.check(1, b"go", &first) && server.check(1, b"go", &second));
        for (kind, payload, tag) in
            [(2, &b"go"[..], &first[..]), (1, b"no", &first), (1, b"go", &second), (1, b"go", &first[..8])]
        {
            let (_, mut server) = ends();
            assert!(!server.check(kind, payload, tag));
        }
        let (mut client, _) = ends();
        let tag = client.tag(1, b"go");
        assert!(!ends().0.check(1, b"go", &tag), "a frame that comes back is not one of the server");
    }

    #[test]
    fn a_file_is_for_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "0123456789abcdef\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(SharedSecret::read(&path).unwrap_err().message.contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(SharedSecret::read(&path).unwrap(), SharedSecret::of(b"0123456789abcdef").unwrap());
        std::fs::write(&path, "short\n").unwrap();
        assert!(SharedSecret::read(&path).unwrap_err().message.contains("at least 16 bytes"));
    }
}
