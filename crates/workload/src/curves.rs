//! Natural logarithm and exponential, inlined and the same on every machine.
//!
//! The system's own differ between libraries in the last bit, and a stream must not. Accurate to about 1e-15, for
//! finite arguments; the logarithm wants a positive normal number. Both are series (Abramowitz and Stegun,
//! "Handbook of Mathematical Functions", 4.1.27 and 4.2.1) after reduction of the argument.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

/// The upper bits of ln 2, so that a small multiple of it is exact.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
const ROOT_OF_HALF: u64 = FRAC_1_SQRT_2.to_bits();
/// Adding and subtracting this rounds to a whole number, which then stands in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// ln(x).
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    // Counting exponents from the root of one half instead of 1 brings the mantissa near 1 without a branch.
    let exponent = bits.wrapping_sub(ROOT_OF_HALF) as i64 >> 52;
    let mantissa = f64::from_bits(bits.wrapping_sub((exponent as u64) << 52));
    let exponent = exponent as f64;
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    // 2 (s + s^3/3 + s^5/5 + …), summed in pairs so that the processor can overlap them.
    let (z2, z4) = (z * z, z * z * z * z);
    let low = (1.0 + z / 3.0) + z2 * (1.0 / 5.0 + z * (1.0 / 7.0));
    let middle = (1.0 / 9.0 + z * (1.0 / 11.0)) + z2 * (1.0 / 13.0 + z * (1.0 / 15.0));
    let high = 1.0 / 17.0 + z * (1.0 / 19.0);
    let series = low + z4 * (middle + z4 * high);
    exponent * LN_2 + 2.0 * s * series
}

/// e^x, for x from -700 to 700; beyond, the value there.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let rounded = x * LOG2_E + ROUNDER;
    let power = rounded - ROUNDER;
    let r = x - power * LN_2_HIGH - power * LN_2_LOW;
    let (r2, r4) = (r * r, r * r * r * r);
    let a = (1.0 + r) + r2 * (1.0 / 2.0 + r * (1.0 / 6.0));
    let b = (1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0));
    let c = (1.0 / 40_320.0 + r * (1.0 / 362_880.0)) + r2 * (1.0 / 3_628_800.0 + r * (1.0 / 39_916_800.0));
    let series = a + r4 * (b + r4 * (c + r4 * (1.0 / 479_001_600.0)));
    let exponent = rounded.to_bits() << 52;
    f64::from_bits(series.to_bits().wrapping_add(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agree_with_the_system() {
        let mut x = 1e-300_f64;
        while x < 1e300 {
            assert!((ln(x) - x.ln()).abs() <= 2e-15 * x.ln().abs().max(1.0), "ln({x})");
            x *= 1.0173;
        }
        let mut y = -690.0_f64;
        while y < 690.0 {
            assert!((exp(y) / y.exp() - 1.0).abs() < 2e-15, "exp({y})");
            y += 0.0371;
        }
        assert_eq!((ln(1.0), exp(0.0)), (0.0, 1.0));
    }
}
