//! The keys of a configuration: one table with the name, the help text and the setter of each.

use iolab_ssd_timing::parameters::TABLE;
use iolab_ssd_timing::{ModelKind, Preset};
use iolab_text::closest;
use iolab_units::{KbBase, parse_bytes};

use super::{Config, ConfigError, ZoneLayout};
use crate::fault::Fault;
use crate::media::MediaKind;
use crate::timing::preset_of;

type Setter = fn(&mut Config, &'static str, &str) -> Result<(), ConfigError>;

/// One key.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The accepted values.
    pub values: &'static str,
    /// Its meaning.
    pub help: &'static str,
    set: Setter,
}

/// All keys of the device itself. Those of the timing model follow them:
/// `iolab_ssd_timing::parameters::TABLE`.
pub const KEYS: &[Key] = &[
    Key {
        name: "size",
        values: "bytes",
        help: "namespace size",
        set: |config, key, text| {
            config.size_bytes = bytes(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "namespaces",
        values: "count",
        help: "number of namespaces",
        set: |config, key, text| {
            config.namespaces = number(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "lba",
        values: "512|4096",
        help: "block size in bytes",
        set: |config, key, text| {
            config.lba_bytes = bytes(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "media",
        values: "ram|null|file:PATH|device:NAME",
        help: "where data is stored: device: a block device, or an NVMe device as in job files",
        set: |config, key, text| {
            config.media = media(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "write_cache",
        values: "kept|lossy",
        help: "with media=file: lossy keeps writes in memory until a flush or FUA; killing the process loses them, as a \
            loss of power would, but for some that are written back in any order, whole or torn",
        set: |config, key, text| {
            config.lossy = match text {
                "lossy" => true,
                "kept" => false,
                _ => return Err(ConfigError::BadValue { key, reason: format!("`{text}` is not kept or lossy") }),
            };
            Ok(())
        },
    },
    Key {
        name: "huge_pages",
        values: "auto|on|off",
        help: "huge pages for media=ram: on, off, or auto (on if populate=yes and they fit into half of the free \
            memory)",
        set: |config, key, text| {
            config.memory.huge = text.parse().map_err(|reason| ConfigError::BadValue { key, reason })?;
            Ok(())
        },
    },
    Key {
        name: "populate",
        values: "yes|no",
        help: "allocate all memory of media=ram at the start, instead of at the first write",
        set: |config, key, text| {
            config.memory.populate = yes_no(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "zoned",
        values: "yes|no",
        help: "zoned namespaces, whose zones are written sequentially",
        set: |config, key, text| {
            config.zones = if yes_no(key, text)? { Some(*zones(config)) } else { None };
            Ok(())
        },
    },
    Key {
        name: "zone",
        values: "bytes",
        help: "zone size (with zoned)",
        set: |config, key, text| {
            let bytes = bytes(key, text)?;
            let zones = zones(config);
            (zones.zone_bytes, zones.capacity_bytes) = (bytes, bytes);
            Ok(())
        },
    },
    Key {
        name: "zone_capacity",
        values: "bytes",
        help: "zone capacity: the writable part of a zone (after zone)",
        set: |config, key, text| {
            zones(config).capacity_bytes = bytes(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "max_open",
        values: "count",
        help: "maximum number of open zones, 0 for no limit",
        set: |config, key, text| {
            zones(config).max_open = number(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "max_active",
        values: "count",
        help: "maximum number of active zones, 0 for no limit",
        set: |config, key, text| {
            zones(config).max_active = number(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "preset",
        values: "name",
        help: "timing of a known device",
        set: |config, _, text| {
            config.timing = Preset::named(text)?.parameters();
            zones_of_model(config);
            Ok(())
        },
    },
    Key {
        name: "model",
        values: "ideal|simple|nand|zoned",
        help: "timing model; uses the model's default preset, unless preset= names one of that model",
        set: |config, _, text| {
            if config.timing.get("model").is_some_and(|model| model != text)
                && let Some(preset) = preset_of(text)
            {
                config.timing = Preset::named(preset)?.parameters();
            }
            config.timing.set("model", text)?;
            zones_of_model(config);
            Ok(())
        },
    },
    Key {
        name: "age",
        values: "fresh|filled|steady|steady:DRIVE_WRITES",
        help: "state of the flash: never written, written once, or overwritten at random (by default twice)",
        set: |config, key, text| {
            config.age = text.parse().map_err(|reason| ConfigError::BadValue { key, reason })?;
            Ok(())
        },
    },
    Key {
        name: "mdts",
        values: "bytes",
        help: "maximum transfer size of a command in bytes, 0 for no limit",
        set: |config, key, text| {
            config.most_bytes = bytes(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "queues",
        values: "count",
        help: "maximum number of I/O queue pairs",
        set: |config, key, text| {
            config.queue_pairs = number(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "queue_entries",
        values: "count",
        help: "maximum queue entries",
        set: |config, key, text| {
            config.queue_entries = number(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "ana",
        values: "no|optimized|non-optimized|inaccessible|persistent-loss|change",
        help: "asymmetric namespace access: report this state of all namespaces; from inaccessible on, I/O commands are refused",
        set: |config, key, text| {
            let state = crate::access::access_state(text);
            if state.is_none() && text != "no" {
                let reason = "no, optimized, non-optimized, inaccessible, persistent-loss or change".to_owned();
                return Err(ConfigError::BadValue { key, reason });
            }
            config.access = state;
            Ok(())
        },
    },
    Key {
        name: "fault",
        values: "KIND[:NAME=VALUE,...]",
        help: "inject a fault; may be repeated",
        set: |config, _, text| {
            config.faults.push(text.parse::<Fault>()?);
            Ok(())
        },
    },
    Key {
        name: "seed",
        values: "number",
        help: "seed for identifiers and for the blocks that age=steady overwrites",
        set: |config, key, text| {
            config.seed = number(key, text)?;
            Ok(())
        },
    },
    Key {
        name: "serial",
        values: "text",
        help: "serial number",
        set: |config, _, text| {
            text.clone_into(&mut config.serial);
            Ok(())
        },
    },
];

impl Config {
    /// Makes a configuration from words that are separated by white space.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        for word in text.split_whitespace() {
            let (key, value) =
                word.split_once('=').ok_or_else(|| ConfigError::NotKeyValue { word: word.to_owned() })?;
            config.set(key, value)?;
        }
        config.check()?;
        Ok(config)
    }

    /// Sets one key. [`Config::check`] checks combinations of values.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        match KEYS.iter().find(|known| known.name == key) {
            Some(known) => (known.set)(self, known.name, value),
            None if TABLE.iter().any(|entry| entry.name == key) => Ok(self.timing.set(key, value)?),
            None => Err(ConfigError::UnknownKey { key: key.to_owned(), near: nearest(key) }),
        }
    }
}

fn nearest(key: &str) -> Option<&'static str> {
    closest(key, KEYS.iter().map(|known| known.name).chain(TABLE.iter().map(|entry| entry.name)))
}

/// Gives a zoned model zones, of the model's size.
fn zones_of_model(config: &mut Config) {
    if config.timing.model == ModelKind::Zoned {
        let bytes = config.timing.zone_bytes;
        let zones = zones(config);
        (zones.zone_bytes, zones.capacity_bytes) = (bytes, bytes);
    }
}

fn zones(config: &mut Config) -> &mut ZoneLayout {
    const DEFAULT_ZONE: u64 = 64 << 20;
    let layout = ZoneLayout { zone_bytes: DEFAULT_ZONE, capacity_bytes: DEFAULT_ZONE, max_open: 0, max_active: 0 };
    config.zones.get_or_insert(layout)
}

fn bytes(key: &'static str, text: &str) -> Result<u64, ConfigError> {
    parse_bytes(text, KbBase::K1024).map_err(|error| ConfigError::BadValue { key, reason: error.to_string() })
}

fn number<T: std::str::FromStr>(key: &'static str, text: &str) -> Result<T, ConfigError> {
    let refused = |_| ConfigError::BadValue { key, reason: format!("`{text}` is not a number in range") };
    text.parse().map_err(refused)
}

fn yes_no(key: &'static str, text: &str) -> Result<bool, ConfigError> {
    match text {
        "yes" | "1" | "on" | "true" => Ok(true),
        "no" | "0" | "off" | "false" => Ok(false),
        _ => Err(ConfigError::BadValue { key, reason: format!("`{text}` is not yes or no") }),
    }
}

fn media(key: &'static str, text: &str) -> Result<MediaKind, ConfigError> {
    match text.split_once(':') {
        Some(("device", name)) if !name.is_empty() => Ok(MediaKind::Device(name.to_owned())),
        Some(("file", path)) if !path.is_empty() => Ok(MediaKind::File(path.into())),
        None if text == "ram" => Ok(MediaKind::Memory),
        None if text == "null" => Ok(MediaKind::Null),
        _ => Err(ConfigError::BadValue { key, reason: format!("`{text}` is not ram, null, file:PATH or device:NAME") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::media::{HugePages, MemoryPages};

    #[test]
    fn words_set_what_they_name() {
        let text = "size=8M lba=4k namespaces=3 media=file:/tmp/a:b queues=5 mdts=0 serial=X9 zone=1m \
                    zone_capacity=768k max_active=7 max_open=3 fault=timeout:times=2";
        let config = Config::parse(text).unwrap();
        assert_eq!((config.size_bytes, config.lba_bytes, config.namespaces), (8 << 20, 4096, 3));
        assert_eq!(config.media, MediaKind::File("/tmp/a:b".into()));
        let zones = ZoneLayout { zone_bytes: 1 << 20, capacity_bytes: 768 << 10, max_open: 3, max_active: 7 };
        assert_eq!(config.zones, Some(zones));
        assert_eq!((config.faults.len(), config.queue_pairs, config.most_bytes), (1, 5, 0));
        assert_eq!(Config::parse("").unwrap(), Config::default());
        let pages = Config::parse("huge_pages=off populate=yes").unwrap().memory;
        assert_eq!(pages, MemoryPages { huge: HugePages::Off, populate: true });
        assert_eq!(Config::parse("zoned=yes zoned=no").unwrap().zones, None);
    }

    #[test]
    fn models_bring_their_presets() {
        let model = |text| Config::parse(text).unwrap().timing;
        let preset = |name| Preset::named(name).unwrap().parameters();
        assert_eq!(model("model=nand"), preset("970pro"));
        assert_eq!(model("preset=optane model=simple"), preset("optane"));
        assert_eq!(model("model=nand channels=4").channels, 4);
        assert_eq!(model("").model, ModelKind::Ideal);
        let zoned = Config::parse("preset=zn540 size=8G").unwrap();
        assert_eq!(zoned.zones.unwrap().zone_bytes, zoned.timing.zone_bytes);
        let smaller = Config::parse("preset=zn540 zone=64M size=1G").unwrap();
        assert_eq!(smaller.timing_parameters().zone_bytes, 64 << 20);
    }

    #[test]
    fn no_name_means_two_things() {
        let both = ["model", "zone"];
        for known in KEYS.iter().filter(|known| !both.contains(&known.name)) {
            assert!(TABLE.iter().all(|entry| entry.name != known.name), "{}", known.name);
        }
    }

    #[test]
    fn what_is_not_understood_is_refused_with_its_key() {
        let cases = [
            ("chanels=4k", "did you mean `channels`?"),
            ("channels=x", "channels"),
            ("preset=971pro", "did you mean `970pro`"),
            ("model=nnd", "nand"),
            ("siez=4k", "did you mean `size`?"),
            ("zzzzzzzzzzzzzzz=1", "there is no device parameter"),
            ("size", "is not key=value"),
            ("size=0", "size:"),
            ("size=5000", "size:"),
            ("lba=1024", "lba:"),
            ("namespaces=0", "namespaces:"),
            ("namespaces=-1", "namespaces:"),
            ("queues=65", "queues:"),
            ("queue_entries=1", "queue_entries:"),
            ("mdts=5000", "mdts:"),
            ("media=disk", "media:"),
            ("media=file:", "media:"),
            ("huge_pages=2M", "huge_pages: `2M` is not auto, on or off"),
            ("populate=maybe", "populate:"),
            ("zoned=maybe", "zoned:"),
            ("age=old preset=970pro", "age: `old` is not fresh, filled"),
            ("age=steady", "age: the model `ideal` has no flash"),
            ("zone=3M", "multiple of the zone size"),
            ("zone=1M zone_capacity=2M", "zone_capacity:"),
            ("zoned=yes max_active=2", "max_open:"),
            ("serial=1234567890123456789012", "serial:"),
            ("fault=tiemout", "did you mean `timeout`"),
            ("size=8E namespaces=256", "size:"),
        ];
        for (text, expected) in cases {
            let message = Config::parse(text).unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
