//! A page of a tutorial, as the test sees it: its commands, and what they print.

/// What a test does, in the order of the page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// The rest of the page needs this.
    Needs(String),
    /// Commands, and lines that they print.
    Commands { line: usize, text: String, output: Vec<String> },
}

/// A page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) blocks: Vec<Block>,
}

impl Page {
    pub(crate) fn parse(text: &str) -> Result<Page, String> {
        let mut blocks = Vec::new();
        let mut lines = text.lines().enumerate();
        let (mut instead, mut is_left_out) = (None, false);
        // Whether a block of output belongs to the commands before it.
        let mut is_run = false;
        while let Some((number, line)) = lines.next() {
            if let Some(word) = line.strip_prefix("<!-- test: ").and_then(|rest| rest.strip_suffix(" -->")) {
                match word.split_once(' ').unwrap_or((word, "")) {
                    ("needs", need) => blocks.push(Block::Needs(need.to_owned())),
                    ("instead:", command) => instead = Some(command.to_owned()),
                    ("not", reason) if reason.starts_with("run: ") => is_left_out = true,
                    _ => return Err(format!("line {}: `{word}` means nothing to the test", number + 1)),
                }
                continue;
            }
            let Some(language) = line.strip_prefix("```") else { continue };
            let inside: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            match language {
                "sh" => {
                    is_run = !std::mem::take(&mut is_left_out);
                    let text = instead.take().unwrap_or_else(|| inside.join("\n"));
                    if is_run {
                        blocks.push(Block::Commands { line: number + 1, text, output: Vec::new() });
                    }
                }
                "text" if is_run => {
                    let Some(Block::Commands { output, .. }) = blocks.last_mut() else {
                        return Err(format!("line {}: output of no command", number + 1));
                    };
                    let told = inside.iter().filter(|line| **line != "…" && !line.trim().is_empty());
                    output.extend(told.map(|line| (*line).to_owned()));
                }
                _ => {}
            }
        }
        Ok(Page { blocks })
    }
}

/// A line without its numbers and their units, and without the widths of columns.
pub(crate) fn shape(line: &str) -> String {
    const UNITS: [&str; 14] =
        ["ns", "us", "µs", "ms", "s", "k", "M", "B", "KiB", "MiB", "GiB", "KiB/s", "MiB/s", "GiB/s"];
    let mut words: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        let is_number = word.chars().any(|letter| letter.is_ascii_digit());
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ';', ')', '.', ':']));
        match words.last() {
            Some(&"#") if is_number || is_unit => {}
            _ if is_number => words.push("#"),
            _ => words.push(word),
        }
    }
    words.join(" ")
}

#[test]
fn numbers_may_differ_and_words_may_not() {
    assert_eq!(shape("read:  12.3k  1.5 ms (p99)"), shape("read: 9 800 us (p99)"));
    assert_ne!(shape("read: 12"), shape("write: 12"));
    assert_ne!(shape("a 1 b"), shape("a b"));
}

#[test]
fn a_page_is_its_commands_and_their_output() {
    let text = "# A\n\n```sh\none\n```\n\nIt prints:\n\n```text\nfirst 1\n…\nlast 2\n```\n\n<!-- test: instead: short -->\n\
                ```sh\nlong\n```\n<!-- test: needs root -->\n<!-- test: not run: it is slow -->\n```sh\nnever\n```\n\
                ```text\nnot looked at\n```\n```ini\nx=1\n```\n";
    let commands = |line, text: &str, output: &[&str]| Block::Commands {
        line,
        text: text.to_owned(),
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    let page = Page::parse(text).unwrap();
    let needs = Block::Needs("root".to_owned());
    assert_eq!(page.blocks, [commands(3, "one", &["first 1", "last 2"]), commands(16, "short", &[]), needs]);
    assert!(Page::parse("<!-- test: nosuch -->\n").unwrap_err().contains("line 1"));
}
