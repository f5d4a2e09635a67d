//! `random_distribution=`: where random offsets fall, per direction.

use iolab_options::{Distribution, PerDirection, ZoneShare};

use super::numbers::{bytes, float};
use super::words::unknown_word;
use super::{NumberRules, Piece, ValueError};

/// Most zones of one direction, as in fio.
const MOST_ZONES: usize = 256;
/// Most blocks of a sequence.
const MOST_BLOCKS: usize = 4096;
/// fio's exponent for `zipf` without one.
const DEFAULT_ZIPF_THETA: f64 = 1.1;
/// fio's power for `pareto` without one.
const DEFAULT_PARETO_POWER: f64 = 0.2;
/// Tolerance of a sum of percentages, for decimals.
const SUM_SLACK: f64 = 0.01;

/// One distribution for all directions or a comma list. A later direction may omit the word
/// `zoned:`.
pub(super) fn distributions(whole: Piece<'_>, rules: NumberRules) -> Result<PerDirection<Distribution>, ValueError> {
    if let Some((word, list)) = whole.split_once(':').filter(|(word, _)| word.text == "sequence") {
        let sequence = sequence(list, word)?;
        return Ok([sequence.clone(), sequence.clone(), sequence]);
    }
    let parts = whole.split(',');
    if let Some(extra) = parts.get(3) {
        return Err(extra.refuse("there are only three directions: read,write,trim"));
    }
    let mut each = Vec::new();
    let mut zone_word = None;
    for part in &parts {
        let (word, arguments) = match part.split_once(':') {
            Some((word, arguments)) => (word, Some(arguments)),
            None => (*part, None),
        };
        let distribution = match (zone_word, word.text.contains('/')) {
            (Some(kind), true) => zones(*part, kind, rules)?,
            _ => one(word, arguments, rules)?,
        };
        zone_word = match distribution {
            Distribution::Zoned(_) => Some(Zones::Relative),
            Distribution::ZonedAbsolute(_) => Some(Zones::Absolute),
            _ => None,
        };
        each.push(distribution);
    }
    let last = each.last().cloned().unwrap_or(Distribution::Uniform);
    each.resize(3, last);
    each.try_into().map_err(|_| whole.refuse("there are only three directions: read,write,trim"))
}

/// `0,2,1`: numbers of blocks, the same for all directions.
fn sequence(list: Piece<'_>, word: Piece<'_>) -> Result<Distribution, ValueError> {
    let parts = list.split(',');
    if let Some(extra) = parts.get(MOST_BLOCKS) {
        return Err(extra.refuse(format!("a sequence has at most {MOST_BLOCKS} blocks")));
    }
    let mut blocks = Vec::with_capacity(parts.len());
    for part in parts {
        if part.is_empty() {
            return Err(word.refuse_with("a block number is missing", "as in `sequence:0,2,1`"));
        }
        let block = part.text.parse::<u64>().ok().filter(|block| *block < 1 << 48);
        blocks.push(block.ok_or_else(|| part.refuse(format!("`{}` is not a block number", part.text)))?);
    }
    Ok(Distribution::Sequence { blocks, strides: false })
}

#[derive(Clone, Copy)]
enum Zones {
    Relative,
    Absolute,
}

fn one(word: Piece<'_>, arguments: Option<Piece<'_>>, rules: NumberRules) -> Result<Distribution, ValueError> {
    match word.text {
        "" | "random" => match arguments {
            None => Ok(Distribution::Uniform),
            Some(extra) => Err(extra.refuse("the distribution `random` takes no number")),
        },
        "zipf" => {
            let (theta, center) = shape(arguments, Some(DEFAULT_ZIPF_THETA), (0.0, 1000.0), word)?;
            if theta <= 0.0 || theta == 1.0 {
                return Err(arguments.unwrap_or(word).refuse("theta must be above 0 and different from 1"));
            }
            Ok(Distribution::Zipf { theta, center })
        }
        "pareto" => {
            let (h, center) = shape(arguments, Some(DEFAULT_PARETO_POWER), (0.0, 1.0), word)?;
            if h <= 0.0 || h >= 1.0 {
                return Err(arguments.unwrap_or(word).refuse("the power must lie between 0 and 1"));
            }
            Ok(Distribution::Pareto { h, center })
        }
        "normal" | "gauss" => {
            let (deviation_percent, center) = shape(arguments, None, (0.0, 100.0), word)?;
            Ok(Distribution::Normal { deviation_percent, center })
        }
        "zoned" | "zoned_abs" => {
            let kind = if word.text == "zoned" { Zones::Relative } else { Zones::Absolute };
            let list =
                arguments.ok_or_else(|| word.refuse_with("the zones are missing", "as in `zoned:60/10:40/90`"))?;
            zones(list, kind, rules)
        }
        _ => Err(unknown_word(
            word,
            ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs", "sequence"].into_iter(),
        )),
    }
}

/// `number[:center]`.
fn shape(
    arguments: Option<Piece<'_>>,
    default: Option<f64>,
    bounds: (f64, f64),
    word: Piece<'_>,
) -> Result<(f64, Option<f64>), ValueError> {
    let Some(arguments) = arguments else {
        let missing = || word.refuse_with("a number is missing", format!("as in `{}:20`", word.text));
        return default.map(|number| (number, None)).ok_or_else(missing);
    };
    let parts = arguments.split(':');
    if let Some(extra) = parts.get(2) {
        return Err(extra.refuse("expected at most a number and a centre"));
    }
    let number = float(parts[0], bounds)?;
    let center = parts.get(1).map(|part| float(*part, (0.0, 1.0))).transpose()?;
    Ok((number, center))
}

/// `access/size:access/size…`; empty percentages share the rest equally.
fn zones(list: Piece<'_>, kind: Zones, rules: NumberRules) -> Result<Distribution, ValueError> {
    let entries = list.split(':');
    if let Some(extra) = entries.get(MOST_ZONES) {
        return Err(extra.refuse(format!("at most {MOST_ZONES} zones can be given")));
    }
    let mut accesses = Vec::new();
    let mut sizes = Vec::new();
    let mut shares = Vec::new();
    for entry in entries {
        let (access, size) = entry
            .split_once('/')
            .ok_or_else(|| entry.refuse_with("a zone is an access percentage and a size", "as in `60/10`"))?;
        accesses.push(percent_or_rest(access)?);
        match kind {
            Zones::Relative => {
                sizes.push(percent_or_rest(size)?);
                shares.push(ZoneShare { access_percent: 0.0, size_percent: 0.0, size_bytes: 0 });
            }
            Zones::Absolute => {
                let size_bytes = bytes(size, rules)?;
                shares.push(ZoneShare { access_percent: 0.0, size_percent: 0.0, size_bytes });
            }
        }
    }
    for (share, access) in shares.iter_mut().zip(filled(list, "access", &accesses, true)?) {
        share.access_percent = access;
    }
    match kind {
        Zones::Relative => {
            for (share, size) in shares.iter_mut().zip(filled(list, "size", &sizes, false)?) {
                share.size_percent = size;
            }
            Ok(Distribution::Zoned(shares))
        }
        Zones::Absolute => Ok(Distribution::ZonedAbsolute(shares)),
    }
}

fn percent_or_rest(piece: Piece<'_>) -> Result<Option<f64>, ValueError> {
    if piece.is_empty() { Ok(None) } else { float(piece, (0.0, 100.0)).map(Some) }
}

/// Fills in the empty percentages; `whole` requires that the sum is 100.
fn filled(list: Piece<'_>, what: &str, given: &[Option<f64>], whole: bool) -> Result<Vec<f64>, ValueError> {
    let sum: f64 = given.iter().flatten().sum();
    let open = given.iter().filter(|percent| percent.is_none()).count();
    if sum > 100.0 + SUM_SLACK {
        return Err(list.refuse(format!("the {what} percentages add up to {sum}, more than 100")));
    }
    if whole && open == 0 && sum < 100.0 - SUM_SLACK {
        return Err(list.refuse(format!("the {what} percentages add up to {sum}, not 100")));
    }
    let rest = if open == 0 { 0.0 } else { (100.0 - sum).max(0.0) / open as f64 };
    Ok(given.iter().map(|percent| percent.unwrap_or(rest)).collect())
}
