//! The reference page of all job options, as Markdown.

use iolab_options::{Category, DefaultValue, OptionEntry};

use super::options::{choices, kind_words, status_words};
use crate::OPTIONS;

/// The page: a chapter for each category, with an entry for each option.
pub fn reference_page() -> String {
    let mut page = String::from(
        "# Job options\n\nGenerated from the option table; edit `crates/job/jobfile/src/options/`, not this page.\n",
    );
    let mut chapter = None;
    for entry in OPTIONS {
        if chapter != Some(entry.category) {
            chapter = Some(entry.category);
            page.push_str(&format!("\n## {}\n", chapter_title(entry.category)));
        }
        page.push_str(&article(entry));
    }
    page
}

fn article(entry: &OptionEntry) -> String {
    let mut text = format!("\n### `{}`\n\n{}.", entry.name, entry.summary);
    if !entry.details.is_empty() {
        text.push_str(&format!(" {}", entry.details));
    }
    text.push_str(&format!("\n\n- Type: {}\n", kind_words(&entry.kind)));
    match entry.default {
        DefaultValue::Absent => {}
        DefaultValue::Text(word) => text.push_str(&format!("- Default: `{word}`\n")),
        DefaultValue::SameAs(other) => text.push_str(&format!("- Default: the value of `{other}`\n")),
        default => text.push_str(&format!("- Default: {default}\n")),
    }
    if entry.is_secret {
        text.push_str("- A secret: neither shown nor saved\n");
    }
    if !entry.aliases.is_empty() {
        let aliases: Vec<String> = entry.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        text.push_str(&format!("- Also written: {}\n", aliases.join(", ")));
    }
    if let Some(state) = status_words(entry.status) {
        text.push_str(&format!("- State: {state}\n"));
    }
    for (word, summary) in choices(&entry.kind) {
        text.push_str(&format!("- `{word}`: {summary}\n"));
    }
    if let Some((example, _)) = entry.accepts.first() {
        text.push_str(&format!("- Example: `{}={example}`\n", entry.name));
    }
    text
}

/// The title of a chapter of the reference.
pub fn chapter_title(category: Category) -> &'static str {
    match category {
        Category::Job => "Job",
        Category::Files => "Files and devices",
        Category::Engine => "Engine and queue",
        Category::Pattern => "Access pattern",
        Category::BlockSize => "Block size",
        Category::Buffers => "Buffers",
        Category::Time => "Time",
        Category::Rate => "Rate, think time and latency targets",
        Category::Durability => "Durability",
        Category::Process => "Threads, processes and CPUs",
        Category::Measurement => "Measurement and reports",
        Category::Logs => "Logs",
        Category::Errors => "Errors",
        Category::Verify => "Verification",
        Category::Replay => "Recording and replay",
        Category::Zones => "Zones and data placement",
        Category::Device => "Device settings (iolab's own)",
    }
}
