//! Writes a configuration as a job file.
//!
//! In fio's job language the last value of an option counts, so that settings at the end of every
//! section override the job. The resulting text can be run by itself, by iolab or fio.

use iolab_options::job_line;
use serde::{Deserialize, Serialize};

use crate::{JobSetting, StudyError};

/// `job` with `settings` at the end of each of its sections except `[global]`; a job without such a
/// section gets one called `trial`.
///
/// # Errors
/// A setting that cannot be written as one line of a job file.
pub fn with_settings(job: &str, settings: &[JobSetting]) -> Result<String, StudyError> {
    let lines = lines(settings)?;
    let mut text = String::new();
    let mut in_job = false;
    let mut has_job = false;
    for line in job.lines() {
        if let Some(name) = section(line) {
            if in_job {
                text.push_str(&lines);
            }
            in_job = !name.starts_with("global");
            has_job |= in_job;
        }
        text.push_str(line);
        text.push('\n');
    }
    if !has_job {
        text.push_str("[trial]\n");
    }
    text.push_str(&lines);
    Ok(text)
}

/// The lines of settings.
///
/// # Errors
/// A setting that cannot be written as one line of a job file.
pub(crate) fn lines(settings: &[JobSetting]) -> Result<String, StudyError> {
    let line = |setting: &JobSetting| job_line(&setting.option, Some(&setting.value));
    settings.iter().map(line).collect::<Result<_, _>>().map_err(|refused| StudyError::meaning(refused.to_string()))
}

/// The name of the section that begins at a line.
fn section(line: &str) -> Option<&str> {
    let content = line.find([';', '#']).map_or(line, |comment| &line[..comment]);
    content.trim().strip_prefix('[')?.strip_suffix(']')
}

/// Where the job comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobSource {
    /// A job file, relative to the study file.
    File(String),
    /// Its text.
    Text(String),
    /// Not a job but a shell command that prints JSON, with `{option}` as placeholders for
    /// settings.
    Command(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_end_every_section() {
        let settings = [JobSetting { option: "bs".to_owned(), value: "4k".to_owned() }];
        let check =
            |job: &str, expected: &str| assert_eq!(with_settings(job, &settings).as_deref(), Ok(expected), "{job}");
        check("[global]\nbs=1k\n[a]\nrw=read\n[b]\nbs=2k", "[global]\nbs=1k\n[a]\nrw=read\nbs=4k\n[b]\nbs=2k\nbs=4k\n");
        check("[global]\nrw=read\n", "[global]\nrw=read\n[trial]\nbs=4k\n");
        check("", "[trial]\nbs=4k\n");
        check("[global] ; all\nrw=read\n[a] # one\n", "[global] ; all\nrw=read\n[a] # one\nbs=4k\n");
        check("[a]\n[global]\nsize=1m\n[b]\n", "[a]\nbs=4k\n[global]\nsize=1m\n[b]\nbs=4k\n");
    }

    #[test]
    fn a_value_is_never_more_than_a_line() {
        let settings = [JobSetting { option: "bs".to_owned(), value: "4k\nexec_prerun=touch it".to_owned() }];
        let error = with_settings("[a]\n", &settings).expect_err("two lines").to_string();
        assert!(error.contains("bs=4k\\nexec_prerun=touch it cannot stand in a job file"), "{error}");
    }
}
