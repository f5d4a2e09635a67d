//! The Diffie-Hellman groups of DH-HMAC-CHAP: the finite fields of RFC 7919.
//!
//! The primes are computed from their definition instead of being listed: each is 2^b - 2^(b-64) +
//! (floor(2^(b-130) e) + X) 2^64 - 1, with the smallest X for which the number and half of it are
//! prime.

use std::fmt;

use crypto_bigint::modular::{BoxedMontyForm, BoxedMontyParams};
use crypto_bigint::{BoxedUint, Odd, Resize};

/// Bits of private exponents: at least twice the strength of the largest group (RFC 7919, appendix
/// A).
const EXPONENT_BITS: u32 = 512;
/// Bytes of private exponents.
pub(crate) const EXPONENT_BYTES: usize = EXPONENT_BITS as usize / 8;

/// A group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum DhGroup {
    /// No group: the challenge is used unchanged.
    Null,
    /// 2,048 bits.
    Ffdhe2048,
    /// 3,072 bits.
    Ffdhe3072,
    /// 4,096 bits.
    Ffdhe4096,
    /// 6,144 bits.
    Ffdhe6144,
    /// 8,192 bits.
    Ffdhe8192,
}

/// Bits of each group's prime, and the X of its definition.
const DEFINITIONS: [(usize, u64); 6] =
    [(0, 0), (2048, 560_316), (3072, 2_625_351), (4096, 5_736_041), (6144, 15_705_020), (8192, 10_965_728)];

impl DhGroup {
    /// All, in the order of their identifiers.
    pub const ALL: [DhGroup; 6] = [
        DhGroup::Null,
        DhGroup::Ffdhe2048,
        DhGroup::Ffdhe3072,
        DhGroup::Ffdhe4096,
        DhGroup::Ffdhe6144,
        DhGroup::Ffdhe8192,
    ];
    /// The names that users write, in the order of [`DhGroup::ALL`].
    pub const WORDS: [&'static str; 6] = ["null", "ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144", "ffdhe8192"];

    /// Its identifier in messages.
    pub const fn identifier(self) -> u8 {
        self as u8
    }

    /// The group with an identifier.
    pub fn of_identifier(identifier: u8) -> Option<DhGroup> {
        DhGroup::ALL.get(usize::from(identifier)).copied()
    }

    /// Parses a name that users write.
    pub fn of_word(word: &str) -> Option<DhGroup> {
        DhGroup::WORDS.iter().position(|known| *known == word).map(|place| DhGroup::ALL[place])
    }

    /// Bytes of its public values; 0 without a group.
    pub const fn bytes(self) -> usize {
        DEFINITIONS[self as usize].0 / 8
    }

    fn bits(self) -> u32 {
        DEFINITIONS[self as usize].0 as u32
    }

    /// The prime, as words beginning with the least significant one.
    fn prime_words(self) -> Vec<u64> {
        let (bits, x) = DEFINITIONS[self as usize];
        let words = bits / 64;
        let middle = scaled_e(bits - 130);
        let mut prime = vec![u64::MAX; words];
        // The subtraction borrows from the middle words.
        let mut carry = x - 1;
        for (to, word) in prime[1..words - 1].iter_mut().zip(middle) {
            let (sum, is_over) = word.overflowing_add(carry);
            (*to, carry) = (sum, is_over.into());
        }
        prime
    }

    /// The arithmetic of the group; `None` without a group.
    fn field(self) -> Option<BoxedMontyParams> {
        if self == DhGroup::Null {
            return None;
        }
        let bytes: Vec<u8> = self.prime_words().iter().flat_map(|word| word.to_le_bytes()).collect();
        let prime = BoxedUint::from_le_slice(&bytes, self.bits()).ok()?;
        Odd::new(prime).into_option().map(BoxedMontyParams::new)
    }

    fn power(self, base: &BoxedUint, exponent: &[u8; EXPONENT_BYTES]) -> Option<Vec<u8>> {
        let exponent = BoxedUint::from_be_slice(exponent, EXPONENT_BITS).ok()?;
        let base = BoxedMontyForm::new(base.clone(), &self.field()?);
        Some(base.pow_bounded_exp(&exponent, EXPONENT_BITS).retrieve().to_be_bytes().into_vec())
    }

    /// The public value of an exponent; empty without a group.
    pub(crate) fn public_value(self, exponent: &[u8; EXPONENT_BYTES]) -> Vec<u8> {
        let generator = BoxedUint::from(2_u8).resize(self.bits().max(64));
        self.power(&generator, exponent).unwrap_or_default()
    }

    /// The secret shared with the owner of a public value. `None` if the value is not in the group,
    /// or is one of those that would reveal the secret.
    pub(crate) fn shared_secret(self, exponent: &[u8; EXPONENT_BYTES], public: &[u8]) -> Option<Vec<u8>> {
        if public.len() != self.bytes() || self == DhGroup::Null {
            return None;
        }
        let public = BoxedUint::from_be_slice(public, self.bits()).ok()?;
        let one = BoxedUint::one_with_precision(self.bits());
        let last = self.field()?.modulus().as_ref().wrapping_sub(&one);
        if public <= one || public >= last {
            return None;
        }
        self.power(&public, exponent)
    }
}

/// floor(2^scale e), as words beginning with the least significant one.
fn scaled_e(scale: usize) -> Vec<u64> {
    // The sum of 2^(scale + 64) / k!: each term loses less than one, and there are fewer than 2^64.
    let raised = scale + 64;
    let mut term = vec![0_u64; raised / 64 + 2];
    term[raised / 64] = 1 << (raised % 64);
    let mut sum = vec![0_u64; term.len()];
    for divisor in 1_u128.. {
        let mut carry = false;
        for (to, word) in sum.iter_mut().zip(&term) {
            let (first, over_first) = to.overflowing_add(*word);
            let (second, over_second) = first.overflowing_add(carry.into());
            (*to, carry) = (second, over_first | over_second);
        }
        let mut rest = 0_u128;
        for word in term.iter_mut().rev() {
            let whole = rest << 64 | u128::from(*word);
            (*word, rest) = ((whole / divisor) as u64, whole % divisor);
        }
        if term.iter().all(|word| *word == 0) {
            break;
        }
    }
    sum.remove(0);
    sum
}

impl fmt::Display for DhGroup {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(DhGroup::WORDS[*self as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `base` to the power of `prime` - 1 is 1: true for a prime, and hardly ever for other
    /// numbers.
    fn looks_prime(prime: &BoxedUint, base: u8) -> bool {
        let bits = prime.bits_precision();
        let one = BoxedUint::one_with_precision(bits);
        let field = BoxedMontyParams::new(Odd::new(prime.clone()).into_option().unwrap());
        let power = BoxedMontyForm::new(BoxedUint::from(base).resize(bits), &field).pow(&prime.wrapping_sub(&one));
        power.retrieve() == one
    }

    #[test]
    fn the_primes_are_those_of_the_rfc() {
        for group in &DhGroup::ALL[1..] {
            let words = group.prime_words();
            // The common first and last digits of all primes (RFC 7919, appendix A).
            let top: Vec<u64> = words.iter().rev().take(3).copied().collect();
            assert_eq!(top, [u64::MAX, 0xadf8_5458_a2bb_4a9a, 0xafdc_5620_273d_3cf1], "{group}");
            assert_eq!(words[0], u64::MAX, "{group}");
            assert_eq!(words.len() * 8, group.bytes());
            let prime = group.field().unwrap().modulus().as_ref().clone();
            assert!(looks_prime(&prime, 3), "{group}");
            assert!(looks_prime(&prime.shr(1), 3), "{group}: not a safe prime");
            assert!(!looks_prime(&prime.wrapping_sub(BoxedUint::from(2_u8)), 3), "{group}: the test says yes to all");
        }
    }

    #[test]
    fn both_sides_come_to_the_same_secret() {
        let (mut one, mut other) = ([0; EXPONENT_BYTES], [0; EXPONENT_BYTES]);
        for at in 0..EXPONENT_BYTES {
            (one[at], other[at]) = (at as u8 + 1, (at * 7) as u8 | 1);
        }
        for group in &DhGroup::ALL[1..3] {
            let (a, b) = (group.public_value(&one), group.public_value(&other));
            assert_eq!((a.len(), b.len()), (group.bytes(), group.bytes()));
            let secret = group.shared_secret(&one, &b);
            assert!(secret.is_some());
            assert_eq!(secret, group.shared_secret(&other, &a));
        }
        assert_eq!(DhGroup::Null.public_value(&one), Vec::<u8>::new());
    }

    #[test]
    fn values_that_give_the_secret_away_are_refused() {
        let group = DhGroup::Ffdhe2048;
        let exponent = [5; EXPONENT_BYTES];
        let prime: Vec<u8> = group.prime_words().iter().rev().flat_map(|word| word.to_be_bytes()).collect();
        let mut small = vec![0; group.bytes()];
        assert_eq!(group.shared_secret(&exponent, &small), None);
        small[group.bytes() - 1] = 1;
        assert_eq!(group.shared_secret(&exponent, &small), None);
        let mut large = prime.clone();
        assert_eq!(group.shared_secret(&exponent, &large), None);
        large[group.bytes() - 1] -= 1;
        assert_eq!(group.shared_secret(&exponent, &large), None);
        large[group.bytes() - 1] -= 1;
        assert!(group.shared_secret(&exponent, &large).is_some());
        assert_eq!(group.shared_secret(&exponent, &prime[1..]), None);
    }

    #[test]
    fn identifiers_and_words_name_each() {
        for (group, word) in DhGroup::ALL.into_iter().zip(DhGroup::WORDS) {
            assert_eq!(DhGroup::of_identifier(group.identifier()), Some(group));
            assert_eq!(DhGroup::of_word(word), Some(group));
        }
        assert_eq!(DhGroup::of_identifier(6), None);
    }
}
