//! The identity of the other end of a socket (`SO_PEERCRED`, unix(7)). The kernel provides it, so
//! it cannot be forged.

use std::os::fd::AsFd;

use rustix::net::sockopt::socket_peercred;
use rustix::process::{Uid, geteuid};

/// Refuses another user at the other end, except root.
pub(crate) fn check(socket: impl AsFd, what: &str) -> Result<(), String> {
    match socket_peercred(socket) {
        Ok(peer) => judge(geteuid(), peer.uid, what),
        Err(errno) => Err(format!("{what}: the kernel does not report its user: {errno}")),
    }
}

fn judge(own: Uid, theirs: Uid, what: &str) -> Result<(), String> {
    if theirs == own || theirs.is_root() {
        return Ok(());
    }
    let (own, theirs) = (own.as_raw(), theirs.as_raw());
    Err(format!("{what} belongs to user {theirs}, but this program runs as user {own}: use only your own devices"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn oneself_and_root_are_let_in() {
        let [root, own, other] = [0, 1000, 1001].map(Uid::from_raw);
        assert_eq!((judge(own, own, "it"), judge(own, root, "it")), (Ok(()), Ok(())));
        assert!(judge(own, other, "the server").unwrap_err().contains("belongs to user 1001"));
        assert!(judge(root, other, "the server").is_err(), "root does not use the devices of others");
    }

    #[test]
    fn the_kernel_says_who_it_is() {
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        assert_eq!((check(&one, "it"), check(&other, "it")), (Ok(()), Ok(())));
    }
}
