//! Points in time as people write them: a time before now, or a date.

const SECOND_NS: u64 = 1_000_000_000;

/// Parses `2d`, `12h`, `30m` or `1w` before now, `2026-11-21` or `2026-11-21T09:30` (UTC) to ns
/// since the Unix epoch.
pub(crate) fn unix_ns(text: &str, now_unix_ns: u64) -> Result<u64, String> {
    const FORMS: &str = "how long ago (2d, 12h, 30m, 1w), or a date (2026-11-21, 2026-11-21T09:30)";
    let units = [('m', 60), ('h', 3600), ('d', 86_400), ('w', 7 * 86_400)];
    if let Some((unit, seconds)) = units.iter().find(|(unit, _)| text.ends_with(*unit)) {
        let number: u64 = text.trim_end_matches(*unit).trim().parse().map_err(|_| FORMS.to_owned())?;
        return Ok(now_unix_ns.saturating_sub(number.saturating_mul(seconds * SECOND_NS)));
    }
    date(text).map(|seconds| seconds * SECOND_NS).ok_or_else(|| FORMS.to_owned())
}

/// Parses seconds since the Unix epoch, with a fraction if it has one, or a date with a time (UTC)
/// to ns since then.
pub(crate) fn moment_ns(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if !whole.is_empty()
        && whole.len() <= 10
        && [whole, fraction].iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()))
    {
        let ns: u64 = format!("{fraction:0<9}").get(..9)?.parse().ok()?;
        return Some(whole.parse::<u64>().ok()? * SECOND_NS + ns);
    }
    let text = text.strip_suffix('Z').unwrap_or(text);
    text.contains(['T', ' ']).then(|| date(text)).flatten().map(|seconds| seconds * SECOND_NS)
}

/// Seconds since the Unix epoch; `None` if the text is not a date after it.
fn date(text: &str) -> Option<u64> {
    let (day, time) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let parts: Vec<i64> = day.split('-').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [year, month, day] = parts[..] else { return None };
    let clock: Vec<u64> = time.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let (hour, minute, second) = match clock[..] {
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let lengths = [31, if is_leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before = usize::try_from(month - 1).ok()?;
    if day < 1 || day > lengths[before] {
        return None;
    }
    let past = year - 1;
    // Days before the year in the Gregorian calendar, less those before 1970.
    let days = past * 365 + past / 4 - past / 100 + past / 400 - 719_162;
    let days = days + lengths[..before].iter().sum::<i64>() + day - 1;
    Some(u64::try_from(days).ok()? * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_exact() {
        for (text, ns) in [
            ("1795324917", 1_795_324_917 * SECOND_NS),
            ("1795324917.25", 1_795_324_917 * SECOND_NS + SECOND_NS / 4),
            ("0.0000000019", 1),
            ("2026-11-22T05:21:57Z", 1_795_324_917 * SECOND_NS),
        ] {
            assert_eq!(moment_ns(text), Some(ns), "{text}");
        }
        for text in ["", ".5", "-1", "1e9", "now", "2026-11-22", "12345678901", "2d"] {
            assert_eq!(moment_ns(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_read() {
        let now = 1_795_324_917 * SECOND_NS;
        let check = |text: &str, seconds: u64| assert_eq!(unix_ns(text, now), Ok(seconds * SECOND_NS), "{text}");
        check("2d", 1_795_324_917 - 172_800);
        check("90m", 1_795_324_917 - 5400);
        check("1w", 1_795_324_917 - 604_800);
        check("1970-01-01", 0);
        check("2000-02-29", 951_782_400);
        check("2026-11-22T05:21:57", 1_795_324_917);
        check("2026-11-22 05:21", 1_795_324_860);
        for text in ["", "d", "yesterday", "2026-02-29", "2026-13-01", "26-11-22", "2026-11-22T25:00", "2026-11"] {
            assert!(unix_ns(text, now).is_err(), "{text}");
        }
    }
}
