//! Numbers, sizes and times, their ranges, and their triples for read, write and trim.

use iolab_options::{PerDirection, Percent, SizeSpec, TimeUnit};
use iolab_units::{
    NS_PER_MICROSECOND, NS_PER_MILLISECOND, NS_PER_SECOND, UnitError, parse_bytes, parse_count, parse_ns,
};

use super::expression::{Measure, evaluate};
use super::{NumberRules, Piece, ValueError};

/// Whether the piece is an expression.
fn is_expression(piece: Piece<'_>, rules: NumberRules) -> bool {
    piece.text.starts_with('(') || (rules.bare_arithmetic && piece.text.contains(['+', '-', '*', '/', '%', '^', '(']))
}

/// Turns a unit error into a refusal, with advice if arithmetic was probably meant.
fn unit_refusal(piece: Piece<'_>, error: &UnitError) -> ValueError {
    let looks_like_arithmetic = piece.text.contains(['*', '+', '^', '/']);
    match looks_like_arithmetic {
        true => piece.refuse_with(error.to_string(), "put arithmetic in parentheses, as in `(2*4k)`"),
        false => piece.refuse(error.to_string()),
    }
}

/// A whole number within bounds.
pub(super) fn integer(piece: Piece<'_>, bounds: (i64, i64), rules: NumberRules) -> Result<i64, ValueError> {
    let number = if is_expression(piece, rules) {
        let wide = evaluate(piece.text, Measure::Count(rules.kb_base)).map_err(|reason| piece.refuse(reason))?;
        i64::try_from(wide).map_err(|_| piece.refuse("the number is too large"))?
    } else {
        parse_count(piece.text, rules.kb_base).map_err(|error| unit_refusal(piece, &error))?
    };
    let (min, max) = bounds;
    if number < min {
        return Err(piece.refuse(format!("{number} is below the smallest value allowed, {min}")));
    }
    if number > max {
        return Err(piece.refuse(format!("{number} is above the largest value allowed, {max}")));
    }
    Ok(number)
}

/// 0 to 100: a decimal fraction, or a whole number in any notation.
pub(super) fn share(piece: Piece<'_>, rules: NumberRules) -> Result<Percent, ValueError> {
    let is_decimal = |text: &str| text.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
    if !piece.text.contains('.') || !is_decimal(piece.text) {
        return integer(piece, (0, 100), rules).map(|number| Percent::whole(number as u32));
    }
    let number = float(piece, (0.0, 100.0))?;
    Percent::of_number(number)
        .ok_or_else(|| piece.refuse(format!("{}: a percentage has at most three decimals", piece.text)))
}

/// A number of bytes.
pub(super) fn bytes(piece: Piece<'_>, rules: NumberRules) -> Result<u64, ValueError> {
    if is_expression(piece, rules) {
        let wide = evaluate(piece.text, Measure::Count(rules.kb_base)).map_err(|reason| piece.refuse(reason))?;
        return u64::try_from(wide).map_err(|_| piece.refuse(format!("{wide} is not a size")));
    }
    parse_bytes(piece.text, rules.kb_base).map_err(|error| unit_refusal(piece, &error))
}

/// Bytes, `N%` or `Nz`.
pub(super) fn size_spec(piece: Piece<'_>, rules: NumberRules) -> Result<SizeSpec, ValueError> {
    if let Some(front) = piece.text.strip_suffix('%') {
        return percent(piece.sub(0, front.len()).trim()).map(SizeSpec::Percent);
    }
    if let Some(front) = piece.text.strip_suffix(['z', 'Z']) {
        let zones: u64 =
            front.trim().parse().map_err(|_| piece.refuse("expected a whole number of zones before `z`"))?;
        return Ok(SizeSpec::Zones(zones));
    }
    bytes(piece, rules).map(SizeSpec::Bytes)
}

/// A percentage with up to two decimals, in hundredths.
fn percent(piece: Piece<'_>) -> Result<u32, ValueError> {
    let refuse = || piece.refuse(format!("`{}` is not a percentage from 0 to 100", piece.text));
    let (whole, fraction) = piece.text.split_once('.').unwrap_or((piece.text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 2 {
        return Err(refuse());
    }
    let hundredths = format!("{whole}{fraction:0<2}").parse::<u32>().map_err(|_| refuse())?;
    if hundredths > 10_000 { Err(refuse()) } else { Ok(hundredths) }
}

/// `min-max` or `min:max`, or a single size if `single` allows it. Reversed bounds are swapped, as
/// in fio.
pub(super) fn size_range(piece: Piece<'_>, rules: NumberRules, single: bool) -> Result<(u64, u64), ValueError> {
    let Some((low, high)) = piece.split_once('-').or_else(|| piece.split_once(':')) else {
        if single {
            let size = bytes(piece, rules)?;
            return Ok((size, size));
        }
        return Err(piece.refuse_with("expected a range", "write it as `min-max`, for example `1k-4k`"));
    };
    let (low, high) = (bytes(low, rules)?, bytes(high, rules)?);
    Ok((low.min(high), low.max(high)))
}

/// A time in nanoseconds.
pub(super) fn time(piece: Piece<'_>, unit: TimeUnit, rules: NumberRules) -> Result<u64, ValueError> {
    let bare_ns = match unit {
        TimeUnit::Seconds => NS_PER_SECOND,
        TimeUnit::Milliseconds => NS_PER_MILLISECOND,
        TimeUnit::Microseconds => NS_PER_MICROSECOND,
    };
    if is_expression(piece, rules) {
        // Inside parentheses, fio interprets results without a unit as microseconds, even if the
        // option has another unit.
        let bare_ns = if piece.text.starts_with('(') { NS_PER_MICROSECOND } else { bare_ns };
        let wide = evaluate(piece.text, Measure::Time { bare_ns }).map_err(|reason| piece.refuse(reason))?;
        return u64::try_from(wide).map_err(|_| piece.refuse("the result of the expression is not a valid time"));
    }
    parse_ns(piece.text, bare_ns).map_err(|error| unit_refusal(piece, &error))
}

/// `min-max` or a single time, in nanoseconds.
pub(super) fn time_range(piece: Piece<'_>, unit: TimeUnit, rules: NumberRules) -> Result<(u64, u64), ValueError> {
    // A leading minus is a negative time, not an empty lower bound.
    if piece.text.starts_with('-') {
        return time(piece, unit, rules).map(|ns| (ns, ns));
    }
    let Some((low, high)) = piece.split_once('-').or_else(|| piece.split_once(':')) else {
        return time(piece, unit, rules).map(|ns| (ns, ns));
    };
    let (low, high) = (time(low, unit, rules)?, time(high, unit, rules)?);
    Ok((low.min(high), low.max(high)))
}

/// Up to three comma-separated parts for read, write and trim, filled according to fio's manual. A
/// value applies to the following directions too, unless a comma ends it. An empty direction stays
/// `None`, which means the default.
pub(super) fn triple<T: Clone>(
    whole: Piece<'_>,
    mut one: impl FnMut(Piece<'_>) -> Result<T, ValueError>,
) -> Result<PerDirection<Option<T>>, ValueError> {
    let parts = whole.split(',');
    if let Some(extra) = parts.get(3) {
        return Err(extra.refuse("there are only three directions: read,write,trim"));
    }
    if parts.iter().all(|part| part.is_empty()) {
        return Err(whole.refuse("no direction has a value"));
    }
    let mut each: PerDirection<Option<T>> = [None, None, None];
    for (slot, part) in each.iter_mut().zip(&parts) {
        if !part.is_empty() {
            *slot = Some(one(*part)?);
        }
    }
    if let Some(last) = parts.len().checked_sub(1) {
        let inherited = each[last].clone();
        for slot in &mut each[parts.len()..] {
            slot.clone_from(&inherited);
        }
    }
    Ok(each)
}

/// Numbers separated by `:`.
pub(super) fn floats(whole: Piece<'_>, most: usize, bounds: (f64, f64)) -> Result<Vec<f64>, ValueError> {
    let parts = whole.split(':');
    if parts.len() > most {
        return Err(parts[most].refuse(format!("at most {most} numbers are allowed")));
    }
    parts.into_iter().map(|part| float(part, bounds)).collect()
}

/// One finite number within bounds.
pub(super) fn float(piece: Piece<'_>, (min, max): (f64, f64)) -> Result<f64, ValueError> {
    let number: f64 = piece.text.parse().map_err(|_| piece.refuse(format!("`{}` is not a number", piece.text)))?;
    if !number.is_finite() || number < min || number > max {
        return Err(piece.refuse(format!("{} is not between {min} and {max}", piece.text)));
    }
    Ok(number)
}
