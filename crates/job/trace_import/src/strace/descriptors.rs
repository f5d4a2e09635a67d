//! The descriptors of each process in strace's text, as far as the text shows them.

use std::collections::HashMap;

use iolab_trace::Flags;

/// The known state of a descriptor.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) path: String,
    /// Its position in its file; `None` if unknown.
    pub(super) position: Option<u64>,
    pub(super) flags: Flags,
}

/// Descriptors by thread: threads that share them use one table.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    tables: Vec<HashMap<i32, Known>>,
    of_thread: HashMap<u32, usize>,
}

/// Largest number of tables and descriptors: no real program has more.
const MOST: usize = 1 << 16;

impl Descriptors {
    pub(super) fn table(&mut self, thread: u32) -> &mut HashMap<i32, Known> {
        // A thread whose creation was not seen is attributed to the first process.
        let index = self.of_thread.get(&thread).copied().unwrap_or(0);
        if self.tables.is_empty() {
            self.tables.push(HashMap::new());
        }
        let index = index.min(self.tables.len() - 1);
        &mut self.tables[index]
    }

    /// A thread created another one, which shares its descriptors or gets a copy.
    pub(super) fn made(&mut self, parent: u32, child: u32, shares: bool) {
        if self.of_thread.len() >= MOST || self.tables.len() >= MOST {
            return;
        }
        let copy = self.table(parent).clone();
        let index = match shares {
            true => self.of_thread.get(&parent).copied().unwrap_or(0),
            false => {
                self.tables.push(copy);
                self.tables.len() - 1
            }
        };
        self.of_thread.insert(child, index);
    }

    /// The target of a descriptor: `-y` gives the path; otherwise an earlier call has.
    pub(super) fn known(&mut self, thread: u32, fd: i32, path: Option<&str>) -> &mut Known {
        let table = self.table(thread);
        if table.len() >= MOST {
            table.clear();
        }
        let known = table.entry(fd).or_insert_with(|| Known {
            path: path.map_or_else(|| format!("descriptor {fd} of {thread}"), str::to_owned),
            ..Known::default()
        });
        if let Some(path) = path.filter(|path| *path != known.path) {
            *known = Known { path: path.to_owned(), ..Known::default() };
        }
        known
    }
}
