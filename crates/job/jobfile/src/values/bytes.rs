//! Byte patterns: `"text"`, `0xhex`, decimal numbers and `'file'`, concatenated.

use iolab_options::Value;

use super::{Piece, ValueError};

/// Longest pattern, bytes.
const LONGEST: usize = 1 << 20;

/// Reads at most so many bytes from the beginning of a file that a pattern names; or why it cannot.
type ReadFile<'a> = &'a mut dyn FnMut(&str, usize) -> Result<Vec<u8>, String>;

/// A pattern as a value: its bytes, or its text if it names a file.
pub(super) fn value(whole: Piece<'_>) -> Result<Value, ValueError> {
    let mut names_file = false;
    let bytes = pattern(whole, &mut |_, _| {
        names_file = true;
        Ok(Vec::new())
    })?;
    Ok(if names_file { Value::Text(whole.text.to_owned()) } else { Value::Bytes(bytes) })
}

/// The bytes of a pattern, whose files `read` reads.
///
/// # Errors
/// The text is no pattern, or a file cannot be read.
pub fn pattern_bytes(text: &str, read: ReadFile<'_>) -> Result<Vec<u8>, ValueError> {
    pattern(Piece::whole(text).trim(), read)
}

/// The bytes of a pattern. Hexadecimal digits are bytes in the order written; a decimal number is a
/// 32-bit little-endian integer with its zero high bytes left out. What is too long of a file is
/// left out.
fn pattern(whole: Piece<'_>, read: ReadFile<'_>) -> Result<Vec<u8>, ValueError> {
    let mut bytes = Vec::new();
    let mut rest = whole;
    while !rest.is_empty() {
        let used = match rest.text.as_bytes()[0] {
            b'"' => quoted(rest, &mut bytes)?,
            b'\'' => from_file(rest, &mut bytes, read)?,
            b'%' => return Err(rest.refuse("formats such as %o are only for verify_pattern")),
            b'0' if rest.text[1..].starts_with(['x', 'X']) => hexadecimal(rest, &mut bytes)?,
            b'-' | b'0'..=b'9' => decimal(rest, &mut bytes)?,
            _ => {
                return Err(rest.refuse_with(
                    "this is neither a number nor quoted text",
                    "put text in double quotes and the name of a file in single ones, write hexadecimal bytes as `0x…`",
                ));
            }
        };
        rest = rest.sub(used, rest.text.len());
        if bytes.len() > LONGEST {
            return Err(whole.refuse(format!("the pattern is longer than {LONGEST} bytes")));
        }
    }
    Ok(bytes)
}

fn quoted(piece: Piece<'_>, bytes: &mut Vec<u8>) -> Result<usize, ValueError> {
    let Some(length) = piece.text[1..].find('"') else {
        return Err(piece.refuse("the closing quote is missing"));
    };
    if length == 0 {
        return Err(piece.refuse("the quoted text is empty"));
    }
    bytes.extend_from_slice(&piece.text.as_bytes()[1..=length]);
    Ok(length + 2)
}

fn from_file(piece: Piece<'_>, bytes: &mut Vec<u8>, read: ReadFile<'_>) -> Result<usize, ValueError> {
    let Some(length) = piece.text[1..].find('\'') else {
        return Err(piece.refuse("the closing quote is missing"));
    };
    if length == 0 {
        return Err(piece.refuse("the name of the file is empty"));
    }
    let read = read(&piece.text[1..=length], LONGEST.saturating_sub(bytes.len()));
    bytes.extend(read.map_err(|reason| piece.sub(0, length + 2).refuse(reason))?);
    Ok(length + 2)
}

fn hexadecimal(piece: Piece<'_>, bytes: &mut Vec<u8>) -> Result<usize, ValueError> {
    let digits: Vec<u8> = piece.text[2..]
        .chars()
        .map_while(|letter| letter.to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    if digits.is_empty() {
        return Err(piece.refuse("hexadecimal digits are missing after `0x`"));
    }
    // With an odd number of digits, the first one is a byte of its own.
    let (front, pairs) = digits.split_at(digits.len() % 2);
    bytes.extend_from_slice(front);
    bytes.extend(pairs.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]));
    Ok(2 + digits.len())
}

fn decimal(piece: Piece<'_>, bytes: &mut Vec<u8>) -> Result<usize, ValueError> {
    let sign = usize::from(piece.text.starts_with('-'));
    let mut digits = piece.text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = piece.text[sign..].split_at(digits);
    if digits > 1 && number.ends_with('0') && rest.starts_with(['x', 'X']) {
        // The zero belongs to the hexadecimal number behind.
        digits -= 1;
    }
    let text = &piece.text[..sign + digits];
    let number: i64 = text.parse().map_err(|_| piece.refuse(format!("`{text}` is not a number of 32 bits")))?;
    let word = match (i32::try_from(number), u32::try_from(number)) {
        (_, Ok(word)) => word.to_le_bytes(),
        (Ok(word), _) => word.to_le_bytes(),
        _ => return Err(piece.refuse(format!("`{text}` is not a number of 32 bits"))),
    };
    let used = word.iter().rposition(|byte| *byte != 0).map_or(1, |last| last + 1);
    bytes.extend_from_slice(&word[..used]);
    Ok(sign + digits)
}
