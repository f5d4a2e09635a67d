//! What a form may say, as words of a command line: `o.NAME=VALUE` becomes `--NAME=VALUE`.
//!
//! Only names of the tables of options, and no value that a program could take for another option:
//! each is one word, and has no control characters. Options that run commands or read further job
//! files are left out: a page is no shell.

use iolab_html::web::{FormChoice, FormField, FormGroup};
use iolab_options::{Category, DefaultValue, OptionEntry, SupportStatus, ValueKind};

use crate::site::WebEngine;

/// Options of the job language that are not in the form.
const LEFT_OUT: [&str; 2] = ["exec_prerun", "exec_postrun"];
/// Engines with this option run commands.
const OF_COMMANDS: &str = "program";
/// Options that most jobs set, with what the form has at first.
const USUAL: [(&str, &str); 14] = [
    ("name", "web"),
    ("ioengine", ""),
    ("rw", "randread"),
    ("filename", ""),
    ("directory", ""),
    ("size", ""),
    ("bs", "4k"),
    ("iodepth", ""),
    ("numjobs", ""),
    ("direct", ""),
    ("rwmixread", ""),
    ("time_based", ""),
    ("runtime", "10"),
    ("rate_iops", ""),
];
/// The longest value, in bytes.
const LONGEST: usize = 4096;
/// What distinguishes options from the other fields of a form.
const PREFIX: &str = "o.";

/// The options of a form that was sent, in its order; empty ones are left out.
pub(crate) fn chosen(fields: &[(String, String)], engines: &[WebEngine]) -> Result<Vec<(String, String)>, String> {
    let mut chosen: Vec<(String, String)> = Vec::new();
    for (field, value) in fields {
        let Some(name) = field.strip_prefix(PREFIX) else { continue };
        let value = value.trim();
        if value.is_empty() {
            continue;
        }
        let is_known = iolab_jobfile::OPTIONS.iter().chain(engine_options(engines)).any(|option| option.name == name);
        if !is_known || LEFT_OUT.contains(&name) {
            return Err(format!(
                "{name:.40}: a page cannot set this option: write a job file, and run it in a terminal"
            ));
        }
        if value.len() > LONGEST || value.chars().any(char::is_control) {
            return Err(format!("{name}: the value is too long, or has characters that are none of a text"));
        }
        if name == "ioengine" && !engine_words(engines).any(|engine| engine.name == value) {
            return Err(format!("ioengine: a page cannot use this engine: the list of {name} has all that it can"));
        }
        if chosen.iter().any(|(known, _)| known == name) {
            return Err(format!("{name}: it is there twice"));
        }
        chosen.push((name.to_owned(), value.to_owned()));
    }
    // A section begins with its name.
    match chosen.iter().position(|(name, _)| name == "name") {
        Some(place) => chosen[..=place].rotate_right(1),
        None => chosen.insert(0, ("name".to_owned(), "web".to_owned())),
    }
    Ok(chosen)
}

/// As words of a command line.
pub(crate) fn as_words(chosen: &[(String, String)]) -> Vec<String> {
    chosen.iter().map(|(name, value)| format!("--{name}={value}")).collect()
}

/// The command line for a shell.
pub(crate) fn as_command(chosen: &[(String, String)]) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:=@%+".contains(letter);
    let quoted = |word: String| match word.chars().all(is_plain) {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    let words = as_words(chosen).into_iter().map(quoted).collect::<Vec<_>>().join(" \\\n    ");
    format!("iolab run {words}")
}

fn engine_words(engines: &[WebEngine]) -> impl Iterator<Item = &WebEngine> {
    engines.iter().filter(|engine| engine.options.iter().all(|option| option.name != OF_COMMANDS))
}

fn engine_options(engines: &[WebEngine]) -> impl Iterator<Item = &'static OptionEntry> {
    engine_words(engines).flat_map(|engine| engine.options)
}

/// The form: first what most jobs set, then everything by chapter. `chosen` is what was sent
/// before.
pub(crate) fn form(engines: &[WebEngine], chosen: Option<&[(String, String)]>) -> Vec<FormGroup> {
    let value = |name: &str, usual: &str| match chosen {
        Some(chosen) => {
            chosen.iter().find(|(known, _)| known == name).map_or(String::new(), |(_, value)| value.clone())
        }
        None => usual.to_owned(),
    };
    let options = iolab_jobfile::OPTIONS;
    let usual = USUAL.iter().filter_map(|(name, usual)| {
        let option = options.iter().find(|option| option.name == *name)?;
        Some(field(option, engines, value(name, usual)))
    });
    let mut groups = vec![FormGroup { title: "The job".to_owned(), is_open: true, fields: usual.collect() }];
    let is_offered = |option: &&OptionEntry| {
        option.status == SupportStatus::Supported && !LEFT_OUT.contains(&option.name) && !option.is_secret
    };
    let is_usual = |name: &str| USUAL.iter().any(|(known, _)| *known == name);
    let mut chapters: Vec<Category> = Vec::new();
    for option in options.iter().filter(is_offered).filter(|option| !is_usual(option.name)) {
        let field = field(option, engines, value(option.name, ""));
        match chapters.iter().position(|chapter| *chapter == option.category) {
            Some(place) => groups[place + 1].fields.push(field),
            None => {
                chapters.push(option.category);
                groups.push(FormGroup {
                    title: iolab_jobfile::help::chapter_title(option.category).to_owned(),
                    is_open: false,
                    fields: vec![field],
                });
            }
        }
    }
    let mut of_engines: Vec<FormField> = Vec::new();
    for option in engine_options(engines).filter(is_offered) {
        let is_there = options.iter().any(|known| known.name == option.name)
            || of_engines.iter().any(|known| known.name == option.name);
        if !is_there {
            of_engines.push(field(option, engines, value(option.name, "")));
        }
    }
    groups.push(FormGroup { title: "Options of engines".to_owned(), is_open: false, fields: of_engines });
    groups
}

fn field(option: &'static OptionEntry, engines: &[WebEngine], value: String) -> FormField {
    let word = |word: &str, meaning: &str| FormChoice { word: word.to_owned(), meaning: meaning.to_owned() };
    let choices = match option.kind {
        _ if option.name == "ioengine" => {
            engine_words(engines).map(|engine| word(engine.name, engine.summary)).collect()
        }
        ValueKind::Choice(choices) => choices.iter().map(|choice| word(choice.name, choice.summary)).collect(),
        ValueKind::Bool | ValueKind::Switch => vec![word("1", "on"), word("0", "off")],
        ValueKind::Pattern => {
            ["read", "write", "trim", "rw", "randread", "randwrite", "randtrim", "randrw", "trimwrite"]
                .map(|pattern| word(pattern, ""))
                .into()
        }
        _ => Vec::new(),
    };
    let default = match option.default {
        DefaultValue::Absent => String::new(),
        other => other.to_string(),
    };
    FormField { name: option.name, summary: option.summary, default, choices, value }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGINES: [WebEngine; 2] = [
        WebEngine { name: "null", summary: "nothing", options: &[] },
        WebEngine {
            name: "runner",
            summary: "a program",
            options: &[OptionEntry { name: OF_COMMANDS, ..OptionEntry::BLANK }],
        },
    ];

    fn sent(fields: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let fields: Vec<_> = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        chosen(&fields, &ENGINES).map(|chosen| as_words(&chosen))
    }

    #[test]
    fn a_form_becomes_words_and_nothing_else() {
        assert_eq!(
            sent(&[("token", "x"), ("o.bs", " 8k "), ("o.size", "")]),
            Ok(vec!["--name=web".into(), "--bs=8k".into()])
        );
        assert_eq!(
            sent(&[("o.bs", "8k"), ("o.rw", "read"), ("o.name", "a b")]),
            Ok(vec!["--name=a b".into(), "--bs=8k".into(), "--rw=read".into()])
        );
        for hostile in [
            &[("o.trigger", "rm -rf /")][..],
            &[("o.exec_prerun", "id")],
            &[("o.output", "/etc/passwd")],
            &[("o.allow-destroy", "/dev/sda")],
            &[("o.bs", "4k\nexec_prerun=id")],
            &[("o.bs", "4k\0")],
            &[("o.ioengine", "runner"), ("o.program", "id")],
            &[("o.program", "id")],
            &[("o.ioengine", "external:/tmp/x.so")],
            &[("o.bs", "4k"), ("o.bs", "8k")],
            &[("o.", "x")],
            &[("o.bs=4k --output", "x")],
        ] {
            assert!(sent(hostile).is_err(), "{hostile:?}");
        }
    }

    #[test]
    fn what_is_left_out_exists_and_is_in_no_form() {
        let groups = form(&ENGINES, None);
        let fields: Vec<&FormField> = groups.iter().flat_map(|group| &group.fields).collect();
        for name in LEFT_OUT {
            assert!(iolab_jobfile::find_option(name).is_some(), "{name}");
            assert!(fields.iter().all(|field| field.name != name), "{name}");
        }
        assert_eq!(groups[0].fields.len(), USUAL.len(), "each usual option exists");
        let engines = &groups[0].fields[1];
        assert_eq!((engines.name, engines.choices.len()), ("ioengine", 1));
        let mut names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "ids are unique");
        assert!(all > 150, "{all}");
    }

    #[test]
    fn a_command_can_be_pasted() {
        let chosen = [("name".to_owned(), "it's".to_owned()), ("bs".to_owned(), "4k".to_owned())];
        assert_eq!(as_command(&chosen), "iolab run '--name=it'\\''s' \\\n    --bs=4k");
    }
}
