//! Reads quantities from text, by the rules of fio's manual ("PARAMETER TYPES").
//!
//! Case does not matter. `0x` begins a hexadecimal number. A decimal fraction is accepted if the
//! result is a whole number (`1.5k` is 1536 bytes). Other readings, such as fio's "one byte", would
//! mislead.

use thiserror::Error;

/// Nanoseconds in a second.
pub const NS_PER_SECOND: u64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub const NS_PER_MILLISECOND: u64 = 1_000_000;
/// Nanoseconds in a microsecond.
pub const NS_PER_MICROSECOND: u64 = 1_000;

/// The factors that the unit prefixes stand for (`kb_base=`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KbBase {
    /// fio's default: `k` is 1024 and `ki` is 1000. This is the reverse of the standards, for the
    /// sake of old job files.
    #[default]
    K1024,
    /// As SI and IEC 80000-13 say: `k` is 1000 and `ki` is 1024.
    K1000,
}

/// Reads a number of bytes: `4096`, `4k`, `4kb`, `4KiB`, `0x1000`, `1.5g`.
///
/// # Errors
/// Anything else, a negative number, or more than `u64` holds.
pub fn parse_bytes(text: &str, base: KbBase) -> Result<u64, UnitError> {
    let value = scaled(text, "bytes", |suffix| size_factor(suffix, base))?;
    if value < 0 {
        return Err(UnitError::Negative(text.to_owned()));
    }
    u64::try_from(value).map_err(|_| UnitError::Overflow(text.to_owned()))
}

/// Reads a signed whole number with the prefixes of sizes (`-20`, `64k`).
///
/// # Errors
/// Anything else, or more than `i64` holds.
pub fn parse_count(text: &str, base: KbBase) -> Result<i64, UnitError> {
    let value = scaled(text, "units", |suffix| size_factor(suffix, base))?;
    i64::try_from(value).map_err(|_| UnitError::Overflow(text.to_owned()))
}

/// Reads a time and returns nanoseconds: `10`, `10s`, `1.5h`, `300us`, `5msec`. A number without a
/// unit counts units of `bare_ns` nanoseconds (such as [`NS_PER_SECOND`]).
///
/// # Errors
/// Anything else, a negative time, or more than `u64` nanoseconds (584 years).
pub fn parse_ns(text: &str, bare_ns: u64) -> Result<u64, UnitError> {
    let value = scaled(text, "nanoseconds", |suffix| time_factor(suffix, bare_ns))?;
    if value < 0 {
        return Err(UnitError::Negative(text.to_owned()));
    }
    u64::try_from(value).map_err(|_| UnitError::Overflow(text.to_owned()))
}

/// Factor of a size suffix (lower case).
fn size_factor(suffix: &str, base: KbBase) -> Result<i128, UnitError> {
    let known = "k, m, g, t, p, each with b, i or ib";
    let refuse = || UnitError::UnknownSuffix { suffix: suffix.to_owned(), what: "size", known };
    let mut letters = suffix.chars();
    let power = match letters.next() {
        None => return Ok(1),
        Some('b') if letters.as_str().is_empty() => return Ok(1),
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some('p') => 5,
        Some(_) => return Err(refuse()),
    };
    let other = match letters.as_str() {
        "" | "b" => false,
        "i" | "ib" => true,
        _ => return Err(refuse()),
    };
    let binary = (base == KbBase::K1024) != other;
    let unit: i128 = if binary { 1024 } else { 1000 };
    Ok(unit.pow(power))
}

/// Factor of a time suffix (lower case) to nanoseconds.
fn time_factor(suffix: &str, bare_ns: u64) -> Result<i128, UnitError> {
    let second = i128::from(NS_PER_SECOND);
    Ok(match suffix {
        "" => i128::from(bare_ns),
        "d" => 86_400 * second,
        "h" => 3_600 * second,
        "m" => 60 * second,
        "s" | "sec" => second,
        "ms" | "msec" => i128::from(NS_PER_MILLISECOND),
        "us" | "usec" => i128::from(NS_PER_MICROSECOND),
        "ns" | "nsec" => 1,
        _ => {
            let known = "d, h, m, s, ms, us, ns";
            return Err(UnitError::UnknownSuffix { suffix: suffix.to_owned(), what: "time", known });
        }
    })
}

/// Reads the sign, digits, fraction and suffix of `text`, and multiplies them out.
fn scaled(text: &str, unit: &'static str, factor: impl Fn(&str) -> Result<i128, UnitError>) -> Result<i128, UnitError> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Err(UnitError::Empty);
    }
    let (negative, unsigned) = match trimmed.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, trimmed.strip_prefix('+').unwrap_or(trimmed)),
    };
    let number = Number::read(unsigned, text)?;
    let factor = factor(&number.suffix)?;
    let overflow = || UnitError::Overflow(text.to_owned());
    let product = number.digits.checked_mul(factor).ok_or_else(overflow)?;
    if product % number.divisor != 0 {
        return Err(UnitError::NotWhole { text: text.to_owned(), unit });
    }
    let value = product / number.divisor;
    Ok(if negative { -value } else { value })
}

/// The parts of an unsigned number: `digits / divisor`, then the suffix in lower case.
struct Number {
    digits: i128,
    divisor: i128,
    suffix: String,
}

impl Number {
    fn read(unsigned: &str, whole: &str) -> Result<Number, UnitError> {
        let lower = unsigned.to_ascii_lowercase();
        let (body, radix) = match lower.strip_prefix("0x") {
            Some(hex) => (hex, 16),
            None => (lower.as_str(), 10),
        };
        let mut digits: i128 = 0;
        let mut divisor: i128 = 1;
        let mut seen = false;
        let mut in_fraction = false;
        let mut rest = body.len();
        for (at, letter) in body.char_indices() {
            if let Some(digit) = letter.to_digit(radix) {
                let overflow = || UnitError::Overflow(whole.to_owned());
                digits = digits.checked_mul(i128::from(radix)).ok_or_else(overflow)?;
                digits = digits.checked_add(i128::from(digit)).ok_or_else(overflow)?;
                if in_fraction {
                    divisor = divisor.checked_mul(10).ok_or_else(overflow)?;
                }
                seen = true;
            } else if letter == '.' && radix == 10 && !in_fraction && seen {
                in_fraction = true;
            } else {
                rest = at;
                break;
            }
        }
        if !seen || (in_fraction && divisor == 1) {
            return Err(UnitError::NotANumber(whole.trim().to_owned()));
        }
        Ok(Number { digits, divisor, suffix: body[rest..].to_owned() })
    }
}

/// Why a size, count or time was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum UnitError {
    /// The text is empty.
    #[error("a number is missing")]
    Empty,
    /// It does not begin with digits.
    #[error("`{0}` is not a number")]
    NotANumber(String),
    /// The number is followed by something that is not a unit.
    #[error("`{suffix}` is not a unit of {what} (known: {known})")]
    UnknownSuffix {
        /// The text after the digits.
        suffix: String,
        /// `size` or `time`.
        what: &'static str,
        /// The units that are accepted.
        known: &'static str,
    },
    /// Larger than the program can count.
    #[error("`{0}` is too large")]
    Overflow(String),
    /// A fraction that is not a whole number of the smallest unit.
    #[error("`{text}` is not a multiple of one {unit}")]
    NotWhole {
        /// The whole text.
        text: String,
        /// `bytes` or `nanoseconds`.
        unit: &'static str,
    },
    /// A negative number where only positive ones make sense.
    #[error("`{0}` is negative")]
    Negative(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_follow_both_bases() {
        let cases: &[(&str, u64, u64)] = &[
            ("4096", 4096, 4096),
            ("4096b", 4096, 4096),
            ("4k", 4096, 4000),
            ("4K", 4096, 4000),
            ("4kb", 4096, 4000),
            ("4ki", 4000, 4096),
            ("4KiB", 4000, 4096),
            ("1m", 1 << 20, 1_000_000),
            ("1gb", 1 << 30, 1_000_000_000),
            ("1t", 1 << 40, 1_000_000_000_000),
            ("1p", 1 << 50, 1_000_000_000_000_000),
            ("1pib", 1_000_000_000_000_000, 1 << 50),
            ("0x1000", 4096, 4096),
            ("0X1b", 27, 27),
            ("0x10k", 16384, 16000),
            ("1.5k", 1536, 1500),
            (" 8k ", 8192, 8000),
            ("010", 10, 10),
        ];
        for (text, k1024, k1000) in cases {
            assert_eq!(parse_bytes(text, KbBase::K1024), Ok(*k1024), "{text}");
            assert_eq!(parse_bytes(text, KbBase::K1000), Ok(*k1000), "{text}");
        }
    }

    #[test]
    fn nonsense_sizes_are_refused() {
        for text in ["", " ", "k", "8q", "8kk", "8kbb", "8bi", "4 k", "1.", ".5k", "1.9", "-1", "0x", "1.5.2k", "0x1.5"]
        {
            assert!(parse_bytes(text, KbBase::K1024).is_err(), "{text}");
        }
        assert_eq!(parse_bytes("16384p", KbBase::K1024), Err(UnitError::Overflow("16384p".into())));
        assert_eq!(parse_bytes("16383p", KbBase::K1024), Ok(16383 << 50));
        let long = "9".repeat(60);
        assert_eq!(parse_bytes(&long, KbBase::K1024), Err(UnitError::Overflow(long)));
    }

    #[test]
    fn counts_may_be_negative() {
        assert_eq!(parse_count("-8k", KbBase::K1024), Ok(-8192));
        assert_eq!(parse_count("+3", KbBase::K1024), Ok(3));
        assert_eq!(parse_count("--3", KbBase::K1024), Err(UnitError::NotANumber("--3".into())));
        assert!(parse_count("8192p", KbBase::K1024).is_err());
    }

    #[test]
    fn times_know_their_units() {
        let cases: &[(&str, u64)] = &[
            ("10", 10_000_000_000),
            ("10s", 10_000_000_000),
            ("10sec", 10_000_000_000),
            ("1d", 86_400_000_000_000),
            ("2h", 7_200_000_000_000),
            ("3M", 180_000_000_000),
            ("5ms", 5_000_000),
            ("5msec", 5_000_000),
            ("7us", 7_000),
            ("7usec", 7_000),
            ("9ns", 9),
            ("1.5s", 1_500_000_000),
            ("0.25", 250_000_000),
        ];
        for (text, ns) in cases {
            assert_eq!(parse_ns(text, NS_PER_SECOND), Ok(*ns), "{text}");
        }
        assert_eq!(parse_ns("10", NS_PER_MICROSECOND), Ok(10_000));
        for text in ["", "-1", "5x", "s", "1.5ns", "300000d"] {
            assert!(parse_ns(text, NS_PER_SECOND).is_err(), "{text}");
        }
    }
}
