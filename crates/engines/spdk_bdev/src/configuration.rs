//! A configuration file of SPDK: the devices that it creates, in any form of the file.
//!
//! ```text
//!   {"subsystems": [{"subsystem": "bdev", "config": [CALL, …]}, …]}     a whole configuration (save_config)
//!   {"subsystem": "bdev", "config": [CALL, …]}                          one subsystem (save_subsystem_config)
//!   [CALL, …]                                                           calls alone
//!   CALL = {"method": "bdev_null_create", "params": {…}}
//! ```
//!
//! Other subsystems serve devices or tune SPDK; they are skipped, and named. An unknown method or
//! parameter is a mistake, reported with its line: otherwise the devices would differ from the
//! file.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use iolab_bounded_read::SPDK_CONFIGURATION;
use iolab_engine::OpenError;
use iolab_options::Settings;

use crate::json::{self, Json, Value, Wrong};
use crate::methods::{self, Bdev, Injection, Kind, Made};

/// The content of a file.
#[derive(Debug)]
pub(crate) struct Configuration {
    pub(crate) path: PathBuf,
    pub(crate) bdevs: Vec<Bdev>,
    pub(crate) injections: Vec<Injection>,
    /// Methods and subsystems without effect here, each with its line.
    pub(crate) passed_over: Vec<String>,
    /// By base: the device that uses it exclusively.
    claims: HashMap<String, String>,
}

/// The target of a name.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    Bdev(&'a Bdev),
    /// A namespace of a controller: the whole name of the device, and the call.
    Namespace {
        words: String,
        line: u32,
    },
}

impl Configuration {
    /// The configuration that a job names.
    pub(crate) fn of(options: &Settings) -> Result<Configuration, OpenError> {
        let mistake = |message: String| OpenError { message, errno: Some(libc::EINVAL) };
        let path = options.text("spdk_conf").filter(|path| !path.is_empty());
        let none = || mistake("ioengine=spdk_bdev needs spdk_conf=, a JSON configuration of SPDK".to_owned());
        Configuration::read(Path::new(path.ok_or_else(none)?)).map_err(mistake)
    }

    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Configuration, String> {
        let text =
            iolab_bounded_read::read_text(path, SPDK_CONFIGURATION).map_err(|error| format!("spdk_conf: {}", error))?;
        Configuration::parse(path, &text).map_err(|wrong| said(path, &wrong))
    }

    pub(crate) fn parse(path: &Path, text: &str) -> Result<Configuration, Wrong> {
        let mut configuration = Configuration {
            path: path.to_owned(),
            bdevs: Vec::new(),
            injections: Vec::new(),
            passed_over: Vec::new(),
            claims: HashMap::new(),
        };
        let whole = json::read(text)?;
        match (&whole.value, member(&whole, "subsystems")) {
            (Value::List(_), _) => configuration.calls(&whole)?,
            (Value::Object(_), Some(all)) => {
                for one in list(all, "subsystems")? {
                    configuration.subsystem(one)?;
                }
            }
            (Value::Object(_), None) => configuration.subsystem(&whole)?,
            _ => return Err(Wrong::at(whole.line, format!("a configuration is an object, not {}", whole.kind()))),
        }
        configuration.claim()?;
        Ok(configuration)
    }

    fn subsystem(&mut self, one: &Json) -> Result<(), Wrong> {
        let wrong = || Wrong::at(one.line, "not a subsystem: an object with \"subsystem\" and \"config\"");
        let Some(Value::Text(name)) = member(one, "subsystem").map(|name| &name.value) else { return Err(wrong()) };
        let calls = member(one, "config").ok_or_else(wrong)?;
        let is_empty = match &calls.value {
            Value::Null => true,
            Value::List(calls) => calls.is_empty(),
            _ => return Err(Wrong::at(calls.line, format!("config is {}, not an array", calls.kind()))),
        };
        match name.as_str() {
            _ if is_empty => Ok(()),
            "bdev" => self.calls(calls),
            _ => {
                self.passed_over.push(format!("subsystem {name} (line {})", one.line));
                Ok(())
            }
        }
    }

    fn calls(&mut self, calls: &Json) -> Result<(), Wrong> {
        for call in list(calls, "config")? {
            let Some(Value::Text(method)) = member(call, "method").map(|method| &method.value) else {
                return Err(Wrong::at(call.line, "not a call: an object with \"method\" and \"params\""));
            };
            match methods::make(method, call.line, member(call, "params"))? {
                Made::Bdevs(bdevs) => bdevs.into_iter().try_for_each(|bdev| self.add(bdev))?,
                Made::Injection(injection) => self.injections.push(injection),
                Made::Nothing => self.passed_over.push(format!("{method} (line {})", call.line)),
            }
        }
        Ok(())
    }

    fn add(&mut self, bdev: Bdev) -> Result<(), Wrong> {
        if let Some(before) = self.bdevs.iter().find(|before| before.name == bdev.name) {
            let several = match bdev.kind {
                Kind::Controller { .. } => "; several paths to one controller cannot be had here",
                _ => "",
            };
            return Err(Wrong::at(
                bdev.line,
                format!("{} is there already, from line {}{several}", bdev.name, before.line),
            ));
        }
        self.bdevs.push(bdev);
        Ok(())
    }

    /// Assigns every base to the one device that consists of it, and finds where errors are
    /// injected.
    fn claim(&mut self) -> Result<(), Wrong> {
        for bdev in &self.bdevs {
            for base in bases(&bdev.kind) {
                let is_part = matches!(bdev.kind, Kind::Split { .. });
                let owner = if is_part { format!("the parts of {base}") } else { bdev.name.clone() };
                match self.claims.insert(base.clone(), owner.clone()) {
                    Some(before) if before != owner || !is_part => {
                        return Err(Wrong::at(bdev.line, format!("{base} belongs to {before} already")));
                    }
                    _ => {}
                }
            }
        }
        for injection in &self.injections {
            let found = self.bdevs.iter().find(|bdev| bdev.name == injection.bdev);
            if !found.is_some_and(|bdev| matches!(bdev.kind, Kind::Error { .. })) {
                let said = format!(
                    "{} is no device of bdev_error_create (they are called EE_ and their base)",
                    injection.bdev
                );
                return Err(Wrong::at(injection.line, said));
            }
        }
        Ok(())
    }

    /// The exclusive user of this device.
    pub(crate) fn owner(&self, name: &str) -> Option<&str> {
        self.claims.get(name).map(String::as_str)
    }

    /// The device of this name.
    pub(crate) fn find(&self, name: &str) -> Option<Found<'_>> {
        self.bdevs.iter().find_map(|bdev| match &bdev.kind {
            Kind::Controller { words } => {
                let number = name.strip_prefix(bdev.name.as_str())?.strip_prefix('n')?;
                let is_number = !number.starts_with('0') && number.parse::<u32>().is_ok();
                is_number.then(|| Found::Namespace { words: format!("{words} ns={number}"), line: bdev.line })
            }
            _ => (bdev.name == name).then_some(Found::Bdev(bdev)),
        })
    }

    /// All device names, for messages.
    pub(crate) fn names(&self) -> String {
        let name = |bdev: &Bdev| match bdev.kind {
            Kind::Controller { .. } => format!("{}n1", bdev.name),
            _ => bdev.name.clone(),
        };
        let names: Vec<String> = self.bdevs.iter().map(name).collect();
        if names.is_empty() { "no device".to_owned() } else { names.join(", ") }
    }
}

/// The bases of a device.
fn bases(kind: &Kind) -> &[String] {
    match kind {
        Kind::Delay { base, .. } | Kind::Error { base } | Kind::Split { base, .. } => std::slice::from_ref(base),
        Kind::Raid0 { bases, .. } => bases,
        Kind::Controller { .. } | Kind::Memory { .. } | Kind::Kernel { .. } => &[],
    }
}

fn member<'a>(object: &'a Json, name: &str) -> Option<&'a Json> {
    let Value::Object(pairs) = &object.value else { return None };
    pairs.iter().find(|(have, _)| have == name).map(|(_, value)| value)
}

fn list<'a>(value: &'a Json, what: &str) -> Result<&'a [Json], Wrong> {
    match &value.value {
        Value::List(items) => Ok(items),
        _ => Err(Wrong::at(value.line, format!("{what} is {}, not an array", value.kind()))),
    }
}

/// A mistake as text for users.
pub(crate) fn said(path: &Path, wrong: &Wrong) -> String {
    format!("{}:{}: {}", path.display(), wrong.line, wrong.reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NULL: &str = r#"{"method": "bdev_null_create", "params": {"name": "N", "num_blocks": 8, "block_size": 512}}"#;

    fn parse(text: &str) -> Result<Configuration, Wrong> {
        Configuration::parse(Path::new("bdev.json"), text)
    }

    #[test]
    fn every_form_of_the_file_says_the_same() {
        let forms = [
            format!("[{NULL}]"),
            format!(r#"{{"subsystem": "bdev", "config": [{NULL}]}}"#),
            format!(r#"{{"subsystems": [{{"subsystem": "bdev", "config": [{NULL}]}}]}}"#),
            format!(
                r#"{{"subsystems": [{{"subsystem": "vmd", "config": []}}, {{"subsystem": "bdev", "config": [{NULL}]}}]}}"#
            ),
        ];
        for form in forms {
            let found = parse(&form).unwrap_or_else(|wrong| panic!("{form}: {wrong:?}"));
            assert_eq!(found.bdevs.len(), 1, "{form}");
            assert!(matches!(found.find("N"), Some(Found::Bdev(_))) && found.find("M").is_none());
            assert!(found.passed_over.is_empty(), "{form}");
        }
    }

    #[test]
    fn what_tunes_spdk_is_passed_over_and_named() {
        let text = "{\"subsystems\": [\n{\"subsystem\": \"sock\", \"config\": [{\"method\": \"sock_set_default_impl\"}]},\n\
            {\"subsystem\": \"bdev\", \"config\": [{\"method\": \"bdev_set_options\", \"params\": {\"bdev_io_pool_size\": 9}}]}]}";
        assert_eq!(parse(text).unwrap().passed_over, ["subsystem sock (line 2)", "bdev_set_options (line 3)"]);
    }

    #[test]
    fn namespaces_are_found_by_controller_and_number() {
        let text = r#"[{"method": "bdev_nvme_attach_controller", "params": {"name": "Nvme0", "trtype": "TCP",
            "traddr": "10.0.0.1", "adrfam": "IPv4", "trsvcid": "4420", "subnqn": "nqn.a:b", "hdgst": true, "ddgst": true}}]"#;
        let found = parse(text).unwrap();
        let Some(Found::Namespace { words, .. }) = found.find("Nvme0n2") else { panic!("a namespace") };
        assert_eq!(words, "trtype=TCP traddr=10.0.0.1 adrfam=IPv4 trsvcid=4420 subnqn=nqn.a:b digest=both ns=2");
        for name in ["Nvme0", "Nvme0n", "Nvme0n0", "Nvme0n01", "Nvme1n1", "Nvme0nx"] {
            assert!(found.find(name).is_none(), "{name}");
        }
        assert_eq!(found.names(), "Nvme0n1");
    }

    #[test]
    fn what_cannot_be_had_is_named_with_its_line() {
        let with = |call: &str| format!("[\n{NULL},\n{call}]");
        let delay = r#"{"method": "bdev_delay_create", "params": {"name": "D", "base_bdev_name": "N", "avg_read_latency": 1,
            "p99_read_latency": 2, "avg_write_latency": 3, "p99_write_latency": 4}}"#;
        let call =
            |method: &str, parameters: &str| with(&format!(r#"{{"method": "{method}", "params": {{{parameters}}}}}"#));
        let cases = [
            (
                call("bdev_crypto_create", r#""name": "C""#),
                3,
                "the method bdev_crypto_create is unknown here; known are",
            ),
            (call("bdev_aio_create", r#""name": "A", "filename": "/f", "fast": true"#), 3, "no parameter fast"),
            (call("bdev_aio_create", r#""name": "A""#), 3, "bdev_aio_create needs the parameter filename"),
            (call("bdev_aio_create", r#""name": "A", "filename": "/f", "block_size": 520"#), 3, "not a power of two"),
            (
                call("bdev_null_create", r#""name": "N", "num_blocks": 8, "block_size": 512"#),
                3,
                "N is there already, from line 2",
            ),
            (call("bdev_null_create", r#""name": "M", "num_blocks": "x", "block_size": 512"#), 3, "not a whole number"),
            (
                call("bdev_null_create", r#""name": "M", "num_blocks": 1, "block_size": 512, "md_size": 8"#),
                3,
                "metadata of blocks",
            ),
            (
                call(
                    "bdev_raid_create",
                    r#""name": "R", "raid_level": "raid1", "strip_size_kb": 4, "base_bdevs": ["N"]"#,
                ),
                3,
                "raid_level raid1",
            ),
            (
                call("bdev_raid_create", r#""name": "R", "raid_level": "0", "strip_size_kb": 3, "base_bdevs": ["N"]"#),
                3,
                "power of two",
            ),
            (
                call(
                    "bdev_raid_create",
                    r#""name": "R", "raid_level": "0", "strip_size_kb": 4, "base_bdevs": ["N", "N"]"#,
                ),
                3,
                "N belongs to R",
            ),
            (call("bdev_split_create", r#""base_bdev": "N", "split_count": 0"#), 3, "split_count 0"),
            (
                call("bdev_error_inject_error", r#""name": "N", "io_type": "all", "error_type": "failure""#),
                3,
                "no device of bdev_error_create",
            ),
            (format!("[\n{NULL},\n{delay},\n{}]", delay.replace("\"D\"", "\"E\"")), 5, "N belongs to D already"),
            ("{\"subsystems\": {}}".into(), 1, "subsystems is an object, not an array"),
            ("{\"subsystem\": \"bdev\"}".into(), 1, "not a subsystem"),
            ("[7]".into(), 1, "not a call"),
            ("7".into(), 1, "a configuration is an object"),
        ];
        for (text, line, reason) in cases {
            let wrong = parse(&text).expect_err(&text);
            assert!(wrong.line == line && wrong.reason.contains(reason), "{text}: {wrong:?}");
        }
    }
}
