//! How ranks hang together: what ends one ends all, within a bound.
//!
//! ```text
//!  a rank is lost, or a worker of it fails ─▶ Finish to the others
//!      ENDING_NS later ─▶ Abandon to those that have not ended: their servers kill the jobs and send what these kept
//!      ENDING_NS later ─▶ they are given up
//!  a job says nothing for HANGING_NS ─▶ Abandon; ENDING_NS later ─▶ it is given up
//! ```
//!
//! What every rank had measured when it was last heard is kept. So that this is not long ago if a
//! whole host disappears, each is asked in turn for its results so far.

use crate::message::ToServer;
use crate::peer::Peer;

/// From so long a silence of a job on, it hangs, ns. It says something several times a second.
const HANGING_NS: u64 = 15_000_000_000;
/// How long the ends may take, ns.
const ENDING_NS: u64 = 10_000_000_000;
/// How often each rank is asked for its results so far, ns; less often if there are many ranks.
const ASKING_NS: u64 = 10_000_000_000;
/// The least time between two such questions, ns: what the answers cost is bounded.
const BETWEEN_NS: u64 = 10_000_000;

/// The rules, and what has come of them.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    /// When the others were told to end, and why.
    ended: Option<(u64, String)>,
    /// When each was abandoned.
    abandoned_ns: Vec<Option<u64>>,
    /// Who is asked next, and when.
    turn: usize,
    next_ns: u64,
}

impl Rules {
    /// Looks at all ranks, and does what is due.
    pub(crate) fn apply(&mut self, peers: &mut [Peer], now_ns: u64) {
        self.abandoned_ns.resize(peers.len(), None);
        if self.ended.is_none()
            && let Some(failed) = peers.iter().find(|peer| peer.has_failed())
        {
            let how = failed.lost.as_deref().unwrap_or("a worker of it failed");
            let left = peers.iter().filter(|peer| peer.is_there()).count();
            if left > 0 {
                let reason =
                    format!("{}: {how}; the others were ended, so their results are of a shorter run", failed.called);
                self.ended = Some((now_ns, reason));
                peers.iter_mut().for_each(|peer| peer.say(&ToServer::Finish));
            }
        }
        let all_late = self.ended.as_ref().is_some_and(|(ended_ns, _)| now_ns >= ended_ns + ENDING_NS);
        for (peer, abandoned_ns) in peers.iter_mut().zip(&mut self.abandoned_ns) {
            match abandoned_ns {
                Some(since_ns) if now_ns >= *since_ns + ENDING_NS => {
                    peer.give_up("it did not end, although it was told to".to_owned());
                }
                None if peer.is_there() && (all_late || peer.job_silent_ns(now_ns) >= HANGING_NS) => {
                    *abandoned_ns = Some(now_ns);
                    peer.say(&ToServer::Abandon);
                }
                _ => {}
            }
        }
        self.ask(peers, now_ns);
    }

    /// Asks the next rank for its results so far.
    fn ask(&mut self, peers: &mut [Peer], now_ns: u64) {
        let between_ns = BETWEEN_NS.max(ASKING_NS / peers.len().max(1) as u64);
        if self.next_ns == 0 {
            self.next_ns = now_ns + between_ns;
        }
        // Several are due if the last look is long ago.
        for _ in 0..peers.len() {
            if now_ns < self.next_ns || self.ended.is_some() {
                return;
            }
            self.next_ns += between_ns;
            peers[self.turn % peers.len()].say(&ToServer::Report);
            self.turn += 1;
        }
    }

    /// Why all were ended before their time, if they were.
    pub(crate) fn what_ended_it(&self) -> Option<&str> {
        self.ended.as_ref().map(|(_, reason)| reason.as_str())
    }
}

#[cfg(test)]
mod tests;
