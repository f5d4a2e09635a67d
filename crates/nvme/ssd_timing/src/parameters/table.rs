//! The table of parameters: name, unit, meaning, and the field of the value. Help and docs are
//! generated from it.

use iolab_units::{KbBase, format_bytes, format_ns, parse_bytes, parse_count, parse_ns};

use super::error::{ParameterError, hint};
use super::{Fidelity, ModelKind, Parameters, VictimPolicy};

/// The unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParameterUnit {
    /// A plain number.
    Count,
    /// Bytes, written with binary prefixes.
    Bytes,
    /// Nanoseconds, written with units of time.
    Nanoseconds,
    /// MiB per second.
    MibPerSecond,
    /// Percent.
    Percent,
    /// `yes` or `no`.
    YesNo,
    /// One of a few words.
    Word,
}

impl ParameterUnit {
    /// The unit as shown in tables.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Count => "count",
            Self::Bytes => "bytes",
            Self::Nanoseconds => "time",
            Self::MibPerSecond => "MiB/s",
            Self::Percent => "%",
            Self::YesNo => "yes/no",
            Self::Word => "word",
        }
    }
}

/// A field of [`Parameters`], borrowed to be read or written.
#[derive(Debug)]
pub enum Field<'a> {
    /// A number, in the unit of its entry.
    Number(&'a mut u64),
    /// A switch.
    Switch(&'a mut bool),
    /// The model.
    Model(&'a mut ModelKind),
    /// The fidelity.
    Fidelity(&'a mut Fidelity),
    /// The policy.
    Victim(&'a mut VictimPolicy),
}

const MODELS: [(&str, ModelKind); 4] = [
    ("ideal", ModelKind::Ideal),
    ("simple", ModelKind::Simple),
    ("nand", ModelKind::Nand),
    ("zoned", ModelKind::Zoned),
];
const FIDELITIES: [(&str, Fidelity); 2] = [("mended", Fidelity::Mended), ("nvmevirt-compatible", Fidelity::Compatible)];
const VICTIMS: [(&str, VictimPolicy); 2] =
    [("greedy", VictimPolicy::Greedy), ("cost-benefit", VictimPolicy::CostBenefit)];

fn choose<T: Copy>(choices: &[(&str, T)], text: &str) -> Result<T, String> {
    let found = choices.iter().find(|(word, _)| *word == text);
    found.map(|(_, value)| *value).ok_or_else(|| hint(text, choices.iter().map(|(word, _)| *word)))
}

fn word<T: Copy + PartialEq>(choices: &[(&str, T)], value: T) -> String {
    choices.iter().find(|(_, known)| *known == value).map_or_else(String::new, |(word, _)| (*word).to_owned())
}

/// Reads and prints a field, separate from the public enum.
pub(super) trait Place {
    fn read(self, unit: ParameterUnit, text: &str) -> Result<(), String>;
    fn print(self, unit: ParameterUnit) -> String;
}

impl Place for Field<'_> {
    fn read(self, unit: ParameterUnit, text: &str) -> Result<(), String> {
        match self {
            Field::Number(place) => *place = read_number(unit, text)?,
            Field::Switch(place) => {
                *place = match text {
                    "yes" | "true" | "on" | "1" => true,
                    "no" | "false" | "off" | "0" => false,
                    _ => return Err("it must be yes or no".to_owned()),
                }
            }
            Field::Model(place) => *place = choose(&MODELS, text)?,
            Field::Fidelity(place) => *place = choose(&FIDELITIES, text)?,
            Field::Victim(place) => *place = choose(&VICTIMS, text)?,
        }
        Ok(())
    }

    fn print(self, unit: ParameterUnit) -> String {
        match self {
            Field::Number(place) => match unit {
                ParameterUnit::Bytes => format_bytes(*place),
                ParameterUnit::Nanoseconds => format_ns(*place),
                _ => place.to_string(),
            },
            Field::Switch(place) => if *place { "yes" } else { "no" }.to_owned(),
            Field::Model(place) => word(&MODELS, *place),
            Field::Fidelity(place) => word(&FIDELITIES, *place),
            Field::Victim(place) => word(&VICTIMS, *place),
        }
    }
}

fn read_number(unit: ParameterUnit, text: &str) -> Result<u64, String> {
    let number = match unit {
        ParameterUnit::Bytes => parse_bytes(text, KbBase::K1024),
        ParameterUnit::Nanoseconds => parse_ns(text, 1),
        _ => match parse_count(text, KbBase::K1024).map(u64::try_from) {
            Ok(Ok(count)) => Ok(count),
            Ok(Err(_)) => return Err("it is negative".to_owned()),
            Err(error) => Err(error),
        },
    };
    let number = number.map_err(|error| error.to_string())?;
    // Sums of a few values must never overflow. An hour and a pebibyte are far beyond useful
    // values.
    let most = if unit == ParameterUnit::Nanoseconds { 3_600_000_000_000 } else { 1 << 50 };
    if number > most { Err(format!("it is larger than {most}")) } else { Ok(number) }
}

/// One parameter.
#[derive(Debug, Clone, Copy)]
pub struct ParameterEntry {
    /// The name by which it is set.
    pub name: &'static str,
    /// Its unit.
    pub unit: ParameterUnit,
    /// The models that use it.
    pub models: &'static str,
    /// One or two sentences.
    pub meaning: &'static str,
    /// Its field.
    pub place: fn(&mut Parameters) -> Field<'_>,
}

/// `entry!(Number, field, "name", ParameterUnit, "models", "meaning")`
macro_rules! entry {
    ($kind:ident, $field:ident, $name:literal, $unit:ident, $models:literal, $meaning:literal) => {
        ParameterEntry {
            name: $name,
            unit: ParameterUnit::$unit,
            models: $models,
            meaning: $meaning,
            place: |parameters| Field::$kind(&mut parameters.$field),
        }
    };
}

/// All parameters, in the order of the help.
pub const TABLE: &[ParameterEntry] = &[
    entry!(Model, model, "model", Word, "all", "Timing model: ideal, simple, nand or zoned."),
    entry!(
        Fidelity,
        fidelity,
        "fidelity",
        Word,
        "nand, zoned",
        "mended (default), or nvmevirt-compatible: NVMeVirt's exact formulas with their quirks."
    ),
    entry!(Number, read_delay_ns, "read_delay", Nanoseconds, "simple", "Delay once per read, before its first piece."),
    entry!(Number, read_time_ns, "read_time", Nanoseconds, "simple", "Time per piece of a read."),
    entry!(
        Number,
        read_trailing_ns,
        "read_trailing",
        Nanoseconds,
        "simple",
        "Time a unit stays busy after a piece of a read."
    ),
    entry!(
        Number,
        write_delay_ns,
        "write_delay",
        Nanoseconds,
        "simple",
        "Delay once per write, before its first piece."
    ),
    entry!(Number, write_time_ns, "write_time", Nanoseconds, "simple", "Time per piece of a write."),
    entry!(
        Number,
        write_trailing_ns,
        "write_trailing",
        Nanoseconds,
        "simple",
        "Time a unit stays busy after a piece of a write."
    ),
    entry!(Number, io_units, "io_units", Count, "simple", "Number of units that work in parallel."),
    entry!(Number, io_unit_shift, "io_unit_shift", Count, "simple", "Piece size as a power of two: 12 is 4 KiB."),
    entry!(
        Number,
        partitions,
        "partitions",
        Count,
        "nand",
        "Independent translation layers; pages are assigned to them in turn, and channels are divided among them."
    ),
    entry!(Number, channels, "channels", Count, "nand, zoned", "Flash channels."),
    entry!(
        Number,
        luns_per_channel,
        "luns_per_channel",
        Count,
        "nand, zoned",
        "Dies per channel; each does one operation at a time."
    ),
    entry!(
        Number,
        cell_bits,
        "cell_bits",
        Count,
        "nand, zoned",
        "Bits per cell (1 to 4): flash pages alternate between the read times of LSB, MSB and CSB."
    ),
    entry!(Number, flash_page_bytes, "flash_page", Bytes, "nand, zoned", "Most that one read of a die can fetch."),
    entry!(
        Number,
        one_shot_page_bytes,
        "one_shot_page",
        Bytes,
        "nand, zoned",
        "What a die programs at once; a multiple of flash_page."
    ),
    entry!(
        Number,
        block_bytes,
        "block",
        Bytes,
        "nand",
        "What a die erases at once. Smaller on devices too small for 128 lines of this size."
    ),
    entry!(
        Number,
        blocks_per_lun,
        "blocks_per_lun",
        Count,
        "nand",
        "If not 0, fixes the number of blocks; their size then follows from the capacity, as in NVMeVirt."
    ),
    entry!(
        Number,
        spare_percent,
        "spare",
        Percent,
        "nand",
        "Over-provisioning: flash beyond the visible capacity, in percent of that capacity."
    ),
    entry!(Number, read_4k_lsb_ns, "read_4k_lsb", Nanoseconds, "nand, zoned", "Time to sense 4 KiB of an LSB page."),
    entry!(
        Number,
        read_4k_csb_ns,
        "read_4k_csb",
        Nanoseconds,
        "nand, zoned",
        "Time to sense 4 KiB of a CSB page (3 bits and more)."
    ),
    entry!(Number, read_4k_msb_ns, "read_4k_msb", Nanoseconds, "nand, zoned", "Time to sense 4 KiB of an MSB page."),
    entry!(Number, read_lsb_ns, "read_lsb", Nanoseconds, "nand, zoned", "Time to sense more of an LSB page."),
    entry!(Number, read_csb_ns, "read_csb", Nanoseconds, "nand, zoned", "Time to sense more of a CSB page."),
    entry!(Number, read_msb_ns, "read_msb", Nanoseconds, "nand, zoned", "Time to sense more of an MSB page."),
    entry!(Number, program_ns, "program", Nanoseconds, "nand, zoned", "Time to program a one-shot page."),
    entry!(Number, erase_ns, "erase", Nanoseconds, "nand, zoned", "Erasing a block."),
    entry!(
        Number,
        firmware_read_4k_ns,
        "firmware_read_4k",
        Nanoseconds,
        "nand, zoned",
        "Firmware time of a read of at most 4 KiB, per partition."
    ),
    entry!(Number, firmware_read_ns, "firmware_read", Nanoseconds, "nand, zoned", "Firmware time of a longer read."),
    entry!(Number, firmware_write_ns, "firmware_write", Nanoseconds, "nand, zoned", "Firmware time of a write."),
    entry!(
        Number,
        firmware_write_4k_ns,
        "firmware_write_4k",
        Nanoseconds,
        "nand, zoned",
        "Additional firmware time of a write per 4 KiB."
    ),
    entry!(
        Number,
        firmware_channel_4k_ns,
        "firmware_channel_4k",
        Nanoseconds,
        "nand, zoned",
        "Firmware time of a channel per 4 KiB transferred."
    ),
    entry!(
        Number,
        firmware_trim_ns,
        "firmware_trim",
        Nanoseconds,
        "nand, zoned",
        "Time of a deallocation or write of zeros."
    ),
    entry!(
        Number,
        firmware_flush_ns,
        "firmware_flush",
        Nanoseconds,
        "nand, zoned",
        "Time of a flush that writes nothing."
    ),
    entry!(Number, channel_mib_per_second, "channel_bandwidth", MibPerSecond, "nand, zoned", "Per flash channel."),
    entry!(Number, pcie_mib_per_second, "pcie_bandwidth", MibPerSecond, "nand, zoned", "Of the link to the host."),
    entry!(
        Number,
        channel_chunk_bytes,
        "channel_chunk",
        Bytes,
        "nand, zoned",
        "Reads use channel and link in overlapping chunks of this size."
    ),
    entry!(
        Number,
        write_buffer_bytes,
        "write_buffer",
        Bytes,
        "nand, zoned",
        "Write buffer for data not yet programmed; a write that finds it full stalls its queue."
    ),
    entry!(
        Switch,
        early_completion,
        "early_completion",
        YesNo,
        "nand, zoned",
        "Writes complete when they are in the buffer, unless FUA is set."
    ),
    entry!(
        Switch,
        volatile_cache,
        "volatile_cache",
        YesNo,
        "nand",
        "The buffer is lost at power loss: flush and FUA program its contents, padding word lines."
    ),
    entry!(Victim, victim_policy, "victim", Word, "nand", "Which line to collect: greedy or cost-benefit."),
    entry!(
        Number,
        collect_below_lines,
        "collect_below",
        Count,
        "nand",
        "Writes wait for garbage collection when a partition has this many free lines or fewer."
    ),
    entry!(
        Switch,
        paced_collection,
        "paced_collection",
        YesNo,
        "nand",
        "Garbage collection proceeds one row at a time between writes, instead of a whole line at once."
    ),
    entry!(
        Number,
        idle_collect_below_lines,
        "idle_collect_below",
        Count,
        "nand",
        "While idle, garbage collection continues up to this many free lines; 0 is never."
    ),
    entry!(
        Number,
        idle_before_collect_ns,
        "idle_before_collect",
        Nanoseconds,
        "nand",
        "Idle time before garbage collection starts."
    ),
    entry!(Number, zone_bytes, "zone", Bytes, "zoned", "Size of a zone."),
    entry!(Number, luns_per_zone, "luns_per_zone", Count, "zoned", "Number of dies a zone is striped over."),
    entry!(
        Number,
        zone_write_buffer_bytes,
        "zone_write_buffer",
        Bytes,
        "zoned",
        "If not 0, each zone has its own write buffer of this size instead of the shared one."
    ),
];

/// The error for a name that is not in the table.
pub(super) fn unknown(name: &str) -> ParameterError {
    ParameterError::Unknown { name: name.to_owned(), hint: hint(name, TABLE.iter().map(|entry| entry.name)) }
}
