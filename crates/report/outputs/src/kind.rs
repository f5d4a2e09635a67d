//! The kinds of outputs: how each is recognised, and who may read it.

use std::path::Path;

use iolab_recording::partial;

use crate::inflate::{self, COMPRESSED_END};
use crate::log_lines;

/// The kind of an output. It replaces only outputs of its own kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OutputKind {
    /// A recording: JSON whose first field is its format.
    Recording,
    /// A partial recording, recognised by its magic number.
    Partial,
    /// Files that can be made again from recordings: reports of all formats, pages, figures,
    /// exports; also those of fio.
    Report,
    /// Lines of a latency, bandwidth, IOPS or histogram log, also of fio.
    Log,
    /// A trace, recognised by its magic number.
    Trace,
    /// A file inside the folder of a study, all of which belongs to iolab.
    StudyPart,
}

/// The beginning of a job file that was made from a trace.
pub(crate) const SYNTHESIZED: &str = "# What `iolab synthesize` made";

/// The part of a file by which its kind is recognised.
pub(crate) const HEAD_BYTES: usize = 64 << 10;

impl OutputKind {
    /// The word for it in the mark.
    pub(crate) fn word(self) -> &'static str {
        match self {
            OutputKind::Recording => "recording",
            OutputKind::Partial => "partial",
            OutputKind::Report => "report",
            OutputKind::Log => "log",
            OutputKind::Trace => "trace",
            OutputKind::StudyPart => "study",
        }
    }

    /// The word for it in a sentence.
    pub(crate) fn described(self) -> &'static str {
        match self {
            OutputKind::Recording => "a recording",
            OutputKind::Partial => "a partial recording",
            OutputKind::Report => "a report",
            OutputKind::Log => "a log",
            OutputKind::Trace => "a trace",
            OutputKind::StudyPart => "a file of a study",
        }
    }

    /// Recordings and traces reveal who did what, where and how: only their owner may read them.
    pub(crate) fn is_private(self) -> bool {
        matches!(self, OutputKind::Recording | OutputKind::Partial | OutputKind::Trace | OutputKind::StudyPart)
    }

    /// Whether a file at `path` that begins with `head` is of this kind.
    pub(crate) fn recognises(self, path: &Path, head: &[u8]) -> bool {
        match self {
            OutputKind::Recording => head.starts_with(b"{\"iolab_recording\":"),
            OutputKind::Partial => partial::is_partial(head),
            OutputKind::Trace => head.starts_with(iolab_trace::MARK),
            OutputKind::Report => is_report(&String::from_utf8_lossy(head)),
            OutputKind::Log => match path.extension().and_then(|end| end.to_str()) {
                Some("log") => log_lines::are_all(head),
                Some(COMPRESSED_END) => {
                    let text = inflate::beginning(head, HEAD_BYTES);
                    text.is_some_and(|text| text.is_empty() || log_lines::are_all(&text))
                }
                _ => false,
            },
            OutputKind::StudyPart => true,
        }
    }
}

/// Reports of runs in every format, by fio or iolab; pages; exports of the database.
fn is_report(head: &str) -> bool {
    // fio and iolab print warnings before a report.
    let is_note = |line: &str| ["fio: ", "note: "].iter().any(|start| line.starts_with(start));
    let mut lines = head.lines().filter(|line| !line.is_empty() && !is_note(line));
    let Some(first) = lines.next() else { return false };
    let is_job_line = first.contains(": (g=") && first.contains("): rw=") && first.contains("ioengine=");
    let is_json = first.starts_with(['{', '[']) && head.get(..4096).unwrap_or(head).contains("\"fio version\"");
    let is_page = head.contains("<meta name=\"generator\" content=\"iolab ");
    let is_export = ["id,kind,title,parent,block,points,", "id,study,kind,figure,unit,points,"]
        .iter()
        .any(|start| first.starts_with(start));
    let is_metrics = first == "# TYPE iolab info";
    let is_event = first.starts_with("{\"event\":\"");
    let is_job = head.starts_with(SYNTHESIZED);
    let is_iolog = ["fio version 2 iolog", "fio version 3 iolog"].contains(&first);
    is_metrics || is_event || is_iolog || is_job || is_job_line || is_json || is_page || is_export || is_terse(first)
}

/// A line of the terse format: its version, fio's own from the third on, and more fields than any
/// other format has.
fn is_terse(line: &str) -> bool {
    const FIELDS_LEAST: usize = 100;
    let is_versioned = ["3;fio-", "4;fio-", "5;fio-", "2;"].iter().any(|start| line.starts_with(start));
    is_versioned && line.matches(';').count() >= FIELDS_LEAST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_knows_its_own_and_nothing_else() {
        let terse = format!("3;fio-3.42;a;0;0{}", ";0".repeat(120));
        let page = "<!DOCTYPE html><html><head><meta name=\"generator\" content=\"iolab 0.1.0\">";
        let normal = "a: (g=0): rw=read, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=psync, iodepth=1\nfio-3.42";
        let job = format!("{SYNTHESIZED} of the trace x");
        let cases: [(&str, OutputKind); 17] = [
            ("# TYPE iolab info\n# HELP iolab The program that measured.\n", OutputKind::Report),
            ("{\"event\":\"planned\",\"iolab_recording\":1}\n", OutputKind::Report),
            ("fio version 3 iolog\n0 /data add\n", OutputKind::Report),
            (&job, OutputKind::Report),
            ("{\"iolab_recording\":1,\"iolab_version\":\"0.1.0\"", OutputKind::Recording),
            (normal, OutputKind::Report),
            ("fio: something to know\nnote: more\na: (g=0): rw=read, bs=4k, ioengine=null", OutputKind::Report),
            ("{\n  \"fio version\" : \"fio-3.36\",\n", OutputKind::Report),
            ("[\n{\n  \"fio version\" : \"fio-3.36\",\n", OutputKind::Report),
            (&terse, OutputKind::Report),
            (page, OutputKind::Report),
            ("id,kind,title,parent,block,points,started_unix_ns,elapsed_ns\r\n", OutputKind::Report),
            ("0, 1200, 0, 4096, 0\n1, 900, 1, 4096, 0\n", OutputKind::Log),
            ("1, 0, 4096, 0\n", OutputKind::Log),
            ("iolab trace 1\n\0\0", OutputKind::Trace),
            ("dear diary", OutputKind::StudyPart),
            ("3;a;short;line", OutputKind::StudyPart),
        ];
        for (head, of) in cases {
            for kind in
                [OutputKind::Recording, OutputKind::Partial, OutputKind::Report, OutputKind::Log, OutputKind::Trace]
            {
                assert_eq!(kind.recognises(Path::new("x_bw.1.log"), head.as_bytes()), kind == of, "{kind:?}: {head}");
            }
        }
        for head in ["", "{}", "{\"name\": \"mine\"}", "1,2,3", "# notes\n", "\0\0\0", "a;b;c"] {
            for kind in
                [OutputKind::Recording, OutputKind::Partial, OutputKind::Report, OutputKind::Log, OutputKind::Trace]
            {
                assert!(!kind.recognises(Path::new("x.log"), head.as_bytes()), "{kind:?}: {head}");
            }
        }
        assert!(!OutputKind::Log.recognises(Path::new("table.csv"), b"0, 1200, 0, 4096, 0\n"), "a log is called one");
    }
}
