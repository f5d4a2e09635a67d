//! The engines' own options, which are fio's.

use iolab_options::{DefaultValue, OptionEntry, Settings, ValueKind};

/// The table.
pub(crate) static OPTIONS: [OptionEntry; 2] = [
    OptionEntry {
        name: "volume",
        kind: ValueKind::Text,
        summary: "Name of the volume",
        accepts: &[("v1", "v1")],
        ..OptionEntry::BLANK
    },
    OptionEntry {
        name: "brick",
        kind: ValueKind::Text,
        default: DefaultValue::Text("localhost"),
        summary: "Host that knows the volume, HOST or HOST:PORT",
        details: "The client asks it where the volume's bricks are. Port 24007 by default.",
        accepts: &[("10.0.0.1", "10.0.0.1")],
        ..OptionEntry::BLANK
    },
];

/// What they say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) volume: String,
    pub(crate) host: String,
    pub(crate) port: u16,
}

impl Asked {
    /// # Errors
    /// What is wrong with them, and what to do.
    pub(crate) fn of(settings: &Settings) -> Result<Asked, String> {
        let volume = settings.text("volume").filter(|name| !name.is_empty());
        let volume = volume.ok_or("the volume is missing: write volume=NAME, and brick=HOST of one of its servers")?;
        let brick = settings.text("brick").unwrap_or("localhost");
        let (host, port) = match brick.rsplit_once(':') {
            // Of more colons, the text is an address of version 6.
            Some((host, port)) if !host.contains(':') => {
                let wrong = || format!("brick={brick}: write HOST or HOST:PORT");
                (host, port.parse().map_err(|_| wrong())?)
            }
            _ => (brick, 24_007),
        };
        Ok(Asked { volume: volume.to_owned(), host: host.to_owned(), port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolab_options::{Setting, Value};

    #[test]
    fn bricks_are_hosts_with_or_without_ports() {
        for (brick, expected) in [
            ("h", Ok(("h", 24_007))),
            ("h:7", Ok(("h", 7))),
            ("::1", Ok(("::1", 24_007))),
            ("h:x", Err("brick=h:x: write HOST or HOST:PORT")),
        ] {
            let mut settings = Settings::default();
            for (name, text) in [("volume", "v"), ("brick", brick)] {
                let value = Value::Text(text.to_owned());
                settings.set(name, Setting { value, text: text.to_owned(), source: 0, span: (0, 0) });
            }
            let found = Asked::of(&settings);
            let found = found.as_ref().map(|asked| (asked.host.as_str(), asked.port)).map_err(String::as_str);
            assert_eq!(found, expected);
        }
        assert!(Asked::of(&Settings::default()).unwrap_err().contains("volume=NAME"));
    }
}
