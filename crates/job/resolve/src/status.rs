//! Options that the table knows but that are not, or not yet, supported.
//!
//! If ignoring an option would change what is written, verified, measured or timed, it is an error
//! that names the option and the reason, even in fio mode. Setting an option to its default is
//! fine.

use iolab_jobfile::default_value;
use iolab_options::{OptionEntry, Setting, Settings, SupportStatus, Value};

use crate::job::Job;

/// Checks every setting of the section, the engine's own included.
pub(crate) fn check(job: &Job<'_>) {
    check_table(job, job.request.options, &job.section.settings);
    check_table(job, job.engine.options, &job.section.engine_settings);
}

fn check_table(job: &Job<'_>, table: &[OptionEntry], settings: &Settings) {
    for (name, setting) in settings.iter() {
        let Some(entry) = table.iter().find(|entry| entry.answers_to(name)) else { continue };
        check_one(job, entry, setting);
    }
}

fn check_one(job: &Job<'_>, entry: &OptionEntry, setting: &Setting) {
    let name = entry.name;
    match entry.status {
        SupportStatus::Supported | SupportStatus::NoEffect(_) => {}
        _ if means_default(entry, setting) => {}
        SupportStatus::Refused(reason) => job.error(
            name,
            format!("{name} is not supported yet: {reason}"),
            "remove it if the job means the same without it",
        ),
    }
}

/// Whether the setting equals the default.
fn means_default(entry: &OptionEntry, setting: &Setting) -> bool {
    if let Some(default) = default_value(entry) {
        return setting.value == default;
    }
    // Without a default, an empty value has the same meaning.
    match &setting.value {
        Value::Flag(on) => !on,
        Value::Integer(0) | Value::Time(0) | Value::Size(0) => true,
        Value::Choice(word) => word == "none",
        Value::Text(text) => text.is_empty(),
        _ => false,
    }
}
