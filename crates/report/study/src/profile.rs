//! Profiles: named sets of settings for kinds of drives. Settings of the study and its axes take
//! precedence.

use crate::{JobSetting, PreconditionFrequency, PreconditionKind, Preconditioning, StudyError};

/// One profile.
#[derive(Debug, Clone, Copy)]
pub struct StudyProfile {
    /// Its name in a study file.
    pub name: &'static str,
    /// Options it sets: name, value, reason.
    pub settings: &'static [(&'static str, &'static str, &'static str)],
    /// How it preconditions, and why (or why not).
    pub precondition: (Option<PreconditionKind>, &'static str),
}

/// All profiles.
pub const PROFILES: &[StudyProfile] = &[
    StudyProfile {
        name: "nand",
        settings: &[(
            "iodepth",
            "128",
            "flash chips work in parallel: at a smaller depth many are idle, and the depth limits the result",
        )],
        precondition: (
            Some(PreconditionKind::Snia),
            "a fresh or trimmed drive writes faster than it will later: fill it, then write until it is steady",
        ),
    },
    StudyProfile {
        name: "optane",
        settings: &[("iodepth", "8", "eight operations at once keep it busy; more only wait")],
        precondition: (None, "cells are overwritten in place, so there is no fresh state"),
    },
];

/// The profile with this name.
///
/// # Errors
/// The list of profiles.
pub fn profile(name: &str) -> Result<&'static StudyProfile, StudyError> {
    PROFILES.iter().find(|profile| profile.name == name).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        StudyError::meaning(format!("unknown profile '{name}': {}", names.join(", ")))
    })
}

impl StudyProfile {
    /// Its settings except those in `taken`.
    pub(crate) fn settings_beside(&self, taken: impl Fn(&str) -> bool) -> Vec<JobSetting> {
        let own = self.settings.iter().filter(|(option, _, _)| !taken(option));
        own.map(|(option, value, _)| JobSetting { option: (*option).to_owned(), value: (*value).to_owned() }).collect()
    }

    /// Its preconditioning, if it has one.
    pub(crate) fn preconditioning(&self) -> Option<Preconditioning> {
        self.precondition.0.map(|kind| Preconditioning {
            kind,
            once: PreconditionFrequency::Study,
            ..Preconditioning::default()
        })
    }
}
