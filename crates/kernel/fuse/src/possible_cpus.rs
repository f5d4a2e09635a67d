//! The number of processors that the kernel is prepared for. FUSE over io_uring has a queue for
//! each of them.
//!
//! The number is read from sysfs. Processors that are switched off count, too.

/// The number of possible processors, at least 1.
pub fn possible_cpus() -> usize {
    let list = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    count(&list).unwrap_or_else(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get))
}

/// Processors in a list like `0-3,8`.
fn count(list: &str) -> Option<usize> {
    let ranges = list.trim().split(',').map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        Some(last.checked_sub(first)? + 1)
    });
    ranges.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted() {
        let table =
            [("0\n", Some(1)), ("0-1\n", Some(2)), ("0-3,8,10-11", Some(7)), ("", None), ("3-1", None), ("a-b", None)];
        for (list, expected) in table {
            assert_eq!(count(list), expected, "{list:?}");
        }
        assert!(possible_cpus() >= 1);
    }
}
