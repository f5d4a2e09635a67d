//! Colours of text for people, line by line.
//!
//! Text is made without colours and coloured when it is printed, so that a file or a pipe gets the
//! same text. Colouring adds escape sequences and changes nothing else.

const BOLD: &str = "1";
const HEADING: &str = "1;4";
const RED: &str = "1;31";
const GREEN: &str = "32";
const YELLOW: &str = "1;33";
const CYAN: &str = "36";

/// The colour of a line by its beginning: the prefix, the end of the coloured part, and the colour.
const HEADS: &[(&str, &str, &str)] = &[
    ("INVALID [", "]:", RED),
    ("warning [", "]:", YELLOW),
    ("note [", "]:", CYAN),
    ("note: ", ":", CYAN),
    ("  INVALID [", "]:", RED),
    ("  warning [", "]:", YELLOW),
    ("  warning: ", ":", YELLOW),
    ("  note [", "]:", CYAN),
    ("  finding (", "):", YELLOW),
    ("warning: ", ":", YELLOW),
    ("not seen: ", ":", YELLOW),
    ("incomplete: ", ":", RED),
    ("cost: ", ":", CYAN),
    ("ok      ", "ok", GREEN),
    ("limited ", "limited", YELLOW),
    ("NO      ", "NO", RED),
    ("        > ", ">", GREEN),
    ("    > ", ">", GREEN),
    ("    to confirm: ", ":", GREEN),
    ("Usage:", ":", HEADING),
    ("Options:", ":", HEADING),
    ("Examples:", ":", HEADING),
];

/// Lines that are headings, or that begin a table.
const HEADINGS: &[&str] = &[
    "like",
    "limited by",
    "be careful",
    "To know:",
    "Other differences between the two sides:",
    "The job would run.",
    "The job would not run.",
];

/// First words of the lines that name the columns of a table.
const COLUMN_NAMES: &[&str] = &["median ", "case ", "figure ", "call ", "role ", "thread "];

/// Words of verdicts, where they are separate words of a line.
const VERDICTS: &[(&str, &str)] =
    &[("better", GREEN), ("worse", "31"), ("equivalent", CYAN), ("undecided", "33"), ("INVALID", RED)];

/// `text` with colours.
pub(crate) fn painted(text: &str) -> String {
    text.split_inclusive('\n').map(line).collect()
}

/// Colours findings, headings and verdicts.
pub(crate) fn painted_comparison(text: &str) -> String {
    painted_verdicts(&painted(text))
}

/// Colours verdicts only.
pub(crate) fn painted_verdicts(text: &str) -> String {
    let words = |part: &str| {
        let word = part.trim_end_matches(|end: char| end.is_whitespace() || ",.;:".contains(end));
        match VERDICTS.iter().find(|(known, _)| *known == word) {
            Some((_, color)) => colored(color, word) + &part[word.len()..],
            None => part.to_owned(),
        }
    };
    text.split_inclusive([' ', '\n']).map(words).collect()
}

fn line(line: &str) -> String {
    let body = line.trim_end_matches('\n');
    if is_heading(body) {
        return colored(BOLD, body) + &line[body.len()..];
    }
    for (head, end, color) in HEADS {
        if body.starts_with(head)
            && let Some(at) = body.find(end)
        {
            let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
            let until = at + end.len() - indent.len();
            return format!("{indent}{}{}", colored(color, &rest[..until]), &rest[until..]);
        }
    }
    job_line(line).unwrap_or_else(|| line.to_owned())
}

fn is_heading(line: &str) -> bool {
    let names_columns = |first: &str| line.trim_start().starts_with(first) && line.contains("  ");
    HEADINGS.contains(&line) || !line.contains(": ") && COLUMN_NAMES.iter().any(|first| names_columns(first))
}

/// Colours the first line of a job and the lines of directions in the normal report.
fn job_line(line: &str) -> Option<String> {
    if let Some(at) = line.find(": (groupid=") {
        let painted = colored(BOLD, &line[..at]) + &line[at..];
        let errors = line.split("err=").nth(1)?;
        return Some(match errors.trim_start().starts_with("0:") {
            true => painted,
            false => painted.replacen("err=", &colored(RED, "err="), 1),
        });
    }
    let name = line.trim_start().split(": IOPS=").next()?;
    let figures = line.find(": IOPS=")?;
    let end = line.find(" (").unwrap_or(line.trim_end().len());
    if !["read", "write", "trim"].contains(&name) || end < figures {
        return None;
    }
    let start = line.len() - line.trim_start().len();
    Some(format!("{}{}{}", &line[..start], colored(BOLD, &line[start..end]), &line[end..]))
}

fn colored(color: &str, text: &str) -> String {
    format!("\x1b[{color}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_colors(text: &str) -> String {
        let mut parts = text.split("\x1b[");
        let first = parts.next().unwrap_or_default().to_owned();
        parts.fold(first, |text, part| text + part.split_once('m').expect("a whole sequence").1)
    }

    const REPORT: &str = "\
INVALID [page-cache]: j: 1 GiB read
    You measured RAM.
    > Set direct=1.
note: cut off
a-job: (groupid=0, jobs=1): err= 0: pid=7: Mon
  read: IOPS=1000, BW=4000KiB/s (4096kB/s)(39.1MiB/10001msec)
b: (groupid=1, jobs=1): err= 5 (file:x, error=Input/output error): pid=7: Mon
   bw (  KiB/s): min= 1, max= 2
direct-write: latency: each operation waits
    to confirm: iolab run
";

    #[test]
    fn painting_adds_colors_and_changes_nothing_else() {
        let painted = painted(REPORT);
        assert_eq!(without_colors(&painted), REPORT);
        for expected in [
            "\x1b[1;31mINVALID [page-cache]:\x1b[0m j:",
            "    \x1b[32m>\x1b[0m Set",
            "\x1b[1ma-job\x1b[0m: (groupid",
            "  \x1b[1mread: IOPS=1000, BW=4000KiB/s\x1b[0m (4096kB/s)",
            "\x1b[1;31merr=\x1b[0m 5",
            "    \x1b[32mto confirm:\x1b[0m iolab",
        ] {
            assert!(painted.contains(expected), "{expected:?} in {painted:?}");
        }
    }

    #[test]
    fn cards_checks_and_summaries_have_the_colors_of_findings() {
        for (line, expected) in [
            ("limited by", "\x1b[1mlimited by\x1b[0m"),
            ("limited locked memory  at most 8m", "\x1b[1;33mlimited\x1b[0m locked memory  at most 8m"),
            ("ok      io_uring  works", "\x1b[32mok\x1b[0m      io_uring  works"),
            ("  warning [steal, 1 of 8]: paused", "  \x1b[1;33mwarning [steal, 1 of 8]:\x1b[0m paused"),
            ("   median   interval", "\x1b[1m   median   interval\x1b[0m"),
            ("case: a name, and no table", "case: a name, and no table"),
            ("not seen: 0 %", "\x1b[1;33mnot seen:\x1b[0m 0 %"),
        ] {
            assert_eq!(painted(line), expected);
            assert_eq!(without_colors(&painted(line)), line);
        }
        let compared = painted_comparison("  iops  a  +3 %  worse\nTo know:\n");
        assert_eq!(compared, "  iops  a  +3 %  \x1b[31mworse\x1b[0m\n\x1b[1mTo know:\x1b[0m\n");
    }

    #[test]
    fn verdicts_stand_by_themselves() {
        let text = "bs=4k: better, x 1.5\nnot-better is a name, no verdict: worse\nundecided\n";
        let painted = painted_verdicts(text);
        assert_eq!(without_colors(&painted), text);
        assert!(painted.contains("bs=4k: \x1b[32mbetter\x1b[0m, x"), "{painted:?}");
        assert!(painted.contains(" not-better is") || painted.contains("\nnot-better is"), "{painted:?}");
        assert!(painted.contains("\x1b[33mundecided\x1b[0m\n"), "{painted:?}");
    }
}
