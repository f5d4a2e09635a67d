//! Properties of standard output and standard error: whether to use colours, and their width.
//!
//! Colours follow the conventions of the command line: `NO_COLOR` forbids them (no-color.org),
//! `CLICOLOR_FORCE` enables them even in a pipe, `CLICOLOR=0` and `TERM=dumb` forbid them
//! (bixense.com/clicolors). Then the setting `color` counts. Otherwise a terminal gets them, and a
//! file or a pipe does not.

use std::ffi::OsString;
use std::io::IsTerminal;

use iolab_configuration::UserSetting;

/// Longer lines are hard to read, however wide the terminal is.
const MOST_COLUMNS: usize = 120;

/// The assumed width of a terminal that is narrower, or whose width is unknown.
const LEAST_COLUMNS: usize = 40;

pub(crate) fn stdout_has_colors() -> bool {
    colors_wanted(std::io::stdout().is_terminal(), color_setting().as_deref(), |name| std::env::var_os(name))
}

pub(crate) fn stderr_has_colors() -> bool {
    colors_wanted(std::io::stderr().is_terminal(), color_setting().as_deref(), |name| std::env::var_os(name))
}

/// Columns for text on standard output.
pub(crate) fn columns() -> usize {
    if !std::io::stdout().is_terminal() {
        return iolab_text::USUAL_COLUMNS;
    }
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col).clamp(LEAST_COLUMNS, MOST_COLUMNS),
        _ => iolab_text::USUAL_COLUMNS,
    }
}

/// The user's setting.
fn color_setting() -> Option<String> {
    iolab_configuration::value(UserSetting::Color).and_then(|(value, _)| value.into_string().ok())
}

fn colors_wanted(is_terminal: bool, setting: Option<&str>, variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let says = |name, word: &str| variable(name).is_some_and(|value| value == word);
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    if is_set("NO_COLOR") {
        return false;
    }
    if is_set("CLICOLOR_FORCE") && !says("CLICOLOR_FORCE", "0") {
        return true;
    }
    match setting {
        Some("always") => return true,
        Some("never") => return false,
        _ => {}
    }
    is_terminal && !says("CLICOLOR", "0") && !says("TERM", "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Variables, and whether there are colours on a terminal and in a pipe.
    type Case = (&'static [(&'static str, &'static str)], bool, bool);

    #[test]
    fn colors_follow_the_customs() {
        let cases: [Case; 9] = [
            (&[], true, false),
            (&[("NO_COLOR", "1")], false, false),
            (&[("NO_COLOR", "")], true, false),
            (&[("CLICOLOR_FORCE", "1")], true, true),
            (&[("CLICOLOR_FORCE", "0")], true, false),
            (&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], false, false),
            (&[("CLICOLOR", "0")], false, false),
            (&[("TERM", "dumb")], false, false),
            (&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")], true, true),
        ];
        for (set, on_terminal, in_pipe) in cases {
            let variable = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into());
            assert_eq!(colors_wanted(true, None, variable), on_terminal, "{set:?}");
            assert_eq!(colors_wanted(false, Some("auto"), variable), in_pipe, "{set:?}");
        }
        // The user's setting counts where no variable decides.
        let forbidden = |name: &str| (name == "NO_COLOR").then(|| "1".into());
        let nothing = |_: &str| None;
        assert!(colors_wanted(false, Some("always"), nothing) && !colors_wanted(true, Some("never"), nothing));
        assert!(!colors_wanted(true, Some("always"), forbidden));
    }
}
