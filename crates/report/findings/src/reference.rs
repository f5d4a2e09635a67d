//! Every finding by name, and the page of all.

use crate::between::{BETWEEN_RUNS, Words};
use crate::many_hosts::BETWEEN_HOSTS;
use crate::table::RULES;

/// The texts of every rule: first those about several runs, then those
/// about several hosts, then those about one.
pub fn all_words() -> impl Iterator<Item = Words> {
    let of_one = RULES.iter().map(|rule| Words {
        name: rule.name,
        looks_at: rule.looks_at,
        consequence: rule.consequence,
        advice: rule.advice,
    });
    let of_hosts = BETWEEN_HOSTS.iter().map(|rule| rule.words);
    BETWEEN_RUNS.iter().copied().chain(of_hosts).chain(of_one)
}

/// The page of the reference, as Markdown.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Findings\n\nGenerated from the table of rules; do not edit. [The guide](../guide/findings.md) says how to read them.\n",
    );
    for rule in all_words() {
        page += &format!("\n## {}\n\nLooks at: {}\n\n", rule.name, rule.looks_at);
        page += &format!("{}\n\nWhat to change: {}\n", rule.consequence, rule.advice);
    }
    page
}
