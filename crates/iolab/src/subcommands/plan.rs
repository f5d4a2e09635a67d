//! `iolab plan JOB`: what would be done, every value resolved.

use iolab_resolve::Mode;

use crate::exit::Failure;
use crate::{output, pipeline};

pub(crate) fn main(words: &[String]) -> Result<u8, Failure> {
    let command_line = super::run::take_apart(words)?;
    if let Some(code) = super::run::answer_questions(&command_line.run)? {
        return Ok(code);
    }
    super::run::something_to_run(&command_line)?;
    if command_line.run.study.is_asked_for() {
        return super::study::from_words::plan(&command_line);
    }
    let planned = pipeline::plan(&command_line, Mode::Iolab)?;
    super::run::show_warnings(&planned);
    output::print(&iolab_plan::describe(&planned.plan))?;
    Ok(0)
}
