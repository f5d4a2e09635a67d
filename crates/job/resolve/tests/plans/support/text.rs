//! Parses job text into a job set, by the real parser in fixed surroundings.

use iolab_jobfile::{Input, JobSet, KeywordFacts, Surroundings, parse};
use iolab_options::{OptionEntry, Rank};

use super::ENGINES;

struct World;

impl Surroundings for World {
    fn include(&self, name: &str, _: &str) -> Result<String, String> {
        Err(format!("no such file: {name}"))
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
    }
    fn keywords(&self) -> KeywordFacts {
        KeywordFacts { cpus: 4, page_bytes: 4096, memory_mib: 1000, rank: Rank::only("here") }
    }
    fn engine_options(&self, engine: &str) -> Option<&'static [OptionEntry]> {
        ENGINES.iter().find(|known| known.name == engine).map(|known| known.options)
    }
}

/// Parses a job file, or several with lines `---` between them; they must be valid.
pub(crate) fn jobs(text: &str) -> JobSet {
    let parts = text.split("---\n").enumerate();
    let files: Vec<Input> =
        parts.map(|(index, text)| Input { name: format!("{index}.fio"), bytes: text.as_bytes().to_vec() }).collect();
    let request = iolab_jobfile::ParseRequest { files: &files, ..iolab_jobfile::ParseRequest::default() };
    parse(&request, &World).unwrap_or_else(|failure| panic!("{text}\ndoes not parse: {:#?}", failure.diagnostics))
}
