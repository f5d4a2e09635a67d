//! The result of drawing: an SVG, a description in words, and the numbers as a table.

use crate::table::Table;

/// Style sheet of the figures: light, dark (`prefers-color-scheme`, or `data-theme="dark"` on the
/// root element) and print.
///
/// All rules apply to `.iolab-figure` or set `--fig-…` variables, so that it can be used in any
/// page. Every colour is given twice: as a plain colour for programs without variables (such as SVG
/// converters), and as a variable that makes the same picture light, dark or printed. Series
/// colours: Okabe and Ito, "Color Universal Design" (2008). Figures grow with their container. On
/// screens none is narrower than it was drawn, so that its smallest numbers keep their 11 px; the
/// container scrolls sideways instead.
pub const STYLE: &str = include_str!("style.css");

/// A drawn chart.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnChart {
    /// The heading's id, converted to a valid XML id and file name.
    pub id: String,
    /// The title, which the picture shows too.
    pub title: String,
    /// A description in words; the picture's `<desc>`.
    pub description: String,
    /// The main point in one sentence, so that readers need not search for it. May be empty.
    pub caption: String,
    /// There was nothing to draw; the picture says why.
    pub is_empty: bool,
    /// The picture, for a page that contains [`STYLE`].
    pub svg: String,
    /// The numbers of the picture, as text with units.
    pub table: Table,
}

impl DrawnChart {
    /// The picture as a separate file, with the style sheet inside.
    pub fn standalone(&self) -> String {
        let end = self.svg.find('>').map_or(0, |at| at + 1);
        let (start, rest) = self.svg.split_at(end);
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{start}<style>{STYLE}</style>{rest}\n")
    }
}

/// Converts `id` to an XML name that is also a file name; different ids stay different.
pub(crate) fn xml_id(id: &str) -> String {
    let fits = |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    let kept: String = id.chars().take(80).map(|character| if fits(character) { character } else { '-' }).collect();
    let start = if kept.starts_with(|first: char| first.is_ascii_alphabetic()) { "" } else { "f" };
    if kept == id && start.is_empty() {
        return kept;
    }
    // FNV-1a, so that replaced characters still make a difference.
    let hash =
        id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{start}{kept}-{:08x}", hash as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        assert_eq!(xml_id("latency-load_1"), "latency-load_1");
        assert_ne!(xml_id("تأخیر"), xml_id("延迟"));
        for id in ["", "1", "a b", "تأخیر", "<x>"] {
            let made = xml_id(id);
            assert!(made.starts_with(|first: char| first.is_ascii_alphabetic()), "{made}");
            assert!(made.chars().all(|one| one.is_ascii_alphanumeric() || "-_".contains(one)), "{made}");
        }
    }
}
