//! `--showcmd`: jobs as a command line.

use iolab_options::Setting;

use crate::collect::written_value;
use crate::command_line::quote;
use crate::{JobSection, JobSet};

/// Options that others depend on, written first, as fio requires.
const FIRST: [&str; 2] = ["kb_base", "ioengine"];

/// The arguments that define `job` by itself: its name, then every option in force, globals
/// included.
pub fn to_command_line(job: &JobSection) -> Vec<String> {
    let mut arguments = vec![format!("--name={}", job.name)];
    let leading = FIRST.iter().filter_map(|name| Some((*name, job.settings.get(name)?)));
    let others = job.settings.iter().filter(|(name, _)| !FIRST.contains(name));
    for (name, setting) in leading.chain(others).chain(job.engine_settings.iter()) {
        if name == "name" && setting.text == job.name {
            continue;
        }
        arguments.push(argument(name, setting));
    }
    if job.begins_file && !job.settings.has("stonewall") {
        arguments.push("--stonewall".to_owned());
    }
    arguments
}

/// One command line for all jobs, quoted for a shell.
pub fn showcmd(program: &str, set: &JobSet) -> String {
    let mut text = program.to_owned();
    for argument in set.jobs.iter().flat_map(to_command_line) {
        text.push(' ');
        text.push_str(&quote(&argument));
    }
    text.push('\n');
    text
}

fn argument(name: &str, setting: &Setting) -> String {
    match written_value(setting) {
        Some(value) => format!("--{name}={value}"),
        None => format!("--{name}"),
    }
}
