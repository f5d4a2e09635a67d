//! `iolab plan JOB`: shows what would be done, with every value resolved.

use iolab_resolve::Mode;

use crate::exit::ExitFailure;
use crate::{output, pipeline, run_options};

pub(crate) fn main(words: &[String]) -> Result<u8, ExitFailure> {
    let asked = super::run::take_apart(words, Mode::Iolab)?;
    if let Some(code) = super::run::answer_questions(&asked.run, run_options::PLAN)? {
        return Ok(code);
    }
    super::run::something_to_run(&asked.line)?;
    if asked.run.study.is_asked_for() {
        return super::study::from_words::plan(&asked);
    }
    asked.refuse_words_of_studies()?;
    let planned = pipeline::plan_only(&asked)?;
    super::run::show_warnings(&planned);
    let mut shown = planned.plan.clone();
    planned.redaction.secrets_only().plan(&mut shown);
    output::print(&iolab_plan::describe(&shown))?;
    Ok(0)
}
