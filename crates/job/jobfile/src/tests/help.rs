//! Help is complete, and its references are right.

use iolab_options::OptionEntry;

use super::good;
use crate::help::{EngineHelp, cmdhelp, cmdhelp_all, enghelp, reference_page, showcmd, to_command_line};
use crate::test_surroundings::Fixed;
use crate::{OPTIONS, ParseRequest, command_line, parse};

#[test]
fn every_option_has_help_and_an_article() {
    let (all, page) = (cmdhelp_all(), reference_page());
    assert_eq!(all.lines().count(), OPTIONS.len());
    for OptionEntry { name, .. } in OPTIONS {
        assert!(page.contains(&format!("### `{name}`\n")), "{name}");
        assert!(cmdhelp(name).is_some_and(|text| text.starts_with(name)), "{name}");
    }
    assert_eq!(cmdhelp("readwrite"), cmdhelp("rw"));
    assert!(cmdhelp("rw").is_some_and(|text| text.contains("randtrimwrite")));
    assert_eq!(cmdhelp("all"), Some(all));
    assert_eq!(cmdhelp("nothing"), None);
}

#[test]
fn engine_help_lists_explains_and_corrects() {
    let options: &'static [OptionEntry] = &[OptionEntry { name: "hipri", summary: "Polled", ..OptionEntry::BLANK }];
    let engines = [
        EngineHelp { name: "io_uring", aliases: &["uring"], summary: "Ring", options },
        EngineHelp { name: "null", aliases: &[], summary: "Nothing", options: &[] },
    ];
    assert!(enghelp("", &engines).is_ok_and(|text| text.lines().count() == 2));
    assert!(enghelp("uring", &engines).is_ok_and(|text| text.starts_with("hipri")));
    assert!(enghelp("null", &engines).is_ok_and(|text| text.contains("no options")));
    assert!(enghelp("io_uring,hipri", &engines).is_ok_and(|text| text.contains("Polled")));
    assert!(enghelp("nul", &engines).is_err_and(|text| text.contains("`null`")));
    assert!(enghelp("io_uring,hipry", &engines).is_err_and(|text| text.contains("`hipri`")));
}

#[test]
fn a_shown_command_line_means_the_same_jobs() {
    let set = good(
        "[global]\nsize=1m\nkb_base=1000\n[a b]\nthread\nioengine=io_uring\nhipri\ndescription=it's here\n[c]\nrw=read:8k\n",
    );
    let arguments: Vec<String> = set.jobs.iter().flat_map(|job| to_command_line(&set, job)).collect();
    let line = command_line::parse(&arguments, &[], &Fixed).expect("shown arguments parse");
    let again = parse(&ParseRequest { command_line: Some(&line), ..ParseRequest::default() }, &Fixed)
        .expect("shown jobs parse");
    assert_eq!(again.jobs.len(), set.jobs.len());
    for (one, other) in set.jobs.iter().zip(&again.jobs) {
        assert_eq!(one.name, other.name);
        for (name, setting) in one.settings.iter().chain(one.engine_settings.iter()) {
            let found = other.settings.get(name).or_else(|| other.engine_settings.get(name));
            assert_eq!(found.map(|found| &found.value), Some(&setting.value), "{name}");
        }
    }
    assert!(showcmd("iolab", &set).contains("'--description=it'\\''s here'"));
}
