//! Settings of the block devices under a job's files: collected here, given to devices by the code
//! that runs the plan.

use std::collections::BTreeMap;

use iolab_jobfile::DEVICE_PREFIX;
use iolab_options::Value;

use crate::job::Job;
use crate::request::Mode;

/// The settings by the kernel's names. In fio mode, none of these options exists.
pub(crate) fn device_settings(job: &Job<'_>) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    if let Some(scheduler) = job.text("ioscheduler") {
        settings.insert("scheduler".to_owned(), scheduler);
    }
    for entry in job.request.options {
        let Some(name) = entry.name.strip_prefix(DEVICE_PREFIX) else { continue };
        let Some(setting) = job.setting(entry.name) else { continue };
        if job.request.mode == Mode::Fio {
            let reason = format!("`{}` is not an option of fio", entry.name);
            job.error(entry.name, reason, "use `iolab run`, or set it before the run");
            continue;
        }
        let text = match &setting.value {
            Value::Flag(on) => u8::from(*on).to_string(),
            Value::Integer(number) => number.to_string(),
            Value::Choice(word) => (*word).to_owned(),
            _ => setting.text.trim().to_owned(),
        };
        if text.is_empty() || text.contains(['\n', '\0']) {
            job.error(entry.name, format!("{} needs a word", entry.name), "use a value that the kernel offers");
            continue;
        }
        settings.insert(name.to_owned(), text);
    }
    settings
}
