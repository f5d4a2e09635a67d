//! All parameters of a model, as one flat record. Its fields can also be set by text.
//!
//! Guarantees: [`Parameters::default`] is the 970 PRO preset in its mended form. A record with
//! invalid values is refused with a [`ParameterError`] when a model is built from it, never later
//! and never by a panic. The models document the effect of the values.

pub(crate) mod error;
mod table;

pub use error::ParameterError;
pub use table::{Field, ParameterEntry, ParameterUnit, TABLE};

use table::Place;

/// Which model computes times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ModelKind {
    /// Everything completes at once: [`crate::ideal`].
    Ideal,
    /// Units with a delay and a time each: [`crate::simple`].
    Simple,
    /// Flash behind a page-mapping translation layer: [`crate::nand`].
    Nand,
    /// Flash in zones that are written sequentially: [`crate::zoned`].
    Zoned,
}

/// How close the flash models stay to NVMeVirt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fidelity {
    /// NVMeVirt's conventional model to the nanosecond, with its oddities. This is for validation.
    Compatible,
    /// The same formulas without the oddities. This is for normal use.
    Mended,
}

/// How collection chooses the line to empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VictimPolicy {
    /// The line with the fewest valid pages.
    Greedy,
    /// The line with the best (1 - u) / 2u times age, u being its valid share (Rosenblum and
    /// Ousterhout, SOSP '91; Kawaguchi et al., USENIX '95).
    CostBenefit,
}

/// A size: of the visible capacity, or of the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capacity {
    /// Bytes that the host sees.
    Visible(u64),
    /// Bytes of flash, over-provisioning included; the visible capacity is derived from it.
    Flash(u64),
}

/// The settings of a model. [`TABLE`] gives the meaning and the unit of each, and the models that
/// use it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "the table has the meaning of every field, and a test that it has all of them")]
pub struct Parameters {
    pub model: ModelKind,
    pub fidelity: Fidelity,

    pub read_delay_ns: u64,
    pub read_time_ns: u64,
    pub read_trailing_ns: u64,
    pub write_delay_ns: u64,
    pub write_time_ns: u64,
    pub write_trailing_ns: u64,
    pub io_units: u64,
    pub io_unit_shift: u64,

    pub partitions: u64,
    pub channels: u64,
    pub luns_per_channel: u64,
    pub cell_bits: u64,
    pub flash_page_bytes: u64,
    pub one_shot_page_bytes: u64,
    pub block_bytes: u64,
    pub blocks_per_lun: u64,
    pub spare_percent: u64,

    pub read_4k_lsb_ns: u64,
    pub read_4k_csb_ns: u64,
    pub read_4k_msb_ns: u64,
    pub read_lsb_ns: u64,
    pub read_csb_ns: u64,
    pub read_msb_ns: u64,
    pub program_ns: u64,
    pub erase_ns: u64,
    pub firmware_read_4k_ns: u64,
    pub firmware_read_ns: u64,
    pub firmware_write_ns: u64,
    pub firmware_write_4k_ns: u64,
    pub firmware_channel_4k_ns: u64,
    pub firmware_trim_ns: u64,
    pub firmware_flush_ns: u64,
    pub channel_mib_per_second: u64,
    pub pcie_mib_per_second: u64,
    pub channel_chunk_bytes: u64,

    pub write_buffer_bytes: u64,
    pub early_completion: bool,
    pub volatile_cache: bool,

    pub victim_policy: VictimPolicy,
    pub collect_below_lines: u64,
    pub paced_collection: bool,
    pub idle_collect_below_lines: u64,
    pub idle_before_collect_ns: u64,

    pub zone_bytes: u64,
    pub luns_per_zone: u64,
    pub zone_write_buffer_bytes: u64,
}

impl Parameters {
    /// Sets one parameter by its name in [`TABLE`]: sizes as `32k`, times as `30us` (bare numbers
    /// are ns).
    ///
    /// # Errors
    /// An unknown name (with the nearest known one), or a text that is not a valid value of the
    /// parameter. Combinations of values are checked when a model is built.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), ParameterError> {
        let entry = TABLE.iter().find(|entry| entry.name == name).ok_or_else(|| table::unknown(name))?;
        let refused = |reason: String| ParameterError::BadValue { name: entry.name, text: text.to_owned(), reason };
        (entry.place)(self).read(entry.unit, text.trim()).map_err(refused)
    }

    /// The value of a parameter as text that [`Parameters::set`] reads back; `None` for an unknown
    /// name.
    pub fn get(&self, name: &str) -> Option<String> {
        let entry = TABLE.iter().find(|entry| entry.name == name)?;
        let mut copy = self.clone();
        Some((entry.place)(&mut copy).print(entry.unit))
    }

    /// Whether the oddities are mended.
    pub(crate) fn is_mended(&self) -> bool {
        self.fidelity == Fidelity::Mended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_back() {
        let parameters = Parameters::default();
        for entry in TABLE {
            let text = parameters.get(entry.name).unwrap();
            let mut copy = parameters.clone();
            copy.set(entry.name, &text).unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            assert_eq!(copy, parameters, "{}", entry.name);
        }
    }

    #[test]
    fn values_are_read_in_their_units() {
        let mut parameters = Parameters::default();
        for (name, text, expected) in [
            ("block", "4m", "4m"),
            ("program", "600us", "600us"),
            ("program", "185000", "185us"),
            ("pcie_bandwidth", "14000", "14000"),
            ("early_completion", "0", "no"),
            ("victim", "cost-benefit", "cost-benefit"),
            ("model", "simple", "simple"),
        ] {
            parameters.set(name, text).unwrap();
            assert_eq!(parameters.get(name).unwrap(), expected);
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_with_a_suggestion() {
        let mut parameters = Parameters::default();
        let mut refuse = |name: &str, text: &str| parameters.set(name, text).unwrap_err().to_string();
        assert_eq!(refuse("chanels", "8"), "there is no timing parameter `chanels`; did you mean `channels`?");
        assert!(refuse("zzzzzzzzzz", "8").contains("known are: model"), "{}", refuse("zzzzzzzzzz", "8"));
        assert!(refuse("program", "fast").contains("`program`"));
        assert!(refuse("model", "nnd").contains("did you mean `nand`"), "{}", refuse("model", "nnd"));
        assert!(refuse("channels", "-1").contains("negative"));
        assert!(refuse("volatile_cache", "maybe").contains("yes or no"));
    }
}
