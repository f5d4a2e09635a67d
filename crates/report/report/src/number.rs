//! Numbers as fio prints them: an integer with an SI or IEC prefix and a limited number of
//! characters.
//!
//! A value is divided by 1000 or 1024 until its integer part has no more digits than the
//! significant figures allow; a fraction is shown if a point and at least one more digit fit.

/// What a number counts; determines the text after the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// No unit: operations, times.
    Plain,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Bits per second; the value passed is still in bytes per second.
    BitsPerSecond,
}

impl Unit {
    fn suffix(self) -> &'static str {
        match self {
            Unit::Plain => "",
            Unit::Bytes => "B",
            Unit::BytesPerSecond => "B/s",
            Unit::BitsPerSecond => "bit/s",
        }
    }
}

/// How bandwidth is written: which prefixes come first, and whether in bytes or bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NumberStyle {
    /// Significant figures, 1 to 10.
    pub(crate) figures: u32,
    /// Whether powers of 1024 come first.
    pub(crate) binary: bool,
    /// Whether rates are in bits instead of bytes.
    pub(crate) bits: bool,
}

impl NumberStyle {
    /// The style that `kb_base`, `unit_base` and `significant_figures` ask for.
    pub(crate) fn new(kb_base: u32, unit_base: u32, figures: u32) -> NumberStyle {
        NumberStyle { figures: figures.clamp(1, 10), binary: kb_base != 1000, bits: unit_base == 1 }
    }

    /// The style of one worker's reports.
    pub(crate) fn of(measurement: &iolab_plan::MeasurementPlan) -> NumberStyle {
        NumberStyle::new(measurement.kb_base, measurement.unit_base, measurement.significant_figures)
    }

    fn rate_unit(self) -> Unit {
        if self.bits { Unit::BitsPerSecond } else { Unit::BytesPerSecond }
    }

    /// Bandwidth with the preferred prefixes.
    pub(crate) fn rate(self, bytes_per_second: u64) -> String {
        scaled(bytes_per_second, self.figures, self.binary, self.rate_unit())
    }

    /// Bandwidth with the other prefixes.
    pub(crate) fn rate_other(self, bytes_per_second: u64) -> String {
        scaled(bytes_per_second, self.figures, !self.binary, self.rate_unit())
    }

    /// An amount with the preferred prefixes.
    pub(crate) fn bytes(self, bytes: u64) -> String {
        scaled(bytes, self.figures, self.binary, Unit::Bytes)
    }

    /// An amount with the other prefixes.
    pub(crate) fn bytes_other(self, bytes: u64) -> String {
        scaled(bytes, self.figures, !self.binary, Unit::Bytes)
    }

    /// A count.
    pub(crate) fn count(self, count: u64) -> String {
        scaled(count, self.figures, false, Unit::Plain)
    }
}

/// `value` with at most `figures` characters before the prefix.
pub(crate) fn scaled(value: u64, figures: u32, binary: bool, unit: Unit) -> String {
    const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];
    const DECIMAL: [&str; 7] = ["", "k", "M", "G", "T", "P", "E"];
    let (step, prefixes) = if binary { (1024, BINARY) } else { (1000, DECIMAL) };
    let limit = 10_u128.pow(figures);
    let value = u128::from(value) * if unit == Unit::BitsPerSecond { 8 } else { 1 };
    let (mut whole, mut divisor, mut prefix) = (value, 1_u128, 0);
    while whole >= limit && prefix + 1 < prefixes.len() {
        divisor *= step;
        whole = value / divisor;
        prefix += 1;
    }
    let digits = whole.to_string().len();
    let room = if prefix == 0 { 0 } else { (figures as usize).saturating_sub(digits + 1) };
    let number = value as f64 / divisor as f64;
    // Without a fraction, the integer part is rounded half up.
    let number = if room == 0 { (number + 0.5).floor() } else { number };
    format!("{number:.room$}{}{}", prefixes[prefix], unit.suffix())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_fio_prints_them() {
        // (value, figures, binary, unit, text); the texts are from fio's own reports
        for (value, figures, binary, unit, expected) in [
            (6_699_068, 4, false, Unit::Plain, "6699k"),
            (27_439_384_435, 4, true, Unit::BytesPerSecond, "25.6GiB/s"),
            (27_439_384_435, 4, false, Unit::BytesPerSecond, "27.4GB/s"),
            (54_906_208_256, 4, true, Unit::Bytes, "51.1GiB"),
            (21_542, 4, false, Unit::Plain, "21.5k"),
            (334_000, 4, false, Unit::Plain, "334k"),
            (2_060_288, 4, true, Unit::Bytes, "2012KiB"),
            (516, 4, false, Unit::Plain, "516"),
            (65_536, 4, true, Unit::Bytes, "64.0KiB"),
            (252_000, 6, false, Unit::Plain, "252000"),
            (2_095_104, 6, true, Unit::Bytes, "2046.0KiB"),
            (2_095_104_000, 6, true, Unit::BitsPerSecond, "15984Mibit/s"),
            (2_095_104_000, 6, false, Unit::BitsPerSecond, "16761Mbit/s"),
            (3_334_154, 6, false, Unit::Plain, "3334.2k"),
            (4096, 4, true, Unit::Bytes, "4096B"),
            (16_384, 4, true, Unit::Bytes, "16.0KiB"),
            (88_326_144, 4, true, Unit::Bytes, "84.2MiB"),
            (42_650_802, 4, false, Unit::BytesPerSecond, "42.7MB/s"),
            (0, 4, true, Unit::BytesPerSecond, "0B/s"),
        ] {
            assert_eq!(scaled(value, figures, binary, unit), expected, "{value}");
        }
        assert_eq!(scaled(u64::MAX, 1, true, Unit::BitsPerSecond), "128Eibit/s");
    }
}
