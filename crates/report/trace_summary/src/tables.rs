//! The tables of a summary.

use std::io::Read;

use iolab_order::Arrange;
use iolab_text::{Alignment, aligned, counted, grouped, rounded_bytes};
use iolab_trace::Reader;

use crate::summary::{FileFigures, Summary};

/// Most files and threads shown, those with most operations first.
const SHOWN: usize = 20;

impl Summary {
    /// The whole summary as text: what is missing, then calls, files and threads.
    pub fn text<R: Read>(&self, reader: &Reader<R>) -> String {
        let facts = reader.facts();
        let hidden = if facts.anonymous { ", names hidden" } else { "" };
        let command = if facts.command.is_empty() { String::new() } else { format!(" of {}", facts.command.join(" ")) };
        let span_ns = self.last_ns.saturating_sub(self.first_ns.unwrap_or(0));
        let mut text = format!("trace by {}{command}{hidden}\n", facts.source);
        text += &crate::coverage(reader, self.count);
        text += &format!(
            "{} in {}, {}, {}\n",
            counted(self.count, "operation"),
            iolab_units::rounded_ns(span_ns as f64),
            counted(reader.threads().len() as u64, "thread"),
            counted(reader.files().len() as u64, "file")
        );
        text += &self.call_table();
        text += &self.file_table(reader);
        text += &self.thread_table(reader);
        text
    }

    fn call_table(&self) -> String {
        let titles = ["call", "operations", "failed", "bytes", "typical size", "median", "p99", "longest"];
        let mut lines = vec![titles.map(str::to_owned).to_vec()];
        for (call, figures) in &self.calls {
            let (durations, lengths) = (figures.durations.to_sparse(), figures.lengths.to_sparse());
            let time = |ns: u64| if durations.is_empty() { "-".to_owned() } else { iolab_units::rounded_ns(ns as f64) };
            lines.push(vec![
                call.name().to_owned(),
                grouped(figures.count),
                grouped(figures.failed),
                if call.moves_data() { rounded_bytes(figures.bytes as f64) } else { "-".to_owned() },
                if lengths.max > 0 { rounded_bytes(lengths.percentile(50.0) as f64) } else { "-".to_owned() },
                time(durations.percentile(50.0)),
                time(durations.percentile(99.0)),
                time(durations.max),
            ]);
        }
        format!("\n{}", aligned(&lines, numbers_right))
    }

    fn file_table<R: Read>(&self, reader: &Reader<R>) -> String {
        let titles = [
            "role",
            "reads",
            "read",
            "sequential",
            "writes",
            "written",
            "sequential",
            "same place",
            "syncs",
            "direct",
            "file",
        ];
        let mut lines = vec![titles.map(str::to_owned).to_vec()];
        let mut files: Vec<_> = self.files.iter().zip(reader.files()).collect();
        files.retain(|(figures, file)| figures.operations() > 0 && file.kind.is_storage());
        files.arrange_by_key(|(figures, _)| std::cmp::Reverse(figures.operations()));
        for (figures, file) in files.iter().take(SHOWN) {
            let mut line = vec![file.role.name().to_owned()];
            line.extend(cells_of(figures));
            line.push(file.path.clone());
            lines.push(line);
        }
        let more = files.len().saturating_sub(SHOWN);
        let rest = if more > 0 { format!("… and {} more files\n", grouped(more as u64)) } else { String::new() };
        let side = |column: usize| if column == titles.len() - 1 { Alignment::Left } else { numbers_right(column) };
        if lines.len() > 1 {
            format!("\n{}{rest}", aligned(&lines, side))
        } else {
            "\nno file was read or written\n".to_owned()
        }
    }

    fn thread_table<R: Read>(&self, reader: &Reader<R>) -> String {
        let mut lines =
            vec![["thread", "process", "operations", "bytes", "syncs", "in calls"].map(str::to_owned).to_vec()];
        let mut threads: Vec<_> = self.threads.iter().zip(reader.threads()).collect();
        threads.arrange_by_key(|(figures, _)| std::cmp::Reverse(figures.count));
        for (figures, thread) in threads.iter().take(SHOWN).filter(|(figures, _)| figures.count > 0) {
            lines.push(vec![
                format!("{} {}", thread.name, thread.id).trim_start().to_owned(),
                thread.process.to_string(),
                grouped(figures.count),
                rounded_bytes(figures.bytes as f64),
                grouped(figures.syncs),
                iolab_units::rounded_ns(figures.busy_ns as f64),
            ]);
        }
        let more = threads.len().saturating_sub(SHOWN);
        let rest = if more > 0 { format!("… and {} more threads\n", grouped(more as u64)) } else { String::new() };
        format!("\n{}{rest}", aligned(&lines, numbers_right))
    }
}

fn cells_of(figures: &FileFigures) -> [String; 9] {
    let share = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| format!("{:.0} %", share * 100.0));
    let (reads, writes) = (figures.read_pattern, figures.write_pattern);
    [
        grouped(figures.reads.0),
        rounded_bytes(figures.reads.1 as f64),
        share(reads.share(reads.sequential)),
        grouped(figures.writes.0),
        rounded_bytes(figures.writes.1 as f64),
        share(writes.share(writes.sequential)),
        share(writes.share(writes.again)),
        grouped(figures.syncs + figures.durable_writes),
        grouped(figures.direct),
    ]
}

fn numbers_right(column: usize) -> Alignment {
    if column == 0 { Alignment::Left } else { Alignment::Right }
}
