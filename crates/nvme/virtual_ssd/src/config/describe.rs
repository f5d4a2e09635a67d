//! A configuration as text, and from pairs that are already parsed.

use std::path::Path;

use iolab_ssd_timing::parameters::{ParameterUnit, TABLE};

use super::{Config, ConfigError, KEYS};
use crate::media::MediaKind;

/// A parameter of a device, for the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    /// Its key.
    pub name: &'static str,
    /// The accepted values.
    pub values: &'static str,
    /// Its meaning.
    pub help: &'static str,
}

/// Every parameter: those of the device, then those of the timing models.
pub fn parameters() -> Vec<Parameter> {
    let own = KEYS.iter().map(|key| Parameter { name: key.name, values: key.values, help: key.help });
    let own: Vec<Parameter> = own.collect();
    let timing = TABLE.iter();
    let timing = timing.map(|entry| Parameter { name: entry.name, values: entry.unit.label(), help: entry.meaning });
    let timing = timing.filter(|entry| own.iter().all(|known| known.name != entry.name)).collect::<Vec<_>>();
    [own, timing].concat()
}

impl Config {
    /// Builds a configuration from pairs, in their order: a later pair overrides an earlier one.
    pub fn of_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        for (key, value) in pairs {
            config.set(key, value)?;
        }
        config.check()?;
        Ok(config)
    }

    /// The timing model's name.
    pub fn model_name(&self) -> String {
        self.timing.get("model").unwrap_or_default()
    }

    /// The file that stores the data, if any.
    pub fn media_file(&self) -> Option<&Path> {
        match &self.media {
            MediaKind::File(path) => Some(path),
            MediaKind::Memory | MediaKind::Null | MediaKind::Device(_) => None,
        }
    }

    /// Every parameter with its value as text and its unit: those of the device, then those of its
    /// timing model.
    pub fn described(&self) -> Vec<(&'static str, String, &'static str)> {
        let media = match &self.media {
            MediaKind::Memory => "ram".to_owned(),
            MediaKind::Null => "null".to_owned(),
            MediaKind::File(path) => format!("file:{}", path.display()),
            MediaKind::Device(name) => format!("device:{name}"),
        };
        let mut all = vec![
            ("size", self.size_bytes.to_string(), "bytes"),
            ("namespaces", self.namespaces.to_string(), ""),
            ("lba", self.lba_bytes.to_string(), "bytes"),
            ("media", media, ""),
            ("write_cache", if self.lossy { "lossy" } else { "kept" }.to_owned(), ""),
            ("huge_pages", self.memory.huge.to_string(), ""),
            ("populate", if self.memory.populate { "yes" } else { "no" }.to_owned(), ""),
            ("age", self.age.to_string(), ""),
            ("mdts", self.most_bytes.to_string(), "bytes"),
            ("queues", self.queue_pairs.to_string(), ""),
            ("queue_entries", self.queue_entries.to_string(), ""),
            ("ana", self.access.map_or("no".to_owned(), |state| state.to_string().replace(' ', "-")), ""),
            ("seed", self.seed.to_string(), ""),
            ("serial", self.serial.clone(), ""),
        ];
        if let Some(zones) = self.zones {
            all.push(("zone", zones.zone_bytes.to_string(), "bytes"));
            all.push(("zone_capacity", zones.capacity_bytes.to_string(), "bytes"));
            all.push(("max_open", zones.max_open.to_string(), ""));
            all.push(("max_active", zones.max_active.to_string(), ""));
        }
        let model = self.model_name();
        for entry in TABLE.iter().filter(|entry| entry.models == "all" || entry.models.contains(model.as_str())) {
            // Bytes and times are printed with their units.
            let unit = match entry.unit {
                ParameterUnit::MibPerSecond | ParameterUnit::Percent => entry.unit.label(),
                _ => "",
            };
            all.push((entry.name, self.timing.get(entry.name).unwrap_or_default(), unit));
        }
        all
    }
}
