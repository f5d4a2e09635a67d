//! Faults of links, described as data: they affect answers on their way to a host.
//!
//! ```text
//! link-drop:after=1000,times=1                one answer never leaves
//! link-delay:extra=5ms,probability=0.01       one of a hundred is late
//! link-corrupt:queue=2,times=3                a digest is wrong, where there is one
//! link-half-open:after=500,times=1            the connection stays open, and nothing comes any more
//! link-reset:probability=0.001,seed=7         the connection is reset
//! ```
//!
//! Guarantees: the same answers in the same order get the same faults, random ones included. This
//! module does not carry out faults, and does not know faults of devices (`iolab-virtual-ssd`).

use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use iolab_random::SplitMix64;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkFaultKind {
    /// The answer is never sent.
    Drop,
    /// The answer is sent later by this many nanoseconds.
    Delay {
        /// The delay.
        extra_ns: u64,
    },
    /// The digest at its end is wrong; answers that end without a digest are not changed.
    Corrupt,
    /// The connection stays open; nothing more is sent, and received bytes are discarded.
    HalfOpen,
    /// The connection is reset.
    Reset,
}

/// A fault, and the answers that it applies to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkFault {
    /// What goes wrong.
    pub kind: LinkFaultKind,
    /// Only answers of this queue; if `None`, of all I/O queues.
    pub queue: Option<u16>,
    /// How many answers are spared at first.
    pub after: u64,
    /// The most times that it happens; 0 for no limit.
    pub times: u64,
    /// The probability for each answer, from 0 to 1.
    pub probability: f64,
    /// Seed of the random choice.
    pub seed: u64,
}

/// Prefix of the names of all kinds.
const PREFIX: &str = "link-";
/// The kinds, for messages.
const KINDS: &str = "link-drop, link-delay, link-corrupt, link-half-open, link-reset";

/// Why a text does not describe a fault of a link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkFaultError {
    /// There is no such kind.
    #[error("there is no fault `{0}` of links; there are {KINDS}")]
    Kind(String),
    /// There is no such selector.
    #[error("a fault of links has no parameter `{0}`; it has queue, after, times, probability, seed, extra")]
    Name(String),
    /// The value is invalid.
    #[error("`{name}={value}`: expected {expected}")]
    Value {
        /// The selector.
        name: String,
        /// Its value.
        value: String,
        /// What the selector accepts.
        expected: &'static str,
    },
    /// A delay has no time, or a time is given without a delay.
    #[error("`link-delay` needs `extra=TIME`, and no other fault of links takes it")]
    Extra,
}

impl LinkFault {
    /// Whether a text is meant as a fault of links, valid or not, and not as one of devices.
    pub fn is_meant(text: &str) -> bool {
        text.starts_with(PREFIX)
    }
}

impl FromStr for LinkFault {
    type Err = LinkFaultError;

    fn from_str(text: &str) -> Result<LinkFault, LinkFaultError> {
        let (kind, selectors) = text.split_once(':').unwrap_or((text, ""));
        let kind = match kind.strip_prefix(PREFIX) {
            Some("drop") => LinkFaultKind::Drop,
            Some("delay") => LinkFaultKind::Delay { extra_ns: 0 },
            Some("corrupt") => LinkFaultKind::Corrupt,
            Some("half-open") => LinkFaultKind::HalfOpen,
            Some("reset") => LinkFaultKind::Reset,
            _ => return Err(LinkFaultError::Kind(kind.to_owned())),
        };
        let mut fault = LinkFault { kind, queue: None, after: 0, times: 0, probability: 1.0, seed: 1 };
        for selector in selectors.split(',').filter(|selector| !selector.is_empty()) {
            let (name, value) = selector.split_once('=').unwrap_or((selector, ""));
            fault.select(name, value)?;
        }
        if fault.kind == (LinkFaultKind::Delay { extra_ns: 0 }) { Err(LinkFaultError::Extra) } else { Ok(fault) }
    }
}

impl LinkFault {
    fn select(&mut self, name: &str, value: &str) -> Result<(), LinkFaultError> {
        let wrong = |expected| LinkFaultError::Value { name: name.to_owned(), value: value.to_owned(), expected };
        let number = || value.parse::<u64>().map_err(|_| wrong("a number"));
        match name {
            "queue" => self.queue = Some(value.parse().map_err(|_| wrong("the number of a queue"))?),
            "after" => self.after = number()?,
            "times" => self.times = number()?,
            "seed" => self.seed = number()?,
            "probability" => {
                let chance = value.parse::<f64>().ok().filter(|chance| (0.0..=1.0).contains(chance));
                self.probability = chance.ok_or_else(|| wrong("a number from 0 to 1"))?;
            }
            "extra" => {
                let LinkFaultKind::Delay { extra_ns } = &mut self.kind else { return Err(LinkFaultError::Extra) };
                let time = iolab_units::parse_ns(value, 1).ok().filter(|time| *time > 0);
                *extra_ns = time.ok_or_else(|| wrong("a time, such as 2ms"))?;
            }
            _ => return Err(LinkFaultError::Name(name.to_owned())),
        }
        Ok(())
    }
}

/// The progress of a fault.
#[derive(Debug)]
struct Progress {
    seen: u64,
    struck: u64,
    chance: SplitMix64,
}

/// The faults of all links of a target.
#[derive(Debug)]
pub(super) struct LinkFaults {
    faults: Vec<(LinkFault, Mutex<Progress>)>,
}

impl LinkFaults {
    pub(super) fn new(faults: &[LinkFault]) -> LinkFaults {
        let start = |fault: &LinkFault| Progress { seen: 0, struck: 0, chance: SplitMix64::new(fault.seed) };
        LinkFaults { faults: faults.iter().map(|fault| (*fault, Mutex::new(start(fault)))).collect() }
    }

    /// Whether there are no faults.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// The fault of an answer of a queue: the first one that applies.
    pub(super) fn strike(&self, queue: u16) -> Option<LinkFaultKind> {
        let mut met = None;
        for (fault, progress) in &self.faults {
            let is_meant = fault.queue.map_or(queue != 0, |wanted| wanted == queue);
            if !is_meant {
                continue;
            }
            let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.seen += 1;
            // A random number is drawn for each answer, so that it does not depend on other faults.
            let is_chosen = fault.probability >= 1.0 || progress.chance.unit() <= fault.probability;
            let is_left = fault.times == 0 || progress.struck < fault.times;
            if progress.seen > fault.after && is_left && is_chosen && met.is_none() {
                progress.struck += 1;
                met = Some(fault.kind);
            }
        }
        met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read_and_mistakes_say_what_is_wrong() {
        let fault: LinkFault = "link-delay:extra=5ms,probability=0.25,seed=7,queue=2,after=10,times=3".parse().unwrap();
        let kind = LinkFaultKind::Delay { extra_ns: 5_000_000 };
        assert_eq!(fault, LinkFault { kind, queue: Some(2), after: 10, times: 3, probability: 0.25, seed: 7 });
        for (text, part) in [
            ("link-lost", "link-half-open"),
            ("link-delay", "extra=TIME"),
            ("link-drop:extra=1ms", "no other fault"),
            ("link-drop:probability=2", "from 0 to 1"),
            ("link-drop:every=2", "no parameter `every`"),
            ("link-reset:times=often", "a number"),
        ] {
            let said = text.parse::<LinkFault>().unwrap_err().to_string();
            assert!(said.contains(part), "{text}: {said}");
        }
        assert!(LinkFault::is_meant("link-lost") && !LinkFault::is_meant("drop:times=1"));
    }

    #[test]
    fn counts_and_chance_choose_the_same_answers_each_time() {
        let struck = |text: &str| {
            let faults = LinkFaults::new(&[text.parse().unwrap()]);
            (0..1000u32).filter(|_| faults.strike(1).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(struck("link-drop:after=5,times=2"), [5, 6]);
        assert!(LinkFaults::new(&["link-drop".parse().unwrap()]).strike(0).is_none(), "the admin queue is spared");
        let by_chance = struck("link-drop:probability=0.1,seed=3");
        assert!((50..200).contains(&by_chance.len()), "{}", by_chance.len());
        assert_eq!(by_chance, struck("link-drop:probability=0.1,seed=3"));
        assert_ne!(by_chance, struck("link-drop:probability=0.1,seed=4"));
    }
}
