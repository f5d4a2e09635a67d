//! Estimates the width of text without a font, well enough to keep labels inside a figure and from
//! overlapping.
//!
//! The table has the advance widths of a wide sans-serif face, in thousandths of the font size, so
//! that the faces that browsers choose are narrower rather than wider. Scripts outside of the table
//! get a width for their kind. There is no shaping and no kerning.

/// Font sizes, px, and weights; the style sheet has the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Face {
    /// Titles.
    Title,
    /// Legends, axis titles, notes.
    Label,
    /// Numbers at axes and in cells.
    Tick,
}

impl Face {
    pub(crate) fn size(self) -> f64 {
        match self {
            Face::Title => 15.0,
            Face::Label => 12.0,
            Face::Tick => 11.0,
        }
    }

    fn stretch(self) -> f64 {
        if self == Face::Title { 1.13 } else { 1.0 }
    }
}

/// U+0020 to U+007E.
#[rustfmt::skip]
const ASCII: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
    603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635,
    634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
];

/// Width of `text` in `face`, px.
pub(crate) fn width(text: &str, face: Face) -> f64 {
    let thousandths: f64 = text.chars().map(advance).sum();
    thousandths * face.size() * face.stretch() / 1000.0
}

fn advance(character: char) -> f64 {
    let code = character as u32;
    f64::from(match code {
        0x20..=0x7E => ASCII[code as usize - 0x20],
        0xA0 => 318,
        // Combining marks and joiners have no width.
        0x300..=0x36F
        | 0x610..=0x61A
        | 0x64B..=0x65F
        | 0x6D6..=0x6ED
        | 0x200B..=0x200F
        | 0x202A..=0x202E
        | 0x2066..=0x2069
        | 0xFE0F => 0,
        0xA1..=0x24F => 700,
        0x370..=0x3FF => 720,
        0x400..=0x52F => 880,
        0x590..=0x8FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFF => 720,
        _ => 1010,
    })
}

/// `text`, or its beginning and an ellipsis if it is wider than `room` px.
pub(crate) fn fit(text: &str, face: Face, room: f64) -> String {
    if width(text, face) <= room {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if width(&kept, face) + width("…", face) > room {
            kept.pop();
            break;
        }
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    if width(&kept, face) <= room { kept } else { String::new() }
}

/// `text` in at most `most` lines of `room` px, broken at spaces; what does not fit is cut.
pub(crate) fn wrap(text: &str, face: Face, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() && lines.len() < most {
        if lines.len() + 1 == most {
            lines.push(fit(rest, face, room));
            break;
        }
        let end = line_end(rest, face, room);
        lines.push(rest[..end].trim_end().to_owned());
        rest = rest[end..].trim_start();
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// The end of the first line of `text`: the last space that fits, otherwise the last character that
/// does.
fn line_end(text: &str, face: Face, room: f64) -> usize {
    let (mut used, mut space, mut last) = (0.0, None, 0);
    for (at, character) in text.char_indices() {
        used += width(character.encode_utf8(&mut [0; 4]), face);
        if used > room {
            return space.unwrap_or(last.max(text.chars().next().map_or(0, char::len_utf8)));
        }
        last = at + character.len_utf8();
        // A number stays with its unit; scripts without spaces break anywhere.
        let after_number = text[..at].ends_with(|before: char| before.is_ascii_digit());
        if character == ' ' && !after_number || (0x2E80..0xFB00).contains(&(character as u32)) {
            space = Some(last);
        }
    }
    text.len()
}

/// `text` with its numbers and Latin words kept left to right where the rest runs from right to
/// left: otherwise `4 KiB` would be shown as `KiB 4` (Unicode Standard Annex 9, sections 2.4 and
/// 3.3.4).
pub(crate) fn isolated(text: &str) -> String {
    let leftward = |character: char| matches!(character as u32, 0x590..=0x8FF | 0xFB1D..=0xFDFF | 0xFE70..=0xFEFF);
    if !text.chars().any(leftward) {
        return text.to_owned();
    }
    let inside = |character: char| {
        character.is_ascii() && !"()[]{}<>\"".contains(character) || "µ×−±…\u{A0}".contains(character)
    };
    let mut safe = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|character| !inside(character)).unwrap_or(rest.len());
        let run =
            rest[..end].trim_end_matches(|character: char| !character.is_ascii_alphanumeric() && character != '%');
        if first.is_ascii_alphanumeric() && !run.is_empty() {
            safe.push('\u{2066}');
            safe.push_str(run);
            safe.push('\u{2069}');
            rest = &rest[run.len()..];
        } else {
            safe.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths() {
        assert_eq!(width("", Face::Label), 0.0);
        assert!(width("00", Face::Label) > 2.0 * 7.0);
        assert!(width("W", Face::Title) > width("W", Face::Label));
        assert_eq!(width("\u{200C}\u{301}", Face::Label), 0.0);
    }

    #[test]
    fn cut_text_fits() {
        for text in
            ["a long name of a series", "گزارش تأخیر نوشتن در بار", "延迟与负载的关系以及吞吐量", "Zażółć gęślą jaźń"]
        {
            let cut = fit(text, Face::Label, 60.0);
            assert!(cut.ends_with('…') && width(&cut, Face::Label) <= 60.0, "{cut}");
            assert_eq!(fit(text, Face::Label, 600.0), text);
        }
        assert_eq!(fit("abc", Face::Label, 2.0), "");
    }

    #[test]
    fn numbers_keep_their_direction() {
        for (text, expected) in [
            ("4 KiB randread", "4 KiB randread"),
            ("عمق 4 KiB، کار", "عمق \u{2066}4 KiB\u{2069}، کار"),
            ("(p99.9) تأخیر 20 %", "(\u{2066}p99.9\u{2069}) تأخیر \u{2066}20 %\u{2069}"),
        ] {
            assert_eq!(isolated(text), expected);
        }
    }

    #[test]
    fn lines() {
        let lines = wrap("one two three four five six", Face::Label, 60.0, 3);
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[0], "one two");
        assert!(lines[2].ends_with('…'), "{lines:?}");
        assert_eq!(wrap("延迟与负载的关系", Face::Label, 50.0, 9).concat(), "延迟与负载的关系");
        assert!(wrap("  ", Face::Label, 50.0, 2).is_empty());
        assert_eq!(
            wrap("mm", Face::Label, 1.0, 3).len(),
            2,
            "at least a character goes on a line that is not the last"
        );
    }
}
