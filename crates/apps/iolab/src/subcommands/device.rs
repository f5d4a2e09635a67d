//! `iolab device`: virtual SSDs that a user creates, serves, inspects and removes.

mod arguments;
mod attach;
mod authentication;
mod hosts;
mod listen;
mod nbd;
mod serve;

use std::fmt::Write;
use std::path::{Path, PathBuf};

use iolab_device_catalogue::{Catalogue, Entry};
use iolab_device_link::{LinkError, ask};
use iolab_engine_nvme::{check_media, remove_media};
use iolab_virtual_ssd::Config;

use crate::exit::ExitFailure;
use crate::output;

pub(crate) use arguments::DeviceAction;
use arguments::DeviceParameters;

pub(crate) fn main(action: &DeviceAction) -> Result<u8, ExitFailure> {
    match action {
        DeviceAction::Create { name, parameters } => create(name, parameters),
        DeviceAction::List => list(),
        DeviceAction::Info { name } => info(name),
        DeviceAction::Stats { name, json } => stats(name, *json),
        DeviceAction::Set { name, change, listen } => set(name, change, listen.as_deref()),
        DeviceAction::Destroy { name, data } => destroy(name, *data),
        DeviceAction::Serve(arguments) => serve::main(arguments),
        DeviceAction::Attach(arguments) => attach::main(arguments),
        DeviceAction::Restore => restore(),
        DeviceAction::Parameters => output::print(&parameters_table()).map(|()| 0).map_err(ExitFailure::from),
    }
}

/// The parameters as pairs, in their order of precedence.
pub(super) fn pairs(parameters: &DeviceParameters) -> Result<Vec<(String, String)>, ExitFailure> {
    let named = [
        ("preset", &parameters.preset),
        ("model", &parameters.model),
        ("size", &parameters.size),
        ("media", &parameters.media),
    ];
    let named = named.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?)));
    let mut pairs: Vec<(String, String)> = named.collect();
    for word in &parameters.more {
        let mistake =
            || ExitFailure::mistake(format!("iolab: `{word}` is not KEY=VALUE (iolab device parameters lists them)"));
        let (key, value) = word.split_once('=').ok_or_else(mistake)?;
        pairs.push((key.to_owned(), value.to_owned()));
    }
    pairs.extend(parameters.fault.iter().map(|fault| ("fault".to_owned(), fault.clone())));
    Ok(pairs)
}

/// The configuration that the parameters describe, or what is wrong with them.
pub(super) fn config(pairs: &[(String, String)]) -> Result<Config, ExitFailure> {
    let mistake = |error| ExitFailure::mistake(format!("iolab: {error} (iolab device parameters lists them)"));
    let pairs = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    Config::of_pairs(pairs).map_err(mistake)
}

fn create(name: &str, parameters: &DeviceParameters) -> Result<u8, ExitFailure> {
    let pairs = pairs(parameters)?;
    let config = config(&pairs)?;
    iolab_engine_nvme::allow_media(parameters.allow_destroy.iter().map(PathBuf::as_path));
    if let Some(file) = config.media_file() {
        check_media(file).map_err(|error| ExitFailure::refused(format!("iolab: {name}: {error}")))?;
    }
    let entry = Entry { name: name.to_owned(), parameters: pairs };
    let path = Catalogue::of_user()?.create(&entry)?;
    let text = format!(
        "device {name}: {}\nsaved in {}\nServe it with `iolab device serve {name}`, then drive it with \
        --ioengine=nvme --filename='trtype=VIRT traddr={name}'.\n",
        summary(&config),
        path.display()
    );
    output::print(&text)?;
    Ok(0)
}

/// Summarizes a device in a few words.
pub(super) fn summary(config: &Config) -> String {
    let size = iolab_units::format_bytes(config.size_bytes);
    let many = if config.namespaces > 1 { format!("{} namespaces of {size}", config.namespaces) } else { size };
    format!("{}, {many}, blocks of {} bytes", config.model_name(), config.lba_bytes)
}

fn list() -> Result<u8, ExitFailure> {
    let entries = Catalogue::of_user()?.list()?;
    if entries.is_empty() {
        output::print("no virtual devices; create one with `iolab device create NAME --model nand --size 8G`\n")?;
        return Ok(0);
    }
    let mut text = String::new();
    for entry in entries {
        let described = config(&entry.parameters).map_or_else(|failure| failure.message, |config| summary(&config));
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{:<16} {:<12} {described}", entry.name, state(&entry.name)?);
    }
    output::print(&text)?;
    Ok(0)
}

fn state(name: &str) -> Result<&'static str, ExitFailure> {
    Ok(if is_served(&socket(name)?) { "served" } else { "not served" })
}

/// Whether a server answers at the socket.
pub(super) fn is_served(socket: &Path) -> bool {
    !matches!(ask(socket, "name"), Err(LinkError::NotServed { .. }))
}

fn info(name: &str) -> Result<u8, ExitFailure> {
    let entry = Catalogue::of_user()?.find(name)?;
    let config = config(&entry.parameters)?;
    let mut text = format!("{name}: {}\nstate: {}\n", summary(&config), state(name)?);
    let _ = writeln!(text, "socket: {}\n\nEvery parameter:", socket(name)?.display());
    for (key, value, unit) in config.described() {
        let _ = writeln!(text, "{}", format!("  {key:<28} {value} {unit}").trim_end());
    }
    for (_, fault) in entry.parameters.iter().filter(|(key, _)| key == "fault") {
        let _ = writeln!(text, "  {:<28} {fault}", "fault");
    }
    output::print(&text)?;
    Ok(0)
}

fn stats(name: &str, json: bool) -> Result<u8, ExitFailure> {
    let question = if json { "stats json" } else { "stats" };
    match ask(&socket(name)?, question) {
        Ok(answer) => output::print(&answer)?,
        Err(LinkError::NotServed { .. }) => {
            Catalogue::of_user()?.find(name)?;
            return Err(ExitFailure::mistake(format!(
                "iolab: device {name} is not running, so it has no statistics (start it with `iolab device serve {name}`)"
            )));
        }
        Err(other) => return Err(ExitFailure::failed(format!("iolab: {name}: {other}"))),
    }
    Ok(0)
}

fn set(name: &str, change: &str, address: Option<&str>) -> Result<u8, ExitFailure> {
    if !change.starts_with("ana=") {
        let why = format!("iolab: `{change}` cannot change while the device is served: only ana=STATE can");
        return Err(ExitFailure::mistake(why));
    }
    let place = address.map_or(String::new(), |url| format!(" at {}", url.strip_prefix("tcp://").unwrap_or(url)));
    match ask(&socket(name)?, &format!("set {change}{place}")) {
        Ok(_) => output::print(&format!("device {name}: {change}{place}\n"))?,
        Err(LinkError::NotServed { .. }) => {
            Catalogue::of_user()?.find(name)?;
            return Err(ExitFailure::mistake(format!(
                "iolab: device {name} is not running (start it with `iolab device serve {name}`)"
            )));
        }
        Err(other) => return Err(ExitFailure::mistake(format!("iolab: {name}: {other}"))),
    }
    Ok(0)
}

fn destroy(name: &str, data: bool) -> Result<u8, ExitFailure> {
    let catalogue = Catalogue::of_user()?;
    let entry = catalogue.find(name)?;
    if is_served(&socket(name)?) {
        return Err(ExitFailure::refused(format!(
            "iolab: device {name} is running: stop `iolab device serve {name}` first"
        )));
    }
    let file = config(&entry.parameters).ok().and_then(|config| config.media_file().map(Path::to_owned));
    let removed = match &file {
        Some(file) if data => Some(remove_media(file).map_err(|error| {
            ExitFailure::refused(format!("iolab: device {name} was not removed and keeps its data: {error}"))
        })?),
        _ => None,
    };
    catalogue.destroy(name)?;
    let mut text = format!("device {name} was removed\n");
    // Writing to a String cannot fail.
    let _ = match (file, removed) {
        (Some(file), Some(true)) => writeln!(text, "and its data file {}", file.display()),
        (Some(file), Some(false)) => writeln!(text, "there was no data file {}", file.display()),
        (Some(file), None) => writeln!(text, "its data is still in {} (--data removes that too)", file.display()),
        (None, _) => Ok(()),
    };
    output::print(&text)?;
    Ok(0)
}

/// Lists every parameter of a device.
fn parameters_table() -> String {
    let mut text = String::from("Parameters of a virtual SSD, as KEY=VALUE:\n\n");
    for parameter in iolab_virtual_ssd::parameters() {
        let _ = writeln!(text, "  {:<28} {:<22} {}", parameter.name, parameter.values, parameter.help);
    }
    text
}

/// Restores the device settings that killed runs left changed.
fn restore() -> Result<u8, ExitFailure> {
    let restored = iolab_pipeline::restore_device_settings()?;
    if restored.is_empty() {
        output::print("no device has settings left over from a run\n")?;
    }
    output::print(&restored.iter().map(|line| format!("{line}\n")).collect::<String>())?;
    Ok(0)
}

/// The path of the socket where the server of a device listens. A folder that another user may have
/// created there is refused.
pub(crate) fn socket(name: &str) -> Result<PathBuf, ExitFailure> {
    iolab_engine_nvme::socket_of(name).map_err(|error| ExitFailure::refused(format!("iolab: {error}")))
}
