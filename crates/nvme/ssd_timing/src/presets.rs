//! Devices by name: parameters, the figures of the device's data sheet, and the source of both.
//!
//! Guarantees: every preset builds. Unpublished figures are marked as assumed in the preset's
//! source. Presets contain no measured results, because these depend on load and age.

mod conventional;
mod zoned;

pub use conventional::{GEN4_TLC, GEN5_TLC, SAMSUNG_970_PRO, SAMSUNG_970_PRO_NVMEVIRT, SATA_TLC};
pub use zoned::{ZN540, ZNS_PROTOTYPE};

use crate::parameters::error::hint;
use crate::parameters::{Fidelity, ModelKind, ParameterError, Parameters, VictimPolicy};

/// The figures in the data sheet of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataSheet {
    /// Sequential reads in 10^6 bytes per second.
    pub read_mb_per_second: u64,
    /// Sequential writes in 10^6 bytes per second.
    pub write_mb_per_second: u64,
    /// Random 4 KiB reads per second at a high depth.
    pub read_iops: u64,
    /// Random 4 KiB writes per second at a high depth; 0 for devices that accept no random writes.
    /// A fresh flash device is faster; one that has been overwritten at random for long is slower.
    pub write_iops: u64,
    /// The source of the figures.
    pub source: &'static str,
}

/// A named device.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// The name by which users choose it.
    pub name: &'static str,
    /// Its description.
    pub summary: &'static str,
    /// The source of its parameters.
    pub source: &'static str,
    /// The figures of its sheet, if it has one.
    pub sheet: Option<DataSheet>,
    make: fn() -> Parameters,
}

impl Default for Parameters {
    fn default() -> Self {
        SAMSUNG_970_PRO.parameters()
    }
}

impl Preset {
    /// Its parameters.
    pub fn parameters(&self) -> Parameters {
        (self.make)()
    }

    /// The preset with this name.
    ///
    /// # Errors
    /// There is none; the error contains the nearest name.
    pub fn named(name: &str) -> Result<&'static Self, ParameterError> {
        let unknown = || ParameterError::UnknownPreset {
            name: name.to_owned(),
            hint: hint(name, PRESETS.iter().map(|preset| preset.name)),
        };
        PRESETS.iter().copied().find(|preset| preset.name == name).ok_or_else(unknown)
    }
}

/// All presets.
pub static PRESETS: [&Preset; 9] = [
    &IDEAL,
    &OPTANE,
    &SAMSUNG_970_PRO,
    &SAMSUNG_970_PRO_NVMEVIRT,
    &GEN4_TLC,
    &GEN5_TLC,
    &SATA_TLC,
    &ZNS_PROTOTYPE,
    &ZN540,
];

/// A device that takes no time.
pub static IDEAL: Preset = Preset {
    name: "ideal",
    summary: "completes at once: shows the cost of everything else",
    source: "by definition",
    sheet: None,
    make: || Parameters { model: ModelKind::Ideal, ..BLANK },
};

/// A drive without flash.
pub static OPTANE: Preset = Preset {
    name: "optane",
    summary: "Intel Optane P4800X class, 3D XPoint",
    source: "NVMeVirt's simple model; times derived here from the sheet's latency of 10 µs and its bandwidths",
    sheet: Some(DataSheet {
        read_mb_per_second: 2_400,
        write_mb_per_second: 2_000,
        read_iops: 550_000,
        write_iops: 500_000,
        source: "Intel's product brief of the P4800X, 375 GB",
    }),
    make: || Parameters {
        model: ModelKind::Simple,
        read_delay_ns: 8_300,
        read_time_ns: 1_700,
        read_trailing_ns: 3_650,
        write_delay_ns: 8_000,
        write_time_ns: 2_000,
        write_trailing_ns: 4_000,
        ..BLANK
    },
};

/// The base of the presets: values that few of them change.
const BLANK: Parameters = Parameters {
    model: ModelKind::Ideal,
    fidelity: Fidelity::Mended,
    read_delay_ns: 1,
    read_time_ns: 1,
    read_trailing_ns: 0,
    write_delay_ns: 1,
    write_time_ns: 1,
    write_trailing_ns: 0,
    io_units: 8,
    io_unit_shift: 12,
    partitions: 1,
    channels: 8,
    luns_per_channel: 2,
    cell_bits: 2,
    flash_page_bytes: 32 << 10,
    one_shot_page_bytes: 32 << 10,
    block_bytes: 4 << 20,
    blocks_per_lun: 0,
    spare_percent: 7,
    read_4k_lsb_ns: 0,
    read_4k_csb_ns: 0,
    read_4k_msb_ns: 0,
    read_lsb_ns: 0,
    read_csb_ns: 0,
    read_msb_ns: 0,
    program_ns: 0,
    erase_ns: 0,
    firmware_read_4k_ns: 0,
    firmware_read_ns: 0,
    firmware_write_ns: 0,
    firmware_write_4k_ns: 0,
    firmware_channel_4k_ns: 0,
    firmware_trim_ns: 20_000,
    firmware_flush_ns: 5_000,
    channel_mib_per_second: 800,
    pcie_mib_per_second: 3_360,
    channel_chunk_bytes: 16 << 10,
    write_buffer_bytes: 32 << 20,
    early_completion: true,
    volatile_cache: false,
    victim_policy: VictimPolicy::Greedy,
    collect_below_lines: 2,
    paced_collection: true,
    idle_collect_below_lines: 4,
    idle_before_collect_ns: 100_000_000,
    zone_bytes: 64 << 20,
    luns_per_zone: 1,
    zone_write_buffer_bytes: 0,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Capacity, TimingModel};

    #[test]
    fn every_preset_builds_at_many_capacities() {
        for preset in PRESETS {
            for gib in [8, 100, 1024] {
                let capacity = Capacity::Visible(gib << 30);
                let model = TimingModel::build(&preset.parameters(), capacity);
                let model = model.unwrap_or_else(|error| panic!("{} {gib}: {error}", preset.name));
                assert!(model.visible_bytes() <= gib << 30);
            }
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        for preset in PRESETS {
            assert_eq!(Preset::named(preset.name).unwrap().summary, preset.summary);
        }
        let error = Preset::named("970por").unwrap_err().to_string();
        assert_eq!(error, "there is no timing preset `970por`; did you mean `970pro`?");
    }
}
