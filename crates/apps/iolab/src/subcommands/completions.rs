//! `iolab completions SHELL`.

use crate::exit::ExitFailure;

pub(crate) fn main(shell: clap_complete::Shell) -> Result<u8, ExitFailure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::arguments::command_tree(), "iolab", &mut script);
    crate::output::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
