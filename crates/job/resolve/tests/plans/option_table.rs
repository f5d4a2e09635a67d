//! The option table and this crate agree: every supported option has a reader of the right kind.

use iolab_jobfile::{JobSet, NumberRules, OPTIONS, parse_value};
use iolab_options::{OptionEntry, Setting, SupportStatus};
use iolab_resolve::{Mode, options_read};

use crate::support::{jobs, request};

/// Jobs that together make resolving read every option.
const JOBS: &str = "[plain]\nsize=1m\nrw=randrw\n[mapped]\nsize=1m\nioengine=io_uring\n";

fn supported() -> impl Iterator<Item = &'static OptionEntry> {
    OPTIONS.iter().filter(|entry| entry.status == SupportStatus::Supported)
}

#[test]
fn every_supported_option_is_read() {
    let jobs = jobs(JOBS);
    let (read, findings) = options_read(&request(&jobs));
    assert!(findings.is_empty(), "{findings:?}");
    let unread: Vec<&str> = supported().map(|entry| entry.name).filter(|name| !read.contains(name)).collect();
    assert!(unread.is_empty(), "supported by the table, and read by nobody: {unread:?}");
}

#[test]
fn nothing_is_read_that_the_table_lacks() {
    let jobs = jobs(JOBS);
    let (read, _) = options_read(&request(&jobs));
    let unknown: Vec<&&str> = read.iter().filter(|name| OPTIONS.iter().all(|entry| entry.name != **name)).collect();
    assert!(unknown.is_empty(), "read under names the table does not have: {unknown:?}");
}

#[test]
fn every_accepted_example_has_the_kind_its_reader_expects() {
    for entry in supported() {
        for (text, _) in entry.accepts {
            let value = parse_value(&entry.kind, Some(text), NumberRules::default())
                .unwrap_or_else(|error| panic!("{}={text}: {error:?}", entry.name));
            let setting = Setting { value, text: (*text).to_owned(), source: 0, span: (0, 0) };
            let mut set: JobSet = jobs(JOBS);
            set.jobs[0].settings.set(entry.name, setting.clone());
            set.jobs[0].own.set(entry.name, setting);
            let mut request = request(&set);
            request.mode = Mode::Fio;
            let (_, findings) = options_read(&request);
            let slips: Vec<&str> = findings
                .iter()
                .map(|finding| finding.reason.as_str())
                .filter(|reason| reason.contains("unexpected kind"))
                .collect();
            assert!(slips.is_empty(), "{}={text}: {slips:?}", entry.name);
        }
    }
}
