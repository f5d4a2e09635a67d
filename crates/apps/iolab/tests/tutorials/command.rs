//! The commands of this program in a block of a shell.

/// The words of each command of `iolab` in these lines of a shell, without the name of the program.
/// What a shell would put in for a variable or a command is 1.
pub(crate) fn commands(text: &str) -> Vec<Vec<String>> {
    let mut all = Vec::new();
    for words in simple_commands(text) {
        // Variables that are set for one command precede it, and so do programs that run others.
        let mut rest = words.as_slice();
        while let [first, more @ ..] = rest {
            let is_setting = first.split_once('=').is_some_and(|(name, _)| {
                !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
            });
            match first.as_str() {
                _ if is_setting => rest = more,
                "for" | "do" | "time" | "sudo" | "exec" | "if" | "then" | "while" | "until" => rest = more,
                "iolab" | "target/release/iolab" => {
                    all.push(more.to_vec());
                    break;
                }
                _ => break,
            }
        }
    }
    all
}

/// Simple commands as words: quotes removed, comments and redirections left out.
fn simple_commands(text: &str) -> Vec<Vec<String>> {
    let mut all = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut letters = text.chars().peekable();
    // Whether the next word is the file of a redirection.
    let mut is_file = false;
    let end = |word: &mut Option<String>, all: &mut Vec<Vec<String>>, is_file: &mut bool| {
        if let Some(word) = word.take()
            && !std::mem::take(is_file)
            && word != "…"
        {
            all.last_mut().expect("a command").push(word);
        }
    };
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('\n') | None => end(&mut word, &mut all, &mut is_file),
                Some(other) => word.get_or_insert_default().push(other),
            },
            '\'' | '"' => {
                let word = word.get_or_insert_default();
                while let Some(inner) = letters.next() {
                    match inner {
                        _ if inner == letter => break,
                        '\\' if letter == '"' => word.extend(letters.next()),
                        '$' if letter == '"' => word.push_str(substitution(&mut letters)),
                        _ => word.push(inner),
                    }
                }
            }
            '$' => word.get_or_insert_default().push_str(substitution(&mut letters)),
            '#' if word.is_none() => while letters.next_if(|other| *other != '\n').is_some() {},
            '<' | '>' => {
                // The number of a file descriptor belongs to the redirection.
                if word.as_ref().is_some_and(|word| word.chars().all(|digit| digit.is_ascii_digit())) {
                    word = None;
                }
                end(&mut word, &mut all, &mut is_file);
                while letters.next_if(|other| "<>&".contains(*other)).is_some() {}
                is_file = true;
            }
            '\n' | ';' | '|' | '&' | '(' | ')' => {
                end(&mut word, &mut all, &mut is_file);
                is_file = false;
                all.push(Vec::new());
            }
            ' ' | '\t' => end(&mut word, &mut all, &mut is_file),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    end(&mut word, &mut all, &mut is_file);
    all.retain(|words| !words.is_empty());
    all
}

/// What stands for a variable or a command, whose rest is taken.
fn substitution(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> &'static str {
    if letters.peek() == Some(&'(') {
        let mut depth = 0;
        for inner in letters.by_ref() {
            depth += i32::from(inner == '(') - i32::from(inner == ')');
            if depth == 0 {
                break;
            }
        }
    } else if letters.next_if(|other| "!?$".contains(*other)).is_none() {
        while letters.next_if(|other| other.is_ascii_alphanumeric() || "_{}".contains(*other)).is_some() {}
    }
    "1"
}

#[test]
fn commands_are_found_where_a_shell_finds_them() {
    let text = "iolab run --name='a b' \\\n    --bs=4k >out 2>&1   # comment; iolab not\n\
                IOLAB_DB=none iolab db list | head -n 3; echo iolab; x=$(iolab web) && iolab plan \"$x/$(y z)\" …\n\
                for n in 1 2; do iolab config; done\ntarget/release/iolab man run &\n";
    let found = commands(text);
    let words: Vec<String> = found.iter().map(|words| words.join("|")).collect();
    assert_eq!(words, ["run|--name=a b|--bs=4k", "db|list", "plan|1/1", "config", "man|run"]);
}
