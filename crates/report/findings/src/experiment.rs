//! Jobs as command lines for a shell, with one option changed, which a user can run.

use crate::facts::{Facts, Job};

/// The job as a command line, with some options changed; an option with an empty new value is left
/// out.
pub(crate) fn command(facts: &Facts<'_>, job: &Job<'_>, changes: &[(&str, &str)]) -> String {
    let mut options = facts.recording.plan.global_options.clone();
    options.extend(job.first().plan.job_options.clone());
    for (name, value) in changes {
        options.remove(*name);
        if !value.is_empty() {
            options.insert((*name).to_owned(), (*value).to_owned());
        }
    }
    options.remove("name");
    let mut text = format!("iolab run {}", quoted(&format!("--name={}", job.name)));
    for (name, value) in &options {
        let word = if value.is_empty() { format!("--{name}") } else { format!("--{name}={value}") };
        text.push(' ');
        text.push_str(&quoted(&word));
    }
    text
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |character: char| character.is_ascii_alphanumeric() || "-_=./:,%+@".contains(character);
    if word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        for (word, expected) in [("--bs=4k", "--bs=4k"), ("--x=a b", "'--x=a b'"), ("it's", "'it'\\''s'")] {
            assert_eq!(quoted(word), expected);
        }
    }
}
