//! Numbers and findings as people read them.

pub(crate) use iolab_text::{grouped as count, rounded_bytes as bytes};

/// A share as percent.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let decimals = usize::from(percent < 9.95);
    format!("{percent:.decimals$} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!([bytes(0.0), bytes(1023.0), bytes(1024.0)], ["0 B", "1023 B", "1.0 KiB"]);
        assert_eq!([bytes(150.0 * 1048576.0), bytes(1.5e13)], ["150 MiB", "13.6 TiB"]);
        assert_eq!([percent(0.004), percent(0.5), percent(1.0)], ["0.4 %", "50 %", "100 %"]);
        assert_eq!([count(7), count(1000), count(1234567)], ["7", "1,000", "1,234,567"]);
    }
}
