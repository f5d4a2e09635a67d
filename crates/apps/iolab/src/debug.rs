//! `--debug`: what the program tells of its work, in the lines of fio: kind, process, text.
//!
//! ```text
//! parse    4711  handle_option=bs, ptr=4k
//! parse    4711    ret=0, out=4096
//! random   4711  rand_seeds[0]=5942511153023025289
//! ```
//!
//! Options and seeds are told of before the run, from the parsed jobs and the plan; what workers do
//! is told by the runner. All lines go where the report goes, before it.

use std::fmt::Write;
use std::fs::File;
use std::sync::Arc;

use iolab_options::{Settings, Value};
use iolab_order::Arrange;
use iolab_pipeline::Planned;
use iolab_recording::Redaction;
use iolab_resolve::Mode;
use iolab_runner::{Telling, ToldKind, told_line};

use crate::exit::ExitFailure;
use crate::output;

/// The words of fio, whether or not there is something to tell of them here.
const WORDS: &str = "process,file,io,mem,blktrace,verify,random,parse,diskutil,job,mutex,profile,time,net,rate,compress,\
    steadystate,helperthread,zbd,dataplacement,sprandom,all";

/// What `--debug` asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Debug {
    words: Vec<&'static str>,
    only: Option<u32>,
}

/// Says which words of `--debug` there are, as fio does before anything else. True if they are only
/// to be listed.
///
/// # Errors
/// There is no such word. For fio this is a message, and the run goes on without it.
pub(crate) fn announce(values: &[String], mode: Mode) -> Result<bool, ExitFailure> {
    for value in values {
        if value == "?" || value == "help" {
            output::print(&format!("fio: dumping debug options:{}\n", WORDS))?;
            return Ok(true);
        }
        for word in value.split(',') {
            if let Some(number) = job_number(word) {
                output::print(&format!("fio: set debug jobno {number}\n"))?;
            } else if known(word).is_some() {
                output::print(&format!("fio: set debug option {word}\n"))?;
            } else if mode == Mode::Fio {
                eprintln!("fio: debug mask {word} not found");
            } else {
                let known = WORDS.replace(',', ", ");
                return Err(ExitFailure::mistake(format!("iolab: --debug={word}: there is no such word: {known}")));
            }
        }
    }
    Ok(false)
}

/// The word of this name.
fn known(word: &str) -> Option<&'static str> {
    WORDS.split(',').find(|known| *known == word)
}

/// The worker of `job:N`, counted from 1.
fn job_number(word: &str) -> Option<u32> {
    word.strip_prefix("job:")?.parse().ok()
}

impl Debug {
    /// What the values of `--debug` ask for; what is unknown is left out.
    pub(crate) fn of(values: &[String]) -> Debug {
        let words = || values.iter().flat_map(|value| value.split(','));
        Debug { words: words().filter_map(known).collect(), only: words().filter_map(job_number).next_back() }
    }

    fn has(&self, word: &str) -> bool {
        self.words.iter().any(|asked| *asked == word || *asked == "all")
    }

    /// What the jobs tell, if they tell anything.
    pub(crate) fn telling(&self, file: impl FnOnce() -> std::io::Result<File>) -> std::io::Result<Option<Telling>> {
        let kinds: Vec<ToldKind> = ToldKind::ALL.into_iter().filter(|kind| self.has(kind.word())).collect();
        if kinds.is_empty() {
            return Ok(None);
        }
        Ok(Some(Telling { file: Arc::new(file()?), kinds, only: self.only }))
    }

    /// What is told before the run.
    pub(crate) fn preface(&self, planned: &Planned) -> String {
        let id = std::process::id();
        let mut text = String::new();
        if self.has("parse") {
            let secrets = planned.redaction.secrets_only();
            let jobs = planned.jobs.jobs.iter().flat_map(|job| [&job.own, &job.engine_settings]);
            for settings in [&planned.jobs.global].into_iter().chain(jobs) {
                parsed(&mut text, id, settings, &secrets);
            }
        }
        if self.has("random") {
            for worker in &planned.plan.workers {
                if self.only.is_some_and(|only| only != worker.number + 1) {
                    continue;
                }
                let seeds = [worker.workload.seed, worker.workload.buffer_seed, worker.pacing.seed];
                let seeds: Vec<u64> =
                    seeds.into_iter().chain(worker.verify.as_ref().map(|verify| verify.seed)).collect();
                text.push_str(&told_line("random", id, &format!("FIO_RAND_NR_OFFS={}", seeds.len())));
                for (number, seed) in seeds.iter().enumerate() {
                    text.push_str(&told_line("random", id, &format!("rand_seeds[{number}]={seed}")));
                }
            }
        }
        if self.has("io") {
            for worker in &planned.plan.workers {
                text.push_str(&told_line("io", id, &format!("load ioengine {}", worker.engine.name)));
            }
        }
        text
    }
}

/// Settings in the order in which they were written.
fn parsed(text: &mut String, id: u32, settings: &Settings, secrets: &Redaction) {
    let mut written: Vec<_> = settings.iter().filter(|(_, setting)| setting.span.1 > 0).collect();
    written.arrange_by_key(|(_, setting)| (setting.source, setting.span));
    for (name, setting) in written {
        text.push_str(&told_line(
            "parse",
            id,
            &format!("handle_option={name}, ptr={}", secrets.option(name, &setting.text)),
        ));
        let number = match &setting.value {
            Value::Integer(number) => Some(number.to_string()),
            Value::Flag(is_on) => Some(u8::from(*is_on).to_string()),
            _ => None,
        };
        if let Some(number) = number {
            let mut line = String::new();
            // Writing to a String cannot fail.
            let _ = write!(line, "  ret=0, out={number}");
            text.push_str(&told_line("parse", id, &line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str) -> Debug {
        Debug::of(&[value.to_owned()])
    }

    #[test]
    fn words_are_those_of_fio() {
        assert_eq!(of("io,job:2,bogus,random"), Debug { words: vec!["io", "random"], only: Some(2) });
        assert_eq!(of("bogus"), Debug::default());
        let refused = announce(&["bogus".to_owned()], Mode::Iolab).expect_err("a mistake");
        assert!(refused.message.contains("there is no such word: process, file, io"), "{}", refused.message);
        assert!(!announce(&["bogus".to_owned()], Mode::Fio).expect("a message"));
        assert!(announce(&["help".to_owned()], Mode::Fio).expect("a list"));
    }

    #[test]
    fn a_run_tells_only_of_what_workers_do() {
        let none = || Err(std::io::Error::other("not asked for"));
        assert!(of("parse").telling(none).expect("no file is needed").is_none());
        let told = of("all").telling(|| File::open("/dev/null")).expect("a file").expect("everything");
        assert_eq!(told.kinds, ToldKind::ALL);
    }
}
