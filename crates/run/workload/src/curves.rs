//! Natural logarithm and exponential, inlined and the same on every machine.
//!
//! The system's functions differ between libraries in the last bit, but a stream must not. Errors
//! stay below 2e-15 (absolute for the logarithm of numbers near 1); the logarithm requires a
//! positive normal number. Both look up the nearest of a few values computed at compile time and
//! add a short series (Abramowitz and Stegun, "Handbook of Mathematical Functions", 4.1.24 and
//! 4.2.1), after Tang, "Table-driven implementation of the exponential function" (ACM TOMS 15(2),
//! 1989).

use std::f64::consts::LN_2;

const LN_STEPS: usize = 128;
const EXP_STEPS: usize = 64;
/// Reciprocal and logarithm of the middle of each step of the mantissa.
static LN_TABLE: [(f64, f64); LN_STEPS] = ln_table();
/// 2 to the power of each step.
static EXP_TABLE: [f64; EXP_STEPS] = exp_table();

/// The upper bits of ln 2, for one step of the table; a small multiple of them is exact. `LN_2_LOW`
/// is the rest.
const LN_2_HIGH: f64 = 0.693_147_180_369_123_8 / EXP_STEPS as f64;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10 / EXP_STEPS as f64;
const STEPS_PER_UNIT: f64 = EXP_STEPS as f64 / LN_2;
/// Adding and subtracting this rounds to a whole number, which is then in the low bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
const ONE: u64 = 1.0_f64.to_bits();
const MANTISSA: u64 = (1 << 52) - 1;

/// ln(x).
#[inline]
pub(crate) fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) as i64 - 1023) as f64;
    let mantissa = f64::from_bits(bits & MANTISSA | ONE);
    let (reciprocal, log) = LN_TABLE[(bits >> 45) as usize % LN_STEPS];
    let r = mantissa * reciprocal - 1.0;
    let r2 = r * r;
    let series = r + r2 * ((-1.0 / 2.0 + r * (1.0 / 3.0)) + r2 * ((-1.0 / 4.0 + r * (1.0 / 5.0)) - r2 * (1.0 / 6.0)));
    (exponent * LN_2 + log) + series
}

/// e^x, for x from -700 to 700; beyond that range, the value at its end.
#[inline]
pub(crate) fn exp(x: f64) -> f64 {
    let x = x.clamp(-700.0, 700.0);
    let rounded = x * STEPS_PER_UNIT + ROUNDER;
    let steps = rounded - ROUNDER;
    let r = x - steps * LN_2_HIGH - steps * LN_2_LOW;
    let r2 = r * r;
    let series = r + r2 * ((1.0 / 2.0 + r * (1.0 / 6.0)) + r2 * (1.0 / 24.0 + r * (1.0 / 120.0)));
    let bits = rounded.to_bits();
    let value = EXP_TABLE[bits as usize % EXP_STEPS];
    let value = value + value * series;
    // The remaining steps are whole powers of two.
    let exponent = (bits / EXP_STEPS as u64) << 52;
    f64::from_bits(value.to_bits().wrapping_add(exponent))
}

const fn ln_table() -> [(f64, f64); LN_STEPS] {
    let mut table = [(0.0, 0.0); LN_STEPS];
    let mut step = 0;
    while step < LN_STEPS {
        let middle = 1.0 + (step as f64 + 0.5) / LN_STEPS as f64;
        // ln m = 2 (s + s^3/3 + s^5/5 + …), smallest terms first.
        let s = (middle - 1.0) / (middle + 1.0);
        let mut sum = 0.0;
        let mut term = 41;
        while term > 0 {
            sum = sum * s * s + 1.0 / term as f64;
            term -= 2;
        }
        table[step] = (1.0 / middle, 2.0 * s * sum);
        step += 1;
    }
    table
}

const fn exp_table() -> [f64; EXP_STEPS] {
    let mut table = [1.0; EXP_STEPS];
    let mut step = 0;
    while step < EXP_STEPS {
        let x = step as f64 / EXP_STEPS as f64 * LN_2;
        let mut sum = 1.0;
        let mut term = 22;
        while term > 0 {
            sum = 1.0 + sum * x / term as f64;
            term -= 1;
        }
        table[step] = sum;
        step += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agree_with_the_system() {
        let mut x = 1e-300_f64;
        while x < 1e300 {
            assert!((ln(x) - x.ln()).abs() <= 2e-15 * x.ln().abs().max(0.5), "ln({x})");
            x *= 1.0073;
        }
        let mut y = -690.0_f64;
        while y < 690.0 {
            assert!((exp(y) / y.exp() - 1.0).abs() < 2e-15, "exp({y}): {} {}", exp(y), y.exp());
            y += 0.0171;
        }
        assert!(ln(1.0).abs() < 1e-15 && exp(0.0) == 1.0);
        assert!(exp(-1e9) > 0.0 && exp(1e9).is_finite());
    }
}
