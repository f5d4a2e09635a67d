//! JSON text as people read it.

/// Compact JSON, with an element or a field on each line, indented by two spaces for each level.
///
/// The types that are written are thus compiled for compact JSON alone, and not a second time for
/// indented JSON. What is not JSON comes out in some form, but without a panic.
pub fn indented(compact: &str) -> String {
    let mut text = String::with_capacity(compact.len() * 3 / 2);
    let (mut level, mut quoted, mut escaped) = (0_usize, false, false);
    let mut characters = compact.chars().peekable();
    let line = |text: &mut String, level: usize| {
        text.push('\n');
        text.extend(std::iter::repeat_n("  ", level));
    };
    while let Some(character) = characters.next() {
        if quoted {
            text.push(character);
            quoted = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        match character {
            '{' | '[' => {
                text.push(character);
                if let Some(end) = characters.next_if(|next| matches!(next, '}' | ']')) {
                    text.push(end);
                } else {
                    level += 1;
                    line(&mut text, level);
                }
            }
            '}' | ']' => {
                level = level.saturating_sub(1);
                line(&mut text, level);
                text.push(character);
            }
            ',' => {
                text.push(character);
                line(&mut text, level);
            }
            ':' => text.push_str(": "),
            other => {
                quoted = other == '"';
                text.push(other);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn it_is_indented_as_serde_json_indents() {
        let values = [
            json!(null),
            json!([]),
            json!({}),
            json!([1, -2.5, true, "a", [], {}, [[]]]),
            json!({"a": {"b": [{"c": "x: \"{[,\\"}, "\\\\"], "d": {}}, "é\n": ":,"}),
        ];
        for value in values {
            assert_eq!(super::indented(&value.to_string()), format!("{value:#}"));
        }
        assert_eq!(super::indented("}]"), "\n}\n]");
    }
}
