//! Traces of blktrace merged into one file before they are replayed.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read};
use std::path::{Path, PathBuf};

use iolab_trace_import::blktrace::{self, TraceToMerge};

/// The trace files of `read_iolog`, how each is stretched and repeated, and where they go.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeOfTraces {
    /// Files of blktrace, each a trace of its own.
    pub paths: Vec<String>,
    /// Multiplies the times of each, percent; empty: 100.
    pub percents: Vec<f64>,
    /// How often each is gone through; empty: once.
    pub passes: Vec<f64>,
    /// The merged file.
    pub output: PathBuf,
}

impl MergeOfTraces {
    /// Merges them. The file appears when it is complete.
    ///
    /// # Errors
    /// The numbers do not match the files, a file is no trace, or another file is in the way.
    pub fn write(&self) -> Result<(), String> {
        self.check()?;
        let output = self.output.display();
        let mut partial = self.output.clone().into_os_string();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let said = |error: &dyn std::fmt::Display| format!("{output}: {error}");
        let file = File::options()
            .write(true)
            .create_new(true)
            .open(&partial)
            .map_err(|error| format!("{}: {error}: remove it if no other merge is under way", partial.display()))?;
        let merged = blktrace::merge(self.traces(), BufWriter::with_capacity(1 << 20, file));
        let merged = merged.map_err(|error| said(&error));
        let renamed = merged.and_then(|_| std::fs::rename(&partial, &self.output).map_err(|error| said(&error)));
        if renamed.is_err() {
            // What was being written is of no use.
            let _ = std::fs::remove_file(&partial);
        }
        renamed
    }

    fn traces(&self) -> Vec<TraceToMerge<'_>> {
        let each = self.paths.iter().enumerate();
        each.map(|(place, path)| TraceToMerge {
            open: Box::new(move || {
                let file = iolab_bounded_read::open(Path::new(path))
                    .map_err(|error| io::Error::other(format!("{path}: {error}")))?;
                Ok(Box::new(BufReader::with_capacity(1 << 16, file)) as Box<dyn Read>)
            }),
            percent: self.percents.get(place).copied().unwrap_or(100.0),
            passes: self.passes.get(place).map_or(1, |passes| *passes as u64),
        })
        .collect()
    }

    fn check(&self) -> Result<(), String> {
        let files = self.paths.len();
        for (option, numbers) in [("merge_blktrace_scalars", &self.percents), ("merge_blktrace_iters", &self.passes)] {
            if !numbers.is_empty() && numbers.len() != files {
                let count = numbers.len();
                return Err(format!(
                    "{option} has {count} numbers for {files} files: give one for each file of read_iolog"
                ));
            }
        }
        if self.percents.iter().any(|percent| *percent <= 0.0) {
            return Err("merge_blktrace_scalars: 0 percent of a time is no time: give more, as in 50:100".to_owned());
        }
        if self.passes.iter().any(|passes| *passes < 1.0 || passes.fract() != 0.0) {
            return Err("merge_blktrace_iters: give whole numbers from 1, as in 2:1".to_owned());
        }
        let mut head = Vec::new();
        match File::open(&self.output) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(format!("{}: {error}", self.output.display())),
            Ok(file) => file.take(4).read_to_end(&mut head).map_err(|error| error.to_string())?,
        };
        let is_input = |path: &String| same_file(Path::new(path), &self.output);
        let output = self.output.display();
        if let Some(path) = self.paths.iter().find(|path| is_input(path)) {
            return Err(format!("{output} is {path}, which is to be merged: name another file"));
        }
        if !head.is_empty() && !blktrace::is_head(&head) {
            return Err(format!("{output} is there, and is no merged trace: name another file, or remove it"));
        }
        Ok(())
    }
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
