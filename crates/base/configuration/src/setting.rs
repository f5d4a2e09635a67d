//! The settings: their names, variables and meanings. Everything about one stands here.

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserSetting {
    /// The folder of recordings.
    Recordings,
    /// The database.
    Database,
    /// The folder of what must survive the program.
    State,
    /// The folder of virtual SSDs.
    Devices,
    /// The RocksDB to load.
    Rocksdb,
    /// Whether text is coloured.
    Color,
    /// What may always be overwritten.
    AllowDestroy,
}

/// What a setting's value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// An absolute path, or one that begins with `~/`.
    Path,
    /// A path, or this word.
    PathOr(&'static str),
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of paths.
    Paths,
}

/// What is known of a setting.
#[derive(Debug, Clone, Copy)]
pub struct SettingInfo {
    /// The setting.
    pub setting: UserSetting,
    /// Its name in the file.
    pub name: &'static str,
    /// The environment variable that has precedence, if there is one.
    pub variable: Option<&'static str>,
    /// What it is, in a few words.
    pub about: &'static str,
    /// A value as an example, in TOML.
    pub example: &'static str,
    pub(crate) form: Form,
}

/// All settings, in the order of [`UserSetting`].
pub const SETTINGS: [SettingInfo; 7] = [
    SettingInfo {
        setting: UserSetting::Recordings,
        name: "recordings",
        variable: Some("IOLAB_RECORDINGS"),
        about: "the folder of recordings",
        example: "\"~/measurements\"",
        form: Form::Path,
    },
    SettingInfo {
        setting: UserSetting::Database,
        name: "database",
        variable: Some("IOLAB_DB"),
        about: "the database of runs and studies, or none",
        example: "\"none\"",
        form: Form::PathOr("none"),
    },
    SettingInfo {
        setting: UserSetting::State,
        name: "state",
        variable: Some("IOLAB_STATE"),
        about: "the folder of what must survive iolab: device settings to restore",
        example: "\"/var/lib/iolab\"",
        form: Form::Path,
    },
    SettingInfo {
        setting: UserSetting::Devices,
        name: "devices",
        variable: Some("IOLAB_DEVICES"),
        about: "the folder of virtual SSDs",
        example: "\"~/devices\"",
        form: Form::Path,
    },
    SettingInfo {
        setting: UserSetting::Rocksdb,
        name: "rocksdb",
        variable: Some("IOLAB_ROCKSDB"),
        about: "the RocksDB library to load",
        example: "\"/opt/rocksdb/librocksdb.so\"",
        form: Form::Path,
    },
    SettingInfo {
        setting: UserSetting::Color,
        name: "color",
        variable: None,
        about: "auto (on terminals), always or never; NO_COLOR and CLICOLOR_FORCE have precedence",
        example: "\"never\"",
        form: Form::Word(&["auto", "always", "never"]),
    },
    SettingInfo {
        setting: UserSetting::AllowDestroy,
        name: "allow_destroy",
        variable: None,
        about: "devices and files that jobs may always overwrite, as with --allow-destroy",
        example: "[\"/dev/disk/by-id/nvme-scratch\"]",
        form: Form::Paths,
    },
];

/// The page of all settings, in Markdown.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Settings\n\nGenerated from the table of settings; do not edit. How they are set: [configuration](../guide/configuration.md).\n\n\
         | setting | variable that has precedence | what it is | example |\n| --- | --- | --- | --- |\n",
    );
    for info in &SETTINGS {
        let variable = info.variable.map(|name| format!("`{name}`")).unwrap_or_default();
        page += &format!("| `{}` | {variable} | {} | `{}` |\n", info.name, info.about, info.example);
    }
    page
}

impl UserSetting {
    /// What is known of it.
    pub fn info(self) -> &'static SettingInfo {
        &SETTINGS[self as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_stand_in_their_order() {
        for (index, info) in SETTINGS.iter().enumerate() {
            assert_eq!(info.setting as usize, index, "{}", info.name);
        }
    }
}
