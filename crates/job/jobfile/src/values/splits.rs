//! `bssplit=`: block sizes with their shares, per direction.

use iolab_options::{BlockSplit, PerDirection, SplitShare};

use super::numbers::{bytes, triple};
use super::{NumberRules, Piece, ValueError};

/// Most entries of one direction, as in fio.
const MOST_ENTRIES: usize = 64;

/// `4k/10:64k/50:32k/40[,…][,…]`.
pub(super) fn splits(
    whole: Piece<'_>,
    rules: NumberRules,
) -> Result<PerDirection<Option<Vec<BlockSplit>>>, ValueError> {
    triple(whole, |part| one_direction(part, rules))
}

fn one_direction(part: Piece<'_>, rules: NumberRules) -> Result<Vec<BlockSplit>, ValueError> {
    let entries = part.split(':');
    if let Some(extra) = entries.get(MOST_ENTRIES) {
        return Err(extra.refuse(format!("at most {MOST_ENTRIES} block sizes can be mixed")));
    }
    let splits = entries.into_iter().map(|entry| one_entry(entry, rules)).collect::<Result<Vec<_>, _>>()?;
    check_sum(part, &splits)?;
    Ok(splits)
}

fn one_entry(entry: Piece<'_>, rules: NumberRules) -> Result<BlockSplit, ValueError> {
    let (size, share) = match entry.split_once('/') {
        Some((size, share)) => (size, share),
        None => (entry, entry.sub(entry.text.len(), entry.text.len())),
    };
    let bytes = bytes(size, rules)?;
    if bytes == 0 {
        return Err(size.refuse("a block of 0 bytes cannot be transferred"));
    }
    if share.is_empty() {
        return Ok(BlockSplit { bytes, share: SplitShare::Remainder });
    }
    let percent = share.text.parse::<u8>().ok().filter(|percent| *percent <= 100);
    let percent = percent.ok_or_else(|| share.refuse(format!("`{}` is not a whole percentage", share.text)))?;
    Ok(BlockSplit { bytes, share: SplitShare::Percent(percent) })
}

/// Checks that percentages do not exceed 100. If they are below 100 without an empty one, `resolve`
/// decides.
fn check_sum(part: Piece<'_>, splits: &[BlockSplit]) -> Result<(), ValueError> {
    let percent = |split: &BlockSplit| match split.share {
        SplitShare::Percent(percent) => u32::from(percent),
        SplitShare::Remainder => 0,
    };
    let sum: u32 = splits.iter().map(percent).sum();
    if sum > 100 {
        return Err(part.refuse(format!("the percentages add up to {sum}, more than 100")));
    }
    Ok(())
}
