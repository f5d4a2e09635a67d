//! CPU (and NUMA node) lists and masks.

use iolab_order::Arrange;

use super::{Piece, ValueError};

/// Highest accepted CPU number; more than any Linux machine has.
const HIGHEST_CPU: usize = 8191;

/// `0,2-4`, ascending and without repetition.
pub(super) fn list(whole: Piece<'_>) -> Result<Vec<usize>, ValueError> {
    let mut cpus = Vec::new();
    for part in whole.split(',') {
        match part.split_once('-') {
            Some((low, high)) => {
                let (first, last) = (number(low)?, number(high)?);
                if first > last {
                    return Err(part.refuse(format!("the range `{}` is reversed", part.text)));
                }
                cpus.extend(first..=last);
            }
            None => cpus.push(number(part)?),
        }
    }
    cpus.arrange();
    cpus.dedup();
    Ok(cpus)
}

fn number(piece: Piece<'_>) -> Result<usize, ValueError> {
    let refuse = || piece.refuse(format!("`{}` is not a number from 0 to {HIGHEST_CPU}", piece.text));
    let all_digits = piece.text.bytes().all(|byte| byte.is_ascii_digit());
    let number = piece.text.parse::<usize>().ok().filter(|cpu| all_digits && *cpu <= HIGHEST_CPU);
    number.ok_or_else(refuse)
}

/// A bit mask: decimal up to 64 bits, or hexadecimal of any length.
pub(super) fn mask(whole: Piece<'_>) -> Result<Vec<usize>, ValueError> {
    let refuse = || whole.refuse(format!("`{}` is not a bit mask of CPUs", whole.text));
    let lower = whole.text.to_ascii_lowercase();
    let hex = match lower.strip_prefix("0x") {
        Some(hex) => hex.to_owned(),
        None => format!("{:x}", lower.parse::<u64>().map_err(|_| refuse())?),
    };
    if hex.is_empty() || hex.len() > HIGHEST_CPU.div_ceil(4) {
        return Err(refuse());
    }
    let mut cpus = Vec::new();
    for (place, letter) in hex.chars().rev().enumerate() {
        let digit = letter.to_digit(16).ok_or_else(refuse)?;
        cpus.extend((0..4).filter(|bit| digit & (1 << bit) != 0).map(|bit| place * 4 + bit));
    }
    if cpus.is_empty() { Err(whole.refuse("the mask names no CPU")) } else { Ok(cpus) }
}
