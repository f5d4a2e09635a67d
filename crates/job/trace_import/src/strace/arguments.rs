//! The arguments of a call in strace's text, split at their separating commas.

/// Most arguments, and deepest nesting.
const MOST: usize = 4096;

/// The arguments up to the closing `)`, and the text after it.
pub(super) fn split(text: &str) -> Option<(Vec<&str>, &str)> {
    let bytes = text.as_bytes();
    let (mut arguments, mut begin, mut depth, mut at) = (Vec::new(), 0, 0_usize, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_text(bytes, at)?,
            b'<' if at > 0 && (bytes[at - 1].is_ascii_digit() || bytes[at - 1] == b'D') => {
                at += end_of_path(&bytes[at..])?;
            }
            b'(' | b'[' | b'{' => depth += 1,
            b')' if depth == 0 => {
                let last = text[begin..at].trim();
                if !(last.is_empty() && arguments.is_empty()) {
                    arguments.push(last);
                }
                return Some((arguments, &text[at + 1..]));
            }
            b')' | b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => {
                arguments.push(text[begin..at].trim());
                begin = at + 1;
                if arguments.len() > MOST {
                    return None;
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The position of the `>` that ends the description of a descriptor by `-y`: a path, or a form
/// such as `TCP:[a->b]`, which contains another `>`.
fn end_of_path(bytes: &[u8]) -> Option<usize> {
    let first = bytes.iter().position(|byte| *byte == b'>')?;
    if bytes[..first].windows(2).any(|two| two == b":[") {
        return bytes.windows(2).position(|two| two == b"]>").map(|at| at + 1);
    }
    Some(first)
}

/// The position of the `"` that ends a string.
fn end_of_text(bytes: &[u8], begin: usize) -> Option<usize> {
    let mut at = begin + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// `5` or `5</path>`.
pub(super) fn descriptor(argument: &str) -> Option<(i32, Option<&str>)> {
    match argument.split_once('<') {
        Some((number, path)) => {
            let path = path.strip_suffix('>').unwrap_or(path);
            let path = path.strip_suffix("(deleted)").unwrap_or(path);
            // With -yy, devices are `</dev/x<char 1:3>>`.
            let path = path.split_once('<').map_or(path, |(path, _)| path);
            Some((number.parse().ok()?, Some(path)))
        }
        None => Some((argument.parse().ok()?, None)),
    }
}

/// The numbers after `key=` in a structure or a list of structures, in order.
pub(super) fn numbers_of<'a>(argument: &'a str, key: &'a str) -> impl Iterator<Item = u64> + 'a {
    let pieces = argument.match_indices(key);
    pieces.filter_map(move |(at, _)| {
        let rest = argument[at + key.len()..].strip_prefix('=')?;
        let end = rest.find([',', '}', ']']).unwrap_or(rest.len());
        number(rest[..end].split('<').next()?).map(|number| number as u64)
    })
}

/// A number as strace prints it.
pub(crate) fn number(word: &str) -> Option<i64> {
    let word = word.trim();
    if let Some(digits) = word.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok().map(|number| number as i64);
    }
    if word.len() > 1 && word.starts_with('0') && word.bytes().all(|digit| digit.is_ascii_digit()) {
        return i64::from_str_radix(word, 8).ok();
    }
    word.parse::<i64>().ok().or_else(|| word.parse::<u64>().ok().map(|number| number as i64))
}
