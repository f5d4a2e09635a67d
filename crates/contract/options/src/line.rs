//! Writing one line of a job file: the only place where the text of a setting becomes job language.
//!
//! The language has no quotes and no escapes, so a line break in a value would be another line,
//! with another option, and `;` or `#` would begin a comment. A setting that could not be read back
//! unchanged is refused.

/// Why a setting cannot be written to a job file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{setting} cannot stand in a job file: {reason}")]
pub struct NotALine {
    /// The setting, shown.
    pub setting: String,
    /// Why.
    pub reason: &'static str,
}

/// `option=value`, or `option` alone, with a newline.
///
/// # Errors
/// The line would be read as something else.
pub fn job_line(option: &str, value: Option<&str>) -> Result<String, NotALine> {
    let refused = |reason| NotALine {
        setting: format!("{option}={}", value.unwrap_or_default()).escape_debug().to_string(),
        reason,
    };
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "_-.".contains(letter);
    if option.is_empty() || !option.chars().all(is_word) {
        return Err(refused("an option name consists of letters, digits, `_`, `-` and `.`"));
    }
    let Some(value) = value else { return Ok(format!("{option}\n")) };
    if value.contains(|letter: char| letter.is_control() && letter != '\t') {
        return Err(refused("a value must not contain line breaks or other control characters"));
    }
    if value.contains([';', '#']) {
        return Err(refused("`;` and `#` start comments there"));
    }
    Ok(format!("{option}={value}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_one_line_or_none() {
        assert_eq!(job_line("bs", Some("4k,8k")), Ok("bs=4k,8k\n".to_owned()));
        assert_eq!(job_line("device.scheduler", Some("none")), Ok("device.scheduler=none\n".to_owned()));
        assert_eq!(job_line("stonewall", None), Ok("stonewall\n".to_owned()));
        for (option, value) in [
            ("bs", "4k\nexec_prerun=touch it"),
            ("bs", "4k\rexec_prerun=touch it"),
            ("bs", "4k\u{85}"),
            ("bs", "4k ; more"),
            ("bs", "4k#"),
            ("bs", "\0"),
            ("bs\nexec_prerun", "touch it"),
            ("[a]\nbs", "4k"),
            ("include /dev/zero", ""),
            ("", "4k"),
        ] {
            let error = job_line(option, Some(value)).expect_err(option).to_string();
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }
}
