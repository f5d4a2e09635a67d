//! The job option table: one entry per option, in the chapters of the reference.
//!
//! To add an option, add an entry with its default, its `accepts` and its `rejects` to the file of
//! its chapter. Parser, help, reference and spelling advice follow from it, and the test below
//! tries its examples.

mod block_size;
mod buffers;
mod device;
mod durability;
mod engine;
mod errors;
mod files;
mod job;
mod logs;
mod measurement;
mod pattern;
mod process;
mod rate;
mod replay;
mod time;
mod verify;
mod zones;

pub use device::DEVICE_PREFIX;
use iolab_options::OptionEntry;
use iolab_text::closest;

const TABLES: &[&[OptionEntry]] = &[
    job::TABLE,
    files::TABLE,
    engine::TABLE,
    pattern::TABLE,
    block_size::TABLE,
    buffers::TABLE,
    time::TABLE,
    rate::TABLE,
    durability::TABLE,
    process::TABLE,
    measurement::TABLE,
    logs::TABLE,
    errors::TABLE,
    verify::TABLE,
    replay::TABLE,
    zones::TABLE,
    device::TABLE,
];

const COUNT: usize = {
    let mut count = 0;
    let mut table = 0;
    while table < TABLES.len() {
        count += TABLES[table].len();
        table += 1;
    }
    count
};

const fn joined() -> [OptionEntry; COUNT] {
    let mut all = [OptionEntry::BLANK; COUNT];
    let (mut at, mut table) = (0, 0);
    while table < TABLES.len() {
        let mut row = 0;
        while row < TABLES[table].len() {
            all[at] = TABLES[table][row];
            at += 1;
            row += 1;
        }
        table += 1;
    }
    all
}

static ALL: [OptionEntry; COUNT] = joined();

/// Every job option, by chapter.
pub static OPTIONS: &[OptionEntry] = &ALL;

/// The option of this name or alias.
pub fn find_option(name: &str) -> Option<&'static OptionEntry> {
    OPTIONS.iter().find(|entry| entry.answers_to(name))
}

/// The option name or alias nearest to a misspelt one.
pub fn suggest(name: &str) -> Option<&'static str> {
    closest(name, OPTIONS.iter().flat_map(|entry| std::iter::once(entry.name).chain(entry.aliases.iter().copied())))
}

#[cfg(test)]
mod tests;
