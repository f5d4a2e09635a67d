//! Flags, choices and lists of words.

use iolab_options::{Choice, Value};
use iolab_text::closest;

use super::{Piece, ValueError};

/// `0` or `1`.
pub(super) fn flag(whole: Piece<'_>) -> Result<Value, ValueError> {
    match whole.text {
        "1" => Ok(Value::Flag(true)),
        "0" => Ok(Value::Flag(false)),
        "true" | "yes" | "on" => Err(whole.refuse_with(format!("`{}` is neither 0 nor 1", whole.text), "write `1`")),
        "false" | "no" | "off" => Err(whole.refuse_with(format!("`{}` is neither 0 nor 1", whole.text), "write `0`")),
        other => Err(whole.refuse(format!("`{other}` is neither 0 nor 1"))),
    }
}

/// One of the choices, by name or alias.
pub(super) fn choice(whole: Piece<'_>, choices: &[Choice]) -> Result<Value, ValueError> {
    let found = choices.iter().find(|choice| choice.name == whole.text || choice.aliases.contains(&whole.text));
    match found {
        Some(choice) => Ok(Value::Choice(choice.name.to_owned())),
        None => Err(unknown_word(whole, choices.iter().map(|choice| choice.name))),
    }
}

/// A comma list of known words.
pub(super) fn list(whole: Piece<'_>, known: &[&'static str]) -> Result<Value, ValueError> {
    for part in whole.split(',') {
        if !known.contains(&part.text) {
            return Err(unknown_word(part, known.iter().copied()));
        }
    }
    Ok(Value::Text(whole.text.to_owned()))
}

/// The refusal of a word, with the nearest known one or the list of all.
pub(super) fn unknown_word<'a>(piece: Piece<'_>, known: impl Iterator<Item = &'a str> + Clone) -> ValueError {
    let reason = format!("`{}` is not a known value", piece.text);
    match closest(piece.text, known.clone()) {
        Some(near) => piece.refuse_with(reason, format!("did you mean `{near}`?")),
        None => piece.refuse_with(reason, format!("one of: {}", known.collect::<Vec<_>>().join(", "))),
    }
}
