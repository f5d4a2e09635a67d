//! `iolab engines [NAME]` and fio's `--enghelp`.

use std::fmt::Write;

use iolab_engine::{EngineDescription, FileUse};

use crate::exit::ExitFailure;
use crate::output;

pub(crate) fn main(engine: Option<&str>) -> Result<u8, ExitFailure> {
    let text = match engine {
        None => list(),
        Some(name) => describe(find(name)?),
    };
    output::print(&text)?;
    Ok(0)
}

/// The answer to `--enghelp[=ENGINE[,OPTION]]`.
pub(crate) fn enghelp(topic: &str) -> Result<String, ExitFailure> {
    if topic.is_empty() {
        return Ok(list());
    }
    let (name, option) = topic.split_once(',').unwrap_or((topic, ""));
    let engine = find(name)?;
    if option.is_empty() {
        return Ok(describe(engine));
    }
    let entry = engine.options.iter().find(|entry| entry.answers_to(option));
    let entry = entry.ok_or_else(|| ExitFailure::mistake(format!("iolab: engine {name} has no option {option}")))?;
    Ok(iolab_jobfile::help::describe(entry))
}

fn find(name: &str) -> Result<&'static EngineDescription, ExitFailure> {
    iolab_engine_catalogue::description(name).ok_or_else(|| {
        let names: Vec<&str> = iolab_engine_catalogue::descriptions().iter().map(|engine| engine.name).collect();
        let near = iolab_text::closest(name, names.iter().copied());
        let near = near.map(|near| format!("did you mean {near}? ")).unwrap_or_default();
        ExitFailure::mistake(format!("iolab: unknown engine {name}: {near}The engines are {}", names.join(", ")))
    })
}

fn list() -> String {
    let mut text = String::new();
    for engine in iolab_engine_catalogue::descriptions() {
        let _ = writeln!(text, "{:<12} {}", engine.name, engine.summary);
    }
    text
}

fn describe(engine: &EngineDescription) -> String {
    let mut text = format!("{}: {}\n", engine.name, engine.summary);
    if !engine.aliases.is_empty() {
        let _ = writeln!(text, "also called: {}", engine.aliases.join(", "));
    }
    if !engine.details.is_empty() {
        let _ = writeln!(text, "\n{}", engine.details);
    }
    let can = engine.capabilities;
    let yes = |on: bool| if on { "yes" } else { "no" };
    let files = match can.files {
        FileUse::Descriptors => "files and devices, opened by iolab",
        FileUse::Paths => "file names",
        FileUse::Devices | FileUse::DeviceNamedBy(_) => "names of devices, opened by the engine",
        FileUse::Objects => "names of objects, reached by the engine",
        FileUse::Nothing => "none",
    };
    let queue = if can.synchronous {
        "synchronous, one operation at a time"
    } else {
        "asynchronous, up to iodepth \
        operations"
    };
    let _ = writeln!(text, "\n  queue    {queue}\n  files    {files}\n  direct   {}", yes(can.direct));
    let _ = writeln!(text, "  trim     {}\n  fsync    {}", yes(can.trims), yes(can.syncs));
    if !engine.options.is_empty() {
        text.push_str("\nEngine options:\n");
    }
    for option in engine.options {
        let _ = writeln!(text, "  {:<20} {}", option.name, option.summary);
    }
    text
}
