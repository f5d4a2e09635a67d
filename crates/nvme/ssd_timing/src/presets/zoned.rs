//! Zoned drives.
//!
//! Limits on open and active zones are not part of a preset; the device enforces them.

use super::{BLANK, Preset};
use crate::parameters::{ModelKind, Parameters};

/// A zoned prototype with small zones.
pub static ZNS_PROTOTYPE: Preset = Preset {
    name: "zns-prototype",
    summary: "a zoned TLC prototype, one die for each zone",
    source: "NVMeVirt (Kim et al., FAST '23), with its zone of 32 MiB; erase time assumed",
    sheet: None,
    make: || Parameters {
        model: ModelKind::Zoned,
        luns_per_channel: 16,
        cell_bits: 3,
        flash_page_bytes: 64 << 10,
        one_shot_page_bytes: 128 << 10,
        read_4k_lsb_ns: 25_485,
        read_4k_csb_ns: 25_485,
        read_4k_msb_ns: 25_485,
        read_lsb_ns: 40_950,
        read_csb_ns: 40_950,
        read_msb_ns: 40_950,
        program_ns: 1_913_640,
        erase_ns: 5_000_000,
        firmware_read_4k_ns: 32_150,
        firmware_read_ns: 32_150,
        firmware_write_ns: 0,
        firmware_write_4k_ns: 0,
        firmware_channel_4k_ns: 413,
        channel_mib_per_second: 800,
        pcie_mib_per_second: 3_200,
        channel_chunk_bytes: 64 << 10,
        write_buffer_bytes: 32 << 20,
        early_completion: false,
        zone_bytes: 32 << 20,
        luns_per_zone: 1,
        ..BLANK
    },
};

/// A zoned product with large zones.
pub static ZN540: Preset = Preset {
    name: "zn540",
    summary: "Western Digital Ultrastar DC ZN540, zones over all dies",
    source: "NVMeVirt (Kim et al., FAST '23); erase time assumed",
    sheet: None,
    make: || Parameters {
        model: ModelKind::Zoned,
        luns_per_channel: 4,
        cell_bits: 3,
        flash_page_bytes: 32 << 10,
        one_shot_page_bytes: 96 << 10,
        read_4k_lsb_ns: 50_000,
        read_4k_csb_ns: 50_000,
        read_4k_msb_ns: 50_000,
        read_lsb_ns: 58_000,
        read_csb_ns: 58_000,
        read_msb_ns: 58_000,
        program_ns: 561_000,
        erase_ns: 5_000_000,
        firmware_read_4k_ns: 20_000,
        firmware_read_ns: 13_000,
        firmware_write_ns: 5_600,
        firmware_write_4k_ns: 600,
        channel_mib_per_second: 450,
        pcie_mib_per_second: 3_050,
        channel_chunk_bytes: 32 << 10,
        early_completion: true,
        zone_bytes: 2 << 30,
        luns_per_zone: 32,
        zone_write_buffer_bytes: 960 << 10,
        ..BLANK
    },
};
