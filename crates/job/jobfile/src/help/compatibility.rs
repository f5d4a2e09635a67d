//! The page that says for each option of fio whether it works here.

use iolab_options::{Category, OptionEntry, SupportStatus};

use crate::OPTIONS;

/// Options that fio does not have. Those of devices also belong to iolab only.
const OWN: &[&str] = &[
    "arrivals",
    "arrivals_repeat",
    "calibrate",
    "commits_per_sync",
    "follow",
    "hosts",
    "interval",
    "per_file_stats",
    "rank_shift",
    "rate_scope",
    "replay_map",
    "rewrite",
    "sample_interval",
    "trace_block",
    "verify_state_file",
    "wear_out",
];

/// The table of job options, as Markdown.
pub fn compatibility_table() -> String {
    let mut table = String::from("| option | | why |\n| --- | --- | --- |\n");
    let of_fio = OPTIONS.iter().filter(|entry| entry.category != Category::Device && !OWN.contains(&entry.name));
    for entry in of_fio {
        let (state, why) = state(entry);
        let aliases: Vec<String> = entry.aliases.iter().map(|alias| format!(", `{alias}`")).collect();
        table.push_str(&format!("| `{}`{} | {state} | {why} |\n", entry.name, aliases.concat()));
    }
    table
}

fn state(entry: &OptionEntry) -> (&'static str, String) {
    match entry.status {
        SupportStatus::Supported if entry.differs.is_empty() => ("works", String::new()),
        SupportStatus::Supported => ("works differently", entry.differs.to_owned()),
        SupportStatus::NoEffect(reason) => ("accepted, nothing to do", reason.to_owned()),
        SupportStatus::Refused(reason) => ("refused", reason.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_own_option_is_one_and_differences_are_of_options_that_work() {
        for own in OWN {
            assert!(OPTIONS.iter().any(|entry| entry.name == *own), "{own}");
        }
        for entry in OPTIONS {
            assert!(entry.differs.is_empty() || entry.status == SupportStatus::Supported, "{}", entry.name);
            assert!(!entry.differs.ends_with('.') && !entry.differs.contains('|'), "{}", entry.name);
        }
    }
}
