//! Drives with flash behind a translation layer.
//!
//! Guarantees: sheet figures of real products are those of their data sheets; figures of composites
//! are marked as assumed. The model has no SLC cache, so sequential writes have the speed of the
//! flash.

use super::{BLANK, DataSheet, Preset};
use crate::parameters::{Fidelity, ModelKind, Parameters};

const SHEET_970_PRO: DataSheet = DataSheet {
    read_mb_per_second: 3_500,
    write_mb_per_second: 2_300,
    read_iops: 370_000,
    write_iops: 500_000,
    source: "Samsung's data sheet of the 970 PRO, 512 GB",
};

/// The conventional drive that NVMeVirt was fitted to, in the mended fidelity.
pub static SAMSUNG_970_PRO: Preset = Preset {
    name: "970pro",
    summary: "Samsung 970 PRO, MLC, PCIe 3.0 x4",
    source: "latencies, bandwidths and geometry: NVMeVirt (Kim et al., FAST '23); erase time, block size, trim and \
             flush times and the idle thresholds: assumed",
    sheet: Some(SHEET_970_PRO),
    make: mended_970_pro,
};

/// The same drive as modelled by NVMeVirt.
pub static SAMSUNG_970_PRO_NVMEVIRT: Preset = Preset {
    name: "970pro-nvmevirt",
    summary: "Samsung 970 PRO exactly as NVMeVirt computes it, for validation",
    source: "NVMeVirt (Kim et al., FAST '23)",
    sheet: Some(SHEET_970_PRO),
    make: || Parameters {
        fidelity: Fidelity::Compatible,
        blocks_per_lun: 8192,
        erase_ns: 0,
        firmware_trim_ns: 0,
        firmware_flush_ns: 0,
        volatile_cache: false,
        paced_collection: false,
        idle_collect_below_lines: 0,
        ..mended_970_pro()
    },
};

fn mended_970_pro() -> Parameters {
    Parameters {
        model: ModelKind::Nand,
        partitions: 4,
        channels: 8,
        luns_per_channel: 2,
        cell_bits: 2,
        flash_page_bytes: 32 << 10,
        one_shot_page_bytes: 32 << 10,
        block_bytes: 4 << 20,
        spare_percent: 7,
        read_4k_lsb_ns: 29_760,
        read_4k_csb_ns: 0,
        read_4k_msb_ns: 41_760,
        read_lsb_ns: 30_013,
        read_csb_ns: 0,
        read_msb_ns: 42_013,
        program_ns: 185_000,
        erase_ns: 3_500_000,
        firmware_read_4k_ns: 21_500,
        firmware_read_ns: 30_490,
        firmware_write_ns: 4_000,
        firmware_write_4k_ns: 460,
        channel_mib_per_second: 800,
        pcie_mib_per_second: 3_360,
        channel_chunk_bytes: 16 << 10,
        write_buffer_bytes: 1 << 20,
        early_completion: true,
        volatile_cache: true,
        ..BLANK
    }
}

/// A consumer drive of PCIe 4.0.
pub static GEN4_TLC: Preset = Preset {
    name: "gen4-tlc",
    summary: "a TLC drive of PCIe 4.0 x4, without SLC cache",
    source: "assumed: a composite of its class, no particular product",
    sheet: Some(DataSheet {
        read_mb_per_second: 7_000,
        write_mb_per_second: 5_500,
        read_iops: 700_000,
        write_iops: 900_000,
        source: "assumed for the class",
    }),
    make: gen4_tlc,
};

fn gen4_tlc() -> Parameters {
    Parameters {
        model: ModelKind::Nand,
        partitions: 4,
        channels: 8,
        luns_per_channel: 4,
        cell_bits: 3,
        flash_page_bytes: 64 << 10,
        one_shot_page_bytes: 192 << 10,
        block_bytes: 36 << 20,
        spare_percent: 7,
        read_4k_lsb_ns: 35_000,
        read_4k_csb_ns: 45_000,
        read_4k_msb_ns: 40_000,
        read_lsb_ns: 40_000,
        read_csb_ns: 50_000,
        read_msb_ns: 45_000,
        program_ns: 800_000,
        erase_ns: 5_000_000,
        firmware_read_4k_ns: 9_000,
        firmware_read_ns: 12_000,
        firmware_write_ns: 3_000,
        firmware_write_4k_ns: 100,
        channel_mib_per_second: 1_200,
        pcie_mib_per_second: 6_700,
        channel_chunk_bytes: 16 << 10,
        write_buffer_bytes: 16 << 20,
        early_completion: true,
        volatile_cache: true,
        ..BLANK
    }
}

/// A drive of PCIe 5.0.
pub static GEN5_TLC: Preset = Preset {
    name: "gen5-tlc",
    summary: "a TLC drive of PCIe 5.0 x4 with power-loss protection",
    source: "assumed: a composite of its class, no particular product",
    sheet: Some(DataSheet {
        read_mb_per_second: 14_000,
        write_mb_per_second: 10_000,
        read_iops: 1_700_000,
        write_iops: 1_800_000,
        source: "assumed for the class",
    }),
    make: || Parameters {
        luns_per_channel: 8,
        read_4k_lsb_ns: 27_000,
        read_4k_csb_ns: 35_000,
        read_4k_msb_ns: 31_000,
        read_lsb_ns: 30_000,
        read_csb_ns: 38_000,
        read_msb_ns: 34_000,
        program_ns: 750_000,
        firmware_read_4k_ns: 7_000,
        firmware_read_ns: 9_000,
        firmware_write_ns: 2_500,
        firmware_write_4k_ns: 50,
        channel_mib_per_second: 2_000,
        pcie_mib_per_second: 13_600,
        write_buffer_bytes: 32 << 20,
        volatile_cache: false,
        ..gen4_tlc()
    },
};

/// A drive behind SATA.
pub static SATA_TLC: Preset = Preset {
    name: "sata-tlc",
    summary: "a TLC drive with the bandwidth of SATA 6 Gbit/s",
    source: "assumed: a composite of its class, no particular product",
    sheet: Some(DataSheet {
        read_mb_per_second: 560,
        write_mb_per_second: 520,
        read_iops: 95_000,
        write_iops: 88_000,
        source: "assumed for the class",
    }),
    make: || Parameters {
        partitions: 2,
        channels: 4,
        luns_per_channel: 2,
        flash_page_bytes: 32 << 10,
        one_shot_page_bytes: 96 << 10,
        block_bytes: 18 << 20,
        read_4k_lsb_ns: 50_000,
        read_4k_csb_ns: 70_000,
        read_4k_msb_ns: 60_000,
        read_lsb_ns: 55_000,
        read_csb_ns: 75_000,
        read_msb_ns: 65_000,
        program_ns: 1_000_000,
        firmware_read_4k_ns: 20_000,
        firmware_read_ns: 25_000,
        firmware_write_ns: 15_000,
        firmware_write_4k_ns: 1_000,
        channel_mib_per_second: 400,
        pcie_mib_per_second: 535,
        write_buffer_bytes: 4 << 20,
        ..gen4_tlc()
    },
};
