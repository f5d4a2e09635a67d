//! Faults as text: `KIND`, or `KIND:NAME=VALUE,NAME=VALUE`.
//!
//! ```text
//! media-error:op=read,lba=1000+8,times=3      blocks 1000 to 1007 cannot be read three times
//! slow:lun=3/16,stripe=32k,extra=2ms          one of 16 units is worn
//! timeout:queue=2,after=1000,times=1          one command of queue 2 is never answered
//! ```

use std::fmt;
use std::str::FromStr;

use iolab_text::closest;
use iolab_units::{KbBase, parse_bytes, parse_ns};

use super::{Fault, FaultKind, FaultOperation, Stripe};

const KINDS: [(&str, FaultKind); 9] = [
    ("media-error", FaultKind::MediaError),
    ("timeout", FaultKind::Timeout),
    ("drop", FaultKind::DropCompletion),
    ("double", FaultKind::DoubleCompletion),
    ("wrong-phase", FaultKind::WrongPhase),
    ("wrong-cid", FaultKind::WrongCid),
    ("fatal", FaultKind::Fatal),
    ("slow", FaultKind::Slow { extra_ns: 0 }),
    ("removal", FaultKind::Removal),
];

const NAMES: [&str; 10] = ["op", "opcode", "queue", "ns", "lba", "lun", "stripe", "after", "times", "extra"];

/// Bytes on one unit if `lun=` is given without `stripe=`.
const DEFAULT_STRIPE: u64 = 32 << 10;

/// Why a text does not describe a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    /// There is no such kind.
    #[error("there is no fault `{0}`{1}")]
    UnknownKind(String, Hint),
    /// There is no such selector.
    #[error("a fault has no parameter `{0}`{1}")]
    UnknownName(String, Hint),
    /// The value is invalid.
    #[error("`{name}={value}`: {reason}")]
    BadValue {
        /// The selector.
        name: String,
        /// Its value.
        value: String,
        /// The accepted values.
        reason: &'static str,
    },
    /// A selector is given that only `slow` accepts, or one that `slow` requires is missing.
    #[error("`slow` needs `extra=TIME`, and no other fault takes it")]
    Extra,
}

/// The most similar existing word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint(Option<&'static str>);

impl fmt::Display for Hint {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |word| write!(out, "; did you mean `{word}`?"))
    }
}

fn hint(word: &str, known: impl Iterator<Item = &'static str>) -> Hint {
    Hint(closest(word, known))
}

impl FromStr for Fault {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Fault, FaultError> {
        let (kind, selectors) = text.split_once(':').unwrap_or((text, ""));
        let known = KINDS.iter().find(|(name, _)| *name == kind);
        let unknown = || FaultError::UnknownKind(kind.to_owned(), hint(kind, KINDS.iter().map(|(name, _)| *name)));
        let mut fault = Fault::new(known.ok_or_else(unknown)?.1);
        for selector in selectors.split(',').filter(|selector| !selector.is_empty()) {
            let (name, value) = selector.split_once('=').unwrap_or((selector, ""));
            select(&mut fault, name, value)?;
        }
        if fault.kind == (FaultKind::Slow { extra_ns: 0 }) { Err(FaultError::Extra) } else { Ok(fault) }
    }
}

fn select(fault: &mut Fault, name: &str, value: &str) -> Result<(), FaultError> {
    let bad = |reason| FaultError::BadValue { name: name.to_owned(), value: value.to_owned(), reason };
    match name {
        "op" => {
            fault.operation = match value {
                "read" => FaultOperation::Read,
                "write" => FaultOperation::Write,
                "any" => FaultOperation::Any,
                _ => return Err(bad("read, write or any")),
            }
        }
        "opcode" => fault.opcode = Some(number(value).ok_or_else(|| bad("expected a number from 0 to 255"))?),
        "queue" => fault.queue = Some(number(value).ok_or_else(|| bad("expected the number of a submission queue"))?),
        "ns" => fault.namespace = Some(number(value).ok_or_else(|| bad("a namespace identifier"))?),
        "lba" => fault.blocks = Some(range(value).ok_or_else(|| bad("expected FIRST, FIRST-LAST or FIRST+COUNT"))?),
        "lun" => {
            let (unit, units) = unit(value).ok_or_else(|| bad("expected UNIT/UNITS, as in 3/16"))?;
            fault.stripe = Some(Stripe { unit, units, bytes: fault.stripe.map_or(DEFAULT_STRIPE, |old| old.bytes) });
        }
        "stripe" => {
            let bytes = parse_bytes(value, KbBase::K1024).ok().filter(|bytes| *bytes >= 512);
            let bytes = bytes.ok_or_else(|| bad("bytes, 512 or more"))?;
            let old = fault.stripe.unwrap_or(Stripe { unit: 0, units: 1, bytes });
            fault.stripe = Some(Stripe { bytes, ..old });
        }
        "after" => fault.after = number(value).ok_or_else(|| bad("expected a number of commands"))?,
        "times" => fault.times = number(value).ok_or_else(|| bad("expected a number of commands"))?,
        "extra" => {
            let FaultKind::Slow { extra_ns } = &mut fault.kind else { return Err(FaultError::Extra) };
            let time = parse_ns(value, 1).ok().filter(|time| *time > 0);
            *extra_ns = time.ok_or_else(|| bad("expected a time, such as 2ms"))?;
        }
        _ => return Err(FaultError::UnknownName(name.to_owned(), hint(name, NAMES.into_iter()))),
    }
    Ok(())
}

fn number<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?,
        None => text.parse().ok()?,
    };
    T::try_from(value).ok()
}

fn range(text: &str) -> Option<(u64, u64)> {
    if let Some((first, count)) = text.split_once('+') {
        return Some((number(first)?, number(count).filter(|count| *count > 0)?));
    }
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last): (u64, u64) = (number(first)?, number(last)?);
    Some((first, last.checked_sub(first)?.checked_add(1)?))
}

fn unit(text: &str) -> Option<(u64, u64)> {
    let (unit, units) = text.split_once('/')?;
    let (unit, units): (u64, u64) = (number(unit)?, number(units)?);
    (unit < units).then_some((unit, units))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_faults() {
        let media = Fault::new(FaultKind::MediaError);
        let cases = [
            ("media-error", media),
            (
                "media-error:op=read,lba=1000+8,times=3",
                Fault { operation: FaultOperation::Read, blocks: Some((1000, 8)), times: 3, ..media },
            ),
            ("media-error:lba=5-9,ns=2", Fault { blocks: Some((5, 5)), namespace: Some(2), ..media }),
            ("media-error:lba=7", Fault { blocks: Some((7, 1)), ..media }),
            (
                "timeout:queue=2,after=1000,opcode=0x02",
                Fault { queue: Some(2), after: 1000, opcode: Some(2), ..Fault::new(FaultKind::Timeout) },
            ),
            (
                "slow:lun=3/16,stripe=64k,extra=2ms",
                Fault {
                    stripe: Some(Stripe { unit: 3, units: 16, bytes: 65536 }),
                    ..Fault::new(FaultKind::Slow { extra_ns: 2_000_000 })
                },
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(text.parse::<Fault>().unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        let cases = [
            ("", "there is no fault"),
            ("dorp", "did you mean `drop`"),
            ("slow", "`slow` needs"),
            ("drop:extra=1ms", "`slow` needs"),
            ("slow:extra=0", "a time"),
            ("drop:quueue=1", "did you mean `queue`"),
            ("drop:lba=9-5", "FIRST-LAST"),
            ("drop:lba=9+0", "FIRST+COUNT"),
            ("drop:lun=16/16", "UNIT/UNITS"),
            ("drop:opcode=256", "255"),
            ("drop:op=trim", "read, write"),
            ("drop:stripe=1", "512"),
            ("drop:times", "a number"),
        ];
        for (text, expected) in cases {
            let message = text.parse::<Fault>().unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
