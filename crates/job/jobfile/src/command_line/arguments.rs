//! The arguments as one text, so that messages can point into the command line, and the form of
//! each argument.

use iolab_options::address_passwords;

use super::quote;
use crate::secret_names::SecretNames;
use crate::secrets::hide;

/// All arguments with their places.
pub(super) struct Arguments<'a> {
    arguments: &'a [String],
    /// The command line as it would be typed in a shell.
    text: String,
    /// Byte range of each argument in the text, and whether it is unquoted there.
    places: Vec<((usize, usize), bool)>,
}

/// One argument.
pub(super) enum Token {
    /// A job file.
    File(String),
    /// `--`: everything that follows is a job file.
    EndOfOptions,
    /// `--name` or `-name`, with or without `=value`.
    Option(Written),
}

/// An option as written.
pub(super) struct Written {
    pub(super) name: String,
    /// After a single dash, where getopt_long_only(3) also takes one-letter names.
    pub(super) single_dash: bool,
    pub(super) value: Option<String>,
    pub(super) name_span: (usize, usize),
    pub(super) value_span: (usize, usize),
}

impl Written {
    /// Range of name and value.
    pub(super) fn span(&self) -> (usize, usize) {
        (self.name_span.0, self.value_span.1.max(self.name_span.1))
    }
}

impl<'a> Arguments<'a> {
    pub(super) fn new(arguments: &'a [String]) -> Arguments<'a> {
        let mut text = String::new();
        let mut places = Vec::with_capacity(arguments.len());
        for argument in arguments {
            if !text.is_empty() {
                text.push(' ');
            }
            let quoted = quote(argument);
            places.push(((text.len(), text.len() + quoted.len()), quoted == *argument));
            text.push_str(&quoted);
        }
        Arguments { arguments, text, places }
    }

    /// The text with asterisks in the place of secrets.
    pub(super) fn without_secrets(&self, names: &SecretNames<'_>) -> String {
        let mut text = self.text.clone();
        for (at, argument) in self.arguments.iter().enumerate() {
            let ((begin, end), is_plain) = self.places[at];
            let inner = if is_plain { begin..end } else { begin + 1..end - 1 };
            let is_secret = |option: &str| option.starts_with('-') && names.has(option.trim_start_matches('-'));
            let of_option = argument.split_once('=').filter(|(option, _)| is_secret(option));
            let of_next = at > 0 && !argument.starts_with('-') && is_secret(&self.arguments[at - 1]);
            match of_option {
                // The name of an option has no quotes, so that it is as long in the text.
                Some((option, _)) => hide(&mut text, inner.start + option.len() + 1..inner.end),
                None if of_next => hide(&mut text, inner),
                None => {
                    let passwords = address_passwords(&self.text[inner.clone()]);
                    let places = passwords.into_iter().map(|at| inner.start + at.start..inner.start + at.end);
                    places.for_each(|range| hide(&mut text, range));
                }
            }
        }
        text
    }

    /// The arguments from `at` on.
    pub(super) fn rest(&self, at: usize) -> impl Iterator<Item = String> + '_ {
        self.arguments.iter().skip(at).cloned()
    }

    /// All options, to find the named engines first.
    pub(super) fn tokens(&self) -> impl Iterator<Item = (usize, Token)> + '_ {
        (0..self.arguments.len()).filter_map(|at| Some((at, self.token(at)?)))
    }

    /// The argument at a position.
    pub(super) fn text_at(&self, at: usize) -> Option<&str> {
        self.arguments.get(at).map(String::as_str)
    }

    /// The argument at a position, parsed.
    pub(super) fn token(&self, at: usize) -> Option<Token> {
        let argument = self.arguments.get(at)?;
        let ((begin, end), plain) = self.places[at];
        if argument == "--" {
            return Some(Token::EndOfOptions);
        }
        let bare = argument.strip_prefix("--").or_else(|| argument.strip_prefix('-')).filter(|bare| !bare.is_empty());
        let Some(bare) = bare else {
            return Some(Token::File(argument.clone()));
        };
        let (name, value) = match bare.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (bare, None),
        };
        let dashes = argument.len() - bare.len();
        let (name_span, value_span) = match (plain, &value) {
            (true, Some(value)) => ((begin, begin + dashes + name.len()), (end - value.len(), end)),
            _ => ((begin, end), (end, end)),
        };
        let single_dash = dashes == 1;
        Some(Token::Option(Written { name: name.to_owned(), single_dash, value, name_span, value_span }))
    }

    /// Uses the next argument as the option's value, if there is one. Returns whether there was.
    pub(super) fn add_next(&self, written: &mut Written, at: usize) -> bool {
        let Some(next) = self.arguments.get(at) else { return false };
        written.value = Some(next.clone());
        written.value_span = self.places[at].0;
        true
    }
}
