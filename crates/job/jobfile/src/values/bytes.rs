//! Byte patterns: `"text"`, `0xhex` and decimal numbers, concatenated.

use super::{Piece, ValueError};

/// Longest pattern, bytes.
const LONGEST: usize = 1 << 20;

/// The bytes of a pattern. Hexadecimal digits are bytes in the order written; a decimal number is a
/// 32-bit little-endian integer with its zero high bytes left out.
pub(super) fn pattern(whole: Piece<'_>) -> Result<Vec<u8>, ValueError> {
    let mut bytes = Vec::new();
    let mut rest = whole;
    while !rest.is_empty() {
        let used = match rest.text.as_bytes()[0] {
            b'"' => quoted(rest, &mut bytes)?,
            b'\'' => {
                return Err(rest.refuse_with("patterns from files are not supported yet", "give the bytes as `0x…`"));
            }
            b'%' => return Err(rest.refuse("formats such as %o are only for verify_pattern")),
            b'0' if rest.text[1..].starts_with(['x', 'X']) => hexadecimal(rest, &mut bytes)?,
            b'-' | b'0'..=b'9' => decimal(rest, &mut bytes)?,
            _ => {
                return Err(rest.refuse_with(
                    "this is neither a number nor quoted text",
                    "put text in double quotes, write hexadecimal bytes as `0x…`",
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
    let digits = piece.text[sign..].bytes().take_while(u8::is_ascii_digit).count();
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
