//! Removes secrets, and the values of environment variables, which job files insert by `${NAME}`,
//! from a recording before it is kept or shown.
//!
//! Secrets are the values of secret options and the passwords in addresses. They become `***`.
//!
//! Options are kept as they were written. In all other free text (paths, commands, messages, the
//! command line) a value is replaced by its `${NAME}`. Numbers and words of fixed vocabularies are
//! kept, because they describe the measurement. Very short values would match by chance, so they
//! are replaced only if they are separate words.

use std::collections::BTreeMap;
use std::path::PathBuf;

use iolab_options::HIDDEN;
use iolab_order::{Arrange, Gather};
use iolab_plan::{BufferContent, BufferMemory, Plan, WorkerPlan};

use crate::recording::Recording;
use crate::{WorkerOutcome, WorkerRecording};

/// Shorter values are replaced only where they are a whole word of the command line, or all of a
/// text.
const SHORTEST_BYTES: usize = 4;

/// Which options to keep as they were written, and which values to remove everywhere.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Redaction {
    /// `(option, its text)` and what was written.
    options: BTreeMap<(String, String), String>,
    /// Those of them that hold secrets.
    secret_options: BTreeMap<(String, String), String>,
    /// What is removed, the longest first.
    values: Vec<Removed>,
}

/// A value and what stands in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Removed {
    value: String,
    replacement: String,
    is_secret: bool,
}

impl Redaction {
    /// From the options that hold values, as `(option, text, text as written)`, and the variables
    /// with their values.
    pub fn new(
        options: impl IntoIterator<Item = (String, String, String)>,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Redaction {
        let options = options.into_iter().map(|(option, text, written)| ((option, text), written)).gather();
        let variables = variables.into_iter().filter(|(_, value)| !value.is_empty());
        let removed = |(name, value)| Removed { value, replacement: format!("${{{name}}}"), is_secret: false };
        let mut redaction =
            Redaction { options, secret_options: BTreeMap::new(), values: variables.map(removed).collect() };
        redaction.sort();
        redaction
    }

    /// Removes secrets, too: options that hold some, as `(option, text, text as shown)`, and the
    /// secrets themselves.
    #[must_use]
    pub fn and_secrets(
        mut self,
        options: impl IntoIterator<Item = (String, String, String)>,
        secrets: impl IntoIterator<Item = String>,
    ) -> Redaction {
        for (option, text, shown) in options {
            // Texts of options also become names of files.
            self.values.push(Removed { value: text.clone(), replacement: shown.clone(), is_secret: true });
            let [value, replacement] = [&text, &shown].map(|text| text.replace("\\:", ":"));
            self.values.push(Removed { value, replacement, is_secret: true });
            self.secret_options.insert((option, text), shown);
        }
        let removed = |value| Removed { value, replacement: HIDDEN.to_owned(), is_secret: true };
        self.values.extend(secrets.into_iter().filter(|value| !value.is_empty()).map(removed));
        self.sort();
        self
    }

    /// Of values of the same length, those of variables come first.
    fn sort(&mut self) {
        self.values.arrange_by_key(|removed| std::cmp::Reverse(removed.value.len()));
        self.values.dedup();
    }

    /// What removes the secrets, and no other values of variables.
    #[must_use]
    pub fn secrets_only(&self) -> Redaction {
        let mut own = self.clone();
        own.options.clear();
        own.values.retain(|removed| removed.is_secret);
        own
    }

    /// Whether there is nothing to remove.
    pub fn is_empty(&self) -> bool {
        self.options.is_empty() && self.secret_options.is_empty() && self.values.is_empty()
    }

    /// A text without the values.
    pub fn text(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for Removed { value, replacement, .. } in &self.values {
            if text == *value {
                text.clone_from(replacement);
            } else if value.len() >= SHORTEST_BYTES && text.contains(value.as_str()) {
                text = text.replace(value.as_str(), replacement);
            }
        }
        text
    }

    /// A word of a command line, where a value may also be what follows `=`.
    fn word(&self, word: &str) -> String {
        match word.split_once('=') {
            Some((option, value)) => format!("{}={}", self.text(option), self.text(value)),
            None => self.text(word),
        }
    }

    /// Removes the values from a recording.
    pub fn recording(&self, recording: &mut Recording) {
        if self.is_empty() {
            return;
        }
        self.plan(&mut recording.plan);
        let others = recording.hosts.iter_mut().map(|host| &mut host.facts);
        for facts in others.chain([&mut recording.host]) {
            facts.command_line.iter_mut().for_each(|word| *word = self.word(word));
        }
        self.all(&mut recording.warnings);
        for network in recording.observations.iter_mut().flat_map(|seen| &mut seen.network) {
            let names = network.mounts.iter_mut().map(|mount| &mut mount.name);
            names.for_each(|name| *name = self.text(name));
        }
        recording.workers.iter_mut().for_each(|worker| self.worker(worker));
        for finding in &mut recording.findings {
            for text in [&mut finding.evidence, &mut finding.consequence, &mut finding.advice] {
                *text = self.text(text);
            }
        }
    }

    /// Removes the values from a worker's recording.
    pub fn worker(&self, worker: &mut WorkerRecording) {
        if let WorkerOutcome::Failed { message, .. } | WorkerOutcome::Crashed { message, .. } = &mut worker.outcome {
            *message = self.text(message);
        }
        self.all(&mut worker.notes);
        self.all(&mut worker.lost);
    }

    fn all(&self, texts: &mut [String]) {
        texts.iter_mut().for_each(|text| *text = self.text(text));
    }

    /// Removes the values from a plan.
    pub fn plan(&self, plan: &mut Plan) {
        for source in &mut plan.sources {
            let words = source.text.split_inclusive(char::is_whitespace);
            source.text = match source.name.as_str() {
                "command line" => words.map(|word| self.word_and_space(word)).collect(),
                _ => self.text(&source.text),
            };
        }
        self.options(&mut plan.global_options);
        self.all(&mut plan.warnings);
        plan.workers.iter_mut().for_each(|worker| self.worker_plan(worker));
    }

    fn word_and_space(&self, word: &str) -> String {
        let end = word.trim_end().len();
        self.word(&word[..end]) + &word[end..]
    }

    fn options(&self, options: &mut BTreeMap<String, String>) {
        options.iter_mut().for_each(|(name, text)| *text = self.option(name, text));
    }

    /// The text of an option without the values.
    pub fn option(&self, name: &str, text: &str) -> String {
        let own = (name.to_owned(), text.to_owned());
        let written = self.secret_options.get(&own).or_else(|| self.options.get(&own));
        self.text(written.unwrap_or(&own.1))
    }

    fn worker_plan(&self, plan: &mut WorkerPlan) {
        self.options(&mut plan.job_options);
        self.options(&mut plan.layout.device_settings);
        let process = &mut plan.process;
        let logs = &mut plan.logs;
        let texts = [&mut plan.description, &mut process.exec_prerun, &mut process.exec_postrun, &mut process.comm];
        let prefixes = [&mut logs.latency, &mut logs.bandwidth, &mut logs.iops];
        texts.into_iter().chain(prefixes).flatten().for_each(|text| *text = self.text(text));
        if let Some(histogram) = &mut logs.histogram {
            histogram.prefix = self.text(&histogram.prefix);
        }
        for file in &mut plan.files {
            if let Some(path) = file.path.to_str() {
                file.path = PathBuf::from(self.text(path));
            }
        }
        if let BufferMemory::File { path, .. } = &mut plan.buffers.memory {
            *path = self.text(path);
        }
        if let BufferContent::Pattern(bytes) = &mut plan.buffers.content
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            *bytes = self.text(text).into_bytes();
        }
        self.engine(plan);
    }

    /// Options of engines: their texts, whatever kind of value holds them.
    fn engine(&self, plan: &mut WorkerPlan) {
        let Ok(mut value) = serde_json::to_value(&plan.engine.options) else { return };
        self.walk(&mut value);
        if let Ok(options) = serde_json::from_value(value) {
            plan.engine.options = options;
        }
    }

    fn walk(&self, value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(fields) => {
                for (name, field) in fields {
                    match field {
                        serde_json::Value::String(text) if ["text", "Text"].contains(&name.as_str()) => {
                            *text = self.text(text);
                        }
                        other => self.walk(other),
                    }
                }
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(|item| self.walk(item)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_give_way_to_their_names_the_longest_first() {
        let variables = [("PW", "hunter2"), ("LONG", "hunter22"), ("N", "4k"), ("NONE", "")];
        let redaction = Redaction::new([], variables.map(|(name, value)| (name.to_owned(), value.to_owned())));
        for (text, expected) in [
            ("/mnt/hunter2/x", "/mnt/${PW}/x"),
            ("hunter22", "${LONG}"),
            ("4k", "${N}"),
            ("64k of 4k", "64k of 4k"),
            ("", ""),
        ] {
            assert_eq!(redaction.text(text), expected);
        }
        assert_eq!(redaction.word("--bs=4k"), "--bs=${N}");
        assert_eq!(redaction.word_and_space("--description=hunter2 "), "--description=${PW} ");
        assert!(Redaction::default().is_empty());
    }

    #[test]
    fn secrets_are_hidden_also_where_variables_are_shown() {
        let owned = |(a, b, c): (&str, &str, &str)| (a.to_owned(), b.to_owned(), c.to_owned());
        let options = [
            ("filename", r"i\://u%p1@h/t/1", r"i\://u%***@h/t/1"),
            ("key", "hunter2", "${KEY}"),
            ("token", "abcdef", "***"),
        ];
        let secrets = ["p1", "hunter2", "abcdef"].map(str::to_owned);
        let all =
            Redaction::new([], [("KEY".to_owned(), "hunter2".to_owned()), ("DIR".to_owned(), "/mnt/x".to_owned())])
                .and_secrets(options.map(owned), secrets);
        let secrets = all.secrets_only();
        for (text, kept, shown) in [
            (r"i\://u%p1@h/t/1", r"i\://u%***@h/t/1", r"i\://u%***@h/t/1"),
            ("no unit i://u%p1@h/t/1 there", "no unit i://u%***@h/t/1 there", "no unit i://u%***@h/t/1 there"),
            ("hunter2 in /mnt/x", "${KEY} in ${DIR}", "${KEY} in /mnt/x"),
            ("abcdef", "***", "***"),
        ] {
            assert_eq!((all.text(text).as_str(), secrets.text(text).as_str()), (kept, shown));
        }
        assert_eq!(secrets.option("key", "hunter2"), "${KEY}");
        assert_eq!(secrets.word("--token=abcdef"), "--token=***");
        assert!(!secrets.is_empty());
    }

    #[test]
    fn options_stand_as_they_were_written() {
        let option = ("size".to_owned(), "10g".to_owned(), "${SIZE}".to_owned());
        let redaction = Redaction::new([option], []);
        let mut options = BTreeMap::from([("size", "10g"), ("io_size", "10g")].map(|(a, b)| (a.into(), b.into())));
        redaction.options(&mut options);
        assert_eq!((options["size"].as_str(), options["io_size"].as_str()), ("${SIZE}", "10g"));
    }
}
