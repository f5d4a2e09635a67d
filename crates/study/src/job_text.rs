//! A configuration as a job file of its own.
//!
//! In fio's job language the last value of an option counts, so settings that stand at the end of every section outrule whatever the job says. The text that is
//! made can be run again by itself, by iolab or fio.

use crate::Setting;

/// `job` with `settings` at the end of each of its sections but `[global]`; a job without such a section gets one called `trial`.
pub fn with_settings(job: &str, settings: &[Setting]) -> String {
    let lines: String = settings.iter().map(|setting| format!("{}={}\n", setting.option, setting.value)).collect();
    let mut text = String::new();
    let mut in_job = false;
    let mut has_job = false;
    for line in job.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with('[') && trimmed.ends_with(']') {
            if in_job {
                text.push_str(&lines);
            }
            in_job = trimmed != "[global]";
            has_job |= in_job;
        }
        text.push_str(line);
        text.push('\n');
    }
    if !has_job {
        text.push_str("[trial]\n");
    }
    text.push_str(&lines);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_end_every_section() {
        let settings = [Setting { option: "bs".to_owned(), value: "4k".to_owned() }];
        let check = |job: &str, expected: &str| assert_eq!(with_settings(job, &settings), expected, "{job}");
        check("[global]\nbs=1k\n[a]\nrw=read\n[b]\nbs=2k", "[global]\nbs=1k\n[a]\nrw=read\nbs=4k\n[b]\nbs=2k\nbs=4k\n");
        check("[global]\nrw=read\n", "[global]\nrw=read\n[trial]\nbs=4k\n");
        check("", "[trial]\nbs=4k\n");
        check("[a]\n[global]\nsize=1m\n[b]\n", "[a]\nbs=4k\n[global]\nsize=1m\n[b]\nbs=4k\n");
    }
}
