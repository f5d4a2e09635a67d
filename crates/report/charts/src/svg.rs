//! Writes the XML of an SVG: elements, attributes, paths, escaped text.
//!
//! Guarantees: the output is well formed for any strings, and numbers are short and finite. This
//! module knows nothing of charts.

use std::fmt::Write;

use crate::text::{Face, isolated};

/// Names and values of attributes; values are escaped when written.
pub(crate) type Attributes<'a> = &'a [(&'a str, &'a str)];

/// An SVG being written.
#[derive(Debug, Default)]
pub(crate) struct Svg {
    pub(crate) text: String,
}

/// Whether a position is the start, the end or the middle of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// An element without content.
    pub(crate) fn leaf(&mut self, name: &str, attributes: Attributes<'_>) {
        self.start(name, attributes);
        self.text.push_str("/>");
    }

    /// An element with the tooltip `tip`; an empty one is left out.
    pub(crate) fn tipped(&mut self, name: &str, attributes: Attributes<'_>, tip: &str) {
        if tip.is_empty() {
            return self.leaf(name, attributes);
        }
        self.start(name, attributes);
        let _ = write!(self.text, "><title>{}</title></{name}>", escaped(tip));
    }

    /// Opens an element; [`Svg::close`] closes it.
    pub(crate) fn open(&mut self, name: &str, attributes: Attributes<'_>) {
        self.start(name, attributes);
        self.text.push('>');
    }

    pub(crate) fn close(&mut self, name: &str) {
        let _ = write!(self.text, "</{name}>");
    }

    /// Draws text. Its script determines its direction.
    pub(crate) fn words(&mut self, at: (f64, f64), anchor: Anchor, face: Face, text: &str) {
        self.label(at, anchor, face, text, "w");
    }

    /// A number with its unit: always left to right.
    pub(crate) fn number(&mut self, at: (f64, f64), anchor: Anchor, face: Face, text: &str) {
        self.label(at, anchor, face, text, "n");
    }

    fn label(&mut self, at: (f64, f64), anchor: Anchor, face: Face, text: &str, kind: &str) {
        if text.is_empty() {
            return;
        }
        let class = match (face, kind) {
            (Face::Title, _) => "t",
            (Face::Tick, "n") => "k n",
            (Face::Tick, _) => "k w",
            (Face::Label, kind) => kind,
        };
        let (x, y) = (px(at.0), px(at.1));
        let anchor: Attributes<'_> = match anchor {
            Anchor::Start => &[],
            Anchor::Middle => &[("text-anchor", "middle")],
            Anchor::End => &[("text-anchor", "end")],
        };
        let attributes = [&[("class", class), ("x", &x), ("y", &y)], anchor].concat();
        self.open("text", &attributes);
        self.text.push_str(&escaped(&isolated(text)));
        self.close("text");
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let mut path = Path::default();
        path.move_to(from.0, from.1);
        path.line_to(to.0, to.1);
        self.leaf("path", &[("class", class), ("d", &path.d)]);
    }

    pub(crate) fn rect(&mut self, attributes: Attributes<'_>, place: Rect, tip: &str) {
        let [x, y, width, height] = [place.x, place.y, place.width.max(0.0), place.height.max(0.0)].map(px);
        let own = [("x", x.as_str()), ("y", &y), ("width", &width), ("height", &height)];
        self.tipped("rect", &[attributes, &own].concat(), tip);
    }

    fn start(&mut self, name: &str, attributes: Attributes<'_>) {
        let _ = write!(self.text, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.text, " {key}=\"{}\"", escaped(value));
        }
    }
}

/// A rectangle, px.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// The `d` of a path.
#[derive(Debug, Default)]
pub(crate) struct Path {
    pub(crate) d: String,
}

impl Path {
    pub(crate) fn move_to(&mut self, x: f64, y: f64) {
        let _ = write!(self.d, "M{} {}", px(x), px(y));
    }

    pub(crate) fn line_to(&mut self, x: f64, y: f64) {
        let _ = write!(self.d, "L{} {}", px(x), px(y));
    }

    /// A line of length zero: with round ends it is drawn as a dot.
    pub(crate) fn dot(&mut self, x: f64, y: f64) {
        let _ = write!(self.d, "M{} {}h0", px(x), px(y));
    }

    /// A line to `x` at the same height.
    pub(crate) fn across(&mut self, x: f64) {
        let _ = write!(self.d, "H{}", px(x));
    }

    /// A vertical line to `y`.
    pub(crate) fn upright(&mut self, y: f64) {
        let _ = write!(self.d, "V{}", px(y));
    }

    pub(crate) fn end(&mut self) {
        self.d.push('Z');
    }
}

/// A length or position, px, with one decimal, clamped to the limits here.
pub(crate) fn px(value: f64) -> String {
    let tenths = (value.clamp(-1e5, 1e5) * 10.0).round();
    if !tenths.is_finite() || tenths == 0.0 {
        return "0".to_owned();
    }
    let text = format!("{:.1}", tenths / 10.0);
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

/// `text` for XML 1.0: markup escaped, characters that XML forbids (section 2.2) replaced.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' | '\r' | '\t' => safe.push(' '),
            '\u{0}'..='\u{1F}' | '\u{7F}'..='\u{9F}' | '\u{FFFE}' | '\u{FFFF}' => safe.push('\u{FFFD}'),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_finite() {
        for (value, expected) in [
            (0.0, "0"),
            (-0.01, "0"),
            (1.0, "1"),
            (1.26, "1.3"),
            (-2.5, "-2.5"),
            (f64::NAN, "0"),
            (f64::INFINITY, "100000"),
            (-1e300, "-100000"),
        ] {
            assert_eq!(px(value), expected);
        }
    }

    #[test]
    fn markup_in_text_is_text() {
        let mut svg = Svg::default();
        svg.tipped("g", &[("class", "a\"b")], "<&>\u{1}");
        assert_eq!(svg.text, "<g class=\"a&quot;b\"><title>&lt;&amp;&gt;\u{FFFD}</title></g>");
    }
}
