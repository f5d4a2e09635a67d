//! Names of devices for people: the kernel's, the device mapper's (`-N`), persistent ones (`-j`).
//!
//! A device without a name of the requested kind keeps the kernel's.

use iolab_observe::System;

use crate::request::WatchError;

/// By which names devices are shown, and may be asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Naming {
    Kernel,
    Mapper,
    /// Those of `/dev/disk/by-…`, of this kind.
    Persistent(String),
}

impl Naming {
    /// From `-N` and `-j`; an error if there are no such names on this machine.
    pub(crate) fn read(mapper: bool, persistent: Option<&str>, system: &System) -> Result<Naming, WatchError> {
        let Some(asked) = persistent else { return Ok(if mapper { Naming::Mapper } else { Naming::Kernel }) };
        let kind = asked.to_ascii_lowercase();
        let known = system.persistent_kinds();
        if known.contains(&kind) {
            return Ok(Naming::Persistent(kind));
        }
        let known = if known.is_empty() { "there are none".to_owned() } else { format!("it has {}", known.join(", ")) };
        Err(WatchError::Mistake(format!("-j {asked}: this machine has no folder /dev/disk/by-{kind}; {known}")))
    }

    /// The name to show.
    pub(crate) fn shown(&self, device: &str, system: &System) -> String {
        let name = match self {
            Naming::Kernel => None,
            Naming::Mapper => system.mapper_name(device),
            Naming::Persistent(kind) => {
                system.persistent_names(kind).into_iter().find(|(_, of)| of == device).map(|(name, _)| name)
            }
        };
        name.unwrap_or_else(|| device.to_owned())
    }

    /// The kernel's name of a device given as a path below `/dev`, a name of this kind, or the
    /// kernel's own name.
    pub(crate) fn kernel_name(&self, asked: &str, system: &System) -> String {
        let of_kind = match self {
            Naming::Persistent(kind) => {
                system.persistent_names(kind).into_iter().find(|(name, _)| name == asked).map(|(_, of)| of)
            }
            Naming::Kernel | Naming::Mapper => None,
        };
        of_kind.or_else(|| system.kernel_name(asked)).unwrap_or_else(|| asked.to_owned())
    }
}
