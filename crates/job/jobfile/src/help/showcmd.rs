//! `--showcmd`: jobs as a command line.

use iolab_options::Setting;

use crate::collect::written_value;
use crate::command_line::quote;
use crate::{JobSection, JobSet, SecretSetting};

/// Options that others depend on, written first, as fio requires.
const FIRST: [&str; 2] = ["kb_base", "ioengine"];

/// The arguments that define `job` of `set` by itself: its name, then every option in force,
/// globals included. In the place of secrets there are variables of the environment.
pub fn to_command_line(set: &JobSet, job: &JobSection) -> Vec<String> {
    let mut arguments = vec![format!("--name={}", job.name)];
    let leading = FIRST.iter().filter_map(|name| Some((*name, job.settings.get(name)?)));
    let others = job.settings.iter().filter(|(name, _)| !FIRST.contains(name));
    for (name, setting) in leading.chain(others).chain(job.engine_settings.iter()) {
        if name == "name" && setting.text == job.name {
            continue;
        }
        arguments.push(argument(set, name, setting));
    }
    if job.begins_file && !job.settings.has("stonewall") {
        arguments.push("--stonewall".to_owned());
    }
    arguments
}

/// One command line for all jobs, quoted for a shell.
pub fn showcmd(program: &str, set: &JobSet) -> String {
    let mut text = program.to_owned();
    for argument in set.jobs.iter().flat_map(|job| to_command_line(set, job)) {
        text.push(' ');
        text.push_str(&quote(&argument));
    }
    text.push('\n');
    text
}

fn argument(set: &JobSet, name: &str, setting: &Setting) -> String {
    let is_own = |secret: &&SecretSetting| secret.option == name && secret.text == setting.text;
    if let Some(secret) = set.secrets.iter().find(is_own) {
        return format!("--{name}={}", secret.copyable);
    }
    match written_value(setting) {
        Some(value) => format!("--{name}={value}"),
        None => format!("--{name}"),
    }
}
