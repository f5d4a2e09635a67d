//! Recognises lines of logs, as fio and iolab write them: integers between `, `, one of which is a
//! direction.

/// Number of lines checked; all lines of a log have the same form.
const LINES: usize = 200;
/// Fields of a line: time, value, optionally the largest value, direction, bytes, optionally
/// offset, priority, optionally the issue time.
const FIELDS: std::ops::RangeInclusive<usize> = 4..=9;
/// Fields of a line of a histogram log: time, direction, bytes, and the bins at their coarsest.
const HISTOGRAM_FIELDS: usize = 3 + 29;

/// Whether there is at least one complete line in `head`, and all of them are lines of a log.
pub(crate) fn are_all(head: &[u8]) -> bool {
    let Some(end) = head.iter().rposition(|byte| *byte == b'\n') else { return false };
    let Ok(text) = std::str::from_utf8(&head[..end]) else { return false };
    !text.is_empty() && text.lines().take(LINES).all(is_line)
}

fn is_line(line: &str) -> bool {
    let fields: Vec<&str> = line.split(", ").collect();
    let is_direction = |at: usize| fields.get(at).is_some_and(|field| ["0", "1", "2"].contains(field));
    let is_shaped = (FIELDS.contains(&fields.len()) && (is_direction(2) || is_direction(3)))
        || (fields.len() >= HISTOGRAM_FIELDS && is_direction(1));
    is_shaped && fields.iter().all(|field| is_number(field))
}

fn is_number(field: &str) -> bool {
    let digits = field.strip_prefix("0x").unwrap_or(field);
    !digits.is_empty()
        && digits.len() <= 20
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && (digits.len() < field.len() || digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_logs() {
        let histogram = format!("1000, 1, 4096{}\n", ", 0".repeat(1856));
        let cases = [
            ("0, 1200, 0, 4096, 0\n", true),
            ("0, 1200, 1300, 2, 4096, 4096, 0x2000, 17\n", true),
            (histogram.as_str(), true),
            ("0, 1200, 0, 4096, 0\n12, 12", true),
            ("0, 1200, 7, 4096, 0\n", false),
            ("0,1200,0,4096,0\n", false),
            ("a, 1200, 0, 4096\n", false),
            ("0, ff, 0, 4096\n", false),
            ("0, 1, 0\n", false),
            ("\n", false),
            ("", false),
            ("0, 1200, 0, 4096, 0\nand more\n", false),
        ];
        for (text, expected) in cases {
            assert_eq!(are_all(text.as_bytes()), expected, "{text}");
        }
    }
}
