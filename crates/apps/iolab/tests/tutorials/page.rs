//! A page as the test sees it: its commands, and what they print.

/// What a test does, in the order of the page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// The rest of the page needs this.
    Needs(String),
    /// A file, as the page shows it.
    File { name: String, text: String },
    /// Commands, and lines that they print.
    Commands { line: usize, text: String, output: Vec<String> },
}

/// A page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) blocks: Vec<Block>,
    /// The text of every block of commands, run or not, with its line.
    pub(crate) shown: Vec<(usize, String)>,
}

impl Page {
    pub(crate) fn parse(text: &str) -> Result<Page, String> {
        let (mut blocks, mut shown) = (Vec::new(), Vec::new());
        let mut lines = text.lines().enumerate();
        let (mut instead, mut before, mut is_left_out) = (None, None, false);
        let (mut file, mut is_other_output) = (None, false);
        // Whether a block of output belongs to the commands before it.
        let mut is_run = false;
        while let Some((number, line)) = lines.next() {
            if let Some(word) = line.strip_prefix("<!-- test: ").and_then(|rest| rest.strip_suffix(" -->")) {
                match word.split_once(' ').unwrap_or((word, "")) {
                    ("needs", need) => blocks.push(Block::Needs(need.to_owned())),
                    ("instead:", command) => instead = Some(command.to_owned()),
                    ("before:", command) => before = Some(command.to_owned()),
                    ("file:", name) => file = Some(name.to_owned()),
                    ("not", reason) if reason.starts_with("output: ") && reason.len() > 12 => is_other_output = true,
                    ("not", reason) if reason.starts_with("run: ") && reason.len() > 10 => is_left_out = true,
                    _ => return Err(format!("line {}: `{word}` means nothing to the test", number + 1)),
                }
                continue;
            }
            // A block of output is in the section of its commands.
            is_run &= !line.starts_with('#');
            let Some(language) = line.strip_prefix("```") else { continue };
            let inside: Vec<&str> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
            if let Some(name) = file.take() {
                blocks.push(Block::File { name, text: inside.join("\n") + "\n" });
                continue;
            }
            match language {
                "text" if std::mem::take(&mut is_other_output) => {}
                "sh" | "console" => {
                    is_run = !std::mem::take(&mut is_left_out);
                    let (own, printed) =
                        if language == "sh" { (inside.join("\n"), Vec::new()) } else { session(&inside) };
                    shown.push((number + 1, own.clone()));
                    let before = before.take();
                    let is_replaced = instead.is_some();
                    let text = instead.take().unwrap_or(own);
                    if is_run {
                        let text = before.into_iter().chain([text]).collect::<Vec<_>>().join("\n");
                        // Other commands print other things.
                        let output = if is_replaced { Vec::new() } else { printed };
                        blocks.push(Block::Commands { line: number + 1, text, output });
                    } else if before.is_some() || is_replaced {
                        return Err(format!("line {}: commands for a block that is not run", number + 1));
                    }
                }
                "text" if is_run => {
                    let Some(Block::Commands { output, .. }) = blocks.last_mut() else {
                        return Err(format!("line {}: output of no command", number + 1));
                    };
                    output.extend(told(&inside));
                }
                _ => {}
            }
        }
        Ok(Page { blocks, shown })
    }
}

/// A session on a terminal: the commands behind `$` or `#`, and the lines between them.
fn session(lines: &[&str]) -> (String, Vec<String>) {
    let (mut commands, mut printed) = (Vec::new(), Vec::new());
    let mut goes_on = false;
    for line in lines {
        match line.strip_prefix("$ ").or_else(|| line.strip_prefix("# ")) {
            Some(command) => commands.push(command),
            None if goes_on => commands.push(line),
            None => printed.push(*line),
        }
        goes_on = commands.last() == Some(line) || line.starts_with(['$', '#']);
        goes_on = goes_on && line.ends_with('\\');
    }
    (commands.join("\n"), told(&printed))
}

/// Lines that must be printed.
fn told(lines: &[&str]) -> Vec<String> {
    let told = lines.iter().filter(|line| !line.contains('…') && !line.trim().is_empty());
    told.map(|line| (*line).to_owned()).collect()
}

/// A line without its numbers and their units, and without the widths of columns.
pub(crate) fn shape(line: &str) -> String {
    const UNITS: [&str; 14] =
        ["ns", "us", "µs", "ms", "s", "k", "M", "B", "KiB", "MiB", "GiB", "KiB/s", "MiB/s", "GiB/s"];
    // Days and months of a date change as its numbers do.
    const DATES: [&str; 19] = [
        "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun", "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep",
        "Oct", "Nov", "Dec",
    ];
    let mut words: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        let is_number = word.chars().any(|letter| letter.is_ascii_digit()) || DATES.contains(&word);
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
    assert_eq!(shape("pid=1: Fri Nov 27 00:54:21 2026"), shape("pid=2: Sat May 1 1:02:03 2027"));
}

#[test]
fn a_page_is_its_commands_and_their_output() {
    let text = "# A\n\n```sh\none\n```\n\nIt prints:\n\n```text\nfirst 1\n…\nlast 2\n```\n\n<!-- test: instead: short -->\n\
                ```sh\nlong\n```\n<!-- test: needs root -->\n<!-- test: not run: it is slow -->\n```sh\nnever\n```\n\
                ```text\nnot looked at\n```\n```ini\nx=1\n```\n<!-- test: before: make it -->\n\
                <!-- test: file: job -->\n```ini\nx=1\n```\n<!-- test: not output: it was another machine -->\n\
                ```text\nother\n```\n```console\n$ two \\\n    words\nprinted\n$ three\n```\n";
    let commands = |line, text: &str, output: &[&str]| Block::Commands {
        line,
        text: text.to_owned(),
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    let page = Page::parse(text).unwrap();
    let needs = Block::Needs("root".to_owned());
    let session = commands(39, "make it\ntwo \\\n    words\nthree", &["printed"]);
    let file = Block::File { name: "job".to_owned(), text: "x=1\n".to_owned() };
    let first = commands(3, "one", &["first 1", "last 2"]);
    assert_eq!(page.blocks, [first, commands(16, "short", &[]), needs, file, session]);
    let shown: Vec<&str> = page.shown.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(shown, ["one", "long", "never", "two \\\n    words\nthree"]);
    assert!(Page::parse("<!-- test: nosuch -->\n").unwrap_err().contains("line 1"));
    assert!(Page::parse("<!-- test: not run: -->\n").unwrap_err().contains("line 1"), "without a reason");
}
