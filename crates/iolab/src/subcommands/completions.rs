//! `iolab completions SHELL`.

use crate::exit::Failure;

pub(crate) fn main(shell: clap_complete::Shell) -> Result<u8, Failure> {
    clap_complete::generate(shell, &mut crate::arguments::command_tree(), "iolab", &mut std::io::stdout());
    Ok(0)
}
