//! Processes, their threads and their descendants, as procfs lists them.

use std::collections::BTreeSet;

/// The threads of a process; none if it is gone.
pub(super) fn threads_of(process: i32) -> Vec<i32> {
    let Ok(entries) = std::fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process and all of its descendants.
pub(super) fn family(process: i32) -> Vec<i32> {
    let (mut found, mut open) = (BTreeSet::from([process]), vec![process]);
    while let Some(parent) = open.pop() {
        for thread in threads_of(parent) {
            let path = format!("/proc/{parent}/task/{thread}/children");
            let children = std::fs::read_to_string(path).unwrap_or_default();
            for child in children.split_whitespace().filter_map(|word| word.parse().ok()) {
                if found.insert(child) {
                    open.push(child);
                }
            }
        }
    }
    found.into_iter().collect()
}
