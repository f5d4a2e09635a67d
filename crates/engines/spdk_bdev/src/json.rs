//! JSON with the line of every value, so that a mistake in a configuration is reported with its
//! line.
//!
//! Comments (`//` to the end of the line, `/*` to `*/`) count as blanks, as in SPDK's files.
//! Numbers stay text until one is requested. Nesting is limited. Not here: the meaning of the
//! values.

/// Deeper than any configuration, and shallow enough for any stack.
const DEEPEST: u32 = 64;

/// A value and where it begins.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Json {
    pub(crate) line: u32,
    pub(crate) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    /// Members in the order of the file.
    Object(Vec<(String, Json)>),
}

/// What is wrong, and in which line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) line: u32,
    pub(crate) reason: String,
}

impl Wrong {
    pub(crate) fn at(line: u32, reason: impl Into<String>) -> Wrong {
        Wrong { line, reason: reason.into() }
    }
}

impl Json {
    /// Its kind, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Flag(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::Text(_) => "a string",
            Value::List(_) => "an array",
            Value::Object(_) => "an object",
        }
    }
}

/// Parses the single value of a text.
pub(crate) fn read(text: &str) -> Result<Json, Wrong> {
    let mut reader = Reader { rest: text, line: 1 };
    let value = reader.value(0)?;
    reader.blanks()?;
    match reader.rest.chars().next() {
        None => Ok(value),
        Some(more) => Err(reader.wrong(format!("`{more}` after the end"))),
    }
}

struct Reader<'a> {
    rest: &'a str,
    line: u32,
}

impl Reader<'_> {
    fn wrong(&self, reason: impl Into<String>) -> Wrong {
        Wrong::at(self.line, reason)
    }

    /// Skips `bytes`, which end between two characters.
    fn skip(&mut self, bytes: usize) {
        let (passed, rest) = self.rest.split_at(bytes);
        self.line += passed.bytes().filter(|&byte| byte == b'\n').count() as u32;
        self.rest = rest;
    }

    fn blanks(&mut self) -> Result<(), Wrong> {
        loop {
            let trimmed = self.rest.trim_start_matches([' ', '\t', '\n', '\r']);
            self.skip(self.rest.len() - trimmed.len());
            if self.rest.starts_with("//") {
                self.skip(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let end = self.rest.find("*/").ok_or_else(|| self.wrong("a comment without end"))?;
                self.skip(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    fn take(&mut self, expected: char) -> bool {
        let found = self.rest.starts_with(expected);
        if found {
            self.skip(expected.len_utf8());
        }
        found
    }

    fn value(&mut self, depth: u32) -> Result<Json, Wrong> {
        self.blanks()?;
        if depth > DEEPEST {
            return Err(self.wrong(format!("nested more than {DEEPEST} deep")));
        }
        let line = self.line;
        let value = match self.rest.chars().next() {
            Some('{') => self.object(depth)?,
            Some('[') => self.list(depth)?,
            Some('"') => Value::Text(self.text()?),
            Some(_) => self.word()?,
            None => return Err(self.wrong("a value is missing")),
        };
        Ok(Json { line, value })
    }

    fn object(&mut self, depth: u32) -> Result<Value, Wrong> {
        let mut pairs: Vec<(String, Json)> = Vec::new();
        self.items('{', '}', |reader| {
            if !reader.rest.starts_with('"') {
                return Err(reader.wrong("a name in \"\" is missing"));
            }
            let name = reader.text()?;
            reader.blanks()?;
            if !reader.take(':') {
                return Err(reader.wrong(format!("`:` is missing after \"{name}\"")));
            }
            if pairs.iter().any(|(before, _)| *before == name) {
                return Err(reader.wrong(format!("\"{name}\" is there twice")));
            }
            pairs.push((name, reader.value(depth + 1)?));
            Ok(())
        })?;
        Ok(Value::Object(pairs))
    }

    fn list(&mut self, depth: u32) -> Result<Value, Wrong> {
        let mut items = Vec::new();
        self.items('[', ']', |reader| {
            items.push(reader.value(depth + 1)?);
            Ok(())
        })?;
        Ok(Value::List(items))
    }

    /// The comma-separated values between brackets.
    fn items(
        &mut self,
        open: char,
        close: char,
        mut item: impl FnMut(&mut Self) -> Result<(), Wrong>,
    ) -> Result<(), Wrong> {
        self.take(open);
        self.blanks()?;
        if self.take(close) {
            return Ok(());
        }
        loop {
            self.blanks()?;
            item(self)?;
            self.blanks()?;
            if self.take(close) {
                return Ok(());
            }
            if !self.take(',') {
                return Err(self.wrong(format!("`,` or `{close}` is missing")));
            }
        }
    }

    fn text(&mut self) -> Result<String, Wrong> {
        let mut text = String::new();
        let mut characters = self.rest.char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '"' => {
                    self.skip(at + 1);
                    return Ok(text);
                }
                '\\' => {
                    let escaped = characters.next().and_then(|(at, letter)| match letter {
                        'n' => Some('\n'),
                        't' => Some('\t'),
                        'r' => Some('\r'),
                        'b' => Some('\u{8}'),
                        'f' => Some('\u{c}'),
                        '"' | '\\' | '/' => Some(letter),
                        // Names and paths need no surrogate pairs.
                        'u' => {
                            let digits = self.rest.get(at + 1..at + 5)?;
                            let code = u32::from_str_radix(digits, 16).ok()?;
                            characters.nth(3);
                            char::from_u32(code)
                        }
                        _ => None,
                    });
                    text.push(escaped.ok_or_else(|| self.wrong("an escape that JSON does not have, in a string"))?);
                }
                '\n' => break,
                plain => text.push(plain),
            }
        }
        Err(self.wrong("a string without end"))
    }

    fn word(&mut self) -> Result<Value, Wrong> {
        let is_part = |character: char| character.is_ascii_alphanumeric() || "+-.".contains(character);
        let length = self.rest.find(|character| !is_part(character)).unwrap_or(self.rest.len());
        let word = &self.rest[..length];
        let value = match word {
            "null" => Value::Null,
            "true" => Value::Flag(true),
            "false" => Value::Flag(false),
            _ if word.starts_with(|first: char| first == '-' || first.is_ascii_digit())
                && word.parse::<f64>().is_ok() =>
            {
                Value::Number(word.to_owned())
            }
            "" => return Err(self.wrong(format!("`{}` is no value", self.rest.chars().next().unwrap_or(' ')))),
            _ => return Err(self.wrong(format!("`{word}` is no value"))),
        };
        self.skip(length);
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_their_lines() {
        let text = "// a comment\n{ \"a\": [1, true,\n  \"x\\n\\u0041\"], /* more\n */ \"b\": {\"c\": -1.5e3} }\n";
        let Value::Object(pairs) = read(text).unwrap().value else { panic!("an object") };
        let Value::List(items) = &pairs[0].1.value else { panic!("an array") };
        let lines: Vec<u32> = items.iter().map(|item| item.line).collect();
        assert_eq!(lines, [2, 2, 3]);
        assert_eq!(items[2].value, Value::Text("x\nA".into()));
        assert_eq!((pairs[1].0.as_str(), pairs[1].1.line), ("b", 4));
        let Value::Object(inner) = &pairs[1].1.value else { panic!("an object") };
        assert_eq!(inner[0].1.value, Value::Number("-1.5e3".into()));
        assert_eq!(read(" [ ] ").unwrap().value, Value::List(vec![]));
    }

    #[test]
    fn what_is_no_json_says_where() {
        let deep = "[".repeat(100);
        let cases = [
            ("", 1, "a value is missing"),
            ("{\n\"a\" 1}", 2, "`:` is missing after \"a\""),
            ("{\n\"a\": 1\n\"b\": 2}", 3, "`,` or `}` is missing"),
            ("{\"a\":1,}", 1, "a name in \"\""),
            ("{\"a\":1,\n\"a\":2}", 2, "twice"),
            ("[1] x", 1, "`x` after the end"),
            ("[yes]", 1, "`yes` is no value"),
            ("[é]", 1, "`é` is no value"),
            ("[\"abc", 1, "a string without end"),
            ("[\"\\q\"]", 1, "an escape"),
            ("[\"\\u12\"]", 1, "an escape"),
            ("[\"\\uééé\"]", 1, "an escape"),
            ("\n/* x", 2, "a comment without end"),
            (deep.as_str(), 1, "nested more than 64 deep"),
        ];
        for (text, line, reason) in cases {
            let wrong = read(text).unwrap_err();
            assert!(wrong.line == line && wrong.reason.contains(reason), "{text:?}: {wrong:?}");
        }
    }
}
