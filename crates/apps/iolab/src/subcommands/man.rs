//! `iolab man`: the manual page, with every job option.

use anyhow::Context;

use crate::exit::Failure;

pub(crate) fn main() -> Result<u8, Failure> {
    let tree = crate::arguments::command_tree();
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(tree.clone()).render(&mut page).and_then(|()| {
        let run = tree.find_subcommand("run").cloned().unwrap_or_default().name("iolab-run");
        clap_mangen::Man::new(run).render(&mut page)
    });
    rendered.context("rendering the manual page")?;
    crate::output::print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
