//! Calendar text of a point in time, in the layout of `ctime(3)`: `Sat Nov 21 09:29:42 2026`.
//!
//! Proleptic Gregorian calendar. The time zone is a fixed offset given by the caller, because
//! determining the local one needs the environment.

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// `unix_seconds` shifted by `utc_offset_seconds`, as text without a line break.
pub(crate) fn calendar_text(unix_seconds: u64, utc_offset_seconds: i32) -> String {
    let local = unix_seconds as i64 + i64::from(utc_offset_seconds);
    let (days, seconds) = (local.div_euclid(86_400), local.rem_euclid(86_400));
    let (year, month, day) = date_of(days);
    let weekday = DAYS[(days + 4).rem_euclid(7) as usize]; // 1 January 1970 was a Thursday
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{weekday} {} {day:2} {hour:02}:{minute:02}:{second:02} {year}", MONTHS[month])
}

/// `unix_seconds` in ISO 8601, in UTC: `2026-11-21 09:29:42`.
pub fn iso_text(unix_seconds: u64) -> String {
    let (days, seconds) = ((unix_seconds / 86_400) as i64, unix_seconds % 86_400);
    let (year, month, day) = date_of(days);
    format!("{year:04}-{:02}-{day:02} {:02}:{:02}:{:02}", month + 1, seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// Year, month from 0 and day from 1 of a day counted from 1 January 1970.
fn date_of(days: i64) -> (i64, usize, i64) {
    // With years that begin on 1 March, the leap day comes last, and month lengths follow a linear
    // formula.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12;
    let year = year_of_era + era * 400 + i64::from(month < 2);
    (year, month as usize, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_dates() {
        for (seconds, offset, expected) in [
            (0, 0, "Thu Jan  1 00:00:00 1970"),
            (1_795_253_382, 0, "Sat Nov 21 09:29:42 2026"),
            (1_795_253_382, -36_000, "Fri Nov 20 23:29:42 2026"),
            (951_782_400, 0, "Tue Feb 29 00:00:00 2000"),
            (4_107_542_399, 0, "Sun Feb 28 23:59:59 2100"),
        ] {
            assert_eq!(calendar_text(seconds, offset), expected);
        }
    }

    #[test]
    fn iso_dates() {
        assert_eq!(iso_text(1_795_253_382), "2026-11-21 09:29:42");
        assert_eq!(iso_text(951_782_400), "2000-02-29 00:00:00");
    }
}
